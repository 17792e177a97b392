//! `find`: where the rows of a column of numbers are, for readers of random rows: as they are, or in row groups that are
//! decoded.
//!
//! Rows of lists, also of lists of lists, are arrays of one shape: that of the first row. Holds no page beside the one that
//! is decoded.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::Type as Physical;
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{
    BoolType, DataType, DoubleType, FixedLenByteArrayType, FloatType, Int32Type, Int64Type,
};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::schema::types::ColumnPath;
use tarflume_base::Failure;
use tarflume_dataset::RowBlocks;
use tarflume_formats::message;
use tarflume_formats::message::{Call, Message, Task};
use tarflume_table::parquet::{ParquetFile, failure, guarded};

use super::places::places;
use super::walk::{Element, RowValue, Walk};
use crate::rows::{CellFault, FoundArray, FoundRows, ReadBlock};

/// Finds the rows of a column.
///
/// # Errors
/// Returns an error if the column does not consist of numbers, or of lists of numbers of one shape.
pub(crate) fn find(path: &Path, name: &str) -> Result<FoundArray, Failure> {
    // Pages of plain numbers are read where they are. Whatever else a column is, is said below.
    if let Ok(found) = places(path, name) {
        return Ok(found);
    }
    let file = ParquetFile::open(path)?;
    let schema = file.schema();
    let leaves = 0..schema.num_columns();
    let found: Vec<usize> =
        leaves.filter(|&leaf| is_named(schema.column(leaf).path(), name)).collect();
    let &[leaf] = &found[..] else {
        let known = schema.root_schema().get_fields().iter().map(|field| field.name());
        return Err(Failure::usage(format!(
            "'{name}' means {} columns of values; the columns are {}",
            found.len(),
            known.collect::<Vec<_>>().join(", ")
        ))
        .in_file(path));
    };
    let column = ColumnBlocks::of(file, leaf, name)?;
    let starts: Vec<u64> = column.starts();
    let blocks = RowBlocks::At(starts.into());
    let dtype = column.element.name.into();
    let row = column.row.clone();
    Ok(FoundArray { dtype, row, rows: FoundRows::Blocks(blocks, Arc::new(column)) })
}

/// Returns true if a column has this name, or is all of a column with it.
fn is_named(path: &ColumnPath, name: &str) -> bool {
    path.string() == name || path.parts().first().is_some_and(|part| part == name)
}

/// A column of numbers, of which runs of rows are decoded.
pub(super) struct ColumnBlocks {
    file: ParquetFile,
    leaf: usize,
    name: String,
    element: Element,
    /// The shape of a row.
    row: Vec<u64>,
}

impl ColumnBlocks {
    /// # Errors
    /// Returns an error if the column has no numbers, nulls, or a first row that has no shape.
    pub(super) fn of(file: ParquetFile, leaf: usize, name: &str) -> Result<ColumnBlocks, Failure> {
        file.check_leaf(leaf)?;
        let Some(element) = Element::of(&file.schema().column(leaf)) else {
            return Err(refused("has no numbers", name, &file));
        };
        let statistics = file.metadata().row_groups().iter().filter_map(|group| {
            group.column(leaf).statistics().and_then(|statistics| statistics.null_count_opt())
        });
        if statistics.sum::<u64>() > 0 {
            // Statistics count an empty list as a null.
            let has_lists = file.schema().column(leaf).max_rep_level() > 0;
            return Err(refused(if has_lists { UNEVEN } else { NULLS }, name, &file));
        }
        let group = file.group_of(0);
        let row = match group.map(|group| first_row(&file, group, leaf)).transpose()? {
            None => Vec::new(),
            Some(RowValue::Value { dims, .. }) => dims,
            Some(_) => return Err(refused(UNEVEN, name, &file)),
        };
        Ok(ColumnBlocks { file, leaf, name: name.into(), element, row })
    }

    /// The first row of each row group, and the number of rows.
    fn starts(&self) -> Vec<u64> {
        let groups = 0..self.file.metadata().num_row_groups();
        groups.map(|group| self.file.group(group).0).chain([self.file.rows()]).collect()
    }

