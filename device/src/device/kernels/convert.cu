// What the device does to a batch after its copy: conversion, layout, normalization, mirroring, gathering of rows.
// The other files follow in the same text, as kernels/args.rs lists them.
//
// Compiled at run time (NVRTC) without includes, and as C++ by the tests, so it uses only what a shim of forty
// lines can provide. picture/convert.rs and kernels/args.rs are the host's half and define every constant.
//
// All entries accept any grid: threads stride over pixels along x and over rows along y, and blocks are one
// thread high. Byte counts have 64 bits, because a batch may be larger than 4 GiB. One picture has fewer than
// 2^31 pixels, which the host checks.

typedef unsigned char Byte;
typedef unsigned short Bits16;
typedef unsigned int Bits32;
typedef unsigned long long Count;

// kernels/args.rs has the same constants.
enum Layout { LAYOUT_HWC = 0, LAYOUT_CHW = 1 };
enum Element { ELEMENT_U8 = 0, ELEMENT_F16 = 1, ELEMENT_BF16 = 2, ELEMENT_F32 = 3 };

// ---------------------------------------------------------------- 16-bit numbers, rounded to nearest even

// The bits of the half-precision number nearest to a single-precision one.
__device__ __forceinline__ Bits16 half_from_bits(Bits32 bits)
{
    Bits32 sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
    if (size > 0x7f800000u) return (Bits16)(sign | 0x7e00u | (size >> 13 & 0x3ffu)); // not a number
    if (size >= 0x47800000u) return (Bits16)(sign | 0x7c00u);                        // from 65536 on: infinite
    if (size < 0x33000000u) return (Bits16)sign;                                     // below 2^-25: zero
    Bits32 kept, lost, middle;
    if (size < 0x38800000u) { // below 2^-14 there is no leading one: units of 2^-24
        Bits32 digits = (size & 0x7fffffu) | 0x800000u, shift = 126u - (size >> 23);
        kept = digits >> shift;
        lost = digits & ((1u << shift) - 1u);
        middle = 1u << (shift - 1u);
    } else {
        kept = (size - 0x38000000u) >> 13;
        lost = size & 0x1fffu;
        middle = 0x1000u;
    }
    // A carry propagates into the exponent, and from the largest number to infinity, as IEEE rounding requires.
    return (Bits16)(sign | (kept + (lost > middle || (lost == middle && (kept & 1u)))));
}

// The bits of the bfloat16 nearest to a single-precision number.
__device__ __forceinline__ Bits16 bfloat_from_bits(Bits32 bits)
{
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (Bits16)(bits >> 16 | 0x40u); // not a number
    return (Bits16)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

__device__ __forceinline__ Bits16 half_of(float value)
{
#ifdef __CUDA_ARCH__
    Bits16 bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
#else
    return half_from_bits(__float_as_uint(value));
#endif
}

__device__ __forceinline__ Bits16 bfloat_of(float value)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    Bits16 bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
#else
    return bfloat_from_bits(__float_as_uint(value));
#endif
}

// The nearest byte; halves round up.
__device__ __forceinline__ Byte byte_of(float value)
{
    return (Byte)fminf(fmaxf(value + 0.5f, 0.0f), 255.0f);
}

// ---------------------------------------------------------------- one output pixel

// The output of all entries that write pixels.
struct Output {
    void *to;
    Count plane_pixels; // of one picture
    Bits32 layout;
    Bits32 element;
    float scale[4];
    float shift[4];
};

// Writes a number of one channel of a pixel of a row: as the nearest one of the output's type.
template <int CHANNELS>
__device__ __forceinline__ void write(const Output &out, Count row, Count pixel, int channel, float number)
{
    Count at = out.layout == LAYOUT_CHW ? (row * CHANNELS + channel) * out.plane_pixels + pixel
                                        : (row * out.plane_pixels + pixel) * CHANNELS + channel;
    if (out.element == ELEMENT_U8) ((Byte *)out.to)[at] = byte_of(number);
    else if (out.element == ELEMENT_F32) ((float *)out.to)[at] = number;
    else if (out.element == ELEMENT_F16) ((Bits16 *)out.to)[at] = half_of(number);
    else ((Bits16 *)out.to)[at] = bfloat_of(number);
}

