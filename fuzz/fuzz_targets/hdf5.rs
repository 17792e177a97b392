//! A hdf5 file as a source of `pack build`: listing its rows and reading each value may fail, but neither
//! panic nor take more memory than the limits of run.sh.
#![no_main]

use std::io::Write;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let mut file = tempfile::NamedTempFile::new().expect("a folder for temporary files");
    file.write_all(input).expect("room for a temporary file");
    // A panic of the library below is an error of the file; libFuzzer must not end at it.
    std::panic::set_hook(Box::new(|_| {}));
    let source = format!("hdf5:{}", file.path().display());
    let _ = tarflume_packer::build::rehearse(&source);
});
