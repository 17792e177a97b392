//! `Objects`: what a build needs of an object store. A trait; implementations map their errors.

#[cfg(test)]
pub(crate) mod memory;

use std::fmt;
use std::path::Path;

use tarflume_base::Failure;

/// What is known of an object without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectState {
    /// Length in bytes.
    pub length: u64,
    /// What the store calls this state of the object: its ETag, or the time of its last change in milliseconds. Empty if it has none.
    pub tag: String,
}

impl ObjectState {
    /// True if these may be facts of the same state of an object. Some gateways tell an ETag when an object is written and
    /// only the time when it is asked for: then the length decides.
    pub(super) fn may_be(&self, other: &ObjectState) -> bool {
        let same_kind = self.has_time() == other.has_time();
        self.length == other.length && (!same_kind || self.tag == other.tag)
    }

    /// Returns true if the tag is a time, or empty.
    fn has_time(&self) -> bool {
        self.tag.bytes().all(|byte| byte.is_ascii_digit())
    }
}

/// An object that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Its tag; see [`ObjectState::tag`].
    pub tag: String,
}

/// Result of writing an object that must not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// It was written.
    Written,
    /// An object of this name exists and was not changed.
    Exists,
}

/// Called during an upload.
pub struct UploadHooks<'a> {
    /// Called with the id of an upload in parts before the first part is sent.
    pub began: &'a mut dyn FnMut(&str) -> Result<(), Failure>,
    /// Asked between parts; true ends the upload with [`Failure::interrupted`].
    pub stopped: &'a (dyn Fn() -> bool + Sync),
}

impl fmt::Debug for UploadHooks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UploadHooks")
    }
}

/// The objects below one prefix of a store. Names are relative to the prefix and use `/`.
///
/// All methods wait for the answer. A store that does not answer is an error, never an absence.
pub trait Objects: fmt::Debug + Send + Sync {
    /// The URL of the prefix, without secrets, for messages.
    fn url(&self) -> &str;

    /// Reads a whole object; `None` if it does not exist.
    ///
    /// # Errors
    /// Returns an error if the store refuses or does not answer.
    fn get(&self, name: &str) -> Result<Option<Stored>, Failure>;

    /// Asks for length and tag of an object; `None` if it does not exist.
    ///
    /// # Errors
    /// As [`Objects::get`].
    fn facts(&self, name: &str) -> Result<Option<ObjectState>, Failure>;

    /// Writes an object if none of this name exists. If an earlier try of the same call may have
    /// written it, an existing object with the same bytes counts as written.
    ///
    /// # Errors
    /// As [`Objects::get`].
    fn create(&self, name: &str, bytes: &[u8]) -> Result<Put, Failure>;

    /// Writes an object, over an existing one if there is one. Returns its facts.
    ///
    /// # Errors
    /// As [`Objects::get`].
    fn replace(&self, name: &str, bytes: &[u8]) -> Result<ObjectState, Failure>;

    /// Uploads a file, in parts if it is large, over an existing object if there is one. Returns
    /// the facts of the object. Aborts the upload if it fails.
    ///
    /// # Errors
    /// As [`Objects::get`]. Returns the errors of the file and of the hooks.
    fn upload(
        &self,
        name: &str,
        file: &Path,
        hooks: UploadHooks<'_>,
    ) -> Result<ObjectState, Failure>;

    /// Aborts the upload `id` of an object. One that has ended is no error.
    ///
    /// # Errors
    /// As [`Objects::get`].
    fn abort(&self, name: &str, id: &str) -> Result<(), Failure>;

    /// Lists the names that start with `prefix`, sorted.
    ///
    /// # Errors
    /// As [`Objects::get`].
    fn list(&self, prefix: &str) -> Result<Vec<String>, Failure>;

    /// Deletes an object. One that does not exist is no error.
    ///
    /// # Errors
    /// As [`Objects::get`].
    fn delete(&self, name: &str) -> Result<(), Failure>;
}
