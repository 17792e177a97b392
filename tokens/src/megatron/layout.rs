//! What both files of a data set have in common: their names, and the first bytes of the index.

use std::path::{Path, PathBuf};

/// The first bytes of an index.
pub const MAGIC: &[u8; 9] = b"MMIDIDX\0\0";

/// The paths of the two files of a data set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MegatronPaths {
    /// The path of the ids: `PREFIX.bin`.
    pub ids: PathBuf,
    /// The path of the index: `PREFIX.idx`.
    pub index: PathBuf,
}

impl MegatronPaths {
    /// Returns the paths of `prefix`, which may have the suffix of either file.
    pub fn of(prefix: &Path) -> MegatronPaths {
        let stem = match prefix.extension() {
            Some(ext) if ext == "bin" || ext == "idx" => prefix.with_extension(""),
            _ => prefix.to_path_buf(),
        };
        MegatronPaths { ids: with_suffix(&stem, ".bin"), index: with_suffix(&stem, ".idx") }
    }
}

fn with_suffix(stem: &Path, suffix: &str) -> PathBuf {
    let mut path = stem.as_os_str().to_owned();
    path.push(suffix);
    PathBuf::from(path)
}
