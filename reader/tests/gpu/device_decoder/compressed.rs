//! Data sets in device memory as JPEGs: each batch equals the host's within the difference of two decoders, and no
//! file is read again.

use std::path::Path;
use std::time::Duration;

use tarflume::{
    Channels, DeviceLoader, Image, Json, Layout, Loader, LoaderBuilder, Normalize, OnBad,
    RandomResizedCrop, Remainder, Residency, Result, Shuffle, Size,
};
use tarflume_fixtures::PhotoKind;

use crate::gpu::device_decoder::bench::{Consumer, SAMPLES, child, damaged, jpeg, photo, shards};

/// Pictures in three columns; at full scale if there is no gap.
pub(crate) fn columns(dir: &Path, gap: Option<f64>) -> LoaderBuilder {
    let crop = Image::new("jpg", RandomResizedCrop::new(24).flip(0.5)).reducing_gap(gap);
    let f32 = crop.clone().stream(1).to_f32(Normalize::unit()).layout(Layout::Chw);
    let gray = crop.clone().stream(2).channels(Channels::Gray);
    Loader::builder(dir)
        .column("image", crop)
        .column("label", Json::new("json", "/class"))
        .column("f32", f32)
        .column("gray", gray)
        .shuffle(Shuffle::Full { seed: 4 })
        .remainder(Remainder::Uneven)
        .batch(4)
        .threads(2)
}

/// Instead of those that take long.
fn large() -> Vec<(u32, Vec<u8>)> {
    [9, 19, 29].map(|n| (n, photo(PhotoKind::Progressive, 110, 70, 1))).into()
}

/// With room for the largest of the pictures, decoded.
pub(crate) fn jpegs() -> Residency {
    Residency::within("256MiB".parse().unwrap()).side(400).compressed()
}

pub(crate) fn stays(consumer: &Consumer, builder: LoaderBuilder) -> DeviceLoader {
    builder.device(consumer.device()).device_slots(2).resident(jpegs()).build().unwrap()
}

#[test]
#[ignore = "a child of the test below"]
fn child_alike() {
    let dir = shards(&large());
    let consumer = Consumer::new();
    let host = columns(dir.path(), None).text("json").build().unwrap();
    let ours = stays(&consumer, columns(dir.path(), None).text("json"));
    let apart = consumer.compare_epochs(&host, &ours, 0..2, Duration::ZERO);
    assert!(apart.elements > 0, "two decoders round in their own way");
    let mut expected = ours.expected(0).unwrap();
    expected.merge(&ours.expected(1).unwrap()).unwrap();
    ours.ledger().prove(&expected).unwrap();
    let decoder = ours.stats().decoder.unwrap();
    // In each epoch, of each ten, those that are progressive, of four components, turned; gray ones as RGB.
    let color = 5 * SAMPLES / 10;
    let gray = 6 * SAMPLES / 10;
    assert_eq!(decoder.decoded, u64::from(2 * (2 * color + gray)), "{decoder:?}");
    assert_eq!((decoder.refused, ours.bad_samples().len()), (0, 0));
    assert!(decoder.about.text().contains("_DEVICE"), "{decoder:?}");
    let fit = ours.resident().unwrap();
    let other = large();
    let length = |n| other.iter().find(|o| o.0 == n).map_or_else(|| jpeg(n).len(), |o| o.1.len());
    let lengths = (0..SAMPLES).map(|n| (length(n) as u64).next_multiple_of(64));
    assert_eq!((fit.sample_bytes, fit.jpeg_bytes), (8, 3 * lengths.sum::<u64>()));
}

#[test]
fn epochs_out_of_jpegs_in_device_memory_are_those_of_the_host() {
    child("gpu::device_decoder::compressed::child_alike", &[]);
    child("gpu::device_decoder::compressed::child_alike", &[("FAKECUDA_DELAY_US", "20-2000")]);
    child("gpu::device_decoder::compressed::child_alike", &[("FAKENVJPEG_ENGINES", "0")]);
}

#[test]
#[ignore = "a child of the test below"]
fn child_scales() {
    // All of them as a device takes them.
    let plain: Vec<_> =
        (0..SAMPLES).map(|n| (n, photo(PhotoKind::Yuv420, 90 + 9 * n as u16, 120, 3))).collect();
    let dir = shards(&plain);
    let consumer = Consumer::new();
    let host = columns(dir.path(), Some(1.5)).text("json").build().unwrap();
    let ours = stays(&consumer, columns(dir.path(), Some(1.5)).text("json"));
    consumer.compare_epochs(&host, &ours, 0..2, Duration::ZERO);
    assert_eq!(ours.stats().decoder.unwrap().decoded, u64::from(2 * 3 * SAMPLES));
}

#[test]
fn engines_make_pictures_smaller_while_they_decode_them() {
    child("gpu::device_decoder::compressed::child_scales", &[]);
}

