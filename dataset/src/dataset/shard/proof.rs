//! Compares parts of a tar with its sidecar, if the tar may have been changed after the sidecar was made.

use std::os::unix::fs::MetadataExt;

use tarflume_formats::index::{Part, SampleRow};
use tarflume_formats::name;
use tarflume_formats::tar::{BLOCK, Header};
use tarflume_types::{Error, ErrorKind, Result};

use super::Shard;
use super::trust::{Trust, stale};
use crate::dataset::sample::match_checksum;
use crate::source::Source;

impl Shard {
    /// True if the bytes of the tar come over a network.
    #[doc(hidden)]
    pub fn is_remote(&self) -> bool {
        match &self.facts.opener {
            Some(opener) => opener.is_remote(),
            None => self.facts.remote.is_some(),
        }
    }

    /// True if the tar may have been changed after its sidecar, which is open, was made.
    pub(crate) fn is_suspect(&self) -> bool {
        let suspect = self.facts.trust.get().is_some_and(Trust::is_suspect);
        suspect && !(self.is_remote() && self.is_known_to_be_older())
    }

    /// True if a store has stated that the tar was changed before its sidecar. Asks nothing: the first answer tells.
    fn is_known_to_be_older(&self) -> bool {
        let source = self.sources.get(self.number).ok();
        let tar = source.and_then(|source| source.modified());
        let sidecar = self.facts.index.get().and_then(|index| index.metadata());
        // Stores state whole seconds. A sidecar that an earlier version kept has the time of its download.
        let sidecar = sidecar.filter(|found| found.mtime_nsec() == 0);
        let sidecar = sidecar.and_then(|found| found.modified().ok());
        matches!((tar, sidecar), (Some(tar), Some(sidecar)) if tar < sidecar)
    }

    /// True if part number `part` must be compared with the sidecar before it, or a value of it in the sidecar, is used.
    #[doc(hidden)]
    pub fn must_compare(&self, part: u64) -> bool {
        let compared = self.facts.trust.get().is_some_and(|trust| trust.has_compared(part));
        !compared && self.is_suspect()
    }

    /// Notes that part number `part` is the one that the sidecar describes.
    #[doc(hidden)]
    pub fn set_compared(&self, part: u64) {
        if let (Some(trust), Some(index)) = (self.facts.trust.get(), self.facts.index.get()) {
            trust.set_compared(part, index.parts());
        }
    }

    /// Opens the sidecar of a tar in a store, and asks when the tar was changed, unless an answer has stated it.
    ///
    /// # Errors
    /// As [`Shard::index`] and [`Source::learn_modified`](crate::Source::learn_modified).
    pub(crate) fn learn_time(&self) -> Result<()> {
        self.index()?;
        if self.is_remote() && self.is_suspect() {
            self.sources.get(self.number)?.learn_modified()?;
        }
        Ok(())
    }

    /// Compares a part of a sample, whose bytes are `bytes` of `source`, with the sidecar, if that must be done.
    ///
    /// # Errors
    /// [`ErrorKind::Damaged`] or [`ErrorKind::Stale`] with byte and key: the sidecar does not describe the part. Returns
    /// an error if the tar cannot be read.
    pub(crate) fn compare(
        &self,
        source: &dyn Source,
        of: &SampleRow,
        part: &Part<'_>,
        bytes: &[u8],
    ) -> Result<()> {
        if !self.must_compare(part.number) {
            return Ok(());
        }
        if !self.is_remote() {
            self.compare_header(source, of, part)?; // of a store, one request more for each part
        }
        match_checksum(bytes, part.checksum, part.ext, || source.check())
            .map_err(|e| self.stale(e.with_byte(part.offset).with_key(of.shown_key())))?;
        self.set_compared(part.number);
        Ok(())
    }

    /// Compares the header of a part of a sample with the sidecar.
    ///
    /// # Errors
    /// As [`Shard::compare`].
    pub(crate) fn compare_header(
        &self,
        source: &dyn Source,
        of: &SampleRow,
        part: &Part<'_>,
    ) -> Result<()> {
        let mut header = [0; HEADER as usize];
        source.read_at(header_before(part.offset), &mut header)?;
        ExpectedHeader::of(part, of)
            .compare(&header, of.key(), part.ext)
            .map_err(|e| self.stale(e.with_byte(part.offset).with_key(of.shown_key())))
    }

    /// Adds to the error of a part that differs from the sidecar how the sidecar is made again.
    #[doc(hidden)]
    pub fn stale(&self, found: Error) -> Error {
        match self.facts.index.get() {
            Some(index) if !found.spares_samples() => stale(found, self.path(), index),
            _ => found,
        }
    }
}

/// Bytes of the header before a part.
pub const HEADER: u64 = BLOCK;

/// The first byte of the header of a part whose data begin at byte `at`.
pub fn header_before(at: u64) -> u64 {
    at.saturating_sub(HEADER)
}

/// What a header must state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpectedHeader {
    /// Length of the part.
    pub(crate) length: u64,
    /// True if no other header of the member comes before it, which may have the name and the length.
    pub(crate) is_alone: bool,
}

impl ExpectedHeader {
    /// The header before a part of a sample.
    pub fn of(part: &Part<'_>, sample: &SampleRow) -> ExpectedHeader {
        let at = header_before(part.offset);
        let is_alone = sample.first() == at || sample.parts().any(|other| other.end() == at);
        ExpectedHeader { length: part.length, is_alone }
    }

    /// Compares the header before a part of the sample `key` with what the sidecar states.
    ///
    /// # Errors
    /// [`ErrorKind::Stale`] if they differ, or these bytes are no header.
    pub fn compare(self, block: &[u8], key: &[u8], ext: &[u8]) -> Result<()> {
        let found = block.first_chunk().map(Header::parse);
        let what = match found {
            Some(Ok(header)) if !self.is_alone || self.is_of(&header, key, ext) => return Ok(()),
            Some(Ok(header)) => {
                format!("'{}' of {} bytes", name::shown(&header.name), header.size)
            }
            _ => "no member".into(),
        };
        let text = format!(
            "the sidecar lists part '{}' of {} bytes here, the tar has {what}",
            name::shown(ext),
            self.length
        );
        Err(Error::new(ErrorKind::Stale, text))
    }

    fn is_of(self, header: &Header, key: &[u8], ext: &[u8]) -> bool {
        let named = name::split(&header.name);
        header.size == self.length
            && named.is_some_and(|(k, e)| k == key && e.eq_ignore_ascii_case(ext))
    }
}
