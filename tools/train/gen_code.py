"""Short Python and Rust functions: composed list and string tasks plus hand-written families, with renaming and style
variations. Python is executed against a reference before it is kept; Rust samples are compiled by check_rust.py."""
import random
import re

import fillers as F
from code_families import FAMILIES

# --- composed list tasks: keep / change / reduce -----------------------------------------------------------------
PRED = [("", "", "", lambda k: lambda x: True),
        ("even ", "{x} % 2 == 0", "{x} % 2 == 0", lambda k: lambda x: x % 2 == 0),
        ("odd ", "{x} % 2 != 0", "{x} % 2 != 0", lambda k: lambda x: x % 2 != 0),
        ("positive ", "{x} > 0", "{x} > 0", lambda k: lambda x: x > 0),
        ("negative ", "{x} < 0", "{x} < 0", lambda k: lambda x: x < 0),
        ("nonzero ", "{x} != 0", "{x} != 0", lambda k: lambda x: x != 0),
        (">{k}", "{x} > {k}", "{x} > {k}", lambda k: lambda x: x > k),
        ("<{k}", "{x} < {k}", "{x} < {k}", lambda k: lambda x: x < k),
        (">={k}", "{x} >= {k}", "{x} >= {k}", lambda k: lambda x: x >= k),
        ("%{k}", "{x} % {k} == 0", "{x} % {k} == 0", lambda k: lambda x: x % k == 0),
        ("!={k}", "{x} != {k}", "{x} != {k}", lambda k: lambda x: x != k)]
PRED_TAIL = {">{k}": ["greater than {k}", "larger than {k}", "above {k}"], "<{k}": ["less than {k}", "smaller than {k}", "below {k}"],
             ">={k}": ["of at least {k}", "not below {k}"], "%{k}": ["divisible by {k}", "that are multiples of {k}"], "!={k}": ["different from {k}", "not equal to {k}"]}
MAP = [("", "{x}", "{x}", lambda k: lambda x: x), ("squares", "{x} * {x}", "{x} * {x}", lambda k: lambda x: x * x), ("cubes", "{x} ** 3", "{x} * {x} * {x}", lambda k: lambda x: x ** 3),
       ("doubles", "{x} * 2", "{x} * 2", lambda k: lambda x: x * 2), ("absolute values", "abs({x})", "{x}.abs()", lambda k: lambda x: abs(x)), ("negatives", "-{x}", "-{x}", lambda k: lambda x: -x),
       ("+{m}", "{x} + {m}", "{x} + {m}", lambda k: lambda x: x + k), ("*{m}", "{x} * {m}", "{x} * {m}", lambda k: lambda x: x * k)]
RED = ["list", "list", "sum", "count", "max", "min", "product", "average", "first", "last", "any", "all", "sorted"]
NOUNS = ["numbers", "numbers", "numbers", "integers", "values", "items"]
LISTN = ["xs", "nums", "numbers", "values", "items", "data", "lst", "arr"]
ITEMN = ["x", "n", "v", "num", "value", "item", "i"]
RESN = ["result", "out", "res", "total", "acc", "answer"]


def held(key):
    return F.held_out("code" + key)


