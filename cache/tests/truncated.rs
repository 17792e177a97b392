//! A cache whose file is truncated while it is in use: no signal, no wrong byte, and the file does not grow again.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs::File;
use std::path::Path;
use std::sync::Barrier;

use tarflume_cache::{BLOCK, Begun, Cache, Key, Lookup, Settings};
use tempfile::TempDir;

const SLOTS: u64 = 32;
const PAGE: u64 = 4096;
/// Bytes of the index of this cache: a page, and 192 bytes for each slot.
const INDEX: u64 = PAGE + SLOTS * 192;

fn settings(folder: &Path) -> Settings {
    Settings::new((SLOTS + 1) * (BLOCK as u64 + 192)).folder(folder)
}

fn key(block: u32) -> Key {
    Key::new([3; 32], block)
}

fn content(block: u32) -> Vec<u8> {
    (0..100_000).map(|at| (at as u32 * 31 + block * 7) as u8).collect()
}

/// A cache with blocks in half of its slots.
fn cache() -> (TempDir, Cache) {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(&settings(folder.path())).unwrap();
    assert_eq!(cache.slots(), SLOTS);
    for block in 0..SLOTS as u32 / 2 {
        cache.begin(key(block)).fill().expect("a slot").finish(&content(block)).unwrap();
    }
    (folder, cache)
}

fn truncate(cache: &Cache, length: u64) {
    File::options().write(true).open(cache.path()).unwrap().set_len(length).unwrap();
}

/// Reads all blocks, and returns how many are there; their bytes must be right.
fn found(cache: &Cache) -> usize {
    let mut into = vec![0; 100_000];
    let blocks = 0..SLOTS as u32 / 2;
    let hits = blocks.filter(|block| {
        let hit = cache.read(key(*block), 0, &mut into) == Lookup::Hit;
        assert!(!hit || into == content(*block), "wrong bytes of block {block}");
        hit
    });
    hits.count()
}

#[test]
fn a_cache_that_lost_its_index_finds_nothing_and_writes_nothing() {
    for length in [0, 1, PAGE, PAGE + 1000] {
        let (_folder, cache) = cache();
        let fill = cache.begin(key(900)).fill().expect("a slot");
        let shared = cache.clone();
        truncate(&cache, length);
        assert_eq!(found(&cache), 0, "{length}");
        assert!(matches!(cache.begin(key(901)), Begun::Full), "{length}");
        let error = fill.finish(&content(0)).unwrap_err().to_string();
        assert!(error.contains("pack cache drop"), "{error}");
        assert_eq!(cache.stats().errors, 1, "{length}: one loss is one error");
        cache.contents();
        assert_eq!(cache.scrub(&|| false).right, 0);
        cache.forget(key(1));
        assert!(!cache.advise(key(1), 0, 10));
        cache.total_stats();
        assert!(shared.intact().is_err(), "{length}");
        assert_eq!(std::fs::metadata(cache.path()).unwrap().len(), length, "it does not grow");
    }
}

#[test]
fn a_cache_that_lost_slots_keeps_the_others() {
    for length in [INDEX.next_multiple_of(PAGE), SLOTS / 2 * BLOCK as u64] {
        let (_folder, cache) = cache();
        truncate(&cache, length);
        let kept = found(&cache);
        assert!(kept < SLOTS as usize / 2, "{length}: {kept}");
        assert!(cache.intact().is_ok(), "the index is whole");
        assert_eq!(found(&cache), kept);
        assert_eq!(cache.scrub(&|| false).right as usize, kept);
    }
}

#[test]
fn threads_that_read_and_write_a_cache_outlive_its_truncation() {
    for length in [0, PAGE, SLOTS / 3 * BLOCK as u64] {
        let (_folder, cache) = cache();
        let begin = Barrier::new(5);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let cache = &cache;
                let begin = &begin;
                scope.spawn(move || {
                    begin.wait();
                    for block in 0..40 {
                        found(cache);
                        if let Some(fill) = cache.begin(key(100 * thread + block)).fill() {
                            let _ = fill.finish(&content(block)); // a lost cache refuses
                        }
                    }
                });
            }
            begin.wait();
            truncate(&cache, length);
        });
        found(&cache);
        assert_eq!(cache.intact().is_ok(), length > INDEX, "{length}");
    }
}

#[test]
fn a_truncated_file_is_no_cache_for_the_next_process() {
    let (folder, cache) = cache();
    for length in [0, PAGE, INDEX, cache.bytes() - 1] {
        truncate(&cache, length);
        let error = Cache::open(&settings(folder.path())).unwrap_err().to_string();
        assert!(error.contains("pack cache drop"), "{length}: {error}");
    }
}
