//! Builds that are killed by SIGKILL at random instants, a hundred of them, and repeated: the bytes
//! are the same.
//!
//! The instants are truly random; a failure prints the seed, and `TARFLUME_SEED` sets it again.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use tarflume_fixtures::{Fault, SplitMix64};

use crate::harness::{Place, assert_same};

/// Kills this many builds of `source` with these `options`, and compares the result with that of an
/// undisturbed build each time a chain of killed builds was allowed to end.
pub(crate) fn killed(place: &Place, source: &str, options: &str, kills: u32) {
    killed_command(place, &format!("build {source}"), options, kills);
}

/// As [`killed`], for `command`, which is run with `-o`.
pub(crate) fn killed_command(place: &Place, command: &str, options: &str, kills: u32) {
    let given = std::env::var("TARFLUME_SEED").ok().and_then(|seed| seed.parse().ok());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let seed: u64 = given.unwrap_or(u64::from(now.subsec_nanos()));
    eprintln!("TARFLUME_SEED={seed}");
    let mut random = SplitMix64::new(seed);
    let undisturbed = place.pack(&format!("{command} -o undisturbed {options}")).succeeds();
    let expected = place.tree("undisturbed");
    assert!(!expected.keys().any(|name| name.contains(".pack") || name.ends_with(".tmp")));

    let command = format!("{command} -o out {options}");
    let (mut killed, mut chains) = (0, 0);
    while killed < kills {
        let _ = fs::remove_dir_all(place.at("out"));
        let mut first = true;
        while killed < kills {
            // Publishing takes only a moment: half of the first attempts end in the last fifth.
            let late = first && random.below(2) == 0;
            let permille = if late { random.between(800, 1050) } else { random.below(1000) };
            first = false;
            let child = place.start(&command);
            std::thread::sleep(undisturbed.took * permille / 1000);
            let run = child.kill();
            if run.exit != 137 {
                run.succeeds(); // it was done before
                break;
            }
            killed += 1;
            if place.at("out/dataset.json").exists() {
                for (name, digest) in &expected {
                    assert_eq!(place.tree("out").get(name), Some(digest), "published before whole");
                }
            }
        }
        place.pack(&command).succeeds();
        assert_same(&place.tree("out"), &expected);
        chains += 1;
        assert!(chains < 10 * kills, "builds end before they can be killed: pack more");
    }
    eprintln!("{killed} builds killed, {chains} times brought to an end");
}

#[test]
fn a_build_killed_at_random_instants_gives_the_same_bytes() {
    let place = Place::new();
    place.folder("photos", 400);
    killed(&place, "photos", "--shard-samples 6", 30);
}

#[test]
fn a_build_by_one_thread_killed_at_random_instants_gives_the_same_bytes() {
    let place = Place::new();
    place.folder("photos", 400);
    killed(&place, "photos", "--shards 60 --jobs 1 --shuffle 5", 20);
}

#[test]
fn a_build_that_does_not_sync_killed_at_random_instants_gives_the_same_bytes() {
    let place = Place::new();
    place.photos("photos", 300);
    killed(&place, "photos", "--shard-size 32KiB --no-fsync --check decode", 20);
}

#[test]
fn a_build_that_sets_problems_aside_killed_at_random_instants_gives_the_same_bytes() {
    let place = Place::new();
    place.folder("photos", 400);
    for fault in [Fault::BadJson, Fault::NoEoi, Fault::OrphanImage, Fault::EmptyJpeg] {
        fault.plant(&place.at("photos")).unwrap();
    }
    killed(&place, "photos", "--shards 70 --on-problem quarantine --jobs 3", 30);
}
