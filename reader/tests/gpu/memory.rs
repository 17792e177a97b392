//! Memory of the device: what is allocated and when, what crosses the link, and what an error says if there is too little.
#![allow(missing_docs, clippy::unwrap_used)]

use std::error::Error as _;
use std::path::Path;

use tarflume::internal::nvjpeg::{Scale, Verdict};
use tarflume::{Device, DeviceLoader, DeviceShare, ErrorKind};
use tarflume_fixtures::PhotoKind;
use tarflume_formats::message::Face;

use crate::gpu::cuda;
use crate::gpu::device_decoder::bench::{Consumer, SAMPLES, builder, number, photo, shards};
use crate::gpu::device_decoder::on;
use crate::gpu::nvjpeg::bench::Bench;
use crate::gpu::simulated::{alone, lines, log, with_log, word};
use crate::patience::until;

/// Calls in a driver's log that allocate or free.
fn allocations(log: &Path) -> usize {
    let names = ["cuMemAlloc_v2", "cuMemHostAlloc", "cuMemFree_v2", "cuMemFreeHost"];
    names.iter().map(|name| lines(log, name).len()).sum()
}

/// Takes an epoch.
fn take(ours: &DeviceLoader, epoch: u64) {
    assert_eq!(ours.epoch(epoch).map(Result::unwrap).count(), 8);
}

#[test]
#[ignore = "a child of the test below"]
fn child_warm() {
    // In full size, as without engines, and all of one size, or of many, which the first epochs meet.
    let uniform = number("FAKENVJPEG_ENGINES") == Some(0);
    let all = (0..SAMPLES).filter(|_| uniform);
    let all: Vec<_> = all.map(|n| (n, photo(PhotoKind::Yuv420, 97, 61, n.into()))).collect();
    let dir = shards(&all);
    let consumer = Consumer::new();
    // Half of the pictures, so that another number of them is decoded for each batch and column.
    let ours = on(&consumer, builder(&dir, &DeviceShare::fixed(500)));
    let warm = if uniform { 1 } else { 6 };
    (0..warm).for_each(|epoch| take(&ours, epoch));
    let before = (allocations(&log()), ours.stats().device_memory.unwrap());
    assert!(before.1.bytes > 0 && before.1.pinned_bytes > 0, "{before:?}");
    assert!(!uniform || before.1.late_allocations == 0, "{before:?}");
    (warm..warm + 6).for_each(|epoch| take(&ours, epoch));
    let after = (allocations(&log()), ours.stats().device_memory.unwrap());
    assert_eq!(after.0, before.0, "{before:?} {after:?}");
    assert_eq!(after.1.late_allocations, before.1.late_allocations, "{before:?} {after:?}");
    let log = std::fs::read_to_string(std::env::var_os("FAKENVJPEG_LOG").unwrap()).unwrap();
    let sizes = log.lines().filter(|line| line.starts_with("nvjpegDecodeBatchedInitialize"));
    assert!(sizes.count() > 20, "the number of pictures hardly changes");
}

/// The library frees and allocates whenever the number of pictures changes.
#[test]
fn after_the_warm_up_nothing_is_allocated_although_the_shares_of_batches_differ() {
    let (folder, log) = with_log();
    let of_library = folder.path().join("nvjpeg").to_str().unwrap().to_string();
    let logs = [("FAKECUDA_LOG", log.as_str()), ("FAKENVJPEG_LOG", &of_library)];
    let [driver, library] = logs;
    alone("gpu::memory::child_warm", &[driver, library, ("FAKECUDA_DELAY_US", "10")]);
    alone("gpu::memory::child_warm", &[driver, library, ("FAKENVJPEG_ENGINES", "0")]);
}

/// A block whose work is not done is waited for.
#[test]
fn a_device_that_is_far_behind_allocates_no_more() {
    let made = ["0", "150"].map(|delay| {
        let (folder, log) = with_log();
        let of_library = folder.path().join("nvjpeg").to_str().unwrap().to_string();
        let logs = [("FAKECUDA_LOG", log.as_str()), ("FAKENVJPEG_LOG", &of_library)];
        let [driver, library] = logs;
        alone(
            "gpu::memory::child_warm",
            &[driver, library, ("FAKENVJPEG_ENGINES", "0"), ("FAKECUDA_DELAY_US", delay)],
        );
        allocations(Path::new(&log))
    });
    assert_eq!(made[0], made[1]);
}

#[test]
#[ignore = "a child of the test below"]
fn child_trial_lacks() {
    let dir = shards(&[]);
    let ours = on(&Consumer::new(), builder(&dir, &DeviceShare::fixed(500)));
    let warning = ours.stats().warning.unwrap();
    for (face, says) in FACES {
        let text = warning.message().in_face(face);
        assert!(text.contains("the trial of nvJPEG: allocating"), "{text}");
        assert!(text.contains(says), "{text}");
    }
}

