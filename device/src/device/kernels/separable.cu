// One box of each picture of a batch, resized with antialiasing: the bytes of the host's resizer.
//
// Compiled after weights.cu, in one program with it. The host's half is jpeg/src/simd/portable/resize.rs, and of four
// channels the crate fast_image_resize. As there, columns are summed up first and rounded to bytes, then rows. Sums are
// integers, so the order of additions changes nothing.
//
// A block draws a strip of rows of one picture. It holds the weights of a tile of the output and lines between the two
// passes in shared memory; a larger tile is divided, so any scale fits in 21 KB.

// ---------------------------------------------------------------- what a block shares

enum { TILE_COLUMNS = 256, TILE_ROWS = 64, ACROSS_WEIGHTS = 2048, DOWN_WEIGHTS = 1024, LINE_BYTES = 12288 };

struct Place {
    Bits32 first, count;
};

// The rows of a picture whose columns are summed up.
struct Source {
    const Byte *picture;
    Bits32 height, width;
    Bits32 left, top; // the pixel from which columns and rows are counted
};

// A picture, and the output that its box becomes.
struct Drawing {
    Source from; // left and top: of the box
    Axis across, down;
    Count row;
    bool flip, there, copy; // there: the box is within the picture; copy: pixels are copied
};

struct Tile {
    Drawing drawing; // held here, because its numbers would take a third of the registers
    alignas(16) Byte lines[LINE_BYTES]; // between the passes; before them, a number for each thread
    Place across[TILE_COLUMNS], down[TILE_ROWS];
    short across_weights[ACROSS_WEIGHTS]; // of input n of all columns of the tile, then of input n + 1
    short down_weights[DOWN_WEIGHTS];     // of row after row
};

// Writes the inputs of outputs `from` to `from + count`. A weight of input n of output m is at n * next + m * each.
__device__ __forceinline__ void set_taps(const Axis &axis, Bits32 from, Bits32 count, Place *places, short *weights,
                                         Bits32 next, Bits32 each)
{
    for (Bits32 at = threadIdx.x; at < count; at += blockDim.x) {
        Tap tap = tap_of(axis, from + at);
        if (tap.count > axis.most) tap.count = axis.most; // never: bounds the write below in any case
        Place place = {tap.first, tap.count};
        places[at] = place;
        for (Bits32 n = 0; n < tap.count; n++) weights[n * next + at * each] = (short)weight_of(axis, tap, n);
    }
}

// ---------------------------------------------------------------- opacity

// Of four channels the last is opacity: colors are multiplied by it before they are mixed, and divided afterwards.
template <int CHANNELS>
struct Opacity {
    __device__ __forceinline__ static void multiply(int *) {}
    __device__ __forceinline__ static void divide(int *) {}
};

template <>
struct Opacity<4> {
    __device__ __forceinline__ static void multiply(int *values)
    {
        for (int channel = 0; channel < 3; channel++) {
            int product = values[channel] * values[3] + 128;
            values[channel] = (product + (product >> 8)) >> 8;
        }
    }
    __device__ __forceinline__ static void divide(int *values)
    {
        int inverse = values[3] ? (255 * 512 / values[3] + 1) >> 1 : 0; // 255 / opacity, 8 bits behind the point
        for (int channel = 0; channel < 3; channel++) {
            int quotient = (values[channel] * inverse + 128) >> 8;
            values[channel] = quotient > 255 ? 255 : quotient;
        }
    }
};

// ---------------------------------------------------------------- the two passes

// The threads of a block as groups of up to 32 neighbors: each group takes a line, each neighbor a part of it.
struct Team {
    Bits32 lanes, groups, lane, group;
};

__device__ __forceinline__ Team team()
{
    Team made;
    made.lanes = blockDim.x < 32u ? blockDim.x : 32u;
    made.groups = blockDim.x / made.lanes;
    made.lane = threadIdx.x % made.lanes;
    made.group = threadIdx.x / made.lanes; // the last threads of an odd block have no group
    return made;
}

__device__ __forceinline__ Byte rounded(int sum, int bits) { return (Byte)clamped_byte(sum >> bits); }

// Bytes that are stored as they are summed up: one byte for each neighbor.
template <int CHANNELS>
__device__ __forceinline__ void down_bytes(const Source &from, const Axis &axis, const Place &rows,
                                           const short *weights, Bits32 bytes, const Team &team, Byte *line)
{
    Count stride = (Count)from.width * CHANNELS;
    const Byte *first = from.picture + (Count)(from.top + rows.first) * stride + (Count)from.left * CHANNELS;
    for (Bits32 n = team.lane; n < bytes; n += team.lanes) {
        const Byte *at = first + n;
        int sum = 1 << axis.bits >> 1;
        for (Bits32 row = 0; row < rows.count; row++, at += stride) sum += weights[row] * *at;
        line[n] = rounded(sum, axis.bits);
    }
}

