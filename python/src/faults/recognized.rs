//! What a path is that is no data set, as the error of what was asked to open it.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use tarflume::{Error, ErrorKind};
use tarflume_formats::shown::ShowPath;
use tarflume_formats::url::url_of;
use tarflume_packer::recognize::{PathKind, recognize};

use crate::faults::url;

/// The error about `paths`, which could not be opened: if one of them is no data set, what it is instead, and the line of
/// Python that makes one of it.
pub(crate) fn explained(error: Error, paths: &[PathBuf]) -> Error {
    if !matches!(error.kind(), ErrorKind::Usage | ErrorKind::WrongFormat | ErrorKind::Truncated) {
        return error;
    }
    match paths.iter().find_map(|path| Some((path, advice(path, false)?))) {
        Some((path, text)) => Error::usage(text).with_path(path),
        None => error,
    }
}

/// What a local path is, and the next step. `None`: it is a data set, or nothing is known about it. `as_stream`: tars
/// need no sidecars, so they are what was asked for.
fn advice(path: &Path, as_stream: bool) -> Option<String> {
    if url_of(path).is_some() {
        return None;
    }
    // An error of the system here is that of opening the path, which is raised.
    let kind = recognize(path).ok()?;
    let is_tars =
        matches!(kind, PathKind::Tars { .. } | PathKind::Tar { .. } | PathKind::CompressedTar);
    if as_stream && is_tars {
        return None;
    }
    let step = kind.step(path)?;
    Some(format!("this is {}, not a data set; {} {}", kind.name(), step.verb(), step.python()))
}

/// What a local path is that is no tar, and the line of Python that makes a data set of it; None if nothing is known.
#[pyfunction]
pub(crate) fn advice_for(py: Python<'_>, path: PathBuf) -> Option<String> {
    let path = url::restored(path);
    py.detach(|| advice(&path, true)).map(|text| format!("{}: {text}", path.shown()))
}
