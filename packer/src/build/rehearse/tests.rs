//! Parquet and HDF5 files with one damaged byte, and cut files: an error of the file or values, never a panic.

use std::fs;
use std::path::Path;

use tarflume_base::Exit;

use super::rehearse;

/// Reads `bytes` as a source of this kind.
fn attempt(path: &Path, kind: &str, bytes: &[u8], what: impl Fn() -> String) {
    fs::write(path, bytes).expect("room for a small file");
    if let Err(failure) = rehearse(&format!("{kind}:{}", path.display())) {
        let of_the_file = matches!(failure.exit(), Exit::BadData | Exit::Usage);
        assert!(of_the_file, "{}: {failure}", what());
    }
}

/// Damages bytes in two ways, and cuts the file after them: each third byte, or each with `TARFLUME_SWEEPS=whole`.
fn damage(kind: &str, seed: &str) {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds").join(kind);
    let whole = fs::read(seeds.join(seed)).expect("the seed");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("damaged");
    assert!(rehearse_whole(&path, kind, &whole) > 0, "the seed has values");
    let all = std::env::var_os("TARFLUME_SWEEPS").is_some_and(|word| word == "whole");
    for at in (0..whole.len()).step_by(if all { 1 } else { 3 }) {
        for mask in [0x01, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= mask;
            attempt(&path, kind, &bytes, || format!("{kind} {seed}, byte {at} ^ {mask:#x}"));
        }
        attempt(&path, kind, &whole[..at], || format!("{kind} {seed}, {at} bytes"));
    }
}

fn rehearse_whole(path: &Path, kind: &str, bytes: &[u8]) -> u64 {
    fs::write(path, bytes).expect("room for a small file");
    rehearse(&format!("{kind}:{}", path.display())).expect("the seed is whole")
}

#[test]
fn a_damaged_parquet_file_is_an_error_of_the_file() {
    damage("parquet", "plain");
    damage("parquet", "snappy");
}

#[test]
fn a_damaged_hdf5_file_is_an_error_of_the_file() {
    damage("hdf5", "contiguous");
    damage("hdf5", "chunked");
}
