//! Entry points of JPEG parts: from the sidecar into plans and samples that request them.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use tarflume::internal::{Limits, PartNeeds, ReadPlan, RowDraw};
use tarflume::{Dataset, ErrorKind};
use tarflume_formats::index::layout::{self as l, at};
use tarflume_formats::{Durability, ShardWriter, index_path};

const SAMPLES: u64 = 300;

/// Those of the picture of a sample: every fourth has none.
fn points(ordinal: u64) -> Option<Vec<u8>> {
    (!ordinal.is_multiple_of(4))
        .then(|| (0..100 + ordinal % 90).map(|n| (n * ordinal) as u8).collect())
}

/// Two shards with `jpg`, `json` and `other.jpg`; of the other picture the entry points are its length.
fn made(folder: &Path) {
    for (name, range) in [("0.tar", 0..200), ("1.tar", 200..SAMPLES)] {
        let mut shard = ShardWriter::create(folder, name).unwrap();
        for ordinal in range {
            shard.begin(format!("{ordinal:04}").as_bytes());
            shard.part(b"jpg", 1000).unwrap().fill(ordinal as u8);
            shard.entry_points(&points(ordinal).unwrap_or_default());
            shard.part(b"json", 2).unwrap().copy_from_slice(b"{}");
            shard.part(b"other.jpg", 700).unwrap().fill(ordinal as u8);
            shard.entry_points(b"700");
            shard.commit(None).unwrap();
        }
        shard.finish().unwrap().publish(folder, name, Durability::Cached).unwrap();
    }
}

fn both_ways(folder: &Path) -> [Dataset; 2] {
    let mapped = Dataset::open(folder).unwrap();
    [mapped.with_mapped_sidecars(0), mapped]
}

/// Needs pictures with entry points, and others without.
fn wanted() -> PartNeeds {
    let mut wanted = PartNeeds::new();
    wanted.require("other.jpg").unwrap();
    let jpg = wanted.require("png;jpg").unwrap();
    let absent = wanted.allow("webp").unwrap();
    wanted.with_entry_points(jpg);
    wanted.with_entry_points(absent);
    wanted
}

fn plan_of(dataset: &Dataset, wanted: &PartNeeds, entry_points: u64) -> ReadPlan {
    let draws =
        (0..SAMPLES).rev().map(|n| RowDraw { row: (SAMPLES - n) as usize, ordinal: n, pass: 0 });
    let draws: Vec<_> = draws.collect();
    let mut plan = ReadPlan::new();
    let limits = Limits { entry_points, ..Limits::default() };
    for _ in 0..2 {
        plan.fill(dataset, &draws, wanted, limits).unwrap();
    }
    plan
}

#[test]
fn plans_contain_the_requested_entry_points() {
    let folder = tempfile::tempdir().unwrap();
    made(folder.path());
    for dataset in both_ways(folder.path()) {
        let plan = plan_of(&dataset, &wanted(), 1 << 20);
        assert_eq!((plan.items().len() as u64, plan.bad().len()), (SAMPLES, 0));
        for item in plan.items() {
            let found: Vec<_> =
                plan.parts_of(item).iter().map(|part| plan.entry_points(part)).collect();
            assert_eq!(found, [None, points(item.ordinal).as_deref(), None]);
        }
        let mut without = PartNeeds::new();
        without.require("jpg").unwrap();
        let plan = plan_of(&dataset, &without, 1 << 20);
        assert!(plan.parts().iter().all(|part| plan.entry_points(part).is_none()));
    }
}

#[test]
fn entry_points_over_the_limit_are_dropped_and_no_sample_is_bad() {
    let folder = tempfile::tempdir().unwrap();
    made(folder.path());
    for dataset in both_ways(folder.path()) {
        for most in [0, 99, 1000, 20_000] {
            let plan = plan_of(&dataset, &wanted(), most);
            assert_eq!((plan.items().len() as u64, plan.bad().len()), (SAMPLES, 0));
            let mut bytes = 0;
            let mut missing = 0;
            for item in plan.items() {
                match plan.entry_points(&plan.parts_of(item)[1]) {
                    Some(found) => {
                        assert_eq!(Some(found), points(item.ordinal).as_deref());
                        bytes += found.len() as u64;
                    }
                    None => missing += u64::from(item.ordinal % 4 > 0),
                }
            }
            assert!(bytes <= most && bytes + 200 > most.min(200), "{bytes} of {most}");
            assert!(missing > 0);
        }
    }
}

#[test]
fn a_sample_has_the_entry_points_of_its_parts() {
    let folder = tempfile::tempdir().unwrap();
    made(folder.path());
    for dataset in both_ways(folder.path()) {
        for ordinal in 0..SAMPLES {
            let sample = dataset.get(ordinal).unwrap();
            assert_eq!(sample.entry_points("JPG"), points(ordinal).as_deref());
            assert_eq!(sample.parts()[0].entry_points(), points(ordinal).as_deref());
            assert_eq!(sample.entry_points("other.jpg"), Some(&b"700"[..]));
            assert_eq!((sample.entry_points("json"), sample.entry_points("png")), (None, None));
            let sample = dataset.get_parts(ordinal, &["other.jpg"]).unwrap();
            assert_eq!(sample.entry_points("other.jpg"), Some(&b"700"[..]));
            assert_eq!(sample.entry_points("jpg"), None);
        }
    }
}

/// The section of entry points is damaged near its end: some of the samples that request them are bad.
#[test]
fn damaged_entry_points_are_errors_only_for_decoders_that_want_them() {
    let folder = tempfile::tempdir().unwrap();
    made(folder.path());
    let sidecar = index_path(folder.path().join("1.tar"));
    let bytes = fs::read(&sidecar).unwrap();
    let mut lines = (l::FIXED..).step_by(l::SECTION);
    let line = lines.find(|&line| bytes[line..line + 4] == l::POINTS).unwrap();
    let [start, length, body] = [line + 8, line + 16, at::BODY]
        .map(|at| u32::from_le_bytes(bytes[at..][..4].try_into().unwrap()) as usize);
    let block = body + (start + length - 1 - body) / l::CHECK_BLOCK * l::CHECK_BLOCK;
    assert!(block > start, "entry points fill more than a block");
    let file = File::options().write(true).open(&sidecar).unwrap();
    file.write_all_at(&[!bytes[start + length - 1]], (start + length - 1) as u64).unwrap();
    for dataset in both_ways(folder.path()) {
        let plan = plan_of(&dataset, &wanted(), 1 << 20);
        assert!(!plan.bad().is_empty() && plan.bad().len() < 100, "{}", plan.bad().len());
        for bad in plan.bad() {
            assert!(bad.ordinal >= 200);
            let place = bad.error.place();
            assert_eq!(bad.error.kind(), ErrorKind::Damaged, "{}", bad.error);
            assert_eq!((place.path.as_deref(), place.byte), (Some(&*sidecar), Some(block as u64)));
            assert_eq!(place.key.as_deref(), Some(&*format!("{:04}", bad.ordinal)));
        }
        let good = plan.items().iter().filter(|item| item.ordinal >= 200).count();
        assert_eq!(good + plan.bad().len(), 100);
        for item in plan.items() {
            let found = plan.entry_points(&plan.parts_of(item)[1]);
            assert_eq!(found, points(item.ordinal).as_deref());
        }
        let mut without = PartNeeds::new();
        without.require("jpg").unwrap();
        assert!(plan_of(&dataset, &without, 1 << 20).bad().is_empty());
        assert_eq!(dataset.get(SAMPLES - 1).unwrap_err().kind(), ErrorKind::Damaged);
    }
}
