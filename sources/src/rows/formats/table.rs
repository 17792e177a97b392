//! `csv:FILE?key=COLUMN&EXT=@COLUMN`, `jsonl:FILE?..` and `json:FILE?at=/LIST&..`: one sample for each row of a table.
//!
//! `EXT=@COLUMN` is a file whose path, relative to the table, is in the column; `EXT=COLUMN` is the
//! text of the column. Both may be templates of several fields. A symbolic link on the way to a file is followed on request
//! alone. The other columns become the sample's JSON, or those of `json=A,B`; with `json=none` there is none.
//! `png=COLUMN&shape=28x28` is a picture whose pixels are in columns. The key is the column `key=`, or the path of the first file without extension, or the row's number.

mod parts;
mod pending;
mod pixels;
mod template;

use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_formats::json::JsonRules;
use tarflume_formats::shown::ShowPath;
use tarflume_scan::rows::builder::Root;
use tarflume_scan::samples::described::Columns;
use tarflume_table::options::NAMES;
use tarflume_table::values::survey::Survey;
use tarflume_table::{TableOptions, TableRow};

use self::parts::Parts;
use crate::rows::Listing;
use crate::rows::columns::agreed::agreed;
use crate::rows::columns::part_names::renamed;
use crate::rows::url::{SourceFormat, SourceUrl};

/// Rows whose files are examined at once.
const BATCH: usize = 4096;

/// Lists the rows of the tables of one source.
///
/// # Errors
/// Returns an error for a malformed table, for an option that names no column, and for a failure
/// of the machine.
pub(crate) fn list(source: &SourceUrl, listing: Listing<'_, '_>) -> Result<(), Failure> {
    let Listing { root, builder, watch } = listing;
    let options = table_options(source, builder.options().json)?;
    let surveys = source.files.iter().map(|path| Survey::of(path, &options, watch.stop));
    let mut surveys = surveys.collect::<Result<Vec<_>, Failure>>()?;
    let columns = agreed(source, &mut surveys)?;
    for (option, _) in source.options.iter().filter(|(option, _)| option.to_lowercase() != *option)
    {
        builder.notes.push(renamed("option", option, &option.to_lowercase()));
    }
    for ((n, path), survey) in source.files.iter().enumerate().zip(&surveys) {
        let folder = path.parent().unwrap_or(Path::new("/"));
        let under = path.file_name().unwrap_or_default().to_string_lossy();
        let kind = source.kind.word();
        let root = Root { number: root + n as u32, path: folder };
        let number = builder.source(root, &under, kind, Default::default())?;
        survey.notes.iter().for_each(|note| builder.notes.push(note.clone()));
        let parts = Parts::of(source, path, survey)?;
        let has = match source.kind {
            SourceFormat::Jsonl | SourceFormat::Json => Columns::Some,
            _ => Columns::All,
        };
        builder.begin(format!("{kind}:{}", path.shown()), has);
        parts.describe(survey, &columns, builder)?;
        let mut reader = tarflume_table::open(path, &options)?;
        let mut row = TableRow::default();
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            let more = reader.next(&mut row)?;
            if more {
                batch.push(parts.pending(folder, &row, options.rules));
            }
            if batch.len() == BATCH || !more {
                if watch.stop.requested() {
                    return Err(Failure::interrupted());
                }
                watch.counter.add(batch.len() as u64);
                parts.push(folder, number, std::mem::take(&mut batch), builder)?;
            }
            if !more {
                break;
            }
        }
        survey.check_unchanged(path, row.number)?;
        if row.number == 0 {
            builder.notes.push(empty(source, path));
        }
    }
    Ok(())
}

/// Returns the note about a table without rows.
fn empty(source: &SourceUrl, path: &Path) -> String {
    let has = match source.kind {
        SourceFormat::Json => "no elements, and each element is a sample",
        SourceFormat::Jsonl => "no lines but blank ones, and each line is a sample",
        _ => "a header and no rows, and each row is a sample",
    };
    format!("{} has {has}", path.shown())
}

/// Returns the folders of the tables, which are the roots of their files.
pub(crate) fn roots(source: &SourceUrl) -> impl Iterator<Item = PathBuf> {
    source.files.iter().map(|file| file.parent().unwrap_or(Path::new("/")).to_path_buf())
}

fn table_options(source: &SourceUrl, rules: JsonRules) -> Result<TableOptions, Failure> {
    let is_document = source.kind == SourceFormat::Json;
    let mut options = TableOptions { rules, is_document, ..TableOptions::default() };
    for name in NAMES {
        if let Some(value) = source.option(name) {
            options
                .set(name, value)
                .map_err(|why| Failure::usage(format!("{name}={value}: {why}")))?;
        }
    }
    Ok(options)
}
