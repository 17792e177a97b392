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
    /// SHA-256 of the file, if the pointer states it.
    pub sha256: Option<[u8; 32]>,
}

impl Pointer {
    /// Parses the text of a pointer; `None` for anything else.
    pub fn parse(text: &[u8]) -> Option<Pointer> {
        let lines = text.strip_prefix(BEGIN).filter(|_| (text.len() as u64) < LIMIT)?;
        let size = value(lines, "size ")?.parse().ok()?;
        let sha256 = value(lines, "oid sha256:").and_then(from_hex);
        Some(Pointer { size, sha256 })
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

/// Returns the text of the first line with this key, without the key.
fn value<'t>(lines: &'t [u8], key: &str) -> Option<&'t str> {
    let mut lines = lines.split(|&byte| byte == b'\n');
    let found = lines.find_map(|line| line.strip_prefix(key.as_bytes()))?;
    std::str::from_utf8(found).ok().map(str::trim)
}

/// Returns the bytes of 64 hexadecimal digits.
fn from_hex(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    if digits.len() != 64 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        let pair = std::str::from_utf8(pair).ok()?;
        *byte = u8::from_str_radix(pair, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_states_the_size_of_its_file() {
        let text = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
        let parsed = Pointer::parse(text.as_bytes());
        assert_eq!(parsed, Some(Pointer { size: 12345, sha256: None }), "no whole digest");
        let whole = text.replace("4d7a", &"4d7A".repeat(16));
        let mut sha256 = [0x4d; 32];
        sha256.iter_mut().skip(1).step_by(2).for_each(|byte| *byte = 0x7a);
        let parsed = Pointer::parse(whole.as_bytes());
        assert_eq!(parsed, Some(Pointer { size: 12345, sha256: Some(sha256) }));
        assert_eq!(Pointer::parse(format!("{text}{}", "x".repeat(1024)).as_bytes()), None);
        for other in ["", "version 2\nsize 1\n", &text[..50], &text.replace("12345", "many")] {
            assert_eq!(Pointer::parse(other.as_bytes()), None, "{other}");
        }
    }
}
