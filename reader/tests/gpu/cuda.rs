//! Epochs on the simulated CUDA driver of `fixtures/cuda`: everything but the GPU itself.
//!
//! A driver is loaded when a program starts. Therefore each test runs this program again as a child with the name
//! of the test, with the simulated driver first in the search path and its parameters set.
#![allow(missing_docs, clippy::unwrap_used)]

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::{CudaContext, CudaStream, result};
use tarflume::{
    DType, Device, DeviceBatch, DeviceLoader, DeviceLoaderBuilder, DeviceStream, ErrorKind, Loader,
    Raw, Shuffle,
};
use tarflume_formats::{Durability, ShardWriter};

use crate::gpu::simulated::alone as child;

const SAMPLES: u64 = 60;
const BATCH: u64 = 4;
const WORDS: u64 = 256;

fn row(ordinal: u64) -> Vec<u8> {
    (0..WORDS).flat_map(|n| (ordinal * 1000 + n).to_le_bytes()).collect()
}

/// One shard of samples with part `row`.
pub(crate) fn shards() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut shard = ShardWriter::create(dir.path(), "000.tar").unwrap();
    for ordinal in 0..SAMPLES {
        shard.begin(format!("{ordinal:04}").as_bytes());
        shard.part(b"row", 8 * WORDS).unwrap().copy_from_slice(&row(ordinal));
        shard.commit(None).unwrap();
    }
    shard.finish().unwrap().publish(dir.path(), "000.tar", Durability::Cached).unwrap();
    dir
}

pub(crate) fn builder(dir: &tempfile::TempDir, device: &Device) -> DeviceLoaderBuilder {
    Loader::builder(dir.path())
        .column("row", Raw::new("row").dtype(DType::U64).shape([WORDS as usize]))
        .shuffle(Shuffle::Full { seed: 4 })
        .batch(BATCH)
        .threads(2)
        .device(device.clone())
        .device_slots(3)
}

/// The consumer: has a separate stream, into which it copies the batches.
struct Consumer {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
}

/// What a batch should have been, and what its copy holds when the stream is done.
type Copied = (Vec<u8>, Box<[u8]>);

impl Consumer {
    fn new() -> Consumer {
        let context = CudaContext::new(0).unwrap();
        let stream = context.new_stream().unwrap();
        Consumer { context, stream }
    }

    fn stream(&self) -> DeviceStream {
        // SAFETY: a stream of this device, which lives as long as this value, longer than any batch.
        unsafe { DeviceStream::raw(self.stream.cu_stream() as u64) }
    }

    /// Has the stream copy the batch back, slowly perhaps, and lets go of it at once.
    fn copies(&self, batch: DeviceBatch) -> Copied {
        batch.ready_on(self.stream()).unwrap();
        let column = batch.column("row").unwrap();
        let right: Vec<u8> = batch.host().ordinals().flat_map(row).collect();
        self.context.bind_to_thread().unwrap();
        let mut copy = vec![0u8; right.len()].into_boxed_slice();
        // SAFETY: the copy is done before `copy` is looked at or dropped: `check` waits for the stream.
        unsafe { result::memcpy_dtoh_async(&mut copy, column.pointer, self.stream.cu_stream()) }
            .unwrap();
        drop(batch);
        (right, copy)
    }

    fn check(&self, copied: Vec<Copied>) {
        self.stream.synchronize().unwrap();
        for (right, copy) in copied {
            assert!(right[..] == copy[..], "the device had another batch");
        }
    }
}

fn number(name: &str) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}

#[test]
#[ignore = "a child of the tests below"]
fn child_epochs() {
    let dir = shards();
    let device = Device::cuda(0).unwrap();
    let loader = builder(&dir, &device).build().unwrap();
    let consumer = Consumer::new();
    for epoch in 0..3 {
        let mut copied = Vec::new();
        for batch in loader.epoch(epoch) {
            std::thread::sleep(Duration::from_micros(number("CONSUMER_US")));
            copied.push(consumer.copies(batch.unwrap()));
        }
        assert_eq!(copied.len(), 15);
        consumer.check(copied);
        loader.ledger().prove(&expected(&loader, epoch)).unwrap();
    }
    let stats = loader.stats();
    assert_eq!(stats.stage("upload").unwrap().items, 45);
    match std::env::var("FAKECUDA_PINNED") {
        Ok(_) => assert!(stats.warning.unwrap().as_str().contains("or the IOMMU may limit")),
        Err(_) => assert_eq!(stats.warning, None),
    }
}

fn expected(loader: &DeviceLoader, last: u64) -> tarflume::Ledger {
    let mut all = loader.expected(0).unwrap();
    (1..=last).for_each(|epoch| all.merge(&loader.expected(epoch).unwrap()).unwrap());
    all
}

#[test]
fn batches_arrive_whole_on_slow_and_fast_devices() {
    for (delay, consumer) in [("0", "0"), ("20-900", "0"), ("300", "0"), ("10", "1500")] {
        child(
            "gpu::cuda::child_epochs",
            &[("FAKECUDA_DELAY_US", delay), ("CONSUMER_US", consumer)],
        );
    }
}

#[test]
fn memory_that_cannot_be_pinned_is_a_warning_and_no_more() {
    child("gpu::cuda::child_epochs", &[("FAKECUDA_PINNED", "1"), ("FAKECUDA_DELAY_US", "50")]);
}

/// The calls in the log and their counts.
fn calls(log: &Path) -> HashMap<String, usize> {
    let mut calls = HashMap::new();
    for line in std::fs::read_to_string(log).unwrap().lines().filter(|l| !l.starts_with("ran ")) {
        *calls.entry(line.split(' ').next().unwrap_or_default().to_string()).or_default() += 1;
    }
    calls
}

