// Changes of pictures that a recipe drew, part 2: what moves pixels, and what reads their neighbors.
//
// Flips exchange pixels in place. Everything else reads `now` and writes `next`. The points of a warp, and the order
// in which taps are added, are those of transforms/src/kernels/geometry.

namespace changes {

template <int CHANNELS>
__device__ __forceinline__ void copy_pixel(Byte *to, const Byte *from)
{
#pragma unroll
    for (int channel = 0; channel < CHANNELS; channel++) to[channel] = from[channel];
}

template <int CHANNELS>
__device__ __forceinline__ void exchange(Byte *a, Byte *b)
{
#pragma unroll
    for (int channel = 0; channel < CHANNELS; channel++) {
        Byte kept = a[channel];
        a[channel] = b[channel];
        b[channel] = kept;
    }
}

// Exchanges left and right, top and bottom, or both. Each pair belongs to one thread.
template <int CHANNELS>
__device__ __forceinline__ void flip(const Picture &of, bool across, bool down)
{
    for (Bits32 n = threadIdx.x; n < of.pixels; n += blockDim.x) {
        Bits32 x = n % of.width, y = n / of.width;
        Bits32 other = (down ? of.height - 1u - y : y) * of.width + (across ? of.width - 1u - x : x);
        if (n < other) exchange<CHANNELS>(of.now + (Count)n * CHANNELS, of.now + (Count)other * CHANNELS);
    }
}

// Turns a square picture counterclockwise by one quarter, or by three.
template <int CHANNELS>
__device__ __forceinline__ void quarter(const Picture &of, Bits32 turns)
{
    for (Bits32 n = threadIdx.x; n < of.pixels; n += blockDim.x) {
        Bits32 x = n % of.width, y = n / of.width;
        Bits32 from = turns == 1 ? x * of.width + of.width - 1u - y : (of.width - 1u - x) * of.width + y;
        copy_pixel<CHANNELS>(of.next + (Count)n * CHANNELS, of.now + (Count)from * CHANNELS);
    }
}

// ---------------------------------------------------------------- warps

// A point of the picture; 0 is the center of the first pixel.
struct Point {
    float x, y;
};

__device__ __forceinline__ float on_picture(float place, float half) { return sub(mul(add(place, 1.0f), half), 0.5f); }

// theta[6], half the last column and row of the result, half the width and height of the picture.
__device__ __forceinline__ Point affine(const Bits32 *words, Bits32 column, Bits32 row)
{
    float x = sub((float)column, number(words[6])), y = sub((float)row, number(words[7]));
    float to_x = add(add(mul(x, number(words[0])), mul(y, number(words[1]))), number(words[2]));
    float to_y = add(add(mul(x, number(words[3])), mul(y, number(words[4]))), number(words[5]));
    return {on_picture(to_x, number(words[8])), on_picture(to_y, number(words[9]))};
}

// theta[8], half the width and height of the picture.
__device__ __forceinline__ Point perspective(const Bits32 *words, Bits32 column, Bits32 row)
{
    float x = add((float)column, 0.5f), y = add((float)row, 0.5f);
    float below = add(add(mul(x, number(words[6])), mul(y, number(words[7]))), 1.0f);
    float to_x = add(add(mul(x, number(words[0])), mul(y, number(words[1]))), number(words[2]));
    float to_y = add(add(mul(x, number(words[3])), mul(y, number(words[4]))), number(words[5]));
    return {on_picture(sub(__fdiv_rn(to_x, below), 1.0f), number(words[8])),
            on_picture(sub(__fdiv_rn(to_y, below), 1.0f), number(words[9]))};
}

// The nearest integer, ties to even, at least -2. A negative one becomes a huge unsigned number: outside the
// picture.
__device__ __forceinline__ Bits32 place_of(float place, float most)
{
    return nearest(smaller(larger(place, -2.0f), most)) - __float_as_uint(whole_at());
}

// The weight of a tap at this distance, by cubic convolution.
__device__ __forceinline__ float cubic(float distance)
{
    const float a = -0.75f;
    if (distance <= 1.0f)
        return add(mul(mul(sub(mul(a + 2.0f, distance), a + 3.0f), distance), distance), 1.0f);
    if (distance < 2.0f)
        return sub(mul(add(mul(sub(mul(a, distance), 5.0f * a), distance), 8.0f * a), distance), 4.0f * a);
    return 0.0f;
}

// The taps of a point on one axis: neighbors, moved into the picture at its edges.
template <int TAPS>
struct Reach {
    Bits32 first;
    float weights[TAPS];
    float sum;

