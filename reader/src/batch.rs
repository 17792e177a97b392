//! `Batch`: rows of columns in one slab, and where they came from.
//!
//! Reading only. Dropping a batch gives its slab back to the loader that made it.

mod padded;

use std::fmt;
use std::sync::{Arc, Mutex, TryLockError};
use tarflume_formats::poison::IgnorePoison;

pub use self::padded::{Padded, PaddedPictures};

use self::padded::filled;
use crate::column::{DType, Element, PictureShape, RowShape};
use crate::error::{Error, Result};
use crate::slab::{Pictured, Slab};

/// What is known of one row of a batch.
///
/// ```
/// use tarflume::{Loader, RowState};
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let loader = Loader::builder(shards).bytes("txt").batch(4).build()?;
/// let batch = loader.epoch(0).next().unwrap()?;
/// assert!(batch.rows().all(|row| row.state == RowState::Whole && !row.padding));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowFacts {
    /// The sample that the order dealt here.
    pub planned: u64,
    /// The sample that the row holds: another one only if `planned` was bad and was replaced.
    pub ordinal: u64,
    /// What became of the planned sample.
    pub state: RowState,
    /// True if the row fills up the last batch and repeats a sample of this epoch.
    pub padding: bool,
}

/// What became of the sample that was planned for a row.
///
/// ```
/// use tarflume::{Loader, OnBad, RowState};
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let loader = Loader::builder(shards).bytes("txt").on_bad(OnBad::Substitute).batch(4).build()?;
/// let batch = loader.epoch(0).next().unwrap()?;
/// let replaced = batch.rows().filter(|row| row.state == RowState::Replaced).count();
/// assert_eq!(replaced, 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowState {
    /// Here it is.
    Whole,
    /// It was bad, and another sample stands in for it.
    Replaced,
    /// It was bad and is left out of the batch.
    Skipped,
}

/// What a batch consists of: handed from thread to thread and used again.
#[derive(Debug)]
pub(crate) struct Content {
    pub(crate) slab: Slab,
    /// One entry a planned row; those of skipped rows too.
    pub(crate) facts: Vec<RowFacts>,
    /// Why rows were bad that are left out or hold a substitute, by row.
    pub(crate) bad: Vec<(usize, Error)>,
    /// The epoch, and the number of the step in it.
    pub(crate) epoch: u64,
    pub(crate) step: u64,
    /// Samples of the epoch that the whole job has delivered once this batch is taken.
    pub(crate) position: u64,
}

impl Content {
    pub(crate) fn new(slab: Slab) -> Content {
        Content { slab, facts: Vec::new(), bad: Vec::new(), epoch: 0, step: 0, position: 0 }
    }

    /// Takes out why rows were bad, with what is known of each.
    pub(crate) fn drain_bad(&mut self) -> Vec<(RowFacts, Error)> {
        let Content { facts, bad, .. } = self;
        bad.drain(..).map(|(row, why)| (facts[row], why)).collect()
    }
}

/// Where contents go when their batch is dropped: a shelf with room for a few.
#[derive(Debug)]
pub(crate) struct BatchPool {
    room: usize,
    #[allow(clippy::vec_box)] // moved from thread to thread by pointer
    free: Mutex<Vec<Box<Content>>>,
}

impl BatchPool {
    pub(crate) fn new(room: usize) -> BatchPool {
        BatchPool { room, free: Mutex::new(Vec::with_capacity(room)) }
    }

    /// For how many there is room.
    pub(crate) fn room(&self) -> usize {
        self.room
    }

    /// How many stand on it.
    pub(crate) fn len(&self) -> usize {
        self.free.lock().ignore_poison().len()
    }

    pub(crate) fn take(&self) -> Option<Box<Content>> {
        self.free.lock().ignore_poison().pop()
    }

    /// Never waits long: where a process was forked, whoever held the lock may be gone for ever.
    pub(crate) fn put(&self, content: Box<Content>) {
        for _ in 0..1000 {
            let mut free = match self.free.try_lock() {
                Ok(free) => free,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => {
                    std::thread::yield_now();
                    continue;
                }
            };
            if free.len() < self.room {
                free.push(content);
            }
            return;
        }
    }
}

/// The names of a batch's columns; the first column always holds the keys.
pub(crate) type Names = Arc<[String]>;

/// Some samples, decoded: rows of named columns.
///
/// ```
/// use tarflume::Loader;
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let loader = Loader::builder(shards).label("json", "/class").batch(4).build()?;
/// let batch = loader.epoch(0).next().unwrap()?;
/// assert_eq!((batch.len(), batch.key(0)), (4, &b"photo/000"[..]));
/// assert_eq!(batch.names().collect::<Vec<_>>(), ["label"]);
/// # Ok(())
/// # }
/// ```
pub struct Batch {
    content: Option<Box<Content>>,
    names: Names,
    shelf: Arc<BatchPool>,
}

