#!/usr/bin/env bash
# Reads PDF files with kbsync and with Python libraries, and prints a table of how well and how fast.
#
#   scripts/bench-documents/run.sh [DIR…]
#
# DIR holds files NAME.pdf with NAME.json of scripts/truth-documents beside them, or NAME.md; without one, the documents of
# scripts/truth-documents are made. The libraries go into a Python environment of their own outside the repository.
set -euo pipefail
cd "$(dirname "$0")/../.."

work=${KBSYNC_BENCH_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/kbsync-documents}
mkdir -p "$work"
if [ ! -x "$work/venv/bin/python" ]; then
  python3 -m venv "$work/venv"
fi
"$work/venv/bin/pip" install -q --disable-pip-version-check pdfplumber==0.11.10 'markitdown[pdf]==0.1.9' pypdf==7.1.1 rapidfuzz==3.14.6
go build -o "$work/kbsync" ./cmd/kbsync
if [ $# -eq 0 ]; then
  if ! ls "$work"/truth/*.json >/dev/null 2>&1; then
    scripts/truth-documents/make.py "$work/truth"
  fi
  set -- "$work/truth"
fi
exec "$work/venv/bin/python" -B scripts/bench-documents/bench.py "$work/kbsync" "$@"
