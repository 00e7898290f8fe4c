#!/usr/bin/env python3
"""Times the peers that build.sh made on GGUF files and writes results in the form of `molten bench --json`.

    python3 tools/peers/measure.py DIR OUT MODEL.gguf… [--threads 2] [--bandwidth GB/s] [--molten PATH]

For each model: llama.cpp (decode at each depth and prefill, each with flash attention off and on, start to first
token) and candle where it knows the model. One file per peer and model, OUT/PEER-MODEL.json. `runs` holds the
faster variant of each measurement with its flags as the note, `variants` all of them. Nothing but the standard
library is needed. Stop other work first; a shared machine gives ratios at best.
"""

import argparse
import datetime
import hashlib
import json
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

PROMPT = "one two three f"  # 16 tokens of a synthetic model; the count is recorded


def output(command, **kw):
    r = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kw)
    if r.returncode:
        raise RuntimeError(f"{command[0]} failed ({r.returncode}): {r.stderr.strip()[-400:]}")
    return r.stdout


def with_peak(command, env=None):
    """Output and peak resident bytes of a command."""
    p = subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env)
    text = p.stdout.read().decode()
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    if p.returncode:
        raise RuntimeError(f"{command[0]} failed ({p.returncode})")
    return text, usage.ru_maxrss * 1024


def processor():
    text = Path("/proc/cpuinfo").read_text()
    return re.search(r"^model name\s*:\s*(.+)$", text, re.M)[1].strip()


def sha256(path):
    h = hashlib.sha256()
    h.update(Path(path).read_bytes())
    return h.hexdigest()


class Model:
    """What `molten inspect` says of a file."""

    def __init__(self, molten, path, depths):
        contexts = ",".join(str(d) for d in sorted(set(depths) | {0}))
        info = json.loads(output([molten, "inspect", "--json", "--contexts", contexts, path]))
        self.path = path
        self.name = Path(path).stem
        self.bytes = {b["depth"]: b["bytes"] for b in info["bytes_per_token"]}
        stored = sum(t["bytes"] for t in info["tensors"])
        self.json = {
            "name": self.name, "format": info["format"], "architecture": info["architecture"],
            "bits": round(8 * stored / info["parameters"], 3), "bytes_per_token": self.bytes[0],
        }
        self.moe = info["architecture"] == "lfm2_moe"


def run_entry(kind, depth, tokens, seconds, flags, ceiling=None):
    """One measurement from the seconds of its repeats."""
    middle = statistics.median(seconds)
    e = {
        "kind": kind, "depth": depth, "tokens": tokens, "tok_s": round(tokens / middle, 3),
        "seconds": round(middle, 5), "repeats": [round(s, 5) for s in seconds], "median_of": len(seconds),
        "spread": round((max(seconds) - min(seconds)) / middle, 4), "note": flags,
    }
    if ceiling:
        e |= {"ceiling_tok_s": round(ceiling, 3), "share_of_ceiling": round(e["tok_s"] / ceiling, 4),
              "bound": "memory"}
    return e


def told(peer, model, e):
    """One line for whoever watches."""
    fast, slow = min(e["repeats"]), max(e["repeats"])
    if e["kind"] == "start":
        what = f"start to first token {e['seconds']:.2f} s ({fast:.2f} to {slow:.2f})"
    else:
        n = e["tokens"]
        what = f"{e['kind']} {n} at {e['depth']}: {e['tok_s']:.2f} tok/s ({n / slow:.2f} to {n / fast:.2f})"
    print(f"{peer} {model.name} {what}, {e['note']}", flush=True)
    return e


def best(variants):
    """The fastest variant of each (kind, depth, tokens)."""
    chosen = {}
    for v in variants:
        key = v["kind"], v["depth"], v["tokens"]
        if key not in chosen or v["seconds"] < chosen[key]["seconds"]:
            chosen[key] = v
    return list(chosen.values())


def llama(a, model):
    bench = a.dir / "build/bin/llama-bench"
    variants, peak = [], 0

    def go(fa, prompt, generate, depth, repeats):
        nonlocal peak
        flags = f"-t {a.threads} -fa {fa}"
        text, rss = with_peak([bench, "-m", model.path, *flags.split(), "-p", prompt, "-n", generate, "-d", depth,
                               "-r", repeats, "-o", "json"])
        peak = max(peak, rss)
        for r in json.loads(text):
            tokens = r["n_gen"] or r["n_prompt"]
            kind = "decode" if r["n_gen"] else "prefill"
            ceiling = a.bandwidth * 1e9 / model.bytes[depth] if a.bandwidth and kind == "decode" else None
            seconds = [ns / 1e9 for ns in r["samples_ns"]]
            variants.append(told("llama.cpp", model, run_entry(kind, depth, tokens, seconds, flags, ceiling)))

    for fa in ("0", "1"):
        for depth in a.depths:
            # Filling a large context costs most of a measurement's time.
            go(fa, 0, a.decode, depth, a.repeats if depth <= 1024 else min(a.repeats, 2))
        if a.prefill:
            go(fa, a.prefill, 0, 0, a.repeats)
    if a.starts:
        variants += starts(a, model)
    return variants, peak, bench


