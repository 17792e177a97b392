//! `Slab`: the memory of one batch, lent row by row while it is filled.
//!
//! Contains unsafe code. A [`Slab`] is *filling* or *sealed*. While it is filling, each row is lent to one
//! thread at a time, and threads write different rows concurrently. Once sealed, it is only read. Decodes
//! nothing and knows no samples.
//!
//! What the unsafe code relies on, and why it holds:
//! - every range is within its block: ranges are computed by [`SlabLayout`] and [`Slab::make_room`] from the
//!   lengths that the blocks were allocated with, and slicing is checked;
//! - rows do not overlap: row `i` of a column of `n` bytes a row begins at `start + i * n`, columns follow
//!   each other, variable rows are between neighboring entries of an ascending list, and the places of packed rows are
//!   checked to ascend;
//! - a row is lent once at a time: lending swaps its flag and panics if the flag was set;
//! - no bytes are read while they are written: reading requires *sealed*. Sealing sets the state, then
//!   checks the number of lent rows; lending increments that number, then checks the state. All accesses
//!   are sequentially consistent, so one side of a race sees the other and panics. Returning to *filling*
//!   needs `&mut`;
//! - bytes are initialized: see `block`.
#![allow(unsafe_code)]

mod block;
mod filled_rows;
mod layout;
mod packed_rows;
mod padded_rows;
mod picture_cell;
mod replaced_rows;
mod variable_rows;
mod written;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tarflume_types::{Result, Row};

pub use self::block::{ExternalMemory, HostBytes, HostMemory};
pub use self::layout::SlabLayout;
pub use self::packed_rows::PackPlace;
pub(crate) use self::picture_cell::PictureCell;
pub use self::variable_rows::VariableRows;

use self::block::Block;
use self::filled_rows::FilledRows;
use self::layout::COLUMN_ALIGN;
use self::written::check_written;

/// The memory of one batch.
#[derive(Debug)]
pub struct Slab {
    layout: Arc<SlabLayout>,
    fixed: Block,
    /// All variable columns, one after the other.
    tail: Block,
    /// For each variable column, the offset in the tail at which each row may begin: rows + 1 entries.
    rooms: Vec<Vec<usize>>,
    /// For each variable column, the number of bytes written to each row.
    used: Vec<Vec<AtomicUsize>>,
    /// For each variable column, the shape of each row that is a picture.
    pictured: Vec<Vec<PictureCell>>,
    /// For each column that is padded or packed, the places of its rows.
    filled: Vec<Option<FilledRows>>,
    lent: Vec<AtomicBool>,
    lent_now: AtomicUsize,
    sealed: AtomicBool,
    /// Once sealed, the number of rows that were kept.
    rows: usize,
}

impl Slab {
    /// An empty slab, filling.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`](tarflume_types::ErrorKind::Limit): the allocation failed.
    #[cfg(test)]
    pub(crate) fn new(layout: Arc<SlabLayout>) -> Result<Slab> {
        Slab::in_memory(layout, None)
    }

    /// An empty slab, filling, with its fixed columns in `memory` if that provides a block.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`](tarflume_types::ErrorKind::Limit): the allocation failed.
    pub fn in_memory(layout: Arc<SlabLayout>, memory: Option<&dyn HostMemory>) -> Result<Slab> {
        let rows = layout.rows;
        let variable = layout.variable;
        let foreign = memory.filter(|_| layout.fixed > 0).and_then(|m| m.block(layout.fixed));
        Ok(Slab {
            fixed: foreign.map_or_else(|| Block::new(layout.fixed), |f| Ok(Block::foreign(f)))?,
            tail: Block::new(0)?,
            rooms: (0..variable).map(|_| vec![0; rows + 1]).collect(),
            used: (0..variable).map(|_| (0..rows).map(|_| AtomicUsize::new(0)).collect()).collect(),
            pictured: (0..variable)
                .map(|_| (0..rows).map(|_| PictureCell::default()).collect())
                .collect(),
            filled: layout.shapes.iter().map(|shape| FilledRows::of(shape, rows)).collect(),
            lent: (0..rows).map(|_| AtomicBool::new(false)).collect(),
            lent_now: AtomicUsize::new(0),
            sealed: AtomicBool::new(false),
            rows,
            layout,
        })
    }

