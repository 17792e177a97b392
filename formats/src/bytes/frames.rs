//! Frames of zstd that hold pieces of a tar, and the table that finds them: a *seekable* zstd file.
//!
//! Each frame is decompressed by itself; any zstd program decompresses all of them in order. The table is a skippable
//! frame at the end of the file, as the seekable format of zstd (contrib/seekable_format, version 0.1.0) has it. No I/O.

use std::ops::Range;
use std::{error, fmt, io};

use crate::bytes::le::u32_at;
use crate::bytes::zstd_codec::decompress_into;
use crate::errors::error::{Error, ErrorKind, Result};
use crate::message;
use crate::message::{Call, Task};

/// Limit on the decompressed bytes of one frame, and so on the memory that reading a byte takes.
pub(crate) const FRAME_MAX: usize = 8 << 20;

/// The first bytes of a frame.
const MAGIC: [u8; 4] = 0xfd2f_b528_u32.to_le_bytes();
/// The first bytes of the skippable frame with the table.
const TABLE_MAGIC: u32 = 0x184d_2a5e;
/// The last bytes of the table.
const FOOTER_MAGIC: u32 = 0x8f92_eab1;
/// Bytes of the table after its entries: their number, a descriptor, the magic number.
const FOOTER: usize = 9;
/// Limit on a block of a frame.
const BLOCK_MAX: usize = 128 << 10;

/// Where a frame is in the file, and which bytes of the tar it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Bytes of the file.
    pub file: Range<u64>,
    /// Bytes of the tar.
    pub data: Range<u64>,
}

/// Appends `data` to `out` as a frame whose blocks are not compressed.
///
/// RFC 8878, section 3.1: a frame of one segment with a content size of four bytes, raw blocks, and the lower half of
/// the XXH64 of the content.
pub(crate) fn store(data: &[u8], out: &mut Vec<u8>) {
    debug_assert!(data.len() <= FRAME_MAX, "the size field has four bytes");
    out.extend_from_slice(&MAGIC);
    out.push(0b1010_0100);
    out.extend_from_slice(&(data.len() as u32).to_le_bytes());
    let mut blocks = data.chunks(BLOCK_MAX).peekable();
    if data.is_empty() {
        out.extend_from_slice(&[1, 0, 0]);
    }
    while let Some(block) = blocks.next() {
        let header = (block.len() as u32) << 3 | u32::from(blocks.peek().is_none());
        out.extend_from_slice(&header.to_le_bytes()[..3]);
        out.extend_from_slice(block);
    }
    let sum = twox_hash::XxHash64::oneshot(0, data);
    out.extend_from_slice(&sum.to_le_bytes()[..4]);
}

/// Decompresses one frame into `into`, whose length is that of its content.
///
/// # Errors
/// Returns [`ErrorKind::Damaged`] if the bytes are not one whole frame of this length, and [`ErrorKind::Unsupported`]
/// without the feature `zstd`.
pub fn decompress(frame: &[u8], into: &mut [u8]) -> Result<()> {
    let length = decompress_some(frame, into)?;
    if length == into.len() {
        return Ok(());
    }
    Err(damaged_frame(format!("it has {length} bytes, not {}", into.len())))
}

/// Decompresses frames into the start of `into`; returns the number of bytes.
///
/// # Errors
/// Returns [`ErrorKind::Damaged`] if the bytes are no whole frames, or their content is longer than `into`, and
/// [`ErrorKind::Unsupported`] without the feature `zstd`.
pub fn decompress_some(frames: &[u8], into: &mut [u8]) -> Result<usize> {
    decompress_into(frames, into).map_err(|e| match e.kind() {
        io::ErrorKind::Unsupported => Error::new(ErrorKind::Unsupported, e.to_string()),
        _ => damaged_frame(e.to_string()),
    })
}

fn damaged_frame(why: String) -> Error {
    Error::new(ErrorKind::Damaged, format!("its zstd frame is damaged: {why}"))
}

/// The error of a zstd stream whose window is larger than its decoder permits. Such a stream is whole: it was compressed
/// with `zstd --long=28` or more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LargeWindow;

impl LargeWindow {
    /// The longest window that readers of whole files permit, as a power of two: 128 MiB, the limit of `zstd -d`.
    pub const LOG: u32 = 27;

    /// What a user can do about a stream that a decoder of 128 MiB refuses.
    pub const REMEDY: &str = "it is zstd data with a window of more than 128 MiB (`zstd --long=28` and more); decompress \
                              it with `zstd -d --long=31`, or compress it again without --long";

    /// Returns true if a reader of such a stream has failed for its window.
    pub fn is(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.is::<LargeWindow>())
    }
}

impl fmt::Display for LargeWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the window of the zstd data is larger than its decoder permits")
    }
}

impl error::Error for LargeWindow {}

/// Returns the table of these frames as a skippable frame.
///
/// # Errors
/// Returns [`ErrorKind::Limit`] for more frames than its fields can count.
pub(crate) fn encode_table(frames: &[(u64, u64)]) -> Result<Vec<u8>> {
    let length = frames.len().checked_mul(8).and_then(|n| n.checked_add(FOOTER));
    let length = length.and_then(|length| u32::try_from(length).ok()).ok_or_else(|| {
        Error::new(ErrorKind::Limit, "a shard of more frames than a table can count")
    })?;
    let mut out = Vec::with_capacity(length as usize + 8);
    out.extend_from_slice(&TABLE_MAGIC.to_le_bytes());
    out.extend_from_slice(&length.to_le_bytes());
    let mut file = 0;
    let mut data = 0;
    for &(file_end, data_end) in frames {
        // A frame has at most `FRAME_MAX` bytes, and little more after compression.
        out.extend_from_slice(&((file_end - file) as u32).to_le_bytes());
        out.extend_from_slice(&((data_end - data) as u32).to_le_bytes());
        file = file_end;
        data = data_end;
    }
    out.extend_from_slice(&(frames.len() as u32).to_le_bytes());
    out.push(0); // no checksums: each frame ends with its own
    out.extend_from_slice(&FOOTER_MAGIC.to_le_bytes());
    Ok(out)
}

