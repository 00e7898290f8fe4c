"""Measures the shipped model: the quantised file is dequantised exactly and run greedily on the CPU in f32.

    python eval.py MLX_DIR LISTS_DIR [--hf HF_DIR] [--tools 100] [--chat 120] [--code 80] [--out report.json]

Held out from training: wordings, a tenth of all fillers (names, places, texts), five tool domains ("unseen"), and a tenth
of the code task families.
"""
import argparse, ast, gzip, json, random, re, time
from pathlib import Path

import torch

import fillers, gen_chat, gen_code, gen_tools
from check_rust import compiles
from common import IM_END, SHAPES, CallError, parse_calls, render
from export import dequantised_hf
from model import Spark
from pack import MARK, Encoder


class Runner:
    def __init__(self, path):
        from tokenizers import Tokenizer
        state, config = dequantised_hf(path)
        self.shape = next(k for k, v in SHAPES.items() if all(config[a] == b for a, b in v.items() if a != "attention"))
        self.model = Spark(self.shape).load_hf_state(state).eval()
        self.tok_path = path / "tokenizer.json"
        self.tok = Tokenizer.from_file(str(path / "tokenizer.json"))

    @torch.no_grad()
    def reply(self, messages, tools=None, limit=220):
        ids = self.tok.encode(render(messages, tools, add_generation_prompt=True), add_special_tokens=False).ids
        x, cache, out = torch.tensor(ids), {}, []
        while len(out) < limit and len(ids) + len(out) < 2048:
            t = int(self.model.extend(x, cache).argmax())
            if t in (IM_END, 2):
                break
            out.append(t)
            x = torch.tensor([t])
        return self.tok.decode(out, skip_special_tokens=False)


def last_call_prompt(m):
    """Splits a conversation at its first assistant turn: (prompt, expected turn)."""
    i = next(i for i, t in enumerate(m) if t["role"] == "assistant")
    return m[:i], m[i]


def same(a, b):
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


