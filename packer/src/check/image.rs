//! Checks images other than JPEGs with the reader's decoders: headers and pixels.

use tarflume::ImageSize;
use tarflume::internal::formats;

use super::fault::{Dimensions, Fault, MAX_PIXELS};
use crate::problem::ProblemKind;

/// Limit on memory for decoding one image: the stored pixels and the same again for the decoder.
const MEMORY: u64 = 8 * MAX_PIXELS;

pub(super) fn header(bytes: &[u8]) -> Result<Dimensions, Fault> {
    dimensions(formats::size(bytes))
}

pub(super) fn decode(bytes: &[u8]) -> Result<Dimensions, Fault> {
    dimensions(formats::check(bytes, MEMORY))
}

fn dimensions(found: tarflume::Result<ImageSize>) -> Result<Dimensions, Fault> {
    // The decoders return no position.
    let fault =
        |reason: &str| Fault { kind: ProblemKind::BadImage, byte: 0, reason: reason.into() };
    found.map(|size| (size.width, size.height)).map_err(|e| fault(e.text()))
}
