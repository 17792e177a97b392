//! A list of files, one on a line, or each ended by a zero byte: what `--files-from` reads.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::message::Name;

/// The most bytes of a list.
const MOST: u64 = 256 << 20;

/// Reads a list from `source`, which errors name `path`.
///
/// # Errors
/// Returns an error if it cannot be read, or is too long.
pub(crate) fn read(source: impl Read, path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut bytes = Vec::new();
    let read = source.take(MOST + 1).read_to_end(&mut bytes);
    read.map_err(|e| Failure::io(e, "read the list of files", path))?;
    if bytes.len() as u64 > MOST {
        let text = message!("{files}: the list has more than {} bytes; give a shorter one",
            tarflume_base::units::count(MOST); files = Name::FilesFrom.is(path));
        return Err(Failure::usage(text).with_file(path));
    }
    Ok(parsed(&bytes))
}

/// Returns the paths of a list. A list with a zero byte has one after each path.
pub(crate) fn parsed(bytes: &[u8]) -> Vec<PathBuf> {
    let end = if bytes.contains(&0) { 0 } else { b'\n' };
    let names = bytes.split(|&byte| byte == end);
    let names = names.map(|name| if end == 0 { name } else { name.trim_ascii() });
    names.filter(|name| !name.is_empty()).map(|name| OsStr::from_bytes(name).into()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_lines_or_zero_bytes() {
        fn paths(list: &[&str]) -> Vec<PathBuf> {
            list.iter().map(PathBuf::from).collect()
        }
        assert_eq!(parsed(b"a.tar\n\nb c.tar\r\n"), paths(&["a.tar", "b c.tar"]));
        assert_eq!(parsed(b"a.tar\0b\nc.tar\0"), paths(&["a.tar", "b\nc.tar"]));
        assert_eq!(parsed(b""), paths(&[]));
    }
}
