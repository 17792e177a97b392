//! Opens the tar of a pass, which may be compressed.

use std::path::Path;

use tarflume_base::{Problems, packed_shard};
use tarflume_formats::index::TarFacts;
use tarflume_formats::{Error, Index, Reading, Result, TarReader, files};

/// A tar that was opened, with its sidecar.
pub(super) struct Opened<'a> {
    pub(super) tar: &'a Path,
    pub(super) reader: TarReader,
    /// Length and digest of the file, if it is compressed.
    pub(super) packed: Option<TarFacts>,
    pub(super) sidecar: Option<&'a Index>,
    /// The list of what is found.
    pub(super) problems: Problems,
}

/// Opens a tar; a compressed one is decompressed first. Returns length and digest of a compressed file, and what is
/// wrong with its frames.
pub(super) fn open(
    tar: &Path,
    sidecar: Option<&Index>,
) -> Result<(TarReader, Option<TarFacts>, Vec<Error>)> {
    if !packed_shard::is_compressed(tar) {
        return Ok((TarReader::open(tar, Reading::Everything)?, None, Vec::new()));
    }
    let found = packed_shard::frames(tar)?;
    let (file, _) = files::open(tar)?;
    let mut unpacked = packed_shard::unpack(tar, &file, &found)?;
    let differs = sidecar.map(|index| packed_shard::compare(tar, index, &found));
    unpacked.damaged.extend(differs.and_then(Result::err));
    let reader = TarReader::of_file(unpacked.file, tar, Reading::Everything)?;
    Ok((reader, Some(packed_shard::facts(tar)?), unpacked.damaged))
}
