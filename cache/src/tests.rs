//! Tests of one cache in one process, also with claims and slots that other processes left behind.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::os::unix::fs::FileExt;

use tempfile::TempDir;

use crate::layout::{GRAIN, Layout};
use crate::{BLOCK, Begun, Cache, Fill, Key, Lookup, Settings};

/// A cache of `slots` slots.
fn cache(slots: u64) -> (TempDir, Cache) {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(&settings(&folder, slots)).unwrap();
    assert_eq!(cache.slots(), slots);
    (folder, cache)
}

fn settings(folder: &TempDir, slots: u64) -> Settings {
    Settings::new(Layout { slots }.bytes() + 4096).folder(folder.path())
}

fn key(object: u8, block: u32) -> Key {
    Key::new([object; 32], block)
}

fn content(key: Key, length: usize) -> Vec<u8> {
    (0..length).map(|n| ((n as u64 * 31) ^ key.hash(5)) as u8 ^ (n >> 8) as u8).collect()
}

fn fill(cache: &Cache, key: Key, length: usize) {
    let fill = cache.begin(key).fill().expect("a slot");
    fill.finish(&content(key, length)).unwrap();
}

fn is_here(cache: &Cache, key: Key) -> bool {
    matches!(cache.begin(key), Begun::Here)
}

#[test]
fn any_range_of_a_block_is_read() {
    let (_folder, cache) = cache(16);
    let whole = key(1, 0);
    let short = key(1, 1);
    fill(&cache, whole, BLOCK);
    fill(&cache, short, GRAIN + 77);
    for (key, length) in [(whole, BLOCK), (short, GRAIN + 77)] {
        let content = content(key, length);
        let ends = [0, 1, GRAIN - 1, GRAIN, GRAIN + 1, GRAIN + 76, length - 1, length];
        for from in ends {
            for to in ends.into_iter().filter(|to| *to >= from) {
                let mut into = vec![0xaa; to - from];
                assert_eq!(cache.read(key, from, &mut into), Lookup::Hit, "{from}..{to}");
                assert!(into == content[from..to], "{from}..{to}");
            }
        }
    }
    assert_eq!(cache.read(short, GRAIN, &mut [0; 78]), Lookup::Miss, "past its end");
    assert_eq!(cache.read(key(2, 0), 0, &mut [0; 1]), Lookup::Miss);
    assert_eq!((cache.stats().fills, cache.stats().damaged), (2, 0));
    assert_eq!(cache.contents().bytes, (BLOCK + GRAIN + 77) as u64);
}

