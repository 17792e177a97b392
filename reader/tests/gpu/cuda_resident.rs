//! Data sets in device memory: drawn there as on the host, without reading files. Runs on the simulated CUDA driver
//! of `fixtures/cuda`, which executes the kernels on the CPU.
#![allow(missing_docs, clippy::unwrap_used)]

use std::path::Path;

use tarflume::{
    Batch, Channels, DType, Device, DeviceBatch, DeviceLoader, ErrorKind, Image, Json, Layout,
    Loader, LoaderBuilder, Normalize, OnBad, RandomResizedCrop, Remainder, Residency, Result,
    Shuffle, Split,
};
use tarflume_fixtures::{Photo, PhotoKind};
use tarflume_formats::{Durability, ShardWriter};

use crate::gpu::simulated::{Consumer, child};

const SHARDS: u32 = 3;
const EACH: u32 = 7;
const SIDE: usize = 20;

/// Three shards of pictures of several sizes, each with a class; one is cut short if `spoilt`.
fn shards(spoilt: bool) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for number in 0..SHARDS {
        let name = format!("{number:03}.tar");
        let mut shard = ShardWriter::create(dir.path(), &name).unwrap();
        for n in number * EACH..(number + 1) * EACH {
            shard.begin(format!("{n:04}").as_bytes());
            let photo = Photo::new(60 + n as u16, 50 + 2 * n as u16, PhotoKind::Yuv420);
            let mut jpeg = photo.encode(n.into()).unwrap();
            if spoilt && n == 5 {
                jpeg.truncate(jpeg.len() / 3);
            }
            shard.part(b"jpg", jpeg.len() as u64).unwrap().copy_from_slice(&jpeg);
            let json = format!("{{\"class\": {n}}}");
            shard.part(b"json", json.len() as u64).unwrap().copy_from_slice(json.as_bytes());
            shard.commit(None).unwrap();
        }
        shard.finish().unwrap().publish(dir.path(), &name, Durability::Cached).unwrap();
    }
    dir
}

/// Random crops, decoded in full, as numbers of several kinds.
fn builder(dir: &Path) -> LoaderBuilder {
    fn crop() -> Image {
        Image::new("jpg", RandomResizedCrop::new(SIDE as u32).flip(0.5)).reducing_gap(None)
    }

    Loader::builder(dir)
        .column("image", crop().to_f32(Normalize::unit()).layout(Layout::Chw))
        .column("label", Json::new("json", "/class"))
        .column("gray", crop().channels(Channels::Gray))
        .text("json")
        .shuffle(Shuffle::Full { seed: 4 })
        .remainder(Remainder::Uneven)
        .batch(4)
        .threads(2)
}

fn residency() -> Residency {
    Residency::within("64MiB".parse().unwrap())
}

fn read(consumer: &Consumer, batch: &DeviceBatch, name: &str) -> Vec<u8> {
    batch.ready_on(consumer.stream()).unwrap();
    let column = batch.column(name).unwrap();
    let bytes = column.shape.iter().product::<usize>() * column.dtype.size();
    consumer.read(column.pointer, bytes)
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
}

/// The mean and the largest difference of a batch's pictures, in steps of a byte.
fn differences(consumer: &Consumer, host: &Batch, device: &DeviceBatch) -> (f32, f32) {
    let right = floats(host.column("image").unwrap().bytes());
    let made = floats(&read(consumer, device, "image"));
    assert_eq!(right.len(), made.len());
    let all = right.iter().zip(&made).map(|(a, b)| 255.0 * (a - b).abs());
    let (sum, most) = all.fold((0.0, 0.0f32), |(sum, most), d| (sum + d, most.max(d)));
    (sum / right.len() as f32, most)
}

