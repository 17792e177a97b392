// Coefficients of JPEGs as samples, and samples as pixels: the bytes of the host's decoder.
//
// Compiled after jpeg.cu, in one program with it. The host's half is jpeg/src/simd/portable (idct.rs, reduced.rs,
// lines.rs) and jpeg/src/picture/lines.rs. The additions, and where they wrap and saturate, are the same, so that
// damaged files with extreme coefficients give the same bytes, too.

// ---------------------------------------------------------------- the inverse DCT of a line

// The factors: sums of cosines, times 2^13. jpeg/src/simd/cosines.rs has the same.
enum {
    C_0_211 = 1730, C_0_298 = 2446, C_0_390 = 3196, C_0_509 = 4176, C_0_541 = 4433, C_0_601 = 4926, C_0_720 = 5906,
    C_0_765 = 6270, C_0_850 = 6967, C_0_899 = 7373, C_1_061 = 8697, C_1_175 = 9633, C_1_272 = 10426, C_1_451 = 11893,
    C_1_501 = 12299, C_1_847 = 15137, C_1_961 = 16069, C_2_053 = 16819, C_2_172 = 17799, C_2_562 = 20995,
    C_3_072 = 25172, C_3_624 = 29692, FACTOR_BITS = 13, BETWEEN_BITS = 2, EIGHTH_BITS = 3
};

// Sums that wrap: of numbers without a sign.
__device__ __forceinline__ int plus(int a, int b) { return (int)((Bits32)a + (Bits32)b); }
__device__ __forceinline__ int minus(int a, int b) { return (int)((Bits32)a - (Bits32)b); }
__device__ __forceinline__ int wrapped(int value) { return (short)(Bits16)(Bits32)value; }
__device__ __forceinline__ int saturated(int value) { return value < -32768 ? -32768 : value > 32767 ? 32767 : value; }
__device__ __forceinline__ int shifted(int value, int bits) { return (int)((Bits32)value << bits); }
__device__ __forceinline__ int rounded_by(int value, int bits) { return plus(value, 1 << (bits - 1)) >> bits; }
__device__ __forceinline__ Byte sample_of(int value)
{
    return (Byte)((value < -128 ? -128 : value > 127 ? 127 : value) + 128);
}

// Eight coefficients of a line as its eight values, with FACTOR_BITS behind the point.
__device__ __forceinline__ void sums_8(const int *c, int *out)
{
    int first = shifted(wrapped(c[0] + c[4]), FACTOR_BITS), second = shifted(wrapped(c[0] - c[4]), FACTOR_BITS);
    int shared = c[2] * C_0_541 + c[6] * C_0_541;
    int turned_0 = shared + c[2] * C_0_765, turned_1 = shared - c[6] * C_1_847;
    int even[4] = {first + turned_0, second + turned_1, second - turned_1, first - turned_0};
    int c73 = wrapped(c[7] + c[3]), c51 = wrapped(c[5] + c[1]);
    shared = c73 * C_1_175 + c51 * C_1_175;
    c73 = shared - c73 * C_1_961;
    c51 = shared - c51 * C_0_390;
    int c71 = -c[7] * C_0_899 - c[1] * C_0_899, c53 = -c[5] * C_2_562 - c[3] * C_2_562;
    int odd[4] = {c[1] * C_1_501 + c71 + c51, c[3] * C_3_072 + c53 + c73, c[5] * C_2_053 + c53 + c51,
                  c[7] * C_0_298 + c71 + c73};
#pragma unroll
    for (int n = 0; n < 4; n++) {
        out[n] = even[n] + odd[n];
        out[7 - n] = even[n] - odd[n];
    }
}

// The same for four values; coefficient 4 has no influence. Extreme coefficients wrap.
__device__ __forceinline__ void sums_4(const int *c, int *out)
{
    int even = shifted(c[0], FACTOR_BITS + 1), turned = minus(c[2] * C_1_847, c[6] * C_0_765);
    int first = plus(even, turned), second = minus(even, turned);
    int inner = minus(minus(plus(c[3] * C_0_899, c[1] * C_2_562), c[7] * C_0_509), c[5] * C_0_601);
    int outer = minus(minus(plus(c[5] * C_1_451, c[1] * C_1_061), c[7] * C_0_211), c[3] * C_2_172);
    out[0] = plus(first, inner);
    out[1] = plus(second, outer);
    out[2] = minus(second, outer);
    out[3] = minus(first, inner);
}

// Two values of the even part and of coefficients 1, 3, 5 and 7.
__device__ __forceinline__ void sums_2(int even, int c1, int c3, int c5, int c7, int *out)
{
    int odd = minus(plus(minus(c1 * C_3_624, c3 * C_1_272), c5 * C_0_850), c7 * C_0_720);
    out[0] = plus(even, odd);
    out[1] = minus(even, odd);
}

// ---------------------------------------------------------------- the inverse DCT of a block

