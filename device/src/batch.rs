//! `Batch`: rows of named columns in one slab, and the provenance of each row.
//!
//! Read-only. Dropping a batch returns its slab to the loader that made it.

mod documents;
mod padded;
mod row_facts;

use std::fmt;
use std::sync::{Arc, Mutex, TryLockError};
use tarflume_formats::IgnorePoison;
use tarflume_types::{DType, Element, Error, PictureShape, Result, RowShape};

pub use self::padded::{Padded, PaddedPictures};
pub use self::row_facts::{RowFacts, RowState};

use self::padded::filled;
use crate::slab::{PictureCell, Slab};
use tarflume_formats::message;
use tarflume_formats::message::Phrase;

/// The storage of a batch. Moves between threads and is reused.
#[derive(Debug)]
pub struct Content {
    /// The rows.
    pub slab: Slab,
    /// One entry for each planned row, including skipped rows.
    pub facts: Vec<RowFacts>,
    /// The errors of rows that were skipped or hold a substitute, with the row number.
    pub bad: Vec<(usize, Error)>,
    /// The number of packs, if samples are packed.
    pub packs: Option<usize>,
    /// The epoch.
    pub epoch: u64,
    /// The step in the epoch.
    pub step: u64,
    /// Samples of the epoch that the whole job has delivered after this batch.
    pub position: u64,
}

impl Content {
    /// The storage of a batch whose rows are in `slab`.
    pub fn new(slab: Slab) -> Content {
        let facts = Vec::new();
        let bad = Vec::new();
        Content { slab, facts, bad, packs: None, epoch: 0, step: 0, position: 0 }
    }

    /// Removes the errors of bad rows and returns them with the facts of their rows.
    pub fn drain_bad(&mut self) -> Vec<(RowFacts, Error)> {
        let Content { facts, bad, .. } = self;
        bad.drain(..).map(|(row, why)| (facts[row], why)).collect()
    }
}

/// Storage of dropped batches, kept for reuse, at most `room`.
#[derive(Debug)]
pub struct BatchPool {
    room: usize,
    #[allow(clippy::vec_box)] // moved from thread to thread by pointer
    free: Mutex<Vec<Box<Content>>>,
}

impl BatchPool {
    /// A pool without entries, which keeps at most `room`.
    pub fn new(room: usize) -> BatchPool {
        BatchPool { room, free: Mutex::new(Vec::with_capacity(room)) }
    }

    /// The capacity.
    pub fn room(&self) -> usize {
        self.room
    }

    /// Number of free entries.
    pub fn kept(&self) -> usize {
        self.free.lock().ignore_poison().len()
    }

    /// Takes a free entry, if there is one.
    pub fn take(&self) -> Option<Box<Content>> {
        self.free.lock().ignore_poison().pop()
    }

    /// Never blocks. In a forked child, the thread that held the lock may not exist, so the lock may
    /// stay held. After 1000 attempts the storage is freed instead.
    pub fn put(&self, content: Box<Content>) {
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

/// The names of a batch's columns. Column 0 always holds the keys.
pub type Names = Arc<[String]>;

/// Decoded samples as rows of named columns.
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
    pool: Arc<BatchPool>,
}

impl Batch {
    #[doc(hidden)]
    pub fn new(content: Box<Content>, names: Names, pool: Arc<BatchPool>) -> Batch {
        Batch { content: Some(content), names, pool }
    }

    #[allow(clippy::expect_used)] // only `drop` takes it
    fn content(&self) -> &Content {
        self.content.as_deref().expect("content of a live batch")
    }

    /// Number of rows. Smaller than the batch size in the last batch of an epoch, and where bad samples
    /// were skipped.
    pub fn len(&self) -> usize {
        self.content().slab.rows()
    }

    /// The number of packs, which are the rows of packed columns; `None` if samples are not packed. Each row's pack is
    /// [`RowFacts::pack`].
    pub fn packs(&self) -> Option<usize> {
        self.content().packs
    }

    /// True if the batch has no rows: all its samples were bad and skipped.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The epoch.
    pub fn epoch(&self) -> u64 {
        self.content().epoch
    }

    /// The step in the epoch, from 0, counted from where the epoch was started or resumed.
    pub fn step(&self) -> u64 {
        self.content().step
    }

    /// Names of all columns except the keys, in the order in which they were added to the loader.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().skip(1).map(String::as_str)
    }