#[test]
#[ignore = "a child of the tests below"]
fn child_equal() {
    let dir = shards(false);
    let yuv = std::env::var("YUV").is_ok();
    let kept = if yuv { residency().yuv420() } else { residency() };
    let host = builder(dir.path()).build().unwrap();
    let device = Device::cuda(0).unwrap();
    let ours = builder(dir.path()).device(device).device_slots(3).resident(kept).build().unwrap();
    let consumer = Consumer::new();
    let mut mean = 0.0f32;
    let mut most = 0.0f32;
    for epoch in 0..3 {
        let batches = host.epoch(epoch).zip(ours.epoch(epoch));
        let mut rows = Vec::new();
        for (right, batch) in batches {
            let right = right.unwrap();
            let batch = batch.unwrap();
            assert!(right.ordinals().eq(batch.host().ordinals()));
            let image = batch.column("image").unwrap();
            assert_eq!((image.dtype, &image.shape[1..]), (DType::F32, &[3, SIDE, SIDE][..]));
            let (a, b) = differences(&consumer, &right, &batch);
            (mean, most) = (mean.max(a), most.max(b));
            let label = batch.column("label").unwrap();
            assert_eq!((label.dtype, label.shape.len()), (DType::I64, 1));
            assert_eq!(read(&consumer, &batch, "label"), right.column("label").unwrap().bytes());
            let gray = read(&consumer, &batch, "gray");
            let gray = right
                .column("gray")
                .unwrap()
                .bytes()
                .iter()
                .zip(&gray)
                .map(|(a, b)| a.abs_diff(*b))
                .max();
            assert_eq!(gray, Some(0));
            // What differs in length is read as ever.
            assert_eq!(
                batch.host().column("json").unwrap().bytes(),
                right.column("json").unwrap().bytes()
            );
            rows.push(right.len());
        }
        assert_eq!(rows, [4, 4, 4, 4, 4, 1]);
        let mut expected = ours.expected(0).unwrap();
        (1..=epoch).for_each(|epoch| expected.merge(&ours.expected(epoch).unwrap()).unwrap());
        ours.ledger().prove(&expected).unwrap();
    }
    // The device resizes with the host's bytes; planes have half of the color's resolution.
    let (least, largest) = if yuv { (2.5, 60.0) } else { (0.0, 0.0) };
    assert!(mean <= least && most <= largest, "they differ by {mean} in the mean, {most} at most");
    let fit = ours.resident().unwrap();
    assert_eq!(fit.samples, u64::from(SHARDS * EACH));
    let color = if yuv { 256 * 256 * 3 / 2 + 4 * 256 } else { 256 * 256 * 3 };
    assert_eq!(fit.sample_bytes, (64 + color + 64 + 256 * 256 + 8) as u64);
}

#[test]
fn epochs_from_device_memory_are_those_of_the_host() {
    let cache = tempfile::tempdir().unwrap();
    child("gpu::cuda_resident::child_equal", cache.path(), &[("FAKECUDA_DELAY_US", "20-200")]);
    child("gpu::cuda_resident::child_equal", cache.path(), &[("YUV", "1")]);
}

#[test]
#[ignore = "a child of the test below"]
fn child_without_files() {
    let dir = shards(false);
    let device = Device::cuda(0).unwrap();
    let ours = Loader::builder(dir.path())
        .image("jpg", RandomResizedCrop::new(8))
        .label("json", "/class")
        .shuffle(Shuffle::Full { seed: 1 })
        .batch(3)
        .device(device)
        .device_slots(2)
        .resident(residency())
        .build()
        .unwrap();
    let consumer = Consumer::new();
    let first: Vec<_> = ours.epoch(0).map(|b| read(&consumer, &b.unwrap(), "label")).collect();
    for number in 0..SHARDS {
        std::fs::write(dir.path().join(format!("{number:03}.tar")), b"").unwrap();
    }
    let second: Vec<_> = ours.epoch(1).map(|b| read(&consumer, &b.unwrap(), "label")).collect();
    assert_eq!((first.len(), second.len()), (7, 7));
    assert_ne!(first, second, "another epoch has another order");
}

#[test]
fn after_the_first_epoch_no_file_is_read() {
    let cache = tempfile::tempdir().unwrap();
    child("gpu::cuda_resident::child_without_files", cache.path(), &[]);
}

/// A loader of a data set that stays on the device.
fn on(device: &Device, host: LoaderBuilder, residency: Residency) -> Result<DeviceLoader> {
    host.device(device.clone()).device_slots(2).resident(residency).build()
}

