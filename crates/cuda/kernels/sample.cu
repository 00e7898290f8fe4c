// Formula:  engine::sampler on the device, step for step: mask, penalties, bias; greedy (largest logit,
//           lowest id among equals), or temperature → min-p → (sort → top-k → top-p, if asked for) → one draw from
//           Philox4x32-10(seed, draws). Same logits and seed, same token (exp differs by at most one unit
//           in the last place of a double).
// Shapes:   logits [VOCAB] (unchanged); work [VOCAB], p [SORT], id [SORT] are scratch, SORT the power of
//           two not below VOCAB; counts [VOCAB]: bit 31 for "in the prompt or generated", the rest how often
//           generated; mask [⌈VOCAB/32⌉]; out [1].
// Bytes:    greedy 12 · VOCAB; a draw 12 · SORT · log²(SORT) / 2 from cache: naive.
// Geometry: one block of 1024 threads.
//
// `out` gets the token; `token | STOP` when it is a stop token, which also sets `done`; NONE when `done`.

#define STOP 0x80000000u
#define NONE 0xffffffffu

static __device__ double uniform(u64 seed, u64 index) {
    u32 k0 = (u32)seed, k1 = (u32)(seed >> 32), x0 = (u32)index, x1 = (u32)(index >> 32), x2 = 0, x3 = 0;
    for (int i = 0; i < 10; i++) {
        u64 a = 0xD2511F53ull * x0, b = 0xCD9E8D57ull * x2;
        u32 y0 = (u32)(b >> 32) ^ x1 ^ k0, y2 = (u32)(a >> 32) ^ x3 ^ k1;
        x1 = (u32)b;
        x3 = (u32)a;
        x0 = y0;
        x2 = y2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return (double)((((u64)x0 << 32) | x1) >> 11) / 9007199254740992.0;
}

static __device__ bool before(double p, u32 i, double q, u32 j) { return p > q || (p == q && i < j); }

static __device__ void sort(double* p, u32* id) {
    for (int size = 2; size <= SORT; size <<= 1)
        for (int gap = size >> 1; gap > 0; gap >>= 1) {
            for (int i = threadIdx.x; i < SORT; i += blockDim.x) {
                int j = i ^ gap;
                if (j <= i) continue;
                bool forward = (i & size) == 0;
                if (before(p[j], id[j], p[i], id[i]) == forward) {
                    double q = p[i];
                    p[i] = p[j];
                    p[j] = q;
                    u32 k = id[i];
                    id[i] = id[j];
                    id[j] = k;
                }
            }
            __syncthreads();
        }
}

// Candidates have p >= 0. Sorted, they come first; unsorted they lie anywhere, in the order of their ids.
static __device__ u32 draw(const double* p, const u32* id, int top_k, float top_p, double u, u32 fallback) {
    int end = SORT, last = -1;
    double total = 0.0;
    for (int i = 0, n = 0; i < SORT; i++) {
        if (p[i] < 0.0) continue;
        if (top_k > 0 && n == top_k) {
            end = i;
            break;
        }
        total += p[i];
        n++;
    }
    if (top_p < 1.0f) {
        double sum = 0.0, limit = (double)top_p * total;
        for (int i = 0; i < end && p[i] >= 0.0; i++) {
            sum += p[i];
            if (sum >= limit) end = i + 1;
        }
        total = 0.0;
        for (int i = 0; i < end && p[i] >= 0.0; i++) total += p[i];
    }
    u *= total;
    for (int i = 0; i < end; i++) {
        if (p[i] < 0.0) continue;
        last = i;
        u -= p[i];
        if (u < 0.0) return id[i];
    }
    return last >= 0 ? id[last] : fallback;
}

extern "C" __global__ void sample(Control* c, const float* logits, float* work, double* p, u32* id, u32* out,
                                  const u32* stops, int stop_count, const u32* mask, u32* counts,
                                  const u32* biased, const float* bias, int bias_count, float repetition,
                                  float presence, float frequency, float temperature, float cut, int top_k,
                                  float top_p, u64 seed) {
    int me = threadIdx.x;
    if (c->done) {
        if (me == 0) *out = NONE;
        return;
    }
    for (int i = me; i < VOCAB; i += blockDim.x) {
        float l = logits[i];
        if (mask && !(mask[i / 32] >> (i % 32) & 1)) l = -INFINITY_F;
        u32 n = counts ? counts[i] : 0;
        if (n) {
            if (repetition != 1.0f) l = l > 0.0f ? l / repetition : l * repetition;
            n &= ~STOP;
            if (n) l = __fsub_rn(l, __fadd_rn(presence, __fmul_rn(frequency, (float)n)));
        }
        work[i] = l;
    }
    __syncthreads();
    if (me == 0)
        for (int i = 0; i < bias_count; i++) work[biased[i]] += bias[i];
    __syncthreads();
    __shared__ float top[1024];
    __shared__ u32 which[1024];
    float best = -INFINITY_F;
    u32 at = 0;
    for (int i = me; i < VOCAB; i += blockDim.x)
        if (work[i] > best) {
            best = work[i];
            at = i;
        }
    top[me] = best;
    which[me] = at;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half >>= 1) {
        if (me < half) {
            float b = top[me + half];
            u32 w = which[me + half];
            if (b > top[me] || (b == top[me] && w < which[me])) {
                top[me] = b;
                which[me] = w;
            }
        }
        __syncthreads();
    }
    best = top[0];
    u32 token = which[0];
    if (temperature > 0.0f && best > -INFINITY_F && best < INFINITY_F) {
        float floor = __fadd_rn(best, cut);
        __shared__ int candidates;
        if (me == 0) candidates = 0;
        __syncthreads();
        for (int i = me; i < SORT; i += blockDim.x) {
            bool in = i < VOCAB && work[i] >= floor;
            p[i] = in ? exp((double)(__fsub_rn(work[i], best) / temperature)) : -1.0;
            id[i] = i;
            if (in) atomicAdd(&candidates, 1);
        }
        __syncthreads();
        // As on the host: only a truncation sorts.
        if ((top_k > 0 && top_k < candidates) || top_p < 1.0f) sort(p, id);
        if (me == 0) token = draw(p, id, top_k, top_p, uniform(seed, c->draws), token);
    }
    if (me == 0) {
        bool stop = false;
        for (int i = 0; i < stop_count; i++) stop |= stops[i] == token;
        c->token = token;
        if (stop) {
            c->done = 1;
            *out = token | STOP;
        } else {
            c->draws += 1;
            if (counts) counts[token] = (counts[token] | STOP) + 1;
            *out = token;
        }
    }
}
