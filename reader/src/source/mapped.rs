//! `MappedSource`: a shard in a memory map, which all threads and processes share with the page cache.
//!
//! What a file loses while it is mapped reads as zeros; [`Source::check`] says so from then on.

use std::fs::File;
use std::path::{Path, PathBuf};

use tarflume_formats::map::Mapped;

use crate::error::{Error, Result};
use crate::source::Source;
use crate::source::file::{FileSource, past_the_end, will_need};
use crate::source::identity::Identity;

/// A mapped file. It stands open beside its map: hints and checks go to the file.
#[derive(Debug)]
pub(crate) struct MappedSource {
    map: Mapped,
    file: File,
    path: PathBuf,
    identity: Identity,
}

impl MappedSource {
    /// Maps the file at `path`; touches no page of it.
    ///
    /// # Errors
    /// The operating system's refusal; a folder.
    pub(crate) fn open(path: &Path) -> Result<MappedSource> {
        let (file, path, identity) = FileSource::open(path)?.parts();
        let map = Mapped::of(&file, identity.length(), &path)?;
        Ok(MappedSource { map, file, path, identity })
    }

    /// Which file it is.
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
        // The open file first: a file that was cut and then replaced was cut.
        self.identity.expect(&Identity::of(&self.file, &self.path)?, &self.path)?;
        self.intact(0)?;
        self.identity.expect(&Identity::at(&self.path)?, &self.path)
    }
}
