// Huffman codes of a part of a JPEG as coefficients, from its entry points. One block decodes a picture, one thread a
// piece between two entry points.
//
// Compiled after jpeg.cu, in one program with it. The host's half is jpeg/src/entropy. Nothing is concealed: an invalid
// code, a coefficient past the end of its block, a DC out of range, a restart marker that is not where it belongs, and a piece
// that does not end where the next one begins, at its bit and with its predictors, set the picture's fault. Its
// coefficients mean nothing then, and the host decodes it. Whatever the bytes and pieces are, nothing outside the
// picture's bytes is read, and nothing outside its blocks is written.

enum { LOOK_BITS = 10, LOOK = 1 << LOOK_BITS, MOST_DC_BITS = 11, MOST_AC_BITS = 10 };

// An entry has the length of a code above its symbol; 0: a longer code, or none.
struct CodeTable {
    Bits16 entries[LOOK];
    Byte symbols[256];
    Bits32 ends[17];  // by length: the first code behind the last one, left-aligned in 16 bits
    int places[17];   // by length: from a code to the number of its symbol
};

struct JpegTables {
    CodeTable dc[JPEG_TABLES], ac[JPEG_TABLES];
    Byte natural[64]; // where the coefficients of a block are that are stored in a zigzag
    Byte part_of[16]; // the component of each block of an MCU
};

// The place of a coefficient: along the diagonals, up and down in turns.
__device__ __forceinline__ Byte natural_of(Bits32 number)
{
    int row = 0, column = 0;
    for (Bits32 n = 0; n < number; n++) {
        bool up = (row + column) % 2 == 0;
        if (up) {
            if (column == 7) row++;
            else {
                column++;
                if (row) row--;
            }
        } else if (row == 7) column++;
        else {
            row++;
            if (column) column--;
        }
    }
    return (Byte)(8 * row + column);
}

__device__ __forceinline__ void set_lengths(const JpegCodes &codes, CodeTable &table)
{
    Bits32 code = 0, next = 0;
    table.ends[0] = 0;
    table.places[0] = 0;
    for (int length = 1; length <= 16; length++) {
        table.places[length] = (int)next - (int)code;
        code += codes.counts[length - 1];
        next += codes.counts[length - 1];
        table.ends[length] = code << (16 - length);
        code <<= 1;
    }
}

// The length of the code at the start of 16 bits; 17: none. Its symbol is at the place of its length.
__device__ __forceinline__ int length_of(const CodeTable &table, Bits32 bits, int from)
{
    int length = from;
    while (length <= 16 && bits >= table.ends[length]) length++;
    return length;
}

__device__ __forceinline__ Byte symbol_of(const CodeTable &table, Bits32 bits, int length)
{
    return table.symbols[(table.places[length] + (int)(bits >> (16 - length))) & 255];
}

__device__ __forceinline__ void set_entries(CodeTable &table)
{
    for (Bits32 entry = threadIdx.x; entry < LOOK; entry += blockDim.x) {
        // All codes up to this length that begin with these bits: those behind them do not count.
        Bits32 bits = entry << (16 - LOOK_BITS);
        int length = length_of(table, bits, 1);
        table.entries[entry] = length <= LOOK_BITS ? (Bits16)(length << 8 | symbol_of(table, bits, length)) : 0;
    }
}

// Writes all tables of a picture. Each thread has a part of the work.
__device__ __forceinline__ void set_tables(const JpegWork &work, JpegTables &tables)
{
    for (Bits32 n = threadIdx.x; n < 64; n += blockDim.x) tables.natural[n] = natural_of(n);
    for (int number = 0; number < JPEG_TABLES; number++)
        for (Bits32 n = threadIdx.x; n < 256; n += blockDim.x) {
            tables.dc[number].symbols[n] = work.dc[number].symbols[n];
            tables.ac[number].symbols[n] = work.ac[number].symbols[n];
        }
    if (threadIdx.x == 0) {
        for (int number = 0; number < JPEG_TABLES; number++) {
            set_lengths(work.dc[number], tables.dc[number]);
            set_lengths(work.ac[number], tables.ac[number]);
        }
        Bits32 block = 0;
        for (Bits32 part = 0; part < work.parts && part < JPEG_PARTS; part++)
            for (Bits32 n = 0; n < work.part[part].h * work.part[part].v && block < 16; n++)
                tables.part_of[block++] = (Byte)part;
        while (block < 16) tables.part_of[block++] = 0;
    }
    __syncthreads();
    for (int number = 0; number < JPEG_TABLES; number++) {
        set_entries(tables.dc[number]);
        set_entries(tables.ac[number]);
    }
    __syncthreads();
}

