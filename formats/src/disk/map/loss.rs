//! Determines why a page of a mapped file was lost: the file was truncated, or its storage failed.
//!
//! Both raise SIGBUS. A truncated file is shorter or has a new write time. A file that has not
//! changed since it was mapped could not be read: that is an error of the machine.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::disk::files::{FileState, patiently};
use crate::errors::blame::Blame;
use crate::errors::error::{Error, ErrorKind, Result};

/// The state of a file when it was mapped.
#[derive(Debug)]
pub(super) struct Origin {
    path: PathBuf,
    state: FileState,
}

impl Origin {
    /// Records the state of the open file `file` at `path`.
    ///
    /// # Errors
    /// Returns an error if the operating system does not return the file's metadata.
    pub(super) fn of(file: &File, path: &Path) -> Result<Origin> {
        let found = patiently(|| file.metadata()).map_err(|e| Error::io(e, "examine", path))?;
        Ok(Origin { path: path.to_path_buf(), state: FileState::of(&found) })
    }

    /// Returns the error for a map of this file that has lost a page.
    #[cold]
    pub(super) fn loss(&self) -> Error {
        let found = patiently(|| fs::metadata(&self.path)).map(|found| FileState::of(&found));
        match failed(self.state, found) {
            Some(error) => Error::io(error, "read", &self.path),
            None => cut(),
        }
    }
}

/// Returns the machine's error if the file is unchanged or cannot be examined.
fn failed(mapped: FileState, found: io::Result<FileState>) -> Option<io::Error> {
    match found {
        Ok(found) if found == mapped => Some(io::Error::from_raw_os_error(libc::EIO)),
        Ok(_) => None,
        Err(error) => Blame::of(&error).is_machine().then_some(error),
    }
}

fn cut() -> Error {
    let text = "the file was cut while it was in use; open it again when it is whole, and replace files by \
                rename instead of writing over them";
    Error::new(ErrorKind::Truncated, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPPED: FileState = FileState { file: (1, 2), length: 8192, modified: (1000, 5) };

    #[test]
    fn a_file_that_did_not_change_could_not_be_read() {
        let error = failed(MAPPED, Ok(MAPPED)).unwrap();
        assert_eq!(Blame::of(&error), Blame::Passing);
    }

    #[test]
    fn a_file_that_was_cut_written_to_or_replaced_is_at_fault() {
        for found in [
            FileState { length: 8191, ..MAPPED },
            FileState { length: 0, modified: (1000, 6), ..MAPPED },
            FileState { modified: (1000, 6), ..MAPPED },
            FileState { file: (1, 3), ..MAPPED },
        ] {
            assert!(failed(MAPPED, Ok(found)).is_none(), "{found:?}");
        }
        assert!(failed(MAPPED, Err(io::Error::from_raw_os_error(libc::ENOENT))).is_none());
    }

    #[test]
    fn a_machine_that_does_not_answer_has_failed() {
        for code in [libc::EIO, libc::ESTALE, libc::ETIMEDOUT, libc::ENOMEM] {
            let error = failed(MAPPED, Err(io::Error::from_raw_os_error(code))).unwrap();
            assert_eq!(error.raw_os_error(), Some(code));
        }
    }
}