    /// The name of the column.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// NumPy's name of its type.
    pub(super) fn dtype(&self) -> &'static str {
        self.element.name
    }

    /// Bytes of a number.
    pub(super) fn size(&self) -> usize {
        self.element.size
    }

    /// The shape of a row.
    pub(super) fn row(&self) -> &[u64] {
        &self.row
    }

    /// Bytes of so many rows.
    pub(super) fn bytes(&self, rows: u64) -> u64 {
        self.row
            .iter()
            .product::<u64>()
            .saturating_mul(rows)
            .saturating_mul(self.element.size as u64)
    }

    /// Name, type and shape, for a comparison.
    pub(super) fn described(&self) -> String {
        format!("{} ({} {:?})", self.name, self.element.name, self.row)
    }

    /// Why rows have no common shape.
    pub(super) fn uneven(&self) -> &'static str {
        if self.row.is_empty() { NULLS } else { UNEVEN }
    }

    /// The fault of a row group that cannot be decoded.
    pub(super) fn fault(&self, error: ParquetError, group: usize) -> CellFault {
        match error {
            ParquetError::External(_) => {
                failure(error, self.file.path(), &format!("row group {group}")).into()
            }
            _ => CellFault::placed(format!("row group {group}: {error}")),
        }
    }

    /// Decodes `rows` rows of a row group, from row `skip` of it on; `None` if they have nulls or lists of another shape.
    pub(super) fn decode(
        &self,
        group: usize,
        skip: usize,
        rows: usize,
    ) -> ParquetResult<Option<Vec<u8>>> {
        let part = GroupRows { group, skip, rows };
        let size = self.element.size;
        match self.file.schema().column(self.leaf).physical_type() {
            Physical::BOOLEAN => {
                self.numbers::<BoolType>(part, |value, to| to.push(u8::from(*value)))
            }
            // An integer of 8 or 16 bits has 32 in Parquet.
            Physical::INT32 => self.numbers::<Int32Type>(part, |value, to| {
                to.extend(&value.to_le_bytes()[..size.min(4)]);
            }),
            Physical::INT64 => self.numbers::<Int64Type>(part, |value, to| {
                to.extend(&value.to_le_bytes()[..size.min(8)]);
            }),
            Physical::FLOAT => {
                self.numbers::<FloatType>(part, |value, to| to.extend(value.to_le_bytes()))
            }
            Physical::DOUBLE => {
                self.numbers::<DoubleType>(part, |value, to| to.extend(value.to_le_bytes()))
            }
            _ => self.numbers::<FixedLenByteArrayType>(part, |value, to| to.extend(value.data())),
        }
    }

    fn numbers<T: DataType>(
        &self,
        part: GroupRows,
        put: impl Fn(&T::T, &mut Vec<u8>),
    ) -> ParquetResult<Option<Vec<u8>>>
    where
        T::T: 'static,
    {
        let GroupRows { group, skip, rows } = part;
        let metadata = self.file.metadata().row_group(group).column(self.leaf);
        let all = skip + rows;
        let pages = SerializedPageReader::new(Arc::new(self.file.pages()), metadata, all, None)?;
        let column = metadata.column_descr_ptr();
        let mut reader = ColumnReaderImpl::<T>::new(column, Box::new(pages));
        if skip > 0 && reader.skip_records(skip)? != skip {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        let mut definitions = Vec::new();
        let mut repetitions = Vec::new();
        let mut values = Vec::new();
        let mut found = 0;
        let each = self.row.iter().product::<u64>() as usize;
        while found < rows {
            definitions.clear();
            values.clear();
            let levels = (Some(&mut definitions), Some(&mut repetitions));
            let (records, count, read) =
                reader.read_records((rows - found).min(STEP), levels.0, levels.1, &mut values)?;
            if records == 0 {
                break;
            }
            // A row may begin in one page and end in the next: its levels wait for the rest.
            let whole = repetitions.len() - repetitions.len() % each.max(1);
            if count != read || !has_shape(&repetitions[..whole], &self.row) {
                return Ok(None);
            }
            repetitions.drain(..whole);
            values.iter().for_each(|value| put(value, &mut bytes));
            found += records;
        }
        let is_whole = repetitions.is_empty() && bytes.len() == rows * each * self.element.size;
        Ok((found == rows && is_whole).then_some(bytes))
    }
}

