//! Data sets in a store: the same epochs as from files, whatever the network does.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cache;
mod errors;
mod excerpts;
mod faults;
mod forecast;
mod joined;
mod places;
mod replaced;
mod stream;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tarflume::{
    Dataset, ErrorKind, Loader, LoaderBuilder, OnBad, Shuffle, Size, Split, Storage, Verify,
};
use tarflume_formats::{Durability, Manifest, ShardWriter, index_path};
use tarflume_store::simulated::{Asked, Fault, Server};
use tarflume_store::{Options, Store};

const SHARDS: u64 = 3;
const SAMPLES: u64 = 40;
/// Requests of more bytes are not repeated because they are late.
const HEDGED: u64 = 1 << 20;

fn content(ordinal: u64) -> Vec<u8> {
    content_of(ordinal, 2000)
}

/// The content of a sample of about `length` bytes.
fn content_of(ordinal: u64, length: u64) -> Vec<u8> {
    (0..length + ordinal % 700).map(|n| (n * 7 + (n >> 8) + ordinal) as u8).collect()
}

/// A folder with a manifest, and a server with the same objects below `set/`.
struct Set {
    folder: tempfile::TempDir,
    sidecars: tempfile::TempDir,
    server: Server,
}

impl Set {
    fn new() -> Set {
        Set::on(Server::new())
    }

    fn on(server: Server) -> Set {
        Set::with(server, 2000)
    }

    /// A set of samples of about `length` bytes.
    fn with(server: Server, length: u64) -> Set {
        let folder = tempfile::tempdir().unwrap();
        let mut entries = Vec::new();
        for number in 0..SHARDS {
            let name = format!("shard-{number:06}.tar");
            let mut shard = ShardWriter::create(folder.path(), &name).unwrap();
            for ordinal in number * SAMPLES..(number + 1) * SAMPLES {
                shard.begin(format!("{ordinal:06}").as_bytes());
                let bytes = content_of(ordinal, length);
                shard.part(b"bin", bytes.len() as u64).unwrap().copy_from_slice(&bytes);
                shard.part(b"txt", 6).unwrap().copy_from_slice(format!("{ordinal:06}").as_bytes());
                shard.commit(None).unwrap();
            }
            let written = shard.finish().unwrap();
            entries.push(written.publish(folder.path(), &name, Durability::Cached).unwrap());
        }
        let extensions = [("bin", SHARDS * SAMPLES), ("txt", SHARDS * SAMPLES)];
        let extensions = extensions.map(|(ext, count)| (ext.to_string(), count)).into();
        let manifest = Manifest::new("test", None, extensions, entries);
        std::fs::write(folder.path().join("dataset.json"), manifest.to_json()).unwrap();
        Set::of(server, folder)
    }

    /// The set of the files in a folder.
    fn of(server: Server, folder: tempfile::TempDir) -> Set {
        for entry in std::fs::read_dir(folder.path()).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_string();
            server.set(&format!("set/{name}"), std::fs::read(path).unwrap());
        }
        Set { folder, sidecars: tempfile::tempdir().unwrap(), server }
    }

    fn storage(&self) -> Storage {
        let store = Store::open("s3://bucket/set", &self.server.options()).unwrap();
        // Counts of requests must not depend on how fast this machine answers.
        Storage::new().store(store).sidecars(self.sidecars.path()).never_late()
    }

    fn remote(&self) -> Dataset {
        Dataset::open_with("s3://bucket/set/", &self.storage()).unwrap()
    }

    fn local(&self) -> Dataset {
        Dataset::open(self.folder.path()).unwrap()
    }
}

fn loader(dataset: Dataset, shuffle: Shuffle) -> LoaderBuilder {
    Loader::from_dataset(dataset).shuffle(shuffle).bytes("bin").text("txt").batch(8).threads(2)
}

/// Ordinals and bytes of an epoch, in the order of delivery, and its ledger.
fn epoch(builder: LoaderBuilder) -> (Vec<(u64, Vec<u8>)>, tarflume::Ledger) {
    let loader = builder.build().unwrap();
    let mut rows = Vec::new();
    for batch in loader.epoch(0) {
        let batch = batch.unwrap();
        let column = batch.column("bin").unwrap();
        for (row, ordinal) in batch.ordinals().enumerate() {
            rows.push((ordinal, column.row(row).to_vec()));
        }
    }
    let ledger = loader.ledger();
    assert_eq!(ledger, loader.expected(0).unwrap());
    (rows, ledger)
}

const SHUFFLES: [Shuffle; 5] = [
    Shuffle::None,
    Shuffle::Shards { seed: 1 },
    Shuffle::Buffer { size: 32, seed: 1 },
    Shuffle::Blocks { block: 8, window: 4, seed: 1 },
    Shuffle::Full { seed: 1 },
];