#[test]
#[ignore = "a child of the test below"]
fn child_goes_on() {
    fn all(consumer: &Consumer, loader: &DeviceLoader, most: usize) -> Vec<Vec<u8>> {
        let batches = loader.epoch(1).take(most).map(Result::unwrap);
        batches.map(|batch| consumer.read(&batch, "f32")).collect()
    }

    let dir = shards(&large());
    let consumer = Consumer::new();
    let whole = stays(&consumer, columns(dir.path(), None));
    let right = all(&consumer, &whole, 99);
    let begun = stays(&consumer, columns(dir.path(), None));
    assert!(all(&consumer, &begun, 3) == right[..3]);
    let resumed = columns(dir.path(), None).resume(begun.state());
    assert!(all(&consumer, &stays(&consumer, resumed), 99) == right[3..]);
    // No file is read any more.
    std::fs::write(dir.path().join("000.tar"), b"").unwrap();
    assert!(all(&consumer, &whole, 99) == right);
    // Two epochs at once share the memory for decoded pictures.
    let mut epochs = [whole.epoch(2), whole.epoch(3)];
    epochs.iter_mut().for_each(|epoch| drop(epoch.next().unwrap().unwrap()));
    drop(epochs);
    assert!(all(&consumer, &whole, 99) == right);
}

#[test]
fn an_epoch_resumes_at_a_state_and_reads_no_file() {
    child("gpu::device_decoder::compressed::child_goes_on", &[("FAKECUDA_DELAY_US", "20-500")]);
}

#[test]
#[ignore = "a child of the test below"]
fn child_does_not_fit() {
    let dir = shards(&large());
    let consumer = Consumer::new();
    let builder = || columns(dir.path(), None).device(consumer.device()).device_slots(2);
    let small = Residency::within("100kB".parse().unwrap()).compressed();
    let error = builder().resident(small).build().unwrap_err();
    assert_eq!(error.kind(), tarflume::ErrorKind::Limit);
    for says in ["30 samples of 8 bytes and", "bytes of JPEGs are", "of 100kB allowed", "yuv420"] {
        assert!(error.text().contains(says), "{says}: {error}");
    }
    // What stays decoded is found when the memory is filled.
    let roomy = builder().resident(jpegs()).build().unwrap();
    let fit = roomy.resident().unwrap();
    let exact = Residency::within(Size::new(fit.bytes())).side(400).compressed();
    let error = builder().resident(exact).build().unwrap().epoch(0).next().unwrap();
    let error = error.unwrap_err();
    assert!(error.text().contains("stored as"), "{error}");
}

#[test]
#[ignore = "a child of the test below"]
fn child_no_backend() {
    let dir = shards(&large());
    let consumer = Consumer::new();
    let ours =
        columns(dir.path(), None).device(consumer.device()).device_slots(2).resident(jpegs());
    let error = ours.build().unwrap_err();
    for says in ["can't stay on cuda:0", "GPU_HYBRID_DEVICE", "yuv420"] {
        assert!(error.text().contains(says), "{says}: {error}");
    }
}

#[test]
fn a_data_set_that_does_not_fit_or_has_no_decoder_is_an_error_at_build() {
    child("gpu::device_decoder::compressed::child_does_not_fit", &[]);
    let fail: Vec<_> = (1..=4).map(|n| format!("nvjpegCreateExV2:{n}:5")).collect();
    child(
        "gpu::device_decoder::compressed::child_no_backend",
        &[("FAKENVJPEG_FAIL", &fail.join(","))],
    );
}

#[test]
#[ignore = "a child of the test below"]
fn child_damaged() {
    let mut bad = large();
    bad.extend([(2, damaged()), (12, b"no picture".to_vec())]);
    let dir = shards(&bad);
    let consumer = Consumer::new();
    let error =
        stays(&consumer, columns(dir.path(), None).text("json")).epoch(0).find_map(Result::err);
    assert_eq!(error.unwrap().place().key.as_deref(), Some("0002"));
    for on_bad in [OnBad::Skip, OnBad::Substitute] {
        let host = columns(dir.path(), None).text("json").on_bad(on_bad).build().unwrap();
        let ours = stays(&consumer, columns(dir.path(), None).text("json").on_bad(on_bad));
        consumer.compare_epochs(&host, &ours, 0..2, Duration::ZERO);
        assert_eq!(ours.bad_samples().len(), 2);
    }
}

#[test]
#[ignore = "a child of the test below"]
fn child_refused_late() {
    let dir = shards(&large());
    let consumer = Consumer::new();
    let crop = Image::new("jpg", RandomResizedCrop::new(24)).reducing_gap(None);
    let builder = Loader::builder(dir.path()).column("image", crop).text("json").batch(4);
    let ours = stays(&consumer, builder.on_bad(OnBad::Skip));
    let rows: usize = ours.epoch(0).map(|batch| batch.unwrap().host().len()).sum();
    // Calls of four, of two and of one picture failed.
    assert_eq!((rows, ours.bad_samples().len()), (28 - 1, 1)); // the last two fill no batch
    let bad = &ours.bad_samples()[0];
    assert_eq!(bad.ordinal, 0);
    assert_eq!(ours.stats().decoder.unwrap().refused, 1);
}

#[test]
fn bad_jpegs_follow_the_policy_when_they_are_found() {
    child("gpu::device_decoder::compressed::child_damaged", &[("FAKECUDA_DELAY_US", "20-300")]);
    // The two before are for pictures by which the decoder is tried.
    let fail: Vec<_> = (3..=5).map(|n| format!("nvjpegDecodeBatched:{n}:6")).collect();
    child(
        "gpu::device_decoder::compressed::child_refused_late",
        &[("FAKENVJPEG_FAIL", &fail.join(","))],
    );
}
