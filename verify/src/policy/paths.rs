//! `Base`: the folder to which the paths of a policy and of a baseline are relative.

use std::path::{Component, Path, PathBuf, absolute};

use tarflume_base::Failure;
use tarflume_formats::publish::folder_of;
use tarflume_formats::url::url_of;

/// A folder as an absolute path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Base(PathBuf);

impl Base {
    /// Returns the folder of a file.
    ///
    /// # Errors
    /// Returns an error if the working directory is gone.
    pub(crate) fn of_file(path: &Path) -> Result<Base, Failure> {
        let folder = folder_of(path);
        let whole = absolute(folder)
            .map_err(|error| Failure::io(error, "find the working directory", folder))?;
        Ok(Base(plain(&whole)))
    }

    /// Returns a path below this folder with slashes, and any other path as an absolute one. URLs stay as they are.
    pub(crate) fn relative(&self, path: &str) -> String {
        if url_of(Path::new(path)).is_some() {
            return path.into();
        }
        let Ok(whole) = absolute(path) else { return path.into() };
        let whole = plain(&whole);
        let below = whole.strip_prefix(&self.0).unwrap_or(&whole);
        match below.to_string_lossy() {
            here if here.is_empty() => ".".into(),
            below => below.into_owned(),
        }
    }

    /// Returns a path that is relative to this folder.
    pub(crate) fn joined(&self, path: &str) -> PathBuf {
        if url_of(Path::new(path)).is_some() { path.into() } else { plain(&self.0.join(path)) }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.0
    }
}

/// Returns an absolute path without `..`. Links are not followed.
pub(crate) fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_folder_of_the_file() {
        let base = Base::of_file(Path::new("/data/repo/pack.toml")).unwrap();
        assert_eq!(base.relative("/data/repo/train/../val/a.tar"), "val/a.tar");
        assert_eq!(base.relative("/data/repo"), ".");
        assert_eq!(base.relative("/data/other/a.tar"), "/data/other/a.tar");
        assert_eq!(base.relative("s3://bucket/a.tar"), "s3://bucket/a.tar");
        assert_eq!(base.joined("../val"), Path::new("/data/val"));
        let here = Base::of_file(Path::new("pack.toml")).unwrap();
        assert_eq!(here.relative("./shards/a.tar"), "shards/a.tar");
    }
}
