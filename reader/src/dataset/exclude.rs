//! `Exclude`: a list of samples to leave out, as text or as the JSON lines of a report.
//!
//! Holds keys and shard names only; `select` finds the ordinals.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::error::{Error, ErrorKind, Result};

/// A list of samples to leave out, by key and optionally by shard.
///
/// ```
/// use tarflume::{Dataset, Exclude};
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let dataset = Dataset::open(shards)?;
/// let excluded = dataset.exclude(&Exclude::keys(["photo/003", "photo/099"]))?;
/// assert_eq!((excluded.ordinals, excluded.absent), (vec![3], 1));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exclude(Vec<Line>);

/// One sample to leave out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) key: Box<[u8]>,
    /// The path of the tar, or the end of that path.
    shard: Option<PathBuf>,
}

/// The fields that are used of a report's line: `pack`'s `problems.jsonl` or a loader's list of bad samples.
#[derive(Deserialize)]
struct Reported {
    key: Option<String>,
    shard: Option<String>,
    /// In a loader's list, the tar. In a report of `pack`, whose lines have no ordinal, a source file.
    path: Option<PathBuf>,
    ordinal: Option<u64>,
}

impl Line {
    /// True unless the line names a different shard.
    pub(crate) fn may_stand_in(&self, tar: &Path) -> bool {
        self.shard.as_ref().is_none_or(|shard| tar.ends_with(shard))
    }
}

impl Exclude {
    /// Excludes these keys, in any shard.
    pub fn keys<K: AsRef<[u8]>>(keys: impl IntoIterator<Item = K>) -> Exclude {
        let line = |key: K| Line { key: key.as_ref().into(), shard: None };
        Exclude(keys.into_iter().map(line).collect())
    }

    /// Reads the list in the file at `path`; see [`Exclude::parse`].
    ///
    /// # Errors
    /// Returns an error if the file cannot be read. As [`Exclude::parse`].
    pub fn file(path: impl AsRef<Path>) -> Result<Exclude> {
        let path = path.as_ref();
        let text = fs::read(path).map_err(|e| {
            Error::from(tarflume_formats::Error::io(e, "read the exclude list", path))
        })?;
        Exclude::parse(&text).map_err(|e| e.with_path(path))
    }

    /// Parses a list of keys, one on each line, or JSON objects with `key` and optionally `shard` (the
    /// path of its tar, or the end of it). Text whose first byte is `{` is such a report. Empty lines
    /// and objects without a key are ignored. A report holds a key that is not UTF-8 in escaped form,
    /// which matches no sample; [`crate::Dataset::exclude`] reports it as absent.
    ///
    /// # Errors
    /// [`ErrorKind::WrongFormat`]: a report contains something that is not such an object.
    pub fn parse(text: &[u8]) -> Result<Exclude> {
        let mut lines = Vec::new();
        if !text.trim_ascii_start().starts_with(b"{") {
            let keys = text.split(|&b| b == b'\n');
            let keys = keys.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
            let keys = keys.filter(|key| !key.is_empty());
            lines.extend(keys.map(|key| Line { key: key.into(), shard: None }));
            return Ok(Exclude(lines));
        }
        // A JSON stream, not lines: quarantine writes an object over several lines.
        for report in serde_json::Deserializer::from_slice(text).into_iter::<Reported>() {
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
                lines.push(Line { key: key.into_bytes().into(), shard });
            }
        }
        Ok(Exclude(lines))
    }

    /// The keys of all lines, in the order of the list.
    pub fn listed(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(|line| &*line.key)
    }

    pub(crate) fn lines(&self) -> &[Line] {
        &self.0
    }

    /// The numbers of the lines with each key.
    pub(crate) fn by_key(&self) -> HashMap<&[u8], Vec<usize>> {
        let mut map: HashMap<&[u8], Vec<usize>> = HashMap::with_capacity(self.0.len());
        for (number, line) in self.0.iter().enumerate() {
            map.entry(&line.key).or_default().push(number);
        }
        map
    }
}
