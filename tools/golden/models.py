"""Makes the golden models and what transformers and mlx-lm compute with them.

    python models.py OUT_DIR          (OUT_DIR is crates/lfm2/tests/golden in the repository)

Three tiny models with random weights that hide nothing: norms away from 1, a selection bias away from 0,
logits of size 20 with clear gaps (default initialisation would let a wrong norm or bias pass).

  dense   hidden 64,  heads 2/1 of 32, six layers
  moe     hidden 64,  heads 2/1 of 32, six layers, eight experts, top 4
  kquant  hidden 256, heads 4/2 of 64, three layers, four experts, top 2; rows fit the K-quants' 256

Per model: `model.safetensors` in bf16 (selection bias in F32) and `golden.json` with transformers' logits in
single precision, hidden states, and 64 greedy tokens. `dense` and `moe` also as MLX 4 bits (`mlx/`) with
`golden-mlx.json`; `kquant` as a GGUF with Q4_K, Q5_K, Q6_K tensors (`kquant.gguf`) with the logits
transformers gets from gguf-py's dequantised values.
"""

import json
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import torch
from safetensors.torch import save_file
from transformers import Lfm2Config, Lfm2ForCausalLM, Lfm2MoeConfig, Lfm2MoeForCausalLM

OUT = pathlib.Path(sys.argv[1])
PROMPT = [1, 17, 200, 3, 45, 99, 99, 8, 150, 31, 2, 77, 64, 128, 255, 12]
KINDS = ["conv", "conv", "full_attention", "conv", "conv", "full_attention"]


def common(**kw):
    d = dict(
        vocab_size=256, num_hidden_layers=6, layer_types=KINDS, conv_L_cache=3, conv_bias=False, norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 1e6}, tie_word_embeddings=True,
        max_position_embeddings=2048, bos_token_id=1, eos_token_id=7, pad_token_id=0,
        hidden_size=64, num_attention_heads=2, num_key_value_heads=1,
    )
    d.update(kw)
    return d


def configs():
    yield "dense", Lfm2Config(**common(
        intermediate_size=288, block_auto_adjust_ff_dim=True, block_multiple_of=64, block_ffn_dim_multiplier=1.0,
        rope_parameters={"rope_type": "default", "rope_theta": 5e6}))
    moe = dict(use_expert_bias=True, norm_topk_prob=True, routed_scaling_factor=1.0)
    yield "moe", Lfm2MoeConfig(**common(
        intermediate_size=128, moe_intermediate_size=64, num_dense_layers=2, num_experts=8, num_experts_per_tok=4, **moe))
    yield "kquant", Lfm2MoeConfig(**common(
        hidden_size=256, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=3, layer_types=KINDS[1:4],
        intermediate_size=512, moe_intermediate_size=256, num_dense_layers=1, num_experts=4, num_experts_per_tok=2, **moe))


def randomise(model, seed):
    g = torch.Generator().manual_seed(seed)
    for name, p in list(model.named_parameters()) + list(model.named_buffers()):
        n = torch.randn(p.shape, generator=g)
        if name.endswith("expert_bias"):
            p.data = 0.2 * n
        elif "norm" in name:
            p.data = (1 + 0.3 * n).bfloat16().float()
        elif "embed_tokens" in name:
            # Rows of uneven length: like a trained head's, the logits get a heavy tail, so that most choices
            # are clear and a comparison of tokens means something.
            length = (0.5 * torch.randn(p.shape[0], 1, generator=g)).exp()
            p.data = (0.4 * n * length).bfloat16().float()
        elif name.endswith("feed_forward.gate.weight"):
            p.data = (0.3 * n).bfloat16().float()
        elif "inv_freq" in name:
            continue
        else:
            # 0.15 at 128 inputs; the same variance of outputs at any width.
            fan = p.shape[-1] if p.dim() > 1 and "conv.conv" not in name else 128
            # Branches add a fraction to the residual stream, as in a trained network; at full size a
            # random network is chaotic, and even mlx's own bf16 is 17 % off its own single precision.
            branch = 0.06 if name.endswith(("out_proj.weight", "w2.weight", "down_proj")) else 1.0
            p.data = (branch * 0.15 * (128 / fan) ** 0.5 * n).bfloat16().float()


def greedy(step, prompt, n):
    """Greedy tokens with, for each, the logits' top-2 gap in units of their standard deviation."""
    ids, out, gaps = list(prompt), [], []
    for _ in range(n):
        row = step(ids)
        order = np.argsort(-row, kind="stable")
        out.append(int(order[0]))
        gaps.append(round(float((row[order[0]] - row[order[1]]) / row.std()), 4))
        ids.append(out[-1])
    return out, gaps


