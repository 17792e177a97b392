//! Times of tars and sidecars.

use std::path::Path;

use tarflume_formats::freshness::{may_be_newer, renew};
use tarflume_formats::index_path;

/// Makes a sidecar newer than its tar, as a copy of both files may do.
pub fn renew_sidecar(tar: &Path) {
    let (sidecar, found) = (index_path(tar), |path: &Path| std::fs::metadata(path).unwrap());
    while may_be_newer(&found(tar), &found(&sidecar)) {
        renew(&sidecar, &found(&sidecar), &found(tar)).unwrap();
    }
}
