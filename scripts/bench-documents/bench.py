"""Compares readers of PDF files: run.sh says how. Each reads each file in a process of its own."""

import json
import pathlib
import re
import resource
import subprocess
import sys

from rapidfuzz.distance import Levenshtein

READERS = {
    "pdfplumber": """
import json, sys, pdfplumber
pages, cells = [], []
with pdfplumber.open(sys.argv[1]) as pdf:
    for page in pdf.pages:
        pages.append(page.extract_text() or "")
        cells += [c or "" for table in page.extract_tables() for row in table for c in row]
print(json.dumps(["\\n".join(pages), cells]))""",
    "markitdown": """
import json, sys
from markitdown import MarkItDown
print(json.dumps([MarkItDown().convert(sys.argv[1]).text_content, None]))""",
    "pypdf": """
import json, sys, pypdf
print(json.dumps(["\\n".join(p.extract_text() for p in pypdf.PdfReader(sys.argv[1]).pages), []]))""",
}


def cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def read(kbsync, reader, file):
    """The text, the cells of the tables, and the seconds of processor time."""
    start = cpu()
    if reader == "kbsync":
        out = [subprocess.run([kbsync, "parse", file], check=True, capture_output=True, text=True).stdout, None]
    else:
        out = json.loads(subprocess.run([sys.executable, "-c", READERS[reader], file], check=True, capture_output=True, text=True).stdout)
    return out[0], cells_of(out[0]) if out[1] is None else out[1], cpu() - start


def cells_of(markdown):
    rows = [line.strip() for line in markdown.splitlines() if line.strip().startswith("|")]
    return [c.strip() for row in rows if not re.fullmatch(r"[|\s:-]+", row) for c in row.strip("|").split("|")]


def plain(text):
    """Without spaces and the marks of Markdown."""
    text = re.sub(r"^\s*\|[|\s:-]+$", "", text, flags=re.M)
    return re.sub(r"[\s|#*_`\\\u00ad•–—-]", "", text)


def truth(pdf):
    """The text in order, and the cells."""
    listed = pdf.with_suffix(".json")
    if not listed.exists():
        text = pdf.with_suffix(".md").read_text(encoding="utf-8")
        return text, cells_of(text)
    text, cells = [], []
    for e in json.loads(listed.read_text(encoding="utf-8"))["elements"]:
        text.append(e["text"])
        for row in e.get("rows", []):
            text += row
            cells += row
    return "\n".join(text), cells


def f1(want, got):
    clean = [[re.sub(r"\s+", "", c) for c in side if c.strip()] for side in (want, got)]
    if not clean[0]:
        return None
    left, hits = list(clean[0]), 0
    for c in clean[1]:
        if c in left:
            left.remove(c)
            hits += 1
    return 2 * hits / (len(clean[0]) + len(clean[1]))


def main():
    kbsync, folders = sys.argv[1], sys.argv[2:]
    print("| file | reader | order and text | cells, F1 | CPU, s |\n|---|---|--:|--:|--:|")
    for folder in folders:
        for pdf in sorted(pathlib.Path(folder).glob("*.pdf")):
            if not (pdf.with_suffix(".json").exists() or pdf.with_suffix(".md").exists()):
                continue
            text, cells = truth(pdf)
            want = plain(text)
            for reader in ["kbsync", *READERS]:
                got, found, seconds = read(kbsync, reader, str(pdf))
                score = f1(cells, found)
                print(f"| {pdf.stem} | {reader} | {Levenshtein.normalized_similarity(want, plain(got)):.3f} | {'' if score is None else f'{score:.3f}'} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
