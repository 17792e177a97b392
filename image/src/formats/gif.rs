//! GIF: the first frame on its canvas, as browsers show it.
//!
//! The canvas is as large as the screen and the first frame together. Where the frame does not cover it, it is black
//! without opacity; the background color is ignored. Profiles, texts and comments are hidden from the decoder, which
//! would collect them in memory.

use std::io;
use std::ops::Range;

use gif::{ColorOutput, DecodeOptions, DecodingError};
use tarflume_types::{Error, Result};

use super::faults::damaged;
use super::input::bytes::{le16, part};
use super::input::pieces::Pieces;
use super::samples::channels::PixelKind;
use super::samples::pixel_decoder::PixelDecoder;
use crate::picture::geometry::ImageSize;
use crate::picture::pixels::{Depth, make_room};

/// Bytes before the color table of the screen.
const SCREEN: usize = 13;
/// Bytes of a frame before its color table.
const FRAME: usize = 10;
/// Bytes of the decoder's buffers for any picture.
const BUFFERS: u64 = 256 << 10;

/// The file without everything that the first frame does not need.
fn pieces(bytes: &[u8]) -> Pieces<'_> {
    Pieces::new(bytes, next_needed)
}

/// A GIF whose screen was read.
pub(super) struct GifPicture<'a> {
    reader: gif::Decoder<Pieces<'a>>,
    /// The size of the canvas.
    pub(super) size: ImageSize,
    /// Bytes that decoding allocates in addition to the pixels.
    pub(super) beside: u64,
}

impl<'a> GifPicture<'a> {
    /// Reads the screen and finds the first frame.
    pub(super) fn open(bytes: &'a [u8]) -> std::result::Result<GifPicture<'a>, DecodingError> {
        let mut options = DecodeOptions::new();
        options.set_color_output(ColorOutput::Indexed);
        let reader = options.read_info(pieces(bytes))?;
        let mut size = ImageSize::new(reader.width().into(), reader.height().into());
        let mut beside = BUFFERS;
        // A file without a frame is an error when it is decoded.
        if let Some(frame) = first_frame(bytes) {
            size.width = size.width.max(frame.left + frame.size.width);
            size.height = size.height.max(frame.top + frame.size.height);
            beside += frame.size.pixels();
        }
        Ok(GifPicture { reader, size, beside })
    }

    /// Decodes the indices of the first frame's palette into `target`, one byte a pixel of the canvas. Pixels outside the
    /// frame have the transparent index, or 0 if there is none, as Pillow fills them.
    ///
    /// # Errors
    /// Returns an error if the data is damaged or truncated.
    pub(super) fn decode_indices(self, target: &mut [u8]) -> Result<()> {
        let size = self.size;
        let frame = self.frame()?;
        target.fill(frame.transparent.unwrap_or(0));
        frame.place(size, target, |index| [index]);
        Ok(())
    }

    fn frame(mut self) -> Result<DecodedFrame> {
        let info = self.reader.next_frame_info().map_err(|e| fault(&e))?;
        let info = info.ok_or_else(|| damaged("the GIF has no frame".into()))?;
        let width = usize::from(info.width);
        let height = usize::from(info.height);
        let right = u32::from(info.left) + u32::from(info.width);
        let bottom = u32::from(info.top) + u32::from(info.height);
        if right > self.size.width || bottom > self.size.height {
            return Err(damaged("the first frame of the GIF is not the one of its header".into()));
        }
        let mut frame = DecodedFrame {
            indices: Vec::new(),
            left: info.left.into(),
            top: info.top.into(),
            width,
            transparent: info.transparent,
            palette: Vec::new(),
        };
        make_room(&mut frame.indices, width * height)?;
        self.reader.read_into_buffer(&mut frame.indices).map_err(|e| fault(&e))?;
        frame.palette = self.reader.palette().map_err(|e| fault(&e))?.to_vec();
        Ok(frame)
    }
}

impl PixelDecoder for GifPicture<'_> {
    fn kind(&self) -> Result<PixelKind> {
        Ok(PixelKind { channels: 4, depth: Depth::Byte })
    }

