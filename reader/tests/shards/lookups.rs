//! Sidecars that are read, not mapped: the same samples, the same detected faults, less memory.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use tarflume::internal::{Limits, PartNeeds, ReadPlan, RowDraw};
use tarflume::{Dataset, ErrorKind, Loader, SampleFacts, Shuffle};
use tarflume_formats::index::{IndexBuilder, TarFacts};
use tarflume_formats::index_path;

use crate::shards::harness::{Made, cut};

fn wanted() -> PartNeeds {
    let mut wanted = PartNeeds::new();
    wanted.require("jpg").unwrap();
    wanted.allow("txt").unwrap();
    wanted
}

fn plan_of(dataset: &Dataset, ordinals: impl Iterator<Item = u64>) -> ReadPlan {
    let draws: Vec<_> =
        ordinals.enumerate().map(|(row, ordinal)| RowDraw { row, ordinal, pass: 0 }).collect();
    let mut plan = ReadPlan::new();
    plan.fill(dataset, &draws, &wanted(), Limits::default()).unwrap();
    plan
}

#[test]
fn both_ways_plan_and_read_the_same() {
    fn short(facts: &SampleFacts<'_>) -> bool {
        facts.length("jpg").unwrap() < 2000
    }

    let made = Made::new(&[40, 0, 33, 1]);
    let mapped = Dataset::open(made.path()).unwrap();
    let read = Dataset::open(made.path()).unwrap().with_mapped_sidecars(0);
    let all = (0..mapped.len()).rev();
    let one = plan_of(&mapped, all.clone());
    let two = plan_of(&read, all);
    assert_eq!((one.items(), one.parts()), (two.items(), two.parts()));
    assert_eq!((one.runs(), one.reads()), (two.runs(), two.reads()));
    for (ordinal, (key, parts)) in made.samples().iter().enumerate() {
        let item = two.items().iter().find(|item| item.ordinal == ordinal as u64).unwrap();
        assert_eq!(two.key(item), key.as_bytes());
        let sample = read.get(ordinal as u64).unwrap();
        assert_eq!((sample.key(), sample.parts().len()), (key.as_bytes(), parts.len()));
        sample.verify().unwrap();
        assert_eq!(read.key(ordinal as u64).unwrap(), key.as_bytes());
        assert_eq!(read.get_key(key).unwrap().unwrap().ordinal(), ordinal as u64);
    }
    assert_eq!(read.filter(short).unwrap(), mapped.filter(short).unwrap());
    assert_eq!(read.extensions().unwrap(), mapped.extensions().unwrap());
    read.check().unwrap();
}

#[test]
fn a_loader_gives_the_same_rows() {
    fn rows(dataset: Dataset) -> Vec<(Vec<u8>, Vec<u8>)> {
        let loader =
            Loader::from_dataset(dataset).shuffle(Shuffle::Full { seed: 3 }).bytes("jpg").batch(6);
        let loader = loader.build().unwrap();
        let batches = loader.epoch(1).map(|batch| {
            let batch = batch.unwrap();
            let jpg = batch.column("jpg").unwrap();
            (0..batch.len())
                .map(|row| (batch.key(row).to_vec(), jpg.row(row).to_vec()))
                .collect::<Vec<_>>()
        });
        batches.flatten().collect()
    }

    let made = Made::new(&[40, 5, 33]);
    let dataset = Dataset::open(made.path()).unwrap();
    let read = rows(dataset.with_mapped_sidecars(0));
    assert_eq!(read.len(), 78);
    assert_eq!(read, rows(dataset));
}

