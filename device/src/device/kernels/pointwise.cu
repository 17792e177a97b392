// Changes of pictures that a recipe drew, part 1: lists of actions, tables, colors and noise. Pixels are bytes.
// geometry.cu, changing.cu and mixing.cu follow in the same text.
//
// The host draws all numbers and writes them as a list before the pixels of a row; transforms/src/recipe/device_list.rs is
// its half and defines every constant. A block changes one picture, action after action. All arithmetic on floats is
// written with intrinsics, so that nothing is fused that the host does not fuse: the bytes are those of the host.

namespace changes {

// Words of a list, with its head: what kind of mix, and how many records of each kind follow.
enum List { LIST_WORDS = 512, LIST_HEAD = 16 };
// Places in the head.
enum Head {
    HEAD_PIXELS = 0,  // records that change pixels
    HEAD_VALUES = 1,  // records that overwrite finished values; they follow
    HEAD_AT = 2,      // the word at which these begin
    HEAD_MIX = 3,     // MIX_ALONE, MIX_BLEND or MIX_PASTE
    HEAD_PARTNER = 4, // the row that it is mixed with
    HEAD_OWN = 5,     // its own weight
    HEAD_OTHER = 6,   // the weight of the partner
    HEAD_REGION = 7   // top, left, bottom, right
};
enum Mix { MIX_ALONE = 0, MIX_BLEND = 1, MIX_PASTE = 2 };
// The first word of a record; the second is the number of its words.
enum Change {
    CHANGE_TABLE = 1,
    CHANGE_CONTRAST = 2,
    CHANGE_SATURATION = 3,
    CHANGE_HUE = 4,
    CHANGE_GRAY = 5,
    CHANGE_PERMUTE = 6,
    CHANGE_AUTOCONTRAST = 7,
    CHANGE_EQUALIZE = 8,
    CHANGE_FLIP = 9,
    CHANGE_UPEND = 10,
    CHANGE_QUARTER = 11,
    CHANGE_SHARPNESS = 12,
    CHANGE_AFFINE = 13,
    CHANGE_PERSPECTIVE = 14,
    CHANGE_BLUR = 15,
    CHANGE_NOISE = 16,
    CHANGE_ERASE = 17
};

// Values of a blur that are kept between its two directions.
enum Sizes { LINE = 3072, MOST_RADIUS = 128 };

// What the threads of a block share.
struct Shared {
    Byte tables[3 * 256];
    Bits32 counts[3 * 256];
    Count sum;
    float line[LINE];
};

// One picture, with what changes it.
struct Picture {
    Byte *now;  // its pixels
    Byte *next; // room for as many
    Bits32 height, width, pixels;
};

// ---------------------------------------------------------------- arithmetic

__device__ __forceinline__ float mul(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ float add(float a, float b) { return __fadd_rn(a, b); }
__device__ __forceinline__ float sub(float a, float b) { return __fadd_rn(a, -b); }
__device__ __forceinline__ float number(Bits32 word) { return __uint_as_float(word); }

// In a sum with it, single precision has no digits below 1: its last bits are the nearest integer.
__device__ __forceinline__ float whole_at() { return 12582912.0f; }

__device__ __forceinline__ Bits32 nearest(float value) { return __float_as_uint(add(value, whole_at())); }

// The larger number, or the limit for what is no number.
__device__ __forceinline__ float larger(float value, float limit) { return value > limit ? value : limit; }
__device__ __forceinline__ float smaller(float value, float limit) { return value < limit ? value : limit; }

// The integer part from 0 to 255; 0 for what is no number.
__device__ __forceinline__ Bits32 cut(float value) { return (Bits32)(int)smaller(larger(value, 0.0f), 255.0f); }

// ---------------------------------------------------------------- tables

// Looks all bytes up in the shared table; with CHANNELS tables, each channel in its own.
template <int CHANNELS, bool EACH>
__device__ __forceinline__ void look_up(const Picture &of, const Shared &shared)
{
    for (Bits32 n = threadIdx.x; n < of.pixels; n += blockDim.x) {
        Byte *pixel = of.now + (Count)n * CHANNELS;
#pragma unroll
        for (int channel = 0; channel < CHANNELS; channel++)
            pixel[channel] = shared.tables[(EACH ? channel * 256 : 0) + pixel[channel]];
    }
}

template <int CHANNELS>
__device__ __forceinline__ void table(const Picture &of, const Bits32 *words, Shared &shared)
{
    for (Bits32 n = threadIdx.x; n < 256; n += blockDim.x) shared.tables[n] = (Byte)(words[n / 4] >> (n % 4 * 8));
    __syncthreads();
    look_up<CHANNELS, false>(of, shared);
}

// 0.2989 red + 0.587 green + 0.114 blue in units of 2^-22, rounded down.
__device__ __forceinline__ Bits32 gray_of(const Byte *pixel)
{
    return (1253678u * pixel[0] + 2462057u * pixel[1] + 478151u * pixel[2]) >> 22;
}

// A part `own` of a value and a part `rest` of another.
__device__ __forceinline__ Byte blended(float value, float own, float other, float rest)
{
    return (Byte)cut(__fmaf_rn(other, rest, mul(value, own)));
}

template <int CHANNELS>
__device__ __forceinline__ void contrast(const Picture &of, float own, float rest, Shared &shared)
{
    if (threadIdx.x == 0) shared.sum = 0;
    __syncthreads();
    Count part = 0;
    for (Bits32 n = threadIdx.x; n < of.pixels; n += blockDim.x) {
        const Byte *pixel = of.now + (Count)n * CHANNELS;
        part += CHANNELS == 3 ? gray_of(pixel) : pixel[0];
    }
    atomicAdd(&shared.sum, part);
    __syncthreads();
    float mean = __fdiv_rn((float)shared.sum, (float)of.pixels);
    for (Bits32 n = threadIdx.x; n < 256; n += blockDim.x) shared.tables[n] = blended((float)n, own, mean, rest);
    __syncthreads();
    look_up<CHANNELS, false>(of, shared);
}

// The table that stretches levels from `least` to `most`.
__device__ __forceinline__ void stretch(const Bits32 *counts, Byte *table)
{
    int least = 0, most = 255;
    while (least < 255 && counts[least] == 0) least++;
    while (most > 0 && counts[most] == 0) most--;
    float scale = mul((float)(most - least), 1.0f / 255.0f);
    for (int n = 0; n < 256; n++)
        table[n] = (Byte)(least >= most ? (Bits32)n : cut(__fdiv_rn(sub((float)n, (float)least), scale)));
}

// The table that makes levels equally frequent.
__device__ __forceinline__ void equalize(const Bits32 *counts, Bits32 pixels, Byte *table)
{
    int largest = 255;
    while (largest > 0 && counts[largest] == 0) largest--;
    Bits32 step = (pixels - counts[largest]) / 255u, below = step / 2u;
    for (int n = 0; n < 256; n++) {
        Bits32 level = step == 0 ? (Bits32)n : below / step;
        table[n] = (Byte)(level < 255u ? level : 255u);
        below += counts[n];
    }
}

template <int CHANNELS>
__device__ __forceinline__ void by_histogram(const Picture &of, bool equal, Shared &shared)
{
    for (Bits32 n = threadIdx.x; n < CHANNELS * 256; n += blockDim.x) shared.counts[n] = 0;
    __syncthreads();
    for (Bits32 n = threadIdx.x; n < of.pixels; n += blockDim.x) {
        const Byte *pixel = of.now + (Count)n * CHANNELS;
#pragma unroll
        for (int channel = 0; channel < CHANNELS; channel++) atomicAdd(&shared.counts[channel * 256 + pixel[channel]], 1u);
    }
    __syncthreads();
    for (Bits32 channel = threadIdx.x; channel < CHANNELS; channel += blockDim.x) {
        const Bits32 *counts = shared.counts + channel * 256;
        Byte *to = shared.tables + channel * 256;
        if (equal) equalize(counts, of.pixels, to);
        else stretch(counts, to);
    }
    __syncthreads();
    look_up<CHANNELS, true>(of, shared);
}

// ---------------------------------------------------------------- colors of a pixel

__device__ __forceinline__ void saturate(Byte *pixel, float own, float rest)
{
    float gray = (float)gray_of(pixel);
#pragma unroll
    for (int channel = 0; channel < 3; channel++) pixel[channel] = blended((float)pixel[channel], own, gray, rest);
}

__device__ __forceinline__ float distance(float most, float part, float range)
{
    return __fdiv_rn(sub(most, part), range);
}

// Adds `turn` to the hue; 1 is a whole turn. The steps are those of torchvision, each rounded.
__device__ __forceinline__ void turn_hue(Byte *pixel, float turn)
{
    float red = mul((float)pixel[0], 1.0f / 255.0f), green = mul((float)pixel[1], 1.0f / 255.0f);
    float blue = mul((float)pixel[2], 1.0f / 255.0f);
    float most = larger(larger(red, green), blue), least = smaller(smaller(red, green), blue);
    float range = sub(most, least);
    bool is_gray = range == 0.0f, is_red = most == red, is_green = most == green;
    float saturation = __fdiv_rn(range, is_gray ? 1.0f : most), by = is_gray ? 1.0f : range;
    float plus = is_red ? blue : is_green ? red : green, minus = is_red ? green : is_green ? blue : red;
    float offset = is_red ? 0.0f : is_green ? 2.0f : 4.0f;
    float sixths = sub(add(distance(most, plus, by), offset), distance(most, minus, by));
    float turns = add(mul(sixths, 1.0f / 6.0f), 1.0f);
    float hue = add(sub(turns, turns >= 1.0f ? 1.0f : 0.0f), turn);
    hue = hue >= 1.0f ? sub(hue, 1.0f) : hue;
    hue = hue < 0.0f ? add(hue, 1.0f) : hue;

    float places = mul(hue, 6.0f);
    Bits32 sector = cut(places);
    float part = mul(saturation, sub(places, (float)sector)), rest = sub(1.0f, saturation);
    Byte low = (Byte)cut(mul(mul(rest, most), 255.999f));
    Byte falling = (Byte)cut(mul(mul(sub(1.0f, part), most), 255.999f));
    Byte rising = (Byte)cut(mul(mul(add(part, rest), most), 255.999f));
    Byte value = (Byte)cut(mul(most, 255.999f));
    // A hue that rounding made a whole turn is in the first sector.
    pixel[0] = sector == 1 ? falling : sector == 2 || sector == 3 ? low : sector == 4 ? rising : value;
    pixel[1] = sector == 1 || sector == 2 ? value : sector == 3 ? falling : sector == 4 || sector == 5 ? low : rising;
    pixel[2] = sector == 2 ? rising : sector == 3 || sector == 4 ? value : sector == 5 ? falling : low;
}

__device__ __forceinline__ void permute(Byte *pixel, const Bits32 *from)
{
    Byte old[3] = {pixel[0], pixel[1], pixel[2]};
#pragma unroll
    for (int channel = 0; channel < 3; channel++)
        pixel[channel] = from[channel] == 0 ? old[0] : from[channel] == 1 ? old[1] : old[2];
}

// What changes each pixel of three channels alone.
__device__ __forceinline__ void recolor(const Picture &of, Bits32 change, const Bits32 *words)
{
    for (Bits32 n = threadIdx.x; n < of.pixels; n += blockDim.x) {
        Byte *pixel = of.now + (Count)n * 3;
        if (change == CHANGE_SATURATION) saturate(pixel, number(words[0]), number(words[1]));
        else if (change == CHANGE_HUE) turn_hue(pixel, number(words[0]));
        else if (change == CHANGE_PERMUTE) permute(pixel, words);
        else pixel[0] = pixel[1] = pixel[2] = (Byte)gray_of(pixel);
    }
}

// ---------------------------------------------------------------- noise

// C. Wellons' "lowbias32".
__device__ __forceinline__ Bits32 mixed(Bits32 bits)
{
    bits = (bits ^ (bits >> 16)) * 0x7feb352du;
    bits = (bits ^ (bits >> 15)) * 0x846ca68bu;
    return bits ^ (bits >> 16);
}

__device__ __forceinline__ float polynomial(const float *terms, float x)
{
    float sum = terms[0];
#pragma unroll
    for (int n = 1; n < 9; n++) sum = add(mul(sum, x), terms[n]);
    return sum;
}

// The natural logarithm of a normal number above 0.
__device__ __forceinline__ float logarithm(float x)
{
    const float terms[9] = {0.070376836f, -0.1151461f, 0.11676999f, -0.12420141f, 0.14249323f,
                            -0.16668058f, 0.20000715f, -0.24999994f, 0.3333333f};
    Bits32 shifted = __float_as_uint(x) - 0x3f3504f3u;
    float power = (float)((int)shifted >> 23);
    float part = sub(number((shifted & 0x007fffffu) + 0x3f3504f3u), 1.0f), square = mul(part, part);
    float tail = mul(mul(polynomial(terms, part), part), square);
    tail = sub(sub(tail, mul(power, 0.00021219444f)), mul(0.5f, square));
    return add(add(part, tail), mul(power, 0.6933594f));
}

// The inverse of the error function at 1 - `tail`, by the polynomials of M. Giles.
__device__ __forceinline__ float inverse_error(float tail)
{
    const float middle[9] = {2.8102264e-8f,  3.4327394e-7f,  -3.5233877e-6f, -4.3915065e-6f, 0.00021858087f,
                             -0.001253725f, -0.0041776816f, 0.24664073f,    1.5014094f};
    const float far[9] = {-0.00020021426f, 0.00010095056f, 0.0013493432f, -0.0036734284f, 0.0057395077f,
                          -0.007622461f,  0.0094388705f,  1.001674f,     2.8329768f};
    float depth = -logarithm(mul(tail, sub(2.0f, tail)));
    float near_one = polynomial(middle, sub(depth, 2.5f));
    float far_one = polynomial(far, sub(__fsqrt_rn(fabsf(depth)), 3.0f));
    return mul(depth < 5.0f ? near_one : far_one, sub(1.0f, tail));
}

// The standard normal number at a position of the sequence of a key.
__device__ __forceinline__ float normal(const Bits32 *key, Bits32 at)
{
    Bits32 bits = mixed(mixed((at * 0x9e3779b9u) ^ key[0]) + key[1]);
    float tail = mul(add((float)(int)(bits & 0x7fffffffu), 0.5f), 1.0f / 2147483648.0f);
    float size = mul(inverse_error(tail), 1.41421356f);
    return number(__float_as_uint(size) ^ (bits & 0x80000000u));
}

// Adds to each byte a mean and a multiple of a normal number, without the fraction.
__device__ __forceinline__ void add_noise(const Picture &of, Bits32 bytes, const Bits32 *words)
{
    float mean = number(words[2]), sigma = number(words[3]);
    for (Bits32 n = threadIdx.x; n < bytes; n += blockDim.x) {
        float noise = add(mean, mul(normal(words, n), sigma));
        noise = smaller(larger(noise, -32768.0f), 32767.0f);
        float rounded = sub(add(noise, whole_at()), whole_at());
        int whole = (int)(nearest(noise) - __float_as_uint(whole_at()));
        whole -= (noise > 0.0f && rounded > noise) - (noise < 0.0f && rounded < noise);
        int sum = (int)of.now[n] + whole;
        if (words[4]) sum = sum < 0 ? 0 : sum > 255 ? 255 : sum;
        of.now[n] = (Byte)sum;
    }
}

} // namespace changes
