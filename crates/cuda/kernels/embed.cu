// Formula:  x[t] = E[ids[t]].
// Shapes:   E [VOCAB, HIDDEN], ids [T], x [T, HIDDEN].
// Bytes:    8 · T · HIDDEN.
// Geometry: grid (1, T), block 256. `ids` lies on the device: in decode it is what the step before sampled.

extern "C" __global__ void embed(const Control* c, const float* table, const u32* ids, float* x) {
    if (c->done) return;
    int t = blockIdx.y;
    const float* row = table + (long long)ids[t] * HIDDEN;
    for (int i = threadIdx.x; i < HIDDEN; i += blockDim.x) x[(long long)t * HIDDEN + i] = row[i];
}