// Colors that are computed first: UNIT pixels for each neighbor, which share some of the work.
template <int CHANNELS, int UNIT, typename Walk>
__device__ __forceinline__ void down_colors(const Source &from, const Axis &axis, const Place &rows,
                                            const short *weights, Bits32 pixels, const Team &team, Byte *line)
{
    for (Bits32 x = team.lane * UNIT; x < pixels; x += team.lanes * UNIT) {
        Bits32 count = pixels - x < UNIT ? pixels - x : UNIT;
        int sums[UNIT * CHANNELS];
#pragma unroll
        for (int n = 0; n < UNIT * CHANNELS; n++) sums[n] = 1 << axis.bits >> 1;
        for (Bits32 row = 0; row < rows.count; row++) {
            Walk walk(from.picture, from.height, from.width, from.left + x, from.top + rows.first + row);
            int share = weights[row];
#pragma unroll
            for (int n = 0; n < UNIT; n++) {
                if (n >= (int)count) break;
                if (n) walk.step();
                int values[CHANNELS];
                walk.read(values);
                Opacity<CHANNELS>::multiply(values);
#pragma unroll
                for (int c = 0; c < CHANNELS; c++) sums[n * CHANNELS + c] += share * values[c];
            }
        }
#pragma unroll
        for (int n = 0; n < UNIT * CHANNELS; n++)
            if (n < (int)count * CHANNELS) line[x * CHANNELS + n] = rounded(sums[n], axis.bits);
    }
}

template <int CHANNELS, typename Walk>
struct Down {
    __device__ __forceinline__ static void line(const Source &from, const Axis &axis, const Place &rows,
                                                const short *weights, Bits32 pixels, const Team &team, Byte *line)
    {
        if (CHANNELS == 4) down_colors<CHANNELS, 1, Walk>(from, axis, rows, weights, pixels, team, line);
        else down_bytes<CHANNELS>(from, axis, rows, weights, pixels * CHANNELS, team, line);
    }
};

template <>
struct Down<3, ColorWalk> {
    __device__ __forceinline__ static void line(const Source &from, const Axis &axis, const Place &rows,
                                                const short *weights, Bits32 pixels, const Team &team, Byte *line)
    {
        down_colors<3, 4, ColorWalk>(from, axis, rows, weights, pixels, team, line);
    }
};

template <int CHANNELS>
__device__ __forceinline__ void put_bytes(const Output &out, const Drawing &drawing, Bits32 x, Bits32 y,
                                          const int *values)
{
    float numbers[CHANNELS];
#pragma unroll
    for (int channel = 0; channel < CHANNELS; channel++) numbers[channel] = (float)values[channel];
    if (drawing.flip) x = drawing.across.outputs - 1u - x;
    put<CHANNELS>(out, drawing.row, (Count)y * drawing.across.outputs + x, numbers);
}

// One output pixel of a line between the passes, whose pixels are counted from `base`.
template <int CHANNELS>
__device__ __forceinline__ void across_sum(const Byte *line, const Place &place, Bits32 base, const short *weights,
                                           Bits32 next, int bits, int *values)
{
    const Byte *at = line + (place.first - base) * CHANNELS;
#pragma unroll
    for (int channel = 0; channel < CHANNELS; channel++) values[channel] = 1 << bits >> 1;
    for (Bits32 n = 0; n < place.count; n++, at += CHANNELS) {
        int share = weights[n * next];
#pragma unroll
        for (int channel = 0; channel < CHANNELS; channel++) values[channel] += share * at[channel];
    }
#pragma unroll
    for (int channel = 0; channel < CHANNELS; channel++) values[channel] = clamped_byte(values[channel] >> bits);
    Opacity<CHANNELS>::divide(values);
}

// ---------------------------------------------------------------- the strips of a block

struct Strip {
    Bits32 begin, end; // rows of the output
};

__device__ __forceinline__ Bits32 least(Bits32 a, Bits32 b) { return a < b ? a : b; }

