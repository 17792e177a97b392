//! A sidecar that is zeroed or overwritten while it is mapped: its content is not trusted.
#![allow(clippy::unwrap_used)]

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tarflume_formats::index::{Index, IndexBuilder, SampleRow, TarFacts};
use tarflume_formats::{ErrorKind, Result};

const ROWS: u64 = 5000;
const BLOCK: u64 = 16 * 1024;
/// Much longer than a check of the file stays valid.
const PAUSE: Duration = Duration::from_millis(60);

fn sidecar(prefix: &str) -> Vec<u8> {
    let mut builder = IndexBuilder::new();
    for n in 0..ROWS {
        builder.sample(format!("{prefix}{n:06}").as_bytes(), n * 2048);
        builder.part(b"jpg", n * 2048 + 512, 100, Some(n as u32)).unwrap();
        builder.entry_points(format!("{prefix}{n}").as_bytes());
        builder.strips_of(n * 2, format!("{n}{prefix}").as_bytes());
        builder.part(b"json", n * 2048 + 1536, 100, Some(n as u32)).unwrap();
    }
    builder.encode(&TarFacts { length: ROWS * 2048 + 1024, digest: None }).unwrap()
}

struct Case {
    _folder: tempfile::TempDir,
    path: PathBuf,
    bytes: Vec<u8>,
    index: Index,
}

/// Returns a sidecar all of whose blocks were checked.
fn opened() -> Case {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.index");
    let bytes = sidecar("key");
    fs::write(&path, &bytes).unwrap();
    let index = Index::open(&path).unwrap();
    index.check().unwrap();
    Case { _folder: folder, path, bytes, index }
}

fn writable(path: &Path) -> File {
    File::options().write(true).open(path).unwrap()
}

type Lookup = fn(&Index, u64) -> Result<()>;

/// Every way to look something up.
const LOOKUPS: [(&str, Lookup); 7] = [
    ("sample", |index, row| index.sample(row).map(drop)),
    ("look_up", |index, row| index.look_up(row, &mut SampleRow::new()).map(drop)),
    ("key", |index, row| index.key(row).map(drop)),
    ("find", |index, row| index.find(format!("key{row:06}").as_bytes()).map(drop)),
    ("entry_points", |index, row| index.entry_points(row * 2).map(drop)),
    ("strips", |index, row| index.strips(row * 2).map(drop)),
    ("copy_entry_points", |index, row| {
        index.copy_entry_points(row * 2, 1000, &mut Vec::new()).map(drop)
    }),
];

#[track_caller]
fn all_refuse(case: &Case, what: &str) {
    for (name, look_up) in LOOKUPS {
        for row in [0, 17, 2500, ROWS - 1] {
            let error = look_up(&case.index, row).expect_err(what);
            assert_eq!(error.kind(), ErrorKind::Damaged, "{what}, {name}: {error}");
            assert_eq!(error.place().path.as_deref(), Some(&*case.path));
        }
    }
    assert!(case.index.check().is_err(), "{what}");
    assert!(case.index.intact().is_err(), "{what}");
}

#[test]
fn a_sidecar_truncated_and_extended_again_is_rejected() {
    let case = opened();
    let file = writable(&case.path);
    file.set_len(0).unwrap();
    file.set_len(case.bytes.len() as u64).unwrap();
    all_refuse(&case, "cut and extended");
}

#[test]
fn a_sidecar_overwritten_with_zeros_is_rejected() {
    let case = opened();
    writable(&case.path).write_all_at(&vec![0; case.bytes.len()], 0).unwrap();
    all_refuse(&case, "zeroed");
}

#[test]
fn an_overwritten_sidecar_is_rejected() {
    let case = opened();
    let other = sidecar("abc");
    assert_eq!(other.len(), case.bytes.len());
    writable(&case.path).write_all_at(&other, 0).unwrap();
    all_refuse(&case, "another");
}

