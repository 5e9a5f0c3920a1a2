"""Writes what ONNX Runtime makes of some texts with all-MiniLM-L6-v2 in floats, for TestMiniLM: token ids and unit vectors, as JSON.

Needs numpy, onnxruntime and tokenizers, and all-minilm-l6-v2.onnx (see throughput.py) in the folder onnx of the folder of models:

    python internal/bert/testdata/reference.py ~/.cache/kbsync-models
"""
import json
import os
import sys

import numpy
import onnxruntime
import tokenizers

PARTS = [
    "A ledger is the principal book for recording transactions.", "naïve café, 中文测试", "向量数据库保存文本的嵌入。", "x", "3.14159 26535 89793",
    "https://example.com/a/b?c=d&e=%20f#g", "Der Zug nach Köln fährt um 17:45 Uhr ab.", "🎉🚀 shipped!", "", "Всё течёт, всё меняется.",
    "func main() { fmt.Println(\"hello\") }", "吾輩は猫である。名前はまだ無い。", "مرحبا بالعالم",
    "The quick brown fox jumps over the lazy dog while the committee debates the merits of quantised arithmetic.",
]


def main():
    folder = sys.argv[1]
    tokenizer = tokenizers.Tokenizer.from_file(os.path.join(folder, "all-minilm-l6-v2", "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(512)
    session = onnxruntime.InferenceSession(os.path.join(folder, "onnx", "all-minilm-l6-v2.onnx"), providers=["CPUExecutionProvider"])
    out = []
    for i, part in enumerate(PARTS):
        text = ""
        for j in range(9):
            ids = numpy.array([tokenizer.encode(text + part).ids], dtype=numpy.int64)
            feed = {k.name: {"input_ids": ids, "attention_mask": numpy.ones_like(ids)}.get(k.name, numpy.zeros_like(ids)) for k in session.get_inputs()}
            v = session.run(None, feed)[0][0].mean(axis=0)
            out.append({"ids": ids[0].tolist(), "vector": (v / numpy.linalg.norm(v)).tolist()})
            text += PARTS[(i * 3 + j * 5) % len(PARTS)] + " "
    with open(os.path.join(folder, "minilm-reference.json"), "w") as f:
        json.dump(out, f)
    print(f"{len(out)} texts of {min(len(o['ids']) for o in out)} to {max(len(o['ids']) for o in out)} tokens")


main()
