//! `RowView`: rows in the mapped file, as bytes, as elements, or copied out. Performs no reads itself.

use std::path::Path;

use tarflume_formats::Mapped;
use tarflume_types::{DType, Element, Error, Result};

use super::layout::ArrayLayout;

/// One or more consecutive rows, in the memory of the mapped file. Creating a view copies nothing; a
/// page is read when it is first accessed.
///
/// If the file is truncated while it is mapped, the lost bytes read as zeros. Call
/// [`RowView::intact`] after using the bytes. [`RowView::copy_to`] calls it.
///
/// ```no_run
/// # fn main() -> tarflume::Result<()> {
/// let images = tarflume::ArrayDataset::open("images.npy")?;
/// let row = images.get(7)?;
/// let sum: f32 = row.elements::<f32>()?.iter().sum();
/// row.intact()?;
/// println!("row {}: {sum}", row.first());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct RowView<'a> {
    pub(super) file: &'a Mapped,
    pub(super) path: &'a Path,
    pub(super) layout: &'a ArrayLayout,
    pub(super) bytes: &'a [u8],
    pub(super) first: u64,
    pub(super) rows: u64,
}

impl<'a> RowView<'a> {
    /// Number of the first row.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Number of rows in the view.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The bytes of the rows.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The elements, row by row, in place. An array of bool is also readable as `u8`, 0 or 1.
    ///
    /// # Errors
    /// Returns an error if `T` is not the element type. Returns an error if the data begins at a byte
    /// that is not a multiple of the element size; use [`RowView::copy_to`] then. NumPy aligns its own
    /// files.
    pub fn elements<T: Element>(&self) -> Result<&'a [T]> {
        self.same_type::<T>()?;
        bytemuck::try_cast_slice(self.bytes).map_err(|_| {
            let at = self.layout.start(self.first);
            let size = size_of::<T>();
            let text = format!(
                "row {} begins at byte {at}, which is not a multiple of {size}: {:?} cannot be viewed in \
                 place; copy the row with `copy_to`",
                self.first,
                T::DTYPE
            );
            Error::usage(text).with_path(self.path).with_byte(at)
        })
    }

    /// Copies the elements, row by row. Any alignment is accepted.
    ///
    /// # Errors
    /// Returns an error if `T` is not the element type, if `into` has a different length, or if the
    /// file was truncated.
    pub fn copy_to<T: Element>(&self, into: &mut [T]) -> Result<()> {
        self.same_type::<T>()?;
        let into: &mut [u8] = bytemuck::cast_slice_mut(into);
        if into.len() != self.bytes.len() {
            let have = into.len() / size_of::<T>();
            let want = self.bytes.len() / size_of::<T>();
            let text = format!("{want} elements do not fit a slice of {have}");
            return Err(Error::usage(text).with_path(self.path));
        }
        into.copy_from_slice(self.bytes);
        self.intact()
    }

    /// Checks that the file is unchanged for all bytes read before this call.
    ///
    /// # Errors
    /// [`ErrorKind::Truncated`](tarflume_types::ErrorKind::Truncated): the file was truncated, and some of the bytes read as zeros.
    pub fn intact(&self) -> Result<()> {
        self.file.intact().map_err(|e| Error::from(e).with_path(self.path))
    }

    fn same_type<T: Element>(&self) -> Result<()> {
        let dtype = self.layout.dtype;
        if T::DTYPE == dtype || (T::DTYPE == DType::U8 && dtype == DType::Bool) {
            return Ok(());
        }
        let text = format!("the array holds {dtype:?}, not {:?}", T::DTYPE);
        Err(Error::usage(text).with_path(self.path))
    }
}
