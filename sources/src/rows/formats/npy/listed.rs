//! Rows of arrays -> samples: the files that have them as sources of the plan, and a sample for each row.

use std::path::{Path, PathBuf};

use tarflume_base::{Failure, ProblemKind};
use tarflume_formats::json::{Object, Value};
use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_scan::folders::walk::Watch;
use tarflume_scan::rows::builder::{Root, RowName, RowPart, ScanBuilder};

use super::array::{Array, Form, NUMBERS};
use crate::rows::columns::part_names::{Twins, renamed, twins};
use crate::rows::places::row_cells::{self, PlannedFile};

/// How the rows of a file are read while shards are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// From their places.
    Plain,
    /// From their places in the decompressed file.
    Gzip,
    /// From the members of an npz.
    Npz,
    /// From the arrays of a MAT file.
    Mat,
}

/// A file of arrays, before it is a source of the plan.
#[derive(Debug)]
pub(crate) struct ArrayFile {
    /// The number of its root.
    pub(crate) root: u32,
    pub(crate) path: PathBuf,
    pub(crate) kind: FileKind,
    /// The split of its rows, if the names of the arrays state it.
    pub(crate) split: Option<String>,
    pub(crate) arrays: Vec<Array>,
}

impl ArrayFile {
    /// Adds the file to the sources of the plan and returns its arrays.
    ///
    /// # Errors
    /// Returns an error if the file cannot be examined.
    pub(crate) fn planned(mut self, builder: &mut ScanBuilder<'_>) -> Result<Vec<Array>, Failure> {
        if matches!(self.kind, FileKind::Plain | FileKind::Gzip) {
            self.arrays.iter_mut().zip(0..).for_each(|(array, column)| array.column = column);
        }
        let root = Root { number: self.root, path: &self.path };
        let source = builder.source(root, "", self.word(), self.options())?;
        self.arrays.iter_mut().for_each(|array| array.source = source);
        Ok(self.arrays)
    }

    /// Returns the kind of the source in the plan.
    fn word(&self) -> &'static str {
        match self.kind {
            FileKind::Npz => "npz",
            FileKind::Mat => "mat",
            FileKind::Plain if !self.arrays.iter().any(Array::is_cell) => "bytes",
            FileKind::Plain | FileKind::Gzip => row_cells::KIND,
        }
    }

    /// Returns what the reader of its rows needs.
    fn options(&self) -> serde_json::Value {
        match self.kind {
            FileKind::Plain if !self.arrays.iter().any(Array::is_cell) => serde_json::Value::Null,
            FileKind::Plain | FileKind::Gzip => {
                let gzip = self.kind == FileKind::Gzip;
                let arrays = self.arrays.iter().map(Array::planned).collect();
                serde_json::to_value(PlannedFile { gzip, arrays }).expect("numbers serialize")
            }
            FileKind::Npz | FileKind::Mat => {
                let pictures = self.arrays.iter().filter_map(|array| {
                    array.picture().map(|picture| (array.column.to_string(), picture))
                });
                let pictures: std::collections::BTreeMap<_, _> = pictures.collect();
                let mut options = serde_json::Map::new();
                if !pictures.is_empty() {
                    let pictures = serde_json::to_value(pictures).expect("numbers serialize");
                    options.insert("pictures".into(), pictures);
                }
                if let Some(split) = &self.split {
                    options.insert("split".into(), split.as_str().into());
                }
                if options.is_empty() { serde_json::Value::Null } else { options.into() }
            }
        }
    }
}

/// Returns the name of an array by its file: the base name up to the first dot.
pub(crate) fn name_of(path: &Path) -> String {
    let base = path.file_name().unwrap_or_default().as_encoded_bytes();
    let stem = base.split(|&b| b == b'.').next().unwrap_or(base);
    tarflume_formats::name::shown(stem)
}

/// Adds a sample for each row of arrays of one length.
///
/// # Errors
/// Returns an error for arrays of different lengths or the same name. A number that JSON lacks is a
/// problem.
pub(crate) fn rows(
    mut arrays: Vec<Array>,
    builder: &mut ScanBuilder<'_>,
    watch: Watch<'_>,
) -> Result<(), Failure> {
    let Some(first) = arrays.first() else { return Ok(()) };
    let rows = first.rows();
    let source = first.source;
    check(&arrays)?;
    for array in &arrays {
        if let Some(column) = array.described() {
            builder.describe(column)?;
        }
        let is_renamed = array.ext() != format!("{}.raw", array.name);
        if matches!(array.form, Form::Part(_)) && is_renamed {
            builder.notes.push(renamed("array", &array.name, array.ext()));
        }
    }
    let exts: Vec<String> = arrays.iter().map(|array| array.ext().to_string()).collect();
    for row in 0..rows {
        if row % NUMBERS == 0 {
            watch.counter.add(NUMBERS.min(rows - row));
        }
        // A picture takes time.
        if row % 1024 == 0 && watch.stop.requested() {
            return Err(Failure::interrupted());
        }
        let key = builder.number();
        let name = RowName { source, row };
        let text = match json(&mut arrays, row, builder)? {
            Ok(text) => text,
            Err(why) => {
                builder.refuse(name, ProblemKind::BadJson, Some(key.as_bytes()), why);
                continue;
            }
        };
        let mut parts: Vec<(&str, RowPart<'_>)> = Vec::with_capacity(exts.len() + 1);
        for (array, ext) in arrays.iter_mut().zip(&exts).filter(|(array, _)| !array.is_field()) {
            parts.push((ext, array.part(row)?));
        }
        if text != "{}" {
            parts.push(("json", RowPart::Text(text.as_bytes())));
        }
        builder.push(name, key.as_bytes(), &parts)?;
    }
    Ok(())
}

/// Returns the JSON of a row, or why a number of it is none of JSON.
fn json(
    arrays: &mut [Array],
    row: u64,
    builder: &ScanBuilder<'_>,
) -> Result<Result<String, Message>, Failure> {
    let rules = builder.options().json;
    let mut json = Object::new();
    let mut fault = None;
    for array in arrays.iter_mut().filter(|array| array.is_field()) {
        match array.value(row, rules)? {
            Ok(value) => drop(json.insert(array.name.clone(), value)),
            Err(why) => fault = Some(why),
        }
    }
    Ok(match fault {
        Some(why) => Err(why),
        None => Ok(Value::Object(json).to_string()),
    })
}

/// Refuses arrays of different lengths, and two that become one.
fn check(arrays: &[Array]) -> Result<(), Failure> {
    let Some(first) = arrays.first() else { return Ok(()) };
    let rows = first.rows();
    if let Some(other) = arrays.iter().find(|array| array.rows() != rows) {
        return Err(Failure::usage(message!(
            "{first} has {rows} rows and {other} has {}; a sample is one row of each",
            other.rows();
            first = first.origin.shown(),
            other = other.origin.shown()
        ))
        .with_file(&first.origin.path));
    }
    let mut names: Vec<(String, String)> = Vec::with_capacity(arrays.len() + 1);
    for array in arrays {
        let becomes =
            if array.is_field() { format!("{}.raw", array.name) } else { array.ext().to_string() };
        names.push((array.name.clone(), becomes));
    }
    let Some(Twins { first, second, ext }) = twins(&names) else { return Ok(()) };
    Err(Failure::usage(if first == second {
        format!("two arrays are named '{first}'; rename a file")
    } else {
        format!("the arrays '{first}' and '{second}' become the part '{ext}'; rename one")
    }))
}
