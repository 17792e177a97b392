//! The cache of open shards: how many are open, and which one is closed.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use tarflume::internal::SourceCache;
use tarflume::{ErrorKind, Source, SourceKind};

/// A cache of `count` files, each of which holds its number.
fn cache(folder: &Path, count: usize, cap: usize) -> SourceCache {
    let paths: Vec<_> = (0..count).map(|i| folder.join(format!("{i}.tar"))).collect();
    for (i, path) in paths.iter().enumerate() {
        fs::write(path, [i as u8; 8]).unwrap();
    }
    SourceCache::new(Arc::new(SourceKind::File), paths, cap)
}

fn first_byte(source: &Arc<dyn Source>) -> u8 {
    let mut byte = [0];
    source.read_at(0, &mut byte).unwrap();
    byte[0]
}

#[test]
fn the_shard_used_longest_ago_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path(), 4, 2);
    let [zero, one] = [0, 1].map(|n| cache.get(n).unwrap());
    assert!(Arc::ptr_eq(&zero, &cache.get(0).unwrap()), "open shards are shared");
    cache.get(2).unwrap(); // closes 1: 0 was asked for since
    assert_eq!(cache.open_count(), 2);
    assert!(Arc::ptr_eq(&zero, &cache.get(0).unwrap()));
    assert!(!Arc::ptr_eq(&one, &cache.get(1).unwrap()), "it was opened again");
    assert_eq!(first_byte(&one), 1, "a closed shard that is held stays readable");
}

#[test]
fn a_shard_that_was_replaced_while_it_was_closed_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path(), 2, 1);
    for number in [0, 1, 0, 1] {
        cache.get(number).unwrap();
    }
    let other = folder.path().join("new");
    fs::write(&other, [0; 8]).unwrap();
    fs::rename(other, folder.path().join("0.tar")).unwrap();
    assert_eq!(cache.get(0).unwrap_err().kind(), ErrorKind::Stale);
    assert_eq!(first_byte(&cache.get(1).unwrap()), 1, "the others stay readable");
}

#[test]
fn a_missing_shard_is_opened_again_at_the_next_access() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path(), 1, 1);
    let path = folder.path().join("0.tar");
    fs::remove_file(&path).unwrap();
    assert_eq!(cache.get(0).unwrap_err().kind(), ErrorKind::Io);
    fs::write(&path, [5]).unwrap();
    assert_eq!(first_byte(&cache.get(0).unwrap()), 5);
}

#[test]
fn many_threads_share_a_small_cache() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache(folder.path(), 20, 3);
    std::thread::scope(|scope| {
        for thread in 0..8usize {
            let cache = &cache;
            scope.spawn(move || {
                for step in 0..500usize {
                    let number = (thread * 31 + step * step) % 20;
                    assert_eq!(first_byte(&cache.get(number).unwrap()), number as u8);
                }
            });
        }
    });
    assert!(cache.open_count() <= 3);
}
