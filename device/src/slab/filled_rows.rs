//! `FilledRows`: the rows of a column whose elements a batch fills up: each row alone, or several in a pack.

use std::ops::Range;

use tarflume_types::{Result, Row, RowShape};

use super::packed_rows::{PackPlace, PackedPlaces};
use super::padded_rows::PaddedLengths;

/// The places of the rows of one column.
#[derive(Debug)]
pub(super) enum FilledRows {
    Padded(PaddedLengths),
    Packed(PackedPlaces),
}

impl FilledRows {
    /// The rows of a column; `None` if nothing is filled up.
    pub(super) fn of(shape: &RowShape, rows: usize) -> Option<FilledRows> {
        match shape {
            RowShape::Padded(own) => Some(FilledRows::Padded(PaddedLengths::new(own, rows))),
            RowShape::Packed(own) => Some(FilledRows::Packed(PackedPlaces::new(own, rows))),
            RowShape::Fixed(..) | RowShape::Variable(_) => None,
        }
    }

    /// Begins a new batch.
    pub(super) fn reset(&mut self) {
        match self {
            FilledRows::Padded(rows) => rows.reset(),
            FilledRows::Packed(rows) => rows.reset(),
        }
    }

    /// Gives rows their places in packs, if they are packed.
    pub(super) fn place(&mut self, packs: usize, places: &[PackPlace]) {
        if let FilledRows::Packed(rows) = self {
            rows.place(packs, places);
        }
    }

    /// Bytes from one row to the next, if they differ between batches.
    pub(super) fn row_bytes(&self) -> Option<usize> {
        match self {
            FilledRows::Padded(rows) => Some(rows.row_bytes()),
            FilledRows::Packed(_) => None,
        }
    }

    /// The packs of the batch, if rows are packed.
    pub(super) fn packs(&self) -> Option<usize> {
        match self {
            FilledRows::Padded(_) => None,
            FilledRows::Packed(rows) => Some(rows.packs()),
        }
    }

    /// The bytes of a row in its column, whose rows have `bytes` bytes each.
    pub(super) fn range(&self, row: usize, bytes: usize) -> Range<usize> {
        match self {
            FilledRows::Padded(_) => row * bytes..(row + 1) * bytes,
            FilledRows::Packed(rows) => rows.range(row),
        }
    }

    /// Calls `write` with the memory of a row, and notes how much it has written.
    pub(super) fn write(
        &self,
        row: usize,
        bytes: &mut [u8],
        write: impl FnOnce(Row<'_>) -> Result<()>,
    ) -> Result<()> {
        match self {
            FilledRows::Padded(rows) => rows.write(row, bytes, write),
            FilledRows::Packed(rows) => rows.write(row, bytes, write),
        }
    }

    /// Moves the rows for which `keep` returns true together, and fills up what is behind them.
    pub(super) fn close(&mut self, all: &mut [u8], rows: usize, keep: &dyn Fn(usize) -> bool) {
        match self {
            FilledRows::Padded(own) => own.close(all, rows, keep),
            FilledRows::Packed(own) => own.close(all, rows, keep),
        }
    }
}
