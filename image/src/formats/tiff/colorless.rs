//! TIFFs that are no pictures of colors, such as those of 13 bands: their size, and whether they can be decoded.

use tarflume_types::{Error, ErrorKind, Result};

use super::super::faults::too_much;
use super::bands::{Bands, is_tiff};
use crate::picture::geometry::ImageSize;
use crate::picture::pixels::buffer_bytes;

/// The size of a TIFF whose colors are none; for all others, returns the error that its colors gave.
pub(in crate::formats) fn bands_size(bytes: &[u8], error: Error) -> Result<ImageSize> {
    bands_of(bytes, error).map(|bands| bands.size)
}

/// Opens a TIFF whose colors are none, such as one of 13 bands; for all others, returns the error that its colors gave.
fn bands_of(bytes: &[u8], error: Error) -> Result<Bands<'_>> {
    let is_of_bands = error.kind() == ErrorKind::Unsupported && is_tiff(bytes);
    if is_of_bands { Bands::open(bytes).map_err(|_| error) } else { Err(error) }
}

/// Decodes a TIFF whose colors are none; for all others, returns the error that its colors gave.
pub(in crate::formats) fn check_bands(
    bytes: &[u8],
    memory: u64,
    error: Error,
) -> Result<ImageSize> {
    let bands = bands_of(bytes, error)?;
    let size = bands.size;
    let needed = bands.memory().saturating_add(bands.bytes());
    if needed > memory {
        return Err(too_much(size, needed, memory));
    }
    let mut array = vec![0; buffer_bytes(size, (bands.bands * bands.dtype.size()) as u64)?];
    bands.decode(&mut array).map(|()| size)
}
