#!/usr/bin/env python3
"""Makes PDF documents of known text, and beside each NAME.pdf a NAME.json that says what stands on which page.

    scripts/truth-documents/make.py OUT [NAME…]

needs Chromium and the Noto CJK fonts (install.sh installs them on Debian). The text is the script's own, so the truth is
exact: a list of elements in reading order with kind, text, first and last page; what runs over the pages is in none of them.
"""

import concurrent.futures
import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from documents import all_documents

HERE = pathlib.Path(__file__).resolve().parent


def chromium(*args):
    name = next((n for n in ("chromium", "chromium-browser", "google-chrome") if shutil.which(n)), None)
    if name is None:
        raise SystemExit("chromium is not installed: run scripts/truth-documents/install.sh")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:  # the browser may still write to it
        cmd = [name, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--virtual-time-budget=60000", f"--user-data-dir={profile}", *args]
        run = subprocess.run(cmd, capture_output=True, text=True, timeout=300, check=False)
        if run.returncode != 0:
            raise SystemExit(f"chromium failed: {run.stderr[-2000:]}")
        return run.stdout


def make(doc, out):
    page = out / (doc["name"] + ".html")
    size = f"@page {{ size: {doc['width']}cm {doc['height']}cm; margin: 0 }}"
    page.write_text(
        f"<!doctype html><html lang={doc['lang']}><meta charset=utf-8><title>{doc['name']}</title><style>{size}\n{(HERE / 'page.css').read_text()}</style>"
        f"<body class='{doc['style']} {doc['lang']}'><script>const doc = {json.dumps(doc).replace('<', chr(92) + 'u003c')};</script>"
        f"<script>{(HERE / 'page.js').read_text()}</script>", encoding="utf-8")
    dom = chromium("--dump-dom", page.as_uri())
    found = re.search(r'<script[^>]*id="truth"[^>]*>(.*?)</script>', dom, re.S)
    if not found:
        error = re.search(r'data-error="([^"]*)"', dom)
        raise SystemExit(f"{doc['name']}: the page set no truth: {error.group(1) if error else 'no error either'}")
    truth = json.loads(html.unescape(found.group(1)) if "&quot;" in found.group(1) else found.group(1))
    pdf = out / (doc["name"] + ".pdf")
    chromium("--no-pdf-header-footer", f"--print-to-pdf={pdf}", page.as_uri())
    (out / (doc["name"] + ".json")).write_text(json.dumps(truth, ensure_ascii=False, indent=1), encoding="utf-8")
    page.unlink()
    print(f"{doc['name']}: {truth['pages']} pages, {len(truth['elements'])} elements")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    out = pathlib.Path(sys.argv[1]).resolve()
    os.makedirs(out, exist_ok=True)
    wanted = [doc for doc in all_documents() if len(sys.argv) == 2 or doc["name"] in sys.argv[2:]]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for _ in pool.map(lambda doc: make(doc, out), wanted):
            pass


if __name__ == "__main__":
    main()
