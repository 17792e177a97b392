//! JPEGs in a TIFF: whether each is as large as its strip or tile, asked of the decoder that will read it.
//!
//! The decoder of TIFFs puts the shared tables in front of a strip, without the marks between, and hands both to
//! zune-jpeg. So the same bytes are handed to it here; another parser might find another frame in them.

use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;

use super::bytes::part;

/// Most bytes of a JPEG in front of its first code; what is looked at of a longer one.
const HEAD: usize = 512 << 10;
/// Bytes that all JPEGs together may have, beside four times those of the file: in some files the same one is
/// many tiles.
const REPEATED: u64 = 64 << 20;
/// Most components of a picture.
const COMPONENTS: u8 = 4;

/// The JPEGs of one picture.
pub(super) struct Jpegs<'a> {
    bytes: &'a [u8],
    tables: Option<&'a [u8]>,
    /// Width and height of a strip or tile.
    chunk: (u64, u64),
    longest: u64,
    /// Bytes of all so far, the tables with each.
    all: u64,
    /// The one that was looked at last.
    last: Option<(usize, u64)>,
    head: Vec<u8>,
}

impl<'a> Jpegs<'a> {
    /// None yet.
    ///
    /// # Errors
    /// The tables are shorter than their marks.
    pub(super) fn new(
        bytes: &'a [u8],
        tables: Option<&'a [u8]>,
        chunk: (u64, u64),
    ) -> Result<Jpegs<'a>, String> {
        if tables.is_some_and(|tables| tables.len() < 2) {
            return Err("the tables of the TIFF's JPEGs are cut".into());
        }
        Ok(Jpegs { bytes, tables, chunk, longest: 0, all: 0, last: None, head: Vec::new() })
    }

    /// Looks at the next one.
    ///
    /// # Errors
    /// It is larger than its strip or tile, or its header can't be read; all are too long.
    pub(super) fn take(&mut self, place: usize, length: u64) -> Result<(), String> {
        let there = self.bytes.len().saturating_sub(place) as u64;
        let length = length.min(there);
        let tables = self.tables.map_or(0, <[u8]>::len) as u64;
        self.all = self.all.saturating_add(length + tables);
        if self.all > 4 * self.bytes.len() as u64 + REPEATED {
            let text = "the JPEGs of the TIFF lie upon each other: together they are more than four times as \
                        long as the file";
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
                self.head.clear();
                self.head.extend_from_slice(&tables[..tables.len() - 2]);
                self.head.extend_from_slice(head.get(2..).unwrap_or_default());
                size(&self.head)?
            }
        };
        let (width, height) = self.chunk;
        if size.0 > width.next_multiple_of(16) || size.1 > height.next_multiple_of(16) {
            return Err(format!(
                "a JPEG of {}x{} pixels stands in a strip or tile of {width}x{height}",
                size.0, size.1
            ));
        }
        Ok(())
    }

    /// The most bytes that the largest takes to be decoded: pixels, all coefficients, some lines, and the data,
    /// copied.
    pub(super) fn memory(&self) -> u64 {
        let (width, height) = (self.chunk.0 + 31, self.chunk.1 + 31);
        let pixels = width.saturating_mul(height).saturating_mul(20);
        pixels.saturating_add(2048 * width).saturating_add(4 * self.longest)
    }
}

/// Width and height of a JPEG, from its first bytes.
fn size(head: &[u8]) -> Result<(u64, u64), String> {
    let mut decoder = JpegDecoder::new(ZCursor::new(head));
    let read = decoder.decode_headers().map_err(|e| format!("{e:?}"));
    let told = |why| format!("a JPEG in the TIFF has no readable header: {why}");
    read.map_err(told)?;
    let info = decoder.info().ok_or_else(|| told("it has no frame".into()))?;
    if info.components > COMPONENTS {
        return Err(told(format!("it has {} components", info.components)));
    }
    Ok((info.width.into(), info.height.into()))
}
