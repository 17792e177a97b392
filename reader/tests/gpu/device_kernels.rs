//! JPEGs that our kernels decode on the device: each byte of each batch is the host's, for all kinds, crops and channels,
//! with forged entry points, damage and every policy. Uses the simulated driver of `fixtures/cuda`.
//!
//! The driver is loaded when a program starts. Therefore each test runs this program again as a child.
#![allow(missing_docs, clippy::unwrap_used)]

mod bench;

use tarflume::{BadSample, DeviceShare, ErrorKind, Image, LoaderBuilder, OnBad, RandomResizedCrop};
use tarflume_fixtures::PhotoKind;

use crate::gpu::device_kernels::bench::{
    Given, SAMPLES, broken, builder, compare, compare_epochs, damaged, forged, given, kernels, on,
    photo, shards,
};
use crate::gpu::simulated::{Consumer, alone, lines, log, with_log, word};

fn told(bad: Vec<BadSample>) -> Vec<String> {
    bad.iter().map(|bad| format!("{bad:?}")).collect()
}

/// A loader of one column.
fn one_column(
    dir: &tempfile::TempDir,
    crop: RandomResizedCrop,
    share: Option<&DeviceShare>,
) -> LoaderBuilder {
    let image = kernels(Image::new("jpg", crop), share);
    tarflume::Loader::builder(dir.path()).column("image", image).batch(5).threads(2)
}

/// All pictures.
fn all() -> DeviceShare {
    DeviceShare::fixed(1000)
}

#[test]
#[ignore = "a child of the tests below"]
fn child_alike() {
    let share = std::env::var("SHARE").map_or_else(|_| all(), |share| share.parse().unwrap());
    let dir = shards(&[]);
    let consumer = Consumer::new();
    // Its filter reads pixels outside the output, so the CPU decodes all of it.
    let center = Image::new("jpg", tarflume::ResizeCenterCrop::new(20, 16));
    let host = builder(&dir, None).column("center", center.clone()).build().unwrap();
    let ours = builder(&dir, Some(&share)).column("center", center.device_kernels(share.clone()));
    let ours = on(ours);
    compare_epochs(&consumer, &host, &ours, 0..2);
    let stats = ours.stats();
    assert_eq!(stats.warning, None, "{stats}");
    let decoder = stats.decoder.unwrap();
    assert!(decoder.about.text().contains("kernels of tarflume"), "{decoder:?}");
    assert_eq!((decoder.refused, &decoder.why), (0, &None), "{decoder:?}");
    // Of ten samples, five are for the kernels in three columns, and a large one if it is reduced.
    let of_ten = 2 * 3 * u64::from(SAMPLES) / 10;
    let most = 6 * of_ten;
    let least = if share == all() { 5 * of_ten } else { 1 };
    assert!((least..=most).contains(&decoder.decoded), "{decoder:?}");
}

#[test]
fn each_byte_of_a_batch_is_the_host_s() {
    alone("gpu::device_kernels::child_alike", &[]);
    for share in ["0.4", "auto"] {
        let knobs = [("SHARE", share), ("FAKECUDA_DELAY_US", "20-1000"), ("FAKECUDA_ORDER", "7")];
        alone("gpu::device_kernels::child_alike", &knobs);
    }
}

#[test]
#[ignore = "a child of the test below"]
fn child_crosses() {
    // Long pictures of which a small crop is taken.
    let large: Vec<_> = (0..SAMPLES)
        .map(|n| (n, Given::of(photo(PhotoKind::Yuv420, 700, 500, n.into()))))
        .collect();
    let whole: u64 = large.iter().map(|(_, given)| given.jpeg.len() as u64).sum();
    let dir = shards(&large);
    let crop = RandomResizedCrop::new(32).scale(0.02..=0.1);
    let consumer = Consumer::new();
    let host = one_column(&dir, crop.clone(), None).build().unwrap();
    let ours = on(one_column(&dir, crop, Some(&all())));
    compare_epochs(&consumer, &host, &ours, 0..1);
    assert_eq!(ours.stats().decoder.unwrap().decoded, u64::from(SAMPLES));
    let copied = lines(&log(), "cuMemcpyHtoDAsync_v2");
    let copied: u64 = copied.iter().map(|line| word(line, "bytes").parse::<u64>().unwrap()).sum();
    assert!(copied < whole / 2, "{copied} bytes of {whole}");
    let read = ours.stats().stage("read").unwrap().bytes;
    assert!(read < whole * 3 / 4, "rows that no crop needs were read");
}