    fn bytes(&self) -> u64 {
        self.size.pixels().saturating_mul(4)
    }

    /// Decodes the first frame, four bytes a pixel of the canvas: red, green, blue, opacity.
    fn decode(self: Box<Self>, _memory: u64, target: &mut [u8]) -> Result<()> {
        let size = self.size;
        let frame = self.frame()?;
        target.fill(0);
        let colors = frame.colors();
        frame.place(size, target, |index| colors[usize::from(index)]);
        Ok(())
    }
}

/// A decoded frame and its place on the canvas.
struct DecodedFrame {
    indices: Vec<u8>,
    left: usize,
    top: usize,
    width: usize,
    transparent: Option<u8>,
    palette: Vec<u8>,
}

impl DecodedFrame {
    /// The color of each index. One that the palette lacks is opaque black.
    fn colors(&self) -> [[u8; 4]; 256] {
        let mut colors = [[0, 0, 0, 255]; 256];
        for (color, &[red, green, blue]) in colors.iter_mut().zip(self.palette.as_chunks::<3>().0) {
            *color = [red, green, blue, 255];
        }
        if let Some(transparent) = self.transparent {
            colors[usize::from(transparent)][3] = 0;
        }
        colors
    }

    /// Writes a value for each index to its place on a canvas.
    fn place<const N: usize>(
        &self,
        canvas: ImageSize,
        target: &mut [u8],
        value: impl Fn(u8) -> [u8; N],
    ) {
        let across = canvas.width as usize;
        let pixels = target.as_chunks_mut::<N>().0;
        for (y, line) in self.indices.chunks_exact(self.width.max(1)).enumerate() {
            let start = (self.top + y) * across + self.left;
            for (pixel, &index) in pixels[start..start + self.width].iter_mut().zip(line) {
                *pixel = value(index);
            }
        }
    }
}

/// The first frame's place on the canvas, and its own color table.
struct FrameHead {
    left: u32,
    top: u32,
    size: ImageSize,
    table: Option<Range<usize>>,
}

/// The colors of the first frame, three bytes each.
pub(super) fn palette(bytes: &[u8]) -> Option<&[u8]> {
    let screen = SCREEN..screen(bytes)?;
    let table = first_frame(bytes)?.table.unwrap_or(screen);
    part(bytes, table.start, table.len())
}

fn first_frame(bytes: &[u8]) -> Option<FrameHead> {
    let mut at = screen(bytes)?;
    loop {
        match bytes.get(at)? {
            0x2c => break,
            0x21 => at = extension(bytes, at)?,
            _ => at += 1,
        }
    }
    let [left, top, width, height] = [0, 1, 2, 3].map(|field| le16(bytes, at + 1 + 2 * field));
    let start = at + FRAME;
    Some(FrameHead {
        left: left?,
        top: top?,
        size: ImageSize::new(width?, height?),
        table: table_bytes(*bytes.get(at + FRAME - 1)?).map(|length| start..start + length),
    })
}

/// Bytes of the color table that flags announce.
fn table_bytes(flags: u8) -> Option<usize> {
    (flags & 0x80 != 0).then(|| 3 << ((flags & 7) + 1))
}

/// The end of the screen's color table.
fn screen(bytes: &[u8]) -> Option<usize> {
    Some(SCREEN + table_bytes(*bytes.get(10)?).unwrap_or(0))
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

/// Converts an error of the decoder. Its memory was reserved before, so it has read all that it needs.
pub(super) fn fault(error: &DecodingError) -> Error {
    let text = match error {
        DecodingError::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            "the picture cannot be decoded: the GIF is truncated".to_string()
        }
        error => format!("the picture cannot be decoded: {error}"),
    };
    damaged(text)
}
