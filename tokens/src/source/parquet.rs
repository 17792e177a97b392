//! `Parquet`: one document per row; a column holds the text.

use std::path::Path;

use tarflume_base::Failure;
use tarflume_table::text_column::TextColumn;

use super::documents::{Documents, LONGEST, Next};

/// The documents of a Parquet file. A null is an empty document.
pub(super) struct Parquet(TextColumn);

impl Parquet {
    pub(super) fn open(path: &Path, column: &str) -> Result<Parquet, Failure> {
        Ok(Parquet(TextColumn::open(path, column)?))
    }
}

impl Documents for Parquet {
    fn next(&mut self, text: &mut String) -> Result<Next, Failure> {
        Ok(if self.0.next(LONGEST, text)? { Next::Text } else { Next::End })
    }
}
