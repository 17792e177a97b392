//! `open`: HDF5 files with bounded reads, and the filter LZF of h5py.
//!
//! Limits what a foreign file can make the reader allocate. External files and links are not
//! followed. Knows no data sets.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hdf5_reader::error::{Error, Result};
use hdf5_reader::messages::filter_pipeline::FilterDescription;
use hdf5_reader::{
    ExternalLinkResolver, FilterRegistry, Hdf5File, OpenOptions, RangeRequestStorage,
};
use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::shown::ShowPath;
use tarflume_formats::{Blame, files, panics};

use crate::rows::places::bytes::{WHOLE_MAX, whole_limit};
use crate::rows::places::reader::CellFault;

/// Limit on the description of one object.
const MAX_HEADER: usize = 16 << 20;
/// The number of h5py's filter LZF.
pub(super) const LZF: u16 = 32000;

/// An open file.
pub(super) struct OpenFile {
    pub(super) file: Hdf5File,
    /// Its length in bytes.
    pub(super) length: u64,
}

/// Opens a file.
///
/// # Errors
/// Returns an error if the file is not HDF5 or cannot be read.
pub(super) fn open(path: &Path) -> std::result::Result<OpenFile, Failure> {
    let (file, found) = files::open(path)?;
    let file: Arc<File> = Arc::new(file);
    let storage = RangeRequestStorage::new(found.len(), move |at, length| {
        let mut space = vec![0; length];
        files::read_exact_at(&file, &mut space, at)?;
        Ok(space)
    });
    let limit = whole_limit(found.len()) as usize;
    let mut filters = FilterRegistry::new();
    filters.register(LZF, Box::new(unlzf));
    let options = OpenOptions::default()
        .with_filter_registry(filters)
        .with_external_link_resolver(Arc::new(OtherFiles(path.into())))
        .with_chunk_cache_bytes(0)
        .with_max_chunk_bytes(limit)
        .with_max_read_bytes(limit)
        .with_max_object_header_bytes(MAX_HEADER);
    let opened = guarded(|| Hdf5File::from_storage_with_options(Arc::new(storage), options));
    let file = opened.map_err(|e| failure(e, path))?;
    let end = file.superblock().eof_address;
    if end > found.len() && end != u64::MAX {
        return Err(Failure::bad_data(format!(
            "the file is truncated: it has {} bytes, and its superblock declares {end}",
            found.len()
        ))
        .in_file(path));
    }
    Ok(OpenFile { file, length: found.len() })
}

/// Returns name and path of the data sets at the root of a file.
pub(super) fn all(
    file: &Hdf5File,
    path: &Path,
) -> std::result::Result<Vec<(String, String)>, Failure> {
    let names = guarded(|| file.root_group()?.member_names()).map_err(|e| failure(e, path))?;
    let mut names: Vec<String> = names.1;
    names.sort_unstable();
    Ok(names.into_iter().map(|name| (name.clone(), format!("/{name}"))).collect())
}

/// Refuses links to other files: a data set behind one would be left out without a word.
struct OtherFiles(PathBuf);

impl ExternalLinkResolver for OtherFiles {
    fn resolve_external_link(&self, name: &str) -> Result<Option<Hdf5File>> {
        let other = self.0.parent().unwrap_or(Path::new("")).join(name);
        Err(Error::UnsupportedEncoding(format!(
            "a link to another file, and those are not followed; name the data sets of each file: \
             'hdf5:{}?x=/DATASET'",
            other.shown()
        )))
    }
}

/// Calls a function of the HDF5 reader; its panic becomes an error, because a foreign file must not
/// end the program.
pub(super) fn guarded<T>(call: impl FnOnce() -> Result<T>) -> Result<T> {
    panics::guarded(call).unwrap_or_else(|panic| {
        let text = format!("the reader gave up on an inconsistent structure ({panic})");
        Err(Error::InvalidData(text))
    })
}