/// Returns the number of bytes of the table that ends a file; `last` are its last nine bytes.
///
/// # Errors
/// Returns [`ErrorKind::WrongFormat`] if the file ends with no table.
pub fn table_length(last: [u8; FOOTER]) -> Result<u64> {
    if u32_at(&last, 5) != FOOTER_MAGIC || last[4] & 0x7c != 0 {
        let text = message!(
            "this zstd file has no table of frames, so none of its bytes can be found without \
             decompressing all before them; `{reshard}` packs its samples into other shards";
            reshard = Call::of(Task::Reshard)
        );
        return Err(Error::new(ErrorKind::WrongFormat, text));
    }
    Ok(u64::from(u32_at(&last, 0)) * entry_length(last[4]) + FOOTER as u64 + 8)
}

/// Returns the bytes of an entry: with or without checksum.
fn entry_length(descriptor: u8) -> u64 {
    if descriptor & 0x80 == 0 { 8 } else { 12 }
}

/// Reads the table that ends a file of `length` bytes.
///
/// # Errors
/// Returns [`ErrorKind::Damaged`] if it does not describe the file.
pub fn decode_table(table: &[u8], length: u64) -> Result<Vec<Frame>> {
    let Some(last) = table.last_chunk::<FOOTER>().filter(|_| table.len() >= FOOTER + 8) else {
        return Err(damaged("it is too short", table, length));
    };
    if table_length(*last)? != table.len() as u64
        || u32_at(table, 0) != TABLE_MAGIC
        || u32_at(table, 4) as usize != table.len() - 8
    {
        return Err(damaged("its length differs from the one that it states", table, length));
    }
    let mut frames = Vec::new();
    let mut file = 0u64;
    let mut data = 0u64;
    for entry in table[8..table.len() - FOOTER].chunks_exact(entry_length(last[4]) as usize) {
        let ends = (file + u64::from(u32_at(entry, 0)), data + u64::from(u32_at(entry, 4)));
        if u32_at(entry, 4) as usize > FRAME_MAX {
            return Err(damaged("a frame has more than 8 MiB", table, length));
        }
        frames.push(Frame { file: file..ends.0, data: data..ends.1 });
        (file, data) = ends;
    }
    if file + table.len() as u64 != length {
        return Err(damaged("the frames do not fill the file", table, length));
    }
    Ok(frames)
}

fn damaged(why: &str, table: &[u8], length: u64) -> Error {
    let text = format!("the table of frames at the end of the file is damaged: {why}");
    Error::new(ErrorKind::Damaged, text).with_byte(length.saturating_sub(table.len() as u64))
}

/// Extensions of parts that are compressed already: they are stored. In byte order.
const STORED: [&str; 33] = [
    "7z", "aac", "avi", "avif", "bz2", "flac", "gif", "gz", "heic", "heif", "jp2", "jpeg", "jpg",
    "jxl", "lz4", "m4a", "mkv", "mov", "mp3", "mp4", "mpeg", "mpg", "npz", "ogg", "opus",
    "parquet", "png", "tgz", "webm", "webp", "xz", "zip", "zst",
];

/// Returns true if parts with this extension are stored and not compressed again. The words after the last dot
/// decide: `depth.png` is stored.
pub(crate) fn is_stored(ext: &[u8]) -> bool {
    let last = ext.rsplit(|&b| b == b'.').next().unwrap_or(ext);
    STORED.iter().any(|stored| stored.as_bytes() == last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "zstd is a C library")]
    fn a_stored_frame_is_read_by_zstd() {
        for length in [0, 1, 511, BLOCK_MAX - 1, BLOCK_MAX, BLOCK_MAX + 1, 1_000_000, FRAME_MAX] {
            let data: Vec<u8> = (0..length).map(|n| (n * 7 / 3) as u8).collect();
            let mut frame = Vec::new();
            store(&data, &mut frame);
            assert!(frame.len() <= length + 16 + 3 * length.div_ceil(BLOCK_MAX));
            assert!(zstd::decode_all(&frame[..]).unwrap() == data, "{length}");
            let mut read = vec![0; length];
            decompress(&frame, &mut read).unwrap();
            assert!(read == data);
            if length > 0 {
                let middle = frame.len() / 2;
                frame[middle] ^= 1;
                assert!(decompress(&frame, &mut read).is_err(), "the checksum detects one bit");
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "zstd is a C library")]
    fn a_table_is_read_back_and_each_lie_in_it_is_found() {
        let table = encode_table(&[(10, 100), (10, 100), (300, 4096)]).unwrap();
        let length = 300 + table.len() as u64;
        let frames = decode_table(&table, length).unwrap();
        assert_eq!(frames[2], Frame { file: 10..300, data: 100..4096 });
        assert_eq!(table_length(*table.last_chunk().unwrap()).unwrap(), table.len() as u64);
        assert!(decode_table(&table, length + 1).is_err());
        for at in [0, 4, 8, table.len() - 9, table.len() - 1] {
            let mut wrong = table.clone();
            wrong[at] ^= 4;
            assert!(decode_table(&wrong, length).is_err(), "byte {at}");
        }
    }
}
