//! GIF: selects the screen, its colors and the first frame.
//!
//! Profiles, texts and comments are hidden from the decoder, which would collect them in memory.

use std::ops::Range;

use super::bytes::le16;
use super::pieces::Pieces;
use crate::picture::geometry::ImageSize;

/// Bytes before the color table of the screen.
const SCREEN: usize = 13;
/// Bytes of the decoder's buffers for any picture.
const BUFFERS: u64 = 256 << 10;

/// The file without everything that the first frame does not need.
pub(super) fn pieces(bytes: &[u8]) -> Pieces<'_> {
    Pieces::new(bytes, next_needed)
}

/// Bytes that the decoder allocates in addition to the pixels. A frame may be larger than the screen and is
/// decoded whole: one index and four bytes for each pixel.
pub(super) fn beside(bytes: &[u8]) -> u64 {
    first_frame(bytes).map_or(0, ImageSize::pixels).saturating_mul(5).saturating_add(BUFFERS)
}

/// The size of the first frame.
fn first_frame(bytes: &[u8]) -> Option<ImageSize> {
    let mut at = screen(bytes)?;
    loop {
        match bytes.get(at)? {
            0x2c => return Some(ImageSize::new(le16(bytes, at + 5)?, le16(bytes, at + 7)?)),
            0x21 => at = extension(bytes, at)?,
            _ => at += 1,
        }
    }
}

/// The end of the screen's color table.
fn screen(bytes: &[u8]) -> Option<usize> {
    let flags = *bytes.get(10)?;
    let colors = if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) };
    Some(SCREEN + colors)
}

/// The end of the extension at `at`.
fn extension(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 2;
    loop {
        let length = usize::from(*bytes.get(at)?);
        at += 1 + length;
        if length == 0 {
            return Some(at);
        }
    }
}

/// Selects the screen, then graphic control extensions, then everything from the first frame.
fn next_needed(bytes: &[u8], mut at: usize) -> Option<Range<usize>> {
    if at == 0 {
        return Some(0..screen(bytes).unwrap_or(SCREEN).min(bytes.len()));
    }
    while bytes.get(at) == Some(&0x21) {
        let Some(end) = extension(bytes, at) else { break };
        if bytes[at + 1] == 0xf9 {
            return Some(at..end);
        }
        at = end;
    }
    (at < bytes.len()).then_some(at..bytes.len())
}
