//! `ParquetCells`: decodes planned values of a Parquet file, for one thread.
//!
//! Holds a page of each column and reads on from there; a row before it begins the row group again,
//! whose earlier pages are skipped without decompression.

use std::io;
use std::path::Path;

use parquet::errors::ParquetError;
use tarflume_formats::Blame;
use tarflume_table::parquet::{ParquetFile, failure, guarded};

use super::walk::{RowValue, Walk};
use crate::rows::places::reader::{CellFault, CellReader};

/// Decodes values of one file.
pub(crate) struct ParquetCells {
    file: ParquetFile,
    columns: Vec<Column>,
}

struct Column {
    leaf: usize,
    /// The row group being read.
    open: Option<(usize, Walk)>,
    /// The row that was read last, if it has a value.
    held: Option<u64>,
}

impl std::fmt::Debug for ParquetCells {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParquetCells").field("file", &self.file.path()).finish_non_exhaustive()
    }
}

impl ParquetCells {
    /// Opens a planned file.
    ///
    /// # Errors
    /// Returns an error if the file lacks a planned column or cannot be read.
    pub(crate) fn open(
        path: &Path,
        options: &serde_json::Value,
    ) -> Result<ParquetCells, CellFault> {
        let file = ParquetFile::open(path)?;
        let planned = options["columns"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut columns = Vec::with_capacity(planned.len());
        for name in planned.iter().map(|name| name.as_str().unwrap_or_default()) {
            let all = file.schema().columns();
            let Some(leaf) = all.iter().position(|column| column.path().string() == name) else {
                return Err(CellFault::data(format!("the file has no column '{name}'")));
            };
            columns.push(Column { leaf, open: None, held: None });
        }
        Ok(ParquetCells { file, columns })
    }

    fn fault(&self, error: ParquetError) -> CellFault {
        if let ParquetError::External(inner) = &error
            && let Some(refused) = inner.downcast_ref::<io::Error>()
            && Blame::of(refused).is_machine()
        {
            return failure(error, self.file.path(), "a page").into();
        }
        CellFault::data(error.to_string())
    }
}

impl CellReader for ParquetCells {
    fn read(&mut self, row: u64, column: u16, space: &mut [u8]) -> Result<(), CellFault> {
        let Some(group) = self.file.group_of(row) else {
            return Err(CellFault::data(format!("the file has {} rows", self.file.rows())));
        };
        let (number, value) = of_cell(column, self.columns.len());
        let Some(held) = self.columns.get_mut(number) else {
            return Err(CellFault::data(format!("the plan has no column {column}")));
        };
        if held.held != Some(row) {
            held.held = None;
            match read_row(&self.file, held, group, row) {
                Ok(RowValue::Value { .. }) => held.held = Some(row),
                Ok(_) => return Err(no_value()),
                Err(error) => {
                    held.open = None;
                    return Err(self.fault(error));
                }
            }
        }
        let Some((_, walk)) = &held.open else { return Err(no_value()) };
        let value = walk.value_of(value);
        if value.len() != space.len() {
            let text = format!("{} bytes, and {} were planned", value.len(), space.len());
            return Err(CellFault::data(text));
        }
        space.copy_from_slice(value);
        Ok(())
    }
}

fn no_value() -> CellFault {
    CellFault::data("it has no value")
}

/// Returns the number of a planned cell: value `value` of column `column` of `columns`. `None` if it has no number.
pub(super) fn number_of(column: usize, value: usize, columns: usize) -> Option<u16> {
    u16::try_from(value.checked_mul(columns)?.checked_add(column)?).ok()
}

/// Returns column and value of the number of a cell.
fn of_cell(number: u16, columns: usize) -> (usize, usize) {
    let columns = columns.max(1);
    (usize::from(number) % columns, usize::from(number) / columns)
}

/// Reads a row of a column, from the place that was read last if that is before it.
fn read_row(
    file: &ParquetFile,
    held: &mut Column,
    group: usize,
    row: u64,
) -> Result<RowValue, ParquetError> {
    guarded(|| {
        let walk = match &mut held.open {
            Some((open, walk)) if *open == group && walk.row() <= row => walk,
            open => {
                *open = None; // frees its page before the next one is read
                &mut open.insert((group, Walk::new(file, group, held.leaf)?)).1
            }
        };
        walk.skip(row - walk.row())?;
        walk.next()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_of_a_column_has_the_number_of_the_column() {
        assert_eq!((number_of(2, 0, 3), number_of(2, 1, 3)), (Some(2), Some(5)));
        assert_eq!((of_cell(2, 3), of_cell(5, 3)), ((2, 0), (2, 1)));
        assert_eq!(number_of(0, 70_000, 1), None);
    }
}
