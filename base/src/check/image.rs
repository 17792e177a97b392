//! Checks images other than JPEGs with the reader's decoders: headers and pixels.

use std::sync::Mutex;

use tarflume_formats::IgnorePoison;
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_image::ImageSize;
use tarflume_image::formats::{self, PictureLook};
use tarflume_types::{Error, ErrorKind, Result as ImageResult};

use super::CheckedPart;
use super::fault::{CheckLevel, Fault, MAX_PIXELS};
use crate::problem::ProblemKind;

/// Limit on memory for decoding one image: the stored pixels and the same again for the decoder.
const MEMORY: u64 = 8 * MAX_PIXELS;
/// An image that needs more memory is decoded alone, whatever the number of threads.
const SHARED: u64 = 128 << 20;
/// Held while a large image is decoded.
static LARGE: Mutex<()> = Mutex::new(());

pub(super) fn header(bytes: &[u8]) -> Result<ImageSize, Fault> {
    dimensions(formats::size(bytes))
}

/// Decodes an image. One that needs too much memory is a fault if `level` requires decoding it.
///
/// # Errors
/// Returns the fault of a damaged image, or of one of a kind that is not decoded.
pub(super) fn decode(bytes: &[u8], level: CheckLevel) -> Result<CheckedPart, Fault> {
    match formats::look(bytes, SHARED) {
        Err(error) if is_limit(&error) => {}
        decoded => return checked(decoded),
    }
    let _turn = LARGE.lock().ignore_poison();
    match formats::look(bytes, MEMORY) {
        Err(error) if is_limit(&error) && level != CheckLevel::Decode => {
            header(bytes).map(|size| CheckedPart::of(Some(size)))
        }
        decoded => checked(decoded),
    }
}

fn checked(decoded: ImageResult<PictureLook>) -> Result<CheckedPart, Fault> {
    let is_constant = decoded.as_ref().is_ok_and(|look| look.is_constant);
    let size = dimensions(decoded.map(|look| look.size))?;
    Ok(CheckedPart { is_constant, ..CheckedPart::of(Some(size)) })
}

fn is_limit(error: &Error) -> bool {
    error.kind() == ErrorKind::Limit
}

fn dimensions(found: ImageResult<ImageSize>) -> Result<ImageSize, Fault> {
    found.map_err(|error| {
        let reason = match error.kind() {
            ErrorKind::Unsupported => message!(
                "{}: convert it to JPEG or PNG; or pack it with `{unchecked}`, and read it with \
                 Image(..., fallback=\"pillow\")",
                error.text();
                unchecked = Name::Check.is("none")
            ),
            _ => error.message().clone(),
        };
        // The decoders return no position.
        Fault { kind: ProblemKind::BadImage, byte: 0, reason }
    })
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use image::{DynamicImage, ImageFormat};
    use tarflume_fixtures::bombs;

    use super::*;

    #[test]
    fn a_damaged_image_of_every_format_is_found_by_default() {
        let rgb = image::RgbImage::from_fn(90, 70, |x, y| {
            image::Rgb([(x * y) as u8, (x * 31) as u8, (y * 57) as u8])
        });
        for format in [ImageFormat::Png, ImageFormat::Gif, ImageFormat::WebP, ImageFormat::Bmp] {
            let mut whole = Cursor::new(Vec::new());
            let picture = DynamicImage::ImageRgb8(rgb.clone());
            let picture =
                if format == ImageFormat::Gif { picture.to_rgba8().into() } else { picture };
            picture.write_to(&mut whole, format).unwrap();
            let whole = whole.into_inner();
            let found = decode(&whole, CheckLevel::Structure).unwrap();
            assert_eq!(found.dimensions, Some(ImageSize::new(90, 70)), "{format:?}");
            assert!(!found.is_constant, "{format:?}");
            let cut = &whole[..whole.len() * 2 / 3];
            assert_eq!(header(cut), Ok(ImageSize::new(90, 70)), "{format:?}: its header is whole");
            let fault = decode(cut, CheckLevel::Structure).unwrap_err();
            assert_eq!(fault.kind, ProblemKind::BadImage, "{format:?}");
        }
    }

    #[test]
    fn an_image_of_a_kind_that_is_not_decoded_is_a_fault_with_both_ways_on() {
        let fault = decode(b"\0\0\0\x20ftypavif\0\0\0\0", CheckLevel::Structure).unwrap_err();
        for words in ["an AVIF", "convert it", "--check none", "fallback=\"pillow\""] {
            assert!(fault.reason.text().contains(words), "{words}: {fault:?}");
        }
    }

    #[test]
    fn an_image_too_large_to_be_decoded_here_is_a_fault_of_level_decode_alone() {
        let mut large = bombs();
        large.retain(|bomb| formats::check(&bomb.bytes, MEMORY).is_err_and(|e| is_limit(&e)));
        assert!(!large.is_empty());
        for bomb in large {
            assert!(decode(&bomb.bytes, CheckLevel::Structure).is_ok(), "{}", bomb.name);
            assert!(decode(&bomb.bytes, CheckLevel::Decode).is_err(), "{}", bomb.name);
        }
    }
}
