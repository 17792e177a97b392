//! What a process sees of its machine as files and variables: below a root, so that tests can make one up.
//!
//! Reads only; what can't be read is as if it were not there.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// The files below a root, and the environment.
#[derive(Debug, Clone)]
pub(crate) struct Surroundings {
    root: PathBuf,
    variables: BTreeMap<OsString, OsString>,
}

impl Surroundings {
    /// This machine's.
    pub(crate) fn of_process() -> Surroundings {
        Surroundings::below("/", std::env::vars_os())
    }

    /// Those of a machine whose files stand below `root`.
    pub(crate) fn below(
        root: impl Into<PathBuf>,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Surroundings {
        Surroundings { root: root.into(), variables: variables.into_iter().collect() }
    }

    /// Where `/path` really is.
    pub(super) fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// The text of a file, trimmed; none if there is none.
    pub(super) fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        let bytes = fs::read(self.at(path)).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim().to_string())
    }

    /// A file that holds one number.
    pub(super) fn number(&self, path: impl AsRef<Path>) -> Option<u64> {
        self.text(path)?.parse().ok()
    }

    /// Names in a folder, sorted; none of them if it can't be read.
    pub(super) fn names(&self, folder: impl AsRef<Path>) -> Vec<String> {
        let entries = fs::read_dir(self.at(folder)).into_iter().flatten().flatten();
        let mut names: Vec<_> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// A variable of the environment, if it is set.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(std::ffi::OsStr::new(name)).map(|v| v.to_string_lossy().into_owned())
    }
}
