"""Writes semantic-langchain.json: what langchain-experimental's SemanticChunker makes of the texts of semantic.txtar, with vectors that
strategytest.Hashed gives as well. Run beside the texts, with langchain-experimental 0.4.2 and numpy installed."""

import json
import re

import numpy as np
from langchain_core.embeddings import Embeddings
from langchain_experimental.text_splitter import SemanticChunker


def hashed(text):
    v = np.zeros(256, dtype=np.float32)
    last = " "
    for r in text:
        h = 2166136261
        for byte in (last + r).encode():
            h = (h ^ byte) * 16777619 % 2**32
        v[h % 256] += 1
        last = r
    return [float(x) for x in (v.astype(np.float64) / np.sqrt(np.sum(v.astype(np.float64) ** 2))).astype(np.float32)]


class Hashed(Embeddings):
    def embed_documents(self, texts):
        return [hashed(t) for t in texts]

    def embed_query(self, text):
        return hashed(text)


METHODS = [("percentile", 95), ("percentile", 80), ("standard_deviation", 3), ("standard_deviation", 1), ("interquartile", 1.5),
           ("interquartile", 0.5), ("gradient", 95), ("gradient", 75)]
archive = open("semantic.txtar", encoding="utf-8").read()
parts = re.split(r"^-- (.*) --$\n", archive, flags=re.M)
cases = []
for name, text in zip(parts[1::2], parts[2::2]):
    regex = r"(?<=[.?!])\s+" if name.startswith("en") else r"(?<=[。！？])\s*"
    for count in (0, 3):  # the whole text, and its first sentences
        sentences = [s for s in re.split(regex, text.strip()) if s]
        body = " ".join(sentences[:count] if count else sentences)
        again = r"(?<=[.?!])\s+" if name.startswith("en") else r"(?<=[。！？]) "
        for buffer in (0, 1, 2):
            for method, amount in METHODS:
                c = SemanticChunker(Hashed(), buffer_size=buffer, breakpoint_threshold_type=method, breakpoint_threshold_amount=amount, sentence_split_regex=again)
                single = c._get_single_sentences_list(body)
                distances, _ = c._calculate_sentence_distances(single)
                chunks = c.split_text(body)
                ends, n = [], 0
                for chunk in chunks[:-1]:
                    k, joined = 0, ""
                    while joined != chunk:
                        k += 1
                        joined = " ".join(single[n:n + k])
                    n += k
                    ends.append(n - 1)
                cases.append({"text": name, "buffer": buffer, "method": method, "amount": amount, "sentences": single,
                              "distances": [round(float(d), 9) for d in distances], "ends": ends})
with open("semantic-langchain.json", "w", encoding="utf-8") as out:
    out.write("[\n" + ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases) + "\n]\n")
