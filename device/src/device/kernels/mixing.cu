// What is done with changed pictures: conversion, values that are erased after it, and the mix of two rows.

namespace changes {

// ---------------------------------------------------------------- finished rows

// The changed pictures of a batch, and their lists.
struct Changed {
    const Byte *lists, *pictures;
    Count list_stride, picture_stride, rows;
    Bits32 height, width;

    __device__ __forceinline__ const Bits32 *list(Count row) const
    {
        return (const Bits32 *)(lists + row * list_stride);
    }
};

__device__ __forceinline__ float from_half(Bits32 half)
{
    Bits32 magnitude = (half & 0x7fffu) << 13;
    // 2^112 moves the exponent from one bias to the other, and makes subnormal numbers normal.
    float finite = mul(number(magnitude), number((127u + 112u) << 23)), special = number(magnitude | 0x7f800000u);
    float value = (half & 0x7c00u) == 0x7c00u ? special : finite;
    return number(__float_as_uint(value) | (half & 0x8000u) << 16);
}

// The number nearest to `value` of the element type.
__device__ __forceinline__ float rounded(Bits32 element, float value)
{
    if (element == ELEMENT_F16) return from_half(half_of(value));
    if (element == ELEMENT_BF16) return number((Bits32)bfloat_of(value) << 16);
    return value;
}

// The number of a channel of a pixel of a row before it is mixed.
template <int CHANNELS>
__device__ __forceinline__ float value_of(const Changed &from, const Output &out, Count row, Bits32 pixel, Bits32 channel)
{
    float value = (float)from.pictures[row * from.picture_stride + (Count)pixel * CHANNELS + channel];
    if (out.element == ELEMENT_U8) return value;
    value = add(mul(value, out.scale[channel]), out.shift[channel]);
    const Bits32 *list = from.list(row);
    Bits32 at = list[HEAD_AT];
    for (Bits32 n = 0; n < list[HEAD_VALUES]; n++) {
        Record record(list, at);
        if (record.length == 0) break;
        Rectangle rectangle = {record.words};
        Bits32 x = pixel % from.width, y = pixel / from.width;
        if (record.has(12) && rectangle.has(x, y)) value = rectangle.value(x, y, channel, CHANNELS);
        at += record.length;
    }
    return rounded(out.element, value);
}

template <int CHANNELS>
__device__ __forceinline__ void deliver(const Changed &from, const Output &out)
{
    Bits32 pixels = from.height * from.width;
    for (Count row = blockIdx.y; row < from.rows; row += gridDim.y) {
        const Bits32 *list = from.list(row);
        const Bits32 *region = list + HEAD_REGION;
        Count partner = list[HEAD_PARTNER];
        Bits32 mix = partner < from.rows ? list[HEAD_MIX] : (Bits32)MIX_ALONE;
        for (Count n = (Count)blockIdx.x * blockDim.x + threadIdx.x; n < pixels; n += (Count)gridDim.x * blockDim.x) {
            Bits32 pixel = (Bits32)n, x = pixel % from.width, y = pixel / from.width;
            bool pasted = mix == MIX_PASTE && y >= region[0] && x >= region[1] && y < region[2] && x < region[3];
#pragma unroll
            for (int channel = 0; channel < CHANNELS; channel++) {
                float value = value_of<CHANNELS>(from, out, pasted ? partner : row, pixel, channel);
                if (mix == MIX_BLEND) {
                    float other = value_of<CHANNELS>(from, out, partner, pixel, channel);
                    value = add(mul(value, number(list[HEAD_OWN])), mul(other, number(list[HEAD_OTHER])));
                    // Bytes are rounded to the nearest, ties to even.
                    if (out.element == ELEMENT_U8) value = (float)(Byte)__float_as_uint(add(value, 8388608.0f));
                }
                write<CHANNELS>(out, row, pixel, channel, value);
            }
        }
    }
}

} // namespace changes

// ---------------------------------------------------------------- the entry

// Finishes changed pictures as tarflume_finish does, erases values, and mixes each row with its partner, as the lists say.
extern "C" __global__ void tarflume_deliver(const Byte *lists, Count list_stride, const Byte *pictures,
                                            Count picture_stride, void *out, Count rows, Bits32 height, Bits32 width,
                                            Bits32 channels, Bits32 layout, Bits32 element, float scale_0,
                                            float scale_1, float scale_2, float scale_3, float shift_0, float shift_1,
                                            float shift_2, float shift_3)
{
    Output to = output(out, (Count)height * width, layout, element, scale_0, scale_1, scale_2, scale_3, shift_0,
                       shift_1, shift_2, shift_3);
    changes::Changed from = {lists, pictures, list_stride, picture_stride, rows, height, width};
    if (channels == 1) changes::deliver<1>(from, to);
    else if (channels == 3) changes::deliver<3>(from, to);
}
