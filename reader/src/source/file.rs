//! `FileSource`: a shard read by `pread` into the caller's buffer.
//!
//! No position is shared, so any number of threads may read at once. Nothing is kept in memory.

use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, fadvise};
use tarflume_formats::files;
use tarflume_formats::resident::is_resident;

use crate::error::{Error, ErrorKind, Result};
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
    /// The operating system's refusal; a folder, a pipe, a device.
    pub(crate) fn open(path: &Path) -> Result<FileSource> {
        let (file, found) = files::open(path).map_err(|e| named_folder(e, path))?;
        let identity = Identity::from(&found);
        Ok(FileSource { file, path: path.to_path_buf(), identity })
    }

    /// Which file it is.
    pub(crate) fn identity(&self) -> Identity {
        self.identity
    }

    /// The file at `path`, which `file` was opened from.
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
        // The open file first: a file that was cut and then replaced was cut.
        self.identity.expect(&Identity::of(&self.file, &self.path)?, &self.path)?;
        self.identity.expect(&Identity::at(&self.path)?, &self.path)
    }
}

/// The most that is asked for in one call. Linux serves no more of a call than the device's
/// `read_ahead_kb` or its largest request, whichever is larger, and drops the rest in silence: 128 KiB by
/// default, on network file systems and FUSE too.
const PIECE: u64 = 128 << 10;

/// Asks the system to bring these bytes into its cache, unless they are there; returns before they are.
pub(crate) fn will_need(file: &File, at: u64, length: u64) {
    if is_resident(file, at, length) {
        return; // asking costs a quarter of the hints
    }
    for (at, length) in pieces(at, length) {
        let _ = fadvise(file, at, NonZeroU64::new(length), Advice::WillNeed); // a hint: nothing depends on it
    }
}

/// The bytes `at..at + length` in pieces that end on multiples of [`PIECE`].
fn pieces(at: u64, length: u64) -> impl Iterator<Item = (u64, u64)> {
    let end = at.saturating_add(length);
    let after = move |at: u64| end.min((at / PIECE + 1).saturating_mul(PIECE));
    let starts = std::iter::successors(Some(at), move |&at| Some(after(at)));
    starts.take_while(move |&at| at < end).map(move |at| (at, after(at) - at))
}

/// Bytes `at..end` were asked for; the source was opened with `length` bytes.
pub(crate) fn past_the_end(path: &Path, at: u64, end: u64, length: u64) -> Error {
    let text = if end <= length {
        format!("the file became shorter while it was read: bytes {at}..{end} are not all there")
    } else {
        format!("bytes {at}..{end} end behind the file's {length}")
    };
    Error::new(ErrorKind::Truncated, text).with_path(path).with_byte(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_tile_what_is_asked_for_in_pieces_that_the_kernel_serves_whole() {
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
