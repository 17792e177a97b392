//! Where something went wrong: path, byte and key, in one type that readers, writers and errors share.
//!
//! Nothing here decides what is wrong; a [`Place`] only points.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::shown::{self, ShowPath};

/// A point in a file or a data set. Every field that is not known stays empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub path: Option<PathBuf>,
    /// Bytes from the start of that file.
    pub byte: Option<u64>,
    /// The sample's key, or the whole member name where no key could be made of it.
    pub key: Option<String>,
}

impl Place {
    /// A place that names a file and nothing more.
    pub fn file(path: impl AsRef<Path>) -> Self {
        Place { path: Some(path.as_ref().to_path_buf()), ..Place::default() }
    }

    /// True when nothing is known.
    pub fn is_empty(&self) -> bool {
        self.path.is_none() && self.byte.is_none() && self.key.is_none()
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sep = "";
        if let Some(path) = &self.path {
            write!(f, "{}", path.shown())?;
            sep = ": ";
        }
        if let Some(byte) = self.byte {
            write!(f, "{sep}byte {byte}")?;
            sep = ": ";
        }
        if let Some(key) = &self.key {
            write!(f, "{sep}key {}", shown::text(key))?;
        }
        Ok(())
    }
}
