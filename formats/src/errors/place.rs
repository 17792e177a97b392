//! The place of an error: path, byte and key, in one type for readers, writers and errors.
//!
//! A [`Place`] only locates; it does not judge.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::message::Message;
use crate::text::shown::{self, ShowPath};

/// A point in a file or a data set. Unknown fields stay empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub path: Option<PathBuf>,
    /// Bytes from the start of that file.
    pub byte: Option<u64>,
    /// The sample's key, or the whole member name if it has no key.
    pub key: Option<String>,
}

impl Place {
    /// Creates a place that names only a file.
    pub fn file(path: impl AsRef<Path>) -> Self {
        Place { path: Some(path.as_ref().to_path_buf()), ..Place::default() }
    }

    /// Returns true if no field is known.
    pub fn is_empty(&self) -> bool {
        self.path.is_none() && self.byte.is_none() && self.key.is_none()
    }
}

/// The path as data, and the rest as words.
impl From<&Place> for Message {
    fn from(place: &Place) -> Message {
        let Place { path, byte, key } = place;
        let within = Place { path: None, byte: *byte, key: key.clone() };
        let Some(path) = path else { return Message::words(within.to_string()) };
        let mut message = Message::from(path);
        if !within.is_empty() {
            message.push(format!(": {within}"));
        }
        message
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
