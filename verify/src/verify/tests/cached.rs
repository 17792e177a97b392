//! The cache: what is unchanged is not read again, and whatever has changed is.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::*;
use crate::cache::Cache;
use crate::cache::state::State;
use crate::scope::{Budget, Coverage, Scope, Share};

/// Waits until a later change of these files must give them other times.
fn settle(dir: &Path) {
    for found in fs::read_dir(dir).unwrap() {
        let path = found.unwrap().path();
        while !State::of(&fs::metadata(&path).unwrap()).is_settled(SystemTime::now()) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// A set whose files are settled, and a cache beside it.
struct Place {
    dir: tempfile::TempDir,
    cache: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let place = Place { dir: set(), cache: tempfile::tempdir().unwrap() };
        settle(place.dir.path());
        place
    }

    fn scope(&self) -> Scope {
        let cache = Some(Arc::new(Cache::open(self.cache.path()).unwrap()));
        Scope { cache, ..Scope::default() }
    }

    fn verify(&self, options: Options) -> Report {
        verify(&[self.dir.path().to_path_buf()], &options, &|_| {}).unwrap()
    }

    /// Verifies a slice with the cache.
    fn slice(&self, text: &str) -> Coverage {
        let share = Some(Share::slice(text).unwrap());
        let scope = Scope { share, ..self.scope() };
        let report = self.verify(Options { scope, ..options(Level::Full) });
        assert!(report.is_passed(), "{report}");
        report.coverage.unwrap()
    }

    /// Verifies with the cache; returns the report and the number of shards that were not read.
    fn look(&self) -> (Report, u64) {
        let report = self.verify(Options { scope: self.scope(), ..options(Level::Full) });
        let unchanged = report.coverage.as_ref().map_or(0, |coverage| coverage.unchanged);
        (report, unchanged)
    }
}

/// The report as JSON, without what a cache adds.
fn bare(report: &Report) -> serde_json::Value {
    let mut value = serde_json::to_value(report).unwrap();
    let fields = value.as_object_mut().unwrap();
    fields.remove("coverage");
    fields.remove("notes");
    value
}

#[test]
fn an_unchanged_shard_is_not_read_again_and_the_report_is_the_same() {
    let place = Place::new();
    let plain = place.verify(options(Level::Full));
    let (first, unchanged) = place.look();
    assert_eq!((unchanged, bare(&first)), (0, bare(&plain)));
    let (again, unchanged) = place.look();
    assert_eq!((unchanged, bare(&again)), (2, bare(&plain)));
    assert_eq!(again.found, plain.found);
    assert!(
        again.to_string().contains("2 of 2 shards unchanged since they were verified"),
        "{again}"
    );
    // Another level, other options: nothing is known.
    let decode = place.verify(Options { scope: place.scope(), ..options(Level::Decode) });
    assert!(decode.coverage.is_none());
    let json = Some(tarflume_formats::json::JsonRules::Python);
    let other = place.verify(Options { scope: place.scope(), json, ..options(Level::Full) });
    assert!(other.coverage.is_none());
}

/// Every change of a shard, also one that keeps size and time of modification: the shard is read again.
#[test]
fn whatever_has_changed_is_read_again() {
    type Change = fn(&Path);
    fn flip(path: &Path, at: usize) {
        let mut bytes = fs::read(path).unwrap();
        bytes[at] ^= 1;
        fs::write(path, bytes).unwrap();
    }
    let changes: [(&str, Change, bool); 6] = [
        ("a byte", |dir| flip(&dir.join("a.tar"), 600), false),
        (
            "a byte, and the time set back",
            |dir| {
                let tar = dir.join("a.tar");
                let time = fs::metadata(&tar).unwrap().modified().unwrap();
                flip(&tar, 512);
                fs::File::open(&tar).unwrap().set_modified(time).unwrap();
            },
            false,
        ),
        (
            "another file of the same bytes",
            |dir| {
                fs::copy(dir.join("a.tar"), dir.join("new")).unwrap();
                fs::rename(dir.join("new"), dir.join("a.tar")).unwrap();
            },
            true,
        ),
        (
            "a time",
            |dir| {
                let time = SystemTime::now() - Duration::from_secs(100_000);
                fs::File::open(dir.join("a.tar")).unwrap().set_modified(time).unwrap();
            },
            true,
        ),
        (
            "a byte more",
            |dir| {
                let mut bytes = fs::read(dir.join("a.tar")).unwrap();
                bytes.push(0);
                fs::write(dir.join("a.tar"), bytes).unwrap();
            },
            false,
        ),
        ("the sidecar", |dir| flip(&dir.join("a.index"), 300), false),
    ];
    for (what, change, is_sound) in changes {
        let place = Place::new();
        assert!(place.look().0.whole, "{what}");
        change(place.dir.path());
        let (report, unchanged) = place.look();
        assert_eq!(unchanged, 1, "{what}: the other shard is as it was");
        assert_eq!(report.is_passed(), is_sound, "{what}: {report}");
        let (again, _) = place.look();
        assert_eq!(again.is_passed(), is_sound, "{what}: what is damaged is in no record");
    }
}

#[test]
fn random_changes_are_found_as_without_a_cache() {
    let mut rng = SplitMix64::new(5);
    let place = Place::new();
    for _ in 0..40 {
        let name = ["a.tar", "b.tar", "a.index", "b.index"][rng.below(4) as usize];
        let path = place.dir.path().join(name);
        let before = fs::read(&path).unwrap();
        let mut bytes = before.clone();
        let at = rng.below(bytes.len() as u32) as usize;
        bytes[at] ^= 1 << rng.below(8);
        fs::write(&path, bytes).unwrap();
        let (cached, _) = place.look();
        assert_eq!(bare(&cached), bare(&place.verify(options(Level::Full))), "byte {at} of {name}");
        fs::write(&path, before).unwrap();
        let (cached, _) = place.look();
        assert_eq!(bare(&cached), bare(&place.verify(options(Level::Full))), "byte {at} of {name}");
    }
}

#[test]
fn a_damaged_record_is_none() {
    let place = Place::new();
    place.look();
    for found in fs::read_dir(place.cache.path()).unwrap() {
        fs::write(found.unwrap().path(), b"{}").unwrap();
    }
    assert_eq!(place.look().1, 0);
    assert_eq!(place.look().1, 2, "they were written again");
}

#[test]
fn a_verification_without_time_goes_on_where_the_last_one_ended() {
    let place = Place::new();
    for (expected, unchanged) in [(1, 0), (2, 1), (2, 2)] {
        let clock = scoped::ticking();
        let budget = Some(Budget::by_clock(Duration::from_secs(1), clock));
        let scope = Scope { budget, ..place.scope() };
        let report = place.verify(Options { scope, jobs: 1, ..options(Level::Full) });
        let coverage = report.coverage.as_ref().unwrap();
        assert_eq!((coverage.shards, coverage.unchanged), (expected, unchanged), "{report}");
        assert_eq!(report.whole, expected == 2);
    }
}

#[test]
fn a_slice_is_remembered_as_a_slice_and_a_whole_shard_has_each() {
    let place = Place::new();
    let first = place.slice("1/3");
    assert_eq!(first.unchanged, 0);
    let again = place.slice("1/3");
    assert_eq!((again.unchanged, again.bytes), (first.shards, first.bytes));
    assert_eq!(place.slice("2/3").unchanged, 0, "another slice has other samples");
    assert_eq!(place.look().1, 0, "slices are not the whole");
    assert_eq!(place.slice("3/3").unchanged, 2);
}

#[test]
fn a_file_that_has_just_changed_is_not_remembered() {
    let place = Place::new();
    let tar = place.dir.path().join("a.tar");
    let bytes = fs::read(&tar).unwrap();
    // Where the clock of the kernel has ticked meanwhile, the file is settled again.
    fs::write(&tar, &bytes).unwrap();
    let is_settled = State::of(&fs::metadata(&tar).unwrap()).is_settled(SystemTime::now());
    place.look();
    assert!(is_settled || place.look().1 <= 2);
    let inside = Cache::open(&place.dir.path().join("cache"));
    assert!(inside.unwrap_err().text().contains("in a folder that holds a data set"));
}
