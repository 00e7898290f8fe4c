// Formula:  q, k := rope(rms(q) ⊙ w, position);  page[position] := k, v.
// Shapes:   q [T, HEADS·HEAD_DIM] in place; k, v [T, KV_HEADS·HEAD_DIM];
//           cache [pages, ATTENTIONS, 2, PAGE, KV_HEADS·HEAD_DIM], reached through the page table.
// Bytes:    8 · T · (HEADS + 2·KV_HEADS) · HEAD_DIM.
// Geometry: grid (HEADS + KV_HEADS, T), block 32. Angles in double precision, as the reference has them.

#define KV_WIDTH (KV_HEADS * HEAD_DIM)

static __device__ __forceinline__ long long cache_row(const u32* pages, int layer, int which, int p) {
    return ((((long long)pages[p / PAGE] * ATTENTIONS + layer) * 2 + which) * PAGE + p % PAGE) * KV_WIDTH;
}

extern "C" __global__ void rotate(const Control* c, float* q, const float* k, const float* v, const float* q_norm,
                                  const float* k_norm, float* cache, const u32* pages, int layer) {
    if (c->done) return;
    int head = blockIdx.x, t = blockIdx.y, p = c->position + t;
    bool is_q = head < HEADS;
    int kv = head - HEADS;
    const float* from = is_q ? q + ((long long)t * HEADS + head) * HEAD_DIM : k + ((long long)t * KV_HEADS + kv) * HEAD_DIM;
    float* to = is_q ? q + ((long long)t * HEADS + head) * HEAD_DIM : cache + cache_row(pages, layer, 0, p) + kv * HEAD_DIM;
    const float* w = is_q ? q_norm : k_norm;
    float s = 0.0f;
    for (int i = threadIdx.x; i < HEAD_DIM; i += 32) s += from[i] * from[i];
    float inv = 1.0f / sqrtf(warp_sum(s) / (float)HEAD_DIM + EPS);
    for (int i = threadIdx.x; i < HEAD_DIM / 2; i += 32) {
        float a = w[i] * (from[i] * inv), b = w[i + HEAD_DIM / 2] * (from[i + HEAD_DIM / 2] * inv);
        double angle = (double)p * pow((double)ROPE_THETA, -2.0 * i / HEAD_DIM), sn, cs;
        sincos(angle, &sn, &cs);
        to[i] = a * (float)cs - b * (float)sn;
        to[i + HEAD_DIM / 2] = b * (float)cs + a * (float)sn;
    }
    if (!is_q) {
        const float* value = v + ((long long)t * KV_HEADS + kv) * HEAD_DIM;
        float* out = cache + cache_row(pages, layer, 1, p) + kv * HEAD_DIM;
        for (int i = threadIdx.x; i < HEAD_DIM; i += 32) out[i] = value[i];
    }
}

// Formula:  y[t, head] = Σ_p softmax_p(q · k_p / √HEAD_DIM) · v_p  over p ≤ position + t.
// Shapes:   q, y [T, HEADS·HEAD_DIM]; cache as above; scores [T, HEADS, CONTEXT] is scratch.
// Bytes:    per token and query head 8 · (position + t) · HEAD_DIM.
// Geometry: grid (HEADS, T), block 128. Positions are dealt to threads by p mod 128, so bits depend on
//           neither T nor how the calls were cut.
extern "C" __global__ void attend(const Control* c, const float* q, const float* cache, const u32* pages,
                                  float* scores, float* y, int layer) {
    if (c->done) return;
    int head = blockIdx.x, t = blockIdx.y, visible = c->position + t + 1, kv = head / (HEADS / KV_HEADS);
    __shared__ float query[HEAD_DIM];
    __shared__ float best[128];
    for (int i = threadIdx.x; i < HEAD_DIM; i += blockDim.x) query[i] = q[((long long)t * HEADS + head) * HEAD_DIM + i];
    __syncthreads();
    float* s = scores + ((long long)t * HEADS + head) * CONTEXT;
    float scale = 1.0f / sqrtf((float)HEAD_DIM), top = -INFINITY_F;
    for (int p = threadIdx.x; p < visible; p += blockDim.x) {
        const float* key = cache + cache_row(pages, layer, 0, p) + kv * HEAD_DIM;
        float d = 0.0f;
        for (int i = 0; i < HEAD_DIM; i++) d += query[i] * key[i];
        s[p] = d * scale;
        top = fmaxf(top, s[p]);
    }
    best[threadIdx.x] = top;
    __syncthreads();
    for (int i = 0; i < (int)blockDim.x; i++) top = fmaxf(top, best[i]);
    float sum = 0.0f;
    for (int p = threadIdx.x; p < visible; p += blockDim.x) {
        s[p] = expf(s[p] - top);
        sum += s[p];
    }
    sum = block_sum(sum);
    __syncthreads();
    for (int i = threadIdx.x; i < HEAD_DIM; i += blockDim.x) {
        float o = 0.0f;
        for (int p = 0; p < visible; p++) o += s[p] * cache[cache_row(pages, layer, 1, p) + kv * HEAD_DIM + i];
        y[((long long)t * HEADS + head) * HEAD_DIM + i] = o / sum;
    }
}