/// The shard of a sample of a [`Set::new`], and the place of a byte of its part `bin`, which has a checksum.
fn checked_byte(ordinal: u64) -> (String, u64) {
    // A header and whole blocks for each part.
    fn stored(bytes: u64) -> u64 {
        512 + bytes.next_multiple_of(512)
    }

    let number = ordinal / SAMPLES;
    let before = (number * SAMPLES..ordinal).map(|before| {
        let length = content(before).len() as u64;
        stored(length) + stored(6)
    });
    (format!("set/shard-{number:06}.tar"), before.sum::<u64>() + 512 + 1200)
}

/// Flips a byte of each of these samples in the first answer that has it; counts the flips.
fn flip_in(
    ordinals: impl IntoIterator<Item = u64>,
    flips: Arc<AtomicU64>,
) -> impl FnMut(&Asked) -> Option<Fault> {
    let mut left: Vec<(String, u64)> = ordinals.into_iter().map(checked_byte).collect();
    move |asked| {
        let (from, to) = asked.range?;
        let (_, at) = left.remove(
            left.iter().position(|(name, at)| *name == asked.name && (from..to).contains(at))?,
        );
        flips.fetch_add(1, Ordering::SeqCst);
        Some(Fault::Flip((at - from) as usize))
    }
}

/// Decides by number, so that each request of a run meets the same fault.
fn rarely(
    every: u64,
    fault: impl Fn(&Asked) -> Fault + Send + 'static,
) -> impl FnMut(&Asked) -> Option<Fault> {
    move |asked| (asked.range.is_some() && asked.number % every == 3).then(|| fault(asked))
}

#[test]
fn every_order_gives_the_rows_and_the_ledger_of_the_files() {
    let set = Set::new();
    for shuffle in SHUFFLES {
        let files = epoch(loader(set.local(), shuffle));
        assert_eq!(files.0.len() as u64, SHARDS * SAMPLES);
        assert!(files.0.iter().all(|(ordinal, bytes)| *bytes == content(*ordinal)));
        assert_eq!(epoch(loader(set.remote(), shuffle)), files, "{shuffle:?}");
    }
}

#[test]
fn errors_that_pass_cuts_and_flipped_bytes_change_no_row() {
    let set = Set::new();
    let files = epoch(loader(set.local(), Shuffle::Full { seed: 1 }));
    set.server.plan(rarely(20, |_| Fault::Status(503, None)));
    assert_eq!(epoch(loader(set.remote(), Shuffle::Full { seed: 1 })), files);
    set.server.plan(rarely(10, |_| Fault::Cut(700)));
    assert_eq!(epoch(loader(set.remote(), Shuffle::Full { seed: 1 })), files);
    // A sample of each shard: an answer has one flip at most.
    let flips = Arc::new(AtomicU64::new(0));
    set.server.plan(flip_in([7, 57, 110], flips.clone()));
    let built = loader(set.remote(), Shuffle::Full { seed: 1 }).build().unwrap();
    let rows: Vec<_> =
        built.epoch(0).flat_map(|batch| batch.unwrap().ordinals().collect::<Vec<_>>()).collect();
    let expected: Vec<u64> = files.0.iter().map(|(ordinal, _)| *ordinal).collect();
    assert_eq!(rows, expected);
    let stats = built.stats();
    assert_eq!((flips.load(Ordering::SeqCst), stats.reread), (3, 3), "{stats}");
    let mut texts = stats.reread_texts;
    texts.sort();
    for (number, text) in texts.iter().enumerate() {
        assert!(text.contains(&format!("s3://bucket/set/shard-00000{number}.tar")), "{text}");
        assert!(text.contains("has checksum"), "{text}");
    }
    assert_eq!(texts.len(), 3);
}

#[test]
fn bytes_that_stay_wrong_are_bad_samples_with_their_place() {
    let set = Set::new();
    set.server.plan(|asked| {
        let second =
            asked.name == "set/shard-000001.tar" && asked.range.is_some_and(|(at, _)| at < 2000);
        second.then_some(Fault::Flip(700))
    });
    let failing = loader(set.remote(), Shuffle::None).build().unwrap();
    let error = failing.epoch(0).find_map(Result::err).unwrap();
    assert_eq!(error.kind(), ErrorKind::Damaged);
    assert_eq!(error.place().path.as_deref(), Some(Path::new("s3://bucket/set/shard-000001.tar")));
    let unchecked = loader(set.remote(), Shuffle::None).verify(Verify::Off).build().unwrap();
    assert!(unchecked.epoch(0).all(|batch| batch.is_ok()));
}

