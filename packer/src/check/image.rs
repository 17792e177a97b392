//! Images that are no JPEGs, by the reader: their headers, and their pixels.

use tarflume::ImageSize;
use tarflume::internal::formats;

use super::fault::{Dimensions, Fault, MAX_PIXELS};
use crate::problem::ProblemKind;

/// The most bytes that one image may take to be decoded: as it is stored, and as much beside.
const MEMORY: u64 = 8 * MAX_PIXELS;

pub(super) fn header(bytes: &[u8]) -> Result<Dimensions, Fault> {
    dimensions(formats::size(bytes))
}

pub(super) fn decode(bytes: &[u8]) -> Result<Dimensions, Fault> {
    dimensions(formats::check(bytes, MEMORY))
}

fn dimensions(found: tarflume::Result<ImageSize>) -> Result<Dimensions, Fault> {
    // The decoders name no byte.
    let fault =
        |reason: &str| Fault { kind: ProblemKind::BadImage, byte: 0, reason: reason.into() };
    found.map(|size| (size.width, size.height)).map_err(|e| fault(e.text()))
}
