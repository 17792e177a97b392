//! The cache of a machine: the rows of the files, each block from the store once, and no wrong byte that stays.

use std::collections::HashSet;
use std::sync::Mutex;

use tarflume::{Dataset, Loader, Shuffle, Size, Storage, Warmed, warm_cache};
use tarflume_store::simulated::{Asked, Fault, Server};
use tempfile::TempDir;

use super::{SAMPLES, SHARDS, SHUFFLES, Set, epoch, loader, rarely};

const MIB: u64 = 1 << 20;
/// Bytes of a sample: some ten share a block.
const LENGTH: u64 = 100_000;

struct Machine {
    set: Set,
    disk: TempDir,
}

impl Machine {
    fn new() -> Machine {
        Machine { set: Set::with(Server::new(), LENGTH), disk: tempfile::tempdir().unwrap() }
    }

    fn storage(&self, slots: u64) -> Storage {
        let size = Size::new((slots + 1) * (MIB + 4096));
        self.set.storage().cache(size).cache_folder(self.disk.path())
    }

    /// The data set as a process of this machine opens it.
    fn open(&self, slots: u64) -> Dataset {
        Dataset::open_with("s3://bucket/set", &self.storage(slots)).unwrap()
    }

    /// The ranges of shards that were asked for since the last call.
    fn ranges(&self) -> Vec<Asked> {
        let asked = self.set.server.take_asked();
        asked.into_iter().filter(|asked| asked.name.ends_with(".tar")).collect()
    }

    /// Blocks of all shards.
    fn blocks(&self) -> u64 {
        let lengths = (0..SHARDS).map(|number| {
            let shard = self.set.server.object(&format!("set/shard-{number:06}.tar"));
            (shard.unwrap().len() as u64).div_ceil(MIB)
        });
        lengths.sum()
    }
}

fn bytes(asked: &[Asked]) -> u64 {
    asked.iter().filter_map(|asked| asked.range).map(|(from, to)| to - from).sum()
}

#[test]
fn each_block_is_fetched_once_for_all_epochs_and_processes() {
    for shuffle in SHUFFLES {
        let machine = Machine::new();
        let files = epoch(loader(machine.set.local(), shuffle));
        assert_eq!(epoch(loader(machine.open(64), shuffle)), files, "{shuffle:?}");
        let asked = machine.ranges();
        let total: u64 = bytes(&asked);
        assert!(total < machine.blocks() * MIB, "{shuffle:?}: {total} bytes");
        let distinct: HashSet<_> = asked.iter().map(|a| (a.name.clone(), a.range)).collect();
        assert_eq!(distinct.len(), asked.len(), "{shuffle:?}: nothing was asked for twice");
        // Another process, later.
        let second = loader(machine.open(64), shuffle).build().unwrap();
        let rows: usize = second.epoch(0).map(|batch| batch.unwrap().len()).sum();
        assert_eq!(rows as u64, SHARDS * SAMPLES);
        assert!(machine.ranges().is_empty(), "{shuffle:?}");
        let found = second.stats().fetch.unwrap().cache.unwrap();
        assert!(found.hits >= SHARDS * SAMPLES && found.misses == 0, "{found:?}");
        assert_eq!((found.fills, found.damaged, found.errors), (0, 0, 0), "{found:?}");
        assert!(second.stats().to_string().contains(" hits, "), "{}", second.stats());
    }
}