// ---------------------------------------------------------------- bits

// Reads bits of a part of a JPEG: a zero behind an ff is left out, and any other marker ends them.
struct BitReader {
    const Byte *bytes;
    Bits32 at, end;
    Count window; // the next bits, from the highest
    int bits;     // their number
    bool fault;

    __device__ __forceinline__ void fill()
    {
        while (bits <= 56 && at < end) {
            Byte byte = bytes[at];
            if (byte == 0xff) {
                if (at + 1 >= end || bytes[at + 1] != 0) return;
                at++;
            }
            at++;
            window |= (Count)byte << (56 - bits);
            bits += 8;
        }
    }
    // At least 32 bits, as far as there are any: enough for a code and its value.
    __device__ __forceinline__ Bits32 next()
    {
        if (bits < 32) fill();
        return (Bits32)(window >> 32);
    }
    __device__ __forceinline__ void take(int count)
    {
        if (count > bits) { // the data end here
            fault = true;
            count = bits;
        }
        window = count < 64 ? window << count : 0;
        bits -= count;
    }
    // Passes a restart marker, which must be behind the bits that fill the last byte.
    __device__ __forceinline__ void restart(Bits32 number)
    {
        fill();
        while (at + 1 < end && bytes[at] == 0xff && bytes[at + 1] == 0xff) at++;
        if (bits >= 8 || at + 1 >= end || bytes[at] != 0xff || bytes[at + 1] != 0xd0 + (number & 7u)) {
            fault = true;
            return;
        }
        at += 2;
        window = 0;
        bits = 0;
    }
    // Whether all is read but the lowest `left` bits of the last byte.
    __device__ __forceinline__ bool ended(int left)
    {
        fill();
        Bits32 rest = at;
        while (rest < end && bytes[rest] == 0xff) rest++;
        return !fault && bits == left && rest == end;
    }
};

// The symbol of the next code. Takes the code.
__device__ __forceinline__ Byte read_code(const CodeTable &table, BitReader &reader)
{
    Bits32 next = reader.next();
    Bits32 entry = table.entries[next >> (32 - LOOK_BITS)];
    if (entry) {
        reader.take((int)(entry >> 8));
        return (Byte)entry;
    }
    int length = length_of(table, next >> 16, LOOK_BITS + 1);
    if (length > 16) {
        reader.fault = true;
        return 0;
    }
    reader.take(length);
    return symbol_of(table, next >> 16, length);
}

// A value of `size` bits, at most 16. One that begins with 0 is negative.
__device__ __forceinline__ int read_value(BitReader &reader, int size)
{
    if (size == 0) return 0;
    int value = (int)(reader.window >> (64 - size));
    reader.take(size);
    return value >> (size - 1) ? value : value + 1 - (1 << size);
}

// ---------------------------------------------------------------- blocks

// Decodes a block into 64 coefficients in natural order, which are zeros; only passes it if `block` is null.
__device__ __forceinline__ void read_block(const JpegTables &tables, const JpegPart &part, BitReader &reader,
                                           int &predictor, short *block)
{
    int size = read_code(tables.dc[part.dc & 1u], reader);
    if (size > MOST_DC_BITS) {
        reader.fault = true;
        return;
    }
    predictor += read_value(reader, size);
    if (predictor != (short)predictor) {
        reader.fault = true;
        return;
    }
    if (block) block[0] = (short)predictor;
    const CodeTable &codes = tables.ac[part.ac & 1u];
    for (int number = 1; number < 64 && !reader.fault; number++) {
        int symbol = read_code(codes, reader), run = symbol >> 4;
        size = symbol & 15;
        if (size == 0 && run == 0) return;
        number += run;
        if (number > 63 || size > MOST_AC_BITS || (size == 0 && run != 15)) {
            reader.fault = true;
            return;
        }
        int value = read_value(reader, size);
        if (block) block[tables.natural[number]] = (short)value;
    }
}

