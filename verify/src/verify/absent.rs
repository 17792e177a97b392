//! Verifies what is stated about a tar that is not here: Git does not hold it, or has a pointer to it.

use std::path::Path;

use tarflume_formats::lfs::Pointer;
use tarflume_formats::manifest::ShardEntry;
use tarflume_formats::{Result, files, index_path};
use tarflume_shards::kinds;

use super::proved::{Proved, listed, listed_length, open_sidecar, renewal};

/// Compares manifest and sidecar, as far as they are here, and the size that a pointer states.
///
/// # Errors
/// Returns an error if the machine failed.
pub(crate) fn prove(
    tar: &Path,
    entry: Option<&ShardEntry>,
    size: Option<u64>,
    proved: &mut Proved,
) -> Result<()> {
    proved.is_absent = true;
    proved.bytes = 0;
    proved.covered.absent = size.or(entry.map(|entry| entry.bytes)).unwrap_or(0);
    if let Some(size) = size {
        listed_length(tar, entry, size, &renewal(tar, None), &mut proved.problems);
    }
    let sidecar = index_path(tar);
    let is_here = match files::metadata(&sidecar, "find the sidecar") {
        Ok(found) => Pointer::read(&sidecar, found.len())?.is_none(),
        Err(error) if error.is_missing() => false,
        Err(error) => return Err(error),
    };
    if !is_here {
        return Ok(());
    }
    let Some(index) = open_sidecar(tar, &mut proved.problems)? else { return Ok(()) };
    let length = index.tar().length;
    if proved.covered.absent == 0 {
        proved.covered.absent = length;
    }
    if let Some(error) = size.and_then(|size| index.check_tar_length(tar, size).err()) {
        proved.problems.push(kinds::in_index(&kinds::of_data(error)?));
    }
    listed(tar, entry, &index, length, &mut proved.problems);
    proved.without_checksums = !index.has_checksums();
    proved.index = Some(index);
    Ok(())
}
