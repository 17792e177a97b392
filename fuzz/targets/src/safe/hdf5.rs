//! An HDF5 file as a source of `pack build`: listing its rows and reading each value may fail, but neither
//! panic nor take more memory than the limits of the runner.

use super::file::file_of;

/// Lists the rows of the input, an HDF5 file, and reads each value.
///
/// A panic of the library below is an error of the file, but calls the hook of panics: under libFuzzer, set one that returns.
pub fn hdf5(input: &[u8]) {
    let file = file_of(input, "");
    let source = format!("hdf5:{}", file.path().display());
    let _ = tarflume_packer::build::rehearse(&source);
}
