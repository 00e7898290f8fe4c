// Formula:  z[t, e] = Σ_c h[t, c] · w[e, c], the router's logits.
// Shapes:   w [EXPERTS, HIDDEN], h [T, HIDDEN], z [T, EXPERTS].
// Bytes:    4 · (EXPERTS·HIDDEN + T·(HIDDEN + EXPERTS)).   Geometry: grid (⌈EXPERTS/8⌉, T), block 256.
extern "C" __global__ void router(const Control* c, const float* w, const float* h, float* z) {
    if (c->done) return;
    linear<EXPERTS, HIDDEN, false>(w, h, z);
}

// Formula:  s = sigmoid(z); the CHOSEN best of s + bias, the lower index first among equals; weights
//           s / (Σ s + 1e-6) · ROUTE_SCALE (the division only where NORM_ROUTES).
// Shapes:   z [T, EXPERTS], bias [EXPERTS] or null; chosen, weight [T, CHOSEN].
// Bytes:    4 · T · (EXPERTS + 2·CHOSEN).   Geometry: grid (1, T), one thread.
extern "C" __global__ void route(const Control* c, const float* z, const float* bias, u32* chosen, float* weight) {
    if (c->done) return;
    int t = blockIdx.y;
    float s[EXPERTS], key[EXPERTS], sum = 0.0f;
    for (int e = 0; e < EXPERTS; e++) {
        s[e] = 1.0f / (1.0f + expf(-z[(long long)t * EXPERTS + e]));
        key[e] = s[e] + (bias ? bias[e] : 0.0f);
    }
    for (int k = 0; k < CHOSEN; k++) {
        int best = 0;
        for (int e = 1; e < EXPERTS; e++)
            if (key[e] > key[best]) best = e;
        key[best] = -INFINITY_F;
        chosen[t * CHOSEN + k] = best;
        weight[t * CHOSEN + k] = s[best];
        sum += s[best];
    }
    for (int k = 0; k < CHOSEN; k++) {
        float w = weight[t * CHOSEN + k];
        if (NORM_ROUTES) w = w / (sum + 1e-6f);
        weight[t * CHOSEN + k] = w * ROUTE_SCALE;
    }
}

// Formula:  a[t, k, r] = silu(gate_e · h[t]) · (up_e · h[t])  for the k-th chosen expert e of t.
// Shapes:   gate, up [EXPERTS, WIDTH, HIDDEN], h [T, HIDDEN], a [T, CHOSEN, WIDTH].
// Bytes:    8 · T · CHOSEN · WIDTH · HIDDEN.   Geometry: grid (⌈WIDTH/8⌉, CHOSEN, T), block 256.
extern "C" __global__ void experts_up(const Control* c, const float* gate, const float* up, const u32* chosen,
                                      const float* h, float* a) {
    int r = blockIdx.x * 8 + (threadIdx.x >> 5), lane = threadIdx.x & 31, k = blockIdx.y, t = blockIdx.z;
    if (c->done || r >= WIDTH) return;
    long long row = ((long long)chosen[t * CHOSEN + k] * WIDTH + r) * HIDDEN;
    const float* x = h + (long long)t * HIDDEN;
    float g = 0.0f, u = 0.0f;
    for (int i = lane; i < HIDDEN; i += 32) {
        g += x[i] * gate[row + i];
        u += x[i] * up[row + i];
    }
    g = warp_sum(g);
    u = warp_sum(u);
    if (lane == 0) a[((long long)t * CHOSEN + k) * WIDTH + r] = g * (1.0f / (1.0f + expf(-g))) * u;
}

// Formula:  x[t, r] += Σ_k weight[t, k] · (down_e · a[t, k])[r], k in the order of the route.
// Shapes:   down [EXPERTS, HIDDEN, WIDTH], a [T, CHOSEN, WIDTH], x [T, HIDDEN].
// Bytes:    4 · T · CHOSEN · HIDDEN · WIDTH.   Geometry: grid (⌈HIDDEN/8⌉, T), block 256.
extern "C" __global__ void experts_down_add(const Control* c, const float* down, const u32* chosen,
                                            const float* weight, const float* a, float* x) {
    int r = blockIdx.x * 8 + (threadIdx.x >> 5), lane = threadIdx.x & 31, t = blockIdx.y;
    if (c->done || r >= HIDDEN) return;
    float y = 0.0f;
    for (int k = 0; k < CHOSEN; k++) {
        const float* w = down + ((long long)chosen[t * CHOSEN + k] * HIDDEN + r) * WIDTH;
        const float* b = a + ((long long)t * CHOSEN + k) * WIDTH;
        float s = 0.0f;
        for (int i = lane; i < WIDTH; i += 32) s += b[i] * w[i];
        y += weight[t * CHOSEN + k] * warp_sum(s);
    }
    if (lane == 0) x[(long long)t * HIDDEN + r] += y;
}