#[test]
fn a_small_cache_keeps_a_fixed_share() {
    let machine = Machine::new();
    let shuffle = Shuffle::Full { seed: 3 };
    let files = epoch(loader(machine.set.local(), shuffle));
    let slots = 16;
    assert!(machine.blocks() == 12, "{}", machine.blocks());
    // Other data sets have filled half of it before, so blocks give way at first.
    epoch(loader(machine.open(slots), shuffle));
    let whole = bytes(&machine.ranges());
    epoch(loader(machine.open(slots), shuffle));
    assert_eq!(bytes(&machine.ranges()), 0, "all 12 blocks fit into 16 slots: {whole}");

    // A data set of 36 blocks in the same cache.
    let larger = Machine { set: Set::with(Server::new(), 3 * LENGTH), disk: machine.disk };
    let files_of_larger = epoch(loader(larger.set.local(), shuffle));
    assert_ne!(files, files_of_larger);
    let mut read = Vec::new();
    for _ in 0..4 {
        assert_eq!(epoch(loader(larger.open(slots), shuffle)), files_of_larger);
        read.push(bytes(&larger.ranges()) as f64 / (larger.blocks() * MIB) as f64);
    }
    // 15 of 36 blocks are kept, whatever the order. The last epochs read the rest, and no more.
    assert!(read[2] < 0.75 && read[3] < 0.75, "{read:?}");
}

#[test]
fn flipped_bytes_do_not_stay() {
    let machine = Machine::new();
    let shuffle = Shuffle::Full { seed: 1 };
    let files = epoch(loader(machine.set.local(), shuffle));
    machine.set.server.plan(rarely(4, |_| Fault::Flip(500_000)));
    let first = loader(machine.open(64), shuffle).build().unwrap();
    assert!(first.epoch(0).all(|batch| batch.is_ok()));
    assert!(first.stats().reread > 0, "{}", first.stats());
    drop(first);
    machine.set.server.plan(|_| None);
    assert_eq!(epoch(loader(machine.open(64), shuffle)), files);
    let last = loader(machine.open(64), shuffle).build().unwrap();
    assert!(last.epoch(0).all(|batch| batch.is_ok()));
    assert_eq!(last.stats().reread, 0, "{:?}", last.stats().reread_texts);
}

#[test]
fn a_store_with_errors_leaves_no_claims() {
    let machine = Machine::new();
    let shuffle = Shuffle::Full { seed: 1 };
    let files = epoch(loader(machine.set.local(), shuffle));
    machine.set.server.plan(move |asked| {
        let is_refused = asked.range.is_some_and(|(at, _)| at > 0);
        is_refused.then_some(Fault::Refused(403, "ExpiredToken"))
    });
    let failing = loader(machine.open(64), shuffle).build().unwrap();
    assert!(failing.epoch(0).any(|batch| batch.is_err()));
    drop(failing);
    machine.set.server.plan(|_| None);
    assert_eq!(epoch(loader(machine.open(64), shuffle)), files);
    machine.ranges();
    assert_eq!(epoch(loader(machine.open(64), shuffle)), files);
    assert!(machine.ranges().is_empty(), "every block was kept");
}

#[test]
fn processes_at_the_same_time_share_the_work() {
    let machine = Machine::new();
    let shuffle = Shuffle::Full { seed: 1 };
    let files = epoch(loader(machine.set.local(), shuffle));
    std::thread::scope(|scope| {
        let processes: Vec<_> =
            (0..4).map(|_| scope.spawn(|| epoch(loader(machine.open(64), shuffle)))).collect();
        for process in processes {
            assert_eq!(process.join().unwrap(), files);
        }
    });
    let total = bytes(&machine.ranges());
    let whole = machine.blocks() * MIB;
    // Each would read all of it alone.
    assert!(total < whole * 2, "{total} bytes of {whole}");
}