// A block between its two passes: eight columns of a thread each, with a gap so that no two threads of a row meet.
enum { BLOCK_PITCH = 9, BLOCK_TEAMS = 32 };

struct BlockRoom {
    int between[8 * BLOCK_PITCH];
    Byte rest[8]; // for each column: whether a coefficient behind the first row is not 0
};

// The columns: thread `x` of eight computes column x, of as many values as a block has samples.
__device__ __forceinline__ void idct_column(const short *block, const Bits16 *quant, Bits32 size, bool flat, Bits32 x,
                                            int *between)
{
    int c[8], out[8];
#pragma unroll
    for (int y = 0; y < 8; y++) c[y] = wrapped(block[8 * y + x] * (int)(short)quant[8 * y + x]);
    if (size == 8) {
        sums_8(c, out);
        // Where only the first row has coefficients, extreme ones wrap instead.
        for (int y = 0; y < 8; y++)
            between[y * BLOCK_PITCH + x] = flat ? wrapped(shifted(c[0], BETWEEN_BITS))
                                                : saturated(rounded_by(out[y], FACTOR_BITS - BETWEEN_BITS));
    } else if (size == 4) {
        sums_4(c, out);
        for (int y = 0; y < 4; y++)
            between[y * BLOCK_PITCH + x] = flat ? wrapped(shifted(c[0], BETWEEN_BITS))
                                                : saturated(rounded_by(out[y], FACTOR_BITS - BETWEEN_BITS + 1));
    } else if (size == 2) {
        sums_2(shifted(c[0], FACTOR_BITS + 2), c[1], c[3], c[5], c[7], out);
        for (int y = 0; y < 2; y++)
            between[y * BLOCK_PITCH + x] = rounded_by(out[y], FACTOR_BITS - BETWEEN_BITS + 2);
    }
}

// The rows: thread `y` computes row y.
__device__ __forceinline__ void idct_row(const int *c, Bits32 size, Byte *to)
{
    int out[8];
    if (size == 8) {
        sums_8(c, out);
        for (int x = 0; x < 8; x++) to[x] = sample_of(rounded_by(out[x], FACTOR_BITS + BETWEEN_BITS + EIGHTH_BITS));
    } else if (size == 4) {
        sums_4(c, out);
        for (int x = 0; x < 4; x++) to[x] = sample_of(rounded_by(out[x], FACTOR_BITS + BETWEEN_BITS + EIGHTH_BITS + 1));
    } else {
        sums_2(shifted(c[0], FACTOR_BITS + 2), saturated(c[1]), saturated(c[3]), saturated(c[5]), saturated(c[7]), out);
        for (int x = 0; x < 2; x++) to[x] = sample_of(rounded_by(out[x], FACTOR_BITS + BETWEEN_BITS + EIGHTH_BITS + 2));
    }
}

// The mean of a block; extreme values wrap at 10 bits before they saturate.
__device__ __forceinline__ Byte mean_of(const short *block, const Bits16 *quant)
{
    int mean = rounded_by(block[0] * (int)(short)quant[0], EIGHTH_BITS);
    return sample_of(shifted(mean, 22) >> 22);
}

// Where a block of a picture is, and where its samples go.
struct BlockPlace {
    const short *block;
    const Bits16 *quant;
    Byte *to;
    Bits32 size, stride;
    bool there;
};

__device__ __forceinline__ Bits32 stride_of(const JpegWork &work, const JpegPart &part)
{
    return work.columns * part.h * part.block;
}

__device__ __forceinline__ BlockPlace block_place(const JpegWork &work, const short *coefficients, Byte *samples,
                                                  Count number)
{
    BlockPlace place = {};
    Bits32 mcu = (Bits32)(number / work.blocks_each), at = (Bits32)(number % work.blocks_each), n = 0;
    place.there = number < (Count)work.columns * work.rows * work.blocks_each;
    if (!place.there) return place;
    while (n + 1 < work.parts && at >= work.part[n].h * work.part[n].v) {
        at -= work.part[n].h * work.part[n].v;
        n++;
    }
    const JpegPart &part = work.part[n];
    Bits32 x = mcu % work.columns * part.h + at % part.h, y = mcu / work.columns * part.v + at / part.h;
    place.block = coefficients + (work.blocks + number) * 64;
    place.quant = work.quant[part.quant];
    place.size = part.block;
    place.stride = stride_of(work, part);
    place.to = samples + work.samples + part.samples + (Count)y * part.block * place.stride + x * part.block;
    return place;
}