def list_task(rng, split):
    while True:
        p, m, r = rng.choice(PRED), rng.choice(MAP), rng.choice(RED)
        if r in ("any", "all") and (m[0] or not p[0]): continue
        if r in ("count", "first", "last") and (m[0] or not p[0]): continue
        if not p[0] and not m[0] and r == "list": continue
        key = f"{p[0]}{m[0]}{r}"
        if held(key) != (split == "eval"): continue
        break
    k, c = rng.choice([2, 3, 4, 5, 7, 10, 20, 50, 100, rng.randint(2, 99)]), rng.choice([1, 2, 3, 5, 10, rng.randint(2, 20)])
    noun, lst = rng.choice(NOUNS), rng.choice(["a list", "a list", "the list", "the given list", "a sequence"])
    what = f"{p[0]}{noun}" if p[0] and p[0] not in PRED_TAIL else f"{noun} {rng.choice(PRED_TAIL[p[0]])}".format(k=k) if p[0] else noun
    inner = f"the {what} in {lst}"
    if m[0] in ("+{m}", "*{m}"):
        how = f"{'plus' if m[0][0] == '+' else 'times'} {c}"
        inner = f"the {what} in {lst}, each {how}"
    elif m[0]: inner = f"the {m[0]} of {inner}"
    d = {"list": rng.choice([f"return {inner}", f"return a list of {inner}" if m[0] or p[0] else f"return {inner}", f"collect {inner}"]), "sum": rng.choice([f"return the sum of {inner}", f"add up {inner}", f"compute the sum of {inner}"]),
         "count": f"count {inner}", "max": rng.choice([f"return the largest of {inner}", f"find the maximum of {inner}"]), "min": rng.choice([f"return the smallest of {inner}", f"find the minimum of {inner}"]),
         "product": rng.choice([f"return the product of {inner}", f"multiply {inner} together"]), "average": rng.choice([f"return the average of {inner}", f"compute the mean of {inner}"]),
         "first": f"return the first of {inner}", "last": f"return the last of {inner}", "any": f"check whether {lst} contains any {what}", "all": f"check whether all {noun} in {lst} are {what.replace(noun, '').strip()}" if p[0] not in PRED_TAIL else f"check whether every number in {lst} is {PRED_TAIL[p[0]][0].format(k=k)}",
         "sorted": rng.choice([f"return {inner}, sorted", f"sort {inner}"])}[r]
    pf, mf = p[3](k), m[3](c)
    ref = lambda xs: _reduce(r, [mf(x) for x in xs if pf(x)], [pf(x) for x in xs])
    L, x, acc = rng.choice(LISTN), rng.choice(ITEMN), rng.choice(RESN)
    f = rng.choice({"list": ["filter", "select", "pick", "transform", "collect", "process", "keep"], "sum": ["sum", "total", "add"], "count": ["count"], "max": ["max", "largest", "biggest"], "min": ["min", "smallest"], "product": ["product", "multiply"],
                    "average": ["average", "mean"], "first": ["first", "find"], "last": ["last"], "any": ["has", "any", "contains"], "all": ["all", "every", "only"], "sorted": ["sorted", "sort"]}[r])
    tag = {"": "", ">{k}": f"_above_{k}", "<{k}": f"_below_{k}", ">={k}": f"_at_least_{k}", "%{k}": f"_divisible_by_{k}", "!={k}": f"_not_{k}"}.get(p[0], "_" + p[0].strip())
    mt = {"+{m}": f"_plus_{c}", "*{m}": f"_times_{c}", "": ""}.get(m[0], "_" + m[0].replace(" ", "_"))
    f = (f + tag + mt).replace("__", "_") if rng.random() < .8 or not (tag or mt) else (f + "_" + noun)
    if f in ("sum", "max", "min", "all", "any", "filter", "sorted"): f += "_" + rng.choice(["list", "values", "of"])
    cond, expr = p[1].format(x=x, k=k), m[1].format(x=x, m=c)
    gen = f"{expr} for {x} in {L}" + (f" if {cond}" if cond else "")
    style = rng.random()
    zero = {"max": "None", "min": "None", "first": "None", "last": "None"}
    I = "    "
    if r in ("list", "sorted"):
        if style < .6 or r == "sorted": body = f"{I}return sorted({gen})" if r == "sorted" else f"{I}return [{gen}]"
        else: body = f"{I}{acc} = []\n{I}for {x} in {L}:\n" + (f"{I*2}if {cond}:\n{I*3}{acc}.append({expr})\n" if cond else f"{I*2}{acc}.append({expr})\n") + f"{I}return {acc}"
    elif r in ("sum", "count", "product"):
        init, upd = ("1", f"{acc} *= {expr}") if r == "product" else ("0", f"{acc} += {expr if r == 'sum' else '1'}")
        if style < .5 and r == "sum": body = f"{I}return sum({gen})"
        elif style < .5 and r == "count": body = f"{I}return sum(1 for {x} in {L} if {cond})"
        else: body = f"{I}{acc} = {init}\n{I}for {x} in {L}:\n" + (f"{I*2}if {cond}:\n{I*3}{upd}\n" if cond else f"{I*2}{upd}\n") + f"{I}return {acc}"
    elif r in ("max", "min"): body = f"{I}return {r}(({gen}), default=None)"
    elif r == "average": body = f"{I}{acc} = [{gen}]\n{I}if not {acc}:\n{I*2}return 0.0\n{I}return sum({acc}) / len({acc})"
    elif r == "first": body = f"{I}for {x} in {L}:\n{I*2}if {cond}:\n{I*3}return {x}\n{I}return None"
    elif r == "last": body = f"{I}for {x} in reversed({L}):\n{I*2}if {cond}:\n{I*3}return {x}\n{I}return None"
    else: body = f"{I}return {r}({cond} for {x} in {L})"
    hints = rng.random() < .35
    ret = {"list": "list[int]", "sorted": "list[int]", "sum": "int", "count": "int", "product": "int", "average": "float", "any": "bool", "all": "bool"}.get(r, "int | None")
    sig = f"def {f}({L}: list[int]) -> {ret}:" if hints else f"def {f}({L}):"
    py = sig + "\n" + body
    # Rust
    chain = f"{L}.iter()"
    rc, re_ = p[2].format(x=x, k=k), m[2].format(x=x, m=c)
    if rc: chain += f".filter(|&&{x}| {rc})"
    mp = f".map(|&{x}| {re_})" if m[0] else ".copied()"
    rt = {"list": "Vec<i64>", "sorted": "Vec<i64>", "sum": "i64", "count": "usize", "product": "i64", "average": "f64", "any": "bool", "all": "bool"}.get(r, "Option<i64>")
    pub = rng.choice(["", "pub ", "pub "])
    head = f"{pub}fn {f}({L}: &[i64]) -> {rt} {{\n"
    if r in ("list",) and style >= .7: b = f"{I}let mut {acc} = Vec::new();\n{I}for &{x} in {L} {{\n" + (f"{I*2}if {rc} {{\n{I*3}{acc}.push({re_});\n{I*2}}}\n" if rc else f"{I*2}{acc}.push({re_});\n") + f"{I}}}\n{I}{acc}\n}}"
    elif r == "list": b = f"{I}{chain}{mp}.collect()\n}}"
    elif r == "sorted": b = f"{I}let mut {acc}: Vec<i64> = {chain}{mp}.collect();\n{I}{acc}.sort();\n{I}{acc}\n}}"
    elif r in ("sum", "product"):
        if style < .65: b = f"{I}{chain}{mp}.{r}()\n}}"
        else: b = f"{I}let mut {acc} = {'0' if r == 'sum' else '1'};\n{I}for &{x} in {L} {{\n" + (f"{I*2}if {rc} {{\n{I*3}{acc} {'+' if r == 'sum' else '*'}= {re_};\n{I*2}}}\n" if rc else f"{I*2}{acc} {'+' if r == 'sum' else '*'}= {re_};\n") + f"{I}}}\n{I}{acc}\n}}"
    elif r == "count": b = f"{I}{chain}.count()\n}}"
    elif r in ("max", "min"): b = f"{I}{chain}{mp}.{r}()\n}}"
    elif r == "average": b = f"{I}let {acc}: Vec<i64> = {chain}{mp}.collect();\n{I}if {acc}.is_empty() {{\n{I*2}return 0.0;\n{I}}}\n{I}{acc}.iter().sum::<i64>() as f64 / {acc}.len() as f64\n}}"
    elif r == "first": b = f"{I}{L}.iter().copied().find(|&{x}| {rc})\n}}"
    elif r == "last": b = f"{I}{L}.iter().rev().copied().find(|&{x}| {rc})\n}}"
    else: b = f"{I}{L}.iter().{r}(|&{x}| {rc})\n}}"
    tests = []
    for _ in range(3):
        xs = [rng.randint(-12, 12) if rng.random() < .7 else rng.randint(0, 120) for _ in range(rng.randint(2, 6))]
        tests.append(((xs,), ref(xs)))
    return dict(key=key, name=f, desc=d, py=py, rs=head + b, tests=tests, args=[L])


