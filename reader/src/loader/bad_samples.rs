//! `OnBad`: the policy for samples that can't be read or decoded; `BadList`: the list of them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::{Deserialize, Serialize, Serializer};
use tarflume_types::{Error, ErrorKind, Result};

use tarflume_formats::output::{OutputFile, OutputKind, is_json_line, is_refused};
use tarflume_formats::{Durability, IgnorePoison};
use tarflume_order::words;

/// A list of bad samples.
const LIST: OutputKind = OutputKind {
    name: "a list of bad samples",
    is: |bytes| is_json_line(bytes, &["key", "reason", "ordinal"]),
};

/// The policy for a bad sample.
///
/// ```
/// use tarflume::{Loader, OnBad};
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let loader = Loader::builder(shards).bytes("txt").on_bad(OnBad::Substitute).build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum OnBad {
    /// Its batch is an error, and the epoch ends there.
    #[default]
    Error,
    /// It is left out of its batch, which has one row less. The number of steps stays equal on all ranks.
    Skip,
    /// Another sample takes its row. The choice depends on seed, pass and ordinal alone; steps and batches stay equal.
    Substitute,
}

words!(OnBad, "on_bad", { Error => "error", Skip => "skip", Substitute => "substitute" });

/// A sample that was bad.
///
/// ```
/// use tarflume::{Loader, OnBad};
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let loader = Loader::builder(shards).label("json", "/class").on_bad(OnBad::Skip).build()?;
/// loader.epoch(0).for_each(drop);
/// for bad in loader.bad_samples() {
///     println!("{bad:?}");
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BadSample {
    /// Its shard. In JSON, bytes of the path that are not UTF-8 are replaced by U+FFFD.
    #[serde(serialize_with = "as_text")]
    pub path: Option<PathBuf>,
    /// The byte of the shard at which the error is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub byte: Option<u64>,
    /// Its key.
    pub key: Option<String>,
    /// Why it is bad.
    pub reason: String,
    /// Its ordinal in the data set.
    pub ordinal: u64,
    /// The ordinal of its substitute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub substitute: Option<u64>,
}

impl BadSample {
    pub(crate) fn new(error: &Error, ordinal: u64, substitute: Option<u64>) -> BadSample {
        let place = error.place();
        let mut reason = error.text().to_string();
        let mut cause = std::error::Error::source(error);
        while let Some(next) = cause {
            reason = format!("{reason}: {next}");
            cause = next.source();
        }
        BadSample {
            path: place.path.clone(),
            byte: place.byte,
            key: place.key.clone(),
            reason,
            ordinal,
            substitute,
        }
    }
}

/// Serializes a path that may have other bytes than UTF-8.
fn as_text<S: Serializer>(path: &Option<PathBuf>, to: S) -> std::result::Result<S::Ok, S::Error> {
    path.as_deref().map(Path::to_string_lossy).serialize(to)
}

impl fmt::Display for BadSample {
    /// One line of JSON, with the fields that `problems.jsonl` has.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

/// The bad samples of a loader, and the most that it may have.
#[derive(Debug)]
pub(crate) struct BadList {
    budget: u64,
    found: Mutex<Vec<BadSample>>,
}

impl BadList {
    /// Writes the list to `path`, one JSON object a line. The file appears complete or not at all.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let text: String = self.all().iter().map(|bad| format!("{bad}\n")).collect();
        let written = OutputFile::new(path, LIST)
            .and_then(|file| file.write(text.as_bytes(), Durability::Synced));
        written.map_err(|error| {
            if is_refused(&error) {
                Error::usage(error.text()).with_path(path)
            } else {
                Error::from(error)
            }
        })
    }

    pub(crate) fn new(budget: u64) -> BadList {
        BadList { budget, found: Mutex::default() }
    }

    /// Adds a sample. The same sample counts once.
    ///
    /// # Errors
    /// [`ErrorKind::TooManyBad`]: the list is longer than the budget.
    pub(crate) fn add(&self, bad: BadSample) -> Result<()> {
        let mut found = self.found.lock().ignore_poison();
        if found.iter().any(|other| other.ordinal == bad.ordinal) {
            return Ok(());
        }
        found.push(bad);
        if found.len() as u64 <= self.budget {
            return Ok(());
        }
        let count = found.len();
        let last = &found[found.len() - 1];
        let text = format!(
            "{count} bad samples are more than the budget of {}; the last: {}. See bad_samples(), \
             leave them out with exclude, or raise bad_budget",
            self.budget, last.reason
        );
        let mut error = Error::new(ErrorKind::TooManyBad, text);
        if let Some(path) = &last.path {
            error = error.with_path(path);
        }
        if let Some(key) = &last.key {
            error = error.with_key(key);
        }
        Err(error)
    }

    /// The error of an epoch without a good sample.
    pub(crate) fn all_bad(&self) -> Error {
        let all = self.all();
        let first = all.first();
        let why = first.map_or("nothing is known of why", |bad| bad.reason.as_str());
        let text = format!(
            "every sample of the epoch was bad; the first: {why}. See bad_samples(): the columns may \
             not be what the data set holds, or the memory limit is too small for them"
        );
        let mut error = Error::new(ErrorKind::TooManyBad, text);
        if let Some(path) = first.and_then(|bad| bad.path.as_ref()) {
            error = error.with_path(path);
        }
        if let Some(key) = first.and_then(|bad| bad.key.as_ref()) {
            error = error.with_key(key);
        }
        error
    }

    /// All so far, sorted by ordinal, so that the list does not depend on threads.
    pub(crate) fn all(&self) -> Vec<BadSample> {
        let mut all = self.found.lock().ignore_poison().clone();
        all.sort_by_key(|bad| bad.ordinal);
        all
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    fn bad(ordinal: u64) -> BadSample {
        let error = Error::new(ErrorKind::Decode, "no JPEG").with_path("a.tar").with_key("k");
        BadSample::new(&error.with_byte(512), ordinal, None)
    }

    #[test]
    fn the_budget_is_what_may_be_bad() {
        let list = BadList::new(2);
        list.add(bad(7)).unwrap();
        list.add(bad(7)).unwrap();
        list.add(bad(3)).unwrap();
        let error = list.add(bad(5)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooManyBad);
        assert_eq!(list.all().iter().map(|b| b.ordinal).collect::<Vec<_>>(), [3, 5, 7]);
    }

    #[test]
    fn a_line_of_the_report_has_path_byte_key_and_reason() {
        let line = bad(7).to_string();
        let expected = r#"{"path":"a.tar","byte":512,"key":"k","reason":"no JPEG","ordinal":7}"#;
        assert_eq!(line, expected);
        let odd = BadSample { path: Some(OsStr::from_bytes(b"a\xff.tar").into()), ..bad(7) };
        assert_eq!(odd.to_string(), expected.replace("a.tar", "a\u{fffd}.tar"));
    }
}