def starts(a, model):
    """Process start to the first byte of the first token."""
    out = []
    tokens = len(json.loads(output([a.dir / "build/bin/llama-tokenize", "-m", model.path, "-p", PROMPT, "--ids",
                                    "--log-disable"]).strip().splitlines()[-1]))
    for extra in ("", "--no-warmup", "--no-warmup -nr"):
        flags = f"-t {a.threads} -fa on -c 4096 {extra}".strip()
        command = [str(a.dir / "build/bin/llama-completion"), "-m", model.path, *flags.split(), "-no-cnv",
                   "--no-display-prompt", "-n", "8", "--ignore-eos", "--temp", "0", "-p", PROMPT]
        seconds = []
        for _ in range(a.starts + 1):
            start = time.perf_counter()
            p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            first = p.stdout.read(1)
            seconds.append(time.perf_counter() - start)
            p.stdout.read()
            if p.wait() or not first:
                raise RuntimeError("llama-completion made no token")
        # The first one warms the page cache.
        out.append(told("llama.cpp", model, run_entry("start", tokens, 1, seconds[1:], flags)))
    return out


def candle(a, model):
    driver = a.dir / "candle-target/release/candle-peer"
    variants, peak = [], 0
    env = dict(os.environ, RAYON_NUM_THREADS=str(a.threads))
    flags = f"RAYON_NUM_THREADS={a.threads}"
    for depth in (512, 128):
        text, rss = with_peak([driver, model.path, depth, 32, 1 + a.repeats], env)
        peak = max(peak, rss)
        r = json.loads(text)
        ceiling = a.bandwidth * 1e9 / model.bytes[depth] if a.bandwidth else None
        # The first pass packs weights.
        for e in (run_entry("prefill", 0, depth, r["prefill_s"][1:], flags),
                  run_entry("decode", depth, 32, r["decode_s"][1:], flags, ceiling)):
            variants.append(told("candle", model, e))
    return variants, peak, driver


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("dir", type=Path, help="where build.sh built")
    p.add_argument("out", type=Path, help="folder of the results")
    p.add_argument("models", nargs="+", help="GGUF files")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--depths", default="0,4096", help="decode depths (default 0,4096)")
    p.add_argument("--decode", type=int, default=64, help="tokens of a decode repeat")
    p.add_argument("--prefill", type=int, default=512, help="tokens of a prefill repeat; 0: none")
    p.add_argument("--repeats", type=int, default=3)
    p.add_argument("--starts", type=int, default=3, help="starts to time for each set of flags; 0: none")
    p.add_argument("--bandwidth", type=float, help="read bandwidth of this machine in GB/s, for shares of the ceiling")
    p.add_argument("--molten", default="molten", help="the molten binary, for facts about the files")
    p.add_argument("--peers", default="llama.cpp,candle")
    a = p.parse_args()
    a.depths = [int(d) for d in a.depths.split(",")]
    versions = json.loads((a.dir / "versions.json").read_text())
    a.out.mkdir(parents=True, exist_ok=True)
    for path in a.models:
        model = Model(a.molten, path, a.depths + [128, 512])
        for peer in a.peers.split(","):
            if peer == "candle" and model.moe:
                print(f"candle does not know {model.name}: a mixture of experts", file=sys.stderr)
                continue
            variants, peak, binary = (llama if peer == "llama.cpp" else candle)(a, model)
            result = {
                "schema": 1, "engine": f"{peer} ({versions[peer]['package']})", "built": versions[peer], "commit": None,
                "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                "device": {"name": processor(), "kind": "cpu", "threads": a.threads},
                "model": model.json, "precision": "the peer's default", "bandwidth_gb_s": a.bandwidth, "correct": None,
                "binary_sha256": sha256(binary), "runs": best(variants), "variants": variants,
                "peak_rss_bytes": peak,
            }
            out = a.out / f"{peer}-{model.name}.json"
            out.write_text(json.dumps(result, indent=1) + "\n")
            print(f"wrote {out}")


main()
