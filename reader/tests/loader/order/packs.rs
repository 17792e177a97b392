//! Packs of samples: tokens one sample after the other, each sample once, and the same packs after a resume by other ranks.

use std::collections::BTreeMap;

use tarflume::{
    Batch, Loader, LoaderBuilder, LoaderState, OnBad, Packing, Remainder, RowState, Shuffle, Split,
    TokenColumn, Tokens, TooLong,
};

use crate::loader::harness::{Shards, key};
use crate::loader::order::orders::sum;

const WIDTH: usize = 64;

/// The tokens of a sample.
fn length(ordinal: u64) -> u64 {
    ordinal * 37 % 61
}

fn id(ordinal: u64, at: u64) -> i64 {
    (ordinal * 100 + at) as i64
}

/// An npy file of `uint32` numbers.
fn npy(numbers: &[u32]) -> Vec<u8> {
    let text =
        format!("{{'descr': '<u4', 'fortran_order': False, 'shape': ({},), }}", numbers.len());
    let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    file.extend(format!("{text:<117}\n").as_bytes());
    file.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    file
}

/// Shards of `count` texts, with their lengths in the JSON. The file of `damaged` is none.
fn texts(count: u64, damaged: Option<u64>) -> Shards {
    let shards = Shards::of(&[]);
    let half = count / 2;
    for (number, range) in [0..half, half..count].into_iter().enumerate() {
        let tar = shards.shard(number);
        let name = tar.file_name().unwrap().to_str().unwrap();
        let mut shard = tarflume_formats::ShardWriter::create(shards.path(), name).unwrap();
        for ordinal in range {
            let ids: Vec<u32> = (0..length(ordinal)).map(|at| id(ordinal, at) as u32).collect();
            let mut ids = npy(&ids);
            if damaged == Some(ordinal) {
                ids.fill(7);
            }
            let json = format!("{{\"tokens\": {}}}", length(ordinal));
            shard.begin(key(ordinal).as_bytes());
            shard.part(b"ids.npy", ids.len() as u64).unwrap().copy_from_slice(&ids);
            shard.part(b"json", json.len() as u64).unwrap().copy_from_slice(json.as_bytes());
            shard.commit(None).unwrap();
        }
        let cached = tarflume_formats::Durability::Cached;
        shard.finish().unwrap().publish(shards.path(), name, cached).unwrap();
    }
    shards
}

