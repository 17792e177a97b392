//! Whole epochs into the memory of a simulated device: slow ones, broken ones, abandoned ones.

mod objects;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tarflume_device::driver::DeviceStream;
use tarflume_device::fake::FakeDevice;
use tarflume_formats::{Durability, ShardWriter};
use tarflume_types::{DType, ErrorKind};

use crate::decode::bytes::raw::Raw;
use crate::{Device, DeviceBatch, DeviceLoaderBuilder, Loader, LoaderBuilder, Shuffle};

const SAMPLES: u64 = 40;
const BATCH: u64 = 4;
const SLOW: Duration = Duration::from_millis(3);
const FAST: Duration = Duration::from_micros(20);

/// A data set of samples with `row`, 512 bytes that begin with the ordinal, and `txt`.
fn shards() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut shard = ShardWriter::create(dir.path(), "000.tar").unwrap();
    for ordinal in 0..SAMPLES {
        shard.begin(format!("{ordinal:04}").as_bytes());
        shard.part(b"row", 512).unwrap().copy_from_slice(&row(ordinal));
        let text = ordinal.to_string();
        shard.part(b"txt", text.len() as u64).unwrap().copy_from_slice(text.as_bytes());
        shard.commit(None).unwrap();
    }
    shard.finish().unwrap().publish(dir.path(), "000.tar", Durability::Cached).unwrap();
    dir
}

fn row(ordinal: u64) -> Vec<u8> {
    (0..64).flat_map(|n| (ordinal * 1000 + n).to_le_bytes()).collect()
}

fn columns(dir: &tempfile::TempDir) -> LoaderBuilder {
    Loader::builder(dir.path())
        .column("row", Raw::new("row").dtype(DType::U64).shape([64]))
        .text("txt")
        .shuffle(Shuffle::Full { seed: 9 })
        .batch(BATCH)
        .threads(2)
}

fn builder(
    dir: &tempfile::TempDir,
    simulated: &Arc<FakeDevice>,
    slots: usize,
) -> DeviceLoaderBuilder {
    on(simulated, columns(dir), slots)
}

fn on(simulated: &Arc<FakeDevice>, columns: LoaderBuilder, slots: usize) -> DeviceLoaderBuilder {
    columns.device(Device::by(simulated.clone())).device_slots(slots)
}

/// Has a stream of the consumer's look at the batch, and compares it with the host's.
fn look(simulated: &FakeDevice, batch: &DeviceBatch, stream: DeviceStream, seen: &Arc<AtomicU64>) {
    batch.ready_on(stream).unwrap();
    let column = batch.column("row").unwrap();
    assert_eq!((column.shape.as_slice(), column.dtype), (&[4, 64][..], DType::U64));
    let host = batch.host();
    let right: Vec<u8> = host.ordinals().flat_map(row).collect();
    assert_eq!(host.column("row").unwrap().bytes(), right);
    let seen = seen.clone();
    let place = host.place("row").unwrap();
    simulated.read(stream, column.pointer - place as u64, move |memory| {
        assert!(memory[place..].starts_with(&right), "the device has another batch");
        seen.fetch_add(1, Ordering::SeqCst);
    });
}

#[test]
fn every_batch_arrives_whole_with_slow_and_fast_consumers() {
    let dir = shards();
    for (delay, own) in [(SLOW, Duration::ZERO), (FAST, SLOW), (FAST, Duration::ZERO)] {
        for slots in [1, 2, 3] {
            let simulated = Arc::new(FakeDevice::new(delay));
            let loader = builder(&dir, &simulated, slots).build().unwrap();
            let seen = Arc::new(AtomicU64::new(0));
            for epoch in 0..2 {
                let host: Vec<Vec<u64>> = columns(&dir)
                    .build()
                    .unwrap()
                    .epoch(epoch)
                    .map(|batch| batch.unwrap().ordinals().collect())
                    .collect();
                let mut device = Vec::new();
                for (number, batch) in loader.epoch(epoch).enumerate() {
                    let batch = batch.unwrap();
                    // Two streams in turn, and sometimes both.
                    look(&simulated, &batch, DeviceStream::fake(10 + number as u64 % 2), &seen);
                    if number % 3 == 0 {
                        look(&simulated, &batch, DeviceStream::LEGACY, &seen);
                    }
                    device.push(batch.host().ordinals().collect::<Vec<_>>());
                    std::thread::sleep(own);
                }
                assert_eq!(device, host);
            }
            for stream in [DeviceStream::fake(10), DeviceStream::fake(11), DeviceStream::LEGACY] {
                simulated.drain(stream);
            }
            assert_eq!(seen.load(Ordering::SeqCst), 2 * (10 + 4));
            let stats = loader.stats();
            assert_eq!(stats.stage("upload").unwrap().items, 20);
            let ring = stats.ring.unwrap();
            assert_eq!((ring.requests, ring.missing <= 20), (20, true));
            assert!(ring.slots >= 20 * slots as u64 && ring.ready <= ring.slots, "{ring:?}");
            assert!((0.0..=1.0).contains(&stats.hidden().unwrap()));
            assert!(stats.to_string().contains("slots ready when a batch was requested"));
            drop(loader);
            assert_eq!(simulated.used(), 0, "device memory is left");
        }
    }
}