#[test]
fn only_the_rows_that_a_crop_needs_are_read_and_cross_the_link() {
    let (_folder, log) = with_log();
    alone("gpu::device_kernels::child_crosses", &[("FAKECUDA_LOG", &log)]);
}

/// Entry points that belong to other pictures: of a good picture, and of damaged ones. And damage that no entry points hide.
fn forgeries() -> Vec<(u32, Given)> {
    fn other(n: u32) -> Vec<u8> {
        photo(PhotoKind::Yuv420, 90, 80, u64::from(n) + 100)
    }

    fn damaged_and_forged(n: u32) -> Given {
        Given::with(damaged(), forged(&other(n), &damaged()))
    }

    let good = photo(PhotoKind::Yuv420, 90, 80, 2);
    let points = forged(&other(0), &good);
    let cut = given(11).jpeg;
    vec![
        (2, Given::with(good, points)),
        (11, Given::of(cut[..cut.len() - 40].to_vec())),
        (12, damaged_and_forged(12)),
        (13, Given::of(b"no picture".to_vec())),
        (20, damaged_and_forged(20)),
        (21, damaged_and_forged(21)),
    ]
}

#[test]
#[ignore = "a child of the test below"]
fn child_left_out() {
    let dir = shards(&forgeries());
    let consumer = Consumer::new();
    let host = builder(&dir, None).on_bad(OnBad::Skip).build().unwrap();
    let ours = on(builder(&dir, Some(&all())).on_bad(OnBad::Skip));
    compare_epochs(&consumer, &host, &ours, 0..2);
    assert_eq!(told(host.bad_samples()), told(ours.bad_samples()));
    assert_eq!(ours.bad_samples().len(), 5);
    let decoder = ours.stats().decoder.unwrap();
    // The good picture with the entry points of another one, too.
    assert!(decoder.refused >= 2 * 4 && decoder.why.unwrap().text().contains("entry points"));
}

#[test]
fn pictures_with_faults_are_decoded_by_the_cpu_and_bad_ones_left_out_as_by_the_host() {
    alone("gpu::device_kernels::child_left_out", &[("FAKECUDA_DELAY_US", "20-500")]);
}

#[test]
#[ignore = "a child of the test below"]
fn child_error() {
    // Of a file that was read whole, and of one of which only rows were read.
    for (width, height) in [(90, 80), (700, 500)] {
        let at = 13;
        let jpeg = photo(PhotoKind::Yuv420, width, height, 1);
        let dir = shards(&[(at, broken(&jpeg))]);
        let crop = RandomResizedCrop::new(20).scale(0.4..=0.5);
        let consumer = Consumer::new();
        let host = one_column(&dir, crop.clone(), None).build().unwrap();
        let ours = on(one_column(&dir, crop, Some(&all())));
        let mut batches = ours.epoch(0);
        let mut ended = false;
        for right in host.epoch(0) {
            let batch = batches.next().unwrap();
            match (right, batch) {
                (Ok(right), Ok(batch)) => compare(&consumer, &right, &batch),
                (Err(right), Err(error)) => {
                    assert_eq!(right.to_string(), error.to_string());
                    assert_eq!(
                        (right.kind(), error.kind()),
                        (ErrorKind::Decode, ErrorKind::Decode)
                    );
                    assert_eq!(right.place(), error.place());
                    ended = true;
                }
                (right, batch) => panic!("{right:?} {batch:?}"),
            }
        }
        assert!(ended && batches.next().is_none(), "the crop is beside the damage");
        assert_eq!(ours.stats().decoder.unwrap().refused, 1);
    }
}

#[test]
fn a_bad_jpeg_is_the_error_of_the_host() {
    alone("gpu::device_kernels::child_error", &[]);
}

#[test]
#[ignore = "a child of the test below"]
fn child_replaced() {
    let honest: Vec<_> =
        forgeries().into_iter().filter(|(at, _)| [2, 11, 13].contains(at)).collect();
    let dir = shards(&honest);
    let consumer = Consumer::new();
    let host = builder(&dir, None).on_bad(OnBad::Substitute).build().unwrap();
    let ours = on(builder(&dir, Some(&all())).on_bad(OnBad::Substitute));
    compare_epochs(&consumer, &host, &ours, 0..2);
    assert_eq!(told(host.bad_samples()), told(ours.bad_samples()));
    assert_eq!(ours.bad_samples().len(), 2);
    // What only the kernels find is found too late for a substitute, and is left out.
    let forged = shards(&forgeries());
    let ours = on(builder(&forged, Some(&all())).on_bad(OnBad::Substitute));
    let rows: usize = ours.epoch(0).map(|batch| batch.unwrap().host().len()).sum();
    let late = ours.bad_samples().into_iter().filter(|bad| bad.substitute.is_none());
    let late: Vec<u64> = late.map(|bad| bad.ordinal).collect();
    // Places where none can be are found when a row is written.
    assert!(!late.is_empty() && late.iter().all(|at| [12, 20, 21].contains(at)), "{late:?}");
    assert_eq!(rows, SAMPLES as usize - late.len());
}

