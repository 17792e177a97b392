//! WebP: whether what is decoded is as large as the file says, and its EXIF.
//!
//! The decoder makes room for a bitstream's own size before it compares it with the picture's.

use std::ops::Range;

use super::bytes::{array, le16, le24, le32, part};
use crate::decode::geometry::Size;

/// Bytes before the first chunk.
const RIFF: usize = 12;
/// Bytes of a frame of an animation before its chunks.
const FRAME: usize = 16;
/// The decoder's buffers, whatever the picture.
const BUFFERS: u64 = 512 << 10;

/// What a file's chunks say.
#[derive(Debug, Default)]
pub(super) struct Chunks<'a> {
    pub(super) exif: Option<&'a [u8]>,
    /// The size of the picture, if a chunk says it.
    canvas: Option<Size>,
    /// The largest sides of a bitstream.
    width: u32,
    height: u32,
    /// Bytes of the longest bitstream.
    longest: u64,
    opacity: bool,
    animated: bool,
}

impl<'a> Chunks<'a> {
    /// Those of a file, and of its first frame if it is an animation.
    pub(super) fn of(bytes: &'a [u8]) -> Chunks<'a> {
        let mut chunks = Chunks::default();
        chunks.walk(bytes, RIFF..bytes.len());
        chunks
    }

    fn walk(&mut self, bytes: &'a [u8], within: Range<usize>) {
        let mut at = within.start;
        while let Some((kind, data)) = chunk(bytes, at).filter(|_| at < within.end) {
            self.take(bytes, kind, data.clone());
            at = data.end.saturating_add(data.len() & 1);
        }
    }

    fn take(&mut self, bytes: &'a [u8], kind: [u8; 4], data: Range<usize>) {
        let content = &bytes[data.clone()];
        match &kind {
            b"VP8X" => self.canvas = canvas(content),
            b"EXIF" => self.exif = self.exif.or(Some(content)),
            b"VP8 " => self.bitstream(lossy(content), content.len()),
            b"VP8L" => self.bitstream(lossless(content), content.len()),
            b"ALPH" => self.opacity = true,
            b"ANMF" if !self.animated => {
                self.animated = true;
                self.walk(bytes, data.start.saturating_add(FRAME)..data.end);
            }
            _ => {}
        }
    }

    fn bitstream(&mut self, size: Option<Size>, length: usize) {
        let Size { width, height } = size.unwrap_or(Size::new(0, 0));
        self.width = self.width.max(width);
        self.height = self.height.max(height);
        self.longest = self.longest.max(length as u64);
    }

    /// True if no bitstream is larger than the picture.
    pub(super) fn fit(&self) -> bool {
        let Some(Size { width, height }) = self.canvas else { return true };
        self.width <= width && self.height <= height
    }

    /// Bytes that the decoder takes beside the pixels of a picture of `size`.
    pub(super) fn beside(&self, size: Size) -> u64 {
        let padded = (u64::from(size.width) + 15) * (u64::from(size.height) + 15);
        let planes = padded + padded / 2;
        // Four bytes a pixel of a lossless one; of the opacity, and what it is decoded from; of an
        // animation its canvas and a frame.
        let pixels = 6 + if self.opacity { 7 } else { 0 } + if self.animated { 8 } else { 0 };
        let beside = size.pixels().saturating_mul(pixels).saturating_add(planes);
        beside.saturating_add(4 * self.longest).saturating_add(BUFFERS)
    }
}

/// The chunk at `at`: its kind, and its data as far as they are there.
fn chunk(bytes: &[u8], at: usize) -> Option<([u8; 4], Range<usize>)> {
    let kind = array(bytes, at)?;
    let length = le32(bytes, at.checked_add(4)?)? as usize;
    let start = at + 8;
    Some((kind, start..start.saturating_add(length).min(bytes.len())))
}

/// The size that the head of an extended file says.
fn canvas(content: &[u8]) -> Option<Size> {
    Some(Size::new(le24(content, 4)? + 1, le24(content, 7)? + 1))
}

/// The size of a lossy bitstream.
fn lossy(content: &[u8]) -> Option<Size> {
    (part(content, 3, 3)? == [0x9d, 0x01, 0x2a]).then_some(())?;
    Some(Size::new(le16(content, 6)? & 0x3fff, le16(content, 8)? & 0x3fff))
}

/// The size of a lossless bitstream.
fn lossless(content: &[u8]) -> Option<Size> {
    let sides = le32(content, 1)?;
    Some(Size::new((sides & 0x3fff) + 1, ((sides >> 14) & 0x3fff) + 1))
}
