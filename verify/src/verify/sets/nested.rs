//! The folders of shards below a folder that has none: `train/` and `val/`, the folders of a copy from a hub.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_formats::files;
use tarflume_formats::manifest::FILE_NAME;
use tarflume_formats::message;

/// Levels of folders below the given one.
const DEPTH: usize = 6;
/// The most folders that are looked into.
const MOST: usize = 100_000;

/// Returns the folders below `root` that have shards or a manifest, in the order of their names. What is below such a
/// folder belongs to it. Hidden folders are passed over, among them those of Git, caches and work.
///
/// # Errors
/// Returns an error if a folder cannot be read, or there are too many.
pub(super) fn folders(root: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut open: Vec<(PathBuf, usize)> = vec![(root.to_path_buf(), 0)];
    while let Some((folder, depth)) = open.pop() {
        // Links may name a folder again.
        let place = files::patiently(|| fs::canonicalize(&folder));
        if !seen.insert(place.map_err(|e| Failure::io(e, "find the folder", &folder))?) {
            continue;
        }
        if seen.len() > MOST {
            let text = message!(
                "there are more than {MOST} folders below this one; name the folders of the data sets"
            );
            return Err(Failure::usage(text).in_file(root));
        }
        let entries = Entries::of(&folder)?;
        if depth > 0 && entries.has_shards {
            found.push(folder);
        } else if depth < DEPTH {
            // The last one is taken first.
            open.extend(entries.folders.into_iter().rev().map(|folder| (folder, depth + 1)));
        }
    }
    Ok(found)
}

/// What a folder has.
#[derive(Debug, Default)]
struct Entries {
    has_shards: bool,
    /// Its folders that are not hidden, in the order of their names.
    folders: Vec<PathBuf>,
}

impl Entries {
    fn of(folder: &Path) -> Result<Entries, Failure> {
        let mut entries = Entries::default();
        let list = fs::read_dir(folder).map_err(|e| Failure::io(e, "read the folder", folder))?;
        for entry in list {
            let name = entry.map_err(|e| Failure::io(e, "read the folder", folder))?.file_name();
            let bytes = name.as_encoded_bytes();
            if bytes.starts_with(b".") {
                continue;
            }
            let path = folder.join(&name);
            if name == FILE_NAME || bytes.ends_with(b".tar") || bytes.ends_with(b".tar.zst") {
                entries.has_shards = true;
            } else if files::is_folder(&path)? {
                entries.folders.push(path);
            }
        }
        entries.folders.sort_unstable();
        Ok(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_shards_are_found_at_any_depth_once_and_hidden_ones_are_not() {
        let root = tempfile::tempdir().unwrap();
        for file in [
            "b/train/x-000.tar",
            "b/train/below/y.tar",
            "b/val/dataset.json",
            "a/x.tar.zst",
            ".git/z.tar",
            "c/.cache/z.tar",
            "c/notes.txt",
        ] {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, b"").unwrap();
        }
        std::os::unix::fs::symlink(root.path().join("a"), root.path().join("d")).unwrap();
        std::os::unix::fs::symlink(root.path(), root.path().join("c/up")).unwrap();
        let found = folders(root.path()).unwrap();
        let below: Vec<_> =
            found.iter().map(|path| path.strip_prefix(root.path()).unwrap()).collect();
        assert_eq!(below, ["a", "b/train", "b/val"].map(Path::new));
        assert!(folders(&root.path().join("c/notes.txt")).is_err());
    }
}
