//! Files for targets whose code takes a path.

use std::io::Write;

use tempfile::NamedTempFile;

/// Returns a temporary file with these bytes, whose name ends with `end`.
pub(crate) fn file_of(bytes: &[u8], end: &str) -> NamedTempFile {
    let mut file = tempfile::Builder::new().suffix(end).tempfile().expect("a temporary file");
    file.write_all(bytes).expect("a temporary file takes the input");
    file
}
