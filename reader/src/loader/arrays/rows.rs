//! `ArrayRows`: arrays of equally many rows, as the data of a loader: its columns, and what its order depends on.
//!
//! Reads no row but the few that a fingerprint covers.

use std::sync::Arc;

use tarflume_dataset::ArrayDataset;
use tarflume_types::{Error, Result};

use crate::decode::bytes::raw::Raw;
use crate::loader::pipeline::columns::Columns;
use crate::order::{Contents, Fingerprint};

/// Rows with more bytes are not part of a fingerprint.
const PROBED: usize = 1 << 20;

/// Arrays by the names of their columns. Row n of each is one sample.
#[derive(Debug, Clone)]
pub(crate) struct ArrayRows(Arc<[(String, ArrayDataset)]>);

impl ArrayRows {
    /// # Errors
    /// There is no array, they have no rows, or different numbers of rows.
    pub(crate) fn new(arrays: Vec<(String, ArrayDataset)>) -> Result<ArrayRows> {
        let Some((first, array)) = arrays.first() else {
            return Err(Error::usage("a loader of arrays needs at least one array"));
        };
        let rows = array.len();
        if let Some((name, other)) = arrays.iter().find(|(_, other)| other.len() != rows) {
            let text = format!(
                "array '{name}' has {} rows, and '{first}' has {rows}: a sample is one row of each",
                other.len()
            );
            return Err(Error::usage(text).with_path(other.path()));
        }
        if rows == 0 {
            let text = format!("array '{first}' has no rows, and a row is a sample");
            return Err(Error::usage(text).with_path(array.path()));
        }
        Ok(ArrayRows(arrays.into()))
    }

    /// The arrays, in the order of their columns.
    pub(crate) fn arrays(&self) -> impl Iterator<Item = &ArrayDataset> {
        self.0.iter().map(|(_, array)| array)
    }

    /// Bytes of a row of all arrays together.
    pub(crate) fn row_bytes(&self) -> usize {
        self.arrays().map(ArrayDataset::row_bytes).sum()
    }

    /// A column for each array. The part that it needs has the number of the array.
    pub(crate) fn columns(&self) -> Columns {
        let columns = self.0.iter().enumerate().map(|(number, (name, array))| {
            let raw = Raw::new(number.to_string()).dtype(array.dtype()).shape(array.row_shape());
            (name.clone(), Arc::new(raw) as _)
        });
        columns.collect()
    }

    /// What an order must know: the number of rows, and a digest of what the arrays are. It covers their types, shapes
    /// and numbers of rows, and the bytes of the first, the middle and the last row.
    ///
    /// # Errors
    /// A row cannot be read.
    pub(crate) fn contents(&self) -> Result<Contents> {
        let mut pieces: Vec<Vec<u8>> = Vec::new();
        for array in self.arrays() {
            let rows = array.len();
            let about = format!("{:?} {:?} {rows}", array.dtype(), array.row_shape());
            pieces.push(about.into_bytes());
            if array.row_bytes() > PROBED {
                continue;
            }
            for row in [0, rows / 2, rows - 1] {
                let mut bytes = vec![0; array.row_bytes()];
                array.read_rows(&[row], &mut bytes)?;
                pieces.push(bytes);
            }
        }
        let rows = self.0[0].1.len();
        Ok(Contents::new(Fingerprint::of("arrays", pieces), [rows])?)
    }
}
