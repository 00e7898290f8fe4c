"""Compiles every hand-written Rust family and a sample of composed tasks with rustc (metadata only).

    python check_rust.py LISTS [COUNT]
"""
import random, subprocess, sys, tempfile

import fillers, gen_code
from code_families import FAMILIES


def compiles(code):
    with tempfile.TemporaryDirectory() as d:
        open(f"{d}/a.rs", "w").write("#![allow(dead_code)]\n" + code)
        r = subprocess.run(["rustc", "--crate-type=lib", "--edition=2021", "--emit=metadata", "-A", "warnings", "-o", f"{d}/a.rmeta", f"{d}/a.rs"],
                           capture_output=True, text=True)
        return r.returncode == 0, r.stderr[:800]


if __name__ == "__main__":
    fillers.load_lists(sys.argv[1])
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 60
    rng, bad = random.Random(3), 0
    codes = [c for f in FAMILIES for c in f["rs"]]
    while len(codes) < n + 100:
        t = rng.choice([gen_code.list_task, gen_code.string_task, gen_code.family_task])(rng, "train")
        if t["rs"]: codes.append(t["rs"])
    # one crate of many modules first, one by one only on failure
    ok, _ = compiles("\n".join(f"mod m{i} {{ #[allow(unused_imports)] use super::*;\n{c}\n}}" for i, c in enumerate(codes)))
    if not ok:
        for c in codes:
            ok, err = compiles(c)
            if not ok:
                bad += 1
                print(c, "\n", err, "\n-----")
    print(f"{len(codes)} Rust snippets, {bad} do not compile")
    sys.exit(bad > 0)
