//! `ArrayRows`: arrays of equally many rows, as the data of a loader: its columns, and what its order depends on.
//!
//! Reads no row but the few that a fingerprint covers.

use std::sync::Arc;

use tarflume_dataset::ArrayDataset;
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_types::{Error, Result, Size};

use crate::decode::bytes::raw::Raw;
use crate::loader::pipeline::columns::Columns;
use crate::order::{Contents, Fingerprint, Shuffle};

/// Rows with more bytes are not part of a fingerprint.
const PROBED: usize = 1 << 20;
/// More blocks are not told apart by an order.
const MOST_BLOCKS: u64 = 1 << 20;

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

    /// What an order must know: the numbers of rows that are stored together, as those of shards, and a digest of what the
    /// arrays are. It covers their types, shapes, blocks and numbers of rows, and of those that are not decoded the bytes
    /// of the first, the middle and the last row.
    ///
    /// # Errors
    /// A row cannot be read.
    pub(crate) fn contents(&self) -> Result<Contents> {
        let mut pieces: Vec<Vec<u8>> = Vec::new();
        for array in self.arrays() {
            let rows = array.len();
            let about = format!("{:?} {:?} {rows}", array.dtype(), array.row_shape());
            pieces.push(about.into_bytes());
            if let Some(blocks) = array.blocks() {
                pieces.push(format!("{blocks:?}").into_bytes());
                continue;
            }
            if array.row_bytes() > PROBED {
                continue;
            }
            for row in [0, rows / 2, rows - 1] {
                let mut bytes = vec![0; array.row_bytes()];
                array.read_rows(&[row], &mut bytes)?;
                pieces.push(bytes);
            }
        }
        let fingerprint = Fingerprint::of("arrays", pieces);
        let blocks = self.arrays().filter_map(ArrayDataset::blocks);
        let largest = blocks.max_by_key(|blocks| blocks.largest());
        match largest.filter(|blocks| blocks.count() <= MOST_BLOCKS) {
            Some(blocks) => Ok(Contents::new(fingerprint, blocks.counts())?),
            None => Ok(Contents::new(fingerprint, [self.0[0].1.len()])?),
        }
    }

    /// Checks that an order does not decode a block of rows for each row.
    ///
    /// # Errors
    /// Rows are drawn from all blocks of an array, and not all of its blocks are kept.
    pub(crate) fn check_order(&self, shuffle: Shuffle) -> Result<()> {
        if !matches!(shuffle, Shuffle::Full { .. }) {
            return Ok(());
        }
        let Some((name, array)) = self.0.iter().find(|(_, array)| !array.keeps_all()) else {
            return Ok(());
        };
        let text = message!(
            "array '{name}' is decoded in blocks of {} rows, and a full shuffle takes each row from another block. All rows \
             have {}, which is more than its memory limit has room for: shuffle by blocks with {shuffle}, give the array \
             more memory, or pack the rows",
            array.block_rows().unwrap_or(1),
            Size::new(array.bytes()).about();
            shuffle = Name::Shuffle.quoted("blocks")
        );
        Err(Error::usage(text).with_path(array.path()))
    }
}
