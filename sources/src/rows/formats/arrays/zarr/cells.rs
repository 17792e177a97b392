//! `ZarrCells`: the rows of planned arrays, for one thread. Holds the block of some rows of each array.

use std::path::Path;

use serde::Deserialize;
use tarflume_base::{Failure, units};
use tarflume_formats::message::Message;
use tarflume_formats::plan::PlannedSource;

use super::array::{Expected, OpenArray};
use super::folder;
use super::place::Place;
use super::planned::{PlannedArray, PlannedFiles};
use crate::rows::columns::pictures::RowPicture;
use crate::rows::places::bytes::WHOLE_MAX;
use crate::rows::places::reader::{CellFault, CellReader};

/// The rows of one array, in order.
#[derive(Debug)]
pub(super) struct RowCells {
    array: OpenArray,
    /// Rows of a block.
    step: u64,
    /// The first row of the block that is held, and its bytes.
    block: Option<(u64, Vec<u8>)>,
    /// The first row of the block that could not be decoded, and why: it is not decoded again for each row.
    failed: Option<(u64, Message)>,
}

impl RowCells {
    pub(super) fn new(array: OpenArray) -> RowCells {
        let step = array.array.block_rows().min(array.rows().max(1));
        RowCells { array, step, block: None, failed: None }
    }

    /// Refuses a block that takes more than `most` bytes, with the chunk that is decoded into it.
    ///
    /// # Errors
    /// Returns an error with its bytes and the remedy.
    pub(super) fn check_memory(&self, most: u64) -> Result<(), Failure> {
        let step = self.step;
        let array = &self.array.array;
        let bytes = step.saturating_mul(array.row_bytes()).saturating_add(array.piece_bytes());
        if bytes <= most {
            return Ok(());
        }
        Err(Failure::usage(format!(
            "its chunks hold {step} rows, and decoding these takes {}; a thread holds at most {} for these files; write the \
             array with chunks of fewer rows (in zarr-python: chunks=(1, ...))",
            units::bytes(bytes),
            units::bytes(most)
        ))
        .in_file(self.array.path()))
    }

    pub(super) fn array(&self) -> &OpenArray {
        &self.array
    }

    /// Returns the bytes of a row.
    ///
    /// # Errors
    /// Returns an error if the row cannot be read or decoded.
    pub(super) fn row(&mut self, row: u64) -> Result<&[u8], CellFault> {
        if row >= self.array.rows() {
            return Err(CellFault::data(format!("it has {} rows", self.array.rows())));
        }
        let first = row - row % self.step;
        if self.block.as_ref().is_none_or(|(held, _)| *held != first) {
            if let Some((_, why)) = self.failed.as_ref().filter(|(failed, _)| *failed == first) {
                return Err(CellFault::data(why.clone()));
            }
            self.block = None; // frees it before the next one is decoded
            let rows = first..(first + self.step).min(self.array.rows());
            let read = self.array.block(rows);
            if let Err(CellFault::Data(why) | CellFault::Placed(why)) = &read {
                self.failed = Some((first, why.clone()));
            }
            self.block = Some((first, read?));
        }
        let (_, bytes) = self.block.as_ref().expect("it was decoded above");
        let size = self.array.array.row_bytes() as usize;
        Ok(&bytes[(row - first) as usize * size..][..size])
    }
}

/// Decodes planned rows of the arrays of one folder.
#[derive(Debug)]
pub(crate) struct ZarrCells {
    arrays: Vec<PlannedCells>,
}

/// An array, and the picture that its rows become.
#[derive(Debug)]
struct PlannedCells {
    cells: RowCells,
    picture: Option<RowPicture>,
}

impl ZarrCells {
    /// Opens the planned arrays; `path` is the metadata of the first one, and `times` tells whether times are compared.
    ///
    /// # Errors
    /// Returns an error if the folder lacks a planned array, or another one took its place.
    pub(crate) fn open(
        source: &PlannedSource,
        path: &Path,
        times: bool,
    ) -> Result<ZarrCells, CellFault> {
        let planned = Vec::<PlannedArray>::deserialize(&source.options);
        let planned = planned.map_err(|_| not_planned(path))?;
        let depth = source.path.split('/').count();
        let place =
            Place::Folder(path.ancestors().nth(depth).ok_or_else(|| not_planned(path))?.into());
        let mut arrays = Vec::with_capacity(planned.len());
        for PlannedArray { name, files, picture } in planned {
            let files = PlannedFiles::of_hex(&files).ok_or_else(|| not_planned(path))?;
            let expected = Some(Expected { files, times });
            let found = folder::find(&place, &name)?;
            let cells = RowCells::new(OpenArray::new(found, &name, expected)?);
            cells.check_memory(WHOLE_MAX)?;
            arrays.push(PlannedCells { cells, picture });
        }
        Ok(ZarrCells { arrays })
    }
}

/// Returns the failure for a plan whose options are none of these sources.
fn not_planned(path: &Path) -> Failure {
    Failure::bad_data("the plan has no arrays for it").in_file(path)
}

impl CellReader for ZarrCells {
    fn read(&mut self, row: u64, column: u16, space: &mut [u8]) -> Result<(), CellFault> {
        let Some(planned) = self.arrays.get_mut(usize::from(column)) else {
            return Err(CellFault::data(format!("the plan has no array {column}")));
        };
        let bytes = planned.cells.row(row)?;
        if let Some(picture) = planned.picture {
            return picture.encode_into(bytes, space);
        }
        if bytes.len() != space.len() {
            let text = format!("{} bytes, and {} were planned", bytes.len(), space.len());
            return Err(CellFault::data(text));
        }
        space.copy_from_slice(bytes);
        Ok(())
    }
}
