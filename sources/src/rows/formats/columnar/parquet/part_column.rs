//! `PartColumn`: a column of a Parquet file whose values are parts, and the names of those parts; `PathColumn`: one with
//! paths of files.

use tarflume_base::Failure;
use tarflume_base::array_note::ArrayNote;
use tarflume_formats::message::Message;
use tarflume_table::parquet::ParquetFile;

use super::walk::Element;
use crate::rows::columns::ext_rule::ExtRule;
use crate::rows::columns::part_names::{Twins, part_name, renamed, twins};
use crate::rows::url::SourceUrl;

/// A column whose values are parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PartColumn {
    pub(super) ext: ExtRule,
    /// The leaf column.
    pub(super) leaf: usize,
    /// The type, if it is an array of numbers.
    pub(super) element: Option<Element>,
    /// Whether the column stays JSON if its lists differ in length.
    pub(super) maybe: bool,
    /// The path of the values that name the files of an image column, beside its bytes.
    pub(super) beside: Option<Vec<String>>,
}

/// A column with the paths of files beside the Parquet file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PathColumn {
    /// The extension of the part.
    pub(super) ext: String,
    /// The leaf column, and its path.
    pub(super) leaf: usize,
    pub(super) path: Vec<String>,
    /// Whether a row need not name a file.
    pub(super) is_optional: bool,
}

/// Returns the notes about parts with other names than their columns, or the options that name them.
pub(super) fn changed_names(
    parts: &[PartColumn],
    source: &SourceUrl,
    file: &ParquetFile,
) -> Vec<Message> {
    let options = source.options.iter().filter(|(name, _)| part_name(name) != *name);
    let options = options.map(|(name, _)| renamed("option", name, &part_name(name)));
    let is_chosen = source.options.iter().any(|(name, _)| !matches!(name.as_str(), "key" | "json"));
    let changed = parts.iter().filter(|part| {
        let name = column_name(part, file);
        !is_chosen
            && !source.options.iter().any(|(other, _)| other == &name)
            && part_name(&name) != name
    });
    let changed =
        changed.map(|part| renamed("column", &column_name(part, file), &part.ext.to_text()));
    options.chain(changed).collect()
}

fn column_name(part: &PartColumn, file: &ParquetFile) -> String {
    file.schema().get_column_root(part.leaf).name().to_string()
}

/// Refuses two columns that become one part. Call it when it is decided which lists are arrays.
///
/// # Errors
/// Returns an error that names both columns.
pub(super) fn check_exts(
    parts: &[PartColumn],
    files: &[PathColumn],
    has_json: bool,
    file: &ParquetFile,
) -> Result<(), Failure> {
    let named = files.iter().map(|named| {
        let path = named.path.join(".");
        (format!("'@{}'", tarflume_formats::name::shown(path.as_bytes())), named.ext.clone())
    });
    let mut pairs: Vec<(String, String)> = named.collect();
    for part in parts {
        let path = file.schema().column(part.leaf).path().string();
        let shown = format!("'{}'", tarflume_formats::name::shown(path.as_bytes()));
        pairs.push((shown, part.ext.usual().to_string()));
    }
    if has_json {
        pairs.push(("the fields of the JSON".into(), "json".into()));
    }
    let Some(Twins { first, second, ext }) = twins(&pairs) else { return Ok(()) };
    Err(Failure::usage(format!(
        "{first} and {second} become the part '{ext}'; name them: \
         parquet:FILE?one=COLUMN&two=COLUMN&json=COLUMNS"
    ))
    .in_file(file.path()))
}

/// Gives bytes that are noted as arrays the extension that they had, whatever their first bytes are.
pub(super) fn keep_names(parts: &mut [PartColumn], note: &ArrayNote) {
    for part in parts {
        if let ExtRule::Content(_, name) = &part.ext
            && note.array(name).is_some()
        {
            part.ext = ExtRule::Fixed(name.clone());
        }
    }
}
