//! PNG: selects the chunks that pixels need, and finds the palette.
//!
//! Profiles, texts and animation frames are hidden from the decoder, which would decompress or copy them.

#[cfg(feature = "png")]
pub(super) mod metadata;

use std::iter;
use std::ops::Range;

use super::input::bytes::{array, be32};
use super::input::pieces::Pieces;

/// Bytes of the signature.
const SIGNATURE: usize = 8;
/// Bytes of a chunk in addition to its data: length, type, checksum.
const AROUND: usize = 12;
/// Bytes of a chunk before its data, and after it.
const BEFORE: usize = 8;
const AFTER: usize = 4;
/// Where the header has the kind of colors, and the kind that is a palette.
const COLOR: usize = 25;
const PALETTE: u8 = 3;
/// Bytes of the decoder's buffers for any picture: a chunk, the decompression window and its tables, and some
/// rows.
const BUFFERS: u64 = 1 << 20;
/// Maximum rows that the decoder holds.
const ROWS: u64 = 32;

/// The file without chunks that pixels do not need.
pub(super) fn pieces(bytes: &[u8]) -> Pieces<'_> {
    Pieces::new(bytes, next_needed)
}

/// Bytes that the decoder allocates in addition to the pixels, if a row has `row` bytes.
pub(super) fn beside(row: u64) -> u64 {
    row.saturating_mul(ROWS).saturating_add(BUFFERS)
}

/// The colors of a palette, three bytes each; `None` if the picture has none.
pub(super) fn palette(bytes: &[u8]) -> Option<&[u8]> {
    (bytes.get(COLOR) == Some(&PALETTE)).then_some(())?;
    chunks(bytes).find(|(kind, _)| kind == b"PLTE").map(|(_, colors)| colors)
}

/// The chunks up to the end marker: types, and data as far as the file contains them.
pub(super) fn chunks(bytes: &[u8]) -> impl Iterator<Item = ([u8; 4], &[u8])> {
    let mut at = SIGNATURE;
    iter::from_fn(move || {
        let (kind, chunk) = chunk(bytes, at).filter(|(kind, _)| kind != b"IEND")?;
        at = chunk.end;
        let start = chunk.start + BEFORE;
        Some((kind, &bytes[start..chunk.end.saturating_sub(AFTER).max(start)]))
    })
}

/// The chunk at `at`: its type, and its bytes as far as the file contains them.
fn chunk(bytes: &[u8], at: usize) -> Option<([u8; 4], Range<usize>)> {
    let length = be32(bytes, at)? as usize;
    let kind = array(bytes, at.checked_add(4)?)?;
    let end = at.saturating_add(AROUND).saturating_add(length).min(bytes.len());
    Some((kind, at..end))
}

/// Selects the signature, then the chunks that pixels need. Bytes that are not a chunk are passed to the decoder,
/// which reports the error.
fn next_needed(bytes: &[u8], mut at: usize) -> Option<Range<usize>> {
    if at == 0 {
        return Some(0..SIGNATURE.min(bytes.len()));
    }
    while let Some((kind, chunk)) = chunk(bytes, at) {
        // An upper-case first letter marks a critical chunk (PNG specification, 5.4).
        if kind[0].is_ascii_uppercase() || &kind == b"tRNS" {
            return Some(chunk);
        }
        at = chunk.end;
    }
    (at < bytes.len()).then_some(at..bytes.len())
}
