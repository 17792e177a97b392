//! Files by which DVC tracks data: `shard.tar.dvc`, `shards.dvc`, and `dvc.lock` of a pipeline.
//!
//! DVC writes them as YAML in blocks, a line for each field. The lists `outs` are read, and nothing else.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_formats::files::{self, Patient};
use tarflume_formats::publish::folder_of;
use tarflume_formats::{Error, ErrorKind, Result};

/// The file of a pipeline's outputs.
const LOCK: &str = "dvc.lock";
/// The most bytes of a file of DVC.
const MOST: u64 = 16 << 20;
/// Folders above a tar in which a `dvc.lock` is looked for.
const ABOVE: usize = 16;

/// A file or folder that DVC tracks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tracked {
    /// The file that says so.
    pub file: PathBuf,
    /// Bytes, if they are stated.
    pub size: Option<u64>,
    /// MD5 of the bytes, in hex; of a file alone.
    pub md5: Option<String>,
}

/// An entry of a list `outs`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Out {
    path: Option<String>,
    size: Option<u64>,
    md5: Option<String>,
}

/// Returns the path of the file by which DVC tracks one file or folder: `a.tar.dvc`.
pub(crate) fn file_of(path: &Path) -> PathBuf {
    let mut name = OsString::from(path.as_os_str());
    name.push(".dvc");
    name.into()
}

/// Returns true for the name of such a file.
pub(crate) fn is_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "dvc")
}

/// Returns what DVC states about the file or folder at `path` in the file beside it; `None` if there is no such file.
///
/// # Errors
/// Returns an error if the operating system does not answer.
pub(crate) fn beside(path: &Path) -> Result<Option<Tracked>> {
    let file = file_of(path);
    let Some(text) = read(&file)? else { return Ok(None) };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let out = outs(&text).into_iter().find(|out| out.path.as_deref() == Some(&*name));
    Ok(out.map(|out| out.tracked(file)))
}

/// As [`beside`]; looks into the `dvc.lock` of the folders above, too.
///
/// # Errors
/// Returns an error if the operating system does not answer.
pub(crate) fn of(path: &Path) -> Result<Option<Tracked>> {
    if let Some(found) = beside(path)? {
        return Ok(Some(found));
    }
    let path = std::path::absolute(path).map_err(|e| Error::io(e, "find", path))?;
    for folder in folder_of(&path).ancestors().take(ABOVE) {
        let file = folder.join(LOCK);
        let Some(text) = read(&file)? else { continue };
        let below = path.strip_prefix(folder).unwrap_or(&path);
        if let Some(out) = outs(&text).into_iter().find(|out| out.is_at(below)) {
            return Ok(Some(out.tracked(file)));
        }
    }
    Ok(None)
}

impl Out {
    fn is_at(&self, path: &Path) -> bool {
        self.path.as_deref().is_some_and(|stated| Path::new(stated) == path)
    }

    fn tracked(self, file: PathBuf) -> Tracked {
        // The MD5 of a folder is that of a list of its files.
        let md5 =
            self.md5.filter(|md5| md5.len() == 32 && md5.bytes().all(|b| b.is_ascii_hexdigit()));
        Tracked { file, size: self.size, md5: md5.map(|md5| md5.to_ascii_lowercase()) }
    }
}

