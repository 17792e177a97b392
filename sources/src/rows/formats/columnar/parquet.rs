//! `parquet:FILES?key=COLUMN&EXT=COLUMN&json=COLUMNS`: one sample for each row of Parquet files.
//!
//! Bytes, the values of lists of bytes, and equal lists of numbers become parts; the rest of a row becomes JSON.
//! `EXT=@COLUMN` is a file beside the table whose path is in the column. With `rows=N`, N rows are one sample; see `stacks`. Planning reads the columns once. A value whose bytes are in the file
//! as they are becomes a range of it, so that packing decodes nothing; the others are decoded again when they are packed.

mod blocks;
mod cells;
mod choose;
mod describe;
mod named;
mod part_column;
mod partitions;
mod places;
mod seen;
mod stacks;
mod values;
mod walk;

use std::path::Path;

use tarflume_base::{Failure, ProblemKind};
use tarflume_formats::json::Value;
use tarflume_formats::message;
use tarflume_formats::shown::ShowPath;
use tarflume_scan::links::Links;
use tarflume_scan::rows::builder::{Root, RowName, RowPart};
use tarflume_table::parquet::{JsonRow, JsonRows, ParquetFile, failure, guarded};

pub(crate) use self::blocks::find;
pub(crate) use self::cells::ParquetCells;
use self::choose::{Chosen, Table};
use self::describe::{describe, note_of};
use self::named::{NamedFile, NamedFiles, key_of, named_files};
use self::part_column::{check_exts, keep_names};
use self::partitions::Partitions;
pub(crate) use self::stacks::{KIND as ROWS, StackCells};
use self::values::{ListPlace, path_alone, value_at, values, without_bytes};
use self::walk::{RowValue, Walk};
use crate::rows::Listing;
use crate::rows::places::named_files::FileExaminer;
use crate::rows::url::SourceUrl;

/// Rows between two looks at a request to stop.
const STEP: u64 = 1024;

/// Lists the rows of the files of one source.
///
/// # Errors
/// Returns an error for a file that is not Parquet or has other columns than the first, and if the
/// machine fails.
pub(crate) fn list(source: &SourceUrl, mut listing: Listing<'_, '_>) -> Result<(), Failure> {
    if let Some(rows) = stacks::requested(source) {
        return stacks::list(source, rows, &mut listing);
    }
    let mut tables = open(source)?;
    let shapes = shapes(&mut tables, &listing)?;
    let Table { file, chosen, .. } = &tables[0];
    check_exts(&chosen.parts, &chosen.files, !chosen.json.is_empty(), file)?;
    tables[0].chosen.notes.iter().for_each(|note| listing.builder.notes.push(note.clone()));
    describe(&tables, &shapes, &mut listing)?;
    for (n, table) in tables.iter_mut().enumerate() {
        let columns: Vec<String> = table
            .chosen
            .parts
            .iter()
            .map(|p| table.file.schema().column(p.leaf).path().string())
            .collect();
        let path = table.file.path();
        let number = listing.root + n as u32;
        let options = serde_json::json!({ "columns": columns });
        table.source = if source.names_files() {
            let under = path.file_name().unwrap_or_default().to_string_lossy();
            let root = Root { number, path: folder_of(path) };
            listing.builder.source(root, &under, "parquet", options)?
        } else {
            listing.builder.source(Root { number, path }, "", "parquet", options)?
        };
    }
    let rows: u64 = tables.iter().map(|table| table.file.rows()).sum();
    let digits = rows.saturating_sub(1).to_string().len().max(8);
    let mut first = 0;
    for table in &tables {
        Rows { table, shapes: &shapes, first, digits }.list(&mut listing)?;
        first += table.file.rows();
    }
    Ok(())
}

/// Returns the folder that paths in a file are relative to.
fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}

fn open(source: &SourceUrl) -> Result<Vec<Table>, Failure> {
    let mut tables: Vec<Table> = Vec::with_capacity(source.files.len());
    let partitions = Partitions::of(&source.files)?;
    for (n, path) in source.files.iter().enumerate() {
        let file = ParquetFile::open(path)?;
        let mut chosen = Chosen::of(source, &file, partitions.names())?;
        keep_names(&mut chosen.parts, &note_of(&file, path)?);
        for part in &chosen.parts {
            file.check_leaf(part.leaf)?;
        }
        if let Some(first) = tables.first()
            && let Some(difference) = difference(first, &file, &chosen)
        {
            return Err(Failure::usage(message!(
                "{path} and {} differ in {difference}; pack them as different data sets",
                path.shown();
                path = first.file.path()
            ))
            .with_file(first.file.path()));
        }
        let mut partition = partitions.values(n);
        partition.retain(|(name, _)| partitions::is_packed(source, &file, name));
        tables.push(Table { file, chosen, partition, source: 0 });
    }
    Ok(tables)
}

