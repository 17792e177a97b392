//! `PackedPlaces`: the rows of a column that follow each other in packs.
//!
//! While a slab is filling, each row has the room that was planned for it. Sealing moves the rows of a pack together, numbers
//! them on where that is asked for, and writes what is behind the last one.

use std::ops::Range;
use std::sync::atomic::AtomicUsize;

use bytemuck::Pod;
use tarflume_types::{DType, PackedRows, Result, Row};

use super::written::write_noted;

/// The place of a row, in elements.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PackPlace {
    /// The number of its pack in the batch.
    pub pack: usize,
    /// Its first element in the pack.
    pub begin: usize,
    /// The most elements that it has.
    pub length: usize,
}

/// The places of the rows of one column.
#[derive(Debug)]
pub(super) struct PackedPlaces {
    rows: PackedRows,
    /// The bytes of an element of [`PackedRows::value`] come first.
    pattern: [u8; 8],
    /// The packs of this batch.
    packs: usize,
    places: Vec<PackPlace>,
    /// For each row, the bytes that were written.
    used: Vec<AtomicUsize>,
    /// Whether the rows are numbered on already: a slab may be sealed again.
    is_numbered: bool,
}

impl PackedPlaces {
    /// Rows without places.
    pub(super) fn new(own: &PackedRows, rows: usize) -> PackedPlaces {
        PackedPlaces {
            rows: own.clone(),
            pattern: own.dtype.pattern(own.value).unwrap_or([0; 8]),
            packs: 0,
            places: vec![PackPlace::default(); rows],
            used: (0..rows).map(|_| AtomicUsize::new(0)).collect(),
            is_numbered: false,
        }
    }

    /// Takes the places of all rows away.
    pub(super) fn reset(&mut self) {
        self.packs = 0;
        self.places.fill(PackPlace::default());
        self.used.iter_mut().for_each(|used| *used.get_mut() = 0);
        self.is_numbered = false;
    }

    /// Gives the first rows these places in `packs` packs.
    pub(super) fn place(&mut self, packs: usize, places: &[PackPlace]) {
        assert!(packs <= self.rows.packs, "{packs} packs of {}", self.rows.packs);
        let width = self.rows.width;
        let mut end = 0;
        for &PackPlace { pack, begin, length } in places {
            let first = pack * width + begin;
            assert!(
                pack < packs && begin + length <= width && first >= end,
                "places in packs overlap"
            );
            end = first + length;
        }
        self.packs = packs;
        self.places[..places.len()].copy_from_slice(places);
    }

    /// The packs of this batch.
    pub(super) fn packs(&self) -> usize {
        self.packs
    }

