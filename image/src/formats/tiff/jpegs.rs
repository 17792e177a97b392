//! JPEGs in a TIFF: checks with zune-jpeg, which will decode it, that each is no larger than its strip or tile.
//!
//! The TIFF decoder concatenates the shared tables and a strip, without the markers between them, and passes the
//! result to zune-jpeg. This module passes the same bytes, because another parser might find a different frame header.

use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;

use crate::formats::input::bytes::part;

/// Maximum bytes of a JPEG before its first code; only these are parsed.
const HEAD: usize = 512 << 10;
/// Allowance in bytes for all JPEGs together, in addition to four times the file: in some files one JPEG is
/// used for many tiles.
const REPEATED: u64 = 64 << 20;
/// Maximum components of a picture.
const COMPONENTS: u8 = 4;

/// The size of a strip or tile, or of a JPEG in it, in pixels. A file can declare more than 32 bits.
#[derive(Debug, Clone, Copy)]
pub(in crate::formats) struct ChunkSize {
    pub(in crate::formats) width: u64,
    pub(in crate::formats) height: u64,
}

/// The JPEGs of one picture.
pub(in crate::formats) struct TiffJpegs<'a> {
    bytes: &'a [u8],
    tables: Option<&'a [u8]>,
    chunk: ChunkSize,
    longest: u64,
    /// Bytes of all JPEGs so far, each with the tables.
    all: u64,
    /// The last JPEG that was checked: offset and length.
    last: Option<(usize, u64)>,
    head: Vec<u8>,
}

impl<'a> TiffJpegs<'a> {
    /// Prepares the check.
    ///
    /// # Errors
    /// Returns a message if the tables are shorter than their markers.
    pub(in crate::formats) fn new(
        bytes: &'a [u8],
        tables: Option<&'a [u8]>,
        chunk: ChunkSize,
    ) -> Result<TiffJpegs<'a>, String> {
        if tables.is_some_and(|tables| tables.len() < 2) {
            return Err("the tables of the TIFF's JPEGs are truncated".into());
        }
        Ok(TiffJpegs { bytes, tables, chunk, longest: 0, all: 0, last: None, head: Vec::new() })
    }

    /// Checks the next JPEG.
    ///
    /// # Errors
    /// Returns a message if it is larger than its strip or tile, if its header cannot be read, or if all JPEGs together
    /// are too long.
    pub(in crate::formats) fn take(&mut self, place: usize, length: u64) -> Result<(), String> {
        let available = self.bytes.len().saturating_sub(place) as u64;
        let length = length.min(available);
        let tables = self.tables.map_or(0, <[u8]>::len) as u64;
        self.all = self.all.saturating_add(length + tables);
        if self.all > 4 * self.bytes.len() as u64 + REPEATED {
            let text = "the JPEGs of the TIFF overlap: together they are more than four times as long as the \
                        file";
            return Err(text.into());
        }
        if self.last.replace((place, length)) == Some((place, length)) {
            return Ok(());
        }
        self.longest = self.longest.max(length + tables);
        let jpeg = part(self.bytes, place, length as usize).unwrap_or_default();
        let head = &jpeg[..jpeg.len().min(HEAD)];
        let size = match self.tables {
            None => size(head)?,
            Some(tables) => {
                // Without EOI (the tables' last two bytes) and SOI (the JPEG's first two).
                self.head.clear();
                self.head.extend_from_slice(&tables[..tables.len() - 2]);
                self.head.extend_from_slice(head.get(2..).unwrap_or_default());
                size(&self.head)?
            }
        };
        let ChunkSize { width, height } = self.chunk;
        if size.width > width.next_multiple_of(16) || size.height > height.next_multiple_of(16) {
            return Err(format!(
                "a JPEG of {}x{} pixels is in a strip or tile of {width}x{height}",
                size.width, size.height
            ));
        }
        Ok(())
    }

    /// Maximum bytes for decoding the largest JPEG: pixels, all coefficients, some lines, and a copy of the data.
    pub(in crate::formats) fn memory(&self) -> u64 {
        let width = self.chunk.width + 31;
        let height = self.chunk.height + 31;
        let pixels = width.saturating_mul(height).saturating_mul(20);
        pixels.saturating_add(2048 * width).saturating_add(4 * self.longest)
    }
}

/// The size of a JPEG, from its first bytes.
fn size(head: &[u8]) -> Result<ChunkSize, String> {
    fn unreadable(why: String) -> String {
        format!("a JPEG in the TIFF has no readable header: {why}")
    }

    let mut decoder = JpegDecoder::new(ZCursor::new(head));
    let read = decoder.decode_headers().map_err(|e| format!("{e:?}"));
    read.map_err(unreadable)?;
    let info = decoder.info().ok_or_else(|| unreadable("it has no frame".into()))?;
    if info.components > COMPONENTS {
        return Err(unreadable(format!("it has {} components", info.components)));
    }
    Ok(ChunkSize { width: info.width.into(), height: info.height.into() })
}