#[test]
fn no_host_thread_waits_and_no_batch_allocates() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    child(
        "gpu::cuda::child_epochs",
        &[("FAKECUDA_LOG", log.to_str().unwrap()), ("FAKECUDA_DELAY_US", "100")],
    );
    let calls = calls(&log);
    let of = |name: &str| calls.get(name).copied().unwrap_or(0);
    assert_eq!(of("cuMemcpyHtoDAsync_v2"), 45, "{calls:?}");
    assert_eq!(of("cuMemAlloc_v2"), 3, "one slab a slot: {calls:?}");
    // Ours once, for copies, for kernels and for decoding, the consumer's once.
    assert_eq!((of("cuStreamCreateWithPriority"), of("cuStreamCreate")), (3, 1), "{calls:?}");
    // In preparation, planned, in hand, in slots, copies not seen to be done: not one for each of 45.
    assert!(of("cuMemHostAlloc") <= 4 + 1 + 1 + 3 + 4, "{calls:?}");
    // The consumer's own three, three at the end of ours, and the slots' marks when they are freed.
    // cudarc waits for the context where a second stream is made: the consumer's.
    assert!(of("cuStreamSynchronize") <= 6 && of("cuCtxSynchronize") <= 1, "{calls:?}");
    let [of_feeder, of_others] = waits(&log);
    assert!(of_others <= 9 && of_feeder <= 45, "{of_feeder} and {of_others}: {calls:?}");
}

/// How often the thread that copies waited for an event, and how often others did.
fn waits(log: &Path) -> [usize; 2] {
    let text = std::fs::read_to_string(log).unwrap();
    let copying = threads(&text, "cuMemcpyHtoDAsync_v2");
    let waiting = threads(&text, "cuEventSynchronize");
    let of_feeder = waiting.iter().filter(|thread| copying.contains(thread)).count();
    [of_feeder, waiting.len() - of_feeder]
}

/// The threads of the calls of a function.
fn threads<'a>(log: &'a str, name: &str) -> Vec<&'a str> {
    let lines = log.lines().filter(|line| line.split(' ').next() == Some(name));
    lines.map(|line| line.split(' ').find(|word| word.starts_with("thread=")).unwrap()).collect()
}

#[test]
fn a_copy_waits_for_the_device_by_an_event() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let slow = ("FAKECUDA_DELAY_US", "20000"); // batches are ready long before
    child("gpu::cuda::child_epochs", &[("FAKECUDA_LOG", log.to_str().unwrap()), slow]);
    let [of_feeder, _] = waits(&log);
    assert!(of_feeder > 0, "it looked now and then whether a copy was done");
}

#[test]
#[ignore = "a child of the tests below"]
fn child_refused() {
    let dir = shards();
    let device = Device::cuda(0).unwrap();
    let loader = builder(&dir, &device).build().unwrap();
    let mut good = 0;
    // What goes wrong while the device is at it shows in some later call, perhaps of a later epoch.
    let mut ended = |epoch| loader.epoch(epoch).find_map(|b| b.map(|_| good += 1).err());
    let error = (0..100).find_map(&mut ended).unwrap();
    let mut text = error.to_string();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(next) = cause.source() {
        text = format!("{text}: {next}");
        cause = next;
    }
    assert!(text.contains(&std::env::var("SAYS").unwrap()), "{text}");
    assert_eq!(error.kind(), ErrorKind::Device);
    assert!(good <= number("GOOD"), "{good} batches came before");
}

#[test]
fn a_driver_error_ends_the_epoch_with_its_message() {
    for (fail, good, says) in [
        ("cuMemcpyHtoDAsync_v2:5:700", "4", "copying a batch failed: "),
        ("@cuMemcpyHtoDAsync_v2:3:719", "1500", "CUDA_ERROR_LAUNCH_FAILED"),
        (
            "cuMemAlloc_v2:2:2",
            "0",
            "allocating 8192 bytes of device memory failed: 4294959104 of 4294967296 bytes",
        ),
        (
            "cuMemAlloc_v2:2:2",
            "0",
            "are free (4GiB of 4GiB); free what this program or others keep",
        ),
        ("cuMemAlloc_v2:2:2", "0", ".device_slots(..): out of memory (CUDA_ERROR_OUT_OF_MEMORY)"),
        ("cuEventCreate:4:2", "0", "creating an event failed"),
    ] {
        child(
            "gpu::cuda::child_refused",
            &[("FAKECUDA_FAIL", fail), ("GOOD", good), ("SAYS", says)],
        );
    }
}

#[test]
#[ignore = "a child of the tests below"]
fn child_no_device() {
    let error = Device::cuda(number("ORDINAL") as usize).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Device);
    assert!(error.to_string().contains(&std::env::var("SAYS").unwrap()), "{error}");
}

#[test]
fn a_missing_device_is_an_error_and_no_panic() {
    child(
        "gpu::cuda::child_no_device",
        &[("FAKECUDA_DEVICES", "0"), ("SAYS", "cuda:0: the driver refused it; it has 0")],
    );
    child(
        "gpu::cuda::child_no_device",
        &[("ORDINAL", "3"), ("SAYS", "cuda:3: the driver refused it; it has 1")],
    );
}

#[test]
fn without_a_driver_the_error_is_one_sentence() {
    if Device::cuda(0).is_ok() {
        return; // this machine has a GPU: `make gpu` is for it
    }
    let error = Device::cuda(0).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Device);
    assert!(error.text().starts_with("cuda:0: "), "{error}");
}