    /// The bytes of a row in the column.
    pub(super) fn range(&self, row: usize) -> Range<usize> {
        let element = self.rows.dtype.size();
        let PackPlace { pack, begin, length } = self.places[row];
        let first = (pack * self.rows.width + begin) * element;
        first..first + length * element
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

    /// Moves the rows for which `keep` returns true together in their packs.
    pub(super) fn close(&mut self, all: &mut [u8], rows: usize, keep: &dyn Fn(usize) -> bool) {
        let element = self.rows.dtype.size();
        let pack_bytes = self.rows.width * element;
        let mut ends = vec![0; self.packs];
        let mut last = vec![0_i64; self.packs];
        for (to, row) in (0..rows).filter(|&row| keep(row)).enumerate() {
            let from = self.range(row).start;
            let used = *self.used[row].get_mut();
            let PackPlace { pack, .. } = self.places[row];
            // Rows only move to the front of their pack, so none is overwritten before it was moved.
            let begin = pack * pack_bytes + ends[pack];
            all.copy_within(from..from + used, begin);
            if self.rows.numbered && !self.is_numbered {
                let own = &mut all[begin..begin + used];
                last[pack] = match self.rows.dtype {
                    DType::I32 => number_on(own, last[pack] as i32).into(),
                    _ => number_on(own, last[pack]),
                };
            }
            let place = PackPlace { pack, begin: ends[pack] / element, length: used / element };
            self.places[to] = place;
            *self.used[to].get_mut() = used;
            ends[pack] += used;
        }
        self.is_numbered = true;
        for (pack, end) in ends.into_iter().enumerate() {
            let behind = &mut all[pack * pack_bytes + end..(pack + 1) * pack_bytes];
            for to in behind.chunks_exact_mut(element) {
                to.copy_from_slice(&self.pattern[..element]);
            }
        }
    }
}

/// Adds `before` to the elements above 0. Returns the largest one of these and `before`.
fn number_on<T: Pod + Ord + Default + std::ops::Add<Output = T>>(row: &mut [u8], before: T) -> T {
    let mut last = before;
    for bytes in row.chunks_exact_mut(size_of::<T>()) {
        let number: T = bytemuck::pod_read_unaligned(bytes);
        if number > T::default() {
            let number = number + before;
            bytes.copy_from_slice(bytemuck::bytes_of(&number));
            last = last.max(number);
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use tarflume_types::RowShape;

    use super::*;
    use crate::slab::{Slab, SlabLayout};

    const WIDTH: usize = 12;

    fn layout(numbered: bool) -> Arc<SlabLayout> {
        let packed = PackedRows { dtype: DType::I32, packs: 4, width: WIDTH, value: -7, numbered };
        let shapes = vec![RowShape::Packed(packed), RowShape::Fixed(DType::U8, vec![])];
        Arc::new(SlabLayout::new(shapes, 40).unwrap())
    }

    /// A row of a test: the elements that are planned and written, and whether it is kept.
    #[derive(Debug, Clone, Copy)]
    struct Planned {
        place: PackPlace,
        written: usize,
        keep: bool,
    }

    fn rows() -> impl Strategy<Value = Vec<Planned>> {
        let row = (0usize..6, 0usize..3, any::<bool>());
        prop::collection::vec((row, any::<bool>()), 0..30).prop_map(|raw| {
            let mut rows = Vec::new();
            let mut pack = 0;
            let mut end = 0;
            for ((length, less, keep), new) in raw {
                if end + length > WIDTH || new {
                    pack += 1;
                    end = 0;
                }
                if pack == 4 {
                    break;
                }
                let place = PackPlace { pack, begin: end, length };
                rows.push(Planned { place, written: length.saturating_sub(less), keep });
                end += length;
            }
            rows
        })
    }

    fn value(row: usize, at: usize) -> i32 {
        (row * 100 + at) as i32
    }

    fn expected(rows: &[Planned], keep: impl Fn(usize) -> bool) -> Vec<i32> {
        let mut all = Vec::new();
        for pack in 0..4 {
            let own = rows.iter().enumerate().filter(|(n, row)| row.place.pack == pack && keep(*n));
            let mut elements: Vec<i32> =
                own.flat_map(|(n, row)| (0..row.written).map(move |at| value(n, at))).collect();
            elements.resize(WIDTH, -7);
            all.extend(elements);
        }
        all
    }

    fn fill(slab: &mut Slab, rows: &[Planned]) {
        slab.make_room(rows.len(), |_, _| 0).unwrap();
        let places: Vec<PackPlace> = rows.iter().map(|row| row.place).collect();
        slab.place_rows(4, &places);
        for (n, row) in rows.iter().enumerate() {
            let values: Vec<i32> = (0..row.written).map(|at| value(n, at)).collect();
            let mut lent = slab.lend(n);
            lent.write(0, |mut own| own.put(bytemuck::cast_slice(&values))).unwrap();
            lent.write(1, |mut own| own.put(&[n as u8])).unwrap();
        }
    }

    proptest! {
        #[test]
        fn rows_follow_each_other_in_their_packs(batches in prop::collection::vec(rows(), 1..4)) {
            let mut slab = Slab::new(layout(false)).unwrap();
            for rows in batches {
                fill(&mut slab, &rows);
                slab.seal(|row| rows[row].keep);
                let wanted = expected(&rows, |n| rows[n].keep);
                prop_assert_eq!(slab.column(0), bytemuck::cast_slice::<i32, u8>(&wanted));
                let kept: Vec<u8> = (0..rows.len()).filter(|&n| rows[n].keep).map(|n| n as u8).collect();
                prop_assert_eq!(slab.column(1), &kept[..]);
                // Sealed again without its first row.
                slab.seal(|row| row > 0);
                let first = kept.first().map(|&n| usize::from(n));
                let rest = expected(&rows, |n| rows[n].keep && Some(n) != first);
                prop_assert_eq!(slab.column(0), bytemuck::cast_slice::<i32, u8>(&rest));
            }
        }
    }

    #[test]
    fn documents_are_numbered_through_a_pack() {
        let mut slab = Slab::new(layout(true)).unwrap();
        slab.make_room(3, |_, _| 0).unwrap();
        let places = [(0, 0, 4), (0, 4, 3), (1, 0, 2)];
        let places = places.map(|(pack, begin, length)| PackPlace { pack, begin, length });
        slab.place_rows(2, &places);
        for (row, numbers) in [&[1, 1, 2, 0][..], &[1, 2, 2], &[1, 1]].into_iter().enumerate() {
            slab.lend(row)
                .write(0, |mut own| own.put(bytemuck::cast_slice::<i32, u8>(numbers)))
                .unwrap();
        }
        slab.seal(|_| true);
        let pad = [-7; WIDTH];
        let mut wanted = vec![1, 1, 2, 0, 3, 4, 4];
        wanted.extend(&pad[7..]);
        wanted.extend([1, 1]);
        wanted.extend(&pad[2..]);
        assert_eq!(slab.column(0), bytemuck::cast_slice::<i32, u8>(&wanted));
        slab.seal(|_| true);
        assert_eq!(slab.column(0), bytemuck::cast_slice::<i32, u8>(&wanted), "numbered once");
    }

    #[test]
    #[should_panic(expected = "overlap")]
    fn places_that_overlap_are_refused() {
        let mut slab = Slab::new(layout(false)).unwrap();
        slab.make_room(2, |_, _| 0).unwrap();
        let places = [(0, 0, 4), (0, 3, 3)];
        slab.place_rows(1, &places.map(|(pack, begin, length)| PackPlace { pack, begin, length }));
    }

    #[test]
    fn a_row_that_is_longer_than_planned_is_an_error() {
        let mut slab = Slab::new(layout(false)).unwrap();
        slab.make_room(1, |_, _| 0).unwrap();
        slab.place_rows(1, &[PackPlace { pack: 0, begin: 0, length: 2 }]);
        assert!(slab.lend(0).write(0, |mut own| own.put(&[0; 12])).is_err());
    }
}
