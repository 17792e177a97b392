//! Offsets, sizes and names of the sidecar's fields, shared by encoder and reader.
//!
//! Constants only; FORMAT.md explains each field.

/// The first eight bytes. The high bit and the line ends show a transfer that was not binary.
pub const MAGIC: [u8; 8] = *b"\x89TFIDX\r\n";
/// The version of the fixed part and of the sections that every reader must know.
pub const VERSION: u32 = 1;
/// The byte order mark, always stored little-endian.
pub const BYTE_ORDER: u32 = 0x0102_0304;
/// Bytes of the fixed part.
pub const FIXED: usize = 96;
/// Bytes of one entry of the section table.
pub const SECTION: usize = 24;
/// The body is checked in blocks of this many bytes, each on its first use.
pub const CHECK_BLOCK: usize = 16 * 1024;
/// The body and each section begin at a multiple of this.
pub(crate) const ALIGN: usize = 64;
/// Headers and data of a tar begin at a multiple of this.
pub(crate) const TAR_BLOCK: u64 = 512;
/// Limit on the number of sections; a larger count is refused as damage.
pub(crate) const MAX_SECTIONS: u32 = 1024;

/// Offsets of the fields of the fixed part.
pub mod at {
    /// `u32` version.
    pub const VERSION: usize = 8;
    /// `u32` byte order mark.
    pub const BYTE_ORDER: usize = 12;
    /// `u64` length of the sidecar.
    pub const FILE_LENGTH: usize = 16;
    /// `u64` length of the tar.
    pub const TAR_LENGTH: usize = 24;
    /// 32 bytes blake3 of the tar, zeros where flag `DIGEST` is not set.
    pub(crate) const TAR_DIGEST: usize = 32;
    /// `u64` samples.
    pub const SAMPLES: usize = 64;
    /// `u64` parts.
    pub const PARTS: usize = 72;
    /// `u32` flags.
    pub const FLAGS: usize = 80;
    /// `u32` number of sections.
    pub const SECTIONS: usize = 84;
    /// `u32` where the body begins.
    pub const BODY: usize = 88;
    /// `u32` crc32c of everything before the body, computed with this field as zeros.
    pub const CHECKSUM: usize = 92;
}

/// Flag: the tar's blake3 is present.
pub(crate) const FLAG_DIGEST: u32 = 1;
/// All flags of this version; a file with others is refused.
pub(crate) const KNOWN_FLAGS: u32 = FLAG_DIGEST;
/// Section flag: a reader that does not know this section must refuse the file.
pub const SECTION_REQUIRED: u32 = 1;

/// The four letters that name a section.
pub type SectionName = [u8; 4];
/// `samples + 1` records of three `u64`: first byte of the sample, start in `keys`, first part.
pub const ROWS: SectionName = *b"rows";
/// The keys' bytes, concatenated.
pub const KEYS: SectionName = *b"keys";
/// One record per part of two `u64`: byte of the data in the tar, length.
pub const SPANS: SectionName = *b"span";
/// One `u32` per part: crc32c of its data. May be absent.
pub const CHECKSUMS: SectionName = *b"csum";
/// One `u16` per part: the number of its extension in `exts`.
pub const EXT_IDS: SectionName = *b"extn";
/// `u32` n, then `u32` x (n + 1) starts, then the extensions' bytes.
pub const EXTS: SectionName = *b"exts";
/// Two `u32` per sample: width and height of its first image, zeros if unknown. May be absent.
pub const DIMS: SectionName = *b"dims";
/// One `u32` per sample: the rows in the order of their keys. Absent if rows are in that order.
pub const KEY_ORDER: SectionName = *b"ordr";
/// One `u32` per part, and one more: the starts of entry points in `jpgb`, and their end. Present
/// if any part has entry points.
pub const POINT_STARTS: SectionName = *b"jpgs";
/// The concatenated entry points of JPEG parts. Present if `jpgs` is.
pub const POINTS: SectionName = *b"jpgb";
/// One `u32` per part, and one more: the starts of checksums of strips in `stpb`, and their end. Present if any part
/// has them.
pub const STRIP_STARTS: SectionName = *b"stps";
/// The concatenated checksums of the strips of JPEG parts. Present if `stps` is.
pub const STRIPS: SectionName = *b"stpb";

/// One record per frame of a compressed shard, and one more, of two `u64`: where the frame begins in the file, and in
/// the tar. Present if the shard is compressed; a reader that does not know it must refuse the sidecar.
pub(crate) const FRAMES: SectionName = *b"fram";

/// The typed columns: names, types, and where their values are in `vals`. Present if there are any.
pub const COLUMNS: SectionName = *b"cols";
/// The values of the typed columns. Present if `cols` is.
pub const VALUES: SectionName = *b"vals";

/// Limit on the number of typed columns.
pub const MAX_COLUMNS: usize = 4096;
/// Bytes of one record of `fram`.
pub(crate) const FRAME: usize = 16;
/// Bytes of one record of `rows`.
pub const ROW: usize = 24;
/// Bytes of one record of `span`.
pub const SPAN: usize = 16;
/// Bytes of one record of `dims`.
pub const DIM: usize = 8;
/// Bytes of one record of `jpgs` and `stps`.
pub const BLOB_START: usize = 4;
/// Limit on the bytes of `jpgb` and of `stpb`.
pub(crate) const MAX_BLOBS: u32 = u32::MAX;

/// Rounds up to the alignment of sections.
pub const fn aligned(n: usize) -> usize {
    n.next_multiple_of(ALIGN)
}