def tools_part(run, n, rng, samples):
    rows = {}
    for name, case, held in (("known families", "one", False), ("unseen tools", "one", True), ("two calls", "two", False), ("two calls, unseen", "two", True),
                             ("missing argument", "ask", False), ("no tool fits", "none", False), ("answer from result", "result", False)):
        r = dict(n=0, parsed=0, tool=0, exact=0, args=0, args_total=0)
        while r["n"] < (n if "two calls," not in name else n // 2):
            m, tools, c = gen_tools.checked(rng, "eval", case=case, held=held)
            if c != case:
                continue
            r["n"] += 1
            prompt, want = last_call_prompt(m)
            if case == "result":
                i = [j for j, t in enumerate(m) if t["role"] == "assistant"][1]
                text = run.reply(m[:i], tools)
                facts = [x for x in re.findall(r"[\w.:#-]+", m[i - 1]["content"].replace('"', " ")) if any(ch.isdigit() for ch in x)]
                ok = bool(text) and "<|tool_call_start|>" not in text and all(f.strip(".") in text or f.strip("#.") in text for f in facts if f in m[i]["content"])
                r["exact"] += ok
                r["parsed"] += "<|tool_call_start|>" not in text
            else:
                text = run.reply(prompt, tools)
                try:
                    got = parse_calls(text)
                    r["parsed"] += 1
                except CallError:
                    got = None
                if case in ("ask", "none"):
                    ok = got == [] and len(text) > 5
                    if case == "ask": ok = ok and ("?" in text or "need" in text or "tell me" in text)
                    r["exact"] += ok
                else:
                    exp = [(x["function"]["name"], x["function"]["arguments"]) for x in want["tool_calls"]]
                    ok = got is not None and same(got, exp)
                    r["tool"] += got is not None and [g[0] for g in got] == [e[0] for e in exp]
                    r["exact"] += ok
                    if got is not None and len(got) == len(exp):
                        for (_, g), (_, e) in zip(got, exp):
                            r["args"] += sum(k in g and same(g[k], v) for k, v in e.items())
                    r["args_total"] += sum(len(e[1]) for e in exp)
            if len(samples) < 400:
                samples.append(dict(part=name, ok=ok, user=[t["content"] for t in prompt if t["role"] == "user"][-1], got=text, want=render([want]).split("assistant\n", 1)[-1].split("<|im_end|>")[0] if case != "result" else m[i]["content"]))
        rows[name] = r
        print(name, r, flush=True)
    return rows


def oos_part(run, lists_dir, n, rng):
    """Public test utterances: the right tool among five, and out-of-scope ones that must not be called."""
    with gzip.open(Path(lists_dir) / "intents-test.json.gz", "rt") as f:
        test = json.load(f)
    with gzip.open(Path(lists_dir) / "intents.json.gz", "rt") as f:
        I = gen_tools.Intents(json.load(f))
    r = dict(scope_n=0, scope_tool=0, oos_n=0, oos_text=0)
    rng.shuffle(test)
    for t in test:
        oos = t["intent"] in ("oos", "out_of_scope")
        if (r["oos_n"] if oos else r["scope_n"]) >= n or not oos and t["intent"] not in I.by:
            continue
        tools = [I.tool(rng, i) for i in rng.sample(I.names, 4)]
        if not oos:
            tools = [x for x in tools if x["intent"] != t["intent"]][:3] + [I.tool(rng, t["intent"])]
        rng.shuffle(tools)
        text = run.reply([{"role": "user", "content": t["text"]}], [x["schema"] for x in tools], 80)
        try:
            got = parse_calls(text)
        except CallError:
            got = [("?", {})]
        if oos:
            r["oos_n"] += 1
            r["oos_text"] += got == []
        else:
            r["scope_n"] += 1
            r["scope_tool"] += len(got) == 1 and got[0][0] == next(x["name"] for x in tools if x["intent"] == t["intent"])
        if r["oos_n"] >= n and r["scope_n"] >= n:
            break
    print("public intents", r, flush=True)
    return r


def norm(s):
    return re.sub(r"\W+", " ", s.lower()).strip()


def overlap(a, b):
    a, b = set(a.split()), set(b.split())
    return len(a & b) / max(1, len(a | b))


def chat_ok(name, prompt, want, text):
    """Rules by topic: exact facts where there is one right answer, key words otherwise."""
    w, g = norm(want), norm(text)
    if not g:
        return False
    if w == g:
        return True
    nums = re.findall(r"-?\d+", want)
    if name in ("arithmetic", "units", "order", "elements", "capitals", "context_qa", "languages", "memory"):
        user = norm(" ".join(m["content"] for m in prompt if m["role"] == "user")) if name != "memory" else ""
        key = nums[-1:] if nums and name in ("arithmetic", "units") else [x for x in w.split() if x not in user.split() and len(x) > 2 or x.isdigit()]
        stop = {"the", "capital", "symbol", "comes", "after", "your", "name", "you", "are", "told", "said", "that", "answer", "has", "atomic", "number", "called", "favorite", "called", "it", "is", "days", "leap", "year", "for", "lives", "years", "old"}
        key = [k for k in key if k not in stop] or key
        return all(k.lstrip("-") in g for k in key[:3])
    if name in ("identity", "small_talk"):        # any answer of the row the wording belongs to
        rows = gen_chat.IDENTITY if name == "identity" else gen_chat.SMALL_TALK
        q = prompt[-1]["content"]
        good = next((a for qs, a in rows if q in qs), [want])
        return max(overlap(g, norm(x)) for x in good) > 0.6
    if name == "jokes":
        return any(overlap(g, norm(j)) > 0.9 for j in gen_chat.JOKES)
    if name == "story":
        return len(re.findall(r"[.!?]", text)) >= 3 and len(g.split()) > 25
    if name == "draft":
        return overlap(w, g) > 0.6
    if name in ("unknown", "no_access"):
        return any(k in g for k in ("don t know", "demo model", "can t", "no access", "no tool", "only", "haven t", "no internet", "i m just"))
    if name == "lists":
        n = len(re.split(r",| and |\n", want.strip(".")))
        return len(re.split(r", and |,| and |\n", text.strip("."))) == n
    if name in ("facts_qa", "concepts", "advice", "definitions"):
        return overlap(w, g) > 0.6
    if name == "words_task":
        return w == g
    return len(g.split()) >= 2


def chat_part(run, n, rng, samples):
    rows = {}
    makers = [m for m, _ in gen_chat.MAKERS]
    for i in range(n):
        maker = makers[i % len(makers)]
        m, name = gen_chat.conversation(rng, "eval", maker)
        prompt, want = m[:-1], m[-1]["content"]
        text = run.reply(prompt, limit=160)
        ok = chat_ok(name, prompt, want, text)
        r = rows.setdefault(name, dict(n=0, ok=0))
        r["n"] += 1
        r["ok"] += ok
        samples.append(dict(part="chat " + name, ok=ok, user=prompt[-1]["content"], got=text, want=want))
    print("chat", {k: f"{v['ok']}/{v['n']}" for k, v in rows.items()}, flush=True)
    return rows


# Wordings written after the training data of the second edition was frozen, and not used to change it.
FRESH_WRAP = ["I could do with your help: {}", "Whenever it suits you, {}", "{}, would that work?", "Tonight's chore: {}", "A customer is waiting, so {}"]
FRESH_FRAG = ["its {w} is meant to be {v}", "{v} goes in as {w}"]
FRESH_CHAT = [  # question, words of which one must appear
    ("How are you keeping?", "well|good|fine"), ("Ta very much", "welcome|happy|any time"), ("Catch you later", "bye|soon|goodbye"), ("Hello again, my friend", "help|do for you|like to do"),
    ("My cat died and I can't stop crying", "sorry|hard"), ("I passed my exam!", "wonderful|great"), ("Tell me which model I am using", "spark"), ("State your name", "spark"), ("Is there a person typing your replies?", "program|not a person|model"),
    ("Explain what this Molten thing is", "engine|lfm2"), ("Who programmed you?", "molten project"), ("What sort of things may I ask?", "tool|chat|function|sum"), ("Any chance you know the current time?", "clock"), ("Is it snowing out there?", "weather"),
    ("Fetch the newest headlines from the internet", "no access|internet|can t"), ("Crack a joke for me", "?"), ("Got any humour in you?", "?"), ("41 plus 17 makes?", "58"), ("Take 8 away from 30", "22"), ("Seven times six is what?", "42"), ("Split 45 by 5", "9"),
    ("Is seventeen an odd number?", "odd"), ("What is 25 plus itself?", "50"), ("How many seconds fit into 3 minutes?", "180"), ("4 metres make how many centimetres?", "400"), ("Where is the government of Norway, in which capital?", "oslo"),
    ("France has which capital city?", "paris"), ("Gold is abbreviated how in the periodic table?", "au"), ("Which element hides behind Fe?", "iron"), ("The day following Sunday is called?", "monday"), ("After July, which month is it?", "august"),
    ("Following the letter F, which one comes?", "g"), ("Could I get three animals?", ","), ("Write garden using only capitals", "garden"), ("Tell me the letters of chair separately", "c h a i r"), ("Hot is the opposite of what?", "cold"),
    ("What do we call several mice, I mean one mouse, two?", "mice"), ("German for water, please?", "wasser"), ("I go by Tobias. || What name did I tell you?", "tobias"), ("My locker number is 4471. || Which locker number was it?", "4471"),
    ("Anna owns a drum. Lou owns a kite. Who owns the kite?", "lou"), ("Peter is 34 years old. Kim is 19 years old. Tell me Kim's age.", "19"), ("Please narrate something about a hedgehog.", "hedgehog"), ("Who was the 4th emperor of Rome?", "don t know|demo model|beyond|can t"),
    ("In plain words, what's a compiler?", "program|code|machine"), ("I'd like to understand recursion.", "itself"), ("Sleep is hard for me, any ideas?", "dark|bed|screens"), ("How does one cook an egg?", "water|minutes")]


def fresh_part(run, n, samples):
    """The tool cases and a short chat list in wordings that played no part in the design of the training data."""
    gen_tools.ASK_WRAP_EVAL, gen_tools.FRAG_EVAL = FRESH_WRAP, FRESH_FRAG
    rows = tools_part(run, n, random.Random(601), samples)
    ok = 0
    for q, keys in FRESH_CHAT:
        m = []
        for i, u in enumerate(q.split(" || ")):
            m.append({"role": "user", "content": u})
            m.append({"role": "assistant", "content": run.reply(m, limit=100)})
        text = m[-1]["content"]
        good = "?" in text and len(norm(text).split()) > 5 if keys == "?" else text.count(",") + text.count("\n") + text.count(" and ") >= 2 if keys == "," else \
            "GARDEN" in text if keys == "garden" else any(re.search(rf"\b{k}\b", norm(text)) for k in keys.split("|"))
        ok += good
        samples.append(dict(part="fresh chat", ok=good, user=q, got=text, want=keys))
    print("fresh chat", ok, "of", len(FRESH_CHAT), flush=True)
    return dict(rows, chat=dict(n=len(FRESH_CHAT), ok=ok))


def code_part(run, n, rng, samples):
    rows = {}
    for lang in ("python", "rust"):
        for split in ("train", "eval"):
            r = rows[f"{lang}, {'known' if split == 'train' else 'held-out'} tasks"] = dict(n=0, parse=0, passed=0, testable=0)
            for _ in range(n // (1 if split == "train" else 2)):
                while True:
                    t = gen_code.task(rng, split)
                    if (t["py"] if lang == "python" else t["rs"]): break
                q = rng.choice(gen_code.ASK_EVAL).format(L=lang.title(), d=t["desc"], t=gen_code.third(t["desc"]), f=t["name"], a="")
                text = run.reply([{"role": "user", "content": q}], limit=320)
                m = re.search(r"```\w*\n(.*?)```", text, re.S)
                code = m.group(1) if m else text
                r["n"] += 1
                if lang == "python":
                    try:
                        tree = ast.parse(code); good = True
                    except (SyntaxError, ValueError):
                        good = False
                    names = [x.name for x in tree.body if isinstance(x, ast.FunctionDef)] if good else []
                    if t["tests"] and t["py"]:
                        r["testable"] += 1
                        ok = bool(names) and gen_code.run_tests(code, names[-1], t["tests"])
                        r["passed"] += ok
                    else:
                        ok = good
                else:
                    good = ok = compiles(code)[0]
                r["parse"] += good
                samples.append(dict(part=f"code {lang} {split}", ok=ok, user=q, got=text, want=t["py"] if lang == "python" else t["rs"]))
            print(lang, split, r, flush=True)
    return rows


@torch.no_grad()
def agreement(run, hf_dir, rng, n=30):
    from transformers import Lfm2MoeForCausalLM
    ref = Lfm2MoeForCausalLM.from_pretrained(hf_dir, dtype=torch.float32).eval()
    same_top = total = same_own = own = 0
    enc = Encoder(run.tok_path)
    for i in range(n):
        if i % 3 == 0: text = render(*gen_tools.checked(rng, "eval")[:2])
        elif i % 3 == 1: text = render(gen_chat.conversation(rng)[0])
        else: text = render(gen_code.conversation(rng)[0])
        marked = torch.from_numpy(next(iter(enc.chats([text])))[:2048].astype("int64"))[None]
        ids, mine = marked & (MARK - 1), marked[:, 1:] >= MARK
        same = (run.model(ids).argmax(-1) == ref(ids).logits.argmax(-1))[:, :-1]
        same_top += same.sum().item()
        total += same.numel()
        same_own += same[mine].sum().item()
        own += mine.sum().item()
    r = dict(all=round(same_top / total, 4), assistant=round(same_own / own, 4), tokens=total, assistant_tokens=own)
    print("top-1 agreement of the shipped file with bf16 weights:", r, flush=True)
    return r


def main():
    p = argparse.ArgumentParser()
    p.add_argument("model", type=Path)
    p.add_argument("lists", type=Path)
    p.add_argument("--hf", type=Path)
    p.add_argument("--tools", type=int, default=100)
    p.add_argument("--chat", type=int, default=210)
    p.add_argument("--code", type=int, default=60)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--only", help="comma-separated parts: tools, intents, chat, code, fresh, top1 (all)")
    p.add_argument("--out", type=Path, default=Path("eval.json"))
    a = p.parse_args()
    torch.set_num_threads(a.threads)
    fillers.load_lists(a.lists / "lists.json.gz")
    run, samples, t0 = Runner(a.model), [], time.time()
    parts = dict(tools=lambda: tools_part(run, a.tools, random.Random(501), samples), intents=lambda: oos_part(run, a.lists, a.tools, random.Random(502)),
                 chat=lambda: chat_part(run, a.chat, random.Random(503), samples), code=lambda: code_part(run, a.code, random.Random(504), samples), fresh=lambda: fresh_part(run, a.tools, samples))
    if a.hf: parts["top1"] = lambda: agreement(run, a.hf, random.Random(505))
    parts["fresh"] = parts.pop("fresh")                       # last: it changes the wordings
    report = {k: f() for k, f in parts.items() if not a.only or k in a.only.split(",")}
    report["seconds"] = round(time.time() - t0)
    json.dump(dict(report, samples=samples), open(a.out, "w"), indent=1)


if __name__ == "__main__":
    main()