def _reduce(r, ys, flags):
    if r == "list": return ys
    if r == "sorted": return sorted(ys)
    if r == "sum": return sum(ys)
    if r == "count": return len(ys)
    if r == "product":
        o = 1
        for y in ys: o *= y
        return o
    if r == "average": return sum(ys) / len(ys) if ys else 0.0
    if r in ("any", "all"): return (any if r == "any" else all)(flags)
    if not ys: return None
    return {"max": max, "min": min, "first": lambda v: v[0], "last": lambda v: v[-1]}[r](ys)


# --- composed string tasks ----------------------------------------------------------------------------------------
STR = [  # description, python, rust, return type
    ("return {s} in upper case", "{s}.upper()", "{s}.to_uppercase()", "String"), ("return {s} in lower case", "{s}.lower()", "{s}.to_lowercase()", "String"),
    ("reverse {s}", "{s}[::-1]", "{s}.chars().rev().collect()", "String"), ("remove leading and trailing spaces from {s}", "{s}.strip()", "{s}.trim().to_string()", "String"),
    ("remove all spaces from {s}", "{s}.replace(\" \", \"\")", "{s}.replace(' ', \"\")", "String"), ("replace {c1} by {c2} in {s}", "{s}.replace(\"{a}\", \"{b}\")", "{s}.replace('{a}', \"{b}\")", "String"),
    ("return the first {k} characters of {s}", "{s}[:{k}]", "{s}.chars().take({k}).collect()", "String"), ("drop the first {k} characters of {s}", "{s}[{k}:]", "{s}.chars().skip({k}).collect()", "String"),
    ("repeat {s} {k} times", "{s} * {k}", "{s}.repeat({k})", "String"), ("count the words in {s}", "len({s}.split())", "{s}.split_whitespace().count()", "usize"),
    ("count how often {c1} occurs in {s}", "{s}.count(\"{a}\")", "{s}.chars().filter(|&c| c == '{a}').count()", "usize"), ("count the vowels in {s}", "sum(c in \"aeiou\" for c in {s}.lower())", "{s}.to_lowercase().chars().filter(|c| \"aeiou\".contains(*c)).count()", "usize"),
    ("count the digits in {s}", "sum(c.isdigit() for c in {s})", "{s}.chars().filter(|c| c.is_ascii_digit()).count()", "usize"), ("count the upper case letters in {s}", "sum(c.isupper() for c in {s})", "{s}.chars().filter(|c| c.is_uppercase()).count()", "usize"),
    ("return the length of {s}", "len({s})", "{s}.chars().count()", "usize"), ("check whether {s} is a palindrome", "{s} == {s}[::-1]", "{s}.chars().eq({s}.chars().rev())", "bool"),
    ("check whether {s} starts with {c1}", "{s}.startswith(\"{a}\")", "{s}.starts_with('{a}')", "bool"), ("check whether {s} ends with {c1}", "{s}.endswith(\"{a}\")", "{s}.ends_with('{a}')", "bool"),
    ("check whether {s} is empty", "{s} == \"\"", "{s}.is_empty()", "bool"), ("check whether {s} contains only digits", "{s}.isdigit()", "!{s}.is_empty() && {s}.chars().all(|c| c.is_ascii_digit())", "bool"),
    ("check whether {s} contains {c1}", "\"{a}\" in {s}", "{s}.contains('{a}')", "bool"), ("split {s} into words", "{s}.split()", "{s}.split_whitespace().map(String::from).collect()", "Vec<String>"),
    ("split {s} at {c1}", "{s}.split(\"{a}\")", "{s}.split('{a}').map(String::from).collect()", "Vec<String>"), ("split {s} into lines", "{s}.splitlines()", "{s}.lines().map(String::from).collect()", "Vec<String>"),
    ("return the words of {s} that are longer than {k} letters", "[w for w in {s}.split() if len(w) > {k}]", "{s}.split_whitespace().filter(|w| w.len() > {k}).map(String::from).collect()", "Vec<String>"),
    ("return the words of {s} that start with {c1}", "[w for w in {s}.split() if w.startswith(\"{a}\")]", "{s}.split_whitespace().filter(|w| w.starts_with('{a}')).map(String::from).collect()", "Vec<String>"),
    ("return the longest word of {s}", "max({s}.split(), key=len, default=\"\")", "{s}.split_whitespace().rev().max_by_key(|w| w.len()).unwrap_or(\"\").to_string()", "String"),
    ("reverse the word order of {s}", "\" \".join({s}.split()[::-1])", "{s}.split_whitespace().rev().collect::<Vec<_>>().join(\" \")", "String"),
    ("remove the vowels from {s}", "\"\".join(c for c in {s} if c.lower() not in \"aeiou\")", "{s}.chars().filter(|c| !\"aeiouAEIOU\".contains(*c)).collect()", "String"),
    ("remove the digits from {s}", "\"\".join(c for c in {s} if not c.isdigit())", "{s}.chars().filter(|c| !c.is_ascii_digit()).collect()", "String"),
    ("keep only the letters of {s}", "\"\".join(c for c in {s} if c.isalpha())", "{s}.chars().filter(|c| c.is_alphabetic()).collect()", "String"),
    ("sort the characters of {s}", "\"\".join(sorted({s}))", "{{\n        let mut v: Vec<char> = {s}.chars().collect();\n        v.sort();\n        v.into_iter().collect()\n    }}", "String"),
    ("capitalize every word of {s}", "\" \".join(w.capitalize() for w in {s}.split())", None, "String"), ("join the words of {s} with {c1}", "\"{a}\".join({s}.split())", "{s}.split_whitespace().collect::<Vec<_>>().join(\"{a}\")", "String"),
    ("count the lines of {s}", "len({s}.splitlines())", "{s}.lines().count()", "usize"), ("pad {s} with spaces to a width of {k}", "{s}.ljust({k})", "format!(\"{{:<{k}}}\", {s})", "String"),
    ("return the last character of {s} or an empty string", "{s}[-1:]", "{s}.chars().last().map(|c| c.to_string()).unwrap_or_default()", "String"),
    ("return the set of different characters in {s}", "set({s})", "{s}.chars().collect()", "std::collections::HashSet<char>"), ("count how often each character occurs in {s}", "{{c: {s}.count(c) for c in set({s})}}", None, ""),
]
STRN, STRS = ["s", "text", "string", "line", "word", "input_text", "value", "msg"], ["a string", "a string", "a string", "the text", "a text", "the given string"]
CH = "aeioutnsxz-,;:_.#/"


