//! GIF: the screen, its colors and the first frame.
//!
//! Profiles, texts and comments are never handed to the decoder, which would collect them.

use std::ops::Range;

use super::bytes::le16;
use super::pieces::Pieces;
use crate::picture::geometry::ImageSize;

/// Bytes before the colors of the screen.
const SCREEN: usize = 13;
/// The decoder's buffers, whatever the picture.
const BUFFERS: u64 = 256 << 10;

/// The file without what the first frame is not made of.
pub(super) fn pieces(bytes: &[u8]) -> Pieces<'_> {
    Pieces::new(bytes, next_needed)
}

/// Bytes that the decoder takes beside the pixels. A frame may be larger than the screen, and is then
/// decoded whole: indices, and four bytes a pixel.
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

/// Where the screen's colors end.
fn screen(bytes: &[u8]) -> Option<usize> {
    let flags = *bytes.get(10)?;
    let colors = if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) };
    Some(SCREEN + colors)
}

/// Where the extension at `at` ends.
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

/// The screen, then what says how a frame is shown, then all from the first frame on.
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
