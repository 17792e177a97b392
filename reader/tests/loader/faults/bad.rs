//! Bad samples: found, named, skipped or replaced, counted, and reported.

use std::fs;

use tarflume::{
    Batch, Error, ErrorKind, Ledger, Loader, LoaderBuilder, OnBad, Remainder, Resize, RowState,
    Shuffle, Split, Verify,
};

use crate::loader::harness::{Shards, bin, json, key, parts};
use crate::loader::order::orders::sum;
use crate::loader::truth::{batches, is_true};

const SAMPLES: u64 = 60;
/// Ordinals of the samples with damaged JSON, without text, and with a flipped bit in `bin`.
const NO_JSON: u64 = 5;
const NO_TEXT: u64 = 30;
const FLIPPED: u64 = 44;
const BAD: [u64; 3] = [NO_JSON, NO_TEXT, FLIPPED];

/// Two shards, in which three samples are bad, each in its own way.
fn spoilt() -> Shards {
    let shards = Shards { dir: tempfile::tempdir().unwrap() };
    shards.write(0, (0..25).map(|o| (key(o), spoilt_parts(o))));
    shards.write(1, (25..SAMPLES).map(|o| (key(o), spoilt_parts(o))));
    let mut tar = fs::read(shards.shard(1)).unwrap();
    let flipped = bin(FLIPPED);
    let at = tar.windows(flipped.len()).position(|bytes| bytes == flipped).unwrap();
    tar[at] ^= 1;
    fs::write(shards.shard(1), tar).unwrap();
    shards
}

fn spoilt_parts(o: u64) -> Vec<(&'static str, Vec<u8>)> {
    let mut parts = parts(o);
    match o {
        NO_JSON => parts[1].1 = br#"{"class": 5,"#.to_vec(),
        NO_TEXT => drop(parts.pop()),
        _ => {}
    }
    parts
}

fn loader(shards: &Shards, on_bad: OnBad) -> LoaderBuilder {
    shards.loader().label("json", "/class").verify(Verify::All).on_bad(on_bad)
}

fn all(loader: &Loader, epoch: u64) -> Vec<Batch> {
    loader.epoch(epoch).map(Result::unwrap).collect()
}

/// The error at the end of an epoch, and how many batches came before it.
fn end(loader: &Loader) -> (usize, Error) {
    let mut epoch = loader.epoch(0);
    let mut came = 0;
    loop {
        match epoch.next().expect("an error before the end") {
            Ok(_) => came += 1,
            Err(error) => {
                assert!(epoch.next().is_none(), "nothing comes after an error");
                return (came, error);
            }
        }
    }
}

#[test]
fn an_error_comes_in_its_place_with_path_and_reason() {
    let shards = spoilt();
    for (first, kind, words) in [
        (NO_JSON, ErrorKind::Decode, "column 'label'"),
        (NO_TEXT, ErrorKind::MissingPart, "no part 'txt'"),
        (FLIPPED, ErrorKind::Damaged, "checksum"),
    ] {
        for threads in [1, 4] {
            let loader = loader(&shards, OnBad::Error).skip(first - 3).threads(threads);
            let loader = loader.batch(2).build().unwrap();
            let (came, error) = end(&loader);
            assert_eq!((came, error.kind()), (1, kind), "{error}");
            let place = error.place();
            assert_eq!(place.key, Some(key(first)), "{error}");
            assert_eq!(place.path, Some(shards.shard(usize::from(first >= 25))));
            let tar = fs::read(place.path.as_ref().unwrap()).unwrap();
            let byte = place.byte.expect("the byte") as usize;
            assert!(byte > 0 && byte < tar.len(), "{error}");
            assert!(error.to_string().contains(words), "{error}");
            assert_eq!(loader.state().position(), 2, "the failed batch begins here");
            let again = self::loader(&shards, OnBad::Error).skip(first - 3).batch(2);
            let again = again.resume(loader.state()).build().unwrap();
            assert_eq!(again.epoch(0).next().unwrap().unwrap_err().kind(), kind);
            assert!(loader.epoch(0).next().unwrap().is_ok(), "an epoch begun again begins anew");
        }
    }
}

#[test]
fn the_error_of_the_lowest_row_wins_whatever_the_threads() {
    let shards = spoilt();
    for seed in 0..20 {
        let [one, four] = [1, 4].map(|threads| {
            let loader = loader(&shards, OnBad::Error).shuffle(Shuffle::Full { seed });
            let loader = loader.batch(SAMPLES).threads(threads).build().unwrap();
            let lowest = (0..SAMPLES)
                .map(|at| loader.order().ordinal(0, at).unwrap().unwrap())
                .find(|ordinal| BAD.contains(ordinal))
                .unwrap();
            let error = end(&loader).1;
            assert_eq!(error.place().key, Some(key(lowest)));
            error.to_string()
        });
        assert_eq!(one, four);
    }
}

