//! Images by libraries: headers of all but JPEG, and pixels of every kind.
//!
//! JPEGs go to `zune-jpeg` itself, which is what `image` decodes them with, because only there it can
//! be told to be strict: by default it paints over what is damaged.

use std::io::Cursor;

use image::{ImageError, ImageReader, Limits};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::fault::{Dimensions, Fault};
use crate::problem::ProblemKind;

/// The largest image that is decoded: 1 GiB of pixels.
const MAX_ALLOC: u64 = 1 << 30;

pub(super) fn header(bytes: &[u8]) -> Result<Dimensions, Fault> {
    let reader = reader(bytes)?;
    let (width, height) = reader.into_dimensions().map_err(|e| fault(&e))?;
    if width == 0 || height == 0 {
        let reason = format!("the image has no pixels: {width} x {height}");
        return Err(Fault { kind: ProblemKind::BadImage, byte: 0, reason });
    }
    Ok((width, height))
}

/// Decodes a JPEG of known dimensions, and is told of codes and markers that can't be.
///
/// What it does not tell: that blocks and data do not end together, as most damage makes them do.
/// That is found code by code, in `entropy`.
pub(super) fn decode_jpeg(bytes: &[u8], (width, height): Dimensions) -> Result<(), Fault> {
    let told = |reason: String| Fault { kind: ProblemKind::BadJpeg, byte: 0, reason };
    if u64::from(width) * u64::from(height) * 4 > MAX_ALLOC {
        return Err(told(format!("{width} x {height} pixels are too many to be decoded here")));
    }
    let side = usize::from(u16::MAX);
    let options =
        DecoderOptions::default().set_strict_mode(true).set_max_width(side).set_max_height(side);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode().map(drop).map_err(|e| told(format!("it can't be decoded: {e:?}")))
}

pub(super) fn decode(bytes: &[u8]) -> Result<Dimensions, Fault> {
    let mut reader = reader(bytes)?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_ALLOC);
    reader.limits(limits);
    let pixels = reader.decode().map_err(|e| fault(&e))?;
    Ok((pixels.width(), pixels.height()))
}

fn reader(bytes: &[u8]) -> Result<ImageReader<Cursor<&[u8]>>, Fault> {
    let reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format();
    let reader = reader.map_err(|e| Fault {
        kind: ProblemKind::BadImage,
        byte: 0,
        reason: e.to_string(),
    })?;
    if reader.format().is_none() {
        let reason = "its first bytes are of no image format that is known here".into();
        return Err(Fault { kind: ProblemKind::BadImage, byte: 0, reason });
    }
    Ok(reader)
}

fn fault(error: &ImageError) -> Fault {
    // The decoders name no byte.
    Fault { kind: ProblemKind::BadImage, byte: 0, reason: format!("it can't be decoded: {error}") }
}

#[cfg(test)]
mod tests {
    use tarflume_fixtures::{Photo, PhotoKind};

    use super::*;

    #[test]
    fn whole_photographs_of_every_kind_decode() {
        for kind in PhotoKind::ALL {
            let bytes = Photo::new(97, 61, kind).encode(7).unwrap();
            assert_eq!(decode_jpeg(&bytes, (97, 61)), Ok(()), "{kind:?}");
        }
    }

    #[test]
    fn damage_that_a_lenient_decoder_paints_over_is_told() {
        let whole = Photo::new(320, 240, PhotoKind::Yuv420).encode(7).unwrap();
        let (mut told, mut lenient) = (0, 0);
        for place in (whole.len() / 4..whole.len() - 16).step_by(whole.len() / 64) {
            let mut bytes = whole.clone();
            bytes[place..place + 8].fill(0xfe);
            assert!(super::super::jpeg::check(&bytes).is_ok(), "its structure is whole");
            told += u32::from(decode_jpeg(&bytes, (320, 240)).is_err());
            lenient += u32::from(decode(&bytes).is_err());
        }
        // Most damage gives codes that are valid and pixels that are wrong: no decoder can tell.
        assert!(told > lenient, "strict tells {told}, lenient {lenient}");
    }
}
