// The pictures of a batch: where each row's pixels are, in the batch's own rows or in a store in device memory, and
// their colors as integers.
//
// Compiled after convert.cu and before weights.cu and separable.cu, in one program with them. The host's half is
// picture/row_header.rs and yuv420.rs.

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

__device__ __forceinline__ int clamped_byte(int value) { return value < 0 ? 0 : value > 255 ? 255 : value; }

// A color of full-range BT.601 as RGB, in 16-bit fixed point. Blue and red have 128 subtracted.
__device__ __forceinline__ void rgb_of(int luma, int blue, int red, int *values)
{
    values[0] = clamped_byte(luma + ((91881 * red + 32768) >> 16));
    values[1] = clamped_byte(luma + ((-22554 * blue - 46802 * red + 32768) >> 16));
    values[2] = clamped_byte(luma + ((116130 * blue + 32768) >> 16));
}

// Interleaved bytes: one load for each channel and pixel.
template <int CHANNELS>
struct PixelWalk {
    const Byte *at;

    __device__ __forceinline__ PixelWalk(const Byte *picture, Bits32, Bits32 width, Bits32 x, Bits32 y)
        : at(picture + ((Count)y * width + x) * CHANNELS)
    {
    }
    __device__ __forceinline__ void read(int *values) const
    {
#pragma unroll
        for (int channel = 0; channel < CHANNELS; channel++) values[channel] = at[channel];
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
// these values therefore equals filtering the converted picture. Each sum of two samples is used for two pixels: where a
// walk takes four steps, 5 loads for each pixel.
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
    __device__ __forceinline__ void read(int *values) const
    {
        rgb_of(*luma, blue.value(x), red.value(x), values);
    }
    __device__ __forceinline__ void step()
    {
        blue.step(x, last);
        red.step(x, last);
        luma++;
        x++;
    }
};