    /// All columns except the keys.
    pub fn columns(&self) -> impl Iterator<Item = Column<'_>> {
        (1..self.names.len()).map(|n| self.nth(n))
    }

    /// Returns the column named `name`.
    ///
    /// # Errors
    /// Returns an error if no column has this name. The message lists the columns.
    pub fn column(&self, name: &str) -> Result<Column<'_>> {
        let found = self.names.iter().position(|n| n == name).filter(|&n| n > 0);
        found.map(|n| self.nth(n)).ok_or_else(|| {
            let names: Vec<_> = self.names().collect();
            Error::usage(format!("no column '{name}'; the columns are: {}", names.join(", ")))
        })
    }

    /// Byte offset of a fixed column in [`Batch::fixed`].
    #[doc(hidden)]
    pub fn place(&self, name: &str) -> Option<usize> {
        let found = self.names.iter().position(|n| n == name)?;
        self.content().slab.layout().place(found)
    }

    /// The bytes of all fixed columns.
    pub(crate) fn fixed(&self) -> &[u8] {
        self.content().slab.fixed()
    }

    fn nth(&self, column: usize) -> Column<'_> {
        let slab = &self.content().slab;
        Column {
            name: &self.names[column],
            shape: &slab.layout().shapes()[column],
            rows: slab.count(column),
            row_bytes: slab.row_bytes(column),
            bytes: slab.column(column),
            offsets: slab.offsets(column),
            pictured: slab.pictured(column),
        }
    }

    /// The key of the sample in row `row`.
    ///
    /// # Panics
    /// Panics if the row does not exist.
    pub fn key(&self, row: usize) -> &[u8] {
        let slab = &self.content().slab;
        let Some(offsets) = slab.offsets(0) else { return &[] };
        &slab.column(0)[offsets[row] - offsets[0]..offsets[row + 1] - offsets[0]]
    }

    /// The facts of each planned row, including skipped rows.
    pub fn planned(&self) -> &[RowFacts] {
        &self.content().facts
    }

    /// The facts of each row of the batch.
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
            self.pool.put(content);
        }
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let epoch = self.epoch();
        let step = self.step();
        let rows = self.len();
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
    /// `None` for a variable column.
    row_bytes: Option<usize>,
    bytes: &'a [u8],
    offsets: Option<&'a [usize]>,
    pictured: Option<&'a [PictureCell]>,
}

impl<'a> Column<'a> {
    /// The name.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.shape.dtype()
    }

    /// The number of rows, then the shape of a row: `[256, 224, 224, 3]`. Only the number of rows for a
    /// variable column. The width of a padded column differs between batches. The rows of a packed column are packs.
    pub fn shape(&self) -> Vec<usize> {
        match self.shape {
            RowShape::Fixed(_, row) => [&[self.rows][..], row].concat(),
            RowShape::Variable(_) => vec![self.rows],
            RowShape::Padded(rows) => {
                vec![self.rows, self.row_bytes.unwrap_or(0) / rows.dtype.size()]
            }
            RowShape::Packed(rows) => vec![self.rows, rows.width],
        }
    }

    /// The bytes of all rows, without gaps. The first byte is aligned to 64 bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The elements of all rows.
    ///
    /// # Errors
    /// Returns an error if `T` is not the column's element type.
    pub fn elements<T: Element>(&self) -> Result<&'a [T]> {
        self.cast(self.bytes)
    }

    /// The bytes of row `row`.
    ///
    /// # Panics
    /// Panics if the row does not exist.
    pub fn row(&self, row: usize) -> &'a [u8] {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        match (self.offsets, self.row_bytes) {
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
    /// Returns an error if `T` is not the column's element type.
    pub fn row_elements<T: Element>(&self, row: usize) -> Result<&'a [T]> {
        self.cast(self.row(row))
    }

    /// The shape of the picture in row `row`, if rows are pictures of different sizes. The elements are
    /// in [`Column::row`].
    ///
    /// # Panics
    /// Panics if the row does not exist.
    pub fn picture(&self, row: usize) -> Option<PictureShape> {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        self.pictured?[row].get()
    }

    /// The offset of each row in [`Column::bytes`], then the end of the last row; `None` if all rows
    /// have the same length.
    pub fn offsets(&self) -> Option<impl Iterator<Item = u64> + use<'a>> {
        self.offsets.map(|offsets| offsets.iter().map(|at| (at - offsets[0]) as u64))
    }

    /// Copies a variable column into one array of equal rows, each as long as the longest row and
    /// filled up with `value`.
    ///
    /// # Errors
    /// Returns an error if `T` is not the column's element type. [`ErrorKind::Limit`](tarflume_types::ErrorKind::Limit): the array
    /// does not fit in memory.
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

    /// Copies pictures of different sizes into one array, each padded with `value` at the right and at
    /// the bottom to the largest height and the largest width.
    ///
    /// # Errors
    /// Returns an error if `T` is not the column's element type or a row is not a picture.
    /// [`ErrorKind::Limit`](tarflume_types::ErrorKind::Limit): the array does not fit in memory.
    pub fn padded_pictures<T: Element>(&self, value: T) -> Result<PaddedPictures<T>> {
        let shapes = (0..self.rows).map(|row| {
            self.picture(row).ok_or_else(|| {
                let name = self.name;
                Error::usage(message!(
                    "row {row} of column '{name}' is not a picture: use {padded}";
                    padded = Phrase::Padded
                ))
            })
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
            let from = self.row_elements::<T>(row)?;
            let [_, lines, line] = shape.dims();
            for (n, from) in from.chunks_exact(line.max(1)).enumerate() {
                let plane = n / lines;
                let at = n % lines;
                let to = row * each + (plane * most[1] + at) * most[2];
                values[to..to + line].copy_from_slice(from);
            }
        }
        Ok(PaddedPictures { values, shape: [self.rows, most[0], most[1], most[2]], shapes })
    }

    fn cast<T: Element>(&self, bytes: &'a [u8]) -> Result<&'a [T]> {
        let same = T::DTYPE == self.dtype() || (T::DTYPE, self.dtype()) == (DType::U8, DType::Bool);
        if !same {
            return Err(self.wrong_type(format!("request this type instead of {:?}", T::DTYPE)));
        }
        bytemuck::try_cast_slice(bytes).map_err(|e| self.wrong_type(e.to_string()))
    }

    fn wrong_type(&self, why: String) -> Error {
        Error::usage(format!("column '{}' holds {:?}: {why}", self.name, self.dtype()))
    }
}

#[cfg(test)]
mod tests;
