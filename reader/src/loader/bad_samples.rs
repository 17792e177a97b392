//! `OnBad`: the policy for samples that can't be read or decoded; `BadList`: the list of them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::{Deserialize, Serialize, Serializer};
use tarflume_types::{Error, ErrorKind, Result};

use tarflume_formats::message;
use tarflume_formats::message::{Face, Message};
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

/// A bad sample, and why it is bad as data, which each face writes its own way.
#[derive(Debug)]
pub(crate) struct FoundBad {
    path: Option<PathBuf>,
    byte: Option<u64>,
    key: Option<String>,
    why: Message,
    ordinal: u64,
    substitute: Option<u64>,
}

impl FoundBad {
    pub(crate) fn new(error: &Error, ordinal: u64, substitute: Option<u64>) -> FoundBad {
        let place = error.place();
        let mut why = error.message().clone();
        let mut cause = std::error::Error::source(error);
        while let Some(next) = cause {
            why.push(format!(": {next}"));
            cause = next.source();
        }
        FoundBad {
            path: place.path.clone(),
            byte: place.byte,
            key: place.key.clone(),
            why,
            ordinal,
            substitute,
        }
    }

    /// Returns the sample with the reason in the words of a face.
    fn in_face(&self, face: Face) -> BadSample {
        BadSample {
            path: self.path.clone(),
            byte: self.byte,
            key: self.key.clone(),
            reason: self.why.in_face(face),
            ordinal: self.ordinal,
            substitute: self.substitute,
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
    found: Mutex<Vec<FoundBad>>,
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
    pub(crate) fn add(&self, bad: FoundBad) -> Result<()> {
        let mut found = self.found.lock().ignore_poison();
        if found.iter().any(|other| other.ordinal == bad.ordinal) {
            return Ok(());
        }
        found.push(bad);
        if found.len() as u64 <= self.budget {
            return Ok(());
        }
        let count = found.len();
        let last = &found[count - 1];
        let text = message!(
            "{count} bad samples are more than the budget of {}; the last: {why}. See bad_samples(), \
             leave them out with exclude, or raise bad_budget",
            self.budget;
            why = &last.why
        );
        Err(placed(Error::new(ErrorKind::TooManyBad, text), last))
    }

    /// The error of an epoch without a good sample.
    pub(crate) fn all_bad(&self) -> Error {
        let found = self.found.lock().ignore_poison();
        let first = found.iter().min_by_key(|bad| bad.ordinal);
        let nothing = Message::words("nothing is known of why");
        let text = message!(
            "every sample of the epoch was bad; the first: {why}. See bad_samples(): the columns may \
             not be what the data set holds, or the memory limit is too small for them";
            why = first.map_or(&nothing, |bad| &bad.why)
        );
        let error = Error::new(ErrorKind::TooManyBad, text);
        match first {
            Some(bad) => placed(error, bad),
            None => error,
        }
    }

    /// All so far, sorted by ordinal, so that the list does not depend on threads. Reasons have the words of the crates.
    pub(crate) fn all(&self) -> Vec<BadSample> {
        self.all_in(Face::Rust)
    }

    /// As [`BadList::all`], with reasons in the words of a face.
    pub(crate) fn all_in(&self, face: Face) -> Vec<BadSample> {
        let found = self.found.lock().ignore_poison();
        let mut all: Vec<BadSample> = found.iter().map(|bad| bad.in_face(face)).collect();
        all.sort_by_key(|bad| bad.ordinal);
        all
    }
}

/// Returns the error with the place of a sample.
fn placed(mut error: Error, at: &FoundBad) -> Error {
    if let Some(path) = &at.path {
        error = error.with_path(path);
    }
    if let Some(key) = &at.key {
        error = error.with_key(key);
    }
    error
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use tarflume_formats::message::{Call, Task};

    use super::*;

    fn bad(ordinal: u64) -> FoundBad {
        let error = Error::new(ErrorKind::Decode, "no JPEG").with_path("a.tar").with_key("k");
        FoundBad::new(&error.with_byte(512), ordinal, None)
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
    fn a_reason_is_in_the_words_of_its_reader() {
        let verify = Call::of(Task::Verify);
        let text = message!("it is damaged; `{verify}` tells where"; verify = verify);
        let list = BadList::new(0);
        let error = list.add(FoundBad::new(&Error::new(ErrorKind::Damaged, text), 1, None));
        let error = error.unwrap_err();
        for (face, words) in [
            (Face::Rust, "it is damaged; `pack verify` tells where"),
            (Face::Python, "it is damaged; `tarflume.pack.verify` tells where"),
        ] {
            assert_eq!(list.all_in(face)[0].reason, words);
            assert!(error.in_face(face).contains(words), "{error}");
            assert!(list.all_bad().in_face(face).contains(words));
        }
        assert_eq!(list.all(), list.all_in(Face::Rust));
    }

    #[test]
    fn a_line_of_the_report_has_path_byte_key_and_reason() {
        let line = bad(7).in_face(Face::Rust).to_string();
        let expected = r#"{"path":"a.tar","byte":512,"key":"k","reason":"no JPEG","ordinal":7}"#;
        assert_eq!(line, expected);
        let odd = BadSample {
            path: Some(OsStr::from_bytes(b"a\xff.tar").into()),
            ..bad(7).in_face(Face::Rust)
        };
        assert_eq!(odd.to_string(), expected.replace("a.tar", "a\u{fffd}.tar"));
    }
}
