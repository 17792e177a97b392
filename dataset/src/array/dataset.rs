//! `ArrayDataset`: the mapped file and the places of its rows, or the blocks that are decoded. Knows no order of rows.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tarflume_formats::npy::{self, Header};
use tarflume_formats::{Access, Mapped, files};
use tarflume_types::{DType, Error, Result};

use super::blocks::{BlockCache, DecodeRows, RowBlocks};
use super::layout::{ArrayLayout, ArrayPlace};
use super::view::RowView;

/// Reads of at least this many bytes are requested with one `madvise`, which is cheaper than one page
/// fault for each page.
const READ_TOGETHER: usize = 16 << 10;

/// A memory-mapped array, or one that is decoded block by block. Clones share the mapping and the blocks. Safe to read
/// from any number of threads.
///
/// ```no_run
/// # fn main() -> tarflume::Result<()> {
/// let images = tarflume::ArrayDataset::open("images.npy")?;
/// let row = images.get(1_000_000)?;
/// let brightest = row.elements::<f32>()?.iter().copied().fold(0.0, f32::max);
/// row.intact()?; // returns an error if the file was truncated while it was read
/// # let _ = brightest;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct ArrayDataset(Arc<ArrayFields>);

#[derive(Debug)]
struct ArrayFields {
    path: PathBuf,
    layout: ArrayLayout,
    stored: Stored,
}

/// Where the rows are.
#[derive(Debug)]
enum Stored {
    /// In the file, as they are.
    Mapped(Mapped),
    /// In blocks that are decoded.
    Blocks(BlockCache),
}

impl ArrayDataset {
    /// Opens an `.npy` file. The rows are the entries along the first dimension. Bytes after the
    /// array are ignored, as NumPy ignores them.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, is not an npy file, or holds fewer bytes than its
    /// header declares ([`ErrorKind::Truncated`](tarflume_types::ErrorKind::Truncated), with both numbers). Returns an error if the
    /// array cannot be read in place: Fortran order, big-endian, complex numbers, text, objects,
    /// records, a zero-dimensional array. The message names what to save instead.
    pub fn open(path: impl AsRef<Path>) -> Result<ArrayDataset> {
        let path = path.as_ref();
        let (file, length) = open_with_length(path)?;
        let header = read_header(&file, length, path)?;
        let layout = ArrayLayout::of_npy(&header, length).map_err(|e| e.with_path(path))?;
        ArrayDataset::map(&file, length, layout, path)
    }

    /// Opens a file of raw rows of shape `row`. The first row begins at byte `offset`. At offset 0 of
    /// an `.npy` file, its header decides where the rows are, and must agree with `dtype` and `row`.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, if the bytes from `offset` to its end are not a
    /// whole number of rows, if a row has no bytes, or if the header of an `.npy` file names another
    /// type or shape.
    pub fn raw(
        path: impl AsRef<Path>,
        dtype: DType,
        row: &[usize],
        offset: u64,
    ) -> Result<ArrayDataset> {
        let path = path.as_ref();
        let (file, length) = open_with_length(path)?;
        let layout = if offset == 0 && begins_as_npy(&file, length, path)? {
            let header = read_header(&file, length, path)?;
            ArrayLayout::of_npy(&header, length).and_then(|layout| layout.agrees(dtype, row))
        } else {
            ArrayLayout::raw(dtype, row, offset, length)
        };
        ArrayDataset::map(&file, length, layout.map_err(|e| e.with_path(path))?, path)
    }

    /// Opens a file in which the rows of shape `row` are at `places`, one place after the other: the
    /// data sets and pages that `tarflume-sources` finds in HDF5 and Parquet files.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or a place is not in it.
    pub fn placed(
        path: impl AsRef<Path>,
        dtype: DType,
        row: &[usize],
        places: &[ArrayPlace],
    ) -> Result<ArrayDataset> {
        let path = path.as_ref();
        let (file, length) = open_with_length(path)?;
        let layout =
            ArrayLayout::placed(dtype, row, places, length).map_err(|e| e.with_path(path))?;
        ArrayDataset::map(&file, length, layout, path)
    }