#[test]
fn skipped_rows_are_closed_up_and_steps_stay_equal() {
    let shards = spoilt();
    for shuffle in [Shuffle::None, Shuffle::Full { seed: 2 }] {
        let loader = loader(&shards, OnBad::Skip).shuffle(shuffle).batch(7).build().unwrap();
        let mut skipped = Vec::new();
        let came = all(&loader, 0);
        assert_eq!(came.len() as u64, loader.steps().unwrap());
        for batch in &came {
            is_true(batch);
            let labels = batch.column("label").unwrap();
            let expected: Vec<i64> = batch.ordinals().map(|o| (o % 10) as i64).collect();
            assert_eq!(labels.elements::<i64>().unwrap(), expected);
            let gone = batch.planned().iter().filter(|row| row.state == RowState::Skipped);
            let gone: Vec<_> = gone.map(|row| row.planned).collect();
            assert_eq!(batch.len() + gone.len(), 7);
            skipped.extend(gone);
        }
        skipped.sort_unstable();
        let reported: Vec<_> = loader.bad_samples().iter().map(|bad| bad.ordinal).collect();
        assert_eq!(skipped, reported);
        assert_eq!(loader.ledger().bad().count, skipped.len() as u64);
        assert_eq!(loader.ledger().planned(), loader.expected(0).unwrap().planned());
    }
}

/// What stood in for whom in epoch 0, over all ranks; sorted.
fn substitutes(
    shards: &Shards,
    world: u64,
    change: impl Fn(LoaderBuilder) -> LoaderBuilder,
) -> Vec<(u64, u64)> {
    let mut found: Vec<_> = Vec::new();
    let mut ledger: Option<Ledger> = None;
    let mut expected = None;
    for rank in 0..world {
        let loader = loader(shards, OnBad::Substitute).shuffle(Shuffle::Full { seed: 8 });
        let loader = loader.remainder(Remainder::Uneven).split(Split::new(rank, world).unwrap());
        let loader = change(loader).build().unwrap();
        for batch in all(&loader, 0) {
            is_true(&batch);
            for row in batch.rows() {
                assert!(!BAD.contains(&row.ordinal), "never another bad one");
                assert_eq!(row.state == RowState::Replaced, BAD.contains(&row.planned));
                if row.state == RowState::Replaced {
                    found.push((row.planned, row.ordinal));
                }
            }
        }
        let reported = loader.bad_samples().len() as u64;
        assert_eq!(reported, loader.ledger().bad().count);
        sum(&mut ledger, &loader.ledger());
        expected = Some(loader.expected(0).unwrap());
    }
    let ledger = ledger.unwrap();
    let expected = expected.unwrap();
    assert_eq!(ledger.bad().count, 3);
    assert_eq!(ledger.planned(), expected.planned());
    ledger.prove(&expected).unwrap();
    found.sort_unstable();
    found
}

#[test]
fn substitutes_depend_on_nothing_but_the_sample_and_the_pass() {
    let shards = spoilt();
    let first = substitutes(&shards, 1, |loader| loader.threads(1).prefetch(1));
    assert_eq!(first.iter().map(|(bad, _)| *bad).collect::<Vec<_>>(), BAD);
    for (world, batch, threads, prefetch) in
        [(1, 4, 4, 6), (1, 1, 2, 2), (1, 60, 4, 1), (3, 2, 2, 3), (8, 5, 1, 4)]
    {
        let again = substitutes(&shards, world, |loader| {
            loader
                .batch(batch)
                .threads(threads)
                .prefetch(prefetch)
                .memory_limit("4GiB".parse().unwrap())
        });
        assert_eq!(again, first, "world {world}, batch {batch}, {threads} threads");
    }
}

#[test]
fn one_bad_sample_too_many_is_an_error_at_the_same_place_always() {
    let shards = spoilt();
    for on_bad in [OnBad::Skip, OnBad::Substitute] {
        for (threads, prefetch) in [(1, 1), (4, 6)] {
            let loader = |budget| {
                let loader = loader(&shards, on_bad).bad_budget(budget).batch(5);
                loader.threads(threads).prefetch(prefetch).build().unwrap()
            };
            let (came, error) = end(&loader(2));
            assert_eq!(
                (came as u64, error.kind()),
                (FLIPPED / 5, ErrorKind::TooManyBad),
                "{error}"
            );
            assert!(error.to_string().contains("budget of 2"), "{error}");
            assert_eq!(end(&loader(0)).0 as u64, NO_JSON / 5);
            let enough = loader(3);
            assert_eq!(all(&enough, 0).len(), 12);
            assert_eq!(all(&enough, 1).len(), 12, "the same ones count once");
        }
    }
}

