//! The errors of pictures that are not JPEGs, and the guard against decoders that panic.

use tarflume_formats::{Content, panics};
use tarflume_types::{Error, ErrorKind, Result};

use crate::picture::geometry::ImageSize;

/// Runs code of the decoders. Some of them panic on damaged data: the panic becomes an error of the data, so that one
/// picture cannot end a training run.
pub(super) fn guarded<T>(call: impl FnOnce() -> Result<T>) -> Result<T> {
    // After a panic the decoder is dropped, and the pixels are plain bytes.
    panics::guarded(call).unwrap_or_else(|panic| {
        let text = "the picture cannot be decoded: its decoder panicked; convert it to PNG or JPEG";
        Err(damaged(format!("{text} ({panic})")))
    })
}

/// The error of bytes that are none of the formats.
pub(super) fn unknown(bytes: &[u8]) -> Error {
    match Content::of(bytes) {
        Some(found) if found.is_image() => {
            unsupported(format!("it is {}, which is not decoded", found.name))
        }
        Some(found) => damaged(format!("it is {}, not a picture", found.name)),
        None => {
            let first = &bytes[..bytes.len().min(4)];
            damaged(format!(
                "its first bytes ({first:02x?}) are not those of a picture: expected JPEG, PNG, WebP, GIF, BMP, TIFF or Netpbm"
            ))
        }
    }
}

/// The error of a picture of a kind that is not decoded.
pub(super) fn unsupported(text: String) -> Error {
    Error::new(ErrorKind::Unsupported, text)
}

/// The error of a picture whose data is wrong.
pub(super) fn damaged(text: String) -> Error {
    Error::new(ErrorKind::Decode, text)
}

/// The error of a picture that needs more memory than is allowed.
pub(super) fn too_much(size: ImageSize, needed: u64, memory: u64) -> Error {
    let text = format!("a picture of {size} pixels needs {needed} bytes to decode, above {memory}");
    Error::new(ErrorKind::Limit, text)
}

/// Returns the error: without the feature, a TIFF has no size.
#[cfg(not(feature = "tiff"))]
pub(super) fn bands_size(_: &[u8], error: Error) -> Result<ImageSize> {
    Err(error)
}

/// Returns the error: without the feature, no TIFF is decoded.
#[cfg(not(feature = "tiff"))]
pub(super) fn check_bands(_: &[u8], _: u64, error: Error) -> Result<ImageSize> {
    Err(error)
}
