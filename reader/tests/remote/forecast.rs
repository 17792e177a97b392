//! A forecast against the requests that the loader makes. Both run the same rules, so they are equal if each batch is
//! read before the next is planned. With several batches in preparation, a range that touches what another batch is
//! reading is asked for in one request or in two: of samples of 2 kB, which nearly touch each other, up to a half more;
//! of samples of 20 kB, no more than 2 %. The bytes are the same.

use tarflume::{Forecast, ForecastOptions, Loader, LoaderBuilder, Remainder, Shuffle, Size, Split};
use tarflume_formats::{Durability, Manifest, ShardWriter};
use tarflume_order::By;

use crate::remote::{SAMPLES, SHARDS, SHUFFLES, Set, epoch, loader};

/// Ranges of shards that a server was asked for since the last question: their number and bytes.
fn asked(set: &Set) -> (u64, u64) {
    let asked = set.server.take_asked();
    let ranges = asked.iter().filter(|asked| asked.name.ends_with(".tar"));
    let ranges: Vec<_> = ranges.filter_map(|asked| asked.range).collect();
    (ranges.len() as u64, ranges.iter().map(|(at, end)| end - at).sum())
}

/// Requests and bytes of an epoch of this loader, rank after rank; repeated requests are left out.
fn made(set: &Set, split: Split, options: &dyn Fn(LoaderBuilder) -> LoaderBuilder) -> (u64, u64) {
    let mut sum = (0, 0);
    for rank in 0..split.world() {
        let dataset = set.remote();
        dataset.open_all().unwrap();
        let own = Split::new(rank, split.world()).unwrap();
        let split = if split.by() == By::Shard { own.by_shard() } else { own };
        let built = options(Loader::from_dataset(dataset).split(split)).build().unwrap();
        asked(set);
        built.epoch(0).for_each(|batch| drop(batch.unwrap()));
        let (requests, bytes) = asked(set);
        let hedges = built.stats().fetch.unwrap().hedges;
        sum = (sum.0 + requests - hedges, sum.1 + bytes);
    }
    sum
}

fn within(found: u64, expected: u64, percent: u64) -> bool {
    found.abs_diff(expected) * 100 <= expected * percent
}

#[test]
fn each_shuffle_makes_the_requests_of_its_forecast() {
    let set = Set::new();
    for shuffle in SHUFFLES {
        let by_position = [1, 2, 3].map(|world| Split::new(0, world).unwrap());
        for split in by_position.into_iter().chain([Split::new(0, 3).unwrap().by_shard()]) {
            let world = split.world();
            let options =
                |builder: LoaderBuilder| builder.shuffle(shuffle).bytes("bin").batch(8).threads(1);
            let local = options(Loader::from_dataset(set.local()).split(split)).build().unwrap();
            let forecast = local.forecast(&ForecastOptions::default()).unwrap();
            let made_by = |prefetch| made(&set, split, &|b| options(b).prefetch(prefetch));
            let one = made_by(1);
            let four = made_by(4);
            let what = format!("{shuffle:?}, {split:?}: {one:?}, {four:?}; {forecast:?}");
            assert_eq!(one, (forecast.requests, forecast.bytes), "{what}");
            assert!(within(four.0, forecast.requests, 50), "{what}");
            assert!(within(four.1, forecast.bytes, 2), "{what}");
            assert_eq!(forecast.rows, SHARDS * SAMPLES / (8 * world) * 8 * world, "{what}");
            assert_eq!((forecast.ranks, forecast.uncertainty), (world, None), "{what}");
            assert_eq!(forecast.dropped, SHARDS * SAMPLES - forecast.rows, "{what}");
        }
    }
}

/// Shards with samples far apart, so that neighbors of a full shuffle are not read together.
fn large() -> Set {
    let set = Set::new();
    let mut entries = Vec::new();
    for number in 0..4 {
        let name = format!("shard-{number:06}.tar");
        let folder = set.folder.path();
        for file in [&name, &name.replace(".tar", ".index")] {
            _ = std::fs::remove_file(folder.join(file));
        }
        let mut shard = ShardWriter::create(folder, &name).unwrap();
        for sample in 0..64 {
            shard.begin(format!("{number}-{sample:03}").as_bytes());
            shard.part(b"bin", 20_000 + sample % 7).unwrap().fill(7);
            shard.commit(None).unwrap();
        }
        let written = shard.finish().unwrap();
        entries.push(written.publish(folder, &name, Durability::Cached).unwrap());
    }
    let extensions = [("bin".to_string(), 256)].into();
    let manifest = Manifest::new("test", None, extensions, entries).to_json();
    std::fs::write(set.folder.path().join("dataset.json"), manifest).unwrap();
    for file in std::fs::read_dir(set.folder.path()).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        set.server.set(&format!("set/{name}"), std::fs::read(path).unwrap());
    }
    set
}