impl Batch {
    pub(crate) fn new(content: Box<Content>, names: Names, shelf: Arc<BatchPool>) -> Batch {
        Batch { content: Some(content), names, shelf }
    }

    #[allow(clippy::expect_used)] // taken by `drop` alone
    fn content(&self) -> &Content {
        self.content.as_deref().expect("a batch that was not dropped")
    }

    /// Rows. Fewer than asked for in the last batch of an epoch, or where bad samples were skipped.
    pub fn len(&self) -> usize {
        self.content().slab.rows()
    }

    /// True if there is no row: every sample of it was bad and skipped.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The epoch it belongs to.
    pub fn epoch(&self) -> u64 {
        self.content().epoch
    }

    /// Its number in the epoch, from 0, counted from where the epoch was begun or resumed.
    pub fn step(&self) -> u64 {
        self.content().step
    }

    /// Names of all columns but the keys, in the order in which the loader was told of them.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().skip(1).map(String::as_str)
    }

    /// All columns but the keys.
    pub fn columns(&self) -> impl Iterator<Item = Column<'_>> {
        (1..self.names.len()).map(|n| self.nth(n))
    }

    /// The column of this name.
    ///
    /// # Errors
    /// There is none; the text lists those that are there.
    pub fn column(&self, name: &str) -> Result<Column<'_>> {
        let found = self.names.iter().position(|n| n == name).filter(|&n| n > 0);
        found.map(|n| self.nth(n)).ok_or_else(|| {
            let there: Vec<_> = self.names().collect();
            Error::usage(format!("no column '{name}'; there are: {}", there.join(", ")))
        })
    }

    /// Where a column of rows of one length begins in [`Batch::fixed`].
    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        let found = self.names.iter().position(|n| n == name)?;
        self.content().slab.layout().place(found)
    }

    /// The bytes of all columns of rows of one length.
    #[cfg(any(test, feature = "cuda"))] // whoever copies it to a device
    pub(crate) fn fixed(&self) -> &[u8] {
        self.content().slab.fixed()
    }

    fn nth(&self, column: usize) -> Column<'_> {
        let slab = &self.content().slab;
        Column {
            name: &self.names[column],
            shape: &slab.layout().shapes()[column],
            rows: slab.rows(),
            bytes: slab.column(column),
            offsets: slab.offsets(column),
            pictured: slab.pictured(column),
        }
    }

    /// The key of the sample in row `row`.
    pub fn key(&self, row: usize) -> &[u8] {
        let slab = &self.content().slab;
        let (bytes, Some(offsets)) = (slab.column(0), slab.offsets(0)) else { return &[] };
        &bytes[offsets[row] - offsets[0]..offsets[row + 1] - offsets[0]]
    }

    /// What is known of each row that the order dealt, skipped ones included.
    pub fn planned(&self) -> &[RowFacts] {
        &self.content().facts
    }

    /// What is known of each row of the batch.
    pub fn rows(&self) -> impl Iterator<Item = &RowFacts> {
        self.content().facts.iter().filter(|row| row.state != RowState::Skipped)
    }

    /// The ordinal of each row's sample.
    pub fn ordinals(&self) -> impl Iterator<Item = u64> {
        self.rows().map(|row| row.ordinal)
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        if let Some(content) = self.content.take() {
            self.shelf.put(content);
        }
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (epoch, step, rows) = (self.epoch(), self.step(), self.len());
        write!(f, "Batch(epoch {epoch}, step {step}, {rows} rows")?;
        for column in self.columns() {
            write!(f, ", {} {:?} {:?}", column.name, column.dtype(), column.shape())?;
        }
        f.write_str(")")
    }
}

/// One column of a batch.
///
/// ```
/// use tarflume::Loader;
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let loader = Loader::builder(shards).label("json", "/class").text("txt").batch(4).build()?;
/// let batch = loader.epoch(0).next().unwrap()?;
/// let label = batch.column("label")?; // all rows, one behind the other
/// assert_eq!((label.dtype().to_string().as_str(), label.elements::<i64>()?), ("int64", &[0, 1, 2, 3][..]));
/// assert_eq!(batch.column("txt")?.row(2), b"photo 2"); // rows of different lengths
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Column<'a> {
    name: &'a str,
    shape: &'a RowShape,
    rows: usize,
    bytes: &'a [u8],
    offsets: Option<&'a [usize]>,
    pictured: Option<&'a [Pictured]>,
}

impl<'a> Column<'a> {
    /// Its name.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// The type of its elements.
    pub fn dtype(&self) -> DType {
        self.shape.dtype()
    }

    /// Rows, then the shape of a row: `[256, 224, 224, 3]`. Of a variable column the rows alone.
    pub fn shape(&self) -> Vec<usize> {
        match self.shape {
            RowShape::Fixed(_, row) => [&[self.rows][..], row].concat(),
            RowShape::Variable(_) => vec![self.rows],
        }
    }