    __device__ __forceinline__ Reach(float at, Bits32 length)
    {
        const float reach = (float)(TAPS / 2);
        float most_first = length > TAPS ? (float)(length - TAPS) : 0.0f;
        float place = smaller(larger(at, -reach), add(sub((float)length, 1.0f), reach));
        float near = sub(add(place, whole_at()), whole_at());
        float floor = near > place ? sub(near, 1.0f) : near;
        float begin = smaller(larger(sub(add(floor, 1.0f), reach), 0.0f), most_first);
        first = nearest(begin) - __float_as_uint(whole_at());
        sum = 0.0f;
#pragma unroll
        for (int tap = 0; tap < TAPS; tap++) {
            float distance = fabsf(sub(place, add(begin, (float)tap)));
            float weight = TAPS == 2 ? larger(sub(1.0f, distance), 0.0f) : cubic(distance);
            weights[tap] = (Bits32)tap < length ? weight : 0.0f;
            sum = add(sum, weights[tap]);
        }
    }
};

template <int CHANNELS, int TAPS>
__device__ __forceinline__ void blend(const Picture &of, Point at, const float *fill, Byte *to)
{
    Reach<TAPS> across(at.x, of.width), down(at.y, of.height);
    float sums[CHANNELS];
#pragma unroll
    for (int channel = 0; channel < CHANNELS; channel++) sums[channel] = 0.0f;
#pragma unroll
    for (int row = 0; row < TAPS; row++) {
        Bits32 y = down.first + ((Bits32)row < of.height ? (Bits32)row : 0u);
        const Byte *line = of.now + (Count)y * of.width * CHANNELS;
#pragma unroll
        for (int channel = 0; channel < CHANNELS; channel++) {
            float of_row = 0.0f;
#pragma unroll
            for (int tap = 0; tap < TAPS; tap++) {
                Bits32 x = across.first + (Bits32)tap;
                // Beyond a narrow picture the weight is 0.
                float byte = x < of.width ? (float)line[(Count)x * CHANNELS + channel] : 0.0f;
                if (TAPS == 2)
                    sums[channel] = add(sums[channel], mul(byte, mul(across.weights[tap], down.weights[row])));
                else of_row = add(of_row, mul(byte, across.weights[tap]));
            }
            if (TAPS != 2) sums[channel] = add(sums[channel], mul(of_row, down.weights[row]));
        }
    }
    float known = mul(across.sum, down.sum);
#pragma unroll
    for (int channel = 0; channel < CHANNELS; channel++) {
        float value = add(mul(sub(sums[channel], fill[channel]), known), fill[channel]);
        to[channel] = (Byte)nearest(smaller(larger(value, 0.0f), 255.0f));
    }
}

// words: taps on an axis (1, 2 or 4), the fill in the lower bytes, then the factors.
template <int CHANNELS>
__device__ __forceinline__ void warp(const Picture &of, bool projects, const Bits32 *words)
{
    Bits32 taps = words[0], fill = words[1];
    float fills[3] = {(float)(fill & 0xffu), (float)(fill >> 8 & 0xffu), (float)(fill >> 16 & 0xffu)};
    for (Bits32 n = threadIdx.x; n < of.pixels; n += blockDim.x) {
        Bits32 column = n % of.width, row = n / of.width;
        Point at = projects ? perspective(words + 2, column, row) : affine(words + 2, column, row);
        Byte *to = of.next + (Count)n * CHANNELS;
        if (taps == 2) blend<CHANNELS, 2>(of, at, fills, to);
        else if (taps == 4) blend<CHANNELS, 4>(of, at, fills, to);
        else {
            Bits32 x = place_of(at.x, (float)of.width), y = place_of(at.y, (float)of.height);
            if (x < of.width && y < of.height) {
                copy_pixel<CHANNELS>(to, of.now + ((Count)y * of.width + x) * CHANNELS);
                continue;
            }
#pragma unroll
            for (int channel = 0; channel < CHANNELS; channel++) to[channel] = (Byte)(fill >> (8 * channel));
        }
    }
}

// ---------------------------------------------------------------- filters

// The pixel that a mirror shows at `at`; the pixel at the edge is not repeated.
__device__ __forceinline__ Bits32 mirrored(int at, Bits32 length)
{
    int last = (int)length - 1, period = last > 0 ? 2 * last : 1;
    at %= period;
    if (at < 0) at += period;
    at = at < period - at ? at : period - at;
    return (Bits32)(at < last ? at : last);
}

// The value times the first weight, plus for each distance the sum of the neighbors above and below times its weight.
template <int CHANNELS>
__device__ __forceinline__ float sum_down(const Picture &of, Bits32 y, Bits32 value, const Bits32 *weights, int radius)
{
    Count stride = (Count)of.width * CHANNELS;
    float sum = mul((float)of.now[y * stride + value], number(weights[0]));
    for (int by = 1; by <= radius; by++) {
        float above = (float)of.now[mirrored((int)y - by, of.height) * stride + value];
        float below = (float)of.now[mirrored((int)y + by, of.height) * stride + value];
        sum = add(sum, mul(add(above, below), number(weights[by])));
    }
    return sum;
}

// words: the radii across and down, then the weights of the middle and of one side: across, down.
template <int CHANNELS>
__device__ __forceinline__ void blur(const Picture &of, const Bits32 *words, Shared &shared)
{
    int radius = (int)words[0], radius_down = (int)words[1];
    const Bits32 *across = words + 2, *down = across + radius + 1;
    Bits32 length = of.width * CHANNELS, margin = (Bits32)radius * CHANNELS;
    Bits32 room = (LINE - 2u * margin) / CHANNELS * CHANNELS, part = length < room ? length : room;
    Bits32 lines = LINE / (part + 2u * margin);
    for (Bits32 top = 0; top < of.height; top += lines) {
        Bits32 rows = of.height - top < lines ? of.height - top : lines;
        for (Bits32 left = 0; left < length; left += part) {
            Bits32 inner = length - left < part ? length - left : part, span = inner + 2u * margin;
            for (Bits32 n = threadIdx.x; n < rows * span; n += blockDim.x) {
                Bits32 at = n % span;
                Bits32 x = mirrored((int)((left + at) / CHANNELS) - radius, of.width);
                shared.line[n] =
                    sum_down<CHANNELS>(of, top + n / span, x * CHANNELS + at % CHANNELS, down, radius_down);
            }
            __syncthreads();
            for (Bits32 n = threadIdx.x; n < rows * inner; n += blockDim.x) {
                Bits32 at = n % inner;
                const float *middle = shared.line + n / inner * span + at + margin;
                float sum = mul(middle[0], number(across[0]));
                for (int by = 1; by <= radius; by++)
                    sum = add(sum, mul(add(middle[-by * CHANNELS], middle[by * CHANNELS]), number(across[by])));
                of.next[(Count)(top + n / inner) * length + left + at] = (Byte)nearest(sum);
            }
            __syncthreads();
        }
    }
}

// Adds to each pixel `alpha` times the change that smoothing makes. Pixels at the edge are unchanged.
template <int CHANNELS>
__device__ __forceinline__ void sharpen(const Picture &of, float alpha)
{
    Count stride = (Count)of.width * CHANNELS;
    for (Bits32 n = threadIdx.x; n < of.pixels; n += blockDim.x) {
        Bits32 x = n % of.width, y = n / of.width;
        bool edge = x == 0 || y == 0 || x == of.width - 1u || y == of.height - 1u;
        const Byte *pixel = of.now + (Count)n * CHANNELS;
        Byte *to = of.next + (Count)n * CHANNELS;
#pragma unroll
        for (int channel = 0; channel < CHANNELS; channel++) {
            if (edge) {
                to[channel] = pixel[channel];
                continue;
            }
            const Byte *at = pixel + channel, *above = at - stride, *below = at + stride;
            Bits32 sum = 4u * at[0];
#pragma unroll
            for (int by = -1; by <= 1; by++) sum += (Bits32)above[by * CHANNELS] + at[by * CHANNELS] + below[by * CHANNELS];
            // Exactly the quotient by 13, rounded.
            float smooth = (float)(((sum + 6u) * 5042u) >> 16), value = (float)at[0];
            to[channel] = (Byte)cut(add(value, mul(sub(smooth, value), alpha)));
        }
    }
}

} // namespace changes
