//! The files and variables of a machine, below a root, so that tests can simulate one.
//!
//! Reads only; an unreadable file counts as missing.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use tarflume_formats::files;

/// The files below a root, and the environment.
#[derive(Debug, Clone)]
pub(crate) struct Surroundings {
    root: PathBuf,
    variables: BTreeMap<OsString, OsString>,
}

impl Surroundings {
    /// Returns those of this machine.
    pub(crate) fn of_process() -> Surroundings {
        Surroundings::below("/", std::env::vars_os())
    }

    /// Returns those of a machine whose files are below `root`.
    pub(crate) fn below(
        root: impl Into<PathBuf>,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Surroundings {
        Surroundings { root: root.into(), variables: variables.into_iter().collect() }
    }

    /// Returns the real path of `/path`.
    pub(super) fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Returns the text of a file, trimmed; `None` if it does not exist.
    pub(super) fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        let bytes = fs::read(self.at(path)).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim().to_string())
    }

    /// Returns true if a file or folder exists.
    pub(super) fn has(&self, path: impl AsRef<Path>) -> bool {
        files::exists(&self.at(path)).is_ok_and(|exists| exists)
    }

    /// Reads a file that holds one number.
    pub(super) fn number(&self, path: impl AsRef<Path>) -> Option<u64> {
        self.text(path)?.parse().ok()
    }

    /// Returns the names in a folder, sorted; none if it cannot be read.
    pub(super) fn names(&self, folder: impl AsRef<Path>) -> Vec<String> {
        let entries = fs::read_dir(self.at(folder)).into_iter().flatten().flatten();
        let mut names: Vec<_> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// Returns a variable of the environment, if it is set.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(std::ffi::OsStr::new(name)).map(|v| v.to_string_lossy().into_owned())
    }
}
