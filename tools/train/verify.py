"""Checks an export: training code = transformers (f32), shipped codes = mlx's own quantiser, mlx-lm loads and agrees.

    python verify.py TRAINED HF_DIR MLX_DIR
"""
import sys
from pathlib import Path

import numpy as np
import torch

from export import dequantised_hf, load_trained, mlx_names, pack, quantised
from model import affine


def hf_model(state, config):
    from transformers import Lfm2MoeConfig, Lfm2MoeForCausalLM
    c = {k: v for k, v in config.items() if not k.startswith("quantization")}
    c["dtype"] = "float32"
    import json, tempfile
    from safetensors.torch import save_file
    with tempfile.TemporaryDirectory() as d:
        save_file(state, f"{d}/model.safetensors", metadata={"format": "pt"})
        json.dump(c, open(f"{d}/config.json", "w"))
        return Lfm2MoeForCausalLM.from_pretrained(d, dtype=torch.float32).eval()


def main():
    trained, hf_dir, mlx_dir = map(Path, sys.argv[1:4])
    from transformers import AutoTokenizer, Lfm2MoeForCausalLM
    tok = AutoTokenizer.from_pretrained(mlx_dir)
    text = tok.apply_chat_template([{"role": "user", "content": "What's the weather in Paris?"}], tools=[{"name": "get_weather", "description": "Weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}], tokenize=False, add_generation_prompt=True)
    ids = torch.tensor([tok(text, add_special_tokens=False).input_ids])
    model, _ = load_trained(trained)
    hf = Lfm2MoeForCausalLM.from_pretrained(hf_dir, dtype=torch.float32).eval()
    with torch.no_grad():
        a, b = model(ids), hf(ids).logits
        print("training code against transformers, f32: max difference", (a - b).abs().max().item(), "of", b.abs().max().item())
        assert (a - b).abs().max() < 1e-4 * max(1, b.abs().max().item() / 10)
        state, config = dequantised_hf(mlx_dir)
        q = hf_model(state, config)
        c = q(ids).logits
        masters = model.swap_in_quantised()
        d = model(ids)
        model.swap_back(masters)
        print("fake quantisation against shipped codes: max difference", (c - d).abs().max().item())
        assert (c - d).abs().max() < 2e-3 * c.abs().max()
        from model import Spark
        _, info = load_trained(trained)
        f = Spark(info["shape"]).load_hf_state(state)
        cache = {}
        for part in (ids[0, :20], ids[0, 20:21], ids[0, 21:]):
            e = f.extend(part, cache)
        print("cached decoding of eval.py against transformers: max difference", (e - c[0, -1]).abs().max().item())
        assert (e - c[0, -1]).abs().max() < 1e-3
        print("top-1 agreement of bf16 and shipped on this prompt:", (b.argmax(-1) == c.argmax(-1)).float().mean().item())
    import mlx.core as mx
    mx.set_default_device(mx.cpu)
    diff = total = 0
    for k, v in list(mlx_names(model.hf_state(), config).items()):
        s = quantised(k, v)
        if s:
            w, sc, bi = mx.quantize(mx.array(v.float().numpy()).astype(mx.bfloat16), group_size=s[1], bits=s[0])
            qq, ss, bb = affine(v, *s)
            diff += int((np.array(w) != pack(qq, s[0]).numpy()).sum()); total += np.array(w).size
    print(f"packed words that differ from mlx's quantiser: {diff} of {total}")
    import mlx_lm
    m, _ = mlx_lm.load(str(mlx_dir))
    m.set_dtype(mx.float32)
    o = np.array(m(mx.array(ids.numpy())).astype(mx.float32))
    e = np.abs(o - c.numpy()).max()
    print("mlx-lm on the shipped file against dequantised transformers: max difference", e)
    assert e < 2e-3 * float(c.abs().max())


if __name__ == "__main__":
    main()