#[test]
fn a_stream_that_was_named_before_waits_again() {
    let dir = shards();
    let simulated = Arc::new(FakeDevice::new(SLOW));
    let seen = Arc::new(AtomicU64::new(0));
    let loader = builder(&dir, &simulated, 3).build().unwrap();
    for batch in loader.epoch(0) {
        let batch = batch.unwrap();
        batch.used_on(DeviceStream::LEGACY);
        look(&simulated, &batch, DeviceStream::LEGACY, &seen);
    }
    simulated.drain(DeviceStream::LEGACY);
    assert_eq!(seen.load(Ordering::SeqCst), 10);
}

#[test]
fn the_default_stream_of_another_thread_is_waited_for_through_the_legacy_stream() {
    let dir = shards();
    let simulated = Arc::new(FakeDevice::new(FAST));
    let loader = builder(&dir, &simulated, 3).build().unwrap();
    for (elsewhere, marked) in [(false, DeviceStream::PER_THREAD), (true, DeviceStream::LEGACY)] {
        let batch = loader.epoch(0).next().unwrap().unwrap();
        std::thread::scope(|scope| {
            let tell = || batch.ready_on(DeviceStream::PER_THREAD).unwrap();
            if elsewhere { scope.spawn(tell).join().unwrap() } else { tell() }
        });
        let before =
            [DeviceStream::PER_THREAD, DeviceStream::LEGACY].map(|stream| simulated.marked(stream));
        drop(batch);
        let after =
            [DeviceStream::PER_THREAD, DeviceStream::LEGACY].map(|stream| simulated.marked(stream));
        let grown: Vec<_> =
            before.iter().zip(after).map(|(before, after)| after - before).collect();
        let right = if marked == DeviceStream::LEGACY { [0, 1] } else { [1, 0] };
        assert_eq!(grown, right, "marks in the thread's own stream and in the legacy one");
    }
}

#[test]
fn a_state_counts_batches_that_the_consumer_took_and_not_uploads() {
    let dir = shards();
    let simulated = Arc::new(FakeDevice::new(FAST));
    let loader = builder(&dir, &simulated, 3).build().unwrap();
    let mut epoch = loader.epoch(0);
    let first: Vec<_> = epoch.by_ref().take(2).map(Result::unwrap).collect();
    while epoch.occupied().0 < 1 {
        std::thread::yield_now();
    }
    let state = loader.state();
    assert_eq!((state.epoch(), state.position()), (0, 2 * BATCH));
    drop((first, epoch));
    let again = on(&simulated, columns(&dir).resume(state), 2).build().unwrap();
    let rest = again.epoch(0).map(Result::unwrap).count();
    assert_eq!(rest, 8);
    let mut both = loader.ledger();
    both.merge(&again.ledger()).unwrap();
    both.prove(&loader.expected(0).unwrap()).unwrap();
}

#[test]
fn after_the_last_batch_every_call_returns_none() {
    let dir = shards();
    let simulated = Arc::new(FakeDevice::new(FAST));
    let loader = builder(&dir, &simulated, 3).build().unwrap();
    let mut epoch = loader.epoch(0);
    assert_eq!(epoch.by_ref().map(Result::unwrap).count(), 10);
    assert!((0..3).all(|_| epoch.next().is_none() && epoch.ready(Duration::ZERO)));
    assert_eq!((epoch.remaining(), loader.current_epoch()), (0, 1));
}