def rounded(a):
    return [float(f"{v:.7g}") for v in np.asarray(a, dtype=np.float64).ravel()]


def with_transformers(model):
    with torch.no_grad():
        r = model(torch.tensor([PROMPT]), output_hidden_states=True)

        def step(ids):
            return model(torch.tensor([ids])).logits[0, -1].numpy()

        tokens, gaps = greedy(step, PROMPT, 64)
    hidden = [rounded(h[0, -1]) for h in r.hidden_states[:-1]]
    return {"by": "transformers 5.24.0, fp32", "prompt": PROMPT, "logits": rounded(r.logits[0]),
            "hidden_last_token": hidden, "greedy": tokens, "gaps": gaps}


def save(name, config, model):
    d = OUT / name
    d.mkdir(parents=True, exist_ok=True)
    config.save_pretrained(d)
    c = json.loads((d / "config.json").read_text())
    c["block_dim"] = config.hidden_size
    (d / "config.json").write_text(json.dumps(c, indent=1) + "\n")
    # Through save_pretrained, so that experts get their names on disk; then back to the exact types.
    tmp = d / "tmp"
    model.save_pretrained(tmp)
    from safetensors.torch import load_file
    t = load_file(tmp / "model.safetensors")
    t = {k: (v.float() if k.endswith("expert_bias") else v.bfloat16()).contiguous() for k, v in t.items()}
    save_file(t, d / "model.safetensors", metadata={"format": "pt"})
    shutil.rmtree(tmp)
    return d, t


def with_mlx(d, name):
    """Converts to MLX 4 bits and runs it as mlx-lm does, in bf16 where its CPU backend can."""
    from tokenizers import Tokenizer, models
    src = d / "for-mlx"
    shutil.copytree(d, src, ignore=shutil.ignore_patterns("for-mlx", "mlx", "golden*"))
    Tokenizer(models.BPE({chr(256 + i): i for i in range(256)}, [])).save(str(src / "tokenizer.json"))
    (src / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    out = d / "mlx"
    shutil.rmtree(out, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "mlx_lm", "convert", "--hf-path", src, "--mlx-path", out, "-q",
                    "--q-bits", "4", "--q-group-size", "64"], check=True)
    shutil.rmtree(src)
    for extra in list(out.iterdir()):
        if extra.name not in ("config.json", "model.safetensors"):
            extra.unlink()
    import mlx.core as mx
    from mlx_lm.utils import load_model
    mx.set_default_device(mx.cpu)
    result = {}
    for label, dtype in (("bf16", mx.bfloat16), ("fp32", mx.float32)):
        model, _ = load_model(out)
        if dtype == mx.float32:
            model.set_dtype(mx.float32)

        def logits(ids):
            y = model(mx.array([ids]))
            mx.eval(y)
            return np.array(y[0].astype(mx.float32))

        try:
            whole = logits(PROMPT)
            tokens, gaps = greedy(lambda ids: logits(ids)[-1], PROMPT, 256)
        except Exception as e:  # a kernel the CPU backend lacks
            print(name, label, "not possible:", e)
            continue
        result[label] = {"by": f"mlx-lm 0.32.2, mlx 0.32.4, CPU, {label}", "prompt": PROMPT,
                         "logits": rounded(whole), "greedy": tokens, "gaps": gaps}
    (d / "golden-mlx.json").write_text(json.dumps(result) + "\n")