/// Returns the failure for an error of the HDF5 reader.
pub(super) fn failure(error: Error, path: &Path) -> Failure {
    match machine(error, path) {
        CellFault::Failure(failure) => failure,
        CellFault::Data(reason) | CellFault::Placed(reason) => {
            Failure::bad_data(reason).in_file(path)
        }
    }
}

/// Returns the fault for an error of the HDF5 reader: the data's or the machine's.
pub(super) fn machine(error: Error, path: &Path) -> CellFault {
    match error {
        Error::Io(refused) if Blame::of(&refused).is_machine() => {
            CellFault::Failure(Failure::io(refused, "read", path))
        }
        // A filter is one of all rows.
        Error::UnsupportedFilter(filter) => CellFault::Failure(
            Failure::usage(format!(
                "{filter} is not read; write the data set with another filter (in h5py: \
             compression='gzip' or 'lzf')"
            ))
            .in_file(path),
        ),
        Error::Context { path: object, source } => match machine(*source, path) {
            CellFault::Data(reason) | CellFault::Placed(reason) => {
                CellFault::data(message!("{object}: {why}"; why = reason))
            }
            failure => failure,
        },
        other => CellFault::data(other.to_string()),
    }
}

/// Decompresses LZF. Its third number is the length of the chunk.
fn unlzf(filter: &FilterDescription, packed: &[u8], _element: usize) -> Result<Vec<u8>> {
    let length = filter.client_data.get(2).map_or(0, |&length| u64::from(length));
    if length > WHOLE_MAX {
        return Err(Error::ResourceLimit(format!("an LZF chunk of {length} bytes")));
    }
    let length = length as usize;
    let mut out = Vec::with_capacity(length.min(packed.len().saturating_mul(90)));
    let mut rest = packed.iter();
    let mut next = || rest.next().map(|&byte| usize::from(byte)).ok_or_else(damaged);
    while out.len() < length {
        let control = next()?;
        if control < 32 {
            for _ in 0..=control {
                out.push(next()? as u8);
            }
        } else {
            let mut count = control >> 5;
            if count == 7 {
                count += next()?;
            }
            let back = ((control & 31) << 8) + next()? + 1;
            let start = out.len().checked_sub(back).ok_or_else(damaged)?;
            for at in start..start + count + 2 {
                out.push(out[at]);
            }
        }
    }
    if out.len() == length { Ok(out) } else { Err(damaged()) }
}

fn damaged() -> Error {
    Error::DecompressionError("the LZF data is damaged".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lzf(length: u32, packed: &[u8]) -> Result<Vec<u8>> {
        let filter = FilterDescription { id: LZF, name: None, client_data: vec![4, 261, length] };
        unlzf(&filter, packed, 1)
    }

    #[test]
    fn lzf_copies_literals_and_repeats() {
        assert_eq!(lzf(3, &[2, b'a', b'b', b'c']).unwrap(), b"abc");
        // Two literals, then 2 + 2 bytes from 2 back; then 7 + 1 + 2 bytes from 1 back.
        assert_eq!(lzf(6, &[1, b'a', b'b', 2 << 5, 1]).unwrap(), b"ababab");
        assert_eq!(lzf(11, &[0, b'x', 7 << 5, 1, 0]).unwrap(), b"xxxxxxxxxxx");
    }

    #[test]
    fn a_panic_of_the_reader_is_an_error() {
        let error = guarded::<()>(|| panic!("index out of bounds")).unwrap_err();
        assert!(
            error.to_string().contains("gave up on an inconsistent structure (index out"),
            "{error}"
        );
    }

    #[test]
    fn damaged_lzf_is_refused() {
        assert!(lzf(4, &[2, b'a']).is_err()); // ends inside a literal
        assert!(lzf(4, &[1 << 5, 5]).is_err()); // begins with a repeat
        assert!(lzf(2, &[3, 1, 2, 3, 4]).is_err()); // longer than declared
    }
}
