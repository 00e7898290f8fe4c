"""The model as training sees it: all experts are computed densely and gated, which equals routed top-k."""
import torch
import torch.nn.functional as F
from torch import nn

from common import SHAPES

EPS = 1e-5


def norm(x, w):
    h = x.float()
    h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + EPS)
    return (h * w.float()).to(x.dtype)


def affine(w, bits, group):
    """MLX's affine quantiser: codes, scales and biases (bf16-rounded, as f32) of w's last axis."""
    n = 2 ** bits - 1
    g = w.detach().bfloat16().float().unflatten(-1, (-1, group))
    hi, lo = g.amax(-1, keepdim=True), g.amin(-1, keepdim=True)
    s = ((hi - lo) / n).clamp_min(1e-7)
    low_edge = lo.abs() > hi.abs()
    s = torch.where(low_edge, s, -s)
    edge = torch.where(low_edge, lo, hi)
    q0 = torch.round(edge / s)
    keep = q0 != 0
    s = torch.where(keep, edge / torch.where(keep, q0, torch.ones_like(q0)), s)
    b = torch.where(keep, edge, torch.zeros_like(edge))
    q = torch.round((g - b) / s).clamp(0, n)
    return q, s.bfloat16().float(), b.bfloat16().float()


def quantise(w, bits, group):
    q, s, b = affine(w, bits, group)
    return (q * s + b).flatten(-2).to(w.dtype)


