//! Paths with braces, as users of WebDataset write lists of shards: `shards/{000..765}.tar`.

use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_formats::files;
use tarflume_formats::url::url_of;

/// Returns the paths that `path` names, in the order of its braces; `path` alone if it has none, or if there is a file of
/// this name.
///
/// # Errors
/// Returns an error if a brace has no partner, or the operating system does not answer.
pub(crate) fn expand(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let Some(text) = path.to_str().filter(|text| text.contains('{')) else {
        return Ok(vec![path.to_path_buf()]);
    };
    if url_of(path).is_none() && files::exists(path)? {
        return Ok(vec![path.to_path_buf()]);
    }
    let names = tarflume_dataset::expand_braces(text)?;
    Ok(names.into_iter().map(PathBuf::from).collect())
}

/// As `expand`, for several paths.
///
/// # Errors
/// As `expand`.
pub fn expand_all(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut all = Vec::with_capacity(paths.len());
    for path in paths {
        all.extend(expand(path)?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_are_expanded_unless_a_file_has_this_name() {
        let dir = tempfile::tempdir().unwrap();
        let shown = |name: &str| {
            let paths = expand(&dir.path().join(name)).unwrap();
            let names = paths.iter().map(|path| path.file_name().unwrap().to_str().unwrap());
            names.map(String::from).collect::<Vec<_>>()
        };
        assert_eq!(shown("{08..10}.tar"), ["08.tar", "09.tar", "10.tar"]);
        assert_eq!(shown("a.tar"), ["a.tar"]);
        std::fs::write(dir.path().join("{a,b}.tar"), b"").unwrap();
        assert_eq!(shown("{a,b}.tar"), ["{a,b}.tar"]);
        assert!(expand(Path::new("{a,b.tar")).is_err());
        let urls = expand(Path::new("s3://b/{0..1}.tar")).unwrap();
        assert_eq!(urls, [PathBuf::from("s3://b/0.tar"), PathBuf::from("s3://b/1.tar")]);
    }
}