#[test]
fn bad_jpegs_are_replaced_as_by_the_host_unless_their_entry_points_are_forged() {
    alone("gpu::device_kernels::child_replaced", &[]);
}

#[test]
#[ignore = "a child of the test below"]
fn child_resumes() {
    let dir = shards(&[]);
    let consumer = Consumer::new();
    let host = builder(&dir, None).build().unwrap();
    let ours = on(builder(&dir, Some(&all())));
    let right: Vec<_> = host.epoch(0).map(Result::unwrap).collect();
    let mut batches = ours.epoch(0);
    for right in &right[..3] {
        compare(&consumer, right, &batches.next().unwrap().unwrap());
    }
    drop(batches);
    let resumed = on(builder(&dir, Some(&all())).threads(1).resume(ours.state()));
    let mut batches = resumed.epoch(0);
    for right in &right[3..] {
        compare(&consumer, right, &batches.next().unwrap().unwrap());
    }
    assert!(batches.next().is_none());
}

#[test]
fn a_job_goes_on_in_the_middle_of_an_epoch() {
    alone("gpu::device_kernels::child_resumes", &[("FAKECUDA_DELAY_US", "20-500")]);
}

#[test]
#[ignore = "a child of the test below"]
fn child_at_once() {
    let dir = shards(&[]);
    let consumer = Consumer::new();
    let host = builder(&dir, None).build().unwrap();
    let ours = on(builder(&dir, Some(&all())));
    let mut epochs: Vec<_> = (0..4).map(|n| (host.epoch(n), ours.epoch(n))).collect();
    for (right, batches) in epochs.iter_mut().rev() {
        for right in right {
            compare(&consumer, &right.unwrap(), &batches.next().unwrap().unwrap());
        }
        assert!(batches.next().is_none());
    }
    drop(epochs);
    assert!(ours.epoch(4).all(|batch| batch.is_ok()));
    let before = ours.stats().device_memory.unwrap();
    (5..8).for_each(|n| assert!(ours.epoch(n).all(|batch| batch.is_ok())));
    let after = ours.stats().device_memory.unwrap();
    assert_eq!((before.bytes, before.allocations), (after.bytes, after.allocations));
}

#[test]
fn epochs_at_once_do_not_mix_and_nothing_is_allocated_for_a_batch() {
    alone("gpu::device_kernels::child_at_once", &[("FAKECUDA_DELAY_US", "200")]);
}

#[test]
#[ignore = "a child of the test below"]
fn child_without() {
    let dir = shards(&[]);
    let consumer = Consumer::new();
    let host = builder(&dir, None).build().unwrap();
    let ours = on(builder(&dir, Some(&all())));
    compare_epochs(&consumer, &host, &ours, 0..1);
    let stats = ours.stats();
    let says = std::env::var("WARNS").unwrap();
    assert!(stats.warning.as_ref().unwrap().as_str().contains(&says), "{stats}");
    assert_eq!(stats.decoder, None);
    let alone = builder(&dir, Some(&all())).build().unwrap();
    assert!(alone.stats().warning.unwrap().as_str().contains("the loader has no device"));
}

#[test]
fn where_kernels_or_memory_lack_the_host_decodes_and_statistics_give_the_reason() {
    for (knob, value, says) in [
        ("TARFLUME_NVRTC", "/nowhere/libnvrtc.so", "by the CPU: there are no kernels"),
        ("FAKECUDA_MEMORY", "6000000", "bytes of device memory failed"),
    ] {
        alone("gpu::device_kernels::child_without", &[(knob, value), ("WARNS", says)]);
    }
}

#[test]
#[ignore = "a child of the test below"]
fn child_fails() {
    let dir = shards(&[]);
    let ours = on(builder(&dir, Some(&all())));
    let error = ours.epoch(0).find_map(Result::err).unwrap();
    assert_eq!(error.kind(), ErrorKind::Device, "{error}");
}

/// Each kernel is launched once when the loader is built.
#[test]
fn a_kernel_that_fails_ends_the_epoch() {
    for call in ["9", "10", "11"] {
        let fail = format!("cuLaunchKernel:{call}:719");
        alone("gpu::device_kernels::child_fails", &[("FAKECUDA_FAIL", &fail)]);
    }
}
