// Kernels for test_ptx_blocks.py: right ones, and ones with a planted fault.
typedef unsigned int u32;
typedef unsigned long long u64;
#define KERNEL extern "C" __global__ void
#define ALL 0xffffffffu

// What a reduction in shared memory needs, in the order that it needs it.
KERNEL reversed(const u32 *in, u32 *out, u32 rounds)
{
    __shared__ u32 tile[256];
    u32 t = threadIdx.x, last = blockDim.x - 1, value = in[t];
    for (u32 n = 0; n < rounds; n++) {
        tile[t] = value + n;
        __syncthreads();
        value = tile[last - t];
        __syncthreads();
    }
    out[t] = value;
}
KERNEL without_the_first(const u32 *in, u32 *out, u32 rounds)
{
    __shared__ u32 tile[256];
    u32 t = threadIdx.x, last = blockDim.x - 1, value = in[t];
    tile[t] = value;
    value = tile[last - t];
    out[t] = value + rounds;
}
KERNEL without_the_second(const u32 *in, u32 *out, u32 rounds)
{
    __shared__ u32 tile[256];
    u32 t = threadIdx.x, last = blockDim.x - 1, value = in[t];
    for (u32 n = 0; n < rounds; n++) {
        tile[t] = value + n;
        __syncthreads();
        value = tile[last - t];
    }
    out[t] = value;
}
KERNEL past_the_end(const u32 *in, u32 *out, u32 by)
{
    __shared__ u32 tile[64];
    __shared__ u32 other[64];
    u32 t = threadIdx.x;
    other[t] = t;
    tile[t + by] = in[t];
    __syncthreads();
    out[t] = tile[63 - t] + other[63 - t];
}
KERNEL not_written(const u32 *in, u32 *out, u32 count)
{
    __shared__ u32 tile[64];
    u32 t = threadIdx.x;
    if (t < count) tile[t] = in[t];
    __syncthreads();
    out[t] = tile[63 - t];
}
KERNEL some_at_a_barrier(const u32 *in, u32 *out, u32 count)
{
    u32 t = threadIdx.x;
    if (t < count) __syncthreads();
    else __syncwarp();
    out[t] = in[t];
}
KERNEL in_different_warps(const u32 *in, u32 *out, u32 count)
{
    if (threadIdx.x >= 32 && in[0] > 0) asm volatile("bar.sync 1;");
    else asm volatile("bar.sync 0;");
    out[threadIdx.x] = count;
}
KERNEL named(const u32 *in, u32 *out, u32 rounds)
{
    __shared__ u32 tile[128];
    u32 t = threadIdx.x, half = t / 64, n = t % 64;
    tile[t] = in[t];
    if (half == 0) asm volatile("bar.sync 1, 64;" ::: "memory");
    else asm volatile("bar.sync 2, 64;" ::: "memory");
    out[t] = tile[half * 64 + 63 - n] + rounds;
}
KERNEL counted(const u32 *in, u32 *out, u32 limit)
{
    u32 t = threadIdx.x;
    bool is = in[t] < limit;
    out[t] = (u32)__syncthreads_count(is) | __syncthreads_or(is) << 16 | __syncthreads_and(is) << 17;
}
KERNEL shuffled(const u32 *in, u32 *out, u32 by)
{
    u32 t = threadIdx.x, value = in[t];
    out[t] = __shfl_sync(ALL, value, by + t);
    out[t + 32] = __shfl_sync(ALL, value, by, 8);
    out[t + 64] = __shfl_up_sync(ALL, value, by);
    out[t + 96] = __shfl_up_sync(ALL, value, by, 8);
    out[t + 128] = __shfl_down_sync(ALL, value, by);
    out[t + 160] = __shfl_down_sync(ALL, value, by, 8);
    out[t + 192] = __shfl_xor_sync(ALL, value, by);
    out[t + 224] = __shfl_xor_sync(ALL, value, by, 8);
}
KERNEL voted(const u32 *in, u32 *out, u32 limit)
{
    u32 t = threadIdx.x, value = in[t];
    u32 mask = t < 16 ? 0xffffu : 0xffff0000u;
    out[t] = __ballot_sync(ALL, value < limit);
    out[t + 32] = __any_sync(mask, value < limit) | __all_sync(mask, value < limit) << 1;
    out[t + 64] = __match_any_sync(ALL, value % 5);
    out[t + 96] = __reduce_add_sync(ALL, value);
    out[t + 128] = __reduce_min_sync(mask, value);
    out[t + 160] = (u32)__reduce_max_sync(ALL, (int)value);
    out[t + 192] = __reduce_xor_sync(ALL, value);
}
KERNEL from_who_left(const u32 *in, u32 *out, u32 count)
{
    u32 t = threadIdx.x;
    if (t >= count) return;
    out[t] = __shfl_down_sync(ALL, in[t], 1);
}
KERNEL without_me(const u32 *in, u32 *out, u32 mask)
{
    out[threadIdx.x] = __shfl_sync(mask, in[threadIdx.x], 0);
}
// Between the lanes of a warp its own barrier is enough, and nothing is too little.
KERNEL in_a_warp(const u32 *in, u32 *out, u32 with)
{
    __shared__ u32 tile[64];
    u32 t = threadIdx.x;
    tile[t] = in[t];
    if (with == 1) __syncwarp();
    if (with == 2) __syncthreads();
    if (with == 4) atomicAdd(out, __shfl_xor_sync(ALL, in[t], 1)); // which orders no memory
    out[t] = tile[t ^ 1];
    if (with == 3) out[t] = tile[t ^ 32];
}
KERNEL atomics(const u32 *in, u32 *out, u32 limit)
{
    __shared__ u32 bins[4];
    u32 t = threadIdx.x;
    if (t < 4) bins[t] = 0;
    __syncthreads();
    atomicAdd(&bins[in[t] & 3], 1u);
    atomicMax(out + 4, in[t]);
    atomicMin((int *)out + 5, (int)in[t]);
    atomicOr(out + 6, 1u << (t & 31));
    atomicAdd((u64 *)(out + 8), (u64)in[t] << 8);
    atomicInc(out + 10, limit);
    if (atomicCAS(out + 11, 0u, t + 1) == 0u) atomicExch(out + 12, t + 1);
    __syncthreads();
    if (t < 4) out[t] = bins[t];
}
extern __shared__ unsigned char dynamic[];
KERNEL of_any_size(const u32 *in, u32 *out, u32 bytes)
{
    u32 *words = (u32 *)dynamic;
    u32 t = threadIdx.x;
    words[t] = in[t];
    __syncthreads();
    out[t] = words[bytes / 4 - 1 - t];
}
__constant__ u32 table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__device__ u32 kept = 7;
KERNEL jumps(const u32 *in, u32 *out, u32 turn)
{
    u32 t = threadIdx.x, local[9], sum = 0;
#pragma unroll 1
    for (u32 n = 0; n < 9; n++) local[(n + turn) % 9] = n * t;
#pragma unroll 1
    for (u32 n = 0; n < 9; n++) sum = sum * 3 + local[n];
    asm volatile(
        "{\n.reg .u32 n;\nrem.u32 n, %1, 4;\n"
        "targets: .branchtargets $ZERO, $ONE, $TWO, $THREE;\n"
        "brx.idx n, targets;\n"
        "$ZERO: add.u32 %0, %0, 100; bra $BEHIND;\n"
        "$ONE: xor.b32 %0, %0, 21; bra $BEHIND;\n"
        "$TWO: mul.lo.u32 %0, %0, 3;\n"
        "$THREE: not.b32 %0, %0;\n"
        "$BEHIND: }\n" : "+r"(sum) : "r"(t));
    out[t] = sum + table[in[t] & 7] + kept;
}
KERNEL local_not_written(const u32 *in, u32 *out, u32 turn)
{
    u32 local[9];
#pragma unroll 1
    for (u32 n = 0; n < turn; n++) local[(n + in[0]) % 9] = n;
    out[threadIdx.x] = local[in[1] % 9];
}
// Functions that are called: a result and a parameter of several words, local memory of the caller and of its own,
// shared memory of its own, a barrier inside, one in another, and itself.
struct Several { u64 sum; u32 low; unsigned char last; };
__device__ __noinline__ Several several(Several from, const u32 *local, u32 count)
{
    u32 own[5];
#pragma unroll 1
    for (u32 n = 0; n < 5; n++) own[(n + count) % 5] = local[n] * n;
    Several made = {from.sum * 3, from.low ^ 5u, (unsigned char)(from.last + 1)};
#pragma unroll 1
    for (u32 n = 0; n < 5; n++) made.sum += (u64)own[n] << n;
    return made;
}
__device__ __noinline__ u32 neighbor(u32 value, u32 by)
{
    __shared__ u32 room[64];
    room[threadIdx.x] = value;
    __syncthreads();
    u32 found = room[(threadIdx.x + by) % 64];
    __syncthreads();
    return found;
}
__device__ __noinline__ u32 times(u32 n) { return n < 2 ? 1 : n * times(n - 1) + (n & 1); }
KERNEL calls(const u32 *in, u32 *out, u32 by)
{
    __shared__ u32 mine[64];
    u32 t = threadIdx.x, local[5];
    mine[t] = t;
#pragma unroll 1
    for (u32 n = 0; n < 5; n++) local[(n * by) % 5] = in[t] % (n + 2);
    Several first = {in[t], t, 250};
    Several second = several(several(first, local, by), local, 2);
    out[t] = (u32)second.sum + second.low + second.last + neighbor(in[t], by) + neighbor(mine[t], 1) + times(t % 7);
}
KERNEL deeper(const u32 *in, u32 *out, u32 by)
{
    out[threadIdx.x] = times(by + in[0]);
}
KERNEL anywhere(const u32 *in, u32 *out, u32 what)
{
    __shared__ u32 word;
    u32 t = threadIdx.x;
    word = 5;
    if (what == 1) out[t] = *(const u32 *)((const char *)in + 2);
    if (what == 2) out[t] = in[1000000];
    if (what == 3) out[-1] = 4;
    if (what == 4) asm volatile("ld.global.u32 %0, [%1];" : "=r"(out[t]) : "l"(&word));
    if (what == 5) *(u64 *)(out + 31) = 1;
    if (what == 6) out[t] = *(const u32 *)(u64)out[0];
    if (what == 7) __trap();
    if (what == 8) for (volatile u32 n = 0;; n++) {}
    if (what == 9) out[t] = 100 / out[0];
    if (what == 10) { const u32 *volatile any = &word; out[t] = *any; }
    if (what == 11) asm volatile("st.shared.u32 [%0], %1;" ::"r"(0), "r"(t));
}
KERNEL __launch_bounds__(64) of_few_threads(u32 *out) { out[threadIdx.x] = blockDim.x; }
