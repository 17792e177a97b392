//! What both files of a data set have in common: their names, and the first bytes of the index.

use std::path::{Path, PathBuf};

/// The first bytes of an index.
pub const MAGIC: &[u8; 9] = b"MMIDIDX\0\0";

/// Returns the paths of the two files of `prefix`; the prefix may have the suffix of either.
pub fn paths(prefix: &Path) -> (PathBuf, PathBuf) {
    let stem = match prefix.extension() {
        Some(ext) if ext == "bin" || ext == "idx" => prefix.with_extension(""),
        _ => prefix.to_path_buf(),
    };
    let with = |suffix: &str| {
        let mut path = stem.as_os_str().to_owned();
        path.push(suffix);
        PathBuf::from(path)
    };
    (with(".bin"), with(".idx"))
}