fn columns(tokens: &Tokens) -> [(&'static str, TokenColumn); 4] {
    [
        ("input_ids", tokens.ids()),
        ("labels", tokens.labels()),
        ("position_ids", tokens.position_ids()),
        ("segment_ids", tokens.segment_ids()),
    ]
}

fn packing() -> Packing {
    Packing::new("/tokens", WIDTH as u64).window(40)
}

fn loader(shards: &Shards, packing: Packing) -> LoaderBuilder {
    let mut builder = Loader::builder(shards.path())
        .shuffle(Shuffle::Full { seed: 5 })
        .remainder(Remainder::Even)
        .packs(packing)
        .batch(3);
    for (name, column) in columns(&Tokens::new(WIDTH).padding(-1)) {
        builder = builder.column(name, column);
    }
    builder
}

/// The ordinals of the samples of each pack, without padding.
fn packs_of(batch: &Batch) -> Vec<Vec<u64>> {
    let mut packs = vec![Vec::new(); batch.packs().unwrap()];
    for row in batch.rows().filter(|row| !row.padding) {
        packs[row.pack as usize].push(row.ordinal);
    }
    packs.retain(|pack| !pack.is_empty());
    packs
}

/// The row of each column of a pack of these samples.
fn expected(ordinals: &[u64]) -> [Vec<i64>; 4] {
    let mut rows: [Vec<i64>; 4] = Default::default();
    let mut segment = 0;
    for &ordinal in ordinals {
        segment += i64::from(length(ordinal) > 0);
        for at in 0..length(ordinal) {
            rows[0].push(id(ordinal, at));
            rows[1].push(if at == 0 { -100 } else { id(ordinal, at) });
            rows[2].push(at as i64);
            rows[3].push(segment);
        }
    }
    for (row, padding) in rows.iter_mut().zip([-1, -100, 0, 0]) {
        row.resize(WIDTH, padding);
    }
    rows
}

#[test]
fn the_tokens_of_a_pack_follow_each_other() {
    let shards = texts(150, None);
    let loader = loader(&shards, packing()).text("json").build().unwrap();
    let mut seen = BTreeMap::new();
    for batch in loader.epoch(1) {
        let batch = batch.unwrap();
        let packs = batch.packs().unwrap();
        assert_eq!(batch.column("json").unwrap().shape(), [batch.len()], "a row for each sample");
        let rows: Vec<_> = batch.rows().collect();
        for pack in 0..packs {
            let own = rows.iter().filter(|row| row.pack as usize == pack);
            let ordinals: Vec<u64> = own.map(|row| row.ordinal).collect();
            assert!(ordinals.iter().map(|&ordinal| length(ordinal)).sum::<u64>() <= WIDTH as u64);
            for ((name, _), wanted) in columns(&Tokens::new(WIDTH)).iter().zip(expected(&ordinals))
            {
                let column = batch.column(name).unwrap();
                assert_eq!(column.shape(), [packs, WIDTH]);
                assert_eq!(column.row_elements::<i64>(pack).unwrap(), wanted, "{name}");
            }
        }
        let bounds = batch.cu_seqlens("segment_ids").unwrap();
        assert_eq!(bounds.last(), Some(&((packs * WIDTH) as i32)));
        let filled = rows.iter().filter(|row| length(row.ordinal) > 0).count();
        assert!((filled + 1..=filled + packs + 1).contains(&bounds.len()), "{bounds:?}");
        for row in rows.iter().filter(|row| !row.padding) {
            assert_eq!(seen.insert(row.ordinal, batch.step()), None, "each sample once");
        }
    }
    assert_eq!(seen.len(), 150);
    assert_eq!(loader.ledger(), loader.expected(1).unwrap());
    let stats = loader.stats().packs.unwrap();
    assert_eq!(Some(stats.totals), loader.pack_totals(1).unwrap());
    let tokens: u64 = (0..150).map(length).sum();
    assert_eq!((stats.totals.samples, stats.totals.tokens, stats.too_long), (150, tokens, 0));
    assert!(stats.totals.filled() > 0.9, "{stats:?}");
}

/// The loaders of `world` ranks, each with batches of `each` packs.
fn ranks(shards: &Shards, world: u64, each: u64, state: Option<&LoaderState>) -> Vec<Loader> {
    let ranks = (0..world).map(|rank| {
        let split = Split::new(rank, world).unwrap();
        let builder = loader(shards, packing()).split(split).batch(each);
        match state {
            Some(state) => builder.resume(state.clone()).build().unwrap(),
            None => builder.build().unwrap(),
        }
    });
    ranks.collect()
}

/// The packs of the first `steps` steps of all ranks, in the order of the job.
fn first_packs(loaders: &[Loader], epoch: u64, steps: u64) -> Vec<Vec<u64>> {
    let mut by_step = BTreeMap::new();
    for (rank, loader) in loaders.iter().enumerate() {
        for batch in loader.epoch(epoch).take(steps as usize) {
            let batch = batch.unwrap();
            by_step.insert((batch.step(), rank), packs_of(&batch));
        }
    }
    by_step.into_values().flatten().collect()
}

#[test]
fn packs_are_the_same_on_any_ranks_and_a_resume_goes_on_with_other_ones() {
    let shards = texts(300, None);
    let whole = first_packs(&ranks(&shards, 1, 3, None), 2, u64::MAX);
    for (before, after, stop) in [(4, 3, 2), (1, 5, 7), (3, 2, 0)] {
        let begun = ranks(&shards, before, 2, None);
        let mut packs = first_packs(&begun, 2, stop);
        let state = begun[0].state();
        assert!(begun.iter().all(|loader| loader.state() == state), "all ranks have one state");
        let state: LoaderState = state.to_string().parse().unwrap();
        let rest = ranks(&shards, after, 3, Some(&state));
        packs.extend(first_packs(&rest, 2, u64::MAX));
        assert_eq!(packs, whole, "{before} ranks, then {after}");
        let mut ledger = None;
        begun.iter().chain(&rest).for_each(|loader| sum(&mut ledger, &loader.ledger()));
        assert_eq!(ledger, Some(begun[0].expected(2).unwrap()));
    }
}

#[test]
fn a_bad_sample_leaves_its_place_empty() {
    let shards = texts(60, Some(13));
    let loader = loader(&shards, packing()).on_bad(OnBad::Skip).build().unwrap();
    let wanted_steps = loader.steps().unwrap();
    let mut steps = 0;
    for batch in loader.epoch(0) {
        let batch = batch.unwrap();
        steps += 1;
        let kept: Vec<_> = batch.rows().collect();
        for pack in 0..batch.packs().unwrap() {
            let own = kept.iter().filter(|row| row.pack as usize == pack);
            let ordinals: Vec<u64> = own.map(|row| row.ordinal).collect();
            for ((name, _), wanted) in columns(&Tokens::new(WIDTH)).iter().zip(expected(&ordinals))
            {
                assert_eq!(batch.column(name).unwrap().row_elements::<i64>(pack).unwrap(), wanted);
            }
        }
        let skipped = batch.planned().iter().filter(|row| row.state == RowState::Skipped);
        assert!(skipped.into_iter().all(|row| row.planned == 13));
    }
    assert_eq!(steps, wanted_steps);
    assert_eq!(loader.bad_samples().len(), 1);
    let refused = self::loader(&shards, packing()).on_bad(OnBad::Substitute).build().unwrap_err();
    assert!(refused.to_string().contains("skip bad samples"), "{refused}");
}

fn narrow() -> Packing {
    Packing::new("/tokens", 32)
}

/// A loader of packs of 32 tokens.
fn in_narrow(shards: &Shards, packing: Packing) -> tarflume::Result<Loader> {
    Loader::builder(shards.path())
        .column("input_ids", Tokens::new(32).ids())
        .remainder(Remainder::Even)
        .packs(packing)
        .batch(4)
        .build()
}

fn refusal(builder: LoaderBuilder) -> String {
    builder.build().unwrap_err().to_string()
}

#[test]
fn what_is_longer_than_a_pack_is_an_error_left_out_or_cut() {
    let shards = texts(100, None);
    let error = in_narrow(&shards, narrow()).unwrap_err().to_string();
    assert!(error.contains("longer than the 32 tokens") && error.contains(&key(1)), "{error}");
    let long = (0..100).filter(|&ordinal| length(ordinal) > 32).count();
    let skipping = in_narrow(&shards, narrow().too_long(TooLong::Skip)).unwrap();
    let delivered: usize = skipping
        .epoch(0)
        .map(|batch| batch.unwrap().rows().filter(|row| !row.padding).count())
        .sum();
    assert_eq!(delivered, 100 - long);
    assert_eq!(skipping.stats().packs.unwrap().too_long, long as u64);
    let cutting = in_narrow(&shards, narrow().too_long(TooLong::Cut)).unwrap();
    let mut cut = 0;
    for batch in cutting.epoch(0) {
        let batch = batch.unwrap();
        let ids = batch.column("input_ids").unwrap();
        for row in batch.rows().filter(|row| length(row.ordinal) > 32 && !row.padding) {
            let wanted: Vec<i64> = (0..32).map(|at| id(row.ordinal, at)).collect();
            assert_eq!(ids.row_elements::<i64>(row.pack as usize).unwrap(), wanted);
            cut += 1;
        }
    }
    assert_eq!(cut, long);
}

#[test]
fn what_does_not_fit_packs_is_refused() {
    let shards = texts(20, None);
    let other = loader(&shards, packing()).column("more", Tokens::new(128).ids());
    assert!(refusal(other).contains("128 tokens in packs of 64"));
    let longest =
        loader(&shards, packing()).column("more", Tokens::new(64).pad_to_longest(8).ids());
    assert!(refusal(longest).contains("leave out the padding"));
    let few = loader(&shards, Packing::new(vec![1; 7], 64));
    assert!(refusal(few).contains("7 lengths for a data set of 20"));
    let negative = loader(&shards, Packing::new(vec![-1; 20], 64));
    assert!(refusal(negative).contains("its length is -1"));
    // The lengths are not those of the part.
    let wrong = loader(&shards, Packing::new(vec![1; 20], 64)).build().unwrap();
    let error = wrong.epoch(0).find_map(Result::err).unwrap().to_string();
    assert!(
        error.contains("the lengths of samples, from which packs were made, state 1"),
        "{error}"
    );
}