template <int CHANNELS, typename Walk>
__device__ __forceinline__ void draw_tiles(Tile &tile, const Drawing &drawing, const Output &out, const Strip &strip)
{
    const Axis &across = drawing.across, &down = drawing.down;
    const Team own = team();
    Bits32 wide = least(TILE_COLUMNS, ACROSS_WEIGHTS / across.most), high = least(TILE_ROWS, DOWN_WEIGHTS / down.most);
    for (Bits32 x = 0, columns; x < across.outputs; x += columns) {
        columns = least(wide, across.outputs - x);
        Bits32 next = columns; // where the weights of the next input are
        set_taps(across, x, columns, tile.across, tile.across_weights, next, 1);
        __syncthreads();
        Bits32 base = tile.across[0].first, reach;
        for (;; columns = (columns + 1u) / 2u) { // until the inputs of a line fit
            reach = tile.across[columns - 1u].first + tile.across[columns - 1u].count - base;
            if (columns == 1u || reach * CHANNELS <= LINE_BYTES) break;
        }
        Source from = drawing.from;
        from.left += base;
        Bits32 lines = LINE_BYTES / (reach * CHANNELS);
        for (Bits32 y = strip.begin, rows; y < strip.end; y += rows) {
            rows = least(high, strip.end - y);
            set_taps(down, y, rows, tile.down, tile.down_weights, 1, down.most);
            __syncthreads();
            for (Bits32 begin = 0; begin < rows; begin += lines) {
                Bits32 end = least(begin + lines, rows);
                for (Bits32 n = begin + own.group; own.group < own.groups && n < end; n += own.groups)
                    Down<CHANNELS, Walk>::line(from, down, tile.down[n], tile.down_weights + n * down.most, reach, own,
                                               tile.lines + (n - begin) * reach * CHANNELS);
                __syncthreads();
                for (Bits32 n = begin + own.group; own.group < own.groups && n < end; n += own.groups)
                    for (Bits32 column = own.lane; column < columns; column += own.lanes) {
                        int values[CHANNELS];
                        across_sum<CHANNELS>(tile.lines + (n - begin) * reach * CHANNELS, tile.across[column], base,
                                             tile.across_weights + column, next, across.bits, values);
                        put_bytes<CHANNELS>(out, drawing, x + column, y + n, values);
                    }
                __syncthreads();
            }
        }
    }
}

// An output pixel whose weights do not fit the tile: more than 500 to 1. One thread computes all of it.
template <int CHANNELS, typename Walk>
__device__ __forceinline__ void draw_alone(const Drawing &drawing, const Output &out, Bits32 x, Bits32 y)
{
    const Axis &across = drawing.across, &down = drawing.down;
    Tap columns = tap_of(across, x), rows = tap_of(down, y);
    int sums[CHANNELS], values[CHANNELS];
    for (int channel = 0; channel < CHANNELS; channel++) sums[channel] = 1 << across.bits >> 1;
    for (Bits32 n = 0; n < columns.count; n++) {
        int column[CHANNELS];
        for (int channel = 0; channel < CHANNELS; channel++) column[channel] = 1 << down.bits >> 1;
        for (Bits32 row = 0; row < rows.count; row++) {
            int share = weight_of(down, rows, row);
            Walk(drawing.from.picture, drawing.from.height, drawing.from.width, drawing.from.left + columns.first + n,
                 drawing.from.top + rows.first + row).read(values);
            Opacity<CHANNELS>::multiply(values);
            for (int channel = 0; channel < CHANNELS; channel++) column[channel] += share * values[channel];
        }
        int share = weight_of(across, columns, n);
        for (int channel = 0; channel < CHANNELS; channel++)
            sums[channel] += share * rounded(column[channel], down.bits);
    }
    for (int channel = 0; channel < CHANNELS; channel++) values[channel] = rounded(sums[channel], across.bits);
    Opacity<CHANNELS>::divide(values);
    put_bytes<CHANNELS>(out, drawing, x, y, values);
}

// Whether a box is aligned to whole pixels and has the size of the output.
__device__ __forceinline__ bool copied(const Axis &axis) { return axis.from == 0.0 && axis.scale == 1.0; }

// Describes a row; one thread of the block does it.
__device__ __forceinline__ void describe(const Head &head, const Byte *picture, Count row, Bits32 out_height,
                                         Bits32 out_width, Drawing &drawing)
{
    drawing.row = row;
    drawing.flip = head.flip != 0;
    drawing.across.outputs = out_width;
    drawing.there = picture && axis_of(head.left, head.across, out_width, head.width, drawing.across) &&
                    axis_of(head.top, head.down, out_height, head.height, drawing.down);
    if (!drawing.there) return;
    Source from = {picture, head.height, head.width, drawing.across.begin, drawing.down.begin};
    drawing.from = from;
    drawing.copy = copied(drawing.across) && copied(drawing.down);
}

// Copies the pixels of a box, or writes zeros where there are none.
template <int CHANNELS, typename Walk>
__device__ __forceinline__ void copy_row(const Drawing &drawing, const Output &out, Bits32 out_height, Bits32 out_width)
{
    const Source from = drawing.from;
    Bits32 pixels = out_height * out_width;
    for (Count n = (Count)blockIdx.x * blockDim.x + threadIdx.x; n < pixels; n += (Count)gridDim.x * blockDim.x) {
        Bits32 y = (Bits32)n / out_width, x = (Bits32)n - y * out_width;
        int values[CHANNELS] = {};
        if (drawing.there) Walk(from.picture, from.height, from.width, from.left + x, from.top + y).read(values);
        put_bytes<CHANNELS>(out, drawing, x, y, values);
    }
}