/// Returns the name of a column in which two files differ.
fn difference(first: &Table, file: &ParquetFile, chosen: &Chosen) -> Option<String> {
    let a = typed_names(&first.file, &first.chosen);
    let b = typed_names(file, chosen);
    let only = a.iter().find(|name| !b.contains(name));
    only.or_else(|| b.iter().find(|name| !a.contains(name))).cloned()
}

/// Returns the names of the chosen columns with their types.
fn typed_names(file: &ParquetFile, chosen: &Chosen) -> Vec<String> {
    let columns = chosen.columns(file.schema());
    let mut all: Vec<String> = columns.iter().map(|c| format!("{} ({})", c.name, c.kind)).collect();
    for part in &chosen.parts {
        let kind = part.element.map_or("bytes", |element| element.name);
        all.push(format!("{} ({kind})", file.schema().column(part.leaf).path().string()));
    }
    all
}

/// Decides which lists of numbers are arrays: those with one shape in all rows. The others stay JSON.
/// Returns the shape of each part; `None` for bytes, and for an array whose shape the first row
/// decides.
fn shapes(
    tables: &mut [Table],
    listing: &Listing<'_, '_>,
) -> Result<Vec<Option<Vec<u64>>>, Failure> {
    let mut shapes = Vec::new();
    let mut part = 0;
    while let Some(column) = tables[0].chosen.parts.get(part) {
        if column.element.is_none() {
            shapes.push(None);
            part += 1;
            continue;
        }
        let maybe = column.maybe;
        let mut shape = None;
        for table in tables.iter() {
            let even = same_shape(table, part, maybe, &mut shape, listing)?;
            if !even {
                shape = None;
                break;
            }
        }
        if maybe && shape.is_none() {
            tables.iter_mut().for_each(|table| drop(table.chosen.parts.remove(part)));
            continue;
        }
        if maybe {
            tables.iter_mut().for_each(|table| table.no_json(part));
        }
        shapes.push(shape);
        part += 1;
    }
    Ok(shapes)
}

impl Table {
    /// Takes the column of a part out of the JSON.
    fn no_json(&mut self, part: usize) {
        let leaf = self.chosen.parts[part].leaf;
        let root = self.file.schema().get_column_root(leaf).name();
        self.chosen.json.retain(|name| name != root);
        self.chosen.leaves.retain(|&other| other != leaf);
    }
}

/// Compares the shape of the rows of one column with `shape`, which the first row sets. Reads one row
/// if a difference does not decide.
fn same_shape(
    table: &Table,
    part: usize,
    all: bool,
    shape: &mut Option<Vec<u64>>,
    listing: &Listing<'_, '_>,
) -> Result<bool, Failure> {
    let file = &table.file;
    let leaf = table.chosen.parts[part].leaf;
    for group in 0..file.metadata().num_row_groups() {
        let mut walk = guarded(|| Walk::new(file, group, leaf))
            .map_err(|e| failure(e, file.path(), &format!("row group {group}")))?;
        loop {
            if listing.watch.stop.requested() {
                return Err(Failure::interrupted());
            }
            match walk.next().map_err(|e| failure(e, file.path(), &format!("row group {group}")))? {
                RowValue::End => break,
                RowValue::Value { dims, .. } => {
                    if *shape.get_or_insert_with(|| dims.clone()) != dims {
                        return Ok(false);
                    }
                    if !all {
                        return Ok(true);
                    }
                }
                RowValue::Null | RowValue::Uneven if all => return Ok(false),
                RowValue::Null | RowValue::Uneven => {}
            }
        }
    }
    Ok(true)
}

/// The rows of one file.
struct Rows<'a> {
    table: &'a Table,
    shapes: &'a [Option<Vec<u64>>],
    /// The number of its first row in the source.
    first: u64,
    digits: usize,
}

/// The values of one row.
struct ReadRow<'a> {
    /// Its number in the file.
    row: u64,
    /// The columns of the parts, each at this row.
    walks: &'a [Walk],
    /// What each of them has.
    found: Vec<RowValue>,
    /// The columns of the JSON.
    json: JsonRow,
    /// The files that it names.
    files: NamedFiles,
}

