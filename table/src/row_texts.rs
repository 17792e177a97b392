//! `RowTexts`: rows of a Parquet or Arrow file as texts of JSON, with the fields of structures in their order.
//!
//! Memory: a batch of rows of the columns that are asked for.

use std::path::Path;

use tarflume_base::Failure;

/// Reads rows of some columns.
pub struct RowTexts {
    #[cfg(feature = "tables")]
    rows: crate::table::parquet::OrderedRows,
}

impl std::fmt::Debug for RowTexts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RowTexts")
    }
}

impl RowTexts {
    /// Opens a file of Arrow, if its name ends in `.arrow`, or of Parquet. Columns that the file does not have are left
    /// out of its rows.
    ///
    /// # Errors
    /// Returns an error if the file is neither, or has none of the columns, and if this program was compiled without
    /// the feature `tables`.
    #[cfg(feature = "tables")]
    pub fn open(path: &Path, columns: &[&str]) -> Result<RowTexts, Failure> {
        Ok(RowTexts { rows: crate::table::parquet::OrderedRows::open(path, columns)? })
    }

    /// Returns the error of a program without the feature `tables`.
    ///
    /// # Errors
    /// Returns an error that names the feature.
    #[cfg(not(feature = "tables"))]
    pub fn open(path: &Path, _columns: &[&str]) -> Result<RowTexts, Failure> {
        Err(crate::table::no_parquet(path))
    }

    /// Appends the next row to `text` as an object of JSON; returns false after the last row. A row has at most
    /// `longest` bytes.
    ///
    /// # Errors
    /// Returns an error for a longer row, a value without JSON, a damaged file, and if the operating system refuses.
    #[cfg(feature = "tables")]
    pub fn next(&mut self, longest: usize, text: &mut String) -> Result<bool, Failure> {
        self.rows.next(longest, text)
    }

    /// Returns false: no value of this type is made.
    ///
    /// # Errors
    /// Returns no error.
    #[cfg(not(feature = "tables"))]
    pub fn next(&mut self, _longest: usize, _text: &mut String) -> Result<bool, Failure> {
        Ok(false)
    }
}