/// What each face says of smaller batches.
const FACES: [(Face, &str); 2] = [
    (Face::Python, "or use a smaller batch_size= or fewer device_slots="),
    (Face::Rust, "or use a smaller .batch(..) or fewer .device_slots(..)"),
];

#[test]
#[ignore = "a child of the test below"]
fn child_picture_lacks() {
    let jpeg = photo(PhotoKind::Yuv420, 64, 48, 1);
    let found = Bench::new().decode(&[(&jpeg, Scale::Full, 3)]);
    let Verdict::Refused(why) = &found[0].1 else { panic!() };
    for (face, says) in FACES {
        let text = why.in_face(face);
        assert!(text.contains("ALLOCATOR_FAILURE (5): nvJPEG: allocating 65536 bytes"), "{text}");
        assert!(text.contains(says), "{text}");
    }
}

/// The knob with which these allocations fail.
fn failing(calls: std::ops::RangeInclusive<u32>) -> String {
    calls.map(|n| format!("cuMemAlloc_v2:{n}:2")).collect::<Vec<_>>().join(",")
}

#[test]
fn memory_that_the_decoder_lacks_is_told_in_the_words_of_each_face() {
    // Each of three backends with each of two flags, for each of four columns.
    alone("gpu::memory::child_trial_lacks", &[("FAKECUDA_FAIL", &failing(1..=24))]);
    // The first block is that of the pixels. The library's is tried twice.
    alone("gpu::memory::child_picture_lacks", &[("FAKECUDA_FAIL", &failing(2..=3))]);
}

#[test]
#[ignore = "a child of the test below"]
fn child_late() {
    let dir = cuda::shards();
    let ours = cuda::builder(&dir, &Device::cuda(0).unwrap()).build().unwrap();
    drop(ours.epoch(0).map(Result::unwrap).collect::<Vec<_>>().pop());
    let memory = ours.stats().device_memory.unwrap();
    // 15 batches that were all held are 15 slots. The warm-up ends with the fifth. Host memory is pinned for more, too.
    let late = memory.late_allocations;
    assert!(10 <= late && late < memory.allocations, "{memory:?}");
    let text = ours.stats().to_string();
    assert!(text.contains(&format!(" allocations, {late} after the warm-up\n")), "{text}");
    let json = serde_json::to_value(ours.stats()).unwrap();
    assert_eq!(json["device_memory"]["late_allocations"], late);
}

#[test]
fn slots_of_a_ring_that_grows_are_late_allocations() {
    alone("gpu::memory::child_late", &[]);
}

#[test]
#[ignore = "a child of the test below"]
fn child_full() {
    let dir = cuda::shards();
    let ours = cuda::builder(&dir, &Device::cuda(0).unwrap()).build().unwrap();
    let mut batches = ours.epoch(0);
    let held: Vec<_> = (0..3).map(|_| batches.next().unwrap().unwrap()).collect();
    let error = batches.next().unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.text().starts_with("the program holds 3 batches, and the device"), "{error}");
    let cause = error.source().unwrap().to_string();
    let says =
        "cuda:0: allocating 8192 bytes of device memory failed: 5424 of 30000 bytes are free";
    assert!(cause.starts_with(says), "{cause}");
    assert!(cause.contains("use a smaller .batch(..) or fewer .device_slots(..)"), "{cause}");
    drop(held);
}

#[test]
fn a_ring_that_cannot_grow_says_how_much_memory_there_is_and_what_helps() {
    alone("gpu::memory::child_full", &[("FAKECUDA_MEMORY", "30000")]);
}

#[test]
#[ignore = "a child of the test below"]
fn child_crosses() {
    let dir = shards(&[]);
    let consumer = Consumer::new();
    let per_mille = number("SHARE").unwrap() as u16;
    let ours = on(&consumer, builder(&dir, &DeviceShare::fixed(per_mille)));
    take(&ours, 0);
    until("all copies are timed", || ours.stats().stage("upload").unwrap().items == 8);
    let counted = ours.stats().stage("upload").unwrap().bytes;
    assert_eq!(counted, copied());
    // Rows have room for 160 KiB: a batch of three such columns of four rows would be 1.9 MB. Its pixels are small.
    assert!(counted < 8 * 80_000 && counted > 8 * 4_000, "{counted}");
}

/// Bytes that were copied from batches, which are pinned.
fn copied() -> u64 {
    let calls = ["cuMemcpyHtoDAsync_v2", "cuMemcpy2DAsync_v2"].map(|name| lines(&log(), name));
    let pinned = calls.iter().flatten().filter(|line| word(line, "note") == "pinned");
    pinned.map(|line| word(line, "bytes").parse::<u64>().unwrap()).sum()
}

#[test]
fn rows_cross_the_link_no_further_than_their_pictures_reach() {
    for share in ["0", "500", "1000"] {
        let (_folder, log) = with_log();
        alone("gpu::memory::child_crosses", &[("SHARE", share), ("FAKECUDA_LOG", &log)]);
    }
}