    /// The positions of the columns.
    #[inline]
    pub fn layout(&self) -> &SlabLayout {
        &self.layout
    }

    /// Bytes of memory of the slab.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.fixed.length() + self.tail.length()
    }

    /// Bytes of all columns in the kept rows.
    ///
    /// # Panics
    /// Panics if the slab is not sealed, which is a bug in this crate.
    pub fn used_bytes(&self) -> usize {
        (0..self.layout.shapes.len()).map(|column| self.column(column).len()).sum()
    }

    /// Begins a new batch of `rows` rows, from sealed to filling. `room(column, row)` returns the
    /// maximum number of bytes of a row of a variable column. The memory grows if needed and is kept.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`](tarflume_types::ErrorKind::Limit): the allocation failed.
    pub fn make_room(
        &mut self,
        rows: usize,
        mut room: impl FnMut(usize, usize) -> usize,
    ) -> Result<()> {
        assert!(rows <= self.layout.rows && *self.lent_now.get_mut() == 0);
        *self.sealed.get_mut() = false;
        self.rows = rows;
        self.filled.iter_mut().flatten().for_each(FilledRows::reset);
        let mut end = 0usize;
        for (column, shape) in self.layout.shapes.iter().enumerate() {
            if shape.bytes().is_some() {
                continue;
            }
            let place = self.layout.places[column];
            // Rows follow each other without gaps if each has exactly the announced length, so that
            // sealing moves nothing. Each row is aligned to its element type.
            let element = shape.dtype().size();
            end = end.checked_next_multiple_of(COLUMN_ALIGN).unwrap_or(usize::MAX);
            for row in 0..rows {
                self.rooms[place][row] = end;
                let bytes = room(column, row).checked_next_multiple_of(element);
                end = bytes.and_then(|bytes| end.checked_add(bytes)).unwrap_or(usize::MAX);
                *self.used[place][row].get_mut() = 0;
                self.pictured[place][row].set(None);
            }
            self.rooms[place][rows] = end;
        }
        if end > self.tail.length() {
            // Free the old block first, to bound the peak.
            self.tail = Block::new(0)?;
            self.tail = Block::new(end.saturating_add(end / 8))?;
        }
        Ok(())
    }

    /// Gives the rows of packed columns their places in `packs` packs, in the order of rows. Call it after [`Slab::make_room`].
    ///
    /// # Panics
    /// Panics if places overlap or are outside of a pack, which is a bug in the caller.
    pub fn place_rows(&mut self, packs: usize, places: &[PackPlace]) {
        assert!(*self.lent_now.get_mut() == 0 && places.len() == self.rows, "rows without places");
        self.filled.iter_mut().flatten().for_each(|filled| filled.place(packs, places));
    }

    /// Lends row `row` to the calling thread until the result is dropped.
    ///
    /// # Panics
    /// Panics if the row is already lent or the slab is sealed, which is a bug in this crate.
    pub fn lend(&self, row: usize) -> RowWriter<'_> {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        assert!(!self.lent[row].swap(true, Ordering::SeqCst), "row {row} is lent already");
        self.lent_now.fetch_add(1, Ordering::SeqCst);
        let lent = RowWriter { slab: self, row };
        assert!(!self.sealed.load(Ordering::SeqCst), "a sealed slab lends no rows");
        lent
    }

    /// A row of a fixed column, for writing it again before the batch is delivered; empty for a variable column.
    #[inline]
    pub fn row_mut(&mut self, column: usize, row: usize) -> &mut [u8] {
        assert!(row < self.rows && *self.lent_now.get_mut() == 0, "row {row} of {}", self.rows);
        let bytes = self.row_bytes(column);
        let start = bytes.map_or(0, |bytes| self.layout.places[column] + row * bytes);
        // SAFETY: `&mut self` and no lent rows exclude any other access to the block.
        unsafe { self.fixed.write(start, bytes.unwrap_or(0)) }
    }

    /// All rows of a fixed column, for writing them again before the batch is delivered; empty for a variable column.
    pub fn column_mut(&mut self, column: usize) -> &mut [u8] {
        assert!(*self.lent_now.get_mut() == 0, "a row is still lent");
        let bytes = self.row_bytes(column);
        let start = bytes.map_or(0, |_| self.layout.places[column]);
        let count = self.count(column);
        // SAFETY: `&mut self` and no lent rows exclude any other access to the block.
        unsafe { self.fixed.write(start, bytes.unwrap_or(0) * count) }
    }

    /// Seals the batch: removes the rows for which `keep` returns false and the gaps of variable columns.
    /// The slab is only read afterwards. A sealed slab may be sealed again to remove more rows.
    ///
    /// # Panics
    /// Panics if a row is still lent, which is a bug in this crate.
    pub fn seal(&mut self, keep: impl Fn(usize) -> bool) {
        assert!(*self.lent_now.get_mut() == 0, "a row is still lent");
        let rows = self.rows;
        for column in 0..self.layout.shapes.len() {
            let place = self.layout.places[column];
            let count = self.count(column);
            match (self.row_bytes(column), &mut self.filled[column]) {
                (Some(bytes), Some(filled)) => {
                    // SAFETY: `&mut self` and no lent rows exclude any other access to the block.
                    let all = unsafe { self.fixed.write(place, bytes * count) };
                    filled.close(all, rows, &keep);
                }
                (Some(bytes), None) => self.close_fixed(place, bytes, rows, &keep),
                (None, _) => self.close_variable(place, rows, &keep),
            }
        }
        self.rows = (0..rows).filter(|&row| keep(row)).count();
        self.sealed.store(true, Ordering::SeqCst);
    }

    fn close_fixed(
        &mut self,
        start: usize,
        bytes: usize,
        rows: usize,
        keep: &dyn Fn(usize) -> bool,
    ) {
        if (0..rows).all(keep) {
            return;
        }
        // SAFETY: `&mut self` and no lent rows exclude any other access to the block.
        let all = unsafe { self.fixed.write(start, bytes * rows) };
        for (to, row) in (0..rows).filter(|&row| keep(row)).enumerate() {
            all.copy_within(row * bytes..(row + 1) * bytes, to * bytes);
        }
    }

    fn close_variable(&mut self, place: usize, rows: usize, keep: &dyn Fn(usize) -> bool) {
        let rooms = &mut self.rooms[place];
        let first = rooms[0];
        let end = rooms[rows];
        // SAFETY: `&mut self` and no lent rows exclude any other access to the block.
        let all = unsafe { self.tail.write(first, end - first) };
        let mut to = first;
        let mut row_to = 0;
        for row in (0..rows).filter(|&row| keep(row)) {
            let from = rooms[row];
            let used = *self.used[place][row].get_mut();
            if from != to {
                all.copy_within(from - first..from - first + used, to - first);
            }
            rooms[row_to] = to;
            if row_to != row {
                *self.used[place][row_to].get_mut() = used; // needed if the slab is sealed again
                self.pictured[place][row_to].set(self.pictured[place][row].get());
            }
            row_to += 1;
            to += used;
        }
        rooms[row_to] = to;
    }

    /// Number of kept rows.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// All fixed columns, at the offsets of [`SlabLayout::place`]. The bytes between the columns and after the
    /// kept rows are unspecified.
    ///
    /// # Panics
    /// Panics if the slab is not sealed, which is a bug in this crate.
    pub(crate) fn fixed(&self) -> &[u8] {
        assert!(self.sealed.load(Ordering::SeqCst), "a batch is read before it is sealed");
        // SAFETY: sealed, so no writes until `&mut self` ends this borrow.
        unsafe { self.fixed.read(0, self.layout.fixed) }
    }

    /// All bytes of a fixed column, or the bytes of a variable one without its offsets.
    ///
    /// # Panics
    /// Panics if the slab is not sealed, which is a bug in this crate.
    pub fn column(&self, column: usize) -> &[u8] {
        assert!(self.sealed.load(Ordering::SeqCst), "a batch is read before it is sealed");
        let place = self.layout.places[column];
        match self.row_bytes(column) {
            // SAFETY: sealed, so no writes until `&mut self` ends this borrow.
            Some(bytes) => unsafe { self.fixed.read(place, bytes * self.count(column)) },
            None => {
                let first = self.rooms[place][0];
                let end = self.rooms[place][self.rows];
                // SAFETY: as above.
                unsafe { self.tail.read(first, end - first) }
            }
        }
    }

    /// A kept row of a fixed column; `None` if there is none.
    ///
    /// # Panics
    /// As [`Slab::column`].
    pub fn fixed_row(&self, column: usize, row: usize) -> Option<&[u8]> {
        let bytes = self.row_bytes(column)?;
        self.column(column).get(row.checked_mul(bytes)?..)?.get(..bytes)
    }

    /// The kept rows of a fixed column; none of a variable one.
    ///
    /// # Panics
    /// As [`Slab::column`].
    pub fn fixed_rows(&self, column: usize) -> impl Iterator<Item = &[u8]> {
        (0..self.rows).map_while(move |row| self.fixed_row(column, row))
    }

    /// Bytes of each row of a column that is not variable: those of a padded one follow from the rows once it is sealed.
    pub(crate) fn row_bytes(&self, column: usize) -> Option<usize> {
        let padded = self.filled[column].as_ref().and_then(FilledRows::row_bytes);
        padded.or_else(|| self.layout.shapes[column].bytes())
    }

    /// How often a column that is not variable has the bytes of a row: its packs, or the rows.
    pub(crate) fn count(&self, column: usize) -> usize {
        self.filled[column].as_ref().and_then(FilledRows::packs).unwrap_or(self.rows)
    }

    /// The offsets of the rows of a variable column, counted from `offsets()[0]`; one entry more than
    /// rows. `None` for a fixed column.
    pub fn offsets(&self, column: usize) -> Option<&[usize]> {
        let variable = self.layout.shapes[column].bytes().is_none();
        variable.then(|| &self.rooms[self.layout.places[column]][..=self.rows])
    }
}

