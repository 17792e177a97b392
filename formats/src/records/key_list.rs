//! `KeyList`: samples by key and optionally by shard, as text or as the JSON lines of a report. Knows no data set.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::errors::error::{Error, ErrorKind, Result};
use crate::text::shown::Quoted;

/// A list of samples, each by its key and optionally its shard.
///
/// ```
/// use tarflume_formats::KeyList;
///
/// # fn main() -> tarflume_formats::Result<()> {
/// let report = KeyList::parse(br#"{"key": "cat/001", "shard": "shard-000007.tar"}"#)?;
/// let line = &report.lines()[0];
/// assert_eq!(&*line.key, b"cat/001");
/// assert!(line.may_be_in("data/shard-000007.tar".as_ref()));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyList(Vec<KeyLine>);

/// One sample of a list.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyLine {
    /// The key.
    pub key: Box<[u8]>,
    /// The path of the tar, or the end of that path.
    shard: Option<PathBuf>,
}

impl fmt::Debug for KeyLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("KeyLine");
        shown.field("key", &Quoted(&self.key)).field("shard", &self.shard).finish()
    }
}

/// The fields that are used of a report's line: `pack`'s `problems.jsonl` or a loader's list of bad samples.
#[derive(Deserialize)]
struct ReportLine {
    key: Option<String>,
    shard: Option<String>,
    /// In a loader's list, the tar. In a report of `pack`, whose lines have no ordinal, a source file.
    path: Option<PathBuf>,
    ordinal: Option<u64>,
}

impl KeyLine {
    /// Returns true unless the line names a different shard.
    pub fn may_be_in(&self, tar: &Path) -> bool {
        self.shard.as_ref().is_none_or(|shard| tar.ends_with(shard))
    }
}

impl KeyList {
    /// Creates a list of these keys, in any shard.
    pub fn new<K: AsRef<[u8]>>(keys: impl IntoIterator<Item = K>) -> KeyList {
        let keys = keys.into_iter();
        KeyList(keys.map(|key| KeyLine { key: key.as_ref().into(), shard: None }).collect())
    }

    /// Reads the list in the file at `path`; see [`KeyList::parse`].
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, and the errors of [`KeyList::parse`].
    pub fn read(path: impl AsRef<Path>) -> Result<KeyList> {
        let path = path.as_ref();
        let text = fs::read(path).map_err(|e| Error::io(e, "read the list of keys", path))?;
        KeyList::parse(&text).map_err(|e| e.with_path(path))
    }

    /// Parses a list of keys, one on each line, or JSON objects with `key` and optionally `shard` (the
    /// path of its tar, or the end of it). Text whose first byte is `{` is such a report. Empty lines
    /// and objects without a key are ignored. A report holds a key that is not UTF-8 in escaped form.
    ///
    /// # Errors
    /// Returns [`ErrorKind::WrongFormat`] if a report contains something that is not such an object.
    pub fn parse(text: &[u8]) -> Result<KeyList> {
        let mut lines = Vec::new();
        if !text.trim_ascii_start().starts_with(b"{") {
            let keys = text.split(|&b| b == b'\n');
            let keys = keys.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
            return Ok(KeyList::new(keys.filter(|key| !key.is_empty())));
        }
        // A JSON stream, not lines: quarantine writes an object over several lines.
        for report in serde_json::Deserializer::from_slice(text).into_iter::<ReportLine>() {
            let report = report.map_err(|e| {
                let text =
                    format!("line {} of the exclude list is not a valid report: {e}", e.line());
                Error::new(ErrorKind::WrongFormat, text)
            })?;
            if let Some(key) = report.key {
                let shard = report.shard.map(|shard| OsStr::from_bytes(shard.as_bytes()).into());
                // By the file name only: the data set may have moved.
                let tar = report.ordinal.and(report.path.as_deref().and_then(Path::file_name));
                let shard = shard.or(tar.map(PathBuf::from));
                lines.push(KeyLine { key: key.into_bytes().into(), shard });
            }
        }
        Ok(KeyList(lines))
    }

    /// Returns the keys of all lines, in the order of the list.
    pub fn keys(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(|line| &*line.key)
    }

    /// Returns the lines, in the order of the list.
    pub fn lines(&self) -> &[KeyLine] {
        &self.0
    }

    /// Returns the numbers of the lines with each key.
    pub fn by_key(&self) -> HashMap<&[u8], Vec<usize>> {
        let mut map: HashMap<&[u8], Vec<usize>> = HashMap::with_capacity(self.0.len());
        for (number, line) in self.0.iter().enumerate() {
            map.entry(&line.key).or_default().push(number);
        }
        map
    }
}
