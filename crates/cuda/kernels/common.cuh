// Shared by all kernels; put in front of each file before it is compiled. Shapes come as #defines.
typedef unsigned int u32;
typedef unsigned long long u64;
#define INFINITY_F __int_as_float(0x7f800000)

// What steps tell each other on the device, so that the host need not be asked between tokens.
struct Control {
    int position;  // of the first token of this step
    int done;      // a stop token was sampled: later steps write nothing
    u32 token;     // the one sampled last
    u32 unused;
    u64 draws;     // counter of the next random number
};

// Sum over a warp, in a fixed order; every lane gets it.
static __device__ __forceinline__ float warp_sum(float v) {
    for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
    return v;
}

// Sum over a block of at most 1024 threads (a multiple of 32), in a fixed order; every thread gets it.
static __device__ __forceinline__ float block_sum(float v) {
    __shared__ float part[32];
    v = warp_sum(v);
    __syncthreads();
    if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = v;
    __syncthreads();
    float s = 0.0f;
    for (int i = 0; i < (int)(blockDim.x >> 5); i++) s += part[i];
    return s;
}

// y[r] (+)= dot(x, w[r]) for C inputs: one warp a row, eight rows a block of 256, one token a grid row.
template <int R, int C, bool ADD>
static __device__ __forceinline__ void linear(const float* w, const float* x, float* y) {
    int r = blockIdx.x * 8 + (threadIdx.x >> 5), lane = threadIdx.x & 31, t = blockIdx.y;
    if (r >= R) return;
    const float* a = x + (long long)t * C;
    const float* b = w + (long long)r * C;
    float s = 0.0f;
    for (int i = lane; i < C; i += 32) s += a[i] * b[i];
    s = warp_sum(s);
    if (lane == 0) {
        float* o = y + (long long)t * R + r;
        *o = ADD ? *o + s : s;
    }
}