// Decodes a piece. Returns whether it is right.
__device__ __forceinline__ bool read_piece(const JpegWork &work, const JpegTables &tables, const JpegPiece &piece,
                                           const Byte *bytes, short *coefficients)
{
    if (piece.end > work.length || piece.byte > piece.end || !work.mcus_across) return false;
    BitReader reader = {bytes, piece.byte, piece.end, 0, 0, false};
    if (piece.bits & 7u) {
        reader.next();
        reader.take((int)(piece.bits & 7u));
    }
    int predictors[JPEG_PARTS] = {piece.predictors[0], piece.predictors[1], piece.predictors[2]};
    Count all = (Count)work.mcus_across * work.mcus_down;
    for (Bits32 n = 0; n < piece.mcus && !reader.fault; n++) {
        Bits32 mcu = piece.mcu + n, row = mcu / work.mcus_across - work.row, column = mcu % work.mcus_across - work.column;
        bool needed = row < work.rows && column < work.columns;
        short *block = nullptr;
        if (needed) block = coefficients + ((Count)row * work.columns + column) * work.blocks_each * 64;
        for (Bits32 at = 0; at < work.blocks_each && at < 16; at++) {
            Bits32 part = tables.part_of[at];
            // An array that is indexed by a variable would not be kept in registers.
            int predictor = part == 0 ? predictors[0] : part == 1 ? predictors[1] : predictors[2];
            read_block(tables, work.part[part], reader, predictor, needed ? block + at * 64 : nullptr);
            if (part == 0) predictors[0] = predictor;
            else if (part == 1) predictors[1] = predictor;
            else predictors[2] = predictor;
        }
        Count behind = (Count)mcu + 1u;
        if (work.restart && behind % work.restart == 0 && behind < all) {
            reader.restart((Bits32)(behind / work.restart) - 1u);
            predictors[0] = predictors[1] = predictors[2] = 0;
        }
    }
    bool same = true;
    for (Bits32 part = 0; part < JPEG_PARTS; part++)
        if (part < work.parts) same &= predictors[part] == piece.ends[part];
    return same && reader.ended((int)(piece.bits >> 3 & 7u));
}

// records: of the pictures, stride bytes apart, a multiple of 8; coefficients: i16 [blocks, 64], in natural order, of the
// MCUs that are needed, row by row; faults: for each picture 1 if it is to be decoded otherwise, or 0. Blocks have up to
// 256 threads.
extern "C" __global__ void __launch_bounds__(256, 4) tarflume_huff(const Byte *records, Count stride,
                                                                short *coefficients, Bits32 *faults, Bits32 count)
{
    __shared__ JpegTables tables;
    for (Bits32 picture = blockIdx.x; picture < count; picture += gridDim.x) {
        const JpegWork &work = work_of(records, stride, picture);
        const Byte *record = records + picture * stride;
        const JpegPiece *pieces = (const JpegPiece *)(record + work.pieces);
        short *own = coefficients + work.blocks * 64;
        Count numbers = (Count)work.columns * work.rows * work.blocks_each * 64;
        for (Count n = (Count)threadIdx.x * 8; n < numbers; n += (Count)blockDim.x * 8) {
            Sixteen *eight = (Sixteen *)(own + n);
            *eight = Sixteen();
        }
        set_tables(work, tables); // ends with a barrier
        int fault = 0;
        for (Bits32 n = threadIdx.x; n < work.piece_count; n += blockDim.x)
            if (!read_piece(work, tables, pieces[n], record + work.bytes, own)) fault = 1;
        // The barrier is also the one before the tables of the next picture.
        fault = __syncthreads_or(fault);
        if (threadIdx.x == 0) faults[picture] = fault ? 1u : 0u;
    }
}