#[test]
fn opening_costs_a_request_and_sidecars_are_kept() {
    fn names(asked: Vec<Asked>) -> Vec<(String, String)> {
        asked.into_iter().map(|a| (a.method, a.name)).collect::<Vec<_>>()
    }

    fn get(name: &str) -> (String, String) {
        ("GET".to_string(), format!("set/shard-000001.{name}"))
    }

    let set = Set::new();
    let dataset = set.remote();
    assert_eq!(set.server.take_asked().len(), 1, "dataset.json");
    assert_eq!(dataset.get(50).unwrap().part("txt").unwrap().to_vec(), b"000050");
    assert_eq!(names(set.server.take_asked()), [get("index"), get("tar")]);
    let again = set.remote();
    again.open_all().unwrap();
    let asked = names(set.server.take_asked());
    assert_eq!(asked.len(), 3, "dataset.json, and the two sidecars that were not used: {asked:?}");
    assert_eq!(again.fingerprint().unwrap(), set.local().fingerprint().unwrap());
    set.remote().open_all().unwrap();
    assert_eq!(set.server.take_asked().len(), 1);
}

#[test]
fn a_replaced_shard_ends_the_epoch() {
    let set = Set::new();
    // All shards are in use when they are replaced, and most samples were not read ahead.
    let storage = set.storage().readahead(Size::new(20_000));
    let dataset = Dataset::open_with("s3://bucket/set", &storage).unwrap();
    let shuffle = Shuffle::Full { seed: 1 };
    let built = loader(dataset, shuffle).on_bad(OnBad::Skip).build().unwrap();
    let mut epoch = built.epoch(0);
    epoch.next().unwrap().unwrap();
    for number in 0..SHARDS {
        let name = format!("set/shard-{number:06}.tar");
        let mut other = set.server.object(&name).unwrap().to_vec();
        other[600] ^= 1;
        set.server.set(&name, other);
    }
    let error = epoch.find_map(Result::err).expect("an error, and no mixture");
    assert_eq!(error.kind(), ErrorKind::Stale, "{error}");
}

#[test]
fn a_refusal_is_never_the_fault_of_a_sample() {
    let set = Set::new();
    let built = loader(set.remote(), Shuffle::None).on_bad(OnBad::Skip).build().unwrap();
    set.server.plan(|asked| asked.range.map(|_| Fault::Refused(403, "ExpiredToken")));
    let error = built.epoch(0).find_map(Result::err).unwrap();
    assert_eq!((error.kind(), error.is_machine()), (ErrorKind::Refused, false), "{error:?}");
    assert!(error.to_string().contains("has expired"), "{error}");
    assert!(built.bad_samples().is_empty());
}

#[test]
fn a_job_of_two_ranks_goes_on_with_three_and_another_storage() {
    fn rank(dataset: Dataset, rank: u64, world: u64) -> LoaderBuilder {
        let split = Split::new(rank, world).unwrap();
        loader(dataset, Shuffle::Full { seed: 5 }).split(split).batch(4)
    }

    let set = Set::new();
    let mut seen: HashMap<u64, u64> = HashMap::new();
    let mut state = None;
    for number in 0..2 {
        let built = rank(set.remote(), number, 2).build().unwrap();
        for batch in built.epoch(0).take(5) {
            batch.unwrap().ordinals().for_each(|o| *seen.entry(o).or_default() += 1);
        }
        state = Some(built.state());
    }
    for number in 0..3 {
        let dataset = if number == 1 { set.local() } else { set.remote() };
        let built = rank(dataset, number, 3).resume(state.clone().unwrap()).build().unwrap();
        for batch in built.epoch(0) {
            batch.unwrap().ordinals().for_each(|o| *seen.entry(o).or_default() += 1);
        }
    }
    // 40 samples by two ranks, then 80 by three in steps of twelve: the rest of 8 is dropped.
    assert_eq!(seen.len(), 112);
    assert!(seen.values().all(|times| *times == 1));
}

#[test]
fn requests_of_many_batches_are_on_their_way_together() {
    let set = Set::new();
    let dataset = set.remote();
    dataset.open_all().unwrap();
    let built = loader(dataset, Shuffle::Full { seed: 1 }).prefetch(4).build().unwrap();
    // By two threads: with fewer at once nothing is ever answered.
    set.server.hold_until(16);
    let rows: usize = built.epoch(0).map(|batch| batch.unwrap().len()).sum();
    assert_eq!(rows as u64, SHARDS * SAMPLES);
    assert!(set.server.most_at_once() >= 16);
}

#[test]
fn readahead_that_holds_nothing_only_costs_time() {
    let set = Set::new();
    let dataset = Dataset::open_with("s3://bucket/set", &set.storage().readahead(Size::new(1000)));
    let small = epoch(loader(dataset.unwrap(), Shuffle::Full { seed: 1 }));
    assert_eq!(small, epoch(loader(set.local(), Shuffle::Full { seed: 1 })));
}