// All conditions are the same for all threads of a block.
template <int CHANNELS, typename Walk>
__device__ __forceinline__ void draw_row(Tile &tile, const Output &out, Bits32 out_height, Bits32 out_width)
{
    Drawing &drawing = tile.drawing;
    if (!drawing.there || drawing.copy) return copy_row<CHANNELS, Walk>(drawing, out, out_height, out_width);
    Bits32 height = (Bits32)(((Count)out_height + gridDim.x - 1u) / gridDim.x);
    Count first = (Count)height * blockIdx.x;
    if (first >= out_height) return;
    Strip strip = {(Bits32)first, (Bits32)(first + height < out_height ? first + height : out_height)};
    double *room = (double *)tile.lines;
    int across_bits = bits_for(greatest_weight(drawing.across, room));
    int down_bits = bits_for(greatest_weight(drawing.down, room));
    if (threadIdx.x == 0) {
        drawing.across.bits = across_bits;
        drawing.down.bits = down_bits;
    }
    __syncthreads();
    if (drawing.across.most <= ACROSS_WEIGHTS && drawing.down.most <= DOWN_WEIGHTS)
        return draw_tiles<CHANNELS, Walk>(tile, drawing, out, strip);
    Count pixels = (Count)(strip.end - strip.begin) * out_width;
    for (Count n = threadIdx.x; n < pixels; n += blockDim.x)
        draw_alone<CHANNELS, Walk>(drawing, out, (Bits32)(n % out_width), strip.begin + (Bits32)(n / out_width));
}

// Memory traffic: the bytes of the box once, because rows of neighboring outputs overlap in the caches (a byte is summed
// up about twice), and the output once; a header is one broadcast. 224 x 224 of RGB bytes to f16 are 151 kB in (75 kB of
// planes) and 301 kB out. Neighboring threads read neighboring bytes and write neighboring pixels.
template <int CHANNELS>
__device__ __forceinline__ void draw(Tile &tile, const Batch &batch, const Output &out, Count rows, Bits32 out_height,
                                     Bits32 out_width)
{
    for (Count row = blockIdx.y; row < rows; row += gridDim.y) {
        const Byte *at = batch.heads + row * batch.head_stride;
        const Head &head = *(const Head *)at;
        Bits32 format = head.format;
        __syncthreads(); // the row before is drawn
        if (threadIdx.x == 0)
            describe(head, picture_of<CHANNELS>(batch, head, at + sizeof(Head)), row, out_height, out_width,
                     tile.drawing);
        __syncthreads();
        if (CHANNELS == 3 && format == FORMAT_YUV420) draw_row<3, ColorWalk>(tile, out, out_height, out_width);
        else draw_row<CHANNELS, PixelWalk<CHANNELS>>(tile, out, out_height, out_width);
    }
}

// ---------------------------------------------------------------- the entry

// heads: for each row a Head, head_stride bytes apart (a multiple of 16, at least 64); the bytes of a row's picture
// follow it or are in a row of the store (null, or u8 [store_rows, store_stride]), interleaved, or as planes Y, U, V
// for three channels. The box of each picture is resized to out_height x out_width with antialiasing, then mirrored.
// out: as for tarflume_finish. Rows without a picture, or whose box is not within it, are zeros. Blocks have up to 256
// threads.
extern "C" __global__ void __launch_bounds__(256, 2) tarflume_draw(
    const Byte *heads, Count head_stride, const Byte *store, Count store_stride, Count store_rows, void *out, Count rows,
    Bits32 out_height, Bits32 out_width, Bits32 channels, Bits32 layout, Bits32 element, float scale_0, float scale_1,
    float scale_2, float scale_3, float shift_0, float shift_1, float shift_2, float shift_3)
{
    __shared__ Tile tile;
    __shared__ Output to; // as the drawing is: the first row's barrier makes it visible
    Batch batch = {heads, head_stride, store, store_stride, store_rows};
    if (threadIdx.x == 0)
        to = output(out, (Count)out_height * out_width, layout, element, scale_0, scale_1, scale_2, scale_3, shift_0,
                    shift_1, shift_2, shift_3);
    if (channels == 1) draw<1>(tile, batch, to, rows, out_height, out_width);
    else if (channels == 3) draw<3>(tile, batch, to, rows, out_height, out_width);
    else if (channels == 4) draw<4>(tile, batch, to, rows, out_height, out_width);
}
