// Crop and resize of one box of each picture of a batch, for pictures of different sizes, from the batch's own rows or
// from a store in device memory.
//
// Compiled after convert.cu, in one program with it. The host's half is picture/row_header.rs, yuv420.rs and
// resample.rs.

// picture/row_header.rs has the same constants.
enum From { FROM_ROW = 0, FROM_STORE = 1, FROM_NOTHING = 2 };
enum Format { FORMAT_PIXELS = 0, FORMAT_YUV420 = 1 };

// ---------------------------------------------------------------- the location of a row's pixels

// The header before each row. picture/row_header.rs has the same structure.
struct alignas(16) Head {
    Bits32 from, format, height, width; // of the source picture in pixels
    Count number;                       // of its row in the store
    Count bytes;                        // of a compressed picture: not used here
    float left, top, across, down;      // the box, in pixels of the source
    Bits32 flip;
    Bits32 scale; // not used here
    Count seed;   // not used here
};
static_assert(sizeof(Head) == 64, "as the host writes it");

// Headers at a stride, and rows in device memory that they may refer to.
struct Batch {
    const Byte *heads;
    Count head_stride;
    const Byte *store; // or null
    Count store_stride;
    Count store_rows;
};

// The first byte of a row's picture; null if there is none, or if it would not be wholly inside its row. Such a row
// becomes the conversion of zeros, and nothing outside is read.
template <int CHANNELS>
__device__ __forceinline__ const Byte *picture_of(const Batch &batch, const Head &head, const Byte *behind)
{
    Count pixels = (Count)head.height * head.width, bytes = pixels * CHANNELS;
    if (pixels == 0 || pixels >> 31) return nullptr;
    if (CHANNELS == 3 && head.format == FORMAT_YUV420)
        bytes = pixels + 2 * ((Count)((head.height + 1) / 2) * ((head.width + 1) / 2));
    else if (head.format != FORMAT_PIXELS) return nullptr;
    if (head.from == FROM_ROW) return bytes <= batch.head_stride - sizeof(Head) ? behind : nullptr;
    bool there = head.from == FROM_STORE && batch.store && head.number < batch.store_rows && bytes <= batch.store_stride;
    return there ? batch.store + head.number * batch.store_stride : nullptr;
}

// ---------------------------------------------------------------- pixels from left to right

// Interleaved bytes: one load for each channel and pixel.
template <int CHANNELS>
struct PixelWalk {
    const Byte *at;

    __device__ __forceinline__ PixelWalk(const Byte *picture, Bits32, Bits32 width, Bits32 x, Bits32 y)
        : at(picture + ((Count)y * width + x) * CHANNELS)
    {
    }
    __device__ __forceinline__ void read(float *values) const
    {
#pragma unroll
        for (int channel = 0; channel < CHANNELS; channel++) values[channel] = (float)at[channel];
    }
    __device__ __forceinline__ void step() { at += CHANNELS; }
};

// A line of chroma between two lines of samples: 3/4 of the nearer, 1/4 of the farther, in quarters.
struct Chroma {
    const Byte *near, *far;
    int here, beside; // of the pixel's own column, and of the neighbor that is closer to the pixel

    __device__ __forceinline__ int column(Bits32 at) const { return 3 * near[at] + far[at]; }
    __device__ __forceinline__ Chroma(const Byte *plane, Count near_line, Count far_line, Bits32 own, Bits32 other)
        : near(plane + near_line), far(plane + far_line), here(column(own)), beside(column(other))
    {
    }
    // Ties round up and down alternately. 128 is subtracted.
    __device__ __forceinline__ int value(Bits32 x) const { return ((3 * here + beside + 8 - (int)(x & 1u)) >> 4) - 128; }
    __device__ __forceinline__ void step(Bits32 x, Bits32 last)
    {
        int left = here;
        if (x & 1u) here = beside; // the next column's value is known, and so is its left neighbor
        Bits32 right = (x >> 1) + 1u;
        beside = x & 1u ? left : column(right < last ? right : last);
    }
};

// YUV 4:2:0 planes as RGB, bit-identical to libjpeg: chroma is upsampled with its triangle filter ("fancy": samples are
// centered on 2 x 2 pixels), color is full-range BT.601 in 16-bit fixed point, rounded to bytes and clamped. Filtering
// these values therefore equals filtering the converted picture. Each sum of two samples is used for two pixels: 3
// loads for each pixel, as for interleaved ones.
struct ColorWalk {
    const Byte *luma;
    Bits32 x, last; // last: column of chroma
    Chroma blue, red;

