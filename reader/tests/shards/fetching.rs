//! Merged reads compared with single ones: the bytes are the same, whatever the draws and the merging.

use std::collections::BTreeSet;

use proptest::prelude::*;
use tarflume::internal::{Limits, PartNeeds, ReadPlan, RowDraw, RunBytes, UnreadableSample};
use tarflume::{Dataset, ErrorKind, SourceKind, Verify};

use crate::shards::harness::{KINDS, Made, Watched};

fn draws(ordinals: &[u64]) -> Vec<RowDraw> {
    ordinals.iter().enumerate().map(|(row, &ordinal)| RowDraw { row, ordinal, pass: 0 }).collect()
}

fn jpg_and_json() -> PartNeeds {
    let mut wanted = PartNeeds::new();
    wanted.require("jpg").unwrap();
    wanted.require("json").unwrap();
    wanted
}

/// The parts of every row, by need; and what is bad.
type Read = (Vec<Option<Vec<Option<Vec<u8>>>>>, Vec<UnreadableSample>);

/// Plans and reads all draws.
fn read(
    dataset: &Dataset,
    plan: &mut ReadPlan,
    fetched: &mut RunBytes,
    draws: &[RowDraw],
    wanted: &PartNeeds,
    limits: Limits,
) -> Read {
    plan.fill(dataset, draws, wanted, limits).unwrap();
    let mut slots = vec![None; draws.len()];
    let mut bad: Vec<_> = plan.take_bad().collect();
    for run in plan.run_views() {
        RunBytes::advise(dataset, run);
        fetched.read(dataset, run, &mut bad);
        for item in run.items().filter(|item| fetched.has(item.number())) {
            fetched.verify(dataset, item, wanted, Verify::All, 0).unwrap();
            let parts = item.parts().iter();
            let parts = parts.map(|part| part.ext.map(|_| fetched.bytes(part).to_vec())).collect();
            assert!(slots[item.row()].replace(parts).is_none(), "a row is filled once");
        }
        fetched.check().unwrap();
    }
    (slots, bad)
}

/// What the limits promise of every run.
fn runs_keep_their_limits(plan: &ReadPlan, limits: Limits) {
    let mut items = 0;
    for run in plan.runs() {
        assert_eq!(run.items.start, items, "runs take in all items, in their order");
        items = run.items.end;
        let reads = &plan.reads()[run.reads.clone()];
        assert_eq!(run.bytes, reads.iter().map(|read| read.length).sum::<u64>());
        assert!(run.bytes <= limits.run || run.items.len() == 1, "{run:?}");
        let shards: BTreeSet<_> =
            plan.items()[run.items.clone()].iter().map(|item| item.shard).collect();
        assert_eq!(shards.into_iter().collect::<Vec<_>>(), [run.shard]);
        for pair in reads.windows(2) {
            assert!(pair[1].start > pair[0].start + pair[0].length + limits.gap, "{reads:?}");
        }
    }
    assert_eq!(items, plan.items().len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn merged_reads_equal_single_reads(
        batches in prop::collection::vec(prop::collection::vec(0u64..40, 0..60), 1..4),
        gap in prop::sample::select(vec![0u64, 1, 300, 1024, 5000, 1 << 20]),
        run in prop::sample::select(vec![0u64, 1000, 8000, 1 << 20]),
        needs in prop::collection::vec(
            prop::sample::select(vec!["jpg", "json", "txt", "png;jpg", "txt;json", "none"]), 0..4),
    ) {
        let made = Made::new(&[17, 0, 3, 20]);
        let expected = made.samples();
        let mut wanted = PartNeeds::new();
        needs.iter().for_each(|exts| { wanted.allow(exts).unwrap(); });
        let limits = Limits { gap, run, ..Limits::default() };
        for kind in KINDS {
            let dataset = Dataset::open(made.path()).unwrap().with_source(kind);
            let (mut plan, mut fetched) = (ReadPlan::new(), RunBytes::new());
            for ordinals in &batches {
                let draws = draws(ordinals);
                let (slots, bad) =
                    read(&dataset, &mut plan, &mut fetched, &draws, &wanted, limits);
                prop_assert!(bad.is_empty());
                runs_keep_their_limits(&plan, limits);
                for (draw, parts) in draws.iter().zip(slots) {
                    let have = &expected[draw.ordinal as usize].1;
                    let expected: Vec<_> = needs
                        .iter()
                        .map(|exts| exts.split(';').find_map(|ext| have.get(ext).cloned()))
                        .collect();
                    prop_assert_eq!(parts.unwrap(), expected);
                }
            }
        }
    }
}

#[test]
fn json_alone_is_read_without_a_byte_of_the_pictures() {
    let made = Made::new(&[60]);
    let mut wanted = PartNeeds::new();
    wanted.require(".json").unwrap();
    wanted.allow("txt").unwrap();
    for kind in KINDS {
        let watched = Watched::new(kind, None);
        let dataset = Dataset::open(made.path()).unwrap().with_opener(watched.clone());
        let all: Vec<u64> = (0..60).collect();
        let limits = Limits { gap: 0, run: 1 << 20, ..Limits::default() };
        let (_, bad) = read(
            &dataset,
            &mut ReadPlan::new(),
            &mut RunBytes::new(),
            &draws(&all),
            &wanted,
            limits,
        );
        assert!(bad.is_empty());
        let index = dataset.shard(0).index().unwrap();
        let touched = watched.take();
        assert!(touched.len() >= 60);
        for sample in index.iter() {
            let jpg = sample.unwrap().part(b"jpg").unwrap().unwrap();
            assert_eq!(
                touched.iter().find(|&&(at, length): &&(u64, u64)| {
                    at < jpg.offset + jpg.length && jpg.offset < at + length
                }),
                None
            );
        }
    }
}

#[test]
fn neighbors_are_one_read_and_strangers_are_not() {
    let made = Made::new(&[100]);
    let dataset = Dataset::open(made.path()).unwrap();
    let mut plan = ReadPlan::new();
    let mut runs = |ordinals: &[u64], limits| {
        plan.fill(&dataset, &draws(ordinals), &jpg_and_json(), limits).unwrap();
        (plan.runs().len(), plan.reads().len())
    };
    let small = Limits { gap: 4096, run: 1 << 20, ..Limits::default() };
    assert_eq!(runs(&[9, 3, 5, 4, 8, 6, 7], small), (1, 1));
    assert_eq!(runs(&[90, 3, 4, 91], small), (2, 2));
    assert_eq!(runs(&[5, 5, 5], small), (1, 1));
    assert_eq!(runs(&(0..100).collect::<Vec<_>>(), small), (1, 1));
    assert_eq!(runs(&(0..100).collect::<Vec<_>>(), Limits { run: 0, ..small }), (100, 100));
    assert_eq!(runs(&[], small), (0, 0));
}

#[test]
fn a_missing_part_is_bad_in_its_place_and_the_rest_is_read() {
    let made = Made::new(&[9]);
    let dataset = Dataset::open(made.path()).unwrap();
    let mut wanted = jpg_and_json();
    wanted.require("txt;text").unwrap(); // samples 0, 3 and 6 have it
    let draws = draws(&[0, 1, 2, 3]);
    let limits = Limits::default();
    let (slots, bad) =
        read(&dataset, &mut ReadPlan::new(), &mut RunBytes::new(), &draws, &wanted, limits);
    assert_eq!(slots.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, false, true]);
    assert_eq!(bad.iter().map(|b| (b.row, b.ordinal)).collect::<Vec<_>>(), [(1, 1), (2, 2)]);
    let error = &bad[0].error;
    assert_eq!(error.kind(), ErrorKind::MissingPart);
    assert_eq!(error.place().key.as_deref(), Some("k00001"));
    assert!(error.place().path.as_ref().unwrap().ends_with("s-0.tar"));
    assert!(error.text().contains("'txt' or 'text'"), "{error}");
    let mut plan = ReadPlan::new();
    let past = plan.fill(&dataset, &[RowDraw { row: 0, ordinal: 9, pass: 0 }], &wanted, limits);
    assert_eq!(past.unwrap_err().kind(), ErrorKind::Usage);
    assert_eq!(PartNeeds::new().require(" ; ").unwrap_err().kind(), ErrorKind::Usage);
}