/// Rows of a row group.
#[derive(Clone, Copy)]
struct GroupRows {
    group: usize,
    /// The first of them.
    skip: usize,
    rows: usize,
}

/// Rows that are decoded before their levels are compared.
const STEP: usize = 8192;
/// Why a column is no array.
const NULLS: &str = "has nulls, and an array of numbers has none";
const UNEVEN: &str =
    "has nulls, empty lists or lists of different lengths, so its rows have no common shape";

/// Reads the first row of a row group.
fn first_row(file: &ParquetFile, group: usize, leaf: usize) -> Result<RowValue, Failure> {
    let first = guarded(|| Walk::new(file, group, leaf)).and_then(|mut walk| walk.next());
    first.map_err(|e| failure(e, file.path(), &format!("row group {group}")))
}

/// Returns true if the repetition levels are those of whole rows of a shape.
fn has_shape(levels: &[i16], row: &[u64]) -> bool {
    // The number of values in an item of each depth: of a row, of its items, and so on down to one value.
    let depths = 0..=row.len();
    let sizes: Vec<usize> =
        depths.map(|depth| row[depth..].iter().product::<u64>() as usize).collect();
    if row.is_empty() {
        return true;
    }
    levels.len().is_multiple_of(sizes[0])
        && levels.iter().enumerate().all(|(at, &level)| {
            let begins = sizes.iter().position(|&size| at.is_multiple_of(size));
            begins.is_some_and(|depth| depth == level as usize)
        })
}

fn refused(why: &str, name: &str, file: &ParquetFile) -> Failure {
    Failure::usage(reason(why, name, file)).in_file(file.path())
}

/// Returns why a column is no array, with the command that packs it.
pub(super) fn reason(why: &str, name: &str, file: &ParquetFile) -> Message {
    let build = Call::of(Task::Build).on_quoted(format!("parquet:{}", file.path().display()));
    message!(
        "column '{name}' {why}; pack it, where such values are fields of the JSON: {build}";
        build = build.out_stand("OUT")
    )
}

impl ReadBlock for ColumnBlocks {
    fn read(&self, rows: Range<u64>) -> Result<Vec<u8>, CellFault> {
        let group = self.file.group_of(rows.start).expect("blocks are of rows of the file");
        let count = usize::try_from(rows.end - rows.start).unwrap_or(usize::MAX);
        match guarded(|| self.decode(group, 0, count)) {
            Ok(Some(bytes)) => Ok(bytes),
            Ok(None) => {
                let place = format!("in row group {group}, rows {}..{}, ", rows.start, rows.end);
                let why = reason(&format!("{place}{UNEVEN}"), &self.name, &self.file);
                Err(CellFault::placed(why))
            }
            Err(error) => Err(self.fault(error, group)),
        }
    }
}

impl fmt::Debug for ColumnBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.file.path();
        f.debug_struct("ColumnBlocks")
            .field("file", &path)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_tell_whether_all_rows_have_the_shape_of_the_first() {
        assert!(has_shape(&[0, 1, 1, 0, 1, 1], &[3]) && has_shape(&[0, 0], &[1]));
        assert!(has_shape(&[0, 2, 2, 1, 2, 2], &[2, 3]));
        assert!(has_shape(&[0, 3, 2, 3, 1, 3, 2, 3], &[2, 2, 2]));
        assert!(!has_shape(&[0, 1, 1, 0, 1], &[3]) && !has_shape(&[0, 1, 0, 1, 1, 1], &[3]));
        assert!(!has_shape(&[0, 2, 1, 2, 2, 2], &[2, 3]));
        assert!(has_shape(&[0, 0, 0], &[]));
    }
}
