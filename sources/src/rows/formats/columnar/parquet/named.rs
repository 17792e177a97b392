//! What the values of a row name: its key, and files beside the table. Reads values that were decoded.

use tarflume_base::{Failure, ProblemKind};
use tarflume_formats::json::{Object, Value};
use tarflume_formats::message;
use tarflume_formats::message::Message;

use super::part_column::PathColumn;
use super::values::value_at;
use crate::rows::places::named_files::{FileExaminer, file_path};

/// Returns the key in a row; a file name loses its extension.
pub(super) fn key_of(row: &Object, path: &[String], is_file: bool) -> Option<String> {
    let key = match value_at(row, path)? {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    if !is_file {
        return Some(key);
    }
    let key = key.trim_start_matches('/');
    let folder = key.rfind('/').map_or(0, |at| at + 1);
    let dot = key[folder..].rfind('.').filter(|&at| at > 0).map(|at| folder + at);
    Some(key[..dot.unwrap_or(key.len())].into())
}

/// A file that a row names.
#[derive(Debug)]
pub(super) struct NamedFile {
    /// Its path under the folder of the table.
    pub(super) path: Vec<u8>,
    /// Bytes.
    pub(super) size: u64,
    /// A digest of its modification time.
    pub(super) stamp: u32,
}

/// The files that a row names.
#[derive(Debug, Default)]
pub(super) struct NamedFiles {
    /// One for each column of paths; `None` for an optional one that the row lacks.
    pub(super) files: Vec<Option<NamedFile>>,
    /// Why the row is no sample.
    pub(super) fault: Option<(ProblemKind, Message)>,
}

/// Examines the files that a row names.
///
/// # Errors
/// Returns an error if the machine fails; what is wrong with a file is a fault of the row.
pub(super) fn named_files(
    columns: &[PathColumn],
    row: &Object,
    folder: &std::path::Path,
    examiner: &mut FileExaminer<'_>,
) -> Result<NamedFiles, Failure> {
    let mut found = NamedFiles::default();
    for column in columns {
        let named = value_at(row, &column.path).and_then(Value::as_str).unwrap_or_default();
        if named.is_empty() && column.is_optional {
            found.files.push(None);
            continue;
        }
        let path = match named {
            "" => Err("the row names no file".into()),
            named => file_path(folder, named.as_bytes()),
        };
        let path = match path {
            Ok(path) => path,
            Err(why) => {
                let why = message!("{}: {why}", column.ext; why = why);
                found.fault = Some((ProblemKind::MissingPart, why));
                return Ok(found);
            }
        };
        match examiner.examine(&path)? {
            Ok((size, stamp)) => found.files.push(Some(NamedFile { path, size, stamp })),
            Err(fault) => {
                found.fault = Some(fault);
                return Ok(found);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_text_a_number_or_a_file_name_without_extension() {
        let row = serde_json::json!({"id": 7, "image": {"path": "a.b/c.x.jpg"}, "no": null});
        let Value::Object(row) = Value::from(row) else { panic!("it is an object") };
        for (path, is_file, key) in [
            (&["id"][..], false, Some("7")),
            (&["image", "path"], true, Some("a.b/c.x")),
            (&["no"], false, None),
            (&["other"], false, None),
        ] {
            let path: Vec<String> = path.iter().map(|p| p.to_string()).collect();
            assert_eq!(key_of(&row, &path, is_file).as_deref(), key, "{path:?}");
        }
    }
}
