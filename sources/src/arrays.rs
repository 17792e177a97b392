//! `find`: where the rows of an array are in an HDF5 or Parquet file, or a folder of Zarr: as they are, or in blocks that
//! are decoded.
//!
//! For readers of random rows: of an array that is stored as it is, no row is read, decoded or copied here.

use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::files;
use tarflume_formats::message;
use tarflume_formats::message::{Call, Task};

use crate::rows;
pub use crate::rows::{CellFault, FoundArray, FoundRows, ReadBlock, is_zarr};

/// Finds the data set or column `name` in an HDF5 or Parquet file, or the array `name` in a folder of Zarr; of an array of
/// Zarr that is the folder itself, the name is empty.
///
/// # Errors
/// Returns an error for another format, and for an array that is not read: lists of different lengths, nulls, a filter or
/// compression that is not known. The message names what to write instead.
pub fn find(path: &Path, name: &str) -> Result<FoundArray, Failure> {
    if files::is_folder(path)? {
        return rows::zarr_array(path, name);
    }
    let (file, found) = files::open(path)?;
    let mut first = [0; 4];
    if found.len() >= 4 {
        files::read_exact_at(&file, &mut first, 0).map_err(|e| Failure::io(e, "read", path))?;
    }
    match &first {
        b"PK\x03\x04" => Err(Failure::usage(
            message!("it is an npz, a zip of arrays, and those are not read in place; write one array with \
                 numpy.save('{name}.npy', numpy.load('{path}')['{name}']), or pack the rows: {build}"; path = path, build = Call::of(Task::Build).on_quoted(format!("npz:{}", path.display())).out_stand("OUT")),
        )
        .in_file(path)),
        b"\x93NUM" => {
            Err(Failure::usage(format!("an npy file has one array; leave out the name '{name}'"))
                .in_file(path))
        }
        b"PAR1" => rows::parquet_array(path, name),
        // An HDF5 file may begin with bytes of its user.
        _ => rows::hdf5_array(path, name),
    }
}

/// Finds the array `name` of Zarr in a store; of an array that is at the URL itself, the name is empty. `options` are those of
/// the store. Returns `None` if there is no metadata of Zarr.
///
/// # Errors
/// Returns an error for a group, for an array that is not read, and if the store refuses.
#[cfg(feature = "remote")]
pub fn find_in_store(
    url: &str,
    name: &str,
    options: &[(String, String)],
) -> Result<Option<FoundArray>, Failure> {
    rows::zarr_in_store(url, name, options)
}
