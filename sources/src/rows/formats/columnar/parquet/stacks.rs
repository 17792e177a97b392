//! `parquet:FILES?rows=N`: a sample for each N rows, whose columns are arrays: the part `NAME.npy` of each.
//!
//! A row of a few numbers has many times its bytes in headers of a tar. `ArrayDataset` of the packed data set has the
//! single rows again. Blocks do not cross row groups.

use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::npy::{Dtype, write_header};
use tarflume_scan::rows::builder::{Root, RowName, RowPart};
use tarflume_table::parquet::{ParquetFile, guarded};

use super::blocks::{ColumnBlocks, reason};
use crate::rows::Listing;
use crate::rows::columns::part_names::{Twins, part_name, renamed, twins};
use crate::rows::places::reader::{CellFault, CellReader};
use crate::rows::url::SourceUrl;

/// The kind of the source in a plan.
pub(crate) const KIND: &str = "parquet-rows";
/// The most rows of a sample.
const MOST: u64 = 1 << 24;
/// Why a column is no array.
const NO_NUMBERS: &str = "is not one column of numbers or of lists of numbers";

/// Returns the value of `rows=N`. `rows=COLUMN` is a part with the extension `rows`, as any `EXT=COLUMN` is.
pub(super) fn requested(source: &SourceUrl) -> Option<&str> {
    source
        .option("rows")
        .filter(|rows| !rows.is_empty() && rows.bytes().all(|b| b.is_ascii_digit()))
}

/// Lists blocks of `rows` rows.
///
/// # Errors
/// Returns an error for another option than `drop`, for a column that is not numbers of one shape, and for files with
/// different columns.
pub(super) fn list(
    source: &SourceUrl,
    rows: &str,
    listing: &mut Listing<'_, '_>,
) -> Result<(), Failure> {
    let size = block_size(source, rows)?;
    let mut files: Vec<Stacks> = Vec::with_capacity(source.files.len());
    for path in &source.files {
        let stacks = Stacks::of(ParquetFile::open(path)?, source)?;
        if let Some(first) = files.first() {
            first.check_same(&stacks)?;
        }
        files.push(stacks);
    }
    let all: u64 = files.iter().map(|stacks| stacks.file.rows()).sum();
    let digits = all.saturating_sub(1).to_string().len().max(8);
    for column in files.first().into_iter().flat_map(|stacks| &stacks.columns) {
        if part_name(column.name()) != column.name() {
            listing.builder.notes.push(renamed("column", column.name(), &ext_of(column)));
        }
    }
    let mut first = 0;
    for (n, stacks) in files.iter().enumerate() {
        let root = Root { number: listing.root + n as u32, path: stacks.file.path() };
        let names: Vec<&str> = stacks.columns.iter().map(ColumnBlocks::name).collect();
        let options = serde_json::json!({ "columns": names, "rows": size });
        let number = listing.builder.source(root, "", KIND, options)?;
        stacks.list(Blocks { source: number, size, first, digits }, listing)?;
        first += stacks.file.rows();
    }
    Ok(())
}

/// Checks the options, and returns the number of rows of a sample.
fn block_size(source: &SourceUrl, rows: &str) -> Result<u64, Failure> {
    let other = source.options.iter().find(|(name, _)| name != "rows" && name != "drop");
    if let Some((name, value)) = other {
        return Err(Failure::usage(format!(
            "parquet: '{name}={value}' is an option of single rows, and rows={rows} packs arrays of them: leave one of them out"
        )));
    }
    match rows.parse() {
        Ok(size) if (1..=MOST).contains(&size) => Ok(size),
        _ => Err(Failure::usage(format!(
            "parquet: rows={rows} is no number of rows of a sample; give one from 1 to {MOST}: rows=4096"
        ))),
    }
}

/// A file and its columns.
struct Stacks {
    file: ParquetFile,
    columns: Vec<ColumnBlocks>,
}

/// How the rows of a file become samples.
#[derive(Clone, Copy)]
struct Blocks {
    /// The number of the file in the plan.
    source: u32,
    /// Rows of a sample.
    size: u64,
    /// The number of the first row of the file among the rows of all files.
    first: u64,
    /// Digits of a key.
    digits: usize,
}

impl Stacks {
    fn of(file: ParquetFile, source: &SourceUrl) -> Result<Stacks, Failure> {
        let dropped: Vec<&str> = source
            .options
            .iter()
            .filter(|(name, _)| name == "drop")
            .flat_map(|(_, value)| value.split(','))
            .collect();
        let schema = file.schema();
        let roots: Vec<&str> =
            schema.root_schema().get_fields().iter().map(|field| field.name()).collect();
        if let Some(unknown) = dropped.iter().find(|name| !roots.contains(name)) {
            let text =
                format!("drop={unknown}: there is no such column; there are {}", roots.join(", "));
            return Err(Failure::usage(text).in_file(file.path()));
        }
        let mut columns = Vec::new();
        for (root, name) in roots.into_iter().enumerate() {
            if dropped.contains(&name) {
                continue;
            }
            let leaves = 0..schema.num_columns();
            let leaves: Vec<usize> =
                leaves.filter(|&leaf| schema.get_column_root_idx(leaf) == root).collect();
            let &[leaf] = &leaves[..] else { return Err(no_array(name, file.path())) };
            columns.push(ColumnBlocks::of(file.clone(), leaf, name).map_err(|failure| {
                failure.with_remedy(format!("or leave the column out: drop={name}"))
            })?);
        }
        let pairs = columns.iter().map(|column| (column.name().to_string(), ext_of(column)));
        let pairs: Vec<(String, String)> = pairs.collect();
        if let Some(Twins { first, second, ext }) = twins(&pairs) {
            let text = format!(
                "'{first}' and '{second}' become the part '{ext}'; leave one out with drop={second}"
            );
            return Err(Failure::usage(text).in_file(file.path()));
        }
        if columns.is_empty() {
            return Err(Failure::usage("no column is left to pack").in_file(file.path()));
        }
        Ok(Stacks { file, columns })
    }

