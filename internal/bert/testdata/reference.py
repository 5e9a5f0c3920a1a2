"""Writes what ONNX Runtime makes of the texts of texts.jsonl with all-MiniLM-L6-v2 in floats, for TestMiniLM: token ids and unit vectors, as JSON.

Needs numpy, onnxruntime and tokenizers, and all-minilm-l6-v2.onnx (see throughput.py) in the folder onnx of the folder of models. Run it
from the root of the repository; it takes about a minute:

    python internal/bert/testdata/reference.py ~/.cache/kbsync-models
"""
import json
import os
import sys

import numpy
import onnxruntime
import tokenizers


def main():
    folder = sys.argv[1]
    model = os.path.join(folder, "all-minilm-l6-v2")
    with open(os.path.join(model, "sentence_bert_config.json")) as f:
        limit = json.load(f)["max_seq_length"]
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "texts.jsonl")) as f:
        texts = [one["text"] * one.get("times", 1) for one in map(json.loads, f)]
    tokenizer = tokenizers.Tokenizer.from_file(os.path.join(model, "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(limit)
    session = onnxruntime.InferenceSession(os.path.join(folder, "onnx", "all-minilm-l6-v2.onnx"), providers=["CPUExecutionProvider"])
    out = []
    for text in texts:
        ids = numpy.array([tokenizer.encode(text).ids], dtype=numpy.int64)
        feed = {k.name: {"input_ids": ids, "attention_mask": numpy.ones_like(ids)}.get(k.name, numpy.zeros_like(ids)) for k in session.get_inputs()}
        v = session.run(None, feed)[0][0].mean(axis=0)
        out.append({"text": text, "ids": ids[0].tolist(), "vector": (v / numpy.linalg.norm(v)).tolist()})
    with open(os.path.join(folder, "minilm-reference.json"), "w") as f:
        json.dump(out, f)
    print(f"{len(out)} texts of {min(len(o['ids']) for o in out)} to {max(len(o['ids']) for o in out)} tokens, {sum(len(o['ids']) for o in out)} in all")


main()
