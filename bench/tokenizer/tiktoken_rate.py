"""Encodes a file with tiktoken's GPT-2 on one thread: prints its version, tokens and seconds of processor time.

usage: tiktoken_rate.py VOCAB_BPE TEXT RUNS
"""
import sys
import time

import tiktoken


def ranks_of(path):
    """Returns the id for the bytes of each token, as vocab.bpe implies."""
    plain = [b for b in range(256) if 33 <= b <= 126 or 161 <= b <= 172 or b >= 174]
    others = [b for b in range(256) if b not in plain]
    byte_of = {chr(b): b for b in plain}
    byte_of.update({chr(256 + i): b for i, b in enumerate(others)})
    ranks = {bytes([b]): i for i, b in enumerate(plain + others)}
    with open(path, encoding="utf-8") as merges:
        next(merges)
        for line in merges:
            token = bytes(byte_of[c] for c in line.rstrip("\n") if c != " ")
            ranks[token] = len(ranks)
    return ranks


def main():
    vocabulary, text, runs = sys.argv[1], sys.argv[2], int(sys.argv[3])
    ranks = ranks_of(vocabulary)
    encoding = tiktoken.Encoding(
        name="gpt2",
        pat_str=r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s""",
        mergeable_ranks=ranks,
        special_tokens={"<|endoftext|>": len(ranks)},
    )
    with open(text, encoding="utf-8", newline="") as file:
        whole = file.read()
    seconds = []
    for _ in range(runs):
        start = time.thread_time()
        tokens = len(encoding.encode_ordinary(whole))
        seconds.append(time.thread_time() - start)
    print(tiktoken.__version__, tokens, sorted(seconds)[runs // 2])


main()
