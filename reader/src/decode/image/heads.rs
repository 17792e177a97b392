//! Rows that begin with a `RowHeader`, for a device that cuts and resizes: what was decoded stands behind it as it
//! is.

use super::super::drawing::Drawn;
use crate::error::Result;
use crate::picture::geometry::{Cut, ImageSize};
use crate::picture::pixels::Pixels;
use crate::picture::row_header::{Described, Format, RowHeader};

/// Rows are multiples of so many bytes.
const ALIGNED: usize = 64;

/// Bytes of a row for pictures of `side * side` pixels, and for finished ones of `size`.
pub(super) fn row_bytes(side: u32, size: ImageSize, channels: usize) -> usize {
    let pixels = (u64::from(side) * u64::from(side)).max(size.pixels());
    let pixels = usize::try_from(pixels).unwrap_or(usize::MAX);
    let bytes = pixels.saturating_mul(channels).saturating_add(RowHeader::BYTES);
    bytes.checked_next_multiple_of(ALIGNED).unwrap_or(usize::MAX)
}

/// Writes what was decoded, for the device to resize; false if it does not fit, lies otherwise than the
/// output, or has other channels, so that the host must.
pub(super) fn write_decoded(
    row: &mut [u8],
    drawn: &Drawn,
    pixels: &Pixels,
    channels: usize,
) -> Result<bool> {
    let (to, payload) = row.split_at_mut(RowHeader::BYTES);
    let size = ImageSize::new(pixels.width, pixels.height);
    let bytes = size.pixels() as usize * pixels.channels;
    let turned = drawn.turn.transpose || drawn.turn.upend;
    // A filter sees what the device sees: no more than the box's own pixels.
    if turned || pixels.channels != channels || bytes > payload.len() || !drawn.placement.is_tight()
    {
        return Ok(false);
    }
    let area = drawn.placement.area.into();
    let picture = Described { format: Format::Pixels, size, area, flip: drawn.turn.mirror };
    let head = RowHeader::row(picture, channels, payload.len())?;
    to.copy_from_slice(bytemuck::bytes_of(&head));
    payload[..bytes].copy_from_slice(&pixels.bytes[..bytes]);
    Ok(true)
}

/// A head for a picture that the host made ready behind it.
pub(super) fn write_ready(row: &mut [u8], size: ImageSize, channels: usize) -> Result<&mut [u8]> {
    let (to, payload) = row.split_at_mut(RowHeader::BYTES);
    let area = Cut::whole(size).into();
    let picture = Described { format: Format::Pixels, size, area, flip: false };
    to.copy_from_slice(bytemuck::bytes_of(&RowHeader::row(picture, channels, payload.len())?));
    Ok(&mut payload[..size.pixels() as usize * channels])
}