#[test]
fn files_and_stores_are_read_together() {
    let set = Set::new();
    let both = Dataset::concat(&[set.local(), set.remote()]).unwrap();
    let (rows, _) = epoch(loader(both, Shuffle::Full { seed: 1 }));
    assert_eq!(rows.len() as u64, 2 * SHARDS * SAMPLES);
    assert!(rows.iter().all(|(ordinal, bytes)| *bytes == content(ordinal % (SHARDS * SAMPLES))));
}

#[test]
fn what_cannot_be_opened_says_what_to_do() {
    let set = Set::new();
    let refused = |url: &str| Dataset::open_with(url, &set.storage()).unwrap_err().to_string();
    assert!(refused("s3://bucket/set/*.tar").contains("name the folder in the store"));
    assert!(refused("s3://bucket/{a,b}/000.tar").contains("name the folder in the store"));
    let unlisted = refused("s3://bucket/set/shard-{000001..000004}.tar");
    let shard =
        "s3://bucket/set/shard-000003.tar: dataset.json lists no shard of this name (2 of the 4";
    assert!(unlisted.contains(shard), "{unlisted}");
    let empty = Store::open("s3://bucket/nothing", &set.server.options()).unwrap();
    let storage = Storage::new().store(empty).sidecars(set.sidecars.path());
    let error = Dataset::open_with("s3://bucket/nothing", &storage).unwrap_err();
    assert!(error.to_string().contains("there is no dataset.json"), "{error}");
    let index = set.folder.path().join("shard-000000.tar");
    let mut wrong = std::fs::read(index_path(&index)).unwrap();
    wrong[100] ^= 1;
    set.server.set("set/shard-000000.index", wrong);
    let error = set.remote().open_all().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Stale);
    assert!(error.to_string().contains("not the one that dataset.json lists"), "{error}");
}

#[test]
fn requests_to_a_store_with_a_known_price_are_paid_for() {
    let set = Set::new();
    let spent = |options: Options| {
        let store = Store::open("s3://bucket/set", &options).unwrap();
        let storage = Storage::new().store(store).sidecars(set.sidecars.path());
        let dataset = Dataset::open_with("s3://bucket/set", &storage).unwrap();
        let built = loader(dataset, Shuffle::Full { seed: 1 }).build().unwrap();
        built.epoch(0).for_each(|batch| drop(batch.unwrap()));
        (built.stats().fetch.unwrap(), built.stats().to_string())
    };
    let keys = [("access_key_id", "AK"), ("secret_access_key", "SK"), ("region", "us-east-1")];
    let of_s3 = Options::from_pairs(keys).unwrap().with_connector(Arc::new(set.server.clone()));
    let (fetch, table) = spent(of_s3);
    let usd = fetch.usd().unwrap();
    assert!((usd - fetch.requests as f64 * 0.0004 / 1000.0).abs() < 1e-9, "{fetch:?}");
    assert!(table.contains("USD at list price, free transfer within the region"), "{table}");
    let (fetch, table) = spent(set.server.options());
    assert!(fetch.usd().is_none() && !table.contains("USD"), "another server: {fetch:?}");
}

#[test]
fn sidecars_are_fetched_at_the_same_time() {
    let set = Set::new();
    let dataset = set.remote();
    // With fewer at once nothing is ever answered.
    set.server.hold_until(3);
    dataset.open_all().unwrap();
    assert_eq!(set.server.most_at_once(), 3);
}

#[test]
fn a_range_that_is_late_is_asked_for_again() {
    // Few bytes ahead make many requests, so that latencies are known after a part of the only pass.
    let set = Set::with(Server::new(), 300_000);
    let store = Store::open("s3://bucket/set", &set.server.options()).unwrap();
    let storage = Storage::new().store(store).sidecars(set.sidecars.path());
    let storage = storage.readahead(Size::new(1_000_000));
    let dataset = Dataset::open_with("s3://bucket/set", &storage).unwrap();
    dataset.open_all().unwrap();
    // Nothing is answered until some range is requested a second time. On a busy machine a range may have been late
    // before.
    set.server.hold(|held| {
        let short = held.range.is_some_and(|(start, end)| end - start <= HEDGED);
        short && held.repeated == 0 && held.requests >= 64
    });
    let built = loader(dataset, Shuffle::Full { seed: 1 }).build().unwrap();
    let rows: Vec<u64> =
        built.epoch(0).flat_map(|batch| batch.unwrap().ordinals().collect::<Vec<_>>()).collect();
    assert_eq!(rows.len() as u64, SHARDS * SAMPLES);
    assert!(built.stats().fetch.unwrap().hedges >= 1, "{}", built.stats());
}
