//! Lists a tar that has a sidecar by the sidecar.

use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::{Index, name, probe};
use tarflume_scan::folders::walk::Watch;

use super::sample::{SOME, TarSample};
use super::select::Sink;

/// Lists the samples of a tar by its sidecar.
///
/// # Errors
/// Returns an error if the sidecar is damaged or lists a part of the samples alone, or the operating system refuses.
pub(super) fn list(
    index: &Index,
    path: &Path,
    sink: &mut Sink<'_, '_>,
    watch: Watch<'_>,
) -> Result<(), Failure> {
    if !index.is_compressed() {
        probe::check_end(index, path)?;
    }
    let mut parts = 0u64;
    for (row, sample) in (0u64..).zip(index.iter()) {
        let sample = sample.map_err(|e| damaged(e, path))?;
        let key = name::without_dot(sample.key);
        let mut found =
            TarSample { key: key.to_vec(), first: sample.first, ..TarSample::default() };
        for part in sample.parts() {
            let part = part.map_err(|e| damaged(e, path))?;
            parts += 1;
            let member = [key, b".", part.ext].concat();
            if sink.options().excludes(b"", &member) {
                sink.skip(1);
                continue;
            }
            found.add(part.ext, part.offset, part.length);
        }
        if row % SOME == SOME - 1 {
            watch.counter.add(std::mem::take(&mut parts));
            index.intact().map_err(|e| damaged(e, path))?;
            if watch.stop.requested() {
                return Err(Failure::interrupted());
            }
        }
        if !found.parts.is_empty() {
            sink.push(found)?;
        }
    }
    watch.counter.add(parts);
    index.intact().map_err(|e| damaged(e, path))?;
    sink.flush()
}

fn damaged(e: tarflume_formats::Error, path: &Path) -> Failure {
    Failure::from(e.with_path(path))
}
