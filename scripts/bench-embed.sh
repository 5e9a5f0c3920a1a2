#!/usr/bin/env bash
# The local model's engine against ONNX Runtime in int8, in one job and in turns, with 1 and with 2 threads: texts of 128 tokens per second
# of CPU time, and the ratio of the medians. The models have the same shape: MiniLM is the same one; beside multilingual-e5-small (4 bits
# here) runs e5-small-v2, since no int8 file of the former is at hand.
#
#   scripts/bench-embed.sh [rounds]      3 by default
#
# Needs go, scripts/models.sh's models, and in ${KBSYNC_MODELS:-~/.cache/kbsync-models}/onnx the files all-minilm-l6-v2.onnx,
# all-minilm-l6-v2-q.onnx and e5-small-v2-q.onnx (internal/bert/testdata/throughput.py says where they are from). PYTHON is a Python with
# numpy and onnxruntime; by default a virtual environment that is made at the first run.
set -euo pipefail
M=${KBSYNC_MODELS:-$HOME/.cache/kbsync-models}
cd "$(dirname "$0")/.."
if [ -z "${PYTHON:-}" ]; then
	PYTHON=$M/ref-bert/bin/python
	if [ ! -x "$PYTHON" ]; then
		python3 -m venv "$M/ref-bert"
		"$M/ref-bert/bin/pip" install --quiet numpy onnxruntime tokenizers
	fi
fi
for threads in 1 2; do
	echo "== $threads thread(s)"
	"$PYTHON" internal/bert/testdata/throughput.py "$M/onnx" "${1:-3}" "$threads"
done
