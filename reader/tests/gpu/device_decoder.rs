//! JPEGs divided between the CPU and a device's decoder in one batch: the result equals the host's within the
//! difference of two decoders. Uses the simulated driver and libnvjpeg of `fixtures/cuda`.
//!
//! Libraries are loaded when a program starts. Therefore each test runs this program again as a child.
#![allow(missing_docs, clippy::unwrap_used)]

mod bad;
pub(crate) mod bench;
mod compressed;
mod shared;
mod trial;

use std::time::Duration;

use tarflume::{DeviceLoader, DeviceShare, LoaderBuilder};

use crate::gpu::device_decoder::bench::{Consumer, builder, child, number, shards};

/// The share that the parent set, of a thousand; or one that is found.
fn share() -> DeviceShare {
    number("SHARE").map_or(DeviceShare::auto(500), |per_mille| DeviceShare::fixed(per_mille as u16))
}

pub(crate) fn on(consumer: &Consumer, builder: LoaderBuilder) -> DeviceLoader {
    builder.device(consumer.device()).device_slots(3).build().unwrap()
}

#[test]
#[ignore = "a child of the tests below"]
fn child_alike() {
    let dir = shards(&[]);
    let consumer = Consumer::new();
    let host = builder(&dir, &share()).build().unwrap();
    let ours = on(&consumer, builder(&dir, &share()));
    let sleep = Duration::from_millis(number("SLEEP_MS").unwrap_or(0));
    let apart = consumer.compare_epochs(&host, &ours, 0..2, sleep);
    let stats = ours.stats();
    let decoder = stats.decoder.clone().unwrap();
    assert_eq!(stats.warning, None, "{stats}");
    assert!(stats.to_string().contains("JPEGs decoded by the device"), "{stats}");
    assert!(decoder.about.text().contains("nvJPEG 13.3.2"), "{decoder:?}");
    match number("SHARE") {
        Some(0) => assert_eq!((decoder.decoded, apart.elements), (0, 0), "{decoder:?}"),
        // In each epoch 12 pictures of each of three columns can go there, at least.
        Some(1000) => assert!(decoder.decoded >= 2 * 3 * 12, "{decoder:?}"),
        _ => assert!(decoder.decoded > 0 && decoder.decoded < 2 * 3 * 24, "{decoder:?}"),
    }
    assert_eq!((decoder.refused, &decoder.why), (0, &None), "{decoder:?}");
}

#[test]
fn a_batch_of_both_decoders_equals_that_of_the_host() {
    for share in ["0", "1000", "500"] {
        child("gpu::device_decoder::child_alike", &[("SHARE", share)]);
    }
    child("gpu::device_decoder::child_alike", &[]);
}

#[test]
fn slow_devices_and_slow_consumers_change_nothing() {
    let delay = ("FAKECUDA_DELAY_US", "100-3000");
    for seed in ["1", "2"] {
        child(
            "gpu::device_decoder::child_alike",
            &[("SHARE", "1000"), delay, ("FAKECUDA_SEED", seed)],
        );
    }
    child(
        "gpu::device_decoder::child_alike",
        &[("SHARE", "500"), ("SLEEP_MS", "20"), ("FAKECUDA_DELAY_US", "50")],
    );
    child(
        "gpu::device_decoder::child_alike",
        &[("SHARE", "1000"), ("FAKENVJPEG_DELAY_US", "2000")],
    );
}

/// Engines write when they are called: memory must not be written that a kernel still reads.
#[test]
fn pictures_are_not_overwritten_while_a_kernel_reads_them() {
    child("gpu::device_decoder::child_alike", &[("SHARE", "1000"), ("FAKECUDA_DELAY_US", "3000")]);
}

#[test]
fn a_chip_without_engines_decodes_with_its_cores_at_full_scale() {
    child("gpu::device_decoder::child_alike", &[("SHARE", "1000"), ("FAKENVJPEG_ENGINES", "0")]);
}

#[test]
fn calls_of_the_library_that_fail_cost_no_picture() {
    // Those before are for pictures by which the decoder is tried: two for each scale.
    for fail in ["nvjpegDecodeBatched:3:6", "nvjpegDecodeBatchedEx:8:6"] {
        child("gpu::device_decoder::child_alike", &[("SHARE", "1000"), ("FAKENVJPEG_FAIL", fail)]);
    }
    // JPEGs that the engines do not support are detected when they are read, and not submitted.
    child("gpu::device_decoder::child_alike", &[("SHARE", "1000"), ("FAKENVJPEG_REFUSE", "69x57")]);
}

#[test]
#[ignore = "a child of the test below"]
fn child_host_does_all() {
    let dir = shards(&[]);
    let consumer = Consumer::new();
    let host = builder(&dir, &DeviceShare::fixed(1000)).build().unwrap();
    assert!(host.stats().warning.unwrap().as_str().contains("the loader has no device"));
    assert!(!host.stats().to_string().contains("decoded by the device"));
    let ours = on(&consumer, builder(&dir, &DeviceShare::fixed(1000)));
    let apart = consumer.compare_epochs(&host, &ours, 0..1, Duration::ZERO);
    assert_eq!(apart.elements, 0);
    let stats = ours.stats();
    let says = std::env::var("WARNS").unwrap();
    assert!(stats.warning.as_ref().unwrap().as_str().contains(&says), "{stats}");
    assert_eq!(stats.decoder, None);
}