def string_task(rng, split):
    while True:
        d, py, rs, rt = rng.choice(STR)
        if held(d) == (split == "eval"): break
    s, k, a, b = rng.choice(STRN), rng.randint(2, 9), rng.choice(CH), rng.choice(CH)
    said = d.format(s=rng.choice(STRS), k=k, c1=f'"{a}"' if rng.random() < .5 else f"'{a}'", c2=f'"{b}"' if rng.random() < .5 else f"'{b}'")
    base = re.sub(r"\{.\d?\}|[^a-z ]", "", d)
    ws = [w for w in base.split() if w not in ("the", "of", "in", "from", "a", "or", "an", "whether", "all", "into", "with", "that", "are", "than", "to", "by", "at")]
    f = "_".join(ws[:rng.randint(2, 3)])
    if ws[0] == "check": f = rng.choice(["is_", "check_", "has_"]) + "_".join(ws[1:3])
    f = f.strip("_")
    I = "    "
    e = py.format(s=s, k=k, a=a, b=b)
    hints = rng.random() < .35
    ret = {"String": "str", "usize": "int", "bool": "bool", "Vec<String>": "list[str]"}.get(rt, "set[str]" if "Set" in rt else "dict[str, int]")
    v = rng.choice(RESN)
    body = f"{I}return {e}" if rng.random() < .8 else f"{I}{v} = {e}\n{I}return {v}"
    code = (f"def {f}({s}: str) -> {ret}:" if hints else f"def {f}({s}):") + "\n" + body
    rust = None
    if rs: rust = f"{rng.choice(['', 'pub ', 'pub '])}fn {f}({s}: &str) -> {rt} {{\n{I}{rs.format(s=s, k=k, a=a, b=b)}\n}}"
    words = ["Hello World", "a-b,c", "level", "  two words ", "one two three", "x1y22", "Tea and cake", "", "12345", "line one\nline two"]
    ns = {}
    exec(code, ns)
    tests = [((w,), ns[f](w)) for w in rng.sample(words, 3)]
    return dict(key=d, name=f, desc=said, py=code, rs=rust, tests=tests, args=[s])