#[test]
fn a_cut_that_is_undone_is_noticed_where_it_left_zeros() {
    let case = opened();
    let file = writable(&case.path);
    file.set_len(3 * BLOCK).unwrap();
    file.set_len(case.bytes.len() as u64).unwrap();
    std::thread::sleep(PAUSE);
    assert_eq!(case.index.sample(0).expect_err("zeros behind").kind(), ErrorKind::Damaged);
}

/// Zeros over one block of the body: the head is unchanged, and only the file's times reveal it.
#[test]
fn a_zeroed_block_is_rejected() {
    let blocks = sidecar("key").len() as u64 / BLOCK;
    assert!(blocks > 10);
    for block in 1..blocks {
        let case = opened();
        writable(&case.path).write_all_at(&vec![0; BLOCK as usize], block * BLOCK).unwrap();
        std::thread::sleep(PAUSE);
        let error = case.index.intact().expect_err("a block of zeros");
        assert_eq!(error.kind(), ErrorKind::Damaged, "{error}");
        // The error is repeated by every lookup that needs the block.
        assert_eq!(case.index.check().expect_err("still there").kind(), ErrorKind::Damaged);
        // A block that is right again is trusted again.
        writable(&case.path).write_all_at(&case.bytes, 0).unwrap();
        std::thread::sleep(PAUSE);
        case.index.check().unwrap();
    }
}

/// The row of the lookup that detects the damage is not necessarily the damaged one.
#[test]
fn a_zeroed_block_affects_only_lookups_that_read_it() {
    let blocks = sidecar("key").len() as u64 / BLOCK;
    let mut spoilt = 0;
    for block in (1..blocks).step_by(3) {
        for (name, look_up) in LOOKUPS.into_iter().filter(|(name, _)| *name != "find") {
            let case = opened();
            writable(&case.path).write_all_at(&vec![0; BLOCK as usize], block * BLOCK).unwrap();
            std::thread::sleep(PAUSE);
            // A newly opened sidecar does not know that a block was right before.
            let fresh = Index::open(&case.path).unwrap();
            for row in (0..ROWS).step_by(499) {
                let found = look_up(&case.index, row);
                let own = look_up(&fresh, row);
                assert_eq!(
                    found.is_ok(),
                    own.is_ok(),
                    "{name}, block {block}, row {row}: {found:?}, opened anew {own:?}"
                );
                spoilt += u64::from(own.is_err());
            }
        }
    }
    assert!(spoilt > 0);
}

/// The file is so new that writing to it again may not change its times.
#[test]
fn a_change_in_the_same_tick_of_the_clock_is_noticed() {
    for _ in 0..20 {
        let case = opened();
        let before = fs::metadata(&case.path).unwrap().modified().unwrap();
        let file = writable(&case.path);
        file.write_all_at(&[0; 64], 3 * BLOCK).unwrap();
        file.set_modified(before).unwrap();
        std::thread::sleep(PAUSE);
        assert!(case.index.intact().is_err());
    }
}

#[test]
fn a_file_with_only_a_new_time_stamp_is_accepted() {
    let case = opened();
    writable(&case.path).set_modified(SystemTime::UNIX_EPOCH).unwrap();
    std::thread::sleep(PAUSE);
    for (name, look_up) in LOOKUPS {
        look_up(&case.index, 17).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
    case.index.check().unwrap();
}

/// Files must be replaced by rename: a reader of the old file keeps it.
#[test]
fn a_file_that_was_replaced_or_removed_is_read_as_it_was_opened() {
    let case = opened();
    let new = case.path.with_extension("new");
    fs::write(&new, sidecar("abc")).unwrap();
    fs::rename(&new, &case.path).unwrap();
    std::thread::sleep(PAUSE);
    assert_eq!(case.index.key(17).unwrap(), b"key000017");
    fs::remove_file(&case.path).unwrap();
    std::thread::sleep(PAUSE);
    assert_eq!(case.index.key(18).unwrap(), b"key000018");
    case.index.check().unwrap();
}