#[test]
fn a_full_cache_replaces_what_was_not_read() {
    let (folder, cache) = cache(64);
    let size = || std::fs::metadata(cache.path()).unwrap().len();
    let before = size();
    for block in 0..40 {
        fill(&cache, key(1, block), 1000);
    }
    // Blocks of another data set come, while ten of the first are read.
    let mut into = [0; 10];
    for block in 0..300 {
        for read in 0..10 {
            cache.read(key(1, read), 5, &mut into);
        }
        fill(&cache, key(2, block), 2000);
    }
    let kept = (0..10).filter(|block| is_here(&cache, key(1, *block))).count();
    assert!(kept >= 8, "{kept} of 10");
    let old = (10..40).filter(|block| is_here(&cache, key(1, *block))).count();
    assert!(old <= 5, "{old} of 30");
    assert_eq!(size(), before);
    assert!(cache.contents().blocks <= 64 && cache.stats().evictions > 200);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_share_fits_and_nothing_is_replaced() {
    let (_folder, cache) = cache(1024);
    let share = cache.share(4000);
    let kept: Vec<Key> = (0..4000).map(|n| key(3, n)).filter(|key| share.has(*key)).collect();
    for _ in 0..3 {
        for key in &kept {
            if let Some(fill) = cache.begin(*key).fill() {
                fill.finish(&content(*key, 100)).unwrap();
            }
        }
    }
    let evictions = cache.stats().evictions;
    let blocks = cache.contents().blocks;
    assert!(evictions <= 20, "{evictions} evictions");
    assert!(blocks as f64 > 0.9 * 1024.0, "{blocks} blocks");
}

#[test]
fn a_damaged_slot_is_a_miss_and_empty_after_it() {
    let (_folder, cache) = cache(16);
    for block in 0..3 {
        fill(&cache, key(1, block), BLOCK);
    }
    let place = |wanted: Key| {
        let entry = cache.slots_of(wanted).find(|entry| entry.key() == wanted).unwrap();
        cache.inner.layout.slot(entry.slot)
    };
    let flip = |at: u64| {
        let mut byte = [0];
        cache.inner.file.read_exact_at(&mut byte, at).unwrap();
        cache.inner.file.write_all_at(&[byte[0] ^ 1], at).unwrap();
    };
    flip(place(key(1, 0)) + 100_000);
    flip(place(key(1, 1)) + BLOCK as u64 - 1);
    let mut into = vec![0; 1000];
    assert_eq!(cache.read(key(1, 0), 0, &mut into), Lookup::Hit, "another grain");
    assert_eq!(cache.read(key(1, 0), 99_500, &mut into), Lookup::Miss);
    assert_eq!(cache.stats().damaged, 1);
    assert!(!is_here(&cache, key(1, 0)));
    let found = cache.scrub(&|| false);
    assert_eq!((found.right, found.damaged.len(), found.unread.len()), (1, 1, 0));
    assert_eq!(cache.contents().blocks, 1);
}

#[test]
fn wrong_bytes_are_forgotten_on_request() {
    let (_folder, cache) = cache(16);
    fill(&cache, key(1, 0), 100);
    cache.forget(key(1, 0));
    assert!(!is_here(&cache, key(1, 0)));
}

#[test]
fn a_slot_is_written_by_one() {
    let (_folder, cache) = cache(16);
    let first = cache.begin(key(1, 0)).fill().unwrap();
    assert!(matches!(cache.begin(key(1, 0)), Begun::Filling));
    assert_eq!(cache.read(key(1, 0), 0, &mut [0; 1]), Lookup::Filling);
    drop(first);
    assert_eq!(cache.read(key(1, 0), 0, &mut [0; 1]), Lookup::Miss);
    let all: Vec<Fill> = (0..16).filter_map(|n| cache.begin(key(1, n)).fill()).collect();
    assert_eq!(all.len(), 16);
    assert!(matches!(cache.begin(key(1, 99)), Begun::Full));
    assert_eq!(cache.contents().filling, 16);
}

/// Lets the claim of a fill look as if its process had been gone for a long time.
fn age(cache: &Cache, fill: &Fill) {
    let claim = cache.slots_of(fill.key()).find(|entry| entry.key() == fill.key()).unwrap();
    let word = cache.inner.layout.entry(claim.slot) + 1;
    cache.word(word).store(0, std::sync::atomic::Ordering::Relaxed);
}

#[test]
fn a_late_writer_destroys_nothing_that_is_believed() {
    let (_folder, cache) = cache(16);
    let late = cache.begin(key(1, 0)).fill().unwrap();
    age(&cache, &late);
    assert_eq!(cache.contents().abandoned, 1);
    // Others take all slots, also that one.
    for block in 0..16 {
        fill(&cache, key(2, block), BLOCK);
    }
    assert_eq!(cache.contents().blocks, 16);
    late.finish(&content(key(1, 0), BLOCK)).unwrap();
    let mut into = vec![0; BLOCK];
    for block in 0..16 {
        assert_eq!(cache.read(key(2, block), 0, &mut into), Lookup::Hit);
        assert!(into == content(key(2, block), BLOCK));
    }
}

#[test]
fn bytes_of_one_block_are_never_those_of_another() {
    let (_folder, cache) = cache(16);
    let late = cache.begin(key(1, 0)).fill().unwrap();
    let slot = cache.slots_of(late.key()).find(|entry| entry.key() == late.key()).unwrap().slot;
    age(&cache, &late);
    for block in 0..16 {
        fill(&cache, key(2, block), BLOCK);
    }
    // The late writer was suspended between its check and its writes.
    let entry = cache.entry(slot);
    let state = entry.state();
    let owner = entry.key();
    let bytes = content(key(1, 0), BLOCK);
    entry.describe(key(1, 0), &bytes);
    let place = cache.inner.layout.slot(slot);
    cache.inner.file.write_all_at(&bytes[..BLOCK / 2], place).unwrap();
    assert_eq!(entry.state(), state);
    for wanted in [owner, key(1, 0), Key { object: owner.object, block: 0 }] {
        let mut into = vec![0; BLOCK];
        let found = cache.read(wanted, 0, &mut into);
        assert!(found == Lookup::Miss || into == content(wanted, BLOCK), "{wanted:?}");
    }
}

#[test]
fn a_cache_that_exists_keeps_its_size() {
    let (folder, first) = cache(32);
    fill(&first, key(1, 0), 10);
    let second = Cache::open(&settings(&folder, 64)).unwrap();
    assert_eq!(second.slots(), 32);
    assert!(is_here(&second, key(1, 0)));
    assert!(Cache::remove(&settings(&folder, 1)).unwrap());
    assert!(!Cache::remove(&settings(&folder, 1)).unwrap());
    assert!(Cache::find(&settings(&folder, 1)).unwrap().is_none());
    // Those who use it go on with it.
    fill(&first, key(1, 1), 10);
    assert!(is_here(&second, key(1, 1)));
    assert_eq!(Cache::open(&settings(&folder, 64)).unwrap().contents().blocks, 0);
}

#[test]
fn refusals_say_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let at = |bytes| Settings::new(bytes).folder(folder.path());
    let text = |bytes| Cache::open(&at(bytes)).unwrap_err().to_string();
    assert!(text(1 << 20).contains("17 MiB"), "{}", text(1 << 20));
    assert!(text(1 << 59).contains("ask for less"), "{}", text(1 << 59));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
    std::fs::write(at(1).path(), [0; 10_000]).unwrap();
    assert!(text(64 << 20).contains("pack cache drop"), "{}", text(64 << 20));
    if cfg!(target_os = "linux") {
        let proc = Settings::new(64 << 20).folder("/proc/self/cache");
        assert!(Cache::open(&proc).unwrap_err().is_machine());
    }
}

#[test]
fn one_of_many_makes_the_file() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(settings(&folder, 1).path().with_extension("new"), "of a killed process")
        .unwrap();
    let opened: Vec<Cache> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..8).map(|_| scope.spawn(|| Cache::open(&settings(&folder, 32)).unwrap())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    fill(&opened[0], key(1, 0), 10);
    assert!(opened.iter().all(|cache| is_here(cache, key(1, 0))));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
