//! Rows of large arrays by number: an `.npy` file or a raw one, mapped. Only the pages of the rows
//! that are asked for are read.
//!
//! Knows nothing of samples, order or batches. Files are those of NumPy, little-endian, in C order.

mod layout;
mod view;

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tarflume_formats::files;
use tarflume_formats::map::Access;
use tarflume_formats::map::Mapped;
use tarflume_formats::npy::{self, Header};

use crate::column::DType;
use crate::error::{Error, Result};
use layout::Layout;
pub use view::RowView;

/// Bytes from which on it pays to ask for them in one call, where single pages would be read.
const READ_TOGETHER: usize = 16 << 10;

/// A mapped array. Clones share the map; any number of threads may read.
///
/// ```no_run
/// # fn main() -> tarflume::Result<()> {
/// let images = tarflume::ArrayDataset::open("images.npy")?;
/// let row = images.get(1_000_000)?;
/// let brightest = row.elements::<f32>()?.iter().copied().fold(0.0, f32::max);
/// row.intact()?; // the file was not cut while we looked
/// # let _ = brightest;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct ArrayDataset(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    layout: Layout,
    file: Mapped,
}

impl ArrayDataset {
    /// Opens an `.npy` file; its rows are those of the first dimension. Bytes behind the array are
    /// left alone, as NumPy leaves them.
    ///
    /// # Errors
    /// The file can't be read, is no npy file, or holds fewer bytes than its header promises
    /// ([`crate::ErrorKind::Truncated`], with both numbers); or the array is none that can be read
    /// in place: Fortran order, big-endian, complex numbers, text, objects, records, a single
    /// number. Each says what to save instead.
    pub fn open(path: impl AsRef<Path>) -> Result<ArrayDataset> {
        let path = path.as_ref();
        let (file, length) = opened(path)?;
        let header = read_header(&file, length, path)?;
        let layout = Layout::of_npy(&header, length).map_err(|e| e.with_path(path))?;
        ArrayDataset::map(&file, length, layout, path)
    }

    /// Opens a file of bare rows of shape `row`, the first of which begins at byte `offset`.
    ///
    /// # Errors
    /// The file can't be read; the rows do not fill it to its end; a row has no bytes.
    pub fn raw(
        path: impl AsRef<Path>,
        dtype: DType,
        row: &[usize],
        offset: u64,
    ) -> Result<ArrayDataset> {
        let path = path.as_ref();
        let (file, length) = opened(path)?;
        let layout = Layout::raw(dtype, row, offset, length).map_err(|e| e.with_path(path))?;
        ArrayDataset::map(&file, length, layout, path)
    }

    fn map(file: &File, length: u64, layout: Layout, path: &Path) -> Result<ArrayDataset> {
        let file = Mapped::of(file, length, path)?;
        file.advise(Access::Random);
        Ok(ArrayDataset(Arc::new(Inner { path: path.to_path_buf(), layout, file })))
    }

    /// Number of rows.
    pub fn len(&self) -> u64 {
        self.0.layout.rows
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Elements along each dimension of one row; `[]` for one number a row.
    pub fn row_shape(&self) -> &[usize] {
        &self.0.layout.row
    }

    /// Bytes of one row.
    pub fn row_bytes(&self) -> usize {
        self.0.layout.row_bytes
    }

    /// The type of an element.
    pub fn dtype(&self) -> DType {
        self.0.layout.dtype
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Says in which order rows will be wanted. At first that is [`Access::Random`]: of what is not
    /// in memory, the pages of a row are read and nothing around them. Who reads all rows from first
    /// to last says [`Access::Sequential`].
    pub fn advise(&self, access: Access) {
        self.0.file.advise(access);
    }

    /// The row with this number.
    ///
    /// # Errors
    /// There is no such row; the file was cut since it was opened.
    pub fn get(&self, row: u64) -> Result<RowView<'_>> {
        self.rows(row..row.saturating_add(1))
    }

    /// Rows that follow each other, as one view.
    ///
    /// # Errors
    /// As [`ArrayDataset::get`]; a range that ends before it begins.
    pub fn rows(&self, rows: Range<u64>) -> Result<RowView<'_>> {
        let Inner { path, layout, file } = &*self.0;
        if rows.end > layout.rows || rows.start > rows.end {
            return Err(self.outside(&rows));
        }
        // Inside the file, which is mapped: so the numbers fit.
        let bytes = layout.start(rows.start) as usize..layout.start(rows.end) as usize;
        if bytes.len() >= READ_TOGETHER {
            file.prefetch(bytes.start, bytes.len());
        }
        let bytes = &file[bytes];
        let count = rows.end - rows.start;
        let view = RowView { file, path, layout, bytes, first: rows.start, rows: count };
        view.intact()?;
        Ok(view)
    }

    /// Copies rows, in the order named, one behind the other.
    ///
    /// # Errors
    /// A row does not exist; `into` is not as long as the rows; the file was cut. What `into` holds
    /// then is worth nothing.
    pub fn read_rows(&self, rows: &[u64], into: &mut [u8]) -> Result<()> {
        let Inner { path, layout, file } = &*self.0;
        let size = layout.row_bytes;
        if rows.len().checked_mul(size) != Some(into.len()) {
            let (rows, room) = (rows.len(), into.len());
            let text = format!("{rows} rows of {size} bytes do not fit a buffer of {room}");
            return Err(Error::usage(text).with_path(path));
        }
        if let Some(&row) = rows.iter().find(|&&row| row >= layout.rows) {
            return Err(self.outside(&(row..row.saturating_add(1))));
        }
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
            Some(1) => format!("there is no row {}: the array has {have}, from 0 on", rows.start),
            _ => format!("there are no rows {}..{}: the array has {have}", rows.start, rows.end),
        };
        Error::usage(text).with_path(&self.0.path)
    }
}

fn opened(path: &Path) -> Result<(File, u64)> {
    let (file, found) = files::open(path)?;
    Ok((file, found.len()))
}

/// Reads the head of an npy file and nothing behind it: it needs no page of the map.
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
