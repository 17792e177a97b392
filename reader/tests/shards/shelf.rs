//! Open shards: how many stand open, and which is closed.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use tarflume::internal::Shelf;
use tarflume::{ErrorKind, Source, SourceKind};

/// A shelf of `count` files, each of which holds its number.
fn shelf(folder: &Path, count: usize, cap: usize) -> Shelf {
    let path = |i| folder.join(format!("{i}.tar"));
    (0..count).for_each(|i| fs::write(path(i), [i as u8; 8]).unwrap());
    Shelf::new(Arc::new(SourceKind::File), (0..count).map(path), cap)
}

fn first_byte(source: &Arc<dyn Source>) -> u8 {
    let mut byte = [0];
    source.read_at(0, &mut byte).unwrap();
    byte[0]
}

#[test]
fn the_shard_used_longest_ago_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let shelf = shelf(folder.path(), 4, 2);
    let [zero, one] = [0, 1].map(|n| shelf.get(n).unwrap());
    assert!(Arc::ptr_eq(&zero, &shelf.get(0).unwrap()), "open shards are shared");
    shelf.get(2).unwrap(); // closes 1: 0 was asked for since
    assert_eq!(shelf.standing_open(), 2);
    assert!(Arc::ptr_eq(&zero, &shelf.get(0).unwrap()));
    assert!(!Arc::ptr_eq(&one, &shelf.get(1).unwrap()), "it was opened again");
    assert_eq!(first_byte(&one), 1, "who holds a closed shard goes on reading");
}

#[test]
fn a_shard_that_was_replaced_while_it_was_closed_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let shelf = shelf(folder.path(), 2, 1);
    for number in [0, 1, 0, 1] {
        shelf.get(number).unwrap();
    }
    let other = folder.path().join("new");
    fs::write(&other, [0; 8]).unwrap();
    fs::rename(other, folder.path().join("0.tar")).unwrap();
    assert_eq!(shelf.get(0).unwrap_err().kind(), ErrorKind::Stale);
    assert_eq!(first_byte(&shelf.get(1).unwrap()), 1, "the others go on");
}

#[test]
fn a_shard_that_is_not_there_yet_is_asked_for_again() {
    let folder = tempfile::tempdir().unwrap();
    let shelf = shelf(folder.path(), 1, 1);
    let path = folder.path().join("0.tar");
    fs::remove_file(&path).unwrap();
    assert_eq!(shelf.get(0).unwrap_err().kind(), ErrorKind::Io);
    fs::write(&path, [5]).unwrap();
    assert_eq!(first_byte(&shelf.get(0).unwrap()), 5);
}

#[test]
fn many_threads_share_a_small_shelf() {
    let folder = tempfile::tempdir().unwrap();
    let shelf = shelf(folder.path(), 20, 3);
    std::thread::scope(|scope| {
        for thread in 0..8usize {
            let shelf = &shelf;
            scope.spawn(move || {
                for step in 0..500usize {
                    let number = (thread * 31 + step * step) % 20;
                    assert_eq!(first_byte(&shelf.get(number).unwrap()), number as u8);
                }
            });
        }
    });
    assert!(shelf.standing_open() <= 3);
}