#[test]
fn a_cache_is_warmed_before_a_job() {
    let machine = Machine::new();
    let watched = Mutex::new(Vec::new());
    let warmed = warm_cache("s3://bucket/set", &machine.storage(64), &|now: &Warmed| {
        watched.lock().unwrap().push(now.fetched);
        true
    })
    .unwrap();
    assert_eq!((warmed.blocks, warmed.kept, warmed.fetched), (12, 12, 12));
    assert_eq!((warmed.present, bytes(&machine.ranges())), (0, warmed.bytes));
    assert_eq!(watched.into_inner().unwrap().last(), Some(&12));
    let again = warm_cache("s3://bucket/set", &machine.storage(64), &|_| true).unwrap();
    assert_eq!((again.kept, again.present, again.fetched), (12, 12, 0));
    let shuffle = Shuffle::Full { seed: 1 };
    let files = epoch(loader(machine.set.local(), shuffle));
    assert_eq!(epoch(loader(machine.open(64), shuffle)), files);
    assert!(machine.ranges().is_empty());
    // Stopped, and with a store that fails.
    let other = Machine::new();
    let stopped = warm_cache("s3://bucket/set", &other.storage(64), &|_| false).unwrap();
    assert!(stopped.stopped);
    let third = Machine::new();
    third.set.server.plan(|asked| asked.range.map(|_| Fault::Refused(403, "AccessDenied")));
    let error = warm_cache("s3://bucket/set", &third.storage(64), &|_| true).unwrap_err();
    assert!(error.to_string().contains("shard-"), "{error}");
    let none = warm_cache("s3://bucket/set", &third.set.storage(), &|_| true).unwrap_err();
    assert!(none.to_string().contains("TARFLUME_CACHE_SIZE"), "{none}");
}

#[test]
fn an_epoch_outlives_the_truncation_of_its_cache() {
    let shuffle = Shuffle::Full { seed: 1 };
    for length in [0, 4096, 5 * MIB] {
        let machine = Machine::new();
        let files = epoch(loader(machine.set.local(), shuffle)).0;
        epoch(loader(machine.open(64), shuffle));
        let loader = loader(machine.open(64), shuffle).build().unwrap();
        let mut rows = Vec::new();
        for (number, batch) in loader.epoch(0).enumerate() {
            let batch = batch.unwrap();
            let column = batch.column("bin").unwrap();
            rows.extend(batch.ordinals().enumerate().map(|(n, at)| (at, column.row(n).to_vec())));
            if number == 2 {
                let mut caches = std::fs::read_dir(machine.disk.path()).unwrap();
                let path = caches.next().expect("the cache").unwrap().path();
                std::fs::File::options().write(true).open(path).unwrap().set_len(length).unwrap();
            }
        }
        assert!(rows == files, "{length}: the samples of the files");
        let found = loader.stats().fetch.unwrap().cache.unwrap();
        assert!(found.errors > 0 || found.damaged > 0, "{length}: {found:?}");
        assert!(bytes(&machine.ranges()) > 0, "{length}: the rest came from the store");
    }
}

#[test]
fn a_cache_that_was_truncated_is_not_warmed() {
    let machine = Machine::new();
    machine.open(64);
    let watch = |_: &Warmed| {
        let mut caches = std::fs::read_dir(machine.disk.path()).unwrap();
        let path = caches.next().expect("the cache").unwrap().path();
        std::fs::File::options().write(true).open(path).unwrap().set_len(0).unwrap();
        true
    };
    let error = warm_cache("s3://bucket/set", &machine.storage(64), &watch).unwrap_err();
    assert!(error.to_string().contains("pack cache drop"), "{error}");
}

#[test]
fn a_cache_that_cannot_be_made_says_what_to_do() {
    fn refused(storage: Storage) -> String {
        Dataset::open_with("s3://bucket/set", &storage).unwrap_err().to_string()
    }

    let machine = Machine::new();
    let text = refused(machine.storage(64).cache(Size::new(1 << 59)));
    assert!(text.contains("cannot reserve") && text.contains("TARFLUME_CACHE"), "{text}");
    let text = refused(machine.storage(64).cache(Size::new(1 << 20)));
    assert!(text.contains("a cache has at least 17 MiB"), "{text}");
}

#[test]
fn samples_by_number_use_the_cache() {
    fn read(dataset: &Dataset) -> Vec<u8> {
        dataset.get(7).unwrap().part("txt").unwrap().to_vec()
    }

    let machine = Machine::new();
    assert_eq!(read(&machine.open(64)), b"000007");
    assert_eq!(machine.ranges().len(), 1);
    let dataset = machine.open(64);
    assert_eq!(read(&dataset), b"000007");
    assert!(machine.ranges().is_empty());
    assert!(Loader::from_dataset(dataset).bytes("bin").build().is_ok());
}
