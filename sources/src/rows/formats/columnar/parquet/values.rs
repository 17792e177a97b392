//! The parts that the values of a list of bytes become, and the errors for pictures without bytes.

use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::json::{Object, Value};
use tarflume_formats::name;
use tarflume_scan::rows::builder::RowPart;
use tarflume_table::parquet::ParquetFile;

use super::cells;
use super::walk::Walk;
use crate::rows::columns::ext_rule::ExtRule;

/// A list in a row.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListPlace {
    /// The number of the source.
    pub(super) source: u32,
    /// The row.
    pub(super) row: u64,
    /// The number of the column among those that are parts, and their number.
    pub(super) column: usize,
    pub(super) columns: usize,
}

/// Returns the parts that the `count` values of a list become.
pub(super) fn values(
    rule: &ExtRule,
    walk: &Walk,
    count: u64,
    place: ListPlace,
) -> Result<Vec<(String, RowPart<'static>)>, Failure> {
    let ListPlace { source, row, column, columns } = place;
    let mut parts = Vec::new();
    for number in 0..count as usize {
        let value = walk.value_of(number);
        let ext = rule.numbered(number, value);
        let Some(cell) = cells::number_of(column, number, columns) else {
            return Err(Failure::usage(format!("row {row}: '{ext}': too many values in one list")));
        };
        let size = value.len() as u64;
        let part = match walk.place_of(number) {
            Some(at) => RowPart::Range { source, at, size },
            None => RowPart::Cell { source, row, column: cell, size },
        };
        parts.push((ext, part));
    }
    Ok(parts)
}

/// Returns the error for a list with a value that has no bytes.
pub(super) fn without_bytes(file: &ParquetFile, row: u64, leaf: usize) -> Failure {
    let root = file.schema().get_column_root(leaf).name().to_string();
    Failure::usage(format!(
        "row {row}: the list in column '{root}' has a value without bytes: a null, or the path \
         of a picture alone; put the bytes into the table, or leave the column out with \
         drop={root}"
    ))
    .in_file(file.path())
}

/// Returns the value at a path of a row's JSON.
pub(super) fn value_at<'v>(row: &'v Object, path: &[String]) -> Option<&'v Value> {
    let (root, inner) = path.split_first()?;
    inner.iter().try_fold(row.get(root)?, |value, name| match value {
        Value::Object(members) => members.get(name),
        _ => None,
    })
}

/// Returns the error for a picture whose bytes are in another file. `path` leads to the column with its name.
pub(super) fn path_alone(file: &Path, row: u64, picture: &str, path: &[String]) -> Failure {
    let root = &path[0];
    let path = path.join(".");
    Failure::usage(format!(
        "row {row}: column '{root}' names the file '{}' and has no bytes of it, so no picture \
         would be packed; put the bytes into the table (in Python: \
         dataset.with_format('arrow').map(datasets.table.embed_table_storage, batched=True)), \
         pack the files beside the table with jpg=@{root}, pack the name as JSON with json=*,{path}, or leave the column out with drop={root}",
        name::shown(picture.as_bytes())
    ))
    .in_file(file)
}
