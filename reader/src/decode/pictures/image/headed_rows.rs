//! Rows that begin with a `RowHeader`, for a device that crops and resizes. The decoded pixels follow unchanged. Does
//! not resize.

use tarflume_image::crop::CropBox;
use tarflume_image::row_header::{Format, RowHeader, RowPicture};
use tarflume_image::{Cut, ImageSize, Pixels};
use tarflume_transforms::device_list::LIST_BYTES;
use tarflume_types::Result;

use super::super::picture_decoder::Decoded;

/// The length of a row is a multiple of this many bytes.
const ALIGNED: usize = 64;

/// Bytes of a row that holds a picture of `side * side` pixels, or a finished one of `size`.
pub(super) fn row_bytes(side: u32, size: ImageSize, channels: usize) -> usize {
    let pixels = (u64::from(side) * u64::from(side)).max(size.pixels());
    let pixels = usize::try_from(pixels).unwrap_or(usize::MAX);
    let bytes = pixels.saturating_mul(channels).saturating_add(RowHeader::BYTES);
    bytes.checked_next_multiple_of(ALIGNED).unwrap_or(usize::MAX)
}

/// Bytes of a row with pixels of this size.
pub(super) fn listed_bytes(size: ImageSize, channels: usize) -> usize {
    let pixels = usize::try_from(size.pixels()).unwrap_or(usize::MAX).saturating_mul(channels);
    let bytes = pixels.saturating_add(LIST_BYTES);
    bytes.checked_next_multiple_of(ALIGNED).unwrap_or(usize::MAX)
}

/// Writes the decoded pixels for the device to resize. Returns false if the host must resize, because the pixels do
/// not fit or differ from the output in orientation or channels.
pub(super) fn write_decoded(
    row: &mut [u8],
    drawn: &Decoded,
    pixels: &Pixels,
    channels: usize,
) -> Result<bool> {
    let (to, payload) = row.split_at_mut(RowHeader::BYTES);
    let size = ImageSize::new(pixels.width, pixels.height);
    let bytes = size.pixels() as usize * pixels.channels;
    let turned = drawn.turn.transpose || drawn.turn.upend;
    let area = CropBox::from(drawn.placement.area);
    // The device reads only the pixels of the box, so a filter on the host must not read more either. A box whose numbers
    // were rounded would give other bytes than the host's.
    let equal = drawn.placement.is_tight() && area.equals(&drawn.placement.area);
    if turned || pixels.channels != channels || bytes > payload.len() || !equal {
        return Ok(false);
    }
    let picture = RowPicture { format: Format::Pixels, size, area, flip: drawn.turn.mirror };
    let head = RowHeader::row(picture, channels, payload.len())?;
    to.copy_from_slice(bytemuck::bytes_of(&head));
    payload[..bytes].copy_from_slice(&pixels.bytes[..bytes]);
    Ok(true)
}

/// Writes a header for a picture that the host resizes, and returns the memory for its pixels.
pub(super) fn write_ready(row: &mut [u8], size: ImageSize, channels: usize) -> Result<&mut [u8]> {
    let (to, payload) = row.split_at_mut(RowHeader::BYTES);
    let area = Cut::whole(size).into();
    let picture = RowPicture { format: Format::Pixels, size, area, flip: false };
    to.copy_from_slice(bytemuck::bytes_of(&RowHeader::row(picture, channels, payload.len())?));
    Ok(&mut payload[..size.pixels() as usize * channels])
}
