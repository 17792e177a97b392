//! `Exclude`: a list of samples to leave out, as text or as the JSON lines of a report.
//!
//! Knows keys and names of shards; which ordinals they have is found elsewhere.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::error::{Error, ErrorKind, Result};

/// Samples to leave out, by key and perhaps shard.
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
    /// A tar, as it was named: its whole path or the end of it.
    shard: Option<PathBuf>,
}

/// What is read of a line of a report: `pack`'s `problems.jsonl` or a loader's list of bad samples.
#[derive(Deserialize)]
struct Reported {
    key: Option<String>,
    shard: Option<String>,
    /// In a loader's list, the tar; in a report of `pack`, whose lines have no ordinal, a source file.
    path: Option<PathBuf>,
    ordinal: Option<u64>,
}

impl Line {
    /// True unless another shard was named.
    pub(crate) fn may_stand_in(&self, tar: &Path) -> bool {
        self.shard.as_ref().is_none_or(|shard| tar.ends_with(shard))
    }
}

impl Exclude {
    /// These keys, in whatever shards they stand.
    pub fn keys<K: AsRef<[u8]>>(keys: impl IntoIterator<Item = K>) -> Exclude {
        let line = |key: K| Line { key: key.as_ref().into(), shard: None };
        Exclude(keys.into_iter().map(line).collect())
    }

    /// The list in the file at `path`; see [`Exclude::parse`].
    ///
    /// # Errors
    /// The file can't be read; as [`Exclude::parse`].
    pub fn file(path: impl AsRef<Path>) -> Result<Exclude> {
        let path = path.as_ref();
        let text = fs::read(path).map_err(|e| {
            Error::from(tarflume_formats::Error::io(e, "read the exclude list", path))
        })?;
        Exclude::parse(&text).map_err(|e| e.with_path(path))
    }

    /// A list of keys, one a line; or JSON objects with `key` and perhaps `shard` (the path of its
    /// tar, or the end of that): a file whose first byte is `{` is such a report. Empty lines, and
    /// objects without a key, say nothing. A key that is not UTF-8 stands escaped in a report, and is
    /// then not found again: `exclude` says so.
    ///
    /// # Errors
    /// [`ErrorKind::WrongFormat`]: something in a report is no such object.
    pub fn parse(text: &[u8]) -> Result<Exclude> {
        let mut lines = Vec::new();
        if !text.trim_ascii_start().starts_with(b"{") {
            let keys = text.split(|&b| b == b'\n');
            let keys = keys.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
            let keys = keys.filter(|key| !key.is_empty());
            lines.extend(keys.map(|key| Line { key: key.into(), shard: None }));
            return Ok(Exclude(lines));
        }
        // Objects one after the other, in one line each or in several: quarantine's reasons are.
        for said in serde_json::Deserializer::from_slice(text).into_iter::<Reported>() {
            let said = said.map_err(|e| {
                let text = format!("line {} of the exclude list is no report: {e}", e.line());
                Error::new(ErrorKind::WrongFormat, text)
            })?;
            if let Some(key) = said.key {
                let shard = said.shard.map(|shard| OsStr::from_bytes(shard.as_bytes()).into());
                // By its name alone: a data set may have moved since.
                let tar = said.ordinal.and(said.path.as_deref().and_then(Path::file_name));
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
