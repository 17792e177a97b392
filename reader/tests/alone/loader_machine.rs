//! Too few open files during an epoch: a machine error, whatever the policy for bad samples. No sample is
//! skipped, replaced or counted as bad. One test, because the limit applies to the process.
#![allow(missing_docs, unreachable_pub, dead_code, clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::os::fd::AsRawFd;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tarflume::{Error, ErrorKind, Loader, OnBad, Shuffle};

#[path = "../loader/harness.rs"]
mod harness;

use harness::Shards;

/// The rows that came, and the error that ended the epoch.
fn end(loader: &Loader) -> (usize, Option<Error>) {
    let mut rows = 0;
    for batch in loader.epoch(0) {
        match batch {
            Ok(batch) => rows += batch.len(),
            Err(error) => return (rows, Some(error)),
        }
    }
    (rows, None)
}

/// No file can be opened from now on; gives the limit that was there.
fn no_more_files() -> Rlimit {
    let before = getrlimit(Resource::Nofile);
    // The lowest number that is free, which is free again behind this line.
    let free = fs::File::open("/dev/null").unwrap().as_raw_fd() as u64;
    setrlimit(Resource::Nofile, Rlimit { current: Some(free), maximum: before.maximum }).unwrap();
    assert!(fs::File::open("/dev/null").is_err(), "the limit holds");
    before
}

#[test]
fn no_policy_hides_an_error_of_the_machine() {
    let shards = Shards::of(&[20, 20]);
    for on_bad in [OnBad::Error, OnBad::Skip, OnBad::Substitute] {
        for shuffle in [Shuffle::None, Shuffle::Full { seed: 3 }] {
            let loader = shards.loader().on_bad(on_bad).shuffle(shuffle).build().unwrap();
            let before = no_more_files();
            let (rows, error) = end(&loader);
            setrlimit(Resource::Nofile, before).unwrap();
            let error = error.unwrap_or_else(|| panic!("{on_bad:?}: {rows} rows and no error"));
            assert_eq!(error.kind(), ErrorKind::Machine, "{on_bad:?}: {error:?}");
            assert!(error.is_machine() && rows % 4 == 0, "{rows}");
            assert!(error.place().path.is_some(), "{error}");
            assert!(loader.bad_samples().is_empty(), "{:?}", loader.bad_samples());
            assert_eq!(loader.ledger().bad().count, 0);
            let (rows, error) = end(&loader);
            assert!(rows == 40 && error.is_none(), "the machine is well again: {error:?}");
        }
    }
}