// records, coefficients: as for tarflume_huff; samples: u8, of each picture its components one after the other, each with
// the samples of the MCUs that are needed, row by row. Eight threads transform a block; blocks have 8 to 256.
extern "C" __global__ void __launch_bounds__(256) tarflume_samples(const Byte *records, Count stride,
                                                                   const short *coefficients, Byte *samples,
                                                                   Bits32 count)
{
    __shared__ BlockRoom rooms[BLOCK_TEAMS];
    Bits32 teams = blockDim.x / 8u, team = threadIdx.x / 8u, line = threadIdx.x % 8u;
    if (teams == 0) return; // otherwise the loop below would never advance
    for (Bits32 picture = blockIdx.y; picture < count; picture += gridDim.y) {
        const JpegWork &work = work_of(records, stride, picture);
        Count blocks = (Count)work.columns * work.rows * work.blocks_each;
        for (Count first = (Count)blockIdx.x * teams; first < blocks; first += (Count)gridDim.x * teams) {
            BlockPlace place = {};
            if (team < teams) place = block_place(work, coefficients, samples, first + team);
            BlockRoom &room = rooms[team < teams ? team : 0];
            if (place.there) {
                bool rest = false;
                for (int y = 1; y < 8; y++) rest |= !(place.size == 4 && y == 4) && place.block[8 * y + line] != 0;
                room.rest[line] = rest;
            }
            __syncthreads();
            if (place.there && place.size > 1) {
                bool flat = true;
                for (int n = 0; n < 8; n++) flat &= !room.rest[n];
                idct_column(place.block, place.quant, place.size, flat, line, room.between);
            } else if (place.there && line == 0) *place.to = mean_of(place.block, place.quant);
            __syncthreads();
            if (place.there && place.size > 1 && line < place.size)
                idct_row(room.between + line * BLOCK_PITCH, place.size, place.to + (Count)line * place.stride);
            __syncthreads();
        }
    }
}

// ---------------------------------------------------------------- pixels

// The samples of a component.
struct Plane {
    const Byte *samples;
    Bits32 stride, left, top; // of the first sample in the picture
    Bits32 width, height;     // of the whole picture

    __device__ __forceinline__ int at(Bits32 x, Bits32 y) const
    {
        return samples[(Count)(y - top) * stride + (x - left)];
    }
};

// The other of the two samples between which a pixel is; at the picture's edge the same one.
__device__ __forceinline__ Bits32 beside(Bits32 pixel, Bits32 count)
{
    Bits32 own = pixel / 2u;
    return pixel % 2u ? (own + 1u < count ? own + 1u : own) : (own ? own - 1u : own);
}

// The sample of a pixel: 3/4 of the nearer one and 1/4 of the farther one along each axis that has half the samples.
__device__ __forceinline__ int upsampled(const JpegPart &part, const Plane &plane, Bits32 x, Bits32 y)
{
    Bits32 column = x / part.across, line = y / part.down;
    if (!part.fancy) return plane.at(column, line);
    if (part.down == 1) return (3 * plane.at(column, y) + plane.at(beside(x, plane.width), y) + 1 + (int)(x & 1u)) >> 2;
    Bits32 far = beside(y, plane.height);
    int own = 3 * plane.at(column, line) + plane.at(column, far);
    if (part.across == 1) return (own + 1 + (int)(y & 1u)) >> 2;
    Bits32 other = beside(x, plane.width);
    return (3 * own + 3 * plane.at(other, line) + plane.at(other, far) + 8 - (int)(x & 1u)) >> 4;
}

__device__ __forceinline__ int luma_of(int red, int green, int blue)
{
    return (red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16;
}

__device__ __forceinline__ void jpeg_pixel(const JpegWork &work, const Byte *samples, Bits32 x, Bits32 y, Byte *to)
{
    int values[JPEG_PARTS] = {};
    Bits32 needed = work.channels == 1 && work.ycc ? 1 : work.parts;
#pragma unroll
    for (Bits32 n = 0; n < JPEG_PARTS; n++) {
        if (n >= needed) break;
        const JpegPart &part = work.part[n];
        Plane plane = {samples + part.samples, stride_of(work, part), work.column * part.h * part.block,
                       work.row * part.v * part.block, part.width, part.height};
        values[n] = upsampled(part, plane, x, y);
    }
    if (work.channels == 1) {
        to[0] = (Byte)(needed == 1 ? values[0] : luma_of(values[0], values[1], values[2]));
        return;
    }
    if (needed == 1) values[1] = values[2] = values[0];
    else if (work.ycc) rgb_of(values[0], values[1] - 128, values[2] - 128, values);
    for (int n = 0; n < 3; n++) to[n] = (Byte)values[n];
}

// pixels: of each picture its region, u8 [height, width, channels].
extern "C" __global__ void tarflume_pixels(const Byte *records, Count stride, const Byte *samples, Byte *pixels,
                                           Bits32 count)
{
    for (Bits32 picture = blockIdx.y; picture < count; picture += gridDim.y) {
        const JpegWork &work = work_of(records, stride, picture);
        Count all = (Count)work.width * work.height;
        for (Count n = (Count)blockIdx.x * blockDim.x + threadIdx.x; n < all; n += (Count)gridDim.x * blockDim.x) {
            Bits32 y = (Bits32)(n / work.width), x = (Bits32)(n % work.width);
            jpeg_pixel(work, samples + work.samples, work.left + x, work.top + y,
                       pixels + work.pixels + n * work.channels);
        }
    }
}