// Writes the channels of one pixel of a row. Values are in the range 0 to 255.
// Every loop over channels is unrolled, so that scale and shift stay in registers.
template <int CHANNELS>
__device__ __forceinline__ void put(const Output &out, Count row, Count pixel, const float *values)
{
#pragma unroll
    for (int channel = 0; channel < CHANNELS; channel++) {
        float number = values[channel];
        // Multiply and add are rounded separately: a fused operation would differ from the host in the last bit.
        if (out.element != ELEMENT_U8)
            number = __fadd_rn(__fmul_rn(number, out.scale[channel]), out.shift[channel]);
        write<CHANNELS>(out, row, pixel, channel, number);
    }
}

// ---------------------------------------------------------------- conversion at the same size

template <int CHANNELS>
__device__ __forceinline__ void finish(const Byte *pictures, const Output &out, const Byte *flips, Count rows,
                                       Bits32 height, Bits32 width)
{
    Bits32 pixels = height * width;
    for (Count row = blockIdx.y; row < rows; row += gridDim.y) {
        bool flip = flips && flips[row];
        const Byte *picture = pictures + row * pixels * CHANNELS;
        for (Count n = (Count)blockIdx.x * blockDim.x + threadIdx.x; n < pixels; n += (Count)gridDim.x * blockDim.x) {
            Bits32 pixel = (Bits32)n, x = pixel % width;
            // Mirrors the read, not the write, so that neighboring threads write neighboring addresses.
            Bits32 source = flip ? pixel - x + (width - 1u - x) : pixel;
            float values[CHANNELS];
#pragma unroll
            for (int channel = 0; channel < CHANNELS; channel++)
                values[channel] = (float)picture[(Count)source * CHANNELS + channel];
            put<CHANNELS>(out, row, pixel, values);
        }
    }
}

// ---------------------------------------------------------------- rows of a resident store

struct alignas(16) Sixteen {
    Count low, high;
};

template <typename Unit>
__device__ __forceinline__ void gather(const Byte *slab, Byte *out, const Count *numbers, Count rows, Count row_bytes,
                                       Count slab_rows)
{
    Count units = row_bytes / sizeof(Unit);
    for (Count row = blockIdx.y; row < rows; row += gridDim.y) {
        Count number = numbers[row];
        bool there = number < slab_rows; // the host has checked; this bounds the read in any case
        const Unit *from = (const Unit *)(slab + (there ? number : 0) * row_bytes);
        Unit *to = (Unit *)(out + row * row_bytes);
        for (Count n = (Count)blockIdx.x * blockDim.x + threadIdx.x; n < units; n += (Count)gridDim.x * blockDim.x)
            to[n] = there ? from[n] : Unit();
    }
}

// ---------------------------------------------------------------- the entries

__device__ __forceinline__ Output output(void *to, Count plane_pixels, Bits32 layout, Bits32 element, float scale_0,
                                         float scale_1, float scale_2, float scale_3, float shift_0, float shift_1,
                                         float shift_2, float shift_3)
{
    Output out = {to, plane_pixels, layout, element, {scale_0, scale_1, scale_2, scale_3},
                  {shift_0, shift_1, shift_2, shift_3}};
    return out;
}

// pictures: u8 [rows, height, width, channels]; flips: u8 [rows], 0 or not, or null;
// out: [rows, height, width, channels] or [rows, channels, height, width] of the element.
extern "C" __global__ void tarflume_finish(const Byte *pictures, void *out, const Byte *flips, Count rows,
                                           Bits32 height, Bits32 width, Bits32 channels, Bits32 layout, Bits32 element,
                                           float scale_0, float scale_1, float scale_2, float scale_3, float shift_0,
                                           float shift_1, float shift_2, float shift_3)
{
    Output to = output(out, (Count)height * width, layout, element, scale_0, scale_1, scale_2, scale_3, shift_0,
                       shift_1, shift_2, shift_3);
    if (channels == 1) finish<1>(pictures, to, flips, rows, height, width);
    else if (channels == 3) finish<3>(pictures, to, flips, rows, height, width);
    else if (channels == 4) finish<4>(pictures, to, flips, rows, height, width);
}

// slab: u8 [slab_rows, row_bytes]; numbers: u64 [rows]; out: u8 [rows, row_bytes].
// A number without a row in the slab gives zeros.
extern "C" __global__ void tarflume_gather(const Byte *slab, Byte *out, const Count *numbers, Count rows,
                                           Count row_bytes, Count slab_rows)
{
    Count together = (Count)slab | (Count)out | row_bytes; // the alignment that all rows have in common
    if (together % 16 == 0) gather<Sixteen>(slab, out, numbers, rows, row_bytes, slab_rows);
    else if (together % 4 == 0) gather<Bits32>(slab, out, numbers, rows, row_bytes, slab_rows);
    else gather<Byte>(slab, out, numbers, rows, row_bytes, slab_rows);
}
