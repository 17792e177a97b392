//! `find`: where the rows of a data set are, for readers of random rows: as they are, or in blocks that are decoded.
//!
//! A block has the rows of a chunk. Of a data set without chunks whose numbers must be changed (big-endian, compact) it
//! has about a mebibyte.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tarflume_base::Failure;
use tarflume_dataset::RowBlocks;
use tarflume_formats::IgnorePoison;
use tarflume_formats::message;
use tarflume_formats::message::{Call, Task};

use super::array::H5Array;
use super::file::{self, machine};
use crate::rows::{CellFault, FoundArray, FoundRows, ReadBlock};

/// Finds the rows of a data set of numbers.
///
/// # Errors
/// Returns an error if it has no numbers, or cannot be read.
pub(crate) fn find(path: &Path, name: &str) -> Result<FoundArray, Failure> {
    let array = H5Array::find(&file::open(path)?, name, path)?;
    let row = array.row_shape().to_vec();
    let rows = array.rows();
    let Some(number) = array.kind.number() else {
        let build = Call::of(Task::Build).on_quoted(format!("hdf5:{}?x={name}", path.display()));
        return Err(Failure::usage(message!(
            "{name}: they are no numbers, and an array of rows has numbers; pack it: {build}";
            build = build.out_stand("OUT")
        ))
        .in_file(path));
    };
    let found = match array.place {
        Some(at) => FoundRows::Places(vec![(at, rows)]),
        None if rows == 0 => FoundRows::Places(Vec::new()),
        None => {
            let blocks = RowBlocks::Every { block: array.step(), rows };
            FoundRows::Blocks(blocks, Arc::new(H5Blocks::new(array, name, path)))
        }
    };
    Ok(FoundArray { dtype: number.name().into(), row, rows: found })
}

/// Decodes the blocks of one data set. Each thread opens the file for itself.
struct H5Blocks {
    path: PathBuf,
    name: String,
    rows: u64,
    row: Vec<u64>,
    /// Open files that no thread uses at the moment.
    idle: Mutex<Vec<H5Array>>,
}

impl H5Blocks {
    fn new(array: H5Array, name: &str, path: &Path) -> H5Blocks {
        let rows = array.rows();
        let row = array.row_shape().to_vec();
        let idle = Mutex::new(vec![array]);
        H5Blocks { path: path.into(), name: name.into(), rows, row, idle }
    }

    /// An open file for this thread.
    fn opened(&self) -> Result<H5Array, Failure> {
        if let Some(array) = self.idle.lock().ignore_poison().pop() {
            return Ok(array);
        }
        let array = H5Array::find(&file::open(&self.path)?, &self.name, &self.path)?;
        if array.rows() == self.rows && array.row_shape() == self.row {
            return Ok(array);
        }
        Err(Failure::bad_data(format!(
            "{}: it has other rows than when it was opened: open it again",
            self.name
        ))
        .in_file(&self.path))
    }
}

impl ReadBlock for H5Blocks {
    fn read(&self, rows: Range<u64>) -> Result<Vec<u8>, CellFault> {
        let array = self.opened()?;
        let bytes = array.block(rows.clone()).map_err(|e| match machine(e, &self.path) {
            CellFault::Data(why) | CellFault::Placed(why) => CellFault::placed(message!(
                "{}: rows {}..{}: {why}",
                self.name,
                rows.start,
                rows.end;
                why = why
            )),
            failure => failure,
        })?;
        self.idle.lock().ignore_poison().push(array);
        Ok(bytes)
    }
}

impl fmt::Debug for H5Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("H5Blocks")
            .field("file", &self.path)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