#[test]
fn a_report_used_as_exclude_list_removes_all_bad_samples() {
    let shards = spoilt();
    let first = loader(&shards, OnBad::Skip).build().unwrap();
    all(&first, 0);
    let reports = tempfile::tempdir().unwrap();
    let report = reports.path().join("bad.jsonl");
    first.write_bad_samples(&report).unwrap();
    assert_eq!(fs::read_to_string(&report).unwrap().lines().count(), 3);
    let loader = loader(&shards, OnBad::Error).exclude(&report).batch(1).build().unwrap();
    let mut came = batches(&loader, 0).unwrap().concat();
    came.sort_unstable();
    assert!(came.into_iter().eq((0..SAMPLES).filter(|o| !BAD.contains(o))));
}

#[test]
fn a_report_line_applies_only_to_the_shard_that_it_names() {
    fn good(o: u64) -> (String, Vec<(&'static str, Vec<u8>)>) {
        (key(o), parts(o))
    }

    fn bad(o: u64) -> (String, Vec<(&'static str, Vec<u8>)>) {
        (key(o), vec![("bin", bin(o)), ("txt", vec![0xff])])
    }

    let shards = Shards { dir: tempfile::tempdir().unwrap() };
    shards.write(0, (0..5).map(good));
    shards.write(1, (2..3).map(bad).chain((3..5).map(good)));
    let loader = shards.loader().on_bad(OnBad::Skip).batch(1).build().unwrap();
    assert_eq!(loader.epoch(0).filter(|batch| batch.as_ref().unwrap().is_empty()).count(), 1);
    let reports = tempfile::tempdir().unwrap();
    let report = reports.path().join("bad.jsonl");
    loader.write_bad_samples(&report).unwrap();
    let loader = shards.loader().exclude(&report).batch(1).build().unwrap();
    assert_eq!(all(&loader, 0).len(), 7, "the good one of the same key stays");
}

#[test]
fn an_epoch_of_bad_samples_ends_with_an_error() {
    let shards = Shards { dir: tempfile::tempdir().unwrap() };
    shards.write(0, (0..40).map(|o| (key(o), vec![("bin", bin(o)), ("txt", vec![0xff])])));
    for (on_bad, kind) in [
        (OnBad::Error, ErrorKind::Decode),
        (OnBad::Skip, ErrorKind::TooManyBad),
        (OnBad::Substitute, ErrorKind::Decode),
    ] {
        let loader = shards.loader().on_bad(on_bad).build().unwrap();
        let (came, error) = end(&loader);
        assert_eq!(error.kind(), kind, "{error}");
        assert_eq!(came, if on_bad == OnBad::Skip { 9 } else { 0 });
        assert!(error.to_string().contains("not UTF-8"), "{error}");
    }
}

#[test]
fn pictures_that_are_damaged_are_named() {
    let shards = Shards::of_photos(28);
    let good = Loader::builder(shards.path()).image("jpg", Resize::exact(16));
    let good = good.build().unwrap().epoch(0);
    assert_eq!(good.map(Result::unwrap).count(), 28, "before they are damaged");
    let damaged = Shards { dir: tempfile::tempdir().unwrap() };
    let data = tarflume::Dataset::open(shards.path()).unwrap();
    let cut = [3, 9, 20];
    damaged.write(
        0,
        (0..28).map(|o| {
            let mut jpg = data.get(o).unwrap().part("jpg").unwrap().to_vec();
            if cut.contains(&o) {
                jpg.truncate(30);
            }
            (key(o), vec![("jpg", jpg), ("json", json(o))])
        }),
    );
    let builder = Loader::builder(damaged.path()).image("jpg", Resize::exact(16));
    let builder = builder.label("json", "/class").batch(7);
    let (came, error) = end(&builder.clone().build().unwrap());
    assert_eq!((came, error.place().key.clone()), (0, Some(key(3))), "{error}");
    assert!(error.to_string().contains("column 'image'"), "{error}");
    let loader = builder.clone().on_bad(OnBad::Skip).build().unwrap();
    let rows: Vec<u64> =
        all(&loader, 0).iter().flat_map(|b| b.ordinals().collect::<Vec<_>>()).collect();
    assert!(rows.into_iter().eq((0..28).filter(|o| !cut.contains(o))));
    let loader = builder.on_bad(OnBad::Substitute).build().unwrap();
    for batch in all(&loader, 0) {
        let labels = batch.column("label").unwrap();
        let expected: Vec<i64> = batch.ordinals().map(|o| (o % 10) as i64).collect();
        assert_eq!(labels.elements::<i64>().unwrap(), expected);
        assert_eq!(batch.len(), 7);
    }
    assert_eq!(loader.bad_samples().iter().map(|bad| bad.ordinal).collect::<Vec<_>>(), cut);
}
