"""Makes crates/lfm2/tests/data/quants.json: what mlx and gguf-py make of the same weights.

    python quants.py crates/lfm2/tests/data/quants.json

Byte strings are hexadecimal, little-endian. `values` are 2 x 256 single-precision weights (rows of uneven
size, one all-zero group of 128, one all-negative group, one constant). For each MLX case: codes, scales,
biases, and the values mlx dequantises in single precision. For Q4_0 and Q8_0: gguf-py's blocks of the same
values, and what it reads back. For the K-quants (gguf-py cannot write them): random blocks with sane
scales, and what it reads.
"""

import json
import pathlib
import sys

import gguf
import mlx.core as mx
import numpy as np
from gguf import GGMLQuantizationType as Q

mx.set_default_device(mx.cpu)
rng = np.random.default_rng(20)


def hexed(a):
    return np.ascontiguousarray(a).tobytes().hex()


w = rng.standard_normal((2, 256)).astype(np.float32) * np.array([[0.02], [1.5]], np.float32)
w[0, 128:256] = 0
w[1, 0:32] = -np.abs(w[1, 0:32]) - 1
w[1, 32:64] = 0.7
w[1, 100] = 9.0  # an outlier

out = {"by": f"mlx {mx.__version__} (CPU), gguf-py", "rows": 2, "cols": 256, "values": hexed(w), "mlx": [], "gguf": []}
for name, dtype in (("F32", mx.float32), ("F16", mx.float16), ("BF16", mx.bfloat16)):
    for bits in (4, 8):
        for group in (32, 64, 128):
            q, s, b = mx.quantize(mx.array(w).astype(dtype), group_size=group, bits=bits)
            d = mx.dequantize(q, s.astype(mx.float32), b.astype(mx.float32), group_size=group, bits=bits)
            raw = (lambda a: hexed(np.array(a.view(mx.uint16)))) if dtype != mx.float32 else (lambda a: hexed(np.array(a)))
            out["mlx"].append({"float": name, "bits": bits, "group": group, "codes": hexed(np.array(q)),
                               "scales": raw(s), "biases": raw(b), "values": hexed(np.array(d))})
for q in (Q.Q4_0, Q.Q8_0):
    blocks = gguf.quants.quantize(w, q)
    out["gguf"].append({"type": q.name, "blocks": hexed(blocks), "values": hexed(gguf.quants.dequantize(blocks, q))})
for q in (Q.Q4_K, Q.Q5_K, Q.Q6_K):
    size = gguf.GGML_QUANT_SIZES[q][1]
    blocks = rng.integers(0, 256, (2, size), dtype=np.uint8)
    places = [208] if q == Q.Q6_K else [0, 2]
    for p in places:
        blocks[:, p:p + 2] = (rng.standard_normal(2) * 0.01).astype(np.float16).view(np.uint8).reshape(2, 2)
    out["gguf"].append({"type": q.name, "blocks": hexed(blocks), "values": hexed(gguf.quants.dequantize(blocks, q))})
pathlib.Path(sys.argv[1]).write_text(json.dumps(out, indent=0) + "\n")
