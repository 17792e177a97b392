//! Rows as they stand in the mapped file: bytes, elements, or a copy.

use std::path::Path;

use tarflume_formats::map::Mapped;

use super::layout::Layout;
use crate::column::{DType, Element};
use crate::error::{Error, Result};

/// One or more rows that follow each other, in the file's own memory: nothing was copied, and
/// nothing is read before it is looked at.
///
/// Should the file be cut meanwhile, what is lost reads as zeros: ask [`RowView::intact`] when you
/// have used what you saw. [`RowView::copy_to`] asks by itself.
#[derive(Debug, Clone, Copy)]
pub struct RowView<'a> {
    pub(super) file: &'a Mapped,
    pub(super) path: &'a Path,
    pub(super) layout: &'a Layout,
    pub(super) bytes: &'a [u8],
    pub(super) first: u64,
    pub(super) rows: u64,
}

impl<'a> RowView<'a> {
    /// The number of its first row.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// How many rows it shows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Their bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Their elements, row by row, in place. An array of bool shows as `u8`, 0 or 1.
    ///
    /// # Errors
    /// The array is of another type; or its data begins at a byte that is no multiple of an
    /// element's size, so that only a copy can be had ([`RowView::copy_to`]). NumPy's own files
    /// are always aligned.
    pub fn elements<T: Element>(&self) -> Result<&'a [T]> {
        self.same_type::<T>()?;
        bytemuck::try_cast_slice(self.bytes).map_err(|_| {
            let (at, size) = (self.layout.start(self.first), size_of::<T>());
            let text = format!(
                "row {} begins at byte {at}, which is no multiple of {size}: {:?} can't be seen in \
                 place there; copy it with `copy_to`",
                self.first,
                T::DTYPE
            );
            Error::usage(text).with_path(self.path).with_byte(at)
        })
    }

    /// Copies their elements, row by row, whatever the alignment.
    ///
    /// # Errors
    /// The array is of another type, `into` has another length, the file was cut.
    pub fn copy_to<T: Element>(&self, into: &mut [T]) -> Result<()> {
        self.same_type::<T>()?;
        let into: &mut [u8] = bytemuck::cast_slice_mut(into);
        if into.len() != self.bytes.len() {
            let (have, want) = (into.len() / size_of::<T>(), self.bytes.len() / size_of::<T>());
            let text = format!("{want} elements do not fit a slice of {have}");
            return Err(Error::usage(text).with_path(self.path));
        }
        into.copy_from_slice(self.bytes);
        self.intact()
    }

    /// Asks whether the file still is what was opened, for all that was seen before the call.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Truncated`]: it was cut, and some of it was zeros.
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
