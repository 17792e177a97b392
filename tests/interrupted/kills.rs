//! Builds that are killed by SIGKILL before random system calls, and repeated: the bytes are the same.
//! `make faults` kills a hundred of them, `make test` the first sixth.
//!
//! A command is killed before its n-th call on a file, not after a time, so a busy machine kills the
//! same builds. The numbers are random with a fixed seed; `TARFLUME_SEED` sets another one.

use std::fs;

use tarflume_fixtures::{Fault, SplitMix64};

use crate::harness::{Place, assert_same, sampled};
use crate::interrupted::faults::{Class, Deed, Ran, judged};

/// Kills commands before random calls on files.
pub(crate) struct Kills {
    random: SplitMix64,
    /// Calls of the undisturbed command.
    calls: u64,
    /// The number of commands that were killed.
    pub(crate) killed: u32,
}

impl Kills {
    /// Runs a command to its end and counts its calls. Returns `None` if tracing is known to be impossible.
    pub(crate) fn of(place: &Place, undisturbed: &str) -> Option<Kills> {
        let seed = std::env::var("TARFLUME_SEED").ok().and_then(|seed| seed.parse().ok());
        let random = SplitMix64::new(seed.unwrap_or(1));
        let mut calls = 0;
        let ran = judged(place, undisturbed, |_| {
            calls += 1;
            Deed::Go
        })?;
        assert_eq!(ran.exit, 0, "{undisturbed}: {}", ran.stderr);
        assert!(calls > 20, "the tracer sees too little");
        Some(Kills { random, calls, killed: 0 })
    }

    /// Runs a command and kills it before a random call, or before one of the last fifth. Returns false
    /// if it made fewer calls and ended well.
    pub(crate) fn kill(&mut self, place: &Place, words: &str, late: bool) -> bool {
        let permille = if late { self.random.between(800, 1020) } else { self.random.below(1000) };
        let survived = self.calls * u64::from(permille) / 1000;
        let mut calls = 0;
        let ran = judged(place, words, |_| {
            calls += 1;
            if calls > survived { Deed::Kill } else { Deed::Go }
        });
        let Ran { exit, stderr, .. } = ran.expect("it could trace before");
        assert!(exit == 137 || exit == 0, "{words}: {exit}: {stderr}");
        self.killed += u32::from(exit == 137);
        exit == 137
    }

    /// True half of the time.
    pub(crate) fn flip(&mut self) -> bool {
        self.random.below(2) == 0
    }
}

/// Kills a command before it names its n-th record, counted from 0. Returns `None` if tracing is known to be
/// impossible.
pub(crate) fn killed_at_a_record(place: &Place, words: &str, n: u32) -> Option<()> {
    let mut records = 0;
    let ran = judged(place, words, |call| {
        let names = call.class == Class::Name && call.path.ends_with(".record");
        records += u32::from(names);
        if names && records > n { Deed::Kill } else { Deed::Go }
    })?;
    assert_eq!(ran.exit, 137, "{words}: {}", ran.stderr);
    Some(())
}

/// Kills a [`sampled`] number of builds of `source` with these `options`, and compares the result with that of
/// an undisturbed build each time a chain of killed builds was allowed to end.
pub(crate) fn killed(place: &Place, source: &str, options: &str, kills: u32) {
    killed_command(place, &format!("build {source}"), options, kills);
}

/// As [`killed`], for `command`, which is run with `-o`.
pub(crate) fn killed_command(place: &Place, command: &str, options: &str, kills: u32) {
    let undisturbed = format!("{command} -o undisturbed {options}");
    let Some(mut attempts) = Kills::of(place, &undisturbed) else { return };
    let expected = place.tree("undisturbed");
    assert!(!expected.keys().any(|name| name.contains(".pack") || name.ends_with(".tmp")));

    let command = format!("{command} -o out {options}");
    let kills = sampled(kills);
    let mut chains = 0;
    while attempts.killed < kills {
        let _ = fs::remove_dir_all(place.at("out"));
        // Publishing takes only a few calls: half of the first attempts end in the last fifth.
        let mut late = attempts.flip();
        while attempts.killed < kills && attempts.kill(place, &command, late) {
            late = false;
            if place.at("out/dataset.json").try_exists().unwrap() {
                for (name, digest) in &expected {
                    assert_eq!(place.tree("out").get(name), Some(digest), "published before whole");
                }
            }
        }
        place.pack(&command).succeeds();
        assert_same(&place.tree("out"), &expected);
        chains += 1;
    }
    eprintln!("{} builds killed, {chains} times brought to an end", attempts.killed);
}

#[test]
fn a_build_killed_at_random_calls_gives_the_same_bytes() {
    let place = Place::new();
    place.folder("photos", 400);
    killed(&place, "photos", "--shard-samples 6", 30);
}

#[test]
fn a_build_by_one_thread_killed_at_random_calls_gives_the_same_bytes() {
    let place = Place::new();
    place.folder("photos", 400);
    killed(&place, "photos", "--shards 60 --jobs 1 --shuffle 5", 20);
}

#[test]
fn a_build_that_does_not_sync_killed_at_random_calls_gives_the_same_bytes() {
    let place = Place::new();
    place.photos("photos", 300);
    killed(&place, "photos", "--shard-size 32KiB --no-fsync --check decode", 20);
}

#[test]
fn a_build_that_sets_problems_aside_killed_at_random_calls_gives_the_same_bytes() {
    let place = Place::new();
    place.folder("photos", 400);
    for fault in [Fault::BadJson, Fault::CutJpegEnd, Fault::OrphanImage, Fault::EmptyJpeg] {
        fault.plant(&place.at("photos")).unwrap();
    }
    killed(&place, "photos", "--shards 70 --on-problem quarantine --jobs 3", 30);
}