    /// Refuses a file with other columns.
    fn check_same(&self, other: &Stacks) -> Result<(), Failure> {
        let own: Vec<String> = self.columns.iter().map(ColumnBlocks::described).collect();
        let others: Vec<String> = other.columns.iter().map(ColumnBlocks::described).collect();
        if own == others {
            return Ok(());
        }
        Err(Failure::usage(message!(
            "it has the columns {}, and {path} has {}; pack them as different data sets",
            others.join(", "),
            own.join(", ");
            path = self.file.path()
        ))
        .in_file(other.file.path()))
    }

    /// Adds the samples of this file.
    fn list(&self, blocks: Blocks, listing: &mut Listing<'_, '_>) -> Result<(), Failure> {
        let exts: Vec<String> = self.columns.iter().map(ext_of).collect();
        for group in 0..self.file.metadata().num_row_groups() {
            let (start, count) = self.file.group(group);
            for row in (start..start + count).step_by(blocks.size as usize) {
                if listing.watch.stop.requested() {
                    return Err(Failure::interrupted());
                }
                let rows = blocks.size.min(start + count - row);
                listing.watch.counter.add(rows);
                let key = format!("{:0digits$}", blocks.first + row, digits = blocks.digits);
                let parts = self.columns.iter().enumerate().map(|(n, column)| {
                    let size = header(column, rows).len() as u64 + column.bytes(rows);
                    RowPart::Cell { source: blocks.source, row, column: n as u16, size }
                });
                let parts: Vec<(&str, RowPart<'_>)> =
                    exts.iter().map(String::as_str).zip(parts).collect();
                let name = RowName { source: blocks.source, row };
                listing.builder.push(name, key.as_bytes(), &parts)?;
            }
        }
        Ok(())
    }
}

fn no_array(name: &str, path: &Path) -> Failure {
    let text = format!(
        "column '{name}' {NO_NUMBERS}, which rows= packs; leave it out with drop={name}, or pack single rows, without rows="
    );
    Failure::usage(text).in_file(path)
}

/// The extension of a column.
fn ext_of(column: &ColumnBlocks) -> String {
    format!("{}.npy", part_name(column.name()))
}

/// The head of an npy file of so many rows of a column.
fn header(column: &ColumnBlocks, rows: u64) -> Vec<u8> {
    let kind = column.dtype().chars().next().expect("a type has a name");
    let dtype = Dtype { kind, size: column.size() as u32, little: true };
    let shape: Vec<u64> = [rows].iter().chain(column.row()).copied().collect();
    let mut head = Vec::new();
    write_header(&mut head, dtype, false, &shape)
        .expect("lists of a row are as deep as an array may be");
    head
}

/// Decodes planned blocks of a file.
#[derive(Debug)]
pub(crate) struct StackCells {
    file: ParquetFile,
    columns: Vec<ColumnBlocks>,
    size: u64,
}

impl StackCells {
    /// Opens a planned file.
    ///
    /// # Errors
    /// Returns an error if the file lacks a planned column or cannot be read.
    pub(crate) fn open(path: &Path, options: &serde_json::Value) -> Result<StackCells, CellFault> {
        let file = ParquetFile::open(path)?;
        let size = options["rows"].as_u64().unwrap_or(1).max(1);
        let planned = options["columns"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut columns = Vec::with_capacity(planned.len());
        for name in planned.iter().map(|name| name.as_str().unwrap_or_default()) {
            let schema = file.schema();
            let leaf =
                (0..schema.num_columns()).find(|&leaf| schema.get_column_root(leaf).name() == name);
            let Some(leaf) = leaf else {
                return Err(CellFault::data(format!("the file has no column '{name}'")));
            };
            columns.push(ColumnBlocks::of(file.clone(), leaf, name)?);
        }
        Ok(StackCells { file, columns, size })
    }
}

impl CellReader for StackCells {
    fn read(&mut self, row: u64, column: u16, space: &mut [u8]) -> Result<(), CellFault> {
        let Some(group) = self.file.group_of(row) else {
            return Err(CellFault::data(format!("the file has {} rows", self.file.rows())));
        };
        let Some(column) = self.columns.get(usize::from(column)) else {
            return Err(CellFault::data(format!("the plan has no column {column}")));
        };
        let (start, count) = self.file.group(group);
        let rows = self.size.min(start + count - row);
        let decoded = guarded(|| column.decode(group, (row - start) as usize, rows as usize));
        let Some(bytes) = decoded.map_err(|error| column.fault(error, group))? else {
            let place = format!("in rows {row}..{}, ", row + rows);
            return Err(CellFault::placed(reason(
                &format!("{place}{}", column.uneven()),
                column.name(),
                &self.file,
            )));
        };
        let head = header(column, rows);
        if head.len() + bytes.len() != space.len() {
            let text =
                format!("{} bytes, and {} were planned", head.len() + bytes.len(), space.len());
            return Err(CellFault::data(text));
        }
        space[..head.len()].copy_from_slice(&head);
        space[head.len()..].copy_from_slice(&bytes);
        Ok(())
    }
}