def family_task(rng, split):
    while True:
        fam = rng.choice(FAMILIES)
        if held(fam["name"]) == (split == "eval"): break
    names = dict(zip("abcde", fam["args"]))
    alt = [rng.choice([a, a, a + "s" if False else a]) for a in fam["args"]]
    f = rng.choice([fam["name"], fam["name"], fam["name"]] + fam.get("names", []))
    ren = {}
    if rng.random() < .4:
        for v in fam["args"]:
            if len(v) <= 7 and rng.random() < .6: ren[v] = rng.choice({"n": ["n", "num", "number", "k"], "xs": ["xs", "items", "values", "nums", "data"], "s": ["s", "text", "string"], "a": ["a", "x", "first"], "b": ["b", "y", "second"]}.get(v, [v]))
        if len(set(ren.get(v, v) for v in fam["args"])) != len(fam["args"]): ren = {}

    def fix(code):
        if code is None: return None
        code = re.sub(rf"\b{fam['name']}\b", f, code)
        for o, n in ren.items():
            if o != n and not re.search(rf"\b{n}\b", code): code = re.sub(rf"(?<![\w.\"'\\]){o}\b(?![\"'(!])", n, code)
        return code
    py = fix(rng.choice(fam["py"])) if fam["py"] else None
    rs = fix(rng.choice(fam["rs"])) if fam["rs"] else None
    return dict(key=fam["name"], name=f, desc=rng.choice(fam["desc"]), py=py, rs=rs, tests=[(t[0], t[1]) for t in fam["tests"]], args=[ren.get(a, a) for a in fam["args"]])


