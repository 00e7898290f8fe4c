"""Turns the public text files and the mined code into training documents.

    python prep.py TEXT MINED OUT      # TEXT: folder with english/shell/math/... .jsonl.zst, MINED: output of mine.py

Writes OUT/docs.jsonl ({cat, text} or {cat, messages, tools}), OUT/lists.json.gz and OUT/intents.json.gz (train part only).
English records that are in the public domain in the US only are left out; records marked "test" never enter.
"""
import gzip, json, random, sys
from pathlib import Path

from common import call, read_jsonl, write_jsonl

TEXT, MINED, OUT = map(Path, sys.argv[1:4])
rng = random.Random(11)
HOW = ["How do I {}?", "how to {}", "Which command can {}?", "Give me a shell command to {}.", "{} from the command line", "What is the command to {}?", "I want to {} in the terminal.", "shell: {}"]
WRITE = ["Write a {L} function: {d}", "{L}: {d}", "Write a function in {L}. {d}", "{d} Write this in {L}.", "Implement `{n}` in {L}. {d}", "I need a {L} function `{n}`. {d}"]


def chat(cat, u, a, **k):
    return dict(cat=cat, messages=[{"role": "user", "content": u}, {"role": "assistant", "content": a}], **k)


def english():
    for r in read_jsonl(TEXT / "english.jsonl.zst"):
        if "in the US only" not in r["licence"]:
            yield dict(cat="english", text=r["text"])


def shell():
    for r in read_jsonl(TEXT / "shell.jsonl.zst"):
        if r["platform"] not in ("common", "linux", "osx"):
            continue
        desc = r["description"].split(". See also")[0]
        if len(r["command"]) < 24:
            yield chat("shell", rng.choice(["What does {} do?", "What is {}?", "Explain the command {}."]).format(r["command"]), desc)
        for e in r["examples"]:
            say = e["say"].rstrip(":. ")
            run = e["run"].replace("{{", "").replace("}}", "")
            yield chat("shell", rng.choice(HOW).format(say[0].lower() + say[1:]), f"```sh\n{run}\n```")


def words():
    for r in read_jsonl(TEXT / "definitions.jsonl.zst"):
        q = rng.choice(["What does {} mean?", "Define {}.", "What is the meaning of {}?", "Explain the word {}."]).format(r["word"])
        yield chat("words", q, f"{r['word'].capitalize()} ({r['pos']}): {r['gloss'].split(';')[0]}.")
    for r in read_jsonl(TEXT / "math.jsonl.zst"):
        if r["split"] == "train":
            yield chat("words", r["question"], r["answer"] + f"\nThe answer is {r['final']}.")
    dialogs = [r for r in read_jsonl(TEXT / "dialogs.jsonl.zst")]
    seeds = [r for r in dialogs if r["source"] == "self-instruct-seed"]
    for r in seeds:
        for _ in range(3):
            yield dict(cat="words", messages=[{"role": t["role"], "content": t["text"]} for t in r["turns"]])
    for source in ("taskmaster-4", "taskmaster-3"):
        rs = [r for r in dialogs if r["source"] == source]
        args = {}
        for r in rs:
            for t in r["turns"]:
                if t["role"] == "call":
                    for a, v in t["arguments"].items():
                        args.setdefault(t["name"], {}).setdefault(a, v)
        kind = lambda v: "array" if isinstance(v, list) else "object" if isinstance(v, dict) else "string"
        tools = {n: {"name": n, "description": n.replace("_", " ").capitalize(), "parameters": {"type": "object", "properties":
                     {a: {"type": kind(v)} for a, v in sorted(p.items())}, "required": []}} for n, p in args.items()}
        for r in rs:
            used, m = set(), []
            for t in r["turns"][:14]:
                if t["role"] == "call":
                    if not all(a.isidentifier() for a in t["arguments"]):
                        break
                    used.add(t["name"])
                    m.append({"role": "assistant", "content": "", "tool_calls": [call(t["name"], **t["arguments"])]})
                elif t["role"] == "result":
                    m.append({"role": "tool", "content": json.dumps(t["response"])[:700]})
                else:
                    m.append({"role": t["role"], "content": t["text"]})
            while m and m[-1]["role"] != "assistant":
                m.pop()
            if len(m) > 1 and used and used <= set(tools):
                more = rng.sample(sorted(set(tools) - used), min(2, len(tools) - len(used)))
                names = sorted(used) + more
                rng.shuffle(names)
                yield dict(cat="words", messages=m, tools=[tools[n] for n in names])


