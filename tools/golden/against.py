"""Writes what mlx-lm or transformers computes on a model, for `molten verify --against`.

    python against.py mlx          MODEL_DIR OUT.json [--tokens 256] [--prompt "…"]
    python against.py transformers MODEL_DIR OUT.json [--dtype float32]

    molten verify --model MODEL_DIR --against OUT.json

The file holds the prompt, the engine's greedy continuation, and for each generated token the 64 largest
logits it was chosen from. Needs mlx-lm >= 0.32.2 (earlier ones route this family wrongly) or
transformers >= 5; the model's own tokenizer is used.
"""

import argparse
import json

import numpy as np

PROMPT = (
    "Write a short Python function that returns the n-th Fibonacci number, then explain in two sentences "
    "how fast it is and how it could be made faster."
)


def mlx_engine(path, _):
    import mlx.core as mx
    import mlx_lm
    from mlx_lm.models.cache import make_prompt_cache
    from packaging.version import Version

    if Version(mlx_lm.__version__) < Version("0.32.2"):
        raise SystemExit(f"mlx-lm {mlx_lm.__version__} routes this family wrongly: install 0.32.2 or later")
    model, tokenizer = mlx_lm.load(path)
    cache = make_prompt_cache(model)

    def step(ids):
        y = model(mx.array([ids]), cache=cache)[0, -1].astype(mx.float32)
        return np.array(y)

    return f"mlx-lm {mlx_lm.__version__}, {mx.default_device()}", tokenizer, step


def transformers_engine(path, dtype):
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    model = transformers.AutoModelForCausalLM.from_pretrained(path, dtype=getattr(torch, dtype)).eval()
    state = {}

    def step(ids):
        with torch.no_grad():
            r = model(torch.tensor([ids]), past_key_values=state.get("past"), use_cache=True)
        state["past"] = r.past_key_values
        return r.logits[0, -1].float().numpy()

    return f"transformers {transformers.__version__}, {dtype}", tokenizer, step


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("engine", choices=["mlx", "transformers"])
    p.add_argument("model")
    p.add_argument("out")
    p.add_argument("--tokens", type=int, default=256)
    p.add_argument("--prompt", default=PROMPT)
    p.add_argument("--ids", help="prompt as comma-separated token ids (for models without a tokenizer)")
    p.add_argument("--dtype", default="float32")
    a = p.parse_args()
    name, tokenizer, step = (mlx_engine if a.engine == "mlx" else transformers_engine)(a.model, a.dtype)
    if a.ids:
        ids = [int(t) for t in a.ids.split(",")]
    else:
        # The template writes the special tokens; nothing is added twice.
        text = tokenizer.apply_chat_template(
            [{"role": "user", "content": a.prompt}], add_generation_prompt=True, tokenize=False)
        ids = tokenizer.encode(text, add_special_tokens=False)
    tokens, positions, feed = list(ids), [], list(ids)
    for _ in range(a.tokens):
        row = step(feed)
        best = np.argsort(-row, kind="stable")[:64]
        positions.append({"position": len(tokens) - 1, "sd": float(row.std()),
                          "top": [[int(t), float(row[t])] for t in best]})
        feed = [int(best[0])]
        tokens += feed
    with open(a.out, "w") as f:
        json.dump({"schema": 1, "engine": name, "tokens": tokens, "positions": positions}, f)
    print(f"{a.out}: {len(positions)} positions by {name}")


main()
