// Formula:  y[t, r] = Σ_c x[t, c] · w[r, c]   (those named `_add` add it to y: the residual stream).
// Shapes:   one kernel per role, [R, C] below; x [T, C], y [T, R].
// Bytes:    4 · (R·C + T·(C + R)), the weights read once per token: naive.
// Geometry: grid (⌈R/8⌉, T), block 256: one warp a row. The order of the sum depends on C alone, so a
//           row's bits do not depend on how many tokens share the launch.

#define LINEAR(name, R, C, ADD)                                                                    \
    extern "C" __global__ void name(const Control* c, const float* w, const float* x, float* y) {  \
        if (c->done) return;                                                                       \
        linear<(R), (C), ADD>(w, x, y);                                                            \
    }

LINEAR(conv_in, 3 * HIDDEN, HIDDEN, false)
LINEAR(conv_out_add, HIDDEN, HIDDEN, true)
LINEAR(project_q, HEADS * HEAD_DIM, HIDDEN, false)
LINEAR(project_kv, KV_HEADS * HEAD_DIM, HIDDEN, false)
LINEAR(attention_out_add, HIDDEN, HEADS * HEAD_DIM, true)
LINEAR(ffn_up, FFN, HIDDEN, false)
LINEAR(ffn_down_add, HIDDEN, FFN, true)
LINEAR(head, VOCAB, HIDDEN, false)

// Formula:  g[t, i] = silu(g[t, i]) · u[t, i].
// Shapes:   g, u [T, FFN].   Bytes: 12 · T · FFN.   Geometry: grid (⌈FFN/256⌉, T), block 256.
extern "C" __global__ void swiglu(const Control* c, float* g, const float* u) {
    if (c->done) return;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= FFN) return;
    long long at = (long long)blockIdx.y * FFN + i;
    float v = g[at];
    g[at] = v * (1.0f / (1.0f + expf(-v))) * u[at];
}
