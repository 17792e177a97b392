//! `TextColumn`: the texts of one column of a Parquet file, in the order of rows.
//!
//! Memory: a batch of 256 rows of the column beside an open page. Decodes no other column.

use std::path::Path;

use tarflume_base::Failure;

/// Reads texts of a column.
pub struct TextColumn {
    #[cfg(feature = "tables")]
    texts: crate::table::parquet::Texts,
}

impl std::fmt::Debug for TextColumn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TextColumn")
    }
}

impl TextColumn {
    /// Opens the column `name` of a Parquet file.
    ///
    /// # Errors
    /// Returns an error if the file is not Parquet, has no such column or one that is not text, and
    /// if this program was compiled without the feature `tables`.
    #[cfg(feature = "tables")]
    pub fn open(path: &Path, name: &str) -> Result<TextColumn, Failure> {
        Ok(TextColumn { texts: crate::table::parquet::Texts::open(path, name)? })
    }

    /// Returns the error of a program without the feature `tables`.
    ///
    /// # Errors
    /// Returns an error that names the feature.
    #[cfg(not(feature = "tables"))]
    pub fn open(path: &Path, _name: &str) -> Result<TextColumn, Failure> {
        Err(crate::table::no_parquet(path))
    }

    /// Appends the text of the next row to `text`, nothing for a null; returns false after the last
    /// row. A text has at most `longest` bytes.
    ///
    /// # Errors
    /// Returns an error for a longer text, a damaged file, and if the operating system refuses.
    #[cfg(feature = "tables")]
    pub fn next(&mut self, longest: usize, text: &mut String) -> Result<bool, Failure> {
        self.texts.next(longest, text)
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