#[test]
#[ignore = "a child of the test below"]
fn child_resumed() {
    let dir = shards(false);
    let device = Device::cuda(0).unwrap();
    let whole = on(&device, builder(dir.path()), residency()).unwrap();
    let consumer = Consumer::new();
    // An interrupted preload starts again.
    let mut asked = 0;
    let goes_on = |there| {
        assert_eq!(there, 4 * asked);
        asked += 1;
        asked < 3
    };
    assert!(!whole.preload(goes_on).unwrap());
    assert!(whole.preload(|_| true).unwrap() && whole.preload(|_| false).unwrap());
    let right: Vec<_> = whole.epoch(1).map(|b| read(&consumer, &b.unwrap(), "image")).collect();
    let begun = on(&device, builder(dir.path()), residency()).unwrap();
    let mut epoch = begun.epoch(1);
    (0..2).for_each(|_| drop(epoch.next().unwrap().unwrap()));
    drop(epoch);
    let resumed = builder(dir.path()).resume(begun.state());
    let resumed = on(&device, resumed, residency()).unwrap();
    let rest: Vec<_> = resumed.epoch(1).map(|b| read(&consumer, &b.unwrap(), "image")).collect();
    assert_eq!(rest, right[2..]);
}

#[test]
fn an_epoch_resumes_at_a_state() {
    let cache = tempfile::tempdir().unwrap();
    child("gpu::cuda_resident::child_resumed", cache.path(), &[]);
}

#[test]
#[ignore = "a child of the test below"]
fn child_split() {
    let dir = shards(false);
    let device = Device::cuda(0).unwrap();
    let mut seen = Vec::new();
    for rank in 0..3 {
        let split = Split::new(rank, 3).unwrap().by_shard();
        let kept = builder(dir.path())
            .split(split)
            .device(device.clone())
            .device_slots(2)
            .resident(residency());
        let ours = kept.build().unwrap();
        assert_eq!(ours.resident().unwrap().samples, u64::from(EACH));
        for batch in ours.epoch(2) {
            seen.extend(batch.unwrap().host().ordinals());
        }
    }
    seen.sort_unstable();
    assert!(seen.into_iter().eq(0..u64::from(SHARDS * EACH)));
}

#[test]
fn ranks_that_are_dealt_shards_keep_their_own_alone() {
    let cache = tempfile::tempdir().unwrap();
    child("gpu::cuda_resident::child_split", cache.path(), &[]);
}

#[test]
#[ignore = "a child of the test below"]
fn child_refused() {
    let dir = shards(true);
    let device = Device::cuda(0).unwrap();
    let small = Residency::within("1MB".parse().unwrap());
    let error = on(&device, builder(dir.path()), small).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    for says in ["21 samples of 262280 bytes are", "of 1MB allowed", "yuv420", "a side of "] {
        assert!(error.text().contains(says), "{says}: {error}");
    }
    // A sample that can't be read is met while the stores are filled.
    let broken = on(&device, builder(dir.path()), residency()).unwrap();
    let error = broken.epoch(0).next().unwrap().unwrap_err();
    assert!(error.to_string().contains("0005"), "{error}");
    for (on_bad, rows) in [(OnBad::Skip, 20), (OnBad::Substitute, 21)] {
        let ours = on(&device, builder(dir.path()).on_bad(on_bad), residency()).unwrap();
        for epoch in 0..2 {
            let all = ours.epoch(epoch).map(|batch| batch.unwrap().host().len());
            assert_eq!(all.sum::<usize>(), rows, "{on_bad:?}");
        }
        assert_eq!(ours.bad_samples().len(), 1);
    }
}

#[test]
fn a_data_set_that_does_not_fit_or_cannot_be_read_is_an_error() {
    let cache = tempfile::tempdir().unwrap();
    child("gpu::cuda_resident::child_refused", cache.path(), &[]);
}

#[test]
fn memory_is_returned_and_reserved_once() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    child(
        "gpu::cuda_resident::child_equal",
        folder.path(),
        &[("FAKECUDA_LOG", log.to_str().unwrap())],
    );
    let log = std::fs::read_to_string(&log).unwrap();
    let calls = |name: &str| log.lines().filter(|line| line.starts_with(name)).count();
    // Three stores, two slots of the loader that fills them, three of ours.
    assert_eq!((calls("cuMemAlloc_v2 "), calls("cuMemFree_v2 ")), (8, 8));
}