    /// All its bytes, row after row without gaps; the first is aligned to 64 bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// All its elements, row after row.
    ///
    /// # Errors
    /// The column's elements are of another type.
    pub fn elements<T: Element>(&self) -> Result<&'a [T]> {
        self.cast(self.bytes)
    }

    /// The bytes of row `row`.
    pub fn row(&self, row: usize) -> &'a [u8] {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        match (self.offsets, self.shape.bytes()) {
            (Some(offsets), _) => {
                &self.bytes[offsets[row] - offsets[0]..offsets[row + 1] - offsets[0]]
            }
            (None, bytes) => {
                let bytes = bytes.unwrap_or(0);
                &self.bytes[row * bytes..(row + 1) * bytes]
            }
        }
    }

    /// The elements of row `row`.
    ///
    /// # Errors
    /// The column's elements are of another type.
    pub fn row_elements<T: Element>(&self, row: usize) -> Result<&'a [T]> {
        self.cast(self.row(row))
    }

    /// The shape of row `row` if it is a picture of a size of its own: height, width and channels of
    /// [`Column::row`].
    pub fn picture(&self, row: usize) -> Option<PictureShape> {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        self.pictured?[row].get()
    }

    /// Where each row begins in [`Column::bytes`], and where the last ends; `None` if all rows have
    /// one length.
    pub fn offsets(&self) -> Option<impl Iterator<Item = u64> + use<'a>> {
        self.offsets.map(|offsets| offsets.iter().map(|at| (at - offsets[0]) as u64))
    }

    /// A variable column as one block of equal rows: as long as the longest, filled up with `value`.
    ///
    /// # Errors
    /// The column's elements are of another type. [`crate::ErrorKind::Limit`]: rows as long as the longest do not fit
    /// in memory.
    pub fn padded<T: Element>(&self, value: T) -> Result<Padded<T>> {
        let lengths = (0..self.rows).map(|row| self.row_elements::<T>(row).map(<[T]>::len));
        let lengths = lengths.collect::<Result<Vec<_>>>()?;
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let mut values = filled([self.rows, longest], value).map_err(|e| e.of_column(self.name))?;
        for (row, &length) in lengths.iter().enumerate() {
            let from = self.row_elements(row)?;
            values[row * longest..row * longest + length].copy_from_slice(from);
        }
        Ok(Padded { values, shape: [self.rows, longest], lengths })
    }

    /// Pictures of their own sizes as one block: as high and as wide as the highest and the widest of
    /// them, filled up with `value` at the right and below.
    ///
    /// # Errors
    /// The column's elements are of another type, or a row is no picture. [`crate::ErrorKind::Limit`]: pictures as
    /// high and as wide as the largest do not fit in memory.
    pub fn padded_pictures<T: Element>(&self, value: T) -> Result<PaddedPictures<T>> {
        let shapes = (0..self.rows).map(|row| {
            let no_picture = || {
                let name = self.name;
                Error::usage(format!("row {row} of column '{name}' is no picture: see .padded()"))
            };
            self.picture(row).ok_or_else(no_picture)
        });
        let shapes = shapes.collect::<Result<Vec<_>>>()?;
        let mut most = [0; 3];
        for dims in shapes.iter().map(|shape| shape.dims()) {
            most = [0, 1, 2].map(|n| dims[n].max(most[n]));
        }
        let [first, second, third] = most;
        let values = filled([self.rows, first, second, third], value);
        let mut values = values.map_err(|e| e.of_column(self.name))?;
        let each = first * second * third;
        for (row, shape) in shapes.iter().enumerate() {
            let (from, [_, lines, line]) = (self.row_elements::<T>(row)?, shape.dims());
            for (n, from) in from.chunks_exact(line.max(1)).enumerate() {
                let (plane, at) = (n / lines, n % lines);
                let to = row * each + (plane * most[1] + at) * most[2];
                values[to..to + line].copy_from_slice(from);
            }
        }
        Ok(PaddedPictures { values, shape: [self.rows, most[0], most[1], most[2]], shapes })
    }

    fn cast<T: Element>(&self, bytes: &'a [u8]) -> Result<&'a [T]> {
        let wrong = |why: String| {
            Error::usage(format!("column '{}' holds {:?}: {why}", self.name, self.dtype()))
        };
        let same = T::DTYPE == self.dtype() || (T::DTYPE, self.dtype()) == (DType::U8, DType::Bool);
        if !same {
            return Err(wrong(format!("ask for these and not for {:?}", T::DTYPE)));
        }
        bytemuck::try_cast_slice(bytes).map_err(|e| wrong(e.to_string()))
    }
}

#[cfg(test)]
mod tests;
