//! The pictures of a batch that a device decodes: where they are in the slab, where their pixels go, and the calls of both
//! decoders. Knows no policy.

use tarflume_device::driver::Driver;
use tarflume_device::jpeg_decoder::{Compressed, PixelTarget, Verdict};
use tarflume_device::slab::Slab;
use tarflume_image::row_header::{PixelSource, RowHeader};
use tarflume_jpeg::Scale;
use tarflume_types::{Error, ErrorKind, Result};

use crate::decode::hybrid::row::{head_of, jpeg_of};
use crate::loader::gpu::columns::hybrid::HybridColumns;

/// Why kernels leave a picture to the CPU.
const FAULT: &str = "its codes are not as its entry points say";

/// A picture that the device is to decode.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DevicePicture {
    /// The number of its column among the hybrid ones.
    pub(crate) column: usize,
    pub(crate) row: usize,
    pub(crate) head: RowHeader,
}

pub(crate) fn lost_head() -> Error {
    Error::new(ErrorKind::Device, "a row's head was lost on its way")
}

/// The pictures of a batch that the device is to decode, column by column.
pub(crate) fn device_pictures(columns: &HybridColumns, slab: &Slab) -> Vec<DevicePicture> {
    let mut found = Vec::new();
    for (number, column) in columns.columns.iter().enumerate() {
        let heads = slab.fixed_rows(column.number).map(head_of).enumerate();
        found.extend(heads.filter_map(|(row, head)| {
            let head = head.filter(|head| head.from() == PixelSource::Store)?;
            Some(DevicePicture { column: number, row, head })
        }));
    }
    found
}

/// Writes into each picture's header where the device decodes it to: its row in half `half` of the store. A record for
/// kernels gets its place, too.
pub(crate) fn number_pictures(
    columns: &HybridColumns,
    slab: &mut Slab,
    pictures: &mut [DevicePicture],
    half: u64,
) {
    let rows = slab.layout().rows() as u64;
    for pictures in pictures.chunk_by_mut(|one, other| one.column == other.column) {
        for (DevicePicture { column, row, head }, number) in pictures.iter_mut().zip(0u64..) {
            let column = &columns.columns[*column];
            *head = head.with_number(half * rows + *row as u64);
            let to = slab.row_mut(column.number, *row);
            let (to, behind) = to.split_at_mut(RowHeader::BYTES);
            to.copy_from_slice(bytemuck::bytes_of(head));
            if let Some(kernels) = &column.kernels {
                let pixels = head.number() * column.store.store().stride;
                kernels.set_place(behind, number, pixels);
            }
        }
    }
}

/// Calls the decoders of the device for all pictures. Returns a verdict for each.
///
/// # Errors
/// The device's. It may then read the batch at any later time.
pub(crate) fn decode_pictures(
    driver: &dyn Driver,
    columns: &HybridColumns,
    slab: &Slab,
    pictures: &[DevicePicture],
) -> Result<Vec<Verdict>> {
    let of_library = pictures.iter().filter(|of| columns.columns[of.column].kernels.is_none());
    let of_library: Option<Vec<_>> =
        of_library.map(|picture| compressed(columns, slab, picture)).collect();
    let of_library = of_library.ok_or_else(lost_head)?;
    let library = if of_library.is_empty() { Vec::new() } else { driver.decode(&of_library)? };
    let mut library = library.into_iter();
    let mut verdicts = Vec::with_capacity(pictures.len());
    for pictures in pictures.chunk_by(|one, other| one.column == other.column) {
        let column = &columns.columns[pictures[0].column];
        let Some(kernels) = &column.kernels else {
            verdicts.extend(library.by_ref().take(pictures.len()));
            continue;
        };
        let records =
            pictures.iter().map(|of| jpeg_of(&of.head, slab.fixed_row(column.number, of.row)?));
        let records: Option<Vec<&[u8]>> = records.collect();
        let records = records.ok_or_else(lost_head)?;
        let faults = kernels.decode(&records, column.store.store().at)?;
        verdicts.extend(faults.into_iter().map(verdict));
    }
    Ok(verdicts)
}

fn verdict(fault: bool) -> Verdict {
    if fault { Verdict::Refused(FAULT.into()) } else { Verdict::Decoded }
}

/// The description of a picture for the device's library; `None` if the row has no valid header.
fn compressed<'a>(
    columns: &HybridColumns,
    slab: &'a Slab,
    picture: &DevicePicture,
) -> Option<Compressed<'a>> {
    let DevicePicture { column, row, head } = picture;
    let column = &columns.columns[*column];
    let store = column.store.store();
    let size = head.picture()?.size;
    let target = PixelTarget {
        to: store.at + head.number() * store.stride,
        width: size.width,
        height: size.height,
        scale: *Scale::ALL.get(head.scale() as usize)?,
        channels: column.decode.output().1 as u8,
    };
    Some(Compressed { bytes: jpeg_of(head, slab.fixed_row(column.number, *row)?)?, target })
}