#[test]
fn blocks_need_fewer_requests_than_an_exact_shuffle_and_both_are_forecast() {
    fn forecast(set: &Set, shuffle: Shuffle, room: u64) -> Forecast {
        let built = Loader::from_dataset(set.local()).shuffle(shuffle).batch(16).threads(2);
        let readahead = Size::new(room);
        let options = ForecastOptions { readahead, ..ForecastOptions::default() };
        built.build().unwrap().forecast(&options).unwrap()
    }

    let set = large();
    let full = Shuffle::Full { seed: 3 };
    let blocks = Shuffle::Blocks { block: 16, window: 4, seed: 3 };
    let exact = forecast(&set, full, 64 << 20);
    let near = forecast(&set, blocks, 64 << 20);
    let [made_full, made_blocks] = [full, blocks].map(|shuffle| {
        made(&set, Split::alone(), &|builder| builder.shuffle(shuffle).batch(16).threads(2))
    });
    assert!(within(made_full.0, exact.requests, 2), "{made_full:?} {exact:?}");
    assert!(within(made_blocks.0, near.requests, 2), "{made_blocks:?} {near:?}");
    assert!(exact.requests > 150 && near.requests <= 20, "{exact:?} {near:?}");
    assert!(exact.bytes < exact.part_bytes * 11 / 10 && near.part_bytes == exact.part_bytes);
    // Four blocks of 16 samples of 20 kB have no room in half of a megabyte.
    let narrow = forecast(&set, blocks, 1 << 20);
    assert!(narrow.too_long.is_some_and(|bytes| bytes > 1 << 20), "{narrow:?}");
    assert!(narrow.requests > 3 * near.requests && near.too_long.is_none(), "{narrow:?}");
}

#[test]
fn a_sample_of_the_batches_is_near_the_whole() {
    let set = large();
    for shuffle in [Shuffle::Full { seed: 9 }, Shuffle::Blocks { block: 8, window: 2, seed: 9 }] {
        let built = Loader::from_dataset(set.local()).shuffle(shuffle).batch(2).repeat(200);
        let built = built.threads(2).build().unwrap();
        // Room for two stretches: with more, a set as small as this one would stay in the pieces.
        let usual = ForecastOptions { readahead: Size::new(800_000), ..ForecastOptions::default() };
        let whole = built.forecast(&usual).unwrap();
        let options = ForecastOptions { samples: 20_000, ..usual };
        let part = built.forecast(&options).unwrap();
        assert_eq!((whole.rows, whole.uncertainty), (256 * 200, None));
        assert_eq!((part.rows, part.steps, part.dropped), (whole.rows, whole.steps, 0));
        assert!(part.looked_up < whole.looked_up && part.uncertainty.is_some(), "{part:?}");
        assert!(within(part.requests, whole.requests, 6), "{part:?} {whole:?}");
        assert!(within(part.bytes, whole.bytes, 6), "{part:?} {whole:?}");
    }
}

#[test]
fn some_sidecars_are_enough_for_an_exact_shuffle_in_a_store() {
    let set = large();
    let built = Loader::from_dataset(set.remote()).shuffle(Shuffle::Full { seed: 1 }).batch(4);
    let built = built.threads(2).repeat(100).build().unwrap();
    set.server.take_asked();
    let options = ForecastOptions { sidecars: Size::new(10_000), ..ForecastOptions::default() };
    let part = built.forecast(&options).unwrap();
    let fetched = set.server.take_asked();
    assert!(fetched.iter().all(|asked| asked.name.ends_with(".index")), "{fetched:?}");
    assert_eq!(fetched.len() as u64, part.shards);
    assert!(part.shards < 4, "{part:?}");
    let whole = built.forecast(&ForecastOptions::default()).unwrap();
    assert_eq!(whole.shards, 4);
    assert!(within(part.requests, whole.requests, 6), "{part:?} {whole:?}");
}

#[test]
fn remainders_and_splits_by_shard_are_those_of_the_loader() {
    let set = Set::new();
    for remainder in [Remainder::Drop, Remainder::Pad, Remainder::Even, Remainder::Uneven] {
        for by_shard in [false, true] {
            let ranks = [0, 1, 2].map(|rank| {
                let split = Split::new(rank, 3).unwrap();
                let split = if by_shard { split.by_shard() } else { split };
                let builder = Loader::from_dataset(set.local()).split(split).batch(7);
                builder.shuffle(Shuffle::Full { seed: 2 }).remainder(remainder).build().unwrap()
            });
            let forecast = ranks[0].forecast(&ForecastOptions::default()).unwrap();
            let mut rows = 0;
            let mut steps = 0;
            for built in ranks {
                steps = steps.max(built.steps().unwrap());
                rows += built.epoch(0).map(|batch| batch.unwrap().len() as u64).sum::<u64>();
            }
            let what = format!("{remainder:?}, by shard {by_shard}: {forecast:?}");
            assert_eq!((forecast.rows, forecast.steps), (rows, steps), "{what}");
        }
    }
    let (rows, _) = epoch(loader(set.local(), Shuffle::None));
    assert_eq!(rows.len() as u64, SHARDS * SAMPLES);
}
