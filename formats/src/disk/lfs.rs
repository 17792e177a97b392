//! Git LFS pointers: small texts that Git has in place of files that were not fetched.

use std::path::Path;

use crate::disk::files;
use crate::errors::error::{Error, ErrorKind, Result};

/// What the text of a pointer begins with.
const BEGIN: &[u8] = b"version https://git-lfs.github.com/spec/";
/// A pointer has fewer bytes.
const LIMIT: u64 = 1024;

/// A pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pointer {
    /// Bytes of the file that it stands for.
    pub size: u64,
}

impl Pointer {
    /// Parses the text of a pointer; `None` for anything else.
    pub fn parse(text: &[u8]) -> Option<Pointer> {
        let lines = text.strip_prefix(BEGIN).filter(|_| (text.len() as u64) < LIMIT)?;
        let size = lines.split(|&b| b == b'\n').find_map(|line| line.strip_prefix(b"size "))?;
        Some(Pointer { size: std::str::from_utf8(size).ok()?.trim().parse().ok()? })
    }

    /// Reads the file at `path`, of `length` bytes; `None` if it is no pointer.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses to read.
    pub fn read(path: &Path, length: u64) -> Result<Option<Pointer>> {
        if length >= LIMIT {
            return Ok(None);
        }
        Ok(Pointer::parse(&files::read_whole(path, "read")?))
    }

    /// Returns the error for a pointer at `path`.
    pub fn error(path: &Path) -> Error {
        let text = "this is a Git LFS pointer, not the file: `git lfs pull` fetches it";
        Error::new(ErrorKind::WrongFormat, text).with_path(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_states_the_size_of_its_file() {
        let text = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
        assert_eq!(Pointer::parse(text.as_bytes()), Some(Pointer { size: 12345 }));
        assert_eq!(Pointer::parse(format!("{text}{}", "x".repeat(1024)).as_bytes()), None);
        for other in ["", "version 2\nsize 1\n", &text[..50], &text.replace("12345", "many")] {
            assert_eq!(Pointer::parse(other.as_bytes()), None, "{other}");
        }
    }
}