impl Slab {
    /// The shapes of the pictures in the rows of a variable column.
    pub(crate) fn pictured(&self, column: usize) -> Option<&[PictureCell]> {
        let variable = self.layout.shapes[column].bytes().is_none();
        variable.then(|| &self.pictured[self.layout.places[column]][..self.rows])
    }
}

/// One row of a slab, lent to one thread.
#[derive(Debug)]
pub struct RowWriter<'a> {
    slab: &'a Slab,
    row: usize,
}

impl RowWriter<'_> {
    /// Calls `write` with the row's part of a column.
    ///
    /// # Errors
    /// The error of `write`; or a variable row that it left with more bytes than there is room for, with a part of an
    /// element, or with a picture of another size.
    pub fn write(
        &mut self,
        column: usize,
        write: impl FnOnce(Row<'_>) -> Result<()>,
    ) -> Result<()> {
        let slab = self.slab;
        let row = self.row;
        let place = slab.layout.places[column];
        if let Some(bytes) = slab.layout.shapes[column].bytes() {
            let range = match &slab.filled[column] {
                Some(filled) => filled.range(row, bytes),
                None => row * bytes..(row + 1) * bytes,
            };
            // SAFETY: the row is lent to this value only, which is borrowed for as long.
            let own = unsafe { slab.fixed.write(place + range.start, range.len()) };
            return match &slab.filled[column] {
                Some(filled) => filled.write(row, own, write),
                None => write(Row::fixed(own)),
            };
        }
        let start = slab.rooms[place][row];
        let end = slab.rooms[place][row + 1];
        let mut used = 0;
        let mut picture = None;
        // SAFETY: as above.
        let bytes = unsafe { slab.tail.write(start, end - start) };
        let result = write(Row::pictured(bytes, &mut used, &mut picture));
        let result = result.and_then(|()| {
            check_written(slab.layout.shapes[column].dtype(), end - start, used, picture)
        });
        slab.pictured[place][row].set(picture);
        slab.used[place][row].store(used.min(end - start), Ordering::Release);
        result
    }
}

impl Drop for RowWriter<'_> {
    fn drop(&mut self) {
        self.slab.lent[self.row].store(false, Ordering::SeqCst);
        self.slab.lent_now.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests;
