"""Trains Spark: stage A (plain next-token prediction), stage B (assistant tokens only, decaying rate), then a
quantisation-aware finish. Runs until its time budget is used and can be resumed.

    python train.py --data DATA --state STATE --out OUT --shape spark --seconds 500 --total-steps 3000
"""
import argparse, glob, json, math, os, shutil, time

import numpy as np
import torch

from model import Spark

# share of each data category in a batch
MIX_A = dict(code=.36, english=.22, tools=.16, chat=.07, codegen=.08, functions=.04, shell=.04, words=.03)
MIX_B = dict(tools=.52, chat=.23, codegen=.17, functions=.02, words=.02, shell=.01, code=.02, english=.01)
# stage B: weight of a token by category. Few tokens of a tool row are the assistant's; replayed text is noisy and all its tokens count.
WEIGHT_B, REPLAY = dict(tools=2.0, chat=1.0, codegen=.7), .25
MASKED = {"tools", "chat", "codegen", "functions", "shell", "words"}   # chat-shaped: loss on the assistant in stage B


class Rows:
    """Rows of one category on the device, drawn without replacement; bit 15 of a token says 'train on me'."""

    def __init__(self, pattern, device, seed):
        self.pattern, self.seen, self.drawn, self.at = pattern, set(), 0, 0
        self.rows, self.order = torch.empty(0, 2049, dtype=torch.int16, device=device), np.empty(0, np.int64)
        self.rng = np.random.default_rng(seed)
        self.refresh()

    def refresh(self):
        """Adds the files that have appeared since; their rows are drawn before any row is drawn again."""
        new = sorted(set(glob.glob(self.pattern)) - self.seen)
        if new:
            a = np.concatenate([np.load(p) for p in new])
            fresh = np.arange(len(self.rows), len(self.rows) + len(a))
            self.rows = torch.cat([self.rows, torch.from_numpy(a.view(np.int16)).to(self.rows.device)])
            self.order, self.at = self.rng.permutation(np.concatenate([self.order[self.at:], fresh])), 0
            self.seen.update(new)

    def take(self, n):
        out = []
        while n:
            if self.at == len(self.order):
                self.order, self.at = self.rng.permutation(len(self.rows)), 0
            k = min(n, len(self.order) - self.at)
            out.append(self.order[self.at:self.at + k])
            self.at += k
            n -= k
            self.drawn += k
        return self.rows[torch.from_numpy(np.concatenate(out)).to(self.rows.device)]


class Data:
    def __init__(self, path, device, seed=0, part="train"):
        names = sorted({os.path.basename(p).split("-")[0] for p in glob.glob(f"{path}/{part}/*.npy")})
        self.cats = {n: Rows(f"{path}/{part}/{n}-*.npy", device, seed + i) for i, n in enumerate(names)}
        self.debt = {n: 0.0 for n in names}

    def refresh(self):
        for r in self.cats.values():
            r.refresh()

    def batch(self, mix, n, assistant_only):
        total = sum(v for k, v in mix.items() if k in self.cats)
        parts = []
        for k in self.cats:
            self.debt[k] += mix.get(k, 0) / total * n
            take = round(self.debt[k])
            self.debt[k] -= take
            if take > 0:
                x, y, w = self.split(self.cats[k].take(take), assistant_only and k in MASKED)
                parts.append((x, y, w * WEIGHT_B.get(k, REPLAY) if assistant_only else w))
        x, y, w = (torch.cat([p[i] for p in parts]) for i in range(3))
        x, y, w = x[:n], y[:n], w[:n]
        if len(x) < n:
            i = torch.arange(n, device=x.device) % len(x)
            x, y, w = x[i], y[i], w[i]
        return x, y, w

    @staticmethod
    def split(rows, masked):
        r = rows.int() & 0xFFFF
        tok = (r & 0x7FFF).long()
        y = tok[:, 1:]
        w = (r[:, 1:] >> 15).float() if masked else (y != 0).float()
        return tok[:, :-1].contiguous(), y.contiguous(), w


