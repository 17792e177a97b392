//! `Repository`: paths of a report as services show them, relative to the root of the repository.

use std::path::{Component, Path, PathBuf};

use tarflume_formats::files;

/// The repository that has the current folder, if one has it.
#[derive(Debug, Default)]
pub(crate) struct Repository {
    /// Its folder, and the current folder.
    found: Option<Found>,
}

#[derive(Debug)]
struct Found {
    root: PathBuf,
    here: PathBuf,
}

impl Repository {
    /// Finds the repository of Git upward from the current folder.
    pub(crate) fn find() -> Repository {
        let Ok(here) = std::env::current_dir() else { return Repository::default() };
        let mut above = here.ancestors();
        let root = above.find(|folder| files::exists(&folder.join(".git")).unwrap_or(false));
        let root = root.map(Path::to_path_buf);
        Repository { found: root.map(|root| Found { root, here }) }
    }

    /// Returns a path relative to the root; unchanged outside of the repository.
    pub(super) fn path(&self, path: &str) -> String {
        let Some(Found { root, here }) = &self.found else { return path.into() };
        if path.contains("://") {
            return path.into();
        }
        let inside = plain(&here.join(path));
        match inside.strip_prefix(root) {
            Ok(inside) if !inside.as_os_str().is_empty() => inside.display().to_string(),
            _ => path.into(),
        }
    }

    /// Returns a path as a reference of a URI.
    pub(super) fn uri(&self, path: &str) -> String {
        uri(&self.path(path))
    }
}

/// Removes `.` and `..` from a path, without a look at links.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
    }
    plain
}

fn uri(path: &str) -> String {
    if path.contains("://") {
        return path.to_string();
    }
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(byte as char)
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    if path.starts_with('/') { format!("file://{uri}") } else { uri }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_root_of_the_repository() {
        let found = Found { root: "/srv/repo".into(), here: "/srv/repo/data".into() };
        let repository = Repository { found: Some(found) };
        for (path, shown) in [
            ("train/a.tar", "data/train/a.tar"),
            ("./train/a.tar", "data/train/a.tar"),
            ("../val/a b.tar", "val/a%20b.tar"),
            ("/srv/repo/x.tar", "x.tar"),
            ("/elsewhere/x.tar", "file:///elsewhere/x.tar"),
            ("../../x.tar", "../../x.tar"),
            ("s3://bucket/x.tar", "s3://bucket/x.tar"),
        ] {
            assert_eq!(repository.uri(path), shown, "{path}");
        }
        assert_eq!(Repository::default().uri("a b.tar"), "a%20b.tar");
    }
}
