"""Mines documented functions and plain module text from permissively licensed packages.

    python mine.py --fetch WORK          # downloads packages-python.txt / packages-rust.txt with pip and cargo
    python mine.py WORK OUT              # writes OUT/functions.jsonl, OUT/files.jsonl, OUT/packages.json
"""
import argparse, ast, email, json, os, random, re, subprocess, sys, zipfile
from pathlib import Path

from common import HERE, write_jsonl

GOOD = re.compile(r"\b(MIT|BSD|Apache|ISC|Unlicense|Zlib|PSF|CC0)\b", re.I)
BAD = re.compile(r"\b(GPL|LGPL|AGPL|MPL|EUPL|CDDL|Non-?Commercial)\b", re.I)
SKIP_DIR = re.compile(r"(^|/)(tests?|testing|examples?|benches|benchmarks?|_?vendor(ed)?|_vendored|third_party|locale|"
                      r"providers|builtin|data|corpus|scales|fuzz|extern|externals|locales|lexers|styles|demo|demos)(/|$)|"
                      r"(^|/)(test_|_test|conftest)[^/]*\.py$|_tests?\.(py|rs)$|/tests\.rs$|unicode_data|_parser_tables|/tables?\.rs$|/tables/")
FN_CAP, FILE_CAP = 400, 4_000_000
CAPS = {"sympy": 1200, "glam": 120, "algorithms": 900, "pandas": 600, "music21": 300, "textual": 400}


def fetch(work):
    wheels, cargo = work / "wheels", work / "cargo"
    wheels.mkdir(parents=True, exist_ok=True)
    cargo.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(wheels),
                    "-r", str(HERE / "packages-python.txt")], check=True)
    deps = [l.strip().split("==") for l in open(HERE / "packages-rust.txt") if l.strip()]
    (cargo / "l.rs").write_text("")
    (cargo / "Cargo.toml").write_text(
        '[package]\nname = "mine"\nversion = "0.0.0"\nedition = "2021"\n[lib]\npath = "l.rs"\n[dependencies]\n'
        + "".join(f'{n} = "={v}"\n' for n, v in deps))
    subprocess.run(["cargo", "vendor", "-q", str(work / "vendor")], cwd=cargo, check=True)


def clean(text):
    """Drops author, copyright and address lines; None if the text is not plain ASCII-ish source."""
    if sum(ord(c) > 126 for c in text) > len(text) // 200:
        return None
    lines = []
    for line in text.replace("\r\n", "\n").replace("\t", "    ").split("\n"):
        low = line.lower()
        if len(line) > 160:
            return None if len(line) > 400 else None
        if "copyright" in low or "author" in low or "@" in line and re.search(r"\w@\w+\.\w", line) or "spdx" in low \
                or "license" in low or "licence" in low or "coding: utf" in low:
            continue
        lines.append(line.rstrip())
    return re.sub(r"\n{4,}", "\n\n\n", "\n".join(lines)).strip("\n") + "\n"


def dedent(text):
    lines = text.split("\n")
    pad = min((len(l) - len(l.lstrip()) for l in lines if l.strip()), default=0)
    return "\n".join(l[pad:] for l in lines)


def python_functions(source):
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    lines = source.split("\n")
    for node in ast.walk(tree):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        doc = ast.get_docstring(node)
        if not doc or node.end_lineno - node.lineno > 40 or len(node.body) < 2:
            continue
        first = doc.strip().split("\n\n")[0].replace("\n", " ").strip()
        if not 15 <= len(first) <= 220 or node.name.startswith("_"):
            continue
        body = node.body[1:]
        if isinstance(body[0], (ast.Pass, ast.Raise)) or (isinstance(body[0], ast.Expr) and len(body) == 1):
            continue
        code = dedent("\n".join(lines[node.lineno - 1:node.end_lineno]))
        bare = dedent("\n".join(lines[node.lineno - 1:node.body[0].lineno - 1] + lines[node.body[0].end_lineno:node.end_lineno]))
        if len(re.findall(r"\b_[a-z]\w+|\bself\._", bare)) > 2 or len(bare.split("\n")) > 28:
            continue
        try:
            ast.parse(bare)
        except SyntaxError:
            continue
        selfy = bool(node.args.args) and node.args.args[0].arg in ("self", "cls")
        yield dict(lang="python", name=node.name, doc=first, code=code, bare=bare, free=not selfy)


RUST_FN = re.compile(r"((?:^[ ]*///[^\n]*\n)+)((?:^[ ]*#\[[^\n]*\]\n)*)^[ ]*(pub (?:const )?fn (\w+)[^{;]*)\{", re.M)


def rust_end(text, start):
    """The index just after the brace that closes the one at `start`, skipping strings, chars and comments."""
    depth, i, n = 0, start, len(text)
    while i < n:
        c = text[i]
        if c == '"':
            i += 1
            while i < n and text[i] != '"':
                i += 2 if text[i] == "\\" else 1
        elif c == "'" and (m := re.match(r"'(\\.[^']*|[^'\\])'", text[i:i + 12])):
            i += m.end() - 1
        elif text.startswith("//", i):
            i = text.find("\n", i)
            if i < 0:
                return None
        elif c == "{":
            depth += 1
        elif c == "}":
            depth -= 1
            if depth == 0:
                return i + 1
        i += 1
    return None


