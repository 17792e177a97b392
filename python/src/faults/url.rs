//! URLs where Python has paths.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use tarflume_formats::url::{url_of, without_secrets};

/// Schemes of stores.
const SCHEMES: [&str; 6] = ["s3", "gs", "az", "http", "https", "hf"];

/// Restores a URL that went through `pathlib`, which makes one slash of two.
pub(crate) fn restored(path: PathBuf) -> PathBuf {
    let url = path.to_str().and_then(|text| {
        let (scheme, rest) = text.split_once(":/")?;
        let is_one_slash = SCHEMES.contains(&scheme) && !rest.starts_with('/') && !rest.is_empty();
        is_one_slash.then(|| format!("{scheme}://{rest}"))
    });
    url.map_or(path, PathBuf::from)
}

/// As [`path`], of a message: without the secrets of a URL, also of one that was taken for a path below a folder.
pub(crate) fn shown<'py>(py: Python<'py>, path: &Path) -> PyResult<Bound<'py, PyAny>> {
    match path.to_str().map(without_secrets) {
        Some(Cow::Owned(text)) => self::path(py, Path::new(&text)),
        Some(Cow::Borrowed(_)) | None => self::path(py, path),
    }
}

/// A path as `pathlib.Path`, a URL as `str`.
pub(crate) fn path<'py>(py: Python<'py>, path: &Path) -> PyResult<Bound<'py, PyAny>> {
    match url_of(path) {
        Some(url) => Ok(url.into_pyobject(py)?.into_any()),
        None => Ok(path.into_pyobject(py)?.into_any()),
    }
}
