//! Image folders with tables of metadata: `metadata.csv`, `metadata.jsonl` or `metadata.parquet` in
//! folders, with a column `file_name` of paths relative to the table.

use std::path::PathBuf;

use tarflume_base::{Failure, Stop};
use tarflume_formats::json::JsonRules;
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_formats::shown::ShowPath;
use tarflume_scan::Scan;
use tarflume_scan::source::part_path;
use tarflume_table::values::recorded::Recorded;
use tarflume_table::{TableOptions, TableRow};

use super::options::On;
use super::rows::{NamedBy, TableFile, TableRows};
use super::rules::RowRules;
use super::source::JoinSource;

/// Returns the rows of the tables that the scan found, and adds their columns to the description of
/// the samples.
///
/// # Errors
/// Returns an error for tables of different kinds, for a table with several columns of files, and
/// the errors of [`TableRows::survey`].
pub fn image_folder(
    scan: &mut Scan,
    roots: &[PathBuf],
    recorded: &Recorded,
    rules: JsonRules,
    stop: &Stop,
) -> Result<JoinSource, Failure> {
    let mut tables: Vec<TableFile> = Vec::new();
    for found in &scan.tables {
        let path = [found.folder.as_slice(), &found.name].concat();
        let path = part_path(&roots[found.root as usize], &path, b"");
        tables.push(TableFile { path, folder: found.folder.clone() });
    }
    tables.sort_by(|a, b| a.path.cmp(&b.path));
    let kind = tables.first().and_then(|table| table.path.extension());
    if let Some(other) = tables.iter().find(|table| table.path.extension() != kind) {
        return Err(Failure::usage(message!(
            "{path} and {} are tables of metadata of different kinds; keep one kind, or give \
             {join}",
            other.path.shown();
            path = &tables[0].path,
            join = Name::Join.is("none")
        ))
        .with_file(&tables[0].path));
    }
    let options = TableOptions { rules, ..TableOptions::default() };
    let mut key = None;
    for table in &tables {
        let column = file_column(table, &options)?;
        let known = key.get_or_insert_with(|| column.clone());
        if *known != column {
            return Err(Failure::usage(message!(
                "{path} names files in '{column}' and {} in '{known}'; give the columns one name",
                tables[0].path.shown();
                path = &table.path
            ))
            .with_file(&table.path));
        }
    }
    let (rows, columns) =
        TableRows::survey(&tables, &options, NamedBy::of(key.as_deref()), recorded, stop)?;
    scan.about.columns.extend(columns);
    scan.notes.extend(rows.notes());
    Ok(JoinSource {
        rows: Box::new(rows),
        files: tables.into_iter().map(|table| table.path).collect(),
        on: Some(On::Path),
        ext: "json".into(),
        without: None,
        flag: Name::Join,
        rules: RowRules::default(),
        key,
        json: rules,
        merges: false,
    })
}

/// Returns the column with the names of files.
fn file_column(file: &TableFile, options: &TableOptions) -> Result<String, Failure> {
    let mut reader = tarflume_table::open(&file.path, options)?;
    reader.next(&mut TableRow::default())?;
    let named: Vec<&String> =
        reader.columns().iter().filter(|name| tarflume_table::is_file_name(name)).collect();
    match named.as_slice() {
        [one] => Ok((*one).clone()),
        [] => Err(Failure::usage(message!(
            "there is no column 'file_name'; give {join} if it is no metadata";
            join = Name::Join.is("none")
        ))
        .in_file(&file.path)),
        several => {
            let list: Vec<_> = several.iter().map(|name| format!("'{name}'")).collect();
            Err(Failure::usage(format!(
                "{} name files of one sample; pack the table itself: \
                 csv:metadata.csv?key=COLUMN&jpg=@COLUMN",
                list.join(" and ")
            ))
            .in_file(&file.path))
        }
    }
}