#[test]
fn damage_a_cut_and_another_file_are_noticed() {
    fn bad(dataset: &Dataset) -> Vec<(u64, ErrorKind)> {
        let mut plan = plan_of(dataset, 0..dataset.len());
        plan.take_bad().map(|bad| (bad.ordinal, bad.error.kind())).collect::<Vec<_>>()
    }

    fn all_of_the_second(kind: ErrorKind) -> Vec<(u64, ErrorKind)> {
        (9..15).map(|ordinal| (ordinal, kind)).collect::<Vec<_>>()
    }

    fn open(made: &Made) -> Dataset {
        Dataset::open(made.path()).unwrap().with_mapped_sidecars(0)
    }

    let made = Made::new(&[9, 6]);
    let sidecar = index_path(&made.tars[1]);
    let dataset = open(&made);
    assert_eq!(bad(&dataset), []);
    cut(&sidecar, 100);
    assert_eq!(bad(&dataset), all_of_the_second(ErrorKind::Truncated));

    let made = Made::new(&[9, 6]);
    let sidecar = index_path(&made.tars[1]);
    let length = fs::metadata(&sidecar).unwrap().len();
    File::options().write(true).open(&sidecar).unwrap().write_all_at(b"!", length - 1).unwrap();
    let dataset = open(&made);
    assert_eq!(bad(&dataset), all_of_the_second(ErrorKind::Damaged));

    // The sidecar was opened for its head; before its rows are read, another takes its name.
    let made = Made::new(&[9, 6]);
    let sidecar = index_path(&made.tars[1]);
    let dataset = open(&made);
    dataset.open_all().unwrap();
    fs::copy(&sidecar, made.path().join("other")).unwrap();
    fs::rename(made.path().join("other"), &sidecar).unwrap();
    assert_eq!(bad(&dataset), all_of_the_second(ErrorKind::Stale));
}

/// Bytes of this process's memory that are maps of files in `folder`.
fn mapped_bytes(folder: &Path) -> u64 {
    let mut sum = 0;
    let mut ours = false;
    for line in fs::read_to_string("/proc/self/smaps").unwrap().lines() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("Rss:") if ours => sum += words.next().unwrap().parse::<u64>().unwrap() * 1024,
            // The line of a map begins with its addresses; the lines below it with a word and a colon.
            Some(word) if !word.ends_with(':') => {
                ours = line.contains(folder.to_str().unwrap());
            }
            _ => {}
        }
    }
    sum
}

/// Sidecars of 4 MB in all, of tars that are holes.
fn large(folder: &Path) -> u64 {
    let mut bytes = 0;
    for shard in 0..8 {
        let mut index = IndexBuilder::new();
        let mut end = 0;
        for row in 0..5000 {
            index.sample(format!("{shard:02}/{row:08}").as_bytes(), end);
            for (ext, length) in [("jpg", 3000), ("json", 100)] {
                index.part(ext.as_bytes(), end + 512, length, Some(7)).unwrap();
                end += 512 + length.next_multiple_of(512);
            }
        }
        let tar = folder.join(format!("{shard}.tar"));
        File::create(&tar).unwrap().set_len(end + 1024).unwrap();
        let encoded = index.encode(&TarFacts { length: end + 1024, digest: None }).unwrap();
        bytes += encoded.len() as u64;
        fs::write(index_path(&tar), encoded).unwrap();
    }
    bytes
}

/// Looks up every sample.
fn look_everywhere(dataset: &Dataset) {
    let step = 20_011; // has no factor in common with the number of samples
    let ordinals = (0..dataset.len()).map(|n| n * step % dataset.len());
    assert_eq!(plan_of(dataset, ordinals).bad().len(), 0);
}

#[test]
fn lookups_by_reads_leave_nothing_mapped() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = large(folder.path());
    let dataset = Dataset::open(folder.path()).unwrap();
    let read = dataset.with_mapped_sidecars(bytes - 1);
    let before = mapped_bytes(folder.path());
    look_everywhere(&read);
    assert_eq!(mapped_bytes(folder.path()), before, "no page more");
    read.filter(|_| true).unwrap();
    read.find(b"05/00000007").unwrap().unwrap();
    assert!(mapped_bytes(folder.path()) < bytes / 4, "what was mapped in between is let go");
    look_everywhere(&dataset.with_mapped_sidecars(bytes));
    assert!(mapped_bytes(folder.path()) > bytes * 3 / 4);
}
