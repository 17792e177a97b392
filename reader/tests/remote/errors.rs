//! Errors of stores have the kinds and causes of the same errors of files.

use std::error::Error as _;
use std::io;

use tarflume::{Dataset, Error, ErrorKind, OnBad, Shuffle, Storage};
use tarflume_store::Store;
use tarflume_store::simulated::Fault;
use tarflume_store::simulated::listener::{Listener, Reply};

use super::{Set, loader};

fn cause(error: &Error) -> Option<io::ErrorKind> {
    error.source().and_then(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind)
}

#[test]
fn a_data_set_that_is_not_there_is_the_same_error_in_a_store_and_in_a_folder() {
    let folder = Dataset::open("no/such/folder").unwrap_err();
    let set = Set::new();
    let mut found = vec![("folder", folder)];
    let none = Store::open("s3://bucket/none", &set.server.options()).unwrap();
    let bucket = Storage::new().store(none).sidecars(set.sidecars.path());
    found.push(("bucket", Dataset::open_with("s3://bucket/none", &bucket).unwrap_err()));
    let server = Listener::start(|_| Reply::new(404, ""));
    let web = Storage::new().option("allow_http", "true").unwrap().sidecars(set.sidecars.path());
    found.push(("web", Dataset::open_with(server.url().as_str(), &web).unwrap_err()));
    for (place, error) in found {
        assert_eq!(error.kind(), ErrorKind::Io, "{place}: {error}");
        assert!(!error.is_machine(), "a retry of {place} is in vain: {error}");
        assert_eq!(cause(&error), Some(io::ErrorKind::NotFound), "{place}: {error}");
    }
}

#[test]
fn a_shard_that_vanishes_from_a_store_is_no_bad_sample() {
    let set = Set::new();
    let built = loader(set.remote(), Shuffle::None).on_bad(OnBad::Skip).build().unwrap();
    set.server.plan(|asked| asked.range.map(|_| Fault::Refused(404, "NoSuchKey")));
    let error = built.epoch(0).find_map(Result::err).unwrap();
    assert_eq!((error.kind(), error.is_machine()), (ErrorKind::Io, false), "{error:?}");
    assert_eq!(cause(&error), Some(io::ErrorKind::NotFound));
    assert!(built.bad_samples().is_empty());
}

#[test]
fn a_network_that_fails_has_its_own_kind_and_a_retry_is_worth_it() {
    let set = Set::new();
    let built = loader(set.remote(), Shuffle::None).on_bad(OnBad::Skip).build().unwrap();
    set.server.plan(|asked| asked.range.map(|_| Fault::Refused(400, "Broken")));
    let error = built.epoch(0).find_map(Result::err).unwrap();
    assert_eq!((error.kind(), error.is_machine()), (ErrorKind::Network, true), "{error:?}");
    assert!(built.bad_samples().is_empty());
}
