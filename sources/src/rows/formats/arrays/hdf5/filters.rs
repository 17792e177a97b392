//! The filters of a data set's chunks: refuses those that are not read, once for all rows.

use std::path::Path;

use hdf5_reader::messages::HdfMessage;
use hdf5_reader::messages::filter_pipeline::FilterDescription;
use hdf5_reader::{Dataset, Hdf5File};
use tarflume_base::Failure;
use tarflume_formats::name;

use super::file::{LZF, failure, guarded};

/// The filters that are read: deflate, shuffle, Fletcher-32, szip, n-bit, scale-offset, and h5py's LZF.
const READ: [u16; 7] = [1, 2, 3, 4, 5, 6, LZF];
/// Registered filters that writers use.
const KNOWN: [(u16, &str); 11] = [
    (307, "bzip2"),
    (32001, "Blosc"),
    (32004, "LZ4"),
    (32008, "bitshuffle"),
    (32013, "ZFP"),
    (32015, "Zstandard"),
    (32017, "SZ"),
    (32018, "FCIDECOMP"),
    (32019, "JPEG"),
    (32024, "SZ3"),
    (32026, "Blosc2"),
];

/// Refuses a data set whose chunks are filtered by a filter that is not read.
///
/// # Errors
/// Returns an error that names the filter, and if the description of the data set cannot be read.
pub(super) fn check(
    file: &Hdf5File,
    dataset: &Dataset,
    name: &str,
    path: &Path,
) -> Result<(), Failure> {
    let header =
        guarded(|| file.get_or_parse_header(dataset.address())).map_err(|e| failure(e, path))?;
    let pipelines = header.messages.iter().filter_map(|message| match message {
        HdfMessage::FilterPipeline(pipeline) => Some(&pipeline.filters),
        _ => None,
    });
    match pipelines.flatten().find(|filter| !READ.contains(&filter.id)) {
        None => Ok(()),
        Some(filter) => Err(Failure::usage(format!(
            "{name}: its chunks are compressed by the filter {}, which is not read; write the \
             data set with another one (in h5py: compression='gzip' or 'lzf'), or convert the \
             file: h5repack -f SHUF -f GZIP=4 IN.h5 OUT.h5",
            shown(filter)
        ))
        .in_file(path)),
    }
}

/// Returns number and name of a filter.
fn shown(filter: &FilterDescription) -> String {
    let known = KNOWN.iter().find(|(id, _)| *id == filter.id).map(|(_, name)| (*name).to_string());
    let name = known.or_else(|| filter.name.as_ref().map(|text| name::shown(text.as_bytes())));
    match name {
        Some(name) => format!("{} ({name})", filter.id),
        None => filter.id.to_string(),
    }
}
