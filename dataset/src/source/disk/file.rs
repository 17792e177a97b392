//! `FileSource`: a shard read with `pread` into the caller's buffer.
//!
//! Has no shared file position, so any number of threads may read concurrently. Caches nothing.

use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, fadvise};
use tarflume_formats::{files, is_resident};
use tarflume_types::{Error, ErrorKind, Result};

use crate::source::Source;
use crate::source::identity::{Identity, named_folder, refused};

/// An open file.
#[derive(Debug)]
pub(crate) struct FileSource {
    file: File,
    path: PathBuf,
    identity: Identity,
}

impl FileSource {
    /// Opens the file at `path`.
    ///
    /// # Errors
    /// Returns an error if the system refuses, or if `path` is a folder, a pipe or a device.
    pub(crate) fn open(path: &Path) -> Result<FileSource> {
        let (file, found) = files::open(path).map_err(|e| named_folder(e, path))?;
        let identity = Identity::from(&found);
        Ok(FileSource { file, path: path.to_path_buf(), identity })
    }

    /// The identity of the file.
    pub(crate) fn identity(&self) -> Identity {
        self.identity
    }

    /// The open file, its path and its identity.
    pub(crate) fn parts(self) -> (File, PathBuf, Identity) {
        (self.file, self.path, self.identity)
    }
}

impl Source for FileSource {
    fn len(&self) -> u64 {
        self.identity.length()
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<()> {
        files::read_exact_at(&self.file, into, at).map_err(|e| {
            if e.kind() != io::ErrorKind::UnexpectedEof {
                return refused(e, "read", &self.path).with_byte(at);
            }
            let end = at.saturating_add(into.len() as u64);
            past_the_end(&self.path, at, end, self.len())
        })
    }

    fn advise(&self, at: u64, length: u64) {
        will_need(&self.file, at, length);
    }

    fn check(&self) -> Result<()> {
        // The open file first: if a file was truncated and then replaced, the truncation is reported.
        self.identity.expect(&Identity::of(&self.file, &self.path)?, &self.path)?;
        self.identity.expect(&Identity::at(&self.path)?, &self.path)
    }
}

/// Maximum bytes of one advice. For one call, Linux reads at most the device's `read_ahead_kb` or its largest
/// request, whichever is larger, and silently drops the rest (`force_page_cache_ra` in mm/readahead.c). The default
/// is 128 KiB, on network file systems and FUSE, too.
const PIECE: u64 = 128 << 10;

/// Advises the system to load these bytes into the page cache, unless they are cached. Does not wait for them.
pub(crate) fn will_need(file: &File, at: u64, length: u64) {
    if is_resident(file, at, length) {
        return; // asking costs a quarter of the hints
    }
    for (at, length) in pieces(at, length) {
        let _ = fadvise(file, at, NonZeroU64::new(length), Advice::WillNeed); // a hint
    }
}

/// Splits the bytes `at..at + length` into pieces that end on multiples of [`PIECE`].
fn pieces(at: u64, length: u64) -> impl Iterator<Item = (u64, u64)> {
    let end = at.saturating_add(length);
    let after = move |at: u64| end.min((at / PIECE + 1).saturating_mul(PIECE));
    let starts = std::iter::successors(Some(at), move |&at| Some(after(at)));
    starts.take_while(move |&at| at < end).map(move |at| (at, after(at) - at))
}

/// The error for a read of bytes `at..end` from a source that was opened with `length` bytes.
pub(crate) fn past_the_end(path: &Path, at: u64, end: u64, length: u64) -> Error {
    let text = if end <= length {
        format!("the file was truncated while it was read: bytes {at}..{end} are incomplete")
    } else {
        format!("bytes {at}..{end} are beyond the end of the file, which has {length} bytes")
    };
    Error::new(ErrorKind::Truncated, text).with_path(path).with_byte(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_cover_the_range_in_pieces_that_the_kernel_reads_whole() {
        for (at, length) in
            [(0, 0), (5, 1), (0, PIECE), (1, PIECE), (777, 24 << 20), (PIECE - 1, 2)]
        {
            let mut next = at;
            for (piece, bytes) in pieces(at, length) {
                assert_eq!(piece, next, "no gap, no overlap");
                assert!((1..=PIECE).contains(&bytes), "{bytes} bytes in one call");
                next += bytes;
            }
            assert_eq!(next, at + length);
            let most = length.div_ceil(PIECE) + 1;
            assert!(pieces(at, length).count() as u64 <= most);
        }
        let last: Vec<_> = pieces(u64::MAX - 3, 100).collect();
        assert_eq!(last, [(u64::MAX - 3, 3)], "the end of all offsets");
    }
}
