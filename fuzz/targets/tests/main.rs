//! Gives each fuzz target its inputs of `fuzz/seeds` and damaged copies of them, the same in every run: the random search
//! is `make fuzz`.
//!
//! Variables: `FUZZ_RUNS` is the number of damaged copies for each target, 1,000 by default. A target fails at a panic and at
//! more than 256 MB of memory. The input that is tried is in `target/tmp/fuzz/TARGET`; it stays there if the process ends at
//! it. One that was found goes to `fuzz/seeds/TARGET` with its repair.
#![allow(missing_docs, clippy::unwrap_used)]

mod damage;
mod memory;

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use damage::Damage;

/// Damaged copies for each target.
const RUNS: u64 = 1000;

/// Seeds without damaged copies: the 200,000 rows of this one are read for seconds.
const SLOW: [&str; 1] = ["hdf5/shared-bytes"];

/// Held by the target that runs: the memory is that of the process.
static ONE: Mutex<()> = Mutex::new(());

/// Makes a test of each function, and the list of their names.
macro_rules! replay {
    ($names:ident: $($target:ident)*) => {
        #[cfg(feature = "safe")]
        const $names: &[&str] = &[$(stringify!($target)),*];
        $(
            #[test]
            fn $target() {
                replay(stringify!($target), tarflume_fuzz_targets::$target);
            }
        )*
    };
}

replay!(UNSAFE: index jpeg_decode jpeg_excerpt jpeg_group jpeg_header jpeg_offload jpeg_points jpeg_scan);

#[cfg(feature = "safe")]
replay!(SAFE: hdf5 json litdata manifest mds megatron npy numbers parquet parts pictures plan record source_url stream
    tables tfrecord tokens walk zarr zip);

/// Returns the folder `fuzz`.
fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the names of a folder's files, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Gives a target its seeds and their copies.
fn replay(name: &str, target: fn(&[u8])) {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let tried = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz").join(name);
    fs::create_dir_all(tried.parent().unwrap()).unwrap();
    let folder = fuzz().join("seeds").join(name);
    let mut seeds = Vec::new();
    for file in names(&folder) {
        let seed = fs::read(folder.join(&file)).unwrap();
        attempt(target, &seed, &tried);
        if !SLOW.contains(&&*format!("{name}/{file}")) {
            seeds.push(seed);
        }
    }
    assert!(!seeds.is_empty(), "{name} has no seeds");
    let mut words = Vec::new();
    if name.starts_with("jpeg_") {
        words = damage::words(&fs::read_to_string(fuzz().join("jpeg.dict")).unwrap());
    }
    let runs = std::env::var("FUZZ_RUNS").map_or(RUNS, |runs| runs.parse().unwrap());
    for number in 0..runs {
        attempt(target, &Damage::new(name, number).copy(&seeds, &words), &tried);
    }
    fs::remove_file(&tried).unwrap();
}

/// Gives a target one input, which is also the content of the file `tried`.
fn attempt(target: fn(&[u8]), input: &[u8], tried: &Path) {
    fs::write(tried, input).unwrap();
    memory::begin();
    let ended = catch_unwind(|| target(input));
    assert!(ended.is_ok(), "a panic at the input {}", tried.display());
    memory::check().unwrap_or_else(|most| panic!("{most}, at the input {}", tried.display()));
}

#[test]
fn more_memory_than_the_limit_is_refused_and_found() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    memory::begin();
    let mut bytes: Vec<u8> = Vec::new();
    bytes.try_reserve_exact(200 << 20).unwrap();
    memory::check().unwrap();
    let mut more: Vec<u8> = Vec::new();
    more.try_reserve_exact(57 << 20).unwrap_err();
    memory::check().unwrap_err();
}

#[cfg(feature = "safe")]
#[test]
fn every_target_is_replayed_and_searched() {
    let mut replayed = [UNSAFE, SAFE].concat();
    replayed.sort_unstable();
    let programs = names(&fuzz().join("fuzz_targets"));
    let programs: Vec<&str> =
        programs.iter().map(|file| file.strip_suffix(".rs").unwrap()).collect();
    assert_eq!(programs, replayed);
    let manifest = fs::read_to_string(fuzz().join("Cargo.toml")).unwrap();
    for name in SAFE.iter().chain(UNSAFE) {
        let program = format!("name = \"{name}\"\npath = \"fuzz_targets/{name}.rs\"\n");
        let (_, rest) = manifest.split_once(&program).expect(name);
        let condition = rest.starts_with("required-features = [\"safe\"]\n");
        assert_eq!(condition, SAFE.contains(name), "required-features of {name}");
    }
    let script = fs::read_to_string(fuzz().join("run.sh")).unwrap();
    assert!(script.contains(&format!("set -- {}\n", UNSAFE.join(" "))), "run.sh lists others");
}