    __device__ __forceinline__ static Chroma chroma(const Byte *plane, Bits32 height, Bits32 width, Bits32 x, Bits32 y)
    {
        Bits32 lines = (height + 1u) / 2u, columns = (width + 1u) / 2u, line = y >> 1, own = x >> 1;
        Bits32 far = y & 1u ? (line + 1u < lines ? line + 1u : line) : (line ? line - 1u : line);
        Bits32 other = x & 1u ? (own + 1u < columns ? own + 1u : own) : (own ? own - 1u : own);
        return Chroma(plane, (Count)line * columns, (Count)far * columns, own, other);
    }
    __device__ __forceinline__ static Count plane_of(Bits32 height, Bits32 width)
    {
        return (Count)((height + 1u) / 2u) * ((width + 1u) / 2u);
    }
    __device__ __forceinline__ ColorWalk(const Byte *picture, Bits32 height, Bits32 width, Bits32 x, Bits32 y)
        : luma(picture + ((Count)y * width + x)), x(x), last((width + 1u) / 2u - 1u),
          blue(chroma(picture + (Count)height * width, height, width, x, y)),
          red(chroma(picture + (Count)height * width + plane_of(height, width), height, width, x, y))
    {
    }
    __device__ __forceinline__ static float clamped(int value)
    {
        return (float)(value < 0 ? 0 : value > 255 ? 255 : value);
    }
    __device__ __forceinline__ void read(float *values) const
    {
        int y = *luma, u = blue.value(x), v = red.value(x);
        values[0] = clamped(y + ((91881 * v + 32768) >> 16));
        values[1] = clamped(y + ((-22554 * u - 46802 * v + 32768) >> 16));
        values[2] = clamped(y + ((116130 * u + 32768) >> 16));
    }
    __device__ __forceinline__ void step()
    {
        blue.step(x, last);
        red.step(x, last);
        luma++;
        x++;
    }
};

// ---------------------------------------------------------------- one box of each picture, resized

// One axis of a box: the values that all output pixels of a row share.
struct Axis {
    float begin, count;  // the whole pixels that the box touches
    float within;        // from there to the box's edge
    float scale, reach;  // pixels of the picture for one of the output, half the filter's width
    float inverse;       // one over reach
};

// The input pixels along one axis that make one output pixel, and their weights.
struct Taps {
    Bits32 first;
    Bits32 count;
    float offset;  // from the output pixel's middle to the first tap's, in pixels
    float inverse; // one over the filter's half width in pixels
};

// A triangle as wide as two output pixels, but at least two input pixels. No tap is outside the whole pixels that the
// box touches: the box is cropped first and then resized.
// Positions are relative to the pixel in which the box begins, so that they stay precise at large coordinates.
__device__ __forceinline__ Axis axis_of(float start, float length, Bits32 out_length, Bits32 picture_length)
{
    float limit = (float)picture_length;
    Axis axis;
    axis.begin = fminf(fmaxf(floorf(start), 0.0f), limit - 1.0f); // fmaxf returns the number if the other is NaN
    axis.count = fminf(fmaxf(ceilf(start + length), axis.begin + 1.0f), limit) - axis.begin;
    axis.within = start - axis.begin;
    axis.scale = length / (float)out_length;
    axis.reach = fmaxf(axis.scale, 1.0f);
    axis.inverse = 1.0f / axis.reach;
    return axis;
}

__device__ __forceinline__ Taps taps_of(const Axis &axis, Bits32 at)
{
    float middle = axis.within + ((float)at + 0.5f) * axis.scale;
    float first = fminf(fmaxf(floorf(middle - axis.reach + 0.5f), 0.0f), axis.count - 1.0f);
    float last = fminf(fmaxf(floorf(middle + axis.reach + 0.5f), first + 1.0f), axis.count);
    Taps taps;
    taps.first = (Bits32)axis.begin + (Bits32)first;
    taps.count = (Bits32)last - (Bits32)first;
    taps.offset = first + 0.5f - middle;
    taps.inverse = axis.inverse;
    return taps;
}

__device__ __forceinline__ float weight(const Taps &taps, Bits32 tap)
{
    return fmaxf(0.0f, 1.0f - fabsf(taps.offset + (float)tap) * taps.inverse);
}

// The mean of the pixels under both triangles, for all channels. Sums up the weights in the same loop: an addition for
// each tap, where a separate loop would compute every weight twice.
template <int CHANNELS, typename Walk>
__device__ __forceinline__ void mean(const Byte *picture, Bits32 height, Bits32 width, const Taps &across,
                                     const Taps &down, float *values)
{
    float all = 0.0f;
    for (Bits32 y = 0; y < down.count; y++) {
        Walk walk(picture, height, width, across.first, down.first + y);
        float sums[CHANNELS] = {}, shares = 0.0f;
        for (Bits32 x = 0;;) {
            float share = weight(across, x), pixel[CHANNELS];
            walk.read(pixel);
            shares += share;
#pragma unroll
            for (int channel = 0; channel < CHANNELS; channel++) sums[channel] += share * pixel[channel];
            if (++x >= across.count) break;
            walk.step();
        }
        float share = weight(down, y);
        all += share * shares;
#pragma unroll
        for (int channel = 0; channel < CHANNELS; channel++) values[channel] += share * sums[channel];
    }
    float inverse = all > 0.0f ? 1.0f / all : 0.0f; // 0: an empty box, which the host rejects
#pragma unroll
    for (int channel = 0; channel < CHANNELS; channel++) values[channel] *= inverse;
}