/// Returns the text of a file; `None` if there is none, or one that DVC has not written.
fn read(path: &Path) -> Result<Option<String>> {
    let (file, found) = match files::open(path) {
        Ok(opened) => opened,
        Err(error) if error.is_missing() || error.kind() == ErrorKind::WrongFormat => {
            return Ok(None);
        }
        Err(error) if is_no_file(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    if found.len() > MOST {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    let read = Patient(&file).take(MOST).read_to_end(&mut bytes);
    read.map_err(|e| Error::io(e, "read", path))?;
    Ok(String::from_utf8(bytes).ok())
}

/// Returns true if a folder has the name of the file, or a file that of its folder.
fn is_no_file(error: &Error) -> bool {
    let kind = error.io_error().map(io::Error::kind);
    matches!(kind, Some(io::ErrorKind::IsADirectory | io::ErrorKind::NotADirectory))
}

/// Returns the entries of all lists `outs`.
fn outs(text: &str) -> Vec<Out> {
    let mut found: Vec<Out> = Vec::new();
    // The column of the key `outs` whose list is open.
    let mut list: Option<usize> = None;
    for line in text.lines() {
        let field = line.trim_start();
        if field.is_empty() || field.starts_with('#') {
            continue;
        }
        let column = line.len() - field.len();
        let item = field.strip_prefix("- ");
        // An entry of a list is in the column of its key, or right of it.
        if list.is_some_and(|key| column < key || (column == key && item.is_none())) {
            list = None;
        }
        if field == "outs:" {
            list = Some(column);
            continue;
        }
        if list.is_none() {
            continue;
        }
        if item.is_some() {
            found.push(Out::default());
        }
        if let Some(out) = found.last_mut() {
            take(out, item.unwrap_or(field).trim_start());
        }
    }
    found
}

/// Takes a line `KEY: VALUE` of an entry.
fn take(out: &mut Out, field: &str) {
    let Some((key, value)) = field.split_once(':') else { return };
    let value = unquoted(value.trim());
    match key {
        "path" => out.path = Some(value),
        "size" => out.size = value.parse().ok(),
        "md5" => out.md5 = Some(value),
        _ => {}
    }
}

/// Returns a scalar of YAML without its quotes.
fn unquoted(value: &str) -> String {
    if let Some(inner) = value.strip_prefix('\'').and_then(|value| value.strip_suffix('\'')) {
        return inner.replace("''", "'");
    }
    match value.strip_prefix('"').and_then(|value| value.strip_suffix('"')) {
        Some(inner) => serde_json::from_str(value).unwrap_or_else(|_| inner.into()),
        None => value.into(),
    }
}

/// Returns the failure for a path at which there is nothing, and that DVC tracks.
pub(crate) fn not_pulled(path: &Path, tracked: &Tracked) -> Failure {
    use tarflume_formats::message;
    let text = message!("this was not pulled: {file} states that DVC tracks it. `dvc pull` fetches it";
        file = tracked.file.as_path());
    Failure::usage(text).in_file(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "outs:\n- md5: 22a1a2931c8370d3aeedd7183606fd7f\n  size: 14445097\n  hash: md5\n  path: a.tar\n";

    #[test]
    fn a_file_of_dvc_states_size_and_digest() {
        let folder = tempfile::tempdir().unwrap();
        let tar = folder.path().join("a.tar");
        assert_eq!(beside(&tar).unwrap(), None);
        std::fs::write(file_of(&tar), FILE).unwrap();
        let found = beside(&tar).unwrap().unwrap();
        assert_eq!(found.size, Some(14_445_097));
        assert_eq!(found.md5.as_deref(), Some("22a1a2931c8370d3aeedd7183606fd7f"));
        std::fs::write(file_of(&tar), FILE.replace("a.tar", "b.tar")).unwrap();
        assert_eq!(beside(&tar).unwrap(), None, "of another file");
        for other in ["", "\0\0", "outs", "outs: []\n", "outs:\n- \n  path\n"] {
            std::fs::write(file_of(&tar), other).unwrap();
            assert_eq!(beside(&tar).unwrap(), None, "{other:?}");
        }
    }

    #[test]
    fn a_lock_file_has_the_outputs_of_stages() {
        let lock = "schema: '2.0'\nstages:\n  pack:\n    cmd: pack build raw -o data/shards\n    deps:\n    - path: raw\n      \
                    hash: md5\n      md5: aaaa0000aaaa0000aaaa0000aaaa0000.dir\n      size: 5\n    outs:\n    - path: \
                    data/shards\n      hash: md5\n      md5: bbbb0000bbbb0000bbbb0000bbbb0000.dir\n      size: 77\n      \
                    nfiles: 3\n  other:\n    cmd: x\n    outs:\n      - path: 'it''s.tar'\n        md5: \
                    cccc0000cccc0000cccc0000cccc0000\n        size: 9\n";
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(LOCK), lock).unwrap();
        let here = folder.path();
        assert_eq!(of(&here.join("raw")).unwrap(), None, "it is an input");
        let shards = of(&here.join("data/shards")).unwrap().unwrap();
        assert_eq!((shards.size, shards.md5), (Some(77), None));
        let tar = of(&here.join("it's.tar")).unwrap().unwrap();
        assert_eq!(
            (tar.size, tar.md5.as_deref()),
            (Some(9), Some("cccc0000cccc0000cccc0000cccc0000"))
        );
    }

    #[test]
    fn quotes_are_taken_off() {
        for (text, value) in
            [("a", "a"), ("'a''b'", "a'b"), ("\"a\\tb\"", "a\tb"), ("'", "'"), ("\"", "\"")]
        {
            assert_eq!(unquoted(text), value);
        }
    }
}