def with_kquants(d, config, model, tensors):
    """Random K-quant bytes with sane scales in a GGUF; transformers runs what gguf-py decodes."""
    import gguf
    from gguf import GGMLQuantizationType as Q
    rng = np.random.default_rng(5)
    path = d / "kquant.gguf"
    w = gguf.GGUFWriter(path, "lfm2moe")
    w.add_file_type(15)
    w.add_block_count(3)
    w.add_context_length(2048)
    w.add_embedding_length(256)
    w.add_feed_forward_length(512)
    w.add_head_count(4)
    w.add_head_count_kv([2 if k == "full_attention" else 0 for k in config.layer_types])
    w.add_layer_norm_rms_eps(1e-5)
    w.add_rope_freq_base(1e6)
    w.add_vocab_size(256)
    w.add_shortconv_l_cache(3)
    w.add_expert_count(4)
    w.add_expert_used_count(2)
    w.add_expert_feed_forward_length(256)
    w.add_leading_dense_block_count(1)
    w.add_expert_gating_func(gguf.ExpertGatingFuncType.SIGMOID)
    state = model.state_dict()

    def blocks(shape, q, sigma):
        """Random codes; scales such that weights have about the standard deviation sigma."""
        per, size = gguf.GGML_QUANT_SIZES[q]
        n = int(np.prod(shape)) // per
        b = rng.integers(0, 256, (n, size), dtype=np.uint8)
        half = lambda v: np.asarray(v, dtype=np.float16).view(np.uint8).reshape(n, 2)
        # Uneven per block: for the embedding (one block a row) this gives the heavy tail of `randomise`.
        u = np.exp((0.5 if sigma == 0.4 else 0.15) * rng.standard_normal(n))
        if q == Q.Q6_K:
            b[:, 192:208] = rng.integers(40, 80, (n, 16)).astype(np.uint8)
            b[:, 208:210] = half(sigma * u / (60 * 18.5))
        else:
            top = 15 if q == Q.Q4_K else 31
            b[:, 4:16] = rng.integers(0, 256, (n, 12)).astype(np.uint8)
            b[:, 0:2] = half(sigma * u / (32 * top * 0.29))
            b[:, 2:4] = half(sigma * u / (32 * top * 0.29) * top / 2)
        shape = list(shape)
        shape[-1] = shape[-1] // per * size
        return b.reshape(shape)

    def put(name, hf, q=None, sigma=None, fused=None):
        ref = state[hf]
        if fused is not None:
            ref = ref[:, fused[0]:fused[1]]
        if q is None:
            a = ref.numpy().astype(np.float32)
            if "conv.weight" in name:
                a = a.reshape(a.shape[0], a.shape[-1])
            w.add_tensor(name, np.ascontiguousarray(a))
            return
        raw = blocks(ref.shape, q, sigma)
        value = torch.from_numpy(gguf.dequantize(raw, q).reshape(ref.shape).copy())
        if fused is not None:
            state[hf][:, fused[0]:fused[1]] = value
        else:
            state[hf].copy_(value)
        w.add_tensor(name, raw, raw_dtype=q)

    put("token_embd.weight", "model.embed_tokens.weight", Q.Q6_K, 0.4)
    put("token_embd_norm.weight", "model.embedding_norm.weight")
    for i, kind in enumerate(config.layer_types):
        b, m = f"blk.{i}.", f"model.layers.{i}."
        s, o = 0.1, 0.006
        put(b + "attn_norm.weight", m + "operator_norm.weight")
        put(b + "ffn_norm.weight", m + "ffn_norm.weight")
        if kind == "conv":
            put(b + "shortconv.in_proj.weight", m + "conv.in_proj.weight", Q.Q5_K, s)
            put(b + "shortconv.out_proj.weight", m + "conv.out_proj.weight", Q.Q4_K, o)
            put(b + "shortconv.conv.weight", m + "conv.conv.weight")
        else:
            for g, h in (("q", "q_proj"), ("k", "k_proj"), ("v", "v_proj"), ("output", "out_proj")):
                put(b + f"attn_{g}.weight", m + f"self_attn.{h}.weight", Q.Q6_K if g == "v" else Q.Q4_K, o if g == "output" else s)
            put(b + "attn_q_norm.weight", m + "self_attn.q_layernorm.weight")
            put(b + "attn_k_norm.weight", m + "self_attn.k_layernorm.weight")
        if i < config.num_dense_layers:
            for g, h in (("gate", "w1"), ("up", "w3"), ("down", "w2")):
                put(b + f"ffn_{g}.weight", m + f"feed_forward.{h}.weight", Q.Q6_K if g == "down" else Q.Q4_K, o if g == "down" else s)
        else:
            put(b + "ffn_gate_inp.weight", m + "feed_forward.gate.weight")
            put(b + "exp_probs_b.bias", m + "feed_forward.expert_bias")
            e, n = m + "feed_forward.experts.", config.moe_intermediate_size
            put(b + "ffn_gate_exps.weight", e + "gate_up_proj", Q.Q4_K, s, (0, n))
            put(b + "ffn_up_exps.weight", e + "gate_up_proj", Q.Q5_K, s, (n, 2 * n))
            put(b + "ffn_down_exps.weight", e + "down_proj", Q.Q6_K, o)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    model.load_state_dict(state)
    (d / "golden.json").write_text(json.dumps(with_transformers(model)) + "\n")


def main():
    torch.set_num_threads(2)
    for seed, (name, config) in enumerate(configs()):
        cls = Lfm2ForCausalLM if name == "dense" else Lfm2MoeForCausalLM
        config._attn_implementation = "eager"
        model = cls(config).float().eval()
        randomise(model, seed)
        d, tensors = save(name, config, model)
        if name == "kquant":
            (d / "model.safetensors").unlink()
            with_kquants(d, config, model, tensors)
            (d / "config.json").unlink()
        else:
            (d / "golden.json").write_text(json.dumps(with_transformers(model)) + "\n")
            with_mlx(d, name)
        print(name, "done")


main()
