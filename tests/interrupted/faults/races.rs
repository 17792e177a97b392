//! Another command publishes and removes the working folder between two calls of this one: no
//! command may fail for that.

use std::fs;

use super::guarded::judged;
use super::sweep::copy;
use super::tracer::{Call, Deed};
use crate::harness::Place;

/// A place with a plan in `out`, finished but not published, and the published data set in `whole`.
fn finished() -> Place {
    let place = Place::new();
    place.folder("photos", 6);
    place.pack("build photos -o whole --shards 2").succeeds();
    place.pack("plan photos -o out --shards 2").succeeds();
    place.pack("run out").succeeds();
    place
}

/// Performs the changes of another command that publishes at that moment.
fn publish(place: &Place) {
    fs::remove_dir_all(place.at("out")).unwrap();
    copy(&place.at("whole"), &place.at("out"));
}

/// Runs a command and calls `deed` before the call selected by `is`; returns the exit code and the
/// output, `None` if tracing is not permitted.
fn between(
    place: &Place,
    words: &str,
    is: impl Fn(&Call) -> bool,
    deed: impl Fn(),
) -> Option<(i32, String)> {
    let mut done = false;
    let ran = judged(place, words, |call| {
        if !done && is(call) {
            done = true;
            deed();
        }
        Deed::Go
    })?;
    assert!(done, "{words}: the call was not made");
    Some((ran.exit, ran.stderr))
}

fn is(name: &'static str, path: &'static str) -> impl Fn(&Call) -> bool {
    move |call| call.name == name && call.path == path
}

#[test]
fn a_working_folder_removed_before_its_lock_is_taken_is_made_again() {
    for call in [
        is("openat", "out/.pack/lock"),
        is("flock", "out/.pack/lock"),
        is("mkdir", "out/.pack/shards"),
    ] {
        for words in ["build photos -o out --shards 2", "plan photos -o out --shards 2"] {
            let place = Place::new();
            place.folder("photos", 6).pack("build photos -o whole --shards 2").succeeds();
            fs::create_dir(place.at("out")).unwrap();
            let gone = || fs::remove_dir_all(place.at("out/.pack")).unwrap();
            let Some((exit, stderr)) = between(&place, words, &call, gone) else { return };
            assert_eq!(exit, 0, "{words}: {stderr}");
            place.pack("build photos -o out --shards 2").succeeds();
            place.same("out", "whole");
        }
    }
}

#[test]
fn a_lock_that_was_removed_is_no_lock() {
    let place = Place::new();
    place.folder("photos", 6).pack("plan photos -o out --shards 2").succeeds();
    let mut taken = 0;
    let mut kept = None;
    let ran = judged(&place, "plan photos -o out --shards 2", |call| {
        if call.name == "flock" && call.path.starts_with("out/.pack/lock") {
            taken += 1;
            if taken == 1 {
                fs::remove_file(place.at("out/.pack/lock")).unwrap();
            }
        }
        if taken == 2 && kept.is_none() {
            kept = Some(place.at("out/.pack/lock").try_exists().unwrap());
        }
        Deed::Go
    });
    let Some(ran) = ran else { return };
    assert_eq!((ran.exit, taken, kept), (0, 2, Some(true)), "{}", ran.stderr);
}

#[test]
fn a_data_set_published_while_its_plan_is_read_is_found() {
    for words in ["finalize out", "run out", "status out"] {
        let place = finished();
        let publish = || publish(&place);
        let call = is("openat", "out/.pack/plan");
        let Some((exit, stderr)) = between(&place, words, call, publish) else { return };
        assert_eq!(exit, 0, "{words}: {stderr}");
        place.same("out", "whole");
    }
}

#[test]
fn a_finalize_that_waits_for_its_lock_finds_the_published_data_set() {
    let place = finished();
    let publish = || publish(&place);
    let call = is("openat", "out/.pack/lock");
    let Some((exit, stderr)) = between(&place, "finalize out", call, publish) else { return };
    assert_eq!(exit, 0, "{stderr}");
    place.same("out", "whole");
}

#[test]
fn a_late_run_succeeds_while_the_plan_still_exists() {
    let place = finished();
    for name in place.names("out/.pack/shards") {
        fs::remove_file(place.at("out/.pack/shards").join(name)).unwrap();
    }
    let publish = || {
        fs::copy(place.at("out/.pack/plan"), place.at("plan")).unwrap();
        publish(&place);
        fs::create_dir(place.at("out/.pack")).unwrap();
        fs::rename(place.at("plan"), place.at("out/.pack/plan")).unwrap();
    };
    let source = is("openat", "photos/c0000/s000000.json");
    let Some((exit, stderr)) = between(&place, "run out --jobs 1", source, publish) else { return };
    assert_eq!(exit, 0, "{stderr}");
    place.pack("finalize out").succeeds();
    place.same("out", "whole");
}
