//! Finds the source folder of a listed path. Asks the file system nothing.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_formats::name;

/// The source folders, for the paths of one list.
pub(super) struct Places {
    /// With a slash at the end.
    roots: Vec<Vec<u8>>,
    /// The current folder, with a slash at the end.
    here: Vec<u8>,
    /// Whether relative paths are below the current folder, as `find` prints them; decided by the first one.
    from_here: Option<bool>,
    joined: Vec<u8>,
}

/// Returns the bytes of a path with one slash at the end.
fn with_slash(path: &Path) -> Vec<u8> {
    let mut bytes = path.as_os_str().as_bytes().to_vec();
    while bytes.last() == Some(&b'/') {
        bytes.pop();
    }
    bytes.push(b'/');
    bytes
}

impl Places {
    pub(super) fn new(roots: &[PathBuf]) -> Result<Places, Failure> {
        let here = std::path::absolute(".").map_err(|e| Failure::io(e, "find the folder", "."))?;
        let roots = roots.iter().map(|root| with_slash(root)).collect();
        Ok(Places { roots, here: with_slash(&here), from_here: None, joined: Vec::new() })
    }

    /// Returns the number of the root and the path below it; `None` if the path is elsewhere.
    ///
    /// # Errors
    /// Returns an error for a path with a component such as `..`, and for a relative one that may be below several
    /// roots.
    pub(super) fn of<'a>(
        &'a mut self,
        path: &'a [u8],
        under_root: bool,
    ) -> Result<Option<(u32, &'a [u8])>, Failure> {
        let mut path = path;
        while let Some(rest) = path.strip_prefix(b"./") {
            path = rest;
        }
        let found = if path.starts_with(b"/") && !under_root {
            below(&self.roots, path)
        } else {
            self.relative(path, under_root)?
        };
        let Some((_, below)) = found else { return Ok(None) };
        match name::unsafe_as_path(below) {
            Some(why) => Err(Failure::usage(why.to_string()).in_file(OsStr::from_bytes(path))),
            None => Ok(found),
        }
    }

    fn relative<'a>(
        &'a mut self,
        path: &'a [u8],
        under_root: bool,
    ) -> Result<Option<(u32, &'a [u8])>, Failure> {
        self.joined.clear();
        self.joined.extend_from_slice(&self.here);
        self.joined.extend_from_slice(path);
        let from_here = match self.from_here {
            _ if under_root => false,
            Some(decided) => decided,
            None => below(&self.roots, &self.joined).is_some(),
        };
        self.from_here = Some(from_here);
        if from_here {
            return Ok(below(&self.roots, &self.joined));
        }
        match self.roots.len() {
            1 => Ok(Some((0, path))),
            _ => Err(Failure::usage(
                "a relative path may be below any SRC; give one SRC, or a list of absolute paths",
            )
            .in_file(OsStr::from_bytes(path))),
        }
    }
}

/// Returns the longest root that the path is below.
fn below<'a>(roots: &[Vec<u8>], path: &'a [u8]) -> Option<(u32, &'a [u8])> {
    let found = roots.iter().enumerate().filter_map(|(number, root)| {
        path.strip_prefix(root.as_slice()).map(|below| (number as u32, below))
    });
    found.min_by_key(|(_, below)| below.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(roots: &[&str], path: &str) -> Option<(u32, String)> {
        let roots: Vec<PathBuf> =
            roots.iter().map(|root| std::path::absolute(root).unwrap()).collect();
        let mut places = Places::new(&roots).unwrap();
        let found = places.of(path.as_bytes(), false).unwrap();
        found.map(|(root, path)| (root, String::from_utf8(path.to_vec()).unwrap()))
    }

    fn found(root: u32, path: &str) -> Option<(u32, String)> {
        Some((root, path.to_string()))
    }

    #[test]
    fn paths_are_below_a_root_the_current_folder_or_the_only_root() {
        assert_eq!(of(&["/a", "/a/b"], "/a/b/c.jpg"), found(1, "c.jpg"));
        assert_eq!(of(&["/a", "/a/b"], "/x/c.jpg"), None);
        assert_eq!(of(&["photos"], "photos/c.jpg"), found(0, "c.jpg"));
        assert_eq!(of(&["photos"], "./photos/c.jpg"), found(0, "c.jpg"));
        assert_eq!(of(&["/data"], "cats/c.jpg"), found(0, "cats/c.jpg"));
        let mut places = Places::new(&["/a".into(), "/b".into()]).unwrap();
        assert!(places.of(b"c.jpg", false).unwrap_err().text().contains("one SRC"));
        let mut places = Places::new(&["/a".into()]).unwrap();
        assert!(places.of(b"/a/../c.jpg", false).is_err());
    }
}
