//! WebP: checks that the bitstreams are as large as the file declares, and finds the metadata and the first frame.
//!
//! The decoder allocates for a bitstream's own size before it compares that with the picture's, and for all codes
//! that a lossless bitstream declares.

#[cfg(feature = "webp")]
pub(super) mod codes;

use std::ops::Range;

use super::input::bytes::{array, le16, le24, le32, part};
use super::input::patched::Patch;
use crate::picture::geometry::ImageSize;

/// Bytes before the first chunk.
const RIFF: usize = 12;
/// Bytes of an animation frame before its chunks.
const FRAME: usize = 16;
/// Bytes of the decoder's buffers for any picture.
const BUFFERS: u64 = 512 << 10;

/// The relevant content of a file's chunks.
#[derive(Debug)]
pub(super) struct Chunks<'a> {
    /// Metadata that the file's header announces; others do not count.
    pub(super) exif: Option<&'a [u8]>,
    pub(super) xmp: Option<&'a [u8]>,
    /// The size of the picture, or of the frame whose chunks are being read.
    size: ImageSize,
    /// The flags of an extended file's header, if it has one.
    flags: Option<u8>,
    /// The largest sides of a bitstream.
    width: u32,
    height: u32,
    /// Bytes of the longest bitstream.
    longest: u64,
    /// Bytes that the decoder allocates for codes; `None` if the codes are damaged.
    codes: Option<u64>,
    opacity: bool,
    animated: bool,
    /// Whether the chunks being read are those of an animation's frame.
    in_frame: bool,
    /// Whether the bitstream of an animation's frame has another size than the frame.
    unequal: bool,
}

/// Flags of a file's header: an animation, XMP, EXIF.
const MOVES: u8 = 2;
const HAS_XMP: u8 = 4;
const HAS_EXIF: u8 = 8;
/// Where a frame of an animation has its flags, and the flag that its pixels replace those below.
const FRAME_FLAGS: usize = 15;
const REPLACES: u8 = 2;

/// Sets the flag of the first frame of an animation that its pixels replace those below; `None` if the file has none.
///
/// The canvas is empty below the first frame, so its pixels are shown as they are. The decoder would blend them with the
/// empty canvas, which loses the colors of transparent pixels.
pub(super) fn replacing_first_frame(bytes: &[u8]) -> Option<Patch> {
    let mut at = RIFF;
    loop {
        let (kind, data) = chunk(bytes, at)?;
        if &kind == b"ANMF" {
            let at = data.start + FRAME_FLAGS;
            let mut patch = Patch { at, bytes: [0; 8], length: 1 };
            patch.bytes[0] = bytes.get(at)? | REPLACES;
            return Some(patch);
        }
        at = data.end.saturating_add(data.len() & 1);
    }
}

impl<'a> Chunks<'a> {
    /// Reads the chunks of a file, and of its first frame if it is an animation. `size` is the picture's size
    /// according to the decoder.
    pub(super) fn of(bytes: &'a [u8], size: ImageSize) -> Chunks<'a> {
        let exif = None;
        let xmp = None;
        let flags = None;
        let codes = Some(0);
        let mut chunks = Chunks {
            exif,
            xmp,
            size,
            flags,
            width: 0,
            height: 0,
            longest: 0,
            codes,
            opacity: false,
            animated: false,
            in_frame: false,
            unequal: false,
        };
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
            // The decoder uses the first header, and the first chunk of each type.
            b"VP8X" => self.flags = self.flags.or(content.first().copied()),
            b"EXIF" if self.has(HAS_EXIF) => self.exif = self.exif.or(Some(content)),
            b"XMP " if self.has(HAS_XMP) => self.xmp = self.xmp.or(Some(content)),
            b"VP8 " => self.bitstream(lossy(content), content.len()),
            b"VP8L" => {
                self.bitstream(lossless(content), content.len());
                self.count(codes::memory(content, None));
            }
            b"ALPH" => {
                self.opacity = true;
                if let Some((info, content)) = content.split_first()
                    && info & 3 == 1
                {
                    let ImageSize { width, height } = self.size;
                    self.count(codes::memory(content, Some((width, height))));
                }
            }
            b"ANMF" if !self.animated => {
                self.animated = true;
                let whole = self.size;
                if self.has(MOVES) {
                    self.in_frame = true;
                    self.size = frame(content).unwrap_or(whole);
                }
                self.walk(bytes, data.start.saturating_add(FRAME)..data.end);
                self.in_frame = false;
                self.size = whole;
            }
            _ => {}
        }
    }

    /// Whether the file's header has this flag.
    fn has(&self, flag: u8) -> bool {
        self.flags.is_some_and(|flags| flags & flag != 0)
    }

    fn bitstream(&mut self, size: Option<ImageSize>, length: usize) {
        let size = size.unwrap_or(ImageSize::new(0, 0));
        // The decoder compares the two for frames without opacity only, and panics if others differ.
        self.unequal |= self.in_frame && size != self.size;
        let ImageSize { width, height } = size;
        self.width = self.width.max(width);
        self.height = self.height.max(height);
        self.longest = self.longest.max(length as u64);
    }

    /// Bitstreams are decoded one after the other, so the maximum counts.
    fn count(&mut self, codes: Option<u64>) {
        self.codes = self.codes.zip(codes).map(|(one, other)| one.max(other));
    }

    /// Bytes that the decoder allocates in addition to the pixels.
    ///
    /// # Errors
    /// Returns a message if a bitstream is larger than the picture, or its codes are damaged.
    pub(super) fn beside(&self) -> Result<u64, String> {
        let size = self.size;
        if self.width > size.width || self.height > size.height {
            return Err("a frame of the WebP is larger than the picture".into());
        }
        if self.unequal {
            return Err("a frame of the WebP has another size than its bitstream".into());
        }
        let codes = self.codes.ok_or("the codes of the lossless WebP are damaged or truncated")?;
        let padded = (u64::from(size.width) + 15) * (u64::from(size.height) + 15);
        let planes = padded + padded / 2;
        // Bytes for each pixel: six for the decoded frame and its copy, seven for opacity and its source,
        // eight for the canvas and a frame of an animation.
        let pixels = 6 + if self.opacity { 7 } else { 0 } + if self.animated { 8 } else { 0 };
        let beside = size.pixels().saturating_mul(pixels).saturating_add(planes);
        Ok(beside.saturating_add(4 * self.longest).saturating_add(BUFFERS).saturating_add(codes))
    }
}

/// The chunk at `at`: its type, and its data as far as the file contains it.
fn chunk(bytes: &[u8], at: usize) -> Option<([u8; 4], Range<usize>)> {
    let kind = array(bytes, at)?;
    let length = le32(bytes, at.checked_add(4)?)? as usize;
    let start = at + 8;
    Some((kind, start..start.saturating_add(length).min(bytes.len())))
}

/// The declared size of an animation frame.
fn frame(content: &[u8]) -> Option<ImageSize> {
    Some(ImageSize::new(le24(content, 6)? + 1, le24(content, 9)? + 1))
}

/// The size of a lossy bitstream.
fn lossy(content: &[u8]) -> Option<ImageSize> {
    (part(content, 3, 3)? == [0x9d, 0x01, 0x2a]).then_some(())?;
    Some(ImageSize::new(le16(content, 6)? & 0x3fff, le16(content, 8)? & 0x3fff))
}

/// The size of a lossless bitstream.
fn lossless(content: &[u8]) -> Option<ImageSize> {
    let sides = le32(content, 1)?;
    Some(ImageSize::new((sides & 0x3fff) + 1, ((sides >> 14) & 0x3fff) + 1))
}