impl Rows<'_> {
    fn list(&self, listing: &mut Listing<'_, '_>) -> Result<(), Failure> {
        let Table { file, chosen, .. } = self.table;
        let options = listing.builder.options();
        let mut json = JsonRows::new(file, &chosen.leaves, options.json)?;
        let folder = folder_of(file.path());
        let mut examiner = FileExaminer::new(folder, Links::of(options.follow_links));
        for group in 0..file.metadata().num_row_groups() {
            let walks = chosen.parts.iter().map(|part| Walk::new(file, group, part.leaf));
            let walks = guarded(|| walks.collect::<Result<Vec<_>, _>>());
            let mut walks =
                walks.map_err(|e| failure(e, file.path(), &format!("row group {group}")))?;
            let (start, rows) = file.group(group);
            for row in start..start + rows {
                if row % STEP == 0 {
                    if listing.watch.stop.requested() {
                        return Err(Failure::interrupted());
                    }
                    listing.watch.counter.add(STEP.min(file.rows() - row));
                }
                let mut found = Vec::with_capacity(walks.len());
                for walk in &mut walks {
                    found.push(
                        walk.next()
                            .map_err(|e| failure(e, file.path(), &format!("row group {group}")))?,
                    );
                }
                let Some(json) = json.next_row()? else { return Ok(()) };
                let files = named_files(&chosen.files, &json.values, folder, &mut examiner)?;
                self.push(ReadRow { row, walks: &walks, found, json, files }, listing)?;
            }
        }
        Ok(())
    }

    /// Adds one row as a sample, or its problem.
    fn push(&self, read: ReadRow<'_>, listing: &mut Listing<'_, '_>) -> Result<(), Failure> {
        let ReadRow { row, walks, found, mut json, files } = read;
        let Table { chosen, source, partition, file } = self.table;
        let name = RowName { source: *source, row };
        let builder = &mut *listing.builder;
        if let Some(why) = json.fault {
            builder.refuse(name, ProblemKind::BadJson, None, why);
            return Ok(());
        }
        let key = match &chosen.key {
            None => format!("{:0digits$}", self.first + row, digits = self.digits),
            Some(path) => match key_of(&json.values, path, chosen.key_is_file) {
                Some(key) => key,
                None => {
                    let why = format!("its key, column '{}', is null", path.join("."));
                    builder.refuse(name, ProblemKind::BadName, None, why);
                    return Ok(());
                }
            },
        };
        if let Some((kind, why)) = files.fault {
            builder.refuse(name, kind, Some(key.as_bytes()), why);
            return Ok(());
        }
        let mut parts = Vec::with_capacity(found.len() + 1);
        let mut lacking = Vec::new();
        for (n, found) in found.into_iter().enumerate() {
            let column = &chosen.parts[n];
            let value = walks[n].value();
            let (dims, at) = match found {
                RowValue::Value { dims, at } => (dims, at),
                RowValue::End => {
                    let why = "the column ends before this row; the file is damaged";
                    builder.refuse(name, ProblemKind::Unreadable, Some(key.as_bytes()), why);
                    return Ok(());
                }
                RowValue::Null => {
                    if let Some(path) = &column.beside
                        && let Some(picture) = value_at(&json.values, path).and_then(Value::as_str)
                    {
                        return Err(path_alone(file.path(), row, picture, path));
                    }
                    lacking.push(n);
                    continue;
                }
                RowValue::Uneven => (Vec::new(), None),
            };
            if column.ext.is_of_list() {
                let Some(&count) = dims.first() else {
                    return Err(without_bytes(file, row, column.leaf)); // it is uneven
                };
                let place = ListPlace { source: *source, row, column: n, columns: walks.len() };
                parts.extend(values(&column.ext, &walks[n], count, place)?);
                continue;
            }
            let ext = column.ext.of(value);
            if column.element.is_some() && self.shapes[n].as_ref() != Some(&dims) {
                let shape = self.shapes[n].as_deref().unwrap_or_default();
                let why =
                    format!("'{ext}' has another shape than {shape:?}, or nulls; pack it as JSON");
                builder.refuse(name, ProblemKind::Unreadable, Some(key.as_bytes()), why);
                return Ok(());
            }
            let source = *source;
            let size = value.len() as u64;
            let part = match at {
                Some(at) => RowPart::Range { source, at, size },
                None => RowPart::Cell { source, row, column: n as u16, size },
            };
            parts.push((ext, part));
        }
        json.values.retain(|name, _| chosen.json.iter().any(|kept| kept == name));
        json.values.extend(partition.iter().cloned());
        let text = (!json.values.is_empty()).then(|| Value::Object(json.values).to_string());
        let mut named: Vec<(&str, RowPart<'_>)> =
            parts.iter().map(|(ext, part)| (ext.as_str(), *part)).collect();
        for (column, file) in chosen.files.iter().zip(&files.files) {
            if let Some(NamedFile { path, size, stamp }) = file {
                let part = RowPart::File { path, size: *size, stamp: *stamp };
                named.push((&column.ext, part));
            }
        }
        if let Some(text) = &text {
            named.push(("json", RowPart::Text(text.as_bytes())));
        }
        if !named.is_empty() {
            for (column, _) in chosen.files.iter().zip(&files.files).filter(|(_, f)| f.is_none()) {
                builder.note_missing(name, &column.path.join("."));
            }
            for n in lacking {
                let column = self.table.file.schema().column(chosen.parts[n].leaf);
                builder.note_missing(name, &column.path().string());
            }
        }
        builder.push(name, key.as_bytes(), &named)
    }
}
