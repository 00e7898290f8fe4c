// Formula:  y[t] = w ⊙ x[t] / sqrt(mean(x[t]²) + EPS).
// Shapes:   x, y [T, HIDDEN], w [HIDDEN].
// Bytes:    4 · (2 T + 1) · HIDDEN (x is read twice, from cache the second time).
// Geometry: grid (1, T), block 256.

extern "C" __global__ void rms_norm(const Control* c, const float* w, const float* x, float* y) {
    if (c->done) return;
    const float* a = x + (long long)blockIdx.y * HIDDEN;
    float* o = y + (long long)blockIdx.y * HIDDEN;
    float s = 0.0f;
    for (int i = threadIdx.x; i < HIDDEN; i += blockDim.x) s += a[i] * a[i];
    s = block_sum(s);
    float inv = 1.0f / sqrtf(s / (float)HIDDEN + EPS);
    for (int i = threadIdx.x; i < HIDDEN; i += blockDim.x) o[i] = w[i] * (a[i] * inv);
}