def fim(text):
    lines = text.split("\n")
    if len(lines) < 6:
        return None
    a = rng.randint(1, len(lines) - 3)
    b = min(len(lines) - 1, a + rng.randint(1, 6))
    pre, mid, suf = "\n".join(lines[:a]) + "\n", "\n".join(lines[a:b]) + "\n", "\n".join(lines[b:])
    return f"<|fim_pre|>{pre[-1500:]}<|fim_suf|>{suf[:1000]}<|fim_mid|>{mid}"


def code():
    for r in read_jsonl(MINED / "files.jsonl"):
        yield dict(cat="code", text=r["text"])
        if rng.random() < .25 and (t := fim(r["text"][:2600])):
            yield dict(cat="code", text=t)
    for r in read_jsonl(MINED / "functions.jsonl"):
        L = r["lang"].title()
        d = r["doc"][0].upper() + r["doc"][1:]
        d = d if d.endswith((".", "!", "?")) else d + "."
        if r["free"] or rng.random() < .35:
            q = rng.choice(WRITE).format(L=L, d=d, n=r["name"])
            yield chat("functions", q, f"```{r['lang']}\n{r['bare']}\n```")
        if rng.random() < .3 and (t := fim(r["code"])):
            yield dict(cat="code", text=t)
        if rng.random() < .2 and r["free"]:
            yield chat("functions", rng.choice(["What does this function do?\n", "Explain this code:\n", "Describe this function.\n"]) + f"```{r['lang']}\n{r['bare']}\n```", d)


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    docs = [d for g in (english, shell, words, code) for d in g()]
    random.Random(5).shuffle(docs)
    print(write_jsonl(OUT / "docs.jsonl", docs), "documents")
    import zstandard
    lists = json.loads(zstandard.ZstdDecompressor().decompress((TEXT / "lists.json.zst").read_bytes(), max_output_size=1 << 24))["lists"]
    common = {w.lower() for k in ("nouns", "common_words", "animals", "fruits", "vegetables", "instruments", "verbs", "adjectives", "household_objects", "flowers") for w in lists[k]}
    defs, seen = [], set()
    for r in read_jsonl(TEXT / "definitions.jsonl.zst"):
        if r["word"] in common and r["word"] not in seen and len(r["gloss"]) < 110:
            seen.add(r["word"])
            defs.append([r["word"], r["pos"], r["gloss"], r["examples"][0] if r["examples"] else ""])
    lists["_definitions"] = defs
    with gzip.GzipFile(OUT / "lists.json.gz", "wb", mtime=0) as f:
        f.write(json.dumps(lists).encode())
    keep = [{k: r[k] for k in ("text", "intent", "slots")} for r in read_jsonl(TEXT / "intents.jsonl.zst") if r["split"] != "test"]
    test = [{k: r[k] for k in ("text", "intent", "slots")} for r in read_jsonl(TEXT / "intents.jsonl.zst") if r["split"] == "test"]
    for name, rs in (("intents", keep), ("intents-test", test)):
        with gzip.GzipFile(OUT / f"{name}.json.gz", "wb", mtime=0) as f:
            f.write(json.dumps(rs).encode())
    print(len(defs), "definitions,", len(keep), "utterances")


if __name__ == "__main__":
    main()