// Whether a box is aligned to whole pixels and has the size of the output: then pixels are copied.
__device__ __forceinline__ bool copied(float start, float length, Bits32 out_length, Bits32 picture_length)
{
    return start >= 0.0f && start < 2147483648.0f && start == floorf(start) && length == (float)out_length &&
           (Count)start + out_length <= picture_length;
}

template <int CHANNELS, typename Walk>
__device__ __forceinline__ void draw_row(const Head &head, const Byte *picture, const Output &out, Count row,
                                         Bits32 out_height, Bits32 out_width)
{
    Bits32 height = head.height, width = head.width, pixels = out_height * out_width;
    bool copy = copied(head.left, head.across, out_width, width) && copied(head.top, head.down, out_height, height);
    Axis across = axis_of(head.left, head.across, out_width, width);
    Axis down = axis_of(head.top, head.down, out_height, height);
    for (Count n = (Count)blockIdx.x * blockDim.x + threadIdx.x; n < pixels; n += (Count)gridDim.x * blockDim.x) {
        Bits32 pixel = (Bits32)n, y = pixel / out_width, x = pixel - y * out_width;
        float values[CHANNELS] = {};
        if (head.flip) x = out_width - 1u - x;
        // Both conditions are the same for all threads of a block.
        if (picture && copy)
            Walk(picture, height, width, (Bits32)head.left + x, (Bits32)head.top + y).read(values);
        else if (picture)
            mean<CHANNELS, Walk>(picture, height, width, taps_of(across, x), taps_of(down, y), values);
        put<CHANNELS>(out, row, pixel, values);
    }
}

// Memory traffic: the bytes of the box once, because the taps of neighboring pixels overlap in the caches (a byte is a
// tap of about four output pixels), and the output once; a header is one broadcast. 224 x 224 of RGB bytes to f16 are
// 151 kB in (75 kB of planes) and 301 kB out. Neighboring threads write neighboring pixels and read pixels at the
// distance of the scale.
template <int CHANNELS>
__device__ __forceinline__ void draw(const Batch &batch, const Output &out, Count rows, Bits32 out_height,
                                     Bits32 out_width)
{
    for (Count row = blockIdx.y; row < rows; row += gridDim.y) {
        const Byte *at = batch.heads + row * batch.head_stride;
        const Head head = *(const Head *)at;
        const Byte *picture = picture_of<CHANNELS>(batch, head, at + sizeof(Head));
        if (CHANNELS == 3 && head.format == FORMAT_YUV420)
            draw_row<3, ColorWalk>(head, picture, out, row, out_height, out_width);
        else draw_row<CHANNELS, PixelWalk<CHANNELS>>(head, picture, out, row, out_height, out_width);
    }
}

// ---------------------------------------------------------------- the entry

// heads: for each row a Head, head_stride bytes apart (a multiple of 16, at least 64); the bytes of a row's picture
// follow it or are in a row of the store (null, or u8 [store_rows, store_stride]), interleaved, or as planes Y, U, V
// for three channels. The box of each picture is resized to out_height x out_width with antialiasing, then mirrored.
// out: as for tarflume_finish. Rows without a picture are zeros.
extern "C" __global__ void tarflume_draw(const Byte *heads, Count head_stride, const Byte *store, Count store_stride,
                                         Count store_rows, void *out, Count rows, Bits32 out_height, Bits32 out_width,
                                         Bits32 channels, Bits32 layout, Bits32 element, float scale_0, float scale_1,
                                         float scale_2, float scale_3, float shift_0, float shift_1, float shift_2,
                                         float shift_3)
{
    Batch batch = {heads, head_stride, store, store_stride, store_rows};
    Output to = output(out, (Count)out_height * out_width, layout, element, scale_0, scale_1, scale_2, scale_3,
                       shift_0, shift_1, shift_2, shift_3);
    if (channels == 1) draw<1>(batch, to, rows, out_height, out_width);
    else if (channels == 3) draw<3>(batch, to, rows, out_height, out_width);
    else if (channels == 4) draw<4>(batch, to, rows, out_height, out_width);
}
