// Formula:  B, C, x = split(bcx[t]);  u[t] = B ⊙ x;
//           y[t, h] = C[h] · Σ_j kernel[h, j] · u[t − (TAPS−1) + j, h]      (u before the sequence is 0).
// Shapes:   bcx [T, 3·HIDDEN], kernel [HIDDEN, TAPS], y [T, HIDDEN];
//           ring [CONVS, RING, HIDDEN]: u of position p lies in row p mod RING;
//           checkpoints [pages, CONVS, TAPS−1, HIDDEN]: the last rows of u at the end of a full page.
// Bytes:    4 · T · HIDDEN · (3 + 1 + 1 + TAPS).
// Geometry: grid ⌈HIDDEN/64⌉, block 64: one channel a thread, tokens in order.
//
// The ring is why roll-back is exact and free: a sequence that goes back r ≤ RING − 64 − TAPS positions
// finds the rows before its new position untouched, because no newer position shares their place yet.

extern "C" __global__ void conv(const Control* c, const float* bcx, const float* kernel, float* ring,
                                float* checkpoints, const u32* pages, float* y, int layer, int tokens) {
    int h = blockIdx.x * blockDim.x + threadIdx.x;
    if (c->done || h >= HIDDEN) return;
    float* mine = ring + (long long)layer * RING * HIDDEN + h;
    const float* k = kernel + h * TAPS;
    for (int t = 0; t < tokens; t++) {
        const float* row = bcx + (long long)t * 3 * HIDDEN;
        int p = c->position + t;
        mine[(long long)(p % RING) * HIDDEN] = row[h] * row[2 * HIDDEN + h];
        float s = 0.0f;
        for (int j = 0; j < TAPS; j++) {
            int q = p - (TAPS - 1) + j;
            if (q >= 0) s += k[j] * mine[(long long)(q % RING) * HIDDEN];
        }
        y[(long long)t * HIDDEN + h] = row[HIDDEN + h] * s;
        if ((p + 1) % PAGE == 0) {
            float* to = checkpoints + ((long long)pages[p / PAGE] * CONVS + layer) * (TAPS - 1) * HIDDEN + h;
            for (int j = 0; j < TAPS - 1; j++) {
                int q = p - (TAPS - 2) + j;
                to[(long long)j * HIDDEN] = q >= 0 ? mine[(long long)(q % RING) * HIDDEN] : 0.0f;
            }
        }
    }
}

// Formula:  u[end − (TAPS−1) + j] = checkpoint[page, layer, j]: what a fork and an import start from.
// Geometry: grid (CONVS, TAPS−1), block 256.
extern "C" __global__ void restore(float* ring, const float* checkpoints, u32 page, int end) {
    int layer = blockIdx.x, j = blockIdx.y, q = end - (TAPS - 1) + j;
    if (q < 0) return;
    const float* from = checkpoints + (((long long)page * CONVS + layer) * (TAPS - 1) + j) * HIDDEN;
    float* to = ring + ((long long)layer * RING + q % RING) * HIDDEN;
    for (int i = threadIdx.x; i < HIDDEN; i += blockDim.x) to[i] = from[i];
}