#[test]
fn a_dropped_epoch_leaves_nothing_and_its_batches_stay_valid() {
    let dir = shards();
    let simulated = Arc::new(FakeDevice::new(SLOW));
    let seen = Arc::new(AtomicU64::new(0));
    let loader = builder(&dir, &simulated, 3).build().unwrap();
    for taken in [0, 1, 2, 5] {
        let mut epoch = loader.epoch(0);
        let kept: Vec<_> = epoch.by_ref().take(taken).map(Result::unwrap).collect();
        drop(epoch);
        for batch in &kept {
            look(&simulated, batch, DeviceStream::LEGACY, &seen);
        }
    }
    let batch = loader.epoch(3).next().unwrap().unwrap();
    drop(loader);
    look(&simulated, &batch, DeviceStream::LEGACY, &seen);
    batch.release(&[DeviceStream::PER_THREAD]).unwrap();
    simulated.drain(DeviceStream::LEGACY);
    assert_eq!((seen.load(Ordering::SeqCst), simulated.used()), (9, 0));
}

#[test]
fn a_consumer_that_holds_all_slots_gets_more_while_memory_is_available() {
    let dir = shards();
    let simulated = Arc::new(FakeDevice::new(FAST));
    let loader = builder(&dir, &simulated, 2).build().unwrap();
    let held: Vec<_> = loader.epoch(0).map(Result::unwrap).collect();
    assert_eq!(held.len(), 10);
    let pointers: std::collections::BTreeSet<_> =
        held.iter().map(|batch| batch.column("row").unwrap().pointer).collect();
    assert_eq!(pointers.len(), 10, "two batches share memory");

    let simulated = Arc::new(FakeDevice::new(FAST).with_room(5 * 2048));
    let loader = builder(&dir, &simulated, 2).build().unwrap();
    let mut held = Vec::new();
    let error = loader.epoch(0).find_map(|batch| batch.map(|batch| held.push(batch)).err());
    let error = error.expect("there is no memory for ten");
    assert_eq!((error.kind(), held.len()), (ErrorKind::Limit, 5));
    assert!(error.text().starts_with("the program holds 5 batches"), "{error}");
}

#[test]
fn a_device_failure_ends_the_epoch_after_the_batches_before_it() {
    let dir = shards();
    for (call, after) in [("copy", 0), ("copy", 4), ("set", 5), ("wait", 3), ("allocate", 1)] {
        let simulated = Arc::new(FakeDevice::new(FAST).refusing(call, after));
        let loader = builder(&dir, &simulated, 2).build().unwrap();
        let mut epoch = loader.epoch(0);
        let mut good = 0;
        let error = loop {
            match epoch.next() {
                Some(Ok(batch)) => {
                    good += 1;
                    if let Err(error) = batch.ready_on(DeviceStream::LEGACY) {
                        break error;
                    }
                }
                Some(Err(error)) => break error,
                None => panic!("{call} {after}: an end without an error"),
            }
        };
        assert_eq!(error.kind(), ErrorKind::Device, "{call}: {error}");
        assert!(error.text().contains("was refused"), "{call}: {error}");
        assert!(good < 10 && (call != "copy" || good == after), "{call} {after}: {good}");
    }
}

#[test]
fn a_bad_sample_is_an_error_in_its_place() {
    let dir = shards();
    let simulated = Arc::new(FakeDevice::new(FAST));
    let columns = columns(&dir).column("n", crate::decode::numbers::class::Class::new("row"));
    let loader = on(&simulated, columns, 3).build().unwrap();
    let error = loader.epoch(0).next().unwrap().unwrap_err();
    assert!(error.place().key.is_some() && error.kind() == ErrorKind::Decode, "{error}");
}

#[test]
fn variable_columns_stay_on_the_host() {
    let dir = shards();
    let simulated = Arc::new(FakeDevice::new(FAST));
    let loader = builder(&dir, &simulated, 3).build().unwrap();
    let batch = loader.epoch(0).next().unwrap().unwrap();
    assert_eq!(batch.columns().map(|column| column.name).collect::<Vec<_>>(), ["row"]);
    assert!(batch.column("txt").unwrap_err().text().contains("on the host"));
    assert!(batch.host().column("txt").is_ok());
    for text in ["gpu", "cuda:x", "cpu"] {
        assert!(text.parse::<Device>().unwrap_err().text().contains("\"cuda:N\""));
    }
}