#[test]
fn if_the_device_lacks_something_the_host_works_and_statistics_give_the_reason() {
    let child =
        |knob, says| child("gpu::device_decoder::child_host_does_all", &[knob, ("WARNS", says)]);
    child(
        ("TARFLUME_NVJPEG", "/nowhere/libnvjpeg.so"),
        "TARFLUME_NVJPEG names no usable libnvjpeg",
    );
    child(("TARFLUME_NVRTC", "/nowhere/libnvrtc.so"), "by the CPU: there are no kernels");
    // Each of three backends with each of two flags, for each of four columns.
    let fail: Vec<_> = (1..=24).map(|n| format!("nvjpegCreateExV2:{n}:5")).collect();
    let fail = fail.join(",");
    child(("FAKENVJPEG_FAIL", &fail), "cannot be used");
    // The halves of the region need 8 MiB a column.
    child(("FAKECUDA_MEMORY", "6000000"), "allocating 8388608 bytes of device memory failed");
}

#[test]
#[ignore = "a child of the test below"]
fn child_repeats() {
    const NAMES: [&str; 3] = ["image", "f32", "gray"];

    /// All columns of an epoch's first batches.
    fn bytes(consumer: &Consumer, loader: &DeviceLoader, epoch: u64, most: usize) -> Vec<Vec<u8>> {
        let batches = loader.epoch(epoch).take(most).map(Result::unwrap);
        batches.flat_map(|batch| NAMES.map(|name| consumer.read(&batch, name))).collect()
    }

    let dir = shards(&[]);
    let consumer = Consumer::new();
    let share = DeviceShare::fixed(500);
    let first = on(&consumer, builder(&dir, &share));
    let all = [bytes(&consumer, &first, 0, 9), bytes(&consumer, &first, 1, 9)];
    assert!(all[0] != all[1]);
    let again = on(&consumer, builder(&dir, &share).threads(1).prefetch(1));
    assert!(bytes(&consumer, &again, 0, 9) == all[0]);
    assert!(bytes(&consumer, &again, 1, 3) == all[1][..3 * NAMES.len()]);
    let state = again.state();
    assert_eq!(state.position(), 12);
    let resumed = on(&consumer, builder(&dir, &share).resume(state));
    assert!(bytes(&consumer, &resumed, 1, 9) == all[1][3 * NAMES.len()..]);
    // Another epoch of the same loader, begun and left.
    drop(again.epoch(3).next());
    assert!(bytes(&consumer, &again, 0, 9) == all[0]);
}

#[test]
fn a_fixed_share_gives_the_same_bits_in_every_run_epoch_and_resume() {
    child("gpu::device_decoder::child_repeats", &[("FAKECUDA_DELAY_US", "20-2000")]);
}

#[test]
#[ignore = "a child of the test below"]
fn child_epochs_at_once() {
    let dir = shards(&[]);
    let consumer = Consumer::new();
    let host = builder(&dir, &DeviceShare::fixed(1000)).build().unwrap();
    let ours = on(&consumer, builder(&dir, &DeviceShare::fixed(1000)));
    let mut epochs: Vec<_> = (0..4).map(|n| (host.epoch(n), ours.epoch(n))).collect();
    // Waiting batches hold both halves; the last batch is decoded without.
    for (right, batches) in epochs.iter_mut().rev() {
        for right in right {
            consumer.compare(&right.unwrap(), &batches.next().unwrap().unwrap());
        }
        assert!(batches.next().is_none());
    }
    let decoder = ours.stats().decoder.unwrap();
    assert!(decoder.why.is_none_or(|why| why.text().contains("other epochs")));
}

#[test]
fn concurrent_epochs_neither_hang_nor_mix() {
    child("gpu::device_decoder::child_epochs_at_once", &[("FAKECUDA_DELAY_US", "500")]);
}

#[test]
#[ignore = "a child of the test below"]
fn child_share_falls() {
    let dir = shards(&[]);
    let consumer = Consumer::new();
    let host = builder(&dir, &DeviceShare::auto(800)).build().unwrap();
    let ours = on(&consumer, builder(&dir, &DeviceShare::auto(800)));
    consumer.compare_epochs(&host, &ours, 0..3, Duration::ZERO);
    let decoder = ours.stats().decoder.unwrap();
    assert!(decoder.decoded > 0);
    std::fs::write(std::env::var_os("TOLD").unwrap(), decoder.share.to_string()).unwrap();
}

#[test]
fn an_auto_share_moves_away_from_the_slower_decoder() {
    // On a busy machine the CPU may be slower still, so the decoder becomes slower until it is the slower one.
    let folder = tempfile::tempdir().unwrap();
    let told = folder.path().join("told");
    let falls = ["30000", "120000", "480000"].into_iter().any(|delay| {
        let variables = [("FAKENVJPEG_DELAY_US", delay), ("TOLD", told.to_str().unwrap())];
        child("gpu::device_decoder::child_share_falls", &variables);
        std::fs::read_to_string(&told).unwrap().parse::<u16>().unwrap() < 800
    });
    assert!(falls);
}

#[test]
#[ignore = "a child of the test below"]
fn child_wrong_use() {
    let dir = shards(&[]);
    let consumer = Consumer::new();
    let ours = on(&consumer, builder(&dir, &DeviceShare::fixed(10)));
    let lost = ours.epoch(0).find_map(Result::err).unwrap();
    assert_eq!(lost.kind(), tarflume::ErrorKind::Device);
}

#[test]
fn a_lost_device_ends_the_epoch_with_the_drivers_message() {
    child("gpu::device_decoder::child_wrong_use", &[("FAKECUDA_FAIL", "@cuLaunchKernel:9:719")]);
}