#[test]
fn the_first_listed_alternative_is_used() {
    let made = Made::new(&[3]);
    let dataset = Dataset::open(made.path()).unwrap();
    let mut wanted = PartNeeds::new();
    wanted.require("png;txt;json;jpg").unwrap();
    let mut plan = ReadPlan::new();
    plan.fill(&dataset, &draws(&[0, 1, 2]), &wanted, Limits::default()).unwrap();
    let found: Vec<_> =
        plan.items().iter().map(|item| wanted.ext(plan.parts_of(item)[0].ext.unwrap())).collect();
    assert_eq!(found, ["txt", "json", "json"]);
}

#[test]
fn in_a_run_with_a_read_error_only_the_affected_samples_are_bad() {
    let made = Made::new(&[10]);
    let whole = Dataset::open(made.path()).unwrap();
    let hit = whole.shard(0).index().unwrap().sample(4).unwrap().unwrap();
    let byte = hit.part(b"jpg").unwrap().unwrap().offset + 1;
    let dataset = whole.with_opener(Watched::new(SourceKind::File, Some(byte)));
    let all: Vec<u64> = (0..10).collect();
    let (slots, bad) = read(
        &dataset,
        &mut ReadPlan::new(),
        &mut RunBytes::new(),
        &draws(&all),
        &jpg_and_json(),
        Limits::default(),
    );
    assert_eq!(bad.iter().map(|b| b.ordinal).collect::<Vec<_>>(), [4]);
    assert_eq!(bad[0].error.place().key.as_deref(), Some("k00004"));
    assert!(bad[0].error.text().contains("lost this byte"));
    for (ordinal, (parts, (_, have))) in slots.iter().zip(made.samples()).enumerate() {
        if ordinal != 4 {
            let expected = [Some(have["jpg"].clone()), Some(have["json"].clone())];
            assert_eq!(parts.as_deref(), Some(&expected[..]));
        }
    }
}

#[test]
fn one_sample_in_sixty_four_is_verified() {
    let picked = (0..64_000).filter(|&n| Verify::Sampled.picks(n, 1)).count();
    assert!((850..1150).contains(&picked), "{picked}");
    assert!(Verify::All.picks(5, 1) && !Verify::Off.picks(5, 1));
}
