//! `Error`: what keeps a cache from being used.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The result of an operation on a cache.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a cache cannot be used. The text says what to do.
#[derive(Debug)]
pub struct Error {
    path: PathBuf,
    text: String,
    cause: Option<io::Error>,
}

impl Error {
    /// An error of what the user asked for.
    pub(crate) fn refused(path: &Path, text: impl Into<String>) -> Error {
        Error { path: path.into(), text: text.into(), cause: None }
    }

    /// An error of the machine.
    pub(crate) fn machine(
        path: &Path,
        text: impl Into<String>,
        cause: impl Into<io::Error>,
    ) -> Error {
        Error { path: path.into(), text: text.into(), cause: Some(cause.into()) }
    }

    /// The file or folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The text without the path.
    pub fn text(&self) -> String {
        match &self.cause {
            Some(cause) => format!("{}: {cause}", self.text),
            None => self.text.clone(),
        }
    }

    /// True for an error of the machine; false if other settings are needed.
    pub fn is_machine(&self) -> bool {
        self.cause.is_some()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.text())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_ref().map(|cause| cause as &(dyn std::error::Error + 'static))
    }
}
