//! Decodes images to pixels, and recognizes those that are left as they are.

use tarflume_image::{ImageSize, formats};
use tarflume_jpeg::{Color, Decoder, Header, Job, Scale, Size};
use tarflume_types::Error;

use super::fault::PictureFault;
use super::pixels::Raster;

/// Limit on the pixels of an image that is prepared; images of more are left as they are.
const MAX_PIXELS: u64 = 1 << 28;

/// Limit on the memory for one image in bytes: the pixels, and the same again for the decoder.
pub(super) const MEMORY: u64 = 8 * MAX_PIXELS;

/// Pixels of a reduced scale that each pixel of the result has at least, in a direction. A JPEG is
/// decoded at a half, a quarter or an eighth of its size if that leaves so many.
const LEAST: u64 = 2;

/// Returns true for sizes that are decoded.
pub(super) fn is_decoded(size: ImageSize) -> bool {
    size.pixels() <= MAX_PIXELS
}

/// Decodes a JPEG that will be reduced to `to` at the smallest scale that is large enough.
pub(super) fn jpeg(
    decoder: &mut Decoder,
    bytes: &[u8],
    header: &Header,
    to: ImageSize,
) -> Result<Raster, PictureFault> {
    let scale = Scale::ALL
        .iter()
        .rev()
        .find(|scale| {
            let Size { width, height } = scale.of(header.width(), header.height());
            u64::from(width) >= LEAST * u64::from(to.width)
                && u64::from(height) >= LEAST * u64::from(to.height)
        })
        .copied()
        .unwrap_or_default();
    let Size { width, height } = scale.of(header.width(), header.height());
    let (channels, color) = if header.channels() == 1 { (1, Color::Gray) } else { (3, Color::Rgb) };
    let mut pixels = Vec::new();
    let length = width as usize * height as usize * channels;
    let room = pixels.try_reserve_exact(length);
    room.map_err(|e| {
        PictureFault::Machine(format!("no memory for {length} bytes of pixels: {e}"))
    })?;
    pixels.resize(length, 0);
    let job = Job {
        scale,
        color,
        stride: width as usize * channels,
        ..Job::new(bytes, header, &mut pixels)
    };
    decoder.decode(job).map_err(|e| PictureFault::of_jpeg(&e))?;
    Ok(Raster { bytes: pixels, channels, size: ImageSize::new(width, height) })
}

/// Decodes another image.
pub(super) fn other(bytes: &[u8]) -> Result<Raster, PictureFault> {
    let decoded = formats::decode(bytes, MEMORY).map_err(|e| fault(&e))?;
    Ok(Raster { bytes: decoded.bytes, channels: decoded.channels, size: decoded.size })
}

/// Returns size and EXIF orientation of another image, from its header.
pub(super) fn facts(bytes: &[u8]) -> Result<(ImageSize, u8), PictureFault> {
    formats::facts(bytes).map_err(|e| fault(&e))
}

/// Decodes another image and discards its pixels; `None` if that fails.
pub(super) fn discard(bytes: &[u8]) -> Option<()> {
    formats::check(bytes, MEMORY).ok().map(drop)
}

fn fault(error: &Error) -> PictureFault {
    if error.is_machine() {
        PictureFault::Machine(error.text().into())
    } else {
        PictureFault::Data { byte: 0, reason: error.text().into() }
    }
}

/// An image that is not a JPEG, and is prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Other {
    /// A PNG of 8 bits a channel without a palette.
    Png,
    /// Another PNG: it can become a JPEG, and is no PNG of 8 bits otherwise. Masks are often such.
    SpecialPng,
    /// WebP.
    WebP,
}

impl Other {
    /// Returns the kind of an image; `None` for other formats and for animations.
    pub(super) fn of(bytes: &[u8]) -> Option<Other> {
        if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
            let &depth = bytes.get(24)?;
            let &color = bytes.get(25)?;
            let is_animated = chunk(bytes, *b"acTL").is_some();
            let kind = if depth == 8 && color != 3 { Other::Png } else { Other::SpecialPng };
            return (!is_animated).then_some(kind);
        }
        let is_webp = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
        // The flag of an animation, in the extended header.
        let is_animated = bytes.get(12..16) == Some(b"VP8X") && bytes.get(20)? & 2 != 0;
        (is_webp && !is_animated).then_some(Other::WebP)
    }
}

/// Finds a chunk of a PNG before its pixels.
fn chunk(bytes: &[u8], kind: [u8; 4]) -> Option<usize> {
    let mut at = 8;
    loop {
        let [a, b, c, d, name @ ..] = bytes.get(at..at + 8)? else { return None };
        match name {
            name if name == kind => return Some(at),
            b"IDAT" => return None,
            _ => {
                at =
                    at.checked_add(12)?.checked_add(u32::from_be_bytes([*a, *b, *c, *d]) as usize)?
            }
        }
    }
}
