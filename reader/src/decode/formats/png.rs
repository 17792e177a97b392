//! PNG: the chunks that pixels are made of, and the EXIF.
//!
//! Profiles, texts and frames of an animation are never handed to the decoder, which would inflate or
//! copy them.

use std::ops::Range;

use super::bytes::{array, be32};
use super::pieces::Pieces;

/// Bytes of the signature.
const SIGNATURE: usize = 8;
/// Bytes of a chunk beside its data: length, kind, checksum.
const AROUND: usize = 12;
/// The decoder's buffers, whatever the picture: for a chunk, the window of the compression and its
/// tables, and some rows.
const BUFFERS: u64 = 1 << 20;
/// Rows that the decoder may hold.
const ROWS: u64 = 32;

/// The file without what no pixel is made of.
pub(super) fn pieces(bytes: &[u8]) -> Pieces<'_> {
    Pieces::new(bytes, next_needed)
}

/// Bytes that the decoder takes beside the pixels, where a row of them has `row` bytes.
pub(super) fn beside(row: u64) -> u64 {
    row.saturating_mul(ROWS).saturating_add(BUFFERS)
}

/// The EXIF, if it stands before the pixels.
pub(super) fn exif(bytes: &[u8]) -> Option<&[u8]> {
    let mut at = SIGNATURE;
    while let Some((kind, chunk)) = chunk(bytes, at) {
        match &kind {
            b"eXIf" => return bytes.get(chunk.start + 8..(chunk.end - 4).max(chunk.start + 8)),
            b"IDAT" => return None,
            _ => at = chunk.end,
        }
    }
    None
}

/// The chunk at `at`: its kind, and all its bytes that are there.
fn chunk(bytes: &[u8], at: usize) -> Option<([u8; 4], Range<usize>)> {
    let length = be32(bytes, at)? as usize;
    let kind = array(bytes, at.checked_add(4)?)?;
    let end = at.saturating_add(AROUND).saturating_add(length).min(bytes.len());
    Some((kind, at..end))
}

/// The next chunk that pixels are made of; the signature first. What is no chunk goes on to the decoder,
/// which says so.
fn next_needed(bytes: &[u8], mut at: usize) -> Option<Range<usize>> {
    if at == 0 {
        return Some(0..SIGNATURE.min(bytes.len()));
    }
    while let Some((kind, chunk)) = chunk(bytes, at) {
        // A capital first letter: no decoder may leave it out.
        if kind[0].is_ascii_uppercase() || &kind == b"tRNS" {
            return Some(chunk);
        }
        at = chunk.end;
    }
    (at < bytes.len()).then_some(at..bytes.len())
}