def newton_schulz(g):
    """Orthogonalises a batch of matrices (quintic iteration)."""
    x = g.bfloat16()
    flip = x.shape[-2] > x.shape[-1]
    if flip:
        x = x.mT
    x = x / (x.norm(dim=(-2, -1), keepdim=True) * 1.02 + 1e-6)
    for _ in range(5):
        a = x @ x.mT
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * (a @ a)) @ x
    return (x.mT if flip else x).float()


class Optimiser:
    """Muon for the matrices (experts one by one), AdamW for embedding, router, kernels and norms."""

    def __init__(self, model, muon_lr, adam_lr):
        E = model.c["num_experts"]
        self.muon_lr, self.adam_lr = muon_lr, adam_lr
        self.muon, self.adam = [], []
        for n, p in model.named_parameters():
            k = n.split(".")[-1]
            if p.ndim == 2 and k not in ("embed", "gate", "conv"):
                moe = k in ("w1", "w2", "w3") and model.layers[int(n.split(".")[1])].moe
                self.muon.append((n, p, (E if moe else 1, "in" if k == "w2" else "out") if moe else (3 if k == "inp" else 1, "out")))
            else:
                self.adam.append((n, p))
        self.m = {n: torch.zeros_like(p) for n, p, _ in self.muon}
        self.a = {n: (torch.zeros_like(p), torch.zeros_like(p)) for n, p in self.adam}
        self.t = 0

    @torch.no_grad()
    def step(self, scale, momentum=0.95, decay=0.05):
        self.t += 1
        groups = {}
        for n, p, (parts, axis) in self.muon:
            m = self.m[n]
            m.lerp_(p.grad, 1 - momentum)
            u = p.grad.lerp(m, momentum)
            u = u.view(parts, -1, u.shape[1]) if axis == "out" else u.view(u.shape[0], parts, -1).transpose(0, 1)
            groups.setdefault(u.shape[1:], []).append((p, axis, u))
        lr = self.muon_lr * scale
        for shape, items in groups.items():
            u = newton_schulz(torch.cat([i[2] for i in items]).contiguous())
            u = u * (max(1.0, shape[0] / shape[1]) ** 0.5)
            at = 0
            for p, axis, v in items:
                k = v.shape[0]
                d = u[at:at + k]
                at += k
                d = d.reshape(p.shape) if axis == "out" else d.transpose(0, 1).reshape(p.shape)
                p.mul_(1 - lr * decay).add_(d, alpha=-lr)
        ps, gs, m1, m2 = [], [], [], []
        for n, p in self.adam:
            ps.append(p); gs.append(p.grad); m1.append(self.a[n][0]); m2.append(self.a[n][1])
        b1, b2 = 0.9, 0.95
        torch._foreach_lerp_(m1, gs, 1 - b1)
        torch._foreach_mul_(m2, b2)
        torch._foreach_addcmul_(m2, gs, gs, 1 - b2)
        den = torch._foreach_div(m2, 1 - b2 ** self.t)
        torch._foreach_sqrt_(den)
        torch._foreach_add_(den, 1e-10)
        torch._foreach_addcdiv_(ps, m1, den, -self.adam_lr * scale / (1 - b1 ** self.t))

    def state(self):
        return dict(m=self.m, a=self.a, t=self.t)

    def load(self, s):
        self.m, self.a, self.t = s["m"], s["a"], s["t"]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", required=True)
    p.add_argument("--state", required=True, help="folder for the resumable state")
    p.add_argument("--out", required=True, help="folder for the weights to bring home")
    p.add_argument("--shape", default="spark")
    p.add_argument("--seconds", type=float, default=1e9, help="stop cleanly after this long")
    p.add_argument("--total-steps", type=int, default=3000)
    p.add_argument("--until", type=float, default=1.0, help="stop at this share of the total steps")
    p.add_argument("--decay-share", type=float, default=0.35, help="the rate falls over the last share of the steps")
    p.add_argument("--b-share", type=float, help="stage B: the last share of the steps (as --decay-share)")
    p.add_argument("--quant-share", type=float, default=0.12, help="fake quantisation in the last share")
    p.add_argument("--rows", type=int, default=128, help="rows of 2048 tokens in a batch")
    p.add_argument("--micro", type=int, default=64)
    p.add_argument("--muon-lr", type=float, default=0.02)
    p.add_argument("--adam-lr", type=float, default=0.002)
    p.add_argument("--compile", action="store_true")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--bf16", action="store_true", help="bf16 products on the CPU too")
    p.add_argument("--every", type=int, default=25, help="steps between log lines")
    p.add_argument("--init", help="folder to start from: part*.safetensors, or a shipped MLX directory")
    p.add_argument("--start", type=int, default=0, help="step number to start at (with --init)")
    p.add_argument("--snap", help="folder for weights kept on the way, one folder a step")
    p.add_argument("--snap-every", type=int, default=10 ** 9)
    p.add_argument("--refresh", type=int, default=400, help="steps between looks for new rows")
    a = p.parse_args()
    t0 = time.time()
    torch.manual_seed(a.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_float32_matmul_precision("high")
    os.makedirs(a.state, exist_ok=True)
    model = Spark(a.shape).to(device)
    model.dtype = torch.bfloat16 if device == "cuda" or a.bf16 else torch.float32
    if a.init and os.path.exists(f"{a.init}/config.json"):      # a shipped directory
        from pathlib import Path
        from export import dequantised_hf
        model.load_hf_state(dequantised_hf(Path(a.init))[0])
    elif a.init:
        from safetensors.torch import load_file
        model.load_state_dict({k: v.float() for f in glob.glob(f"{a.init}/part*.safetensors") for k, v in load_file(f, device=device).items()})
    opt = Optimiser(model, a.muon_lr, a.adam_lr)
    ema = {n: q.detach().clone() for n, q in model.named_parameters()}
    step, log = a.start, []
    path = f"{a.state}/state.pt"
    if os.path.exists(path):
        s = torch.load(path, map_location=device)
        model.load_state_dict(s["model"])
        opt.load(s["opt"])
        ema, step, log = s["ema"], s["step"], s["log"]
        a.total_steps = a.total_steps or s["total"]
        print(f"resumed at step {step}", flush=True)
    data, val = Data(a.data, device, seed=a.seed * 1000 + step), Data(a.data, device, seed=7, part="val")
    rows_there = lambda: {k: len(v.rows) for k, v in data.cats.items()}
    print("rows", rows_there(), flush=True)
    loss_fn = model.loss
    if a.compile:
        loss_fn = torch.compile(model.loss, dynamic=False)
    total = a.total_steps
    b_from = total * (1 - (a.decay_share if a.b_share is None else a.b_share))
    q_from, warm = math.ceil(total * (1 - a.quant_share)), max(20, total // 50)
    n_micro = a.rows // a.micro
    moe = [l for l in model.layers if l.moe]
    names, params = zip(*model.named_parameters())
    tokens, mark, acc = 0, time.time(), []

    def evaluate():
        """Loss on the held-out rows with the weights rounded as they are shipped."""
        out = {}
        masters = model.swap_in_quantised()
        with torch.no_grad():
            for k, v in val.cats.items():
                n = min(len(v.rows), 64 if device == "cuda" else a.micro)
                ces = []
                for i in range(0, n, a.micro):
                    x, y, w = Data.split(v.rows[i:i + a.micro], k in MASKED)
                    i = torch.arange(a.micro, device=device) % len(x)
                    ces.append(loss_fn(x[i], y[i], w[i])[1].item())
                out[k] = round(sum(ces) / len(ces), 4)
        model.swap_back(masters)
        return out

    def checkpoint(*folders):
        """Writes the better of weights and averaged weights, then the state to resume from."""
        raw = {n: q.detach().clone() for n, q in model.named_parameters()}
        result = dict(step=step, val=evaluate())
        with torch.no_grad():
            for n, q in model.named_parameters():
                q.copy_(ema[n])
        result["val_ema"] = evaluate()
        mean = lambda d: sum(d[k] for k in d if k in WEIGHT_B or step < b_from)
        use_ema = mean(result["val_ema"]) < mean(result["val"])
        result["kept"] = "ema" if use_ema else "raw"
        print(json.dumps(result), flush=True)
        if not use_ema:
            with torch.no_grad():
                for n, q in model.named_parameters():
                    q.copy_(raw[n])
        for f in folders:
            save(model, f, dict(result, rows=rows_there(), drawn={k: v.drawn for k, v in data.cats.items()}, shape=a.shape, args=vars(a), log=log))
        with torch.no_grad():
            for n, q in model.named_parameters():
                q.copy_(raw[n])
        torch.save(dict(model=model.state_dict(), opt=opt.state(), ema=ema, step=step, log=log, total=total), path + ".new")
        os.rename(path + ".new", path)

    while step < total * a.until and time.time() - t0 < a.seconds:
        if step > a.start and (step == q_from or step % a.snap_every == 0):    # q_from: before the rounding finish begins
            checkpoint(f"{a.snap}/{step:06d}" if a.snap else a.out)
        if step % a.refresh == 0:
            data.refresh()
        stage_b = step >= b_from
        rounding = step >= q_from
        scale = min(1.0, (step + 1) / warm)
        if stage_b:
            scale *= max(0.01, min(1.0, (total - step) / (total * a.decay_share)))
        x, y, w = data.batch(MIX_B if stage_b else MIX_A, a.rows, stage_b)
        order = torch.randperm(a.rows, device=device)
        x, y, w = x[order], y[order], w[order]
        loads = 0
        masters = model.swap_in_quantised() if rounding else {}
        for i in range(n_micro):
            s = slice(i * a.micro, (i + 1) * a.micro)
            loss, ce, ld = loss_fn(x[s], y[s], w[s])
            (loss / n_micro).backward()
            loads = loads + ld.detach()
            acc.append(ce)
        model.swap_back(masters)
        norm = torch.nn.utils.clip_grad_norm_(params, 1.0)
        opt.step(scale)
        model.zero_grad(set_to_none=True)
        with torch.no_grad():
            if not rounding:
                for l, load in zip(moe, loads):
                    l.bias += (4e-3 if step < 0.25 * total and not a.init else 1e-3) * scale * torch.sign(load.mean() - load)
            e = min(0.995, (1 + step) / (10 + step))
            torch._foreach_lerp_(list(ema[n] for n in names), [q.detach() for q in params], 1 - e)
        step += 1
        tokens += x.numel()
        if step % a.every == 0 or step < 4:
            share = loads / loads.sum(-1, keepdim=True) * loads.shape[-1]
            r = dict(step=step, loss=round(torch.stack(acc).mean().item(), 4), norm=round(norm.item(), 3),
                     lr=round(scale, 4), tps=round(tokens / (time.time() - mark)), t=round(time.time() - t0),
                     load=[round(share.min().item(), 2), round(share.max().item(), 2)])
            log.append(r)
            print(json.dumps(r), flush=True)
            tokens, mark, acc = 0, time.time(), []
            if rounding and len(log) > 8 and r["loss"] > 2 * log[-8]["loss"]:
                print("loss doubled while rounding: stopped", flush=True)
                return
    print("rows", rows_there(), "drawn", {k: v.drawn for k, v in data.cats.items()}, flush=True)
    checkpoint(a.out, *([f"{a.snap}/{step:06d}"] if a.snap else []))
    print(f"saved at step {step}, {time.time() - t0:.0f} s", flush=True)


def save(model, path, info, parts=5):
    """bf16 weights (router bias f32) in several files, each small enough to travel alone; the folder appears when complete."""
    from safetensors.torch import save_file
    state = {n: (t if n.endswith(".bias") else t.bfloat16()).cpu().contiguous() for n, t in model.state_dict().items()}
    bins, sizes = [dict() for _ in range(parts)], [0] * parts
    for n, t in sorted(state.items(), key=lambda kv: -kv[1].numel()):
        i = sizes.index(min(sizes))
        bins[i][n] = t
        sizes[i] += t.numel()
    os.makedirs(path + ".new", exist_ok=True)
    for i, b in enumerate(bins):
        save_file(b, f"{path}.new/part{i}.safetensors")
    json.dump(info, open(f"{path}.new/info.json", "w"))
    shutil.rmtree(path, ignore_errors=True)
    os.rename(path + ".new", path)


if __name__ == "__main__":
    main()
