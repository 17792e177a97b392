//! `PlannedFiles`: lengths and times of an array's files when it was planned, and the comparison with them.
//!
//! A word of 16 hex digits for each file, in the order of the grid: an array of a million chunks takes 16 MB of the plan.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use serde::{Deserialize, Serialize};
use tarflume_base::{Failure, Stop};
use tarflume_formats::files;
use tarflume_scan::source::stamp;

use super::folder::FoundFolder;
use crate::rows::columns::pictures::RowPicture;

/// Files of an array at most.
const FILES_MAX: u64 = 4 << 20;
/// Files between two looks at a request to stop.
const STEP: usize = 1024;
/// Hex digits of a file.
const DIGITS: usize = 16;

/// An array in the options of a plan.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PlannedArray {
    /// Its path under the folder of the source.
    pub(super) name: String,
    /// Its files; see [`PlannedFiles`].
    pub(super) files: String,
    /// The picture that its rows become.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) picture: Option<RowPicture>,
}

/// Length and time of a file, as few bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark {
    length: u32,
    stamp: u32,
}

/// A chunk without a file.
const NONE: Mark = Mark { length: u32::MAX, stamp: u32::MAX };

impl Mark {
    fn of(found: &Metadata) -> Mark {
        let length = found.len();
        let length = (length ^ length >> 32) as u32;
        Mark { length, stamp: stamp(found.mtime(), found.mtime_nsec()) }
    }
}

/// The files of an array: its metadata, then its chunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlannedFiles {
    marks: Vec<Mark>,
}

/// The files, and the bytes of all of them.
pub(super) struct Examined {
    pub(super) files: PlannedFiles,
    pub(super) bytes: u64,
}

impl PlannedFiles {
    /// Examines the files of an array.
    ///
    /// # Errors
    /// Returns an error for an array of more files than a plan holds, and if the operating system refuses.
    pub(super) fn examine(found: &FoundFolder, stop: &Stop) -> Result<Examined, Failure> {
        let count = found.array.files().filter(|&files| files <= FILES_MAX);
        let Some(count) = count else {
            let text = format!(
                "its grid has more than {FILES_MAX} chunks, each in a file; write it with larger chunks, or with shards \
                 (in zarr-python: shards=(1024, ...))"
            );
            return Err(Failure::usage(text).in_file(found.place.path("")));
        };
        let mut marks = Vec::with_capacity(count as usize + 1);
        let mut bytes = 0;
        let names = [found.file.to_string()].into_iter().chain(found.array.keys());
        for (number, name) in names.enumerate() {
            if number % STEP == 0 && stop.requested() {
                return Err(Failure::interrupted());
            }
            match files::metadata(&found.place.path(&name), "examine") {
                Ok(file) => {
                    bytes += file.len();
                    marks.push(Mark::of(&file));
                }
                Err(error) if error.is_missing() => marks.push(NONE),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Examined { files: PlannedFiles { marks }, bytes })
    }

    /// Returns the files as text.
    pub(super) fn to_hex(&self) -> String {
        let words = self.marks.iter().map(|mark| format!("{:08x}{:08x}", mark.length, mark.stamp));
        words.collect()
    }

    /// Reads the text of [`PlannedFiles::to_hex`]; `None` if it is none of them.
    pub(super) fn of_hex(text: &str) -> Option<PlannedFiles> {
        let (words, []) = text.as_bytes().as_chunks::<DIGITS>() else { return None };
        let marks = words.iter().map(|word| {
            let word = u64::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok()?;
            Some(Mark { length: (word >> 32) as u32, stamp: word as u32 })
        });
        Some(PlannedFiles { marks: marks.collect::<Option<Vec<Mark>>>()? })
    }

    /// Returns how a file differs from the plan; `None` for a planned one. `file` is 0 for the metadata and 1 for the first
    /// chunk, and `found` is `None` for a chunk without a file.
    pub(super) fn difference(
        &self,
        file: u64,
        found: Option<&Metadata>,
        times: bool,
    ) -> Option<&'static str> {
        let Some(&planned) = self.marks.get(file as usize) else {
            return Some("it is not in the plan");
        };
        match (planned, found.map(Mark::of)) {
            (NONE, None) => None,
            (NONE, Some(_)) => Some("it was written since"),
            (_, None) => Some("it is gone"),
            (planned, Some(now)) if planned.length != now.length => Some("it has another length"),
            (planned, Some(now)) if times && planned.stamp != now.stamp => {
                Some("its modification time differs")
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_the_same_after_the_plan() {
        let marks =
            vec![Mark { length: 7, stamp: 0xdead_beef }, NONE, Mark { length: 0, stamp: 1 }];
        let files = PlannedFiles { marks };
        let text = files.to_hex();
        assert_eq!(text, "00000007deadbeefffffffffffffffff0000000000000001");
        assert_eq!(PlannedFiles::of_hex(&text), Some(files.clone()));
        assert_eq!(PlannedFiles::of_hex(&text[1..]), None);
        assert_eq!(PlannedFiles::of_hex("zzzzzzzzzzzzzzzz"), None);
        let empty = tempfile::NamedTempFile::new().unwrap();
        let empty = empty.as_file().metadata().unwrap();
        assert_eq!(files.difference(1, None, true), None);
        assert_eq!(files.difference(2, Some(&empty), false), None);
        assert_eq!(files.difference(2, Some(&empty), true), Some("its modification time differs"));
        assert_eq!(files.difference(0, Some(&empty), false), Some("it has another length"));
        assert_eq!(files.difference(1, Some(&empty), false), Some("it was written since"));
        assert_eq!(files.difference(2, None, false), Some("it is gone"));
        assert_eq!(files.difference(3, None, false), Some("it is not in the plan"));
    }
}