def third(d):
    v, _, rest = d.partition(" ")
    v = {"check": "checks", "multiply": "multiplies", "reverse": "reverses", "compute": "computes"}.get(v, v + ("es" if v.endswith(("s", "sh", "ch", "x")) else "s"))
    return f"{v} {rest}".replace(" and return ", " and returns ").replace(" and keep ", " and keeps ")


def run_tests(code, name, tests):
    ns = {}
    try:
        exec(code, ns)
        return all(ns[name](*__import__("copy").deepcopy(a)) == r for a, r in tests)
    except Exception:
        return False


ASK = ["Write a {L} function that {t}.", "Write a {L} function to {d}.", "write a {L} function that {t}", "Write a function in {L} that {t}.", "{L} function that {t}", "I need a {L} function that {t}.", "Can you write a {L} function that {t}?",
       "Please write a {L} function to {d}.", "Implement a {L} function that {t}.", "How do I {d} in {L}?", "Give me a {L} function that {t}.", "{L}: {d}", "Create a {L} function named {f} that {t}.", "Write {f}({a}) in {L}: it {t}.",
       "Define a {L} function `{f}` that {t}.", "In {L}, write a function called {f} which {t}.", "Show me how to {d} in {L}.", "Code a {L} function which {t}.", "using {L}, {d}", "Could you {d} in {L}?"]
ASK_EVAL = ["I'd like some {L} code: a function that {t}.", "Provide a {L} function {f} that {t}.", "Make me a {L} function to {d}."]
BUGS = [(r"\):\n", ")\n", "SyntaxError: expected ':'"), (r"return ", "retrun ", "SyntaxError: invalid syntax"), (r"def ", "define ", "SyntaxError: invalid syntax"), (r" == ", " = ", "SyntaxError: invalid syntax"),
        (r"\bfor (\w+) in ", r"for \1 on ", "SyntaxError: invalid syntax"), (r"\n    return", "\nreturn", "SyntaxError: 'return' outside function"), (r"\)$", "", "SyntaxError: '(' was never closed")]
RBUGS = [(r"\) -> ", ") = ", "error: expected one of `->`, `where`, or `{`"), (r"\blet mut ", "let ", "error[E0596]: cannot borrow as mutable"), (r"\bfn ", "func ", "error: expected one of `!` or `::`"), (r";\n", "\n", "error: expected `;`"), (r"\}$", "", "error: this file contains an unclosed delimiter")]


def fence(lang, code):
    return f"```{lang}\n{code}\n```"


def task(rng, split):
    while True:
        t = rng.choice([list_task, list_task, string_task, family_task, family_task])(rng, split)
        if t["py"] and not run_tests(t["py"], t["name"], t["tests"]):
            t["py"] = None
        if t["py"] or t["rs"]: return t


