//! `Hdf5Cells`: planned values of one file, for one thread. Holds the chunks of some rows of each data set.

use std::path::Path;

use serde::Deserialize;
use tarflume_base::Failure;

use super::array::H5Array;
use super::file::{self, machine};
use crate::rows::columns::pictures::RowPicture;
use crate::rows::places::reader::{CellFault, CellReader};

/// Decodes planned values of one file.
pub(crate) struct Hdf5Cells {
    path: std::path::PathBuf,
    arrays: Vec<PlannedArray>,
}

/// A data set, and the picture that its rows become.
struct PlannedArray {
    array: H5Array,
    picture: Option<RowPicture>,
}

impl std::fmt::Debug for Hdf5Cells {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hdf5Cells").field("file", &self.path).finish_non_exhaustive()
    }
}

impl Hdf5Cells {
    /// Opens a planned file.
    ///
    /// # Errors
    /// Returns an error if the file lacks a planned data set or cannot be read.
    pub(crate) fn open(path: &Path, options: &serde_json::Value) -> Result<Hdf5Cells, CellFault> {
        let file = file::open(path)?;
        let planned = options["arrays"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut arrays = Vec::with_capacity(planned.len());
        for (n, name) in planned.iter().enumerate() {
            let array = H5Array::find(&file, name.as_str().unwrap_or_default(), path)?;
            let picture = Option::<RowPicture>::deserialize(&options["pictures"][n]);
            let picture = picture.map_err(|_| {
                Failure::bad_data("the plan has a picture of another version").in_file(path)
            })?;
            arrays.push(PlannedArray { array, picture });
        }
        Ok(Hdf5Cells { path: path.into(), arrays })
    }
}

impl CellReader for Hdf5Cells {
    fn read(&mut self, row: u64, column: u16, space: &mut [u8]) -> Result<(), CellFault> {
        let Some(planned) = self.arrays.get_mut(usize::from(column)) else {
            return Err(CellFault::data(format!("the plan has no data set {column}")));
        };
        let value = planned.array.value(row).map_err(|e| machine(e, &self.path))?;
        if let Some(picture) = planned.picture {
            return picture.encode_into(value, space);
        }
        if value.len() != space.len() {
            let text = format!("{} bytes, and {} were planned", value.len(), space.len());
            return Err(CellFault::data(text));
        }
        space.copy_from_slice(value);
        Ok(())
    }
}
