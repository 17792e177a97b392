//! `MappedSource`: a memory-mapped shard, whose pages all threads and processes share.
//!
//! Bytes that a file loses while it is mapped read as zeros; [`Source::check`] reports that from then on.

use std::fs::File;
use std::path::{Path, PathBuf};

use tarflume_formats::Mapped;
use tarflume_types::{Error, Result};

use crate::source::Source;
use crate::source::disk::file::{FileSource, past_the_end, will_need};
use crate::source::identity::Identity;

/// A mapped file. The file stays open beside its mapping, for advice and checks.
#[derive(Debug)]
pub(crate) struct MappedSource {
    map: Mapped,
    file: File,
    path: PathBuf,
    identity: Identity,
}

impl MappedSource {
    /// Maps the file at `path`. Touches none of its pages.
    ///
    /// # Errors
    /// Returns an error if the system refuses or `path` is a folder.
    pub(crate) fn open(path: &Path) -> Result<MappedSource> {
        let (file, path, identity) = FileSource::open(path)?.parts();
        let map = Mapped::of(&file, identity.length(), &path)?;
        Ok(MappedSource { map, file, path, identity })
    }

    /// The identity of the file.
    pub(crate) fn identity(&self) -> Identity {
        self.identity
    }

    fn slice(&self, at: u64, length: usize) -> Option<&[u8]> {
        let at = usize::try_from(at).ok()?;
        self.map.get(at..at.checked_add(length)?)
    }

    fn intact(&self, at: u64) -> Result<()> {
        self.map.intact().map_err(|e| Error::from(e).with_path(&self.path).with_byte(at))
    }
}

impl Source for MappedSource {
    fn len(&self) -> u64 {
        self.identity.length()
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<()> {
        let Some(bytes) = self.slice(at, into.len()) else {
            let end = at.saturating_add(into.len() as u64);
            return Err(past_the_end(&self.path, at, end, self.len()));
        };
        into.copy_from_slice(bytes);
        self.intact(at)
    }

    fn view(&self, at: u64, length: usize) -> Option<&[u8]> {
        self.slice(at, length)
    }

    fn advise(&self, at: u64, length: u64) {
        will_need(&self.file, at, length);
    }

    fn check(&self) -> Result<()> {
        // The open file first: if a file was truncated and then replaced, the truncation is reported.
        self.identity.expect(&Identity::of(&self.file, &self.path)?, &self.path)?;
        self.intact(0)?;
        self.identity.expect(&Identity::at(&self.path)?, &self.path)
    }
}