class Spark(nn.Module):
    """Experts are kept as [E*M, H] and [H, E*M]."""

    def __init__(self, shape):
        super().__init__()
        c = self.c = dict(SHAPES[shape])
        H, V, E, M = c["hidden_size"], c["vocab_size"], c["num_experts"], c["moe_intermediate_size"]
        self.heads, self.kv, self.top = c["num_attention_heads"], c["num_key_value_heads"], c["num_experts_per_tok"]
        self.dtype = torch.float32
        P = lambda *s: nn.Parameter(torch.empty(*s))
        self.embed = P(V, H)
        self.layers = nn.ModuleList()
        for i in range(c["num_hidden_layers"]):
            l = nn.Module()
            l.attn, l.moe = i in c["attention"], i >= c["num_dense_layers"]
            l.operator_norm, l.ffn_norm = P(H), P(H)
            if l.attn:
                l.q, l.k, l.v, l.o = P(H, H), P(self.kv * 64, H), P(self.kv * 64, H), P(H, H)
                l.qn, l.kn = P(64), P(64)
            else:
                l.inp, l.conv, l.out = P(3 * H, H), P(H, 3), P(H, H)
            if l.moe:
                l.gate, l.w1, l.w3, l.w2 = P(E, H), P(E * M, H), P(E * M, H), P(H, E * M)
                l.register_buffer("bias", torch.zeros(E))
            else:
                I = c["intermediate_size"]
                l.w1, l.w3, l.w2 = P(I, H), P(I, H), P(H, I)
            self.layers.append(l)
        self.norm = P(H)
        inv = 1.0 / (1e6 ** (torch.arange(0, 64, 2).float() / 64))
        a = torch.arange(2048).float()[:, None] * inv[None]
        self.register_buffer("cos", a.cos(), persistent=False)
        self.register_buffer("sin", a.sin(), persistent=False)
        self.reset()

    @torch.no_grad()
    def reset(self):
        H = self.c["hidden_size"]
        for n, p in self.named_parameters():
            k = n.split(".")[-1]
            if k in ("operator_norm", "ffn_norm", "qn", "kn", "norm"):
                p.fill_(1)
            elif k in ("o", "out", "w2"):
                p.normal_(0, 0.2 * H ** -0.5 / len(self.layers) ** 0.5)
            elif k == "conv":
                p.normal_(0, 0.1)
                p[:, 2] += 1
            elif k in ("embed", "gate"):
                p.normal_(0, 0.02)
            else:
                p.normal_(0, 0.6 * H ** -0.5)

    def w(self, p):
        return p.to(self.dtype)

    def settings(self):
        """(bits, group) of every parameter that is shipped quantised."""
        out = {}
        for n, p in self.named_parameters():
            k = n.split(".")[-1]
            if p.ndim == 2 and k != "conv":
                moe = k in ("w1", "w2", "w3") and self.layers[int(n.split(".")[1])].moe
                out[n] = (4, 32) if moe else (8, 64)
        return out

    @torch.no_grad()
    def swap_in_quantised(self):
        """Rounds the weights in place as they will be shipped and returns the originals for `swap_back`.

        Forward and backward run on the rounded weights, the step is applied to the originals: a straight-through
        estimator that leaves the compiled graph untouched."""
        settings, masters = self.settings(), {}
        for n, p in self.named_parameters():
            if n in settings:
                masters[n] = p.detach().clone()
                p.copy_(quantise(p, *settings[n]))
        return masters

    @torch.no_grad()
    def swap_back(self, masters):
        for n, p in self.named_parameters():
            if n in masters:
                p.copy_(masters[n])

    def rope(self, x):
        T = x.shape[-2]
        c, s = self.cos[:T], self.sin[:T]
        a, b = x.float().chunk(2, -1)
        return torch.cat([a * c - b * s, b * c + a * s], -1).to(x.dtype)

    def top_mask(self, t):
        """1.0 for the top-k entries of the last axis, by counting larger ones (fuses better than a sort)."""
        a, b = t[..., None, :], t[..., :, None]
        e = torch.arange(t.shape[-1], device=t.device)
        ahead = (a > b) | ((a == b) & (e[None, :] < e[:, None]))
        return (ahead.sum(-1) < self.top).to(t.dtype)

    def hidden(self, ids):
        """Final hidden states and, per MoE layer, how often each expert was chosen."""
        c, w = self.c, self.w
        E, M = c["num_experts"], c["moe_intermediate_size"]
        table = w(self.embed)
        x = F.embedding(ids, table)
        B, T, H = x.shape
        loads = []
        for l in self.layers:
            h = norm(x, l.operator_norm)
            if l.attn:
                q = norm((h @ w(l.q).t()).view(B, T, self.heads, 64), l.qn).transpose(1, 2)
                k = norm((h @ w(l.k).t()).view(B, T, self.kv, 64), l.kn).transpose(1, 2)
                v = (h @ w(l.v).t()).view(B, T, self.kv, 64).transpose(1, 2)
                r = self.heads // self.kv
                q, k = self.rope(q), self.rope(k)
                k = k[:, :, None].expand(-1, -1, r, -1, -1).reshape(B, self.heads, T, 64)
                v = v[:, :, None].expand(-1, -1, r, -1, -1).reshape(B, self.heads, T, 64)
                y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
                x = x + y.transpose(1, 2).reshape(B, T, H) @ w(l.o).t()
            else:
                b, g, u = (h @ w(l.inp).t()).chunk(3, -1)
                u = b * u
                k = l.conv.to(self.dtype)
                p = F.pad(u, (0, 0, 2, 0))
                v = k[:, 0] * p[:, :-2] + k[:, 1] * p[:, 1:-1] + k[:, 2] * u
                x = x + (g * v) @ w(l.out).t()
            h = norm(x, l.ffn_norm)
            if l.moe:
                s = torch.sigmoid((h @ w(l.gate).t()).float())
                t = s.detach() + l.bias
                mask = self.top_mask(t)
                loads.append(mask.sum((0, 1)))
                s = s * mask
                s = s / (s.sum(-1, keepdim=True) + 1e-6)
                a = F.silu(h @ w(l.w1).t()) * (h @ w(l.w3).t())
                a = (a.view(B, T, E, M) * s.to(a.dtype)[..., None]).view(B, T, E * M)
                x = x + a @ w(l.w2).t()
            else:
                x = x + (F.silu(h @ w(l.w1).t()) * (h @ w(l.w3).t())) @ w(l.w2).t()
        return norm(x, self.norm), table, torch.stack(loads)

    def forward(self, ids):
        h, table, _ = self.hidden(ids)
        return h @ table.t()

    def loss(self, ids, targets, weight):
        """Weighted cross entropy with z-loss; targets and weight are [B, T]."""
        h, table, loads = self.hidden(ids)
        logits = (h @ table.t()).float()
        lse = torch.logsumexp(logits, -1)
        nll = lse - logits.gather(-1, targets[..., None]).squeeze(-1)
        n = weight.sum().clamp_min(1)
        ce = (nll * weight).sum() / n
        return ce + 1e-4 * (lse.pow(2) * weight).sum() / n, ce.detach(), loads

    # --- names --------------------------------------------------------------------------------------------------
    @torch.no_grad()
    def hf_state(self):
        """The state dict under transformers' on-disk names (one tensor per expert)."""
        out = {"model.embed_tokens.weight": self.embed, "model.embedding_norm.weight": self.norm}
        E, M = self.c["num_experts"], self.c["moe_intermediate_size"]
        for i, l in enumerate(self.layers):
            p = f"model.layers.{i}."
            out[p + "operator_norm.weight"], out[p + "ffn_norm.weight"] = l.operator_norm, l.ffn_norm
            if l.attn:
                for a, b in (("q", "q_proj"), ("k", "k_proj"), ("v", "v_proj"), ("o", "out_proj"),
                             ("qn", "q_layernorm"), ("kn", "k_layernorm")):
                    out[p + f"self_attn.{b}.weight"] = getattr(l, a)
            else:
                out[p + "conv.in_proj.weight"], out[p + "conv.out_proj.weight"] = l.inp, l.out
                out[p + "conv.conv.weight"] = l.conv[:, None]
            if l.moe:
                out[p + "feed_forward.gate.weight"], out[p + "feed_forward.expert_bias"] = l.gate, l.bias
                w2 = l.w2.view(-1, E, M)
                for e in range(E):
                    for n, t in (("w1", l.w1[e * M:(e + 1) * M]), ("w3", l.w3[e * M:(e + 1) * M]), ("w2", w2[:, e])):
                        out[p + f"feed_forward.experts.{e}.{n}.weight"] = t
            else:
                for n in ("w1", "w2", "w3"):
                    out[p + f"feed_forward.{n}.weight"] = getattr(l, n)
        return {k: v.detach().clone().contiguous() for k, v in out.items()}

    @torch.no_grad()
    def load_hf_state(self, t):
        """The inverse of hf_state."""
        E = self.c["num_experts"]
        self.embed.copy_(t["model.embed_tokens.weight"]); self.norm.copy_(t["model.embedding_norm.weight"])
        for i, l in enumerate(self.layers):
            p = f"model.layers.{i}."
            l.operator_norm.copy_(t[p + "operator_norm.weight"]); l.ffn_norm.copy_(t[p + "ffn_norm.weight"])
            if l.attn:
                for a, b in (("q", "q_proj"), ("k", "k_proj"), ("v", "v_proj"), ("o", "out_proj"), ("qn", "q_layernorm"), ("kn", "k_layernorm")):
                    getattr(l, a).copy_(t[p + f"self_attn.{b}.weight"])
            else:
                l.inp.copy_(t[p + "conv.in_proj.weight"]); l.out.copy_(t[p + "conv.out_proj.weight"])
                l.conv.copy_(t[p + "conv.conv.weight"][:, 0])
            f = p + "feed_forward."
            if l.moe:
                l.gate.copy_(t[f + "gate.weight"]); l.bias.copy_(t[f + "expert_bias"])
                l.w1.copy_(torch.cat([t[f + f"experts.{e}.w1.weight"] for e in range(E)]))
                l.w3.copy_(torch.cat([t[f + f"experts.{e}.w3.weight"] for e in range(E)]))
                l.w2.copy_(torch.cat([t[f + f"experts.{e}.w2.weight"] for e in range(E)], 1))
            else:
                for n in ("w1", "w2", "w3"):
                    getattr(l, n).copy_(t[f + n + ".weight"])
        return self

    @torch.no_grad()
    def extend(self, ids, cache):
        """Logits of the last of `ids` [T], continuing `cache` (a dict, empty at first): plain f32 decoding."""
        c = self.c
        E, M = c["num_experts"], c["moe_intermediate_size"]
        at = cache.get("at", 0)
        x = self.embed[ids]
        T = x.shape[0]
        cos, sin = self.cos[at:at + T], self.sin[at:at + T]

        def rope(y):
            a, b = y.chunk(2, -1)
            return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)
        for i, l in enumerate(self.layers):
            h = norm(x, l.operator_norm)
            if l.attn:
                q = rope(norm((h @ l.q.t()).view(T, self.heads, 64), l.qn).transpose(0, 1))
                k = rope(norm((h @ l.k.t()).view(T, self.kv, 64), l.kn).transpose(0, 1))
                v = (h @ l.v.t()).view(T, self.kv, 64).transpose(0, 1)
                if i in cache:
                    k, v = torch.cat([cache[i][0], k], 1), torch.cat([cache[i][1], v], 1)
                cache[i] = (k, v)
                r = self.heads // self.kv
                K, V = k.repeat_interleave(r, 0), v.repeat_interleave(r, 0)
                s = q @ K.mT / 8
                if T > 1:
                    n = K.shape[1]
                    s = s.masked_fill(torch.arange(n)[None] > at + torch.arange(T)[:, None], float("-inf"))
                x = x + (s.softmax(-1) @ V).transpose(0, 1).reshape(T, -1) @ l.o.t()
            else:
                b, g, u = (h @ l.inp.t()).chunk(3, -1)
                e = torch.cat([cache.get(i, torch.zeros(2, h.shape[-1])), b * u])
                cache[i] = e[-2:]
                x = x + (g * (l.conv[:, 0] * e[:-2] + l.conv[:, 1] * e[1:-1] + l.conv[:, 2] * e[2:])) @ l.out.t()
            h = norm(x, l.ffn_norm)
            if l.moe:
                s = torch.sigmoid(h @ l.gate.t())
                s = s * self.top_mask(s + l.bias)
                s = s / (s.sum(-1, keepdim=True) + 1e-6)
                if T == 1:                      # only the chosen experts
                    y = torch.zeros_like(h)
                    for e in s[0].nonzero()[:, 0].tolist():
                        a = F.silu(h @ l.w1[e * M:(e + 1) * M].t()) * (h @ l.w3[e * M:(e + 1) * M].t())
                        y += s[0, e] * (a @ l.w2[:, e * M:(e + 1) * M].t())
                    x = x + y
                else:
                    a = F.silu(h @ l.w1.t()) * (h @ l.w3.t())
                    x = x + (a.view(T, E, M) * s[..., None]).view(T, E * M) @ l.w2.t()
            else:
                x = x + (F.silu(h @ l.w1.t()) * (h @ l.w3.t())) @ l.w2.t()
        cache["at"] = at + T
        return norm(x[-1:], self.norm)[0] @ self.embed.t()
