//! One test suite for every source, and the errors of file sources whose file changes.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tarflume::{ErrorKind, MemorySource, Open, Source, SourceKind};

use crate::shards::harness::{KINDS, cut};

fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 7 + i / 251) as u8).collect()
}

fn open(kind: SourceKind, path: &Path) -> Arc<dyn Source> {
    kind.open(path).unwrap().0
}

/// Every source of these bytes.
fn all(folder: &Path, bytes: &[u8]) -> Vec<Arc<dyn Source>> {
    let path = folder.join("s.tar");
    fs::write(&path, bytes).unwrap();
    let mut sources: Vec<_> = KINDS.iter().map(|kind| open(*kind, &path)).collect();
    sources.push(Arc::new(MemorySource::new(bytes)));
    sources
}

#[test]
fn every_source_gives_the_bytes_that_are_there() {
    let folder = tempfile::tempdir().unwrap();
    for length in [0usize, 1, 511, 4096, 10_000] {
        let bytes = bytes(length);
        for source in all(folder.path(), &bytes) {
            assert_eq!(source.len(), length as u64);
            assert_eq!(source.is_empty(), length == 0);
            for (at, end) in [(0, length), (length / 3, length / 2), (length, length)] {
                let mut into = vec![9; end - at];
                source.read_at(at as u64, &mut into).unwrap();
                assert_eq!(into, bytes[at..end], "{source:?}");
                if let Some(view) = source.view(at as u64, end - at) {
                    assert_eq!(view, &bytes[at..end], "{source:?}");
                }
            }
            source.advise(0, length as u64);
            source.advise(u64::MAX - 5, u64::MAX);
            source.check().unwrap();
        }
    }
}

#[test]
fn ranges_past_the_end_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for source in all(folder.path(), &bytes(1000)) {
        for (at, length) in [(0u64, 1001usize), (999, 2), (1000, 1), (5000, 10), (1 << 40, 1)] {
            let error = source.read_at(at, &mut vec![0; length]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Truncated, "{source:?}: {error}");
            assert_eq!(error.place().byte, Some(at));
            assert!(source.view(at, length).is_none());
        }
        assert!(source.view(u64::MAX, 1).is_none());
        assert!(source.view(1, usize::MAX).is_none());
    }
}

#[test]
fn many_threads_read_one_source() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = bytes(100_000);
    for source in all(folder.path(), &bytes) {
        std::thread::scope(|scope| {
            for thread in 0..8usize {
                let source = &source;
                let bytes = &bytes;
                scope.spawn(move || {
                    for step in 0..200 {
                        let at = (thread * 7919 + step * 463) % 99_000;
                        let mut into = [0; 1000];
                        source.read_at(at as u64, &mut into).unwrap();
                        assert_eq!(into, bytes[at..at + 1000]);
                    }
                });
            }
        });
    }
}

#[test]
fn memory_and_mapped_sources_lend_and_file_sources_copy() {
    let folder = tempfile::tempdir().unwrap();
    let lends: Vec<bool> =
        all(folder.path(), b"hello").iter().map(|s| s.view(1, 3).is_some()).collect();
    assert_eq!(lends, [false, true, true]);
}

/// Another file gets the shard's name.
fn replace(path: &Path) {
    let other = path.with_extension("new");
    fs::write(&other, bytes(50_000)).unwrap();
    fs::rename(other, path).unwrap();
}

/// Bytes in the middle become others; the length stays.
fn overwrite(path: &Path) {
    let file = File::options().write(true).open(path).unwrap();
    file.write_all_at(b"other", 100).unwrap();
    file.set_modified(SystemTime::now() + Duration::from_secs(5)).unwrap();
}

#[test]
fn a_shard_that_changes_while_it_is_open_is_reported() {
    type Change = fn(&Path);
    let cases: [(Change, ErrorKind, &str); 6] = [
        (
            |path| cut(path, 20_000),
            ErrorKind::Truncated,
            "truncated while it was in use: from 50000 to 20000 bytes",
        ),
        (|path| cut(path, 0), ErrorKind::Truncated, "from 50000 to 0 bytes"),
        (replace, ErrorKind::Stale, "the file was replaced by another one"),
        (overwrite, ErrorKind::Stale, "written to"),
        (|path| cut(path, 60_000), ErrorKind::Stale, "written to"),
        (|path| fs::remove_file(path).unwrap(), ErrorKind::Stale, "removed"),
    ];
    for kind in KINDS {
        for (change, expected, text) in cases {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("s.tar");
            fs::write(&path, bytes(50_000)).unwrap();
            let source = open(kind, &path);
            source.check().unwrap();
            change(&path);
            let error = source.check().unwrap_err();
            assert_eq!(error.kind(), expected, "{kind:?}: {error}");
            assert!(error.text().contains(text), "{kind:?}: {error}");
            assert_eq!(error.place().path.as_deref(), Some(&*path));
        }
    }
}

#[test]
fn a_shard_cut_while_it_is_read_is_an_error_and_no_crash() {
    for kind in KINDS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.tar");
        fs::write(&path, vec![7; 50_000]).unwrap();
        let source = open(kind, &path);
        cut(&path, 10_000);
        if let Some(view) = source.view(30_000, 1000) {
            assert!(view.iter().all(|&b| b == 0), "zeros stand where bytes were lost");
        }
        let error = source.read_at(30_000, &mut [0; 1000]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Truncated, "{kind:?}: {error}");
        assert_eq!(error.place().path.as_deref(), Some(&*path));
        assert!(
            error.text().contains("was truncated while") || error.text().contains("cut"),
            "{error}"
        );
    }
}

#[test]
fn paths_that_are_no_files_are_refused_with_their_kind() {
    let folder = tempfile::tempdir().unwrap();
    for kind in KINDS {
        let error = kind.open(folder.path()).unwrap_err();
        assert!(error.text().contains("folder"), "{error}");
        let error = kind.open(&folder.path().join("none.tar")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        assert!(error.place().path.as_ref().unwrap().ends_with("none.tar"));
    }
}
