//! `PaddedLengths`: the rows of a column that a batch fills up to its longest row.
//!
//! While a slab is filling, each row has the room of the longest one that is allowed. Sealing moves the rows together and
//! writes what is behind shorter ones.

use std::sync::atomic::AtomicUsize;

use tarflume_types::{PaddedRows, Result, Row};

use super::written::write_noted;

/// The lengths of the rows of one column.
#[derive(Debug)]
pub(super) struct PaddedLengths {
    rows: PaddedRows,
    /// The bytes of an element of [`PaddedRows::value`] come first.
    pattern: [u8; 8],
    /// For each row, the bytes that were written.
    used: Vec<AtomicUsize>,
    /// From one row to the next.
    row_bytes: usize,
}

impl PaddedLengths {
    /// Returns the lengths of the rows of a column.
    pub(super) fn new(own: &PaddedRows, rows: usize) -> PaddedLengths {
        let mut made = PaddedLengths {
            rows: own.clone(),
            pattern: own.pattern().unwrap_or([0; 8]),
            used: (0..rows).map(|_| AtomicUsize::new(0)).collect(),
            row_bytes: 0,
        };
        made.reset();
        made
    }

    /// Gives each row its whole room again.
    pub(super) fn reset(&mut self) {
        self.row_bytes = self.rows.most * self.rows.dtype.size();
        self.used.iter_mut().for_each(|used| *used.get_mut() = 0);
    }

    /// Bytes from one row to the next.
    pub(super) fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    /// Calls `write` with the memory of a row, and notes how much it has written.
    pub(super) fn write(
        &self,
        row: usize,
        bytes: &mut [u8],
        write: impl FnOnce(Row<'_>) -> Result<()>,
    ) -> Result<()> {
        write_noted(self.rows.dtype, &self.used[row], bytes, write)
    }

    /// Moves the rows for which `keep` returns true together, each as long as the longest one of them requires.
    pub(super) fn close(&mut self, all: &mut [u8], rows: usize, keep: &dyn Fn(usize) -> bool) {
        let element = self.rows.dtype.size();
        let kept = (0..rows).filter(|&row| keep(row));
        let longest = kept.map(|row| *self.used[row].get_mut()).max().unwrap_or(0);
        let width = self.rows.width(longest / element) * element;
        // No row grows, so a row that was moved lies before those that were not.
        debug_assert!(width <= self.row_bytes);
        for (to, row) in (0..rows).filter(|&row| keep(row)).enumerate() {
            let used = *self.used[row].get_mut();
            let from = row * self.row_bytes;
            all.copy_within(from..from + used, to * width);
            for behind in all[to * width + used..(to + 1) * width].chunks_exact_mut(element) {
                behind.copy_from_slice(&self.pattern[..element]);
            }
            *self.used[to].get_mut() = used; // needed if the slab is sealed again
        }
        self.row_bytes = width;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use tarflume_types::{DType, PaddedRows};

    use crate::slab::{Slab, SlabLayout};
    use tarflume_types::RowShape;

    /// Writes rows of these lengths, and returns the sealed slab.
    fn written(slab: &mut Slab, lengths: &[usize], keep: impl Fn(usize) -> bool) {
        slab.make_room(lengths.len(), |_, _| 0).unwrap();
        for (row, &length) in lengths.iter().enumerate() {
            let mut lent = slab.lend(row);
            let values: Vec<u8> =
                (0..length).flat_map(|at| ((row * 100 + at) as u16).to_le_bytes()).collect();
            lent.write(0, |mut own| own.put(&values)).unwrap();
            lent.write(1, |mut own| own.put(&[row as u8])).unwrap();
        }
        slab.seal(keep);
    }

    fn expected(lengths: &[usize], width: usize, kept: &[usize]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for &row in kept {
            for at in 0..width {
                let own = if at < lengths[row] { (row * 100 + at) as u16 } else { u16::MAX };
                bytes.extend(own.to_le_bytes());
            }
        }
        bytes
    }

    proptest! {
        #[test]
        fn rows_are_as_long_as_the_longest_kept_one(
            batches in prop::collection::vec(prop::collection::vec((0usize..=24, any::<bool>()), 0..6), 1..4),
            multiple_of in prop::sample::select(vec![1usize, 2, 8, 24]),
        ) {
            let padded = PaddedRows { dtype: DType::U16, most: 24, multiple_of, value: 65535 };
            padded.check().unwrap();
            let shapes = vec![RowShape::Padded(padded.clone()), RowShape::Fixed(DType::U8, vec![])];
            let mut slab = Slab::new(Arc::new(SlabLayout::new(shapes, 6).unwrap())).unwrap();
            for batch in batches {
                let lengths: Vec<usize> = batch.iter().map(|row| row.0).collect();
                written(&mut slab, &lengths, |row| batch[row].1);
                let kept: Vec<usize> = (0..batch.len()).filter(|&row| batch[row].1).collect();
                let longest = kept.iter().map(|&row| lengths[row]).max().unwrap_or(0);
                let width = padded.width(longest);
                prop_assert_eq!(slab.column(0), expected(&lengths, width, &kept));
                prop_assert_eq!(slab.row_bytes(0), Some(2 * width));
                let numbers: Vec<u8> = kept.iter().map(|&row| row as u8).collect();
                prop_assert_eq!(slab.column(1), numbers);
                // Sealed again without its first row, as the decoder of a device does.
                slab.seal(|row| row > 0);
                let rest = kept.get(1..).unwrap_or(&[]);
                let longest = rest.iter().map(|&row| lengths[row]).max().unwrap_or(0);
                prop_assert_eq!(slab.column(0), expected(&lengths, padded.width(longest), rest));
            }
        }
    }

    #[test]
    fn a_row_that_is_too_long_is_an_error() {
        let padded = PaddedRows { dtype: DType::U16, most: 2, multiple_of: 1, value: 0 };
        let layout = SlabLayout::new(vec![RowShape::Padded(padded)], 1).unwrap();
        let mut slab = Slab::new(Arc::new(layout)).unwrap();
        slab.make_room(1, |_, _| 0).unwrap();
        let mut lent = slab.lend(0);
        assert!(lent.write(0, |mut row| row.put(&[0; 6])).is_err());
        assert!(
            lent.write(0, |mut row| row.put(&[0; 3]))
                .unwrap_err()
                .to_string()
                .contains("elements of")
        );
        lent.write(0, |mut row| row.put(&[0; 4])).unwrap();
    }
}
