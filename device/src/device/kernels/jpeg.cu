// JPEGs of a batch, decoded on the device: what the three kernels in huff.cu and pixels.cu share.
//
// Compiled after convert.cu and resample.cu, in one program with them. The host's half is jpeg/src/decoding/offload.rs,
// which computes all numbers here from header, scale and region: how components are arranged is decided in one place.
// Integers only.
//
// A record has all that is needed of a picture: a JpegWork, its pieces, and the bytes that hold their codes.

// A component.
struct JpegPart {
    Bits32 h, v;            // blocks of an MCU, across and down
    Bits32 block;           // samples of a block, across and down: 8, 4, 2 or 1
    Bits32 width, height;   // samples of the whole picture
    Bits32 across, down;    // pixels of a sample
    Bits32 fancy;           // 1: upsampled with the neighbors, 0: repeated
    Bits32 samples;         // its first sample, from the picture's first
    Bits32 quant, dc, ac;   // its tables: of divisors, of codes
};

// The codes of a table: how many there are of each length, and their symbols.
struct JpegCodes {
    Byte counts[16];
    Byte symbols[256];
};

enum { JPEG_PARTS = 3, JPEG_TABLES = 2 };

// A picture, or the part of it that a region needs.
struct JpegWork {
    Count bytes;      // the first byte of its codes, from the first of the record
    Count blocks;     // its first block among the coefficients
    Count samples;    // its first sample, a multiple of 16
    Count pixels;     // its first byte in the output
    Bits32 length;    // bytes of its codes
    Bits32 pieces, piece_count;     // its first piece, in bytes from the first of the record, and their number
    Bits32 mcus_across, mcus_down;  // of the whole picture
    Bits32 column, columns, row, rows; // MCUs that are needed: the first and their number
    Bits32 blocks_each;             // blocks of an MCU
    Bits32 restart;                 // MCUs between restart markers, or 0
    Bits32 parts;                   // components: 1 or 3
    Bits32 channels;                // of the output: 1 or 3
    Bits32 ycc;                     // 1: luma and chroma
    Bits32 left, top, width, height; // the region in pixels, at the scale
    JpegPart part[JPEG_PARTS];
    Bits16 quant[JPEG_PARTS][64];   // divisors in natural order
    JpegCodes dc[JPEG_TABLES], ac[JPEG_TABLES];
};
static_assert(sizeof(JpegWork) == 4 * 8 + 18 * 4 + 3 * 48 + 3 * 128 + 4 * 272, "as the host writes it");

// The codes between two entry points.
struct JpegPiece {
    Bits32 byte, end;     // its first byte, and the end of those that hold its bits, from the picture's first byte
    Bits32 mcu, mcus;     // the number of its first MCU in the picture, and the number of MCUs
    Bits32 bits;          // taken from the first byte, plus 8 times those that are left of the last one
    short predictors[3], ends[3]; // the DC of each component's last block: before it, and at its end
};
static_assert(sizeof(JpegPiece) == 32, "as the host writes it");

__device__ __forceinline__ const JpegWork &work_of(const Byte *records, Count stride, Bits32 picture)
{
    return *(const JpegWork *)(records + picture * stride);
}
