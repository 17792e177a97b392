//! `find`: the rows of an array in blocks that are decoded, for readers of random rows.
//!
//! A block has the rows of a chunk, or of an inner chunk of shards.

use std::ops::Range;
use std::sync::Arc;

use tarflume_base::Failure;
use tarflume_dataset::RowBlocks;
use tarflume_formats::message;

use super::array::OpenArray;
use super::folder::{self, FoundFolder};
use super::place::Place;
use crate::rows::{CellFault, FoundArray, FoundRows, ReadBlock};

/// Finds the rows of an array; an empty name is the place itself.
///
/// # Errors
/// Returns an error if there is none, or it is not read.
pub(crate) fn find(place: &Place, name: &str) -> Result<FoundArray, Failure> {
    rows_of(folder::find(place, name)?, name)
}

/// As [`find`]; `None` if there is no metadata of Zarr.
///
/// # Errors
/// Returns an error for a group, and for an array that is not read.
#[cfg(feature = "remote")]
pub(crate) fn find_if_any(place: &Place, name: &str) -> Result<Option<FoundArray>, Failure> {
    folder::find_if_any(place, name)?.map(|found| rows_of(found, name)).transpose()
}

fn rows_of(found: FoundFolder, name: &str) -> Result<FoundArray, Failure> {
    let array = OpenArray::new(found, name, None)?;
    let blocks = RowBlocks::Every { block: array.array.block_rows(), rows: array.rows() };
    let dtype = array.array.element().name().into();
    let row = array.row_shape().to_vec();
    let name = name.into();
    Ok(FoundArray {
        dtype,
        row,
        rows: FoundRows::Blocks(blocks, Arc::new(ZarrBlocks { array, name })),
    })
}

/// Decodes the blocks of one array.
#[derive(Debug)]
struct ZarrBlocks {
    array: OpenArray,
    name: String,
}

impl ReadBlock for ZarrBlocks {
    fn read(&self, rows: Range<u64>) -> Result<Vec<u8>, CellFault> {
        self.array.block(rows.clone()).map_err(|fault| match fault {
            CellFault::Data(why) | CellFault::Placed(why) => {
                let lead =
                    if self.name.is_empty() { String::new() } else { format!("{}: ", self.name) };
                CellFault::placed(
                    message!("{lead}rows {}..{}: {why}", rows.start, rows.end; why = why),
                )
            }
            failure => failure,
        })
    }

    fn piece_bytes(&self) -> u64 {
        self.array.array.piece_bytes()
    }
}