    fn map(file: &File, length: u64, layout: ArrayLayout, path: &Path) -> Result<ArrayDataset> {
        let file = Mapped::of(file, length, path)?;
        file.advise(Access::Random);
        let stored = Stored::Mapped(file);
        Ok(ArrayDataset(Arc::new(ArrayFields { path: path.to_path_buf(), layout, stored })))
    }

    /// Opens an array of rows of shape `row` that `decode` decodes block by block. `kept` is how many bytes of decoded
    /// blocks are kept; one block is, whatever its size.
    ///
    /// # Errors
    /// Returns an error if the blocks do not follow each other.
    pub fn in_blocks(
        path: impl AsRef<Path>,
        dtype: DType,
        row: &[usize],
        blocks: RowBlocks,
        decode: Arc<dyn DecodeRows>,
        kept: u64,
    ) -> Result<ArrayDataset> {
        let path = path.as_ref();
        let layout = ArrayLayout::decoded(dtype, row, blocks.rows());
        let layout = layout.map_err(|e| e.with_path(path))?;
        let cache = BlockCache::new(blocks, decode, layout.row_bytes, kept);
        let stored = Stored::Blocks(cache.map_err(|e| e.with_path(path))?);
        Ok(ArrayDataset(Arc::new(ArrayFields { path: path.to_path_buf(), layout, stored })))
    }

    /// Rows of the largest block of an array that is decoded block by block; `None` if its rows are in the file as they
    /// are.
    pub fn block_rows(&self) -> Option<u64> {
        self.cache().map(|cache| cache.blocks.largest())
    }

    /// The blocks of an array that is decoded block by block.
    pub fn blocks(&self) -> Option<&RowBlocks> {
        self.cache().map(|cache| &cache.blocks)
    }

    /// Blocks that are kept decoded, at least one; all for an array whose rows are in the file as they are.
    pub fn blocks_kept(&self) -> u64 {
        self.cache().map_or(u64::MAX, |cache| {
            let block = cache.blocks.largest().saturating_mul(self.row_bytes() as u64);
            (cache.most / block.max(1)).max(1)
        })
    }

    /// True if rows in any order are read without decoding a block again: all blocks are kept, or there are none.
    pub fn keeps_all(&self) -> bool {
        self.cache().is_none_or(|cache| self.bytes() <= cache.most)
    }

    /// Bytes of all rows.
    pub fn bytes(&self) -> u64 {
        self.len() * self.row_bytes() as u64
    }

    fn cache(&self) -> Option<&BlockCache> {
        match &self.0.stored {
            Stored::Mapped(_) => None,
            Stored::Blocks(cache) => Some(cache),
        }
    }

    /// Number of rows.
    pub fn len(&self) -> u64 {
        self.0.layout.rows
    }

    /// True if the array has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Elements along each dimension of one row; `[]` if a row is a single number.
    pub fn row_shape(&self) -> &[usize] {
        &self.0.layout.row
    }

    /// Bytes of one row.
    pub fn row_bytes(&self) -> usize {
        self.0.layout.row_bytes
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.0.layout.dtype
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Declares the expected access pattern. The default is [`Access::Random`], which disables
    /// readahead: only the pages of a row are read. Use [`Access::Sequential`] to read all rows from
    /// first to last.
    pub fn advise(&self, access: Access) {
        if let Stored::Mapped(file) = &self.0.stored {
            file.advise(access);
        }
    }

    /// Returns row `row`.
    ///
    /// # Errors
    /// Returns an error if the row does not exist or the file was truncated after it was opened.
    pub fn get(&self, row: u64) -> Result<RowView<'_>> {
        self.rows(row..row.saturating_add(1))
    }

