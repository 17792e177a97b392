//! Damaged JPEGs that the device's decoder detects: the policy for bad samples applies to each, and none ends a job
//! that tolerates bad samples.

use std::path::Path;
use std::time::Duration;

use tarflume::{BadSample, DeviceShare, Image, Loader, LoaderBuilder, OnBad, RandomResizedCrop};

use crate::gpu::device_decoder::bench::{Consumer, SAMPLES, builder, child, damaged, jpeg, shards};
use crate::gpu::device_decoder::on;

/// Damaged among their codes, cut, no JPEG at all.
fn bad() -> Vec<(u32, Vec<u8>)> {
    let cut = jpeg(11);
    let cut = cut[..cut.len() - 40].to_vec();
    vec![(2, damaged()), (11, cut), (12, b"no picture".to_vec()), (20, damaged()), (21, damaged())]
}

#[test]
#[ignore = "a child of the test below"]
fn child_error() {
    let dir = shards(&[(13, damaged())]);
    let consumer = Consumer::new();
    // Only the column that the device has sees the damage.
    let crop =
        Image::new("jpg", RandomResizedCrop::new(24)).device_decoder(DeviceShare::fixed(1000));
    let ours = on(&consumer, Loader::builder(dir.path()).column("image", crop).batch(4));
    let mut batches = ours.epoch(0);
    for step in 0..3 {
        assert_eq!(batches.next().unwrap().unwrap().host().step(), step);
    }
    let error = batches.next().unwrap().unwrap_err();
    let text = error.to_string();
    assert_eq!(error.kind(), tarflume::ErrorKind::Decode, "{text}");
    assert_eq!(error.place().key.as_deref(), Some("0013"), "{text}");
    assert!(
        text.contains("000.tar") && text.contains("image") && text.contains("bad JPEG"),
        "{text}"
    );
    assert!(batches.next().is_none());
    // Before the next epoch, whose batches are prepared ahead and meet the damage too.
    assert_eq!(ours.stats().decoder.unwrap().refused, 1);
    // The loader lives, and so does its decoder.
    assert!(ours.epoch(1).next().unwrap().is_ok());
}

#[test]
fn a_bad_jpeg_is_an_error_that_names_it_where_bad_samples_are() {
    child("gpu::device_decoder::bad::child_error", &[("FAKECUDA_DELAY_US", "300")]);
    child("gpu::device_decoder::bad::child_error", &[("FAKENVJPEG_ENGINES", "0")]);
}

#[test]
#[ignore = "a child of the test below"]
fn child_goes_on() {
    fn ordinals(bad: Vec<BadSample>) -> Vec<(u64, Option<u64>)> {
        bad.into_iter().map(|bad| (bad.ordinal, bad.substitute)).collect::<Vec<_>>()
    }

    let dir = shards(&bad());
    let consumer = Consumer::new();
    for on_bad in [OnBad::Skip, OnBad::Substitute] {
        let host = builder(&dir, &DeviceShare::fixed(0)).on_bad(on_bad).build().unwrap();
        let ours = on(&consumer, builder(&dir, &DeviceShare::fixed(1000)).on_bad(on_bad));
        consumer.compare_epochs(&host, &ours, 0..2, Duration::ZERO);
        assert_eq!(ordinals(host.bad_samples()), ordinals(ours.bad_samples()));
        assert_eq!(ours.bad_samples().len(), 5);
    }
}

#[test]
fn bad_jpegs_are_left_out_or_replaced_as_by_the_host_alone() {
    child("gpu::device_decoder::bad::child_goes_on", &[("FAKECUDA_DELAY_US", "20-1000")]);
}

#[test]
#[ignore = "a child of the test below"]
fn child_found_late() {
    fn begin(dir: &Path, share: DeviceShare) -> LoaderBuilder {
        let crop = Image::new("jpg", RandomResizedCrop::new(24).flip(0.5)).device_decoder(share);
        let columns = Loader::builder(dir).column("image", crop.clone().stream(0));
        let columns = columns.column("gray", crop.stream(1)).text("json").label("json", "/class");
        columns.batch(5).threads(2).on_bad(OnBad::Skip)
    }

    let dir = shards(&bad());
    let consumer = Consumer::new();
    let host = begin(dir.path(), DeviceShare::fixed(0)).build().unwrap();
    let ours = on(&consumer, begin(dir.path(), DeviceShare::fixed(1000)));
    let mut batches = ours.epoch(0);
    let mut rows = 0;
    for right in host.epoch(0) {
        let right = right.unwrap();
        let batch = batches.next().unwrap().unwrap();
        consumer.compare(&right, &batch);
        assert!((0..right.len()).all(|row| right.key(row) == batch.host().key(row)));
        rows += right.len();
    }
    assert!(batches.next().is_none());
    assert_eq!(rows, SAMPLES as usize - 5);
    let found: Vec<_> = ours.bad_samples().iter().map(|bad| bad.ordinal).collect();
    assert_eq!(found, [2, 11, 12, 20, 21]);
    let late = &ours.bad_samples()[0];
    assert_eq!((late.key.as_deref(), late.substitute), (Some("0002"), None));
    assert!(ours.stats().decoder.unwrap().refused >= 3);
    // Whole batches of damaged ones, and more than are put up with.
    let few = on(&consumer, begin(dir.path(), DeviceShare::fixed(1000)).bad_budget(2));
    let error = few.epoch(0).find_map(Result::err).unwrap();
    assert_eq!(error.kind(), tarflume::ErrorKind::TooManyBad);
}

#[test]
fn a_row_that_the_device_rejects_late_leaves_all_columns() {
    child("gpu::device_decoder::bad::child_found_late", &[("FAKECUDA_DELAY_US", "20-1000")]);
    child("gpu::device_decoder::bad::child_found_late", &[("FAKENVJPEG_ENGINES", "0")]);
}

#[test]
#[ignore = "a child of the test below"]
fn child_all_bad() {
    let all: Vec<_> = (0..SAMPLES).map(|n| (n, damaged())).collect();
    let dir = shards(&all);
    let consumer = Consumer::new();
    let crop =
        Image::new("jpg", RandomResizedCrop::new(24)).device_decoder(DeviceShare::fixed(1000));
    let ours = Loader::builder(dir.path()).column("image", crop).batch(5).on_bad(OnBad::Skip);
    let ours = on(&consumer, ours);
    let error = ours.epoch(0).find_map(Result::err).unwrap();
    assert!(error.text().contains("every sample of the epoch was bad"), "{error}");
}

#[test]
fn batches_of_only_damaged_samples_are_empty_and_the_epoch_is_an_error() {
    child("gpu::device_decoder::bad::child_all_bad", &[]);
}
