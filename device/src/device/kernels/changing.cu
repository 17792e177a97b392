// Changes of pictures that a recipe drew, part 3: erasing, and the entry that changes pictures. mixing.cu follows in the
// same text.

namespace changes {

// ---------------------------------------------------------------- erasing

// The scale of what is written, which decides about noise.
enum Scale { SCALE_NORMALIZED = 0, SCALE_ONE = 1, SCALE_BYTE = 2 };

// An erased rectangle: top, left, height, width, whether it has noise, the key, the scale, one number for each channel,
// the width before the picture cut it.
struct Rectangle {
    const Bits32 *words;

    __device__ __forceinline__ bool has(Bits32 x, Bits32 y) const
    {
        return y - words[0] < words[2] && x - words[1] < words[3];
    }

    // The number in a channel of a pixel of `channels`. Noise is drawn for the rectangle before the picture cut it.
    __device__ __forceinline__ float value(Bits32 x, Bits32 y, Bits32 channel, Bits32 channels) const
    {
        if (!words[4]) return number(words[8 + channel]);
        Bits32 at = (y - words[0]) * words[11] * channels + (x - words[1]) * channels + channel;
        float noise = normal(words + 5, at);
        if (words[7] == SCALE_ONE) return add(mul(noise, 0.25f), 0.5f);
        if (words[7] == SCALE_BYTE) return add(mul(noise, 63.75f), 127.5f);
        return noise;
    }
};

template <int CHANNELS>
__device__ __forceinline__ void erase(const Picture &of, const Bits32 *words)
{
    Rectangle rectangle = {words};
    for (Bits32 n = threadIdx.x; n < of.pixels; n += blockDim.x) {
        Bits32 x = n % of.width, y = n / of.width;
        if (!rectangle.has(x, y)) continue;
#pragma unroll
        for (int channel = 0; channel < CHANNELS; channel++) {
            float value = rectangle.value(x, y, channel, CHANNELS);
            of.now[(Count)n * CHANNELS + channel] = (Byte)nearest(smaller(larger(value, 0.0f), 255.0f));
        }
    }
}

// ---------------------------------------------------------------- one picture

// A record of a list: nothing if it does not fit.
struct Record {
    Bits32 change, length;
    const Bits32 *words; // behind the first two

    __device__ __forceinline__ Record(const Bits32 *list, Bits32 at) : change(0), length(0), words(list)
    {
        if (at < LIST_HEAD || at > LIST_WORDS - 2u || list[at + 1] < 2u || list[at + 1] > LIST_WORDS - at) return;
        change = list[at];
        length = list[at + 1];
        words = list + at + 2;
    }

    // Whether it has so many words behind the first two.
    __device__ __forceinline__ bool has(Bits32 count) const { return length >= count + 2u; }
};

__device__ __forceinline__ bool is_blur(const Record &record)
{
    if (!record.has(2)) return false;
    Bits32 across = record.words[0], down = record.words[1];
    return across <= MOST_RADIUS && down <= MOST_RADIUS && record.has(4u + across + down);
}

// Applies an action. Returns whether the picture is in `next` then.
template <int CHANNELS>
__device__ __forceinline__ bool apply(const Picture &of, const Record &record, Shared &shared)
{
    const Bits32 *words = record.words;
    Bits32 change = record.change;
    if (change == CHANGE_TABLE && record.has(64)) table<CHANNELS>(of, words, shared);
    else if (change == CHANGE_CONTRAST && record.has(2))
        contrast<CHANNELS>(of, number(words[0]), number(words[1]), shared);
    else if (change == CHANGE_AUTOCONTRAST || change == CHANGE_EQUALIZE)
        by_histogram<CHANNELS>(of, change == CHANGE_EQUALIZE, shared);
    else if (change >= CHANGE_SATURATION && change <= CHANGE_PERMUTE && record.has(3)) {
        if (CHANNELS == 3) recolor(of, change, words); // gray pictures have no colors
    } else if (change == CHANGE_FLIP) flip<CHANNELS>(of, true, false);
    else if (change == CHANGE_UPEND) flip<CHANNELS>(of, false, true);
    else if (change == CHANGE_QUARTER && record.has(1) && words[0] == 2) flip<CHANNELS>(of, true, true);
    else if (change == CHANGE_QUARTER && record.has(1) && of.width == of.height) {
        quarter<CHANNELS>(of, words[0]);
        return true;
    } else if (change == CHANGE_SHARPNESS && record.has(1)) {
        sharpen<CHANNELS>(of, number(words[0]));
        return true;
    } else if ((change == CHANGE_AFFINE || change == CHANGE_PERSPECTIVE) && record.has(12)) {
        warp<CHANNELS>(of, change == CHANGE_PERSPECTIVE, words);
        return true;
    } else if (change == CHANGE_BLUR && is_blur(record)) {
        blur<CHANNELS>(of, words, shared);
        return true;
    } else if (change == CHANGE_NOISE && record.has(5)) add_noise(of, of.pixels * CHANNELS, words);
    else if (change == CHANGE_ERASE && record.has(12)) erase<CHANNELS>(of, words);
    return false;
}

// Applies a list to a picture, whose result is in `out`. All threads of the block take the same way.
template <int CHANNELS>
__device__ __forceinline__ void change_picture(const Bits32 *list, Picture of, Byte *out, Shared &shared)
{
    Bits32 at = LIST_HEAD;
    for (Bits32 n = 0; n < list[HEAD_PIXELS]; n++) {
        Record record(list, at);
        if (record.length == 0) break;
        bool moved = apply<CHANNELS>(of, record, shared);
        __syncthreads(); // the next action reads what any thread has written
        if (moved) {
            Byte *was = of.now;
            of.now = of.next;
            of.next = was;
        }
        at += record.length;
    }
    if (of.now == out) return;
    for (Count n = threadIdx.x; n < (Count)of.pixels * CHANNELS; n += blockDim.x) out[n] = of.now[n];
}

} // namespace changes

// ---------------------------------------------------------------- the entry

// Applies to each picture its list of actions, one block for one picture at a time. lists: u32 [LIST_WORDS] for each
// row; pictures: u8 [height, width, channels] for each row, which are overwritten; out: the same, the results.
// Strides are in bytes. Lists are aligned to four bytes.
extern "C" __global__ void tarflume_change(const Byte *lists, Count list_stride, Byte *pictures, Count picture_stride,
                                           Byte *out, Count out_stride, Count rows, Bits32 height, Bits32 width,
                                           Bits32 channels)
{
    __shared__ changes::Shared shared;
    for (Count row = (Count)blockIdx.y * gridDim.x + blockIdx.x; row < rows; row += (Count)gridDim.x * gridDim.y) {
        const Bits32 *list = (const Bits32 *)(lists + row * list_stride);
        Byte *result = out + row * out_stride;
        changes::Picture of = {pictures + row * picture_stride, result, height, width, height * width};
        if (channels == 1) changes::change_picture<1>(list, of, result, shared);
        else if (channels == 3) changes::change_picture<3>(list, of, result, shared);
        __syncthreads(); // the next picture uses the same shared memory
    }
}
