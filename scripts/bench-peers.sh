#!/usr/bin/env bash
# Runs other chunking libraries and kbsync over the same two texts, in one job on one thread each, and prints the ratios.
# Needs python3 and network access for the first run (it makes a virtual environment), and the folder shared/data/bench.
#
#   scripts/bench-peers.sh [only]     only: a part of the peers' names, such as "Recursive"; all by default
#
# Rates are by processor time (MB = 1e6 bytes), so that a busy machine does not spoil the comparison.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
data=${KBSYNC_SHARED:-$root/../shared}/data/bench
only=${1:-}
work=${KBSYNC_BENCH_DIR:-${TMPDIR:-/tmp}/kbsync-bench-peers}
mkdir -p "$work"
cd "$work"
if [ ! -x venv/bin/python ]; then
	python3 -m venv venv
	venv/bin/pip install --quiet chonkie semchunk langchain-text-splitters llama-index-core tiktoken semantic-text-splitter
fi
for lang in en zh; do
	venv/bin/python "$data/bench.py" "$data/$lang.md" 3 "$only" | tee "peers-$lang.txt"
done
(cd "$root" && GOMAXPROCS=1 go test ./strategies -run '^$' -bench 'BenchmarkStrategy/(recursive|fixed|sentence)' -benchtime 2s) | tee kbsync.txt
venv/bin/python - <<'PY'
import re

def peers(lang):
    out = {}
    for line in open(f"peers-{lang}.txt", encoding="utf-8"):
        m = re.match(r"(.+?)\s+cpu\s+[\d.]+s\s+([\d.]+) MB/s", line)
        if m:
            out[m[1].strip()] = float(m[2])
    return out

ours = {}
for line in open("kbsync.txt", encoding="utf-8"):
    m = re.match(r"BenchmarkStrategy/(\S+?)(?:-\d+)?\s.*?([\d.]+) cpuMB/s", line)
    if m:
        ours[m[1]] = float(m[2])

pairs = [
    ("recursive/chars", "langchain Recursive chars=1000/0", {"en": 4, "zh": 4}),
    ("recursive/chars-overlap", "langchain Recursive chars=1000/200", {}),
    ("recursive/langchain", "langchain Recursive chars=1000/0", {}),
    ("recursive/cl100k", "chonkie RecursiveChunker cl100k 512", {"en": 6, "zh": 3.5}),
    ("fixed/cl100k", "chonkie TokenChunker cl100k 512/0", {}),
]
print()
for lang in ("en", "zh"):
    theirs = peers(lang)
    for mine, peer, want in pairs:
        a, b = ours.get(f"{mine}/{lang}"), theirs.get(peer)
        if a and b:
            goal = f"  (goal {want[lang]})" if lang in want else ""
            print(f"{lang}  {mine:24s} {a:8.1f} MB/s   {peer:40s} {b:8.1f} MB/s   ratio {a / b:5.1f}{goal}")
PY
