"""Tokenises documents into rows of 2049 tokens (uint16; bit 15 marks assistant tokens).

    python pack.py docs DOCS_DIR TOKENIZER OUT                       # the public text and code
    python pack.py generate KIND SEED COUNT LISTS_DIR TOKENIZER OUT  # KIND: tools, chat or codegen
    python pack.py workers N TOOLS CHAT CODE LISTS_DIR TOKENIZER OUT [SEED] # N processes share these counts (thousands)
"""
import gzip, json, os, random, subprocess, sys
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from common import BOS, EOT, IM_END, IM_START, read_jsonl, render

ROW = 2049
MARK = 0x8000


class Encoder:
    def __init__(self, path):
        self.t = Tokenizer.from_file(str(path))
        self.head = [IM_START] + self.t.encode("assistant\n", add_special_tokens=False).ids

    def chats(self, texts):
        """Token arrays of rendered conversations, with assistant tokens (and their end of turn) marked."""
        for e in self.t.encode_batch_fast(texts, add_special_tokens=False):
            ids = np.array(e.ids, np.uint16)
            k, n, on = len(self.head), len(ids), False
            starts = np.flatnonzero(ids == IM_START)
            for s in starts:
                if list(ids[s:s + k]) == self.head:
                    end = np.flatnonzero(ids[s:] == IM_END)
                    stop = s + (end[0] + 1 if len(end) else n - s)
                    ids[s + k:stop] |= MARK
            yield ids

    def plain(self, texts):
        for e in self.t.encode_batch_fast(texts, add_special_tokens=False):
            yield np.array([BOS] + e.ids + [EOT], np.uint16)


def stream_rows(arrays):
    """One long stream cut into rows that overlap by one token."""
    a = np.concatenate(list(arrays)) | MARK
    n = (len(a) - 1) // (ROW - 1)
    return np.stack([a[i * (ROW - 1):i * (ROW - 1) + ROW] for i in range(n)])


def packed_rows(arrays, open_rows=48):
    """Whole documents packed first-fit; unused tails are padding (0)."""
    rows, done = [], []
    for a in arrays:
        if len(a) > ROW:
            continue
        for r in rows:
            if r[0] + len(a) <= ROW:
                break
        else:
            if len(rows) >= open_rows:
                i = max(range(len(rows)), key=lambda j: rows[j][0])
                done.append(rows.pop(i)[1])
            r = [0, []]
            rows.append(r)
        r[0] += len(a)
        r[1].append(a)
    out = np.zeros((len(done) + len(rows), ROW), np.uint16)
    for i, parts in enumerate(done + [r[1] for r in rows]):
        c = np.concatenate(parts)
        out[i, :len(c)] = c
    return out


def save(out, cat, tag, rows, val=False):
    """Keeps every 200th row of static data for validation."""
    v = rows[::200][:32] if val else rows[:0]
    t = np.delete(rows, np.arange(0, len(rows), 200)[:32], 0) if val else rows
    for part, r in (("train", t), ("val", v)):
        if len(r):
            os.makedirs(f"{out}/{part}", exist_ok=True)
            np.save(f"{out}/{part}/.{cat}-{tag}.npy", r)
            os.rename(f"{out}/{part}/.{cat}-{tag}.npy", f"{out}/{part}/{cat}-{tag}.npy")


def docs(src, tok, out):
    enc = Encoder(tok)
    cats = {}
    for d in read_jsonl(Path(src) / "docs.jsonl"):
        cats.setdefault(d["cat"], []).append(d)
    for cat, ds in sorted(cats.items()):
        if cat in ("english", "code"):
            rows = stream_rows(enc.plain([d["text"] for d in ds]))
        else:
            rows = packed_rows(enc.chats([render(d["messages"], d.get("tools")) for d in ds]))
        save(out, cat, "0", rows, val=True)
        print(cat, rows.shape, f"{rows.size / 1e6:.1f} M tokens, fill {(rows != 0).mean():.3f}", flush=True)


def generate(kind, seed, count, src, tok, out, part="train"):
    import fillers, gen_chat, gen_code, gen_tools
    rng = random.Random(f"{kind}-{seed}")
    fillers.load_lists(Path(src) / "lists.json.gz")
    enc = Encoder(tok)
    intents = None
    if kind == "tools" and part == "train":
        with gzip.open(Path(src) / "intents.json.gz", "rt") as f:
            intents = gen_tools.Intents(json.load(f))

    def one():
        if kind == "chat":
            return render(gen_chat.conversation(rng)[0])
        if kind == "codegen":
            return render(gen_code.conversation(rng)[0])
        if intents and rng.random() < .14:
            c = intents.conversation(rng)
            if c:
                return render(c[0], c[1])
        m, t, _ = gen_tools.checked(rng, chat=lambda r: gen_chat.conversation(r)[0][-2:])
        return render(m, t)

    def arrays():
        left = count
        while left > 0:
            n = min(512, left)
            left -= n
            yield from enc.chats([one() for _ in range(n)])
    rows = packed_rows(arrays())
    if part == "val":
        os.makedirs(f"{out}/val", exist_ok=True)
        np.save(f"{out}/val/{kind}-{seed}.npy", rows[:64])
    else:
        save(out, kind, str(seed), rows)
    print(kind, seed, rows.shape, f"fill {(rows != 0).mean():.3f}", flush=True)


def workers(n, tools, chat, code, src, tok, out, first=0):
    """Splits the work into shards and runs n processes over them; shard seeds do not depend on n."""
    jobs = [(k, s) for _, k, s in sorted((s / (total // 4), k, s) for k, total in (("tools", tools), ("chat", chat), ("codegen", code)) for s in range(total // 4))]
    env = dict(os.environ, RAYON_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false", OMP_NUM_THREADS="1")
    running = []
    for k, s in jobs:
        while len(running) >= n:
            running = [p for p in running if p.poll() is None] if any(p.poll() is not None for p in running) else (running[0].wait(), running[1:])[1]
        running.append(subprocess.Popen(["nice", "-n", "10", sys.executable, __file__, "generate", k, str(s + int(first)), "4000", src, tok, out], env=env))
    for p in running:
        p.wait()


if __name__ == "__main__":
    a = sys.argv[2:]
    if sys.argv[1] == "docs": docs(*a)
    elif sys.argv[1] == "generate": generate(a[0], int(a[1]), int(a[2]), *a[3:])
    elif sys.argv[1] == "workers": workers(*map(int, a[:4]), *a[4:])
