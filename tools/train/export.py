"""Turns trained weights into a transformers directory (bf16) and the shipped MLX directory (affine quantised).

    python export.py TRAINED HF_OUT MLX_OUT TOKENIZER_DIR

TRAINED holds part*.safetensors and info.json as train.py writes them.
"""
import json, shutil, sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from common import hf_config
from model import Spark, affine

GENERATION = {"bos_token_id": 1, "eos_token_id": [7, 2], "pad_token_id": 0, "do_sample": True, "temperature": 0.1, "top_k": 50}
FILES = ["tokenizer.json", "tokenizer_config.json", "chat_template.jinja"]


def load_trained(path):
    info = json.load(open(path / "info.json"))
    model = Spark(info["shape"])
    state = {}
    for p in sorted(path.glob("part*.safetensors")):
        state.update(load_file(p))
    model.load_state_dict({k: v.float() for k, v in state.items()})
    return model.eval(), info


def mlx_names(hf, config):
    """transformers names -> mlx-lm names, experts stacked."""
    out, E = {}, config["num_experts"]
    names = {"w1": "gate_proj", "w3": "up_proj", "w2": "down_proj"}
    for k, v in hf.items():
        if ".experts." in k:
            continue
        if k.endswith("conv.conv.weight"):
            v = v.transpose(1, 2).contiguous()
        for a, b in names.items():
            k = k.replace(f"feed_forward.{a}.", f"feed_forward.{b}.")
        out[k] = v
    for i in range(config["num_dense_layers"], config["num_hidden_layers"]):
        p = f"model.layers.{i}.feed_forward."
        for a, b in names.items():
            out[p + f"switch_mlp.{b}.weight"] = torch.stack([hf[p + f"experts.{e}.{a}.weight"] for e in range(E)])
    return out


def pack(q, bits):
    """Codes [.., n] (or [.., groups, group]) -> little-endian words [.., n * bits / 32]."""
    q = q.flatten(-2).to(torch.int64)
    per = 32 // bits
    w = q.unflatten(-1, (-1, per)) << (torch.arange(per) * bits)
    return w.sum(-1).to(torch.uint32)


def quantised(k, v):
    """(bits, group) of a tensor, or None if it stays as it is."""
    if not k.endswith(".weight") or v.ndim < 2 or "conv.conv" in k:
        return None
    return (4, 32) if "switch_mlp" in k else (8, 64)


def to_mlx(hf, config):
    tensors, settings = {}, {"group_size": 64, "bits": 8, "mode": "affine"}
    for k, v in mlx_names(hf, config).items():
        setting = quantised(k, v)
        if setting is None:
            tensors[k] = v.float() if k.endswith("expert_bias") else v.bfloat16()
            continue
        bits, group = setting
        q, s, b = affine(v, bits, group)
        p = k[:-len(".weight")]
        tensors[k], tensors[p + ".scales"], tensors[p + ".biases"] = pack(q, bits), s.squeeze(-1).bfloat16(), b.squeeze(-1).bfloat16()
        if "switch_mlp" in k or k.endswith("feed_forward.gate.weight"):
            settings[p] = {"group_size": group, "bits": bits}
    return tensors, settings


def dequantised_hf(path):
    """The shipped file as transformers-named f32 tensors (what the engine computes with)."""
    config = json.load(open(path / "config.json"))
    t = load_file(path / "model.safetensors")
    out, E = {}, config["num_experts"]
    names = {"gate_proj": "w1", "up_proj": "w3", "down_proj": "w2"}
    for k, v in t.items():
        if k.endswith((".scales", ".biases")):
            continue
        p = k[:-len(".weight")] if k.endswith(".weight") else k
        if p + ".scales" in t:
            s, b = t[p + ".scales"].float(), t[p + ".biases"].float()
            bits = config["quantization"].get(p, config["quantization"])["bits"]
            group = config["quantization"].get(p, config["quantization"])["group_size"]
            q = (v.to(torch.int64)[..., None] >> (torch.arange(32 // bits) * bits)) & (2 ** bits - 1)
            v = (q.flatten(-2).float().unflatten(-1, (-1, group)) * s[..., None] + b[..., None]).flatten(-2)
        v = v.float()
        if k.endswith("conv.conv.weight"):
            v = v.transpose(1, 2).contiguous()
        if "switch_mlp" in k:
            proj = k.split(".")[-2]
            for e in range(E):
                out[k.replace(f"switch_mlp.{proj}", f"experts.{e}.{names[proj]}")] = v[e].contiguous()
            continue
        for a, b in names.items():
            k = k.replace(f"feed_forward.{a}.", f"feed_forward.{b}.")
        out[k] = v
    return out, config


def main():
    trained, hf_out, mlx_out, tok = map(Path, sys.argv[1:5])
    model, info = load_trained(trained)
    config = hf_config(info["shape"])
    hf = model.hf_state()
    for d in (hf_out, mlx_out):
        d.mkdir(parents=True, exist_ok=True)
        for f in FILES:
            if (tok / f).exists() and (tok / f).resolve() != (d / f).resolve():
                shutil.copy(tok / f, d / f)
        json.dump(GENERATION, open(d / "generation_config.json", "w"), indent=2)
    save_file({k: (v.float() if k.endswith("expert_bias") else v.bfloat16()) for k, v in hf.items()}, hf_out / "model.safetensors", metadata={"format": "pt"})
    json.dump(config, open(hf_out / "config.json", "w"), indent=2)
    tensors, settings = to_mlx(hf, config)
    save_file(tensors, mlx_out / "model.safetensors", metadata={"format": "mlx"})
    json.dump(dict(config, quantization=settings, quantization_config=settings), open(mlx_out / "config.json", "w"), indent=2)
    size = sum(f.stat().st_size for f in mlx_out.iterdir() if f.suffix in (".safetensors", ".json", ".jinja"))
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters; shipped directory {size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
