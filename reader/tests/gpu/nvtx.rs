//! The profiler ranges of a loader: named, and nested in each thread. Uses the simulated NVTX library of
//! `fixtures/nvtx`.
//!
//! The library is searched once in a program. Therefore each test runs this program again as a child.
#![allow(missing_docs, clippy::unwrap_used)]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use tarflume::{Libraries, Loader, LoaderBuilder, Raw, Shuffle};
use tarflume_formats::{Durability, ShardWriter};

const SAMPLES: u64 = 60;
const BATCH: u64 = 4;

fn shards() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut shard = ShardWriter::create(dir.path(), "000.tar").unwrap();
    for ordinal in 0..SAMPLES {
        shard.begin(format!("{ordinal:04}").as_bytes());
        shard.part(b"row", 8).unwrap().copy_from_slice(&ordinal.to_le_bytes());
        shard.commit(None).unwrap();
    }
    shard.finish().unwrap().publish(dir.path(), "000.tar", Durability::Cached).unwrap();
    dir
}

fn builder(dir: &tempfile::TempDir) -> LoaderBuilder {
    Loader::builder(dir.path())
        .column("row", Raw::new("row").shape([8]))
        .shuffle(Shuffle::Full { seed: 4 })
        .batch(BATCH)
        .threads(2)
}

fn build(fixture: &str, words: &[&str]) -> PathBuf {
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures").join(fixture).join("build.sh");
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(fixture);
    let built = Command::new("bash").arg(script).arg(&out).args(words).output().unwrap();
    assert!(built.status.success(), "{fixture}: {}", String::from_utf8_lossy(&built.stderr));
    out
}

/// Runs the test `name` as a child with this environment; returns the calls of the simulated library.
fn child(name: &str, environment: &[(&str, &Path)]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    let done = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("gpu::nvtx::{name}"), "--nocapture"])
        .env("TARFLUME_NVTX_CHILD", name)
        .env("FAKENVTX_LOG", &log)
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    let text = [&done.stdout[..], &done.stderr[..]].map(String::from_utf8_lossy).join("\n");
    assert!(done.status.success() && text.contains("1 passed"), "{name}: {text}");
    std::fs::read_to_string(&log).unwrap_or_default()
}

fn is_child(name: &str) -> bool {
    std::env::var("TARFLUME_NVTX_CHILD").is_ok_and(|child| child == name)
}

/// How often each range was begun. Panics unless, in each thread, every range that began was ended.
fn counted(log: &str) -> HashMap<String, u64> {
    let mut open = HashMap::<&str, i64>::new();
    let mut counts = HashMap::new();
    for line in log.lines() {
        let mut words = line.splitn(3, ' ');
        let what = words.next().unwrap();
        let thread = words.next().unwrap();
        let depth = open.entry(thread).or_default();
        if what == "push" {
            *depth += 1;
            *counts.entry(words.next().unwrap().to_string()).or_default() += 1;
        } else {
            *depth -= 1;
            assert!(*depth >= 0, "a range was ended that never began: {line}");
        }
    }
    assert!(open.values().all(|depth| *depth == 0), "ranges that did not end: {open:?}");
    counts
}

#[test]
fn every_measured_stage_is_an_nvtx_range() {
    if is_child("every_measured_stage_is_an_nvtx_range") {
        let dir = shards();
        let log = std::env::var("FAKENVTX_LOG").unwrap();
        let loader = builder(&dir).build().unwrap();
        assert_eq!(loader.epoch(0).map(Result::unwrap).count() as u64, SAMPLES / BATCH);
        let reads = loader.stats().stage("read").unwrap().items;
        drop(loader);
        // Threads may have a last look for work.
        let told = counted(&std::fs::read_to_string(log).unwrap());
        assert_eq!(told["tarflume read"], reads);
        assert_eq!(told["tarflume batch"], SAMPLES / BATCH);
        assert!(told["tarflume plan"] >= SAMPLES / BATCH);
        assert!(told["tarflume decode"] >= SAMPLES / BATCH);
        // Of each batch, and of the end.
        assert_eq!(told["tarflume wait"], SAMPLES / BATCH + 1);
        assert!(!told.contains_key("tarflume upload"));
        return;
    }
    let library = build("nvtx", &[]).join("libnvtx.so");
    let log = child("every_measured_stage_is_an_nvtx_range", &[("TARFLUME_NVTX", &library)]);
    assert!(log.contains("tarflume read"), "the child was not told of ranges");
}

#[test]
fn a_library_in_a_python_environment_is_found() {
    const NAME: &str = "a_library_in_a_python_environment_is_found";
    if is_child(NAME) {
        let site = std::env::var_os("SITE").map(PathBuf::from);
        tarflume::tell_profilers_by(&Libraries::beside(site));
        let dir = shards();
        let loader = builder(&dir).build().unwrap();
        assert_eq!(loader.epoch(0).map(Result::unwrap).count() as u64, SAMPLES / BATCH);
        return;
    }
    let site = tempfile::tempdir().unwrap();
    let folder = site.path().join("nvidia/cu13/lib");
    std::fs::create_dir_all(&folder).unwrap();
    let library = build("nvtx", &[]).join("libnvtx.so");
    std::fs::copy(library, folder.join("libnvtx3interop.so.1")).unwrap();
    let log = child(NAME, &[("SITE", site.path())]);
    assert!(log.contains("tarflume read"), "the child was not told of ranges");
}

#[cfg(feature = "cuda")]
#[test]
fn each_batch_that_goes_to_a_device_is_shown() {
    const NAME: &str = "each_batch_that_goes_to_a_device_is_shown";
    if is_child(NAME) {
        let dir = shards();
        let device = tarflume::Device::cuda(0).unwrap();
        let loader = builder(&dir).device(device).device_slots(3).build().unwrap();
        assert_eq!(loader.epoch(0).map(Result::unwrap).count() as u64, SAMPLES / BATCH);
        return;
    }
    let library = build("nvtx", &[]).join("libnvtx.so");
    let driver = build("cuda", &["driver"]);
    let told = counted(&child(NAME, &[("TARFLUME_NVTX", &library), ("LD_LIBRARY_PATH", &driver)]));
    assert_eq!(told["tarflume upload"], SAMPLES / BATCH);
    assert!(told["tarflume wait"] > SAMPLES / BATCH);
}

#[test]
fn without_an_nvtx_library_ranges_do_nothing() {
    const NAME: &str = "without_an_nvtx_library_ranges_do_nothing";
    if is_child(NAME) {
        let dir = shards();
        let loader = builder(&dir).build().unwrap();
        assert_eq!(loader.epoch(0).map(Result::unwrap).count() as u64, SAMPLES / BATCH);
        return;
    }
    // None, and one that has none of the functions.
    let other = Path::new("libm.so.6");
    for library in [Path::new("/nowhere/libnvtx.so"), other] {
        assert_eq!(child(NAME, &[("TARFLUME_NVTX", library)]), "");
    }
}
