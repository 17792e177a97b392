//! Shards that change during an epoch: truncated, replaced, overwritten, deleted. The result is an error that
//! names the shard, or correct data if the old file is still open; never wrong rows.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

use tarflume::{Error, Loader, LoaderBuilder, OnBad, Shuffle, SourceKind, Verify};
use tarflume_formats::index_path;

use crate::loader::harness::Shards;
use crate::loader::truth::is_true;

const SAMPLES: u64 = 400;
const SOURCES: [SourceKind; 2] = [SourceKind::File, SourceKind::Mapped];

fn loader(shards: &Shards, source: SourceKind) -> LoaderBuilder {
    let loader = shards.loader().source(source).verify(Verify::All).prefetch(2);
    loader.shuffle(Shuffle::Full { seed: 4 })
}

/// Takes some batches, does something to the shard, takes the rest: every row is right. How many came,
/// and the error at the end.
fn spoilt(loader: &Loader, spoil: impl FnOnce()) -> (u64, Option<Error>) {
    let mut epoch = loader.epoch(0);
    for _ in 0..5 {
        is_true(&epoch.next().unwrap().unwrap());
    }
    spoil();
    let mut came = 5;
    for batch in epoch {
        match batch {
            Ok(batch) => is_true(&batch),
            Err(error) => return (came, Some(error)),
        }
        came += 1;
    }
    (came, None)
}

fn names(error: &Error, shard: &Path) {
    let path = error.place().path.as_deref().unwrap_or_else(|| panic!("no path in: {error}"));
    assert!(path == shard || path == index_path(shard), "{error}");
}

fn cut(path: &Path, length: u64) {
    OpenOptions::new().write(true).open(path).unwrap().set_len(length).unwrap();
}

#[test]
fn a_shard_that_is_cut_is_an_error() {
    for source in SOURCES {
        for part in [0, 1, 2, 3] {
            for on_bad in [OnBad::Error, OnBad::Skip, OnBad::Substitute] {
                let shards = Shards::of(&[SAMPLES]);
                let shard = shards.shard(0);
                let length = fs::metadata(&shard).unwrap().len() / 4 * part;
                let loader = loader(&shards, source).on_bad(on_bad).bad_budget(20);
                let loader = loader.build().unwrap();
                let (came, error) = spoilt(&loader, || cut(&shard, length));
                let error = error.unwrap_or_else(|| panic!("{source:?} {part} {on_bad:?}"));
                assert!(came < SAMPLES / 4);
                names(&error, &shard);
                let again = loader.epoch(1).next().unwrap().unwrap_err();
                names(&again, &shard);
            }
        }
    }
}

#[test]
fn a_shard_that_is_replaced_is_the_old_one_or_an_error() {
    for source in SOURCES {
        let shards = Shards::of(&[SAMPLES]);
        let shard = shards.shard(0);
        let other = Shards::of(&[3]);
        let loader = loader(&shards, source).build().unwrap();
        let (came, error) = spoilt(&loader, || {
            let new = shards.path().join("new");
            fs::copy(other.shard(0), &new).unwrap();
            fs::rename(new, &shard).unwrap();
        });
        match error {
            Some(error) => names(&error, &shard),
            None => assert_eq!(came, SAMPLES / 4, "the open file is whole"),
        }
        let error = loader.epoch(1).next().unwrap().unwrap_err();
        names(&error, &shard);
        assert!(error.to_string().contains("replaced"), "{error}");
    }
}

#[test]
fn a_shard_that_is_deleted_is_the_old_one_or_an_error() {
    for source in SOURCES {
        let shards = Shards::of(&[SAMPLES]);
        let shard = shards.shard(0);
        let loader = loader(&shards, source).build().unwrap();
        let (came, error) = spoilt(&loader, || fs::remove_file(&shard).unwrap());
        match error {
            Some(error) => names(&error, &shard),
            None => assert_eq!(came, SAMPLES / 4, "the open file is whole"),
        }
        let error = loader.epoch(1).next().unwrap().unwrap_err();
        names(&error, &shard);
        assert!(error.to_string().contains("removed"), "{error}");
    }
}

#[test]
fn bytes_that_are_written_over_are_always_noticed() {
    for source in SOURCES {
        let shards = Shards::of(&[SAMPLES]);
        let shard = shards.shard(0);
        let length = fs::metadata(&shard).unwrap().len();
        let loader = loader(&shards, source).build().unwrap();
        let (came, error) = spoilt(&loader, || {
            let mut file = OpenOptions::new().write(true).open(&shard).unwrap();
            file.write_all(&vec![0x5a; length as usize]).unwrap();
        });
        assert!(came < SAMPLES / 4, "{source:?}");
        let error = error.unwrap();
        names(&error, &shard);
        assert!(error.to_string().contains("written to"), "{error}");
    }
}

#[test]
fn a_sidecar_that_is_cut_is_an_error() {
    for part in [0, 1, 2, 3] {
        for on_bad in [OnBad::Error, OnBad::Skip] {
            let shards = Shards::of(&[SAMPLES]);
            let shard = shards.shard(0);
            let sidecar = index_path(&shard);
            let length = fs::metadata(&sidecar).unwrap().len() / 4 * part;
            let loader = loader(&shards, SourceKind::File).on_bad(on_bad).bad_budget(20);
            let loader = loader.build().unwrap();
            let (came, error) = spoilt(&loader, || cut(&sidecar, length));
            if let Some(error) = &error {
                names(error, &shard);
            }
            // Bytes in the same page as the rest of the file are not lost yet.
            assert!(error.is_some() || came == SAMPLES / 4);
        }
    }
}

#[test]
fn invalid_shards_are_errors_before_anything_is_read() {
    /// The second of two shards is refused.
    fn refused(shards: &Shards, words: &str) {
        let both = vec![shards.shard(0), shards.shard(1)];
        let error = Loader::builder(both).bytes("bin").build().unwrap_err();
        names(&error, &shards.shard(1));
        assert!(error.to_string().contains(words), "{error}");
    }

    let shards = Shards::of(&[10, 10]);
    let tar = fs::read(shards.shard(1)).unwrap();
    cut(&shards.shard(1), tar.len() as u64 - 512);
    refused(&shards, "the tar has");
    fs::remove_file(shards.shard(1)).unwrap();
    refused(&shards, "shard");
    fs::write(shards.shard(1), &tar).unwrap();
    let sidecar = fs::read(index_path(shards.shard(1))).unwrap();
    File::create(index_path(shards.shard(1))).unwrap();
    refused(&shards, "");
    for at in (0..sidecar.len()).step_by(7) {
        let mut spoilt = sidecar.clone();
        spoilt[at] ^= 0x10;
        fs::write(index_path(shards.shard(1)), spoilt).unwrap();
        let built = shards.loader().verify(Verify::All).build();
        let error = built.and_then(|loader| crate::loader::truth::batches(&loader, 0).map(drop));
        // Some bytes are gaps that nothing depends on: then all rows were right.
        if let Err(error) = error {
            names(&error, &shards.shard(1));
        }
    }
    fs::remove_file(index_path(shards.shard(1))).unwrap();
    refused(&shards, "no sidecar");
}