    /// Returns consecutive rows as one view.
    ///
    /// # Errors
    /// As [`ArrayDataset::get`]. Returns an error if the range ends before it begins, or if there is a
    /// gap in the file between two of the rows, as between the pages of a table; see
    /// [`ArrayDataset::read_rows`].
    pub fn rows(&self, rows: Range<u64>) -> Result<RowView<'_>> {
        let ArrayFields { path, layout, stored } = &*self.0;
        if rows.end > layout.rows || rows.start > rows.end {
            return Err(self.outside(&rows));
        }
        let Stored::Mapped(file) = stored else {
            let text = "its rows are decoded block by block and are at no place of the file; read them with read_rows";
            return Err(Error::usage(text).with_path(path));
        };
        if !layout.is_gapless(&rows) {
            let text = format!(
                "rows {}..{} are in several pages of the file; read them with read_rows",
                rows.start, rows.end
            );
            return Err(Error::usage(text).with_path(path));
        }
        // Both ends are within the mapped file, so they fit a `usize`.
        let start = if rows.is_empty() { 0 } else { layout.start(rows.start) as usize };
        let bytes = start..start + (rows.end - rows.start) as usize * layout.row_bytes;
        if bytes.len() >= READ_TOGETHER {
            file.prefetch(bytes.start, bytes.len());
        }
        let bytes = &file[bytes];
        let count = rows.end - rows.start;
        let view = RowView { file, path, layout, bytes, first: rows.start, rows: count };
        view.intact()?;
        Ok(view)
    }

    /// Copies rows into `into`, in the order of `rows`, without gaps.
    ///
    /// # Errors
    /// Returns an error if a row does not exist, if `into` is not exactly as long as the rows, or if
    /// the file was truncated. The content of `into` is then unspecified.
    pub fn read_rows(&self, rows: &[u64], into: &mut [u8]) -> Result<()> {
        let ArrayFields { path, layout, stored } = &*self.0;
        let size = layout.row_bytes;
        if rows.len().checked_mul(size) != Some(into.len()) {
            let rows = rows.len();
            let room = into.len();
            let text = format!("{rows} rows of {size} bytes do not fit a buffer of {room}");
            return Err(Error::usage(text).with_path(path));
        }
        if let Some(&row) = rows.iter().find(|&&row| row >= layout.rows) {
            return Err(self.outside(&(row..row.saturating_add(1))));
        }
        let file = match stored {
            Stored::Mapped(file) => file,
            Stored::Blocks(cache) => {
                return cache.read(rows, into).map_err(|e| e.with_path(path));
            }
        };
        if size > 0 {
            for (&row, into) in rows.iter().zip(into.chunks_exact_mut(size)) {
                let start = layout.start(row) as usize;
                if size >= READ_TOGETHER {
                    file.prefetch(start, size);
                }
                into.copy_from_slice(&file[start..start + size]);
            }
        }
        file.intact().map_err(|e| Error::from(e).with_path(path))
    }

    #[cold]
    fn outside(&self, rows: &Range<u64>) -> Error {
        let have = self.len();
        let text = match rows.end.checked_sub(rows.start) {
            Some(1) => {
                format!("row {} does not exist: the array has {have} rows, from 0", rows.start)
            }
            _ => {
                format!("rows {}..{} do not exist: the array has {have} rows", rows.start, rows.end)
            }
        };
        Error::usage(text).with_path(&self.0.path)
    }
}

fn open_with_length(path: &Path) -> Result<(File, u64)> {
    let (file, found) = files::open(path)?;
    Ok((file, found.len()))
}

/// Whether the file begins with the magic bytes of an npy file.
fn begins_as_npy(file: &File, length: u64, path: &Path) -> Result<bool> {
    let mut head = [0; npy::MAGIC.len()];
    if length < head.len() as u64 {
        return Ok(false);
    }
    let read = files::read_exact_at(file, &mut head, 0);
    read.map_err(|e| tarflume_formats::Error::io(e, "read", path))?;
    Ok(head == npy::MAGIC)
}

/// Reads the npy header with `pread`, so that no page of the mapping is touched. The length of the
/// header is in its first bytes, hence the loop.
fn read_header(file: &File, length: u64, path: &Path) -> Result<Header> {
    let mut head = Vec::new();
    loop {
        let want = npy::needed(&head).map_err(|e| e.with_path(path))?;
        let want = want.min(usize::try_from(length).unwrap_or(usize::MAX));
        if want <= head.len() {
            return Ok(Header::parse(&head).map_err(|e| e.with_path(path))?);
        }
        head.resize(want, 0);
        let read = files::read_exact_at(file, &mut head, 0);
        read.map_err(|e| tarflume_formats::Error::io(e, "read", path))?;
    }
}