def conversation(rng, split="train", lang=None):
    """(messages, language, task, kind)."""
    while True:
        t = task(rng, split)
        l = lang or rng.choice(["python", "python", "python", "rust", "rust"])
        code = t["py"] if l == "python" else t["rs"]
        if code: break
    Lname = rng.choice({"python": ["Python", "Python", "python"], "rust": ["Rust", "Rust", "rust"]}[l])
    kind = "write" if split == "eval" else rng.choices(["write", "doc", "test", "explain", "fix", "port", "bare", "name"], [54, 10, 8, 8, 8, 5, 4, 3])[0]
    f, d = t["name"], t["desc"]
    q = rng.choice(ASK_EVAL if split == "eval" else ASK).format(L=Lname, d=d, t=third(d), f=f, a=", ".join(t["args"]))
    sysm = [{"role": "system", "content": rng.choice(["You are Spark.", "You are a coding assistant.", "Answer with code.", "You write short, correct code."])}] if split == "train" and rng.random() < .2 else []
    U = lambda u, a: sysm + [{"role": "user", "content": u}, {"role": "assistant", "content": a}]
    if l == "python": doced = re.sub(r":\n", f':\n    """{third(d)[0].upper() + third(d)[1:]}."""\n', code, count=1)
    else: doced = f"/// {third(d)[0].upper() + third(d)[1:]}.\n{code}"
    if kind == "write":
        a = fence(l, code)
        r = rng.random()
        if split == "train" and r < .12: a += f"\n\nIt {third(d)}."
        elif split == "train" and r < .2: a = f"Here is the function:\n\n{a}"
        m = U(q, a)
        if split == "train" and rng.random() < .15 and l == "python":
            m += [{"role": "user", "content": rng.choice(["Add a docstring.", "Can you add a docstring?", "Please document it."])}, {"role": "assistant", "content": fence(l, doced)}]
        elif split == "train" and rng.random() < .1:
            m += [{"role": "user", "content": rng.choice(["Thanks!", "Great, thank you.", "perfect"])}, {"role": "assistant", "content": rng.choice(["You're welcome!", "Happy to help."])}]
        return m, l, t, kind
    if kind == "doc": return U(q.rstrip(".?") + rng.choice([", with a docstring.", " and document it.", ". Include documentation.", ". Add a doc comment."]), fence(l, doced)), l, t, kind
    if kind == "test":
        lit = lambda v: _rust(v) if l == "rust" else repr(v)
        if l == "python": tests = "\n".join(f"assert {f}({', '.join(map(repr, a))}) == {r!r}" for a, r in t["tests"][:3])
        else:
            try: tests = "#[test]\nfn test_%s() {\n%s\n}" % (f, "\n".join(f"    assert_eq!({f}({', '.join(_rust(x, True) for x in a)}), {_rust(r)});" for a, r in t["tests"][:3]))
            except TypeError: return U(q, fence(l, code)), l, t, kind
        if rng.random() < .5: return U(f"Write tests for this {Lname} function:\n{fence(l, code)}", fence(l, tests)), l, t, kind
        return U(q.rstrip(".?") + rng.choice([", and a test.", ". Add tests.", " with a test."]), fence(l, code + "\n\n" + ("\n" if l == "python" else "") + tests)), l, t, kind
    if kind == "explain": return U(rng.choice(["What does this function do?\n{}", "Explain this code:\n{}", "What is this {L} code for?\n{}", "Describe this function in a sentence.\n{}"]).format(fence(l, code), L=Lname),
                                   rng.choice([f"The function {f} {third(d)}.", f"It {third(d)}."])), l, t, kind
    if kind == "name": return U(f"Give this function a good name:\n{fence(l, re.sub(rf'{chr(92)}b{f}{chr(92)}b', 'f', code))}", f"A good name is `{f}`, because it {third(d)}."), l, t, kind
    if kind == "port" and t["py"] and t["rs"]:
        a, b = ("python", "rust") if l == "rust" else ("rust", "python")
        src = t["py"] if a == "python" else t["rs"]
        return U(rng.choice([f"Translate this {a.title()} function to {b.title()}:\n{fence(a, src)}", f"Port to {b.title()}:\n{fence(a, src)}", f"{fence(a, src)}\nHow would this look in {b.title()}?"]), fence(b, t["rs"] if b == "rust" else t["py"])), b, t, kind
    if kind == "fix":
        for pat, sub, err in rng.sample(BUGS if l == "python" else RBUGS, 5):
            bad = re.sub(pat, sub, code, count=1)
            if bad != code:
                show = rng.random() < .6
                return U(rng.choice(["Fix this code:\n{}", "This {L} code does not work:\n{}", "What's wrong here? Please fix it.\n{}", "Repair this function.\n{}"]).format(fence(l, bad), L=Lname) + (f"\n{err}" if show else ""), fence(l, code)), l, t, kind
    if kind == "bare" and l == "python":
        lines = code.split("\n")
        return U(f"Complete this function:\n{fence(l, lines[0])}\nIt should {d}.", fence(l, code)), l, t, kind
    return U(q, fence(l, code)), l, t, kind


def _rust(v, borrow=False):
    if isinstance(v, bool): return "true" if v else "false"
    if isinstance(v, (int, float)): return str(v)
    if v is None: return "None"
    if isinstance(v, str): return '"' + v.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    if isinstance(v, list) and all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in v): return ("&" if borrow else "vec!") + "[" + ", ".join(map(str, v)) + "]"
    raise TypeError