def rust_functions(source):
    for m in RUST_FN.finditer(source):
        end = rust_end(source, m.end() - 1)
        if end is None:
            continue
        bare = dedent(source[m.start(3) - (m.start(3) - source.rfind("\n", 0, m.start(3)) - 1):end])
        docs = [l.strip()[3:].strip() for l in m.group(1).strip().split("\n")]
        first = " ".join(docs[:docs.index("")] if "" in docs else docs)
        if not 15 <= len(first) <= 220 or bare.count("\n") > 26 or "[`" in first and first.count("[`") > 2:
            continue
        first = re.sub(r"\[(`[^`]+`)\](\([^)]*\))?", r"\1", first)
        if bare.count("\n") < 2 or "unimplemented!" in bare or "unsafe" in bare:
            continue
        code = "".join(f"/// {d}\n" if d else "///\n" for d in ([first])) + bare
        yield dict(lang="rust", name=m.group(4), doc=first, code=code, bare=bare, free="self" not in m.group(3))


def packages(work):
    for w in sorted((work / "wheels").iterdir()):
        if w.suffix != ".whl":
            continue
        z = zipfile.ZipFile(w)
        meta = email.message_from_string(z.read(next(n for n in z.namelist() if n.endswith(".dist-info/METADATA"))).decode())
        lic = " ".join(filter(None, [meta.get("License-Expression"), (meta.get("License") or "")[:60].split("\n")[0]]
                              + [c.split("::")[-1] for c in meta.get_all("Classifier") or [] if c.startswith("License")]))
        files = ((n, z.read(n).decode("utf-8", "replace")) for n in sorted(z.namelist()) if n.endswith(".py"))
        yield "python", meta["Name"], meta["Version"], lic.strip(), files
    wanted = dict(l.strip().split("==") for l in open(HERE / "packages-rust.txt") if l.strip())
    for name, version in sorted(wanted.items()):
        d = next((p for p in (work / "vendor" / name, work / "vendor" / f"{name}-{version}")
                  if p.exists() and f'version = "{version}' in (p / "Cargo.toml").read_text()), None)
        if d is None:
            print("missing crate", name, version)
            continue
        m = re.search(r'^license = "([^"]+)"', (d / "Cargo.toml").read_text(), re.M)
        files = ((str(p.relative_to(d)), p.read_text("utf-8", "replace")) for p in sorted(d.rglob("*.rs")))
        yield "rust", name, version, m.group(1) if m else "", files


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--fetch", action="store_true")
    a.add_argument("work", type=Path)
    a.add_argument("out", type=Path, nargs="?")
    a = a.parse_args()
    if a.fetch:
        return fetch(a.work)
    functions, chunks, table, seen = [], [], [], set()
    for lang, name, version, lic, files in packages(a.work):
        alternatives = [x for x in re.split(r"\s+OR\s+|/", lic) if GOOD.search(x) and not BAD.search(x)]
        if not alternatives:
            print("left out:", name, lic)
            continue
        rng = random.Random(name)
        fns, texts = [], []
        for path, source in files:
            if SKIP_DIR.search(path) or len(source) > 400_000:
                continue
            text = clean(source)
            if text is None or len(text) < 400 or re.search(r"generated (by|from)|auto-?generated", text[:600], re.I):
                continue
            for f in (python_functions if lang == "python" else rust_functions)(text):
                key = re.sub(r"\W+", " ", f["bare"])
                if key not in seen:
                    seen.add(key)
                    fns.append(dict(f, package=name))
            lines, part = text.split("\n"), []
            size = 0
            for l in lines:          # cut a module at blank-line borders of top-level items
                if size > 5000 and l and not l[0].isspace() and l[0] not in "})]":
                    texts.append("\n".join(part))
                    part, size = [], 0
                part.append(l)
                size += len(l) + 1
            texts.append("\n".join(part))
        rng.shuffle(fns)
        fns = fns[:CAPS.get(name, FN_CAP)]
        rng.shuffle(texts)
        size, kept = 0, []
        for t in texts:
            key = re.sub(r"\W+", " ", t)[:400]
            if key in seen or len(t) < 200 or size > (60_000 if name == "glam" else FILE_CAP):
                continue
            seen.add(key)
            size += len(t)
            kept.append(dict(lang=lang, package=name, text=t.strip("\n") + "\n"))
        functions += fns
        chunks += kept
        table.append(dict(language=lang, package=name, version=version, licence=lic, functions=len(fns), characters=size))
    random.Random(1).shuffle(functions)
    random.Random(2).shuffle(chunks)
    print(write_jsonl(a.out / "functions.jsonl", functions), "functions;", write_jsonl(a.out / "files.jsonl", chunks), "chunks;",
          sum(t["characters"] for t in table), "characters")
    (a.out / "packages.json").write_text(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
