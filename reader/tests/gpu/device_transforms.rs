//! Recipes whose operations run on the device: the rows are those of the host to the bit. Runs on the simulated CUDA driver
//! of `fixtures/cuda`, which executes the kernels on the CPU.
#![allow(missing_docs, clippy::unwrap_used)]

mod refused;
mod resident;

use tarflume::transforms::mixing::{Mix, MixMode};
use tarflume::transforms::{Partner, Recipe};
use tarflume::{
    Channels, DType, Device, DeviceLoader, Image, Json, Layout, Libraries, Loader, LoaderBuilder,
    Normalize, OnBad, Remainder, Shuffle, Split, TransformsOn,
};

use crate::gpu::simulated::shards::{of_jpegs, sized};
use crate::gpu::simulated::{Consumer, assert_same, child};

const SAMPLES: u32 = 23;

/// The sample whose picture is cut.
const BAD: u32 = 13;

const DEIT: &str = r#"[{"RandomResizedCrop": {"size": [24, 24], "interpolation": "bicubic"}}, {"RandomHorizontalFlip": {}},
    {"TimmAugment": {"config": "rand-m9-mstd0.5-inc1"}}, {"RandomErasing": {"p": 0.5, "value": "random"}}]"#;
const SIMCLR: &str = r#"[{"RandomResizedCrop": {"size": [24, 20]}}, {"RandomHorizontalFlip": {}},
    {"RandomApply": {"transforms": [{"ColorJitter": {"brightness": [0.2, 1.8], "contrast": [0.2, 1.8], "saturation": [0.2, 1.8], "hue": [-0.2, 0.2]}}], "p": 0.8}},
    {"RandomGrayscale": {"p": 0.2}}, {"RandomApply": {"transforms": [{"GaussianBlur": {"kernel_size": [9, 9], "sigma": [0.1, 2.0]}}], "p": 0.5}}]"#;
const AUTO: &str =
    r#"[{"RandomResizedCrop": {"size": [17, 19]}}, {"AutoAugment": {"policy": "imagenet"}}]"#;
const TRIVIAL: &str = r#"[{"RandomResizedCrop": {"size": [24, 24]}}, {"TrivialAugmentWide": {"interpolation": "bilinear"}},
    {"RandomErasing": {"p": 0.5, "value": [1.5, -2.0, 0.25], "count": [1, 2]}}]"#;
/// Of one pixel.
const POINT: &str = r#"[{"RandomResizedCrop": {"size": [1, 1]}}, {"RandAugment": {"num_ops": 3}}]"#;
/// The crop behind the jitter is the host's, and the jitter with it.
const LATE: &str = r#"[{"Resize": {"size": [30, 26]}}, {"ColorJitter": {"contrast": [0.4, 1.6], "hue": [-0.1, 0.1]}},
    {"RandomCrop": {"size": [24, 24], "padding": [3, 3, 3, 3]}}, {"RandomEqualize": {"p": 0.7}}, {"RandomInvert": {}}]"#;

/// One shard of pictures of several sizes, each with a class; one of them is cut.
fn shards() -> tempfile::TempDir {
    of_jpegs(SAMPLES, |n| {
        let mut jpeg = sized(n);
        if n == BAD {
            jpeg.truncate(jpeg.len() / 2);
        }
        jpeg
    })
}

fn image(recipe: &str, on: TransformsOn) -> Image {
    let recipe: Recipe = serde_json::from_str(recipe).expect(recipe);
    Image::new("jpg", recipe).transforms_on(on)
}

/// A column for each recipe, in all types and layouts.
fn builder(dir: &tempfile::TempDir, on: TransformsOn) -> LoaderBuilder {
    let by = Normalize::imagenet();
    Loader::builder(dir.path())
        .column("deit", image(DEIT, on).to_f16(by).layout(Layout::Chw))
        .column("bytes", image(DEIT, on))
        .column("simclr", image(SIMCLR, on).to_f32(by))
        .column("auto", image(AUTO, on).to_bf16(Normalize::unit()).layout(Layout::Chw))
        .column("trivial", image(TRIVIAL, on).to_f32(by))
        .column("unit", image(DEIT, on).to_f32(Normalize::unit()))
        .column("gray", image(TRIVIAL, on).channels(Channels::Gray).to_f16(by))
        .column("point", image(POINT, on).layout(Layout::Chw))
        .column("late", image(LATE, on).to_f32(by))
        .column("label", Json::new("json", "/class"))
        .shuffle(Shuffle::Full { seed: 4 })
        .on_bad(OnBad::Substitute)
        .batch(4)
        .threads(2)
}

fn device() -> Device {
    let libraries = std::env::var_os("SITE").map(std::path::PathBuf::from);
    Device::cuda_with(0, Libraries::beside(libraries)).unwrap()
}

/// Compares the batches of two loaders from here on. Returns the rows of each batch.
fn compare(host: &Loader, there: &DeviceLoader, epoch: u64, consumer: &Consumer) -> Vec<usize> {
    let mut rows = Vec::new();
    let mut left = there.epoch(epoch);
    for right in host.epoch(epoch) {
        let right = right.unwrap();
        let batch = left.next().unwrap().unwrap();
        assert!(assert_same(consumer, &right, &batch) > 0, "no column is on the device");
        rows.push(right.len());
    }
    assert!(left.next().is_none());
    rows
}

#[test]
#[ignore = "a child of the test below"]
fn child_equal() {
    let dir = shards();
    let consumer = Consumer::new();
    let host = builder(&dir, TransformsOn::Host).remainder(Remainder::Uneven).build().unwrap();
    let there = builder(&dir, TransformsOn::Device).remainder(Remainder::Uneven).device(device());
    let there = there.device_slots(2).build().unwrap();
    for epoch in 0..2 {
        assert_eq!(compare(&host, &there, epoch, &consumer), [4, 4, 4, 4, 4, 3]);
    }
    // Of each batch some rows are changed on the device, others on the host.
    let shared = builder(&dir, TransformsOn::Auto).remainder(Remainder::Uneven).device(device());
    let shared = shared.build().unwrap();
    assert_eq!(compare(&host, &shared, 0, &consumer).len(), 6);
    let operations = shared.stats().operations;
    assert!(operations.iter().any(|of| of.column == "simclr"), "{operations:?}");
    // The list and the bytes crossed, not the floats.
    let crossed = there.epoch(2).next().unwrap().unwrap();
    let sent = crossed.host().column("simclr").unwrap();
    assert_eq!((sent.dtype(), sent.bytes().len()), (DType::U8, 4 * 3520));
    assert_eq!(there.stats().warning, None);
    // What the device does takes none of the host's time: of all recipes, the jitter and the crop of `late` alone do.
    let operations = there.stats().operations;
    let found: Vec<_> =
        operations.iter().map(|of| (of.column.as_str(), of.name.as_str())).collect();
    assert_eq!(found, [("late", "ColorJitter"), ("late", "RandomCrop")]);
}

#[test]
fn the_device_makes_the_rows_of_the_host() {
    let cache = tempfile::tempdir().unwrap();
    let delayed = [("FAKECUDA_DELAY_US", "20-400")];
    child("gpu::device_transforms::child_equal", cache.path(), &delayed);
}

/// The same, of one of two ranks.
fn of_rank(dir: &tempfile::TempDir, on: TransformsOn, rank: u64, on_bad: OnBad) -> LoaderBuilder {
    let builder = builder(dir, on).split(Split::new(rank, 2).unwrap());
    builder.on_bad(on_bad).remainder(Remainder::Pad)
}

#[test]
#[ignore = "a child of the test below"]
fn child_ranks() {
    let dir = shards();
    let consumer = Consumer::new();
    for (rank, on_bad) in [(0, OnBad::Skip), (1, OnBad::Substitute)] {
        let host = of_rank(&dir, TransformsOn::Host, rank, on_bad).build().unwrap();
        let there = of_rank(&dir, TransformsOn::Device, rank, on_bad);
        let there = there.device(device()).build().unwrap();
        compare(&host, &there, 0, &consumer);
        // Both go on in the middle of the next epoch.
        let mut begun = there.epoch(1);
        begun.next().unwrap().unwrap();
        drop(begun);
        let state = there.state();
        let host = of_rank(&dir, TransformsOn::Host, rank, on_bad);
        let host = host.resume(state.clone()).build().unwrap();
        let there = of_rank(&dir, TransformsOn::Device, rank, on_bad);
        let there = there.resume(state).device(device()).build().unwrap();
        assert_eq!(compare(&host, &there, 1, &consumer).len(), 2, "rank {rank}");
    }
}

#[test]
fn ranks_resumes_bad_samples_and_padding_change_nothing() {
    let cache = tempfile::tempdir().unwrap();
    child("gpu::device_transforms::child_ranks", cache.path(), &[]);
}

/// A loader whose rows are mixed.
fn mixed(dir: &tempfile::TempDir, image: Image, mix: &Mix) -> LoaderBuilder {
    Loader::builder(dir.path())
        .column("image", image)
        .label("json", "/class")
        .mix(mix.clone())
        .keep_transforms()
        .shuffle(Shuffle::Full { seed: 8 })
        .remainder(Remainder::Pad)
        .batch(6)
        .threads(2)
}

#[test]
#[ignore = "a child of the test below"]
fn child_mixed() {
    let dir = shards();
    let consumer = Consumer::new();
    let by = Normalize::imagenet();
    let columns = [
        image(DEIT, TransformsOn::Host).to_f16(by).layout(Layout::Chw),
        image(TRIVIAL, TransformsOn::Host).to_f32(by),
        image(DEIT, TransformsOn::Host).to_bf16(Normalize::unit()),
        image(DEIT, TransformsOn::Host),
        image(TRIVIAL, TransformsOn::Host).channels(Channels::Gray).layout(Layout::Chw),
    ];
    for (n, column) in columns.into_iter().enumerate() {
        let mode = [MixMode::Elem, MixMode::Batch, MixMode::Pair][n % 3];
        let partner = [Partner::Previous, Partner::Mirrored, Partner::Mirrored][n % 3];
        let mix = Mix::new("image", "label").mixup(0.8).cutmix(1.0).num_classes(30);
        let mix = Mix { partner: Some(partner), ..mix.mode(mode) };
        let on_bad = [OnBad::Substitute, OnBad::Skip][n % 2];
        let host = mixed(&dir, column.clone(), &mix).on_bad(on_bad).build().unwrap();
        let column = column.transforms_on(TransformsOn::Device);
        let there = mixed(&dir, column, &mix).on_bad(on_bad).device(device()).build().unwrap();
        for epoch in 0..3 {
            compare(&host, &there, epoch, &consumer);
        }
        let batch = host.epoch(1).next().unwrap().unwrap();
        let sent = there.epoch(1).next().unwrap().unwrap();
        assert_eq!(there.transforms(&sent).unwrap(), host.transforms(&batch).unwrap());
    }
}

#[test]
fn the_device_mixes_as_the_host_does() {
    let cache = tempfile::tempdir().unwrap();
    child("gpu::device_transforms::child_mixed", cache.path(), &[]);
}

#[test]
#[ignore = "a child of the test below"]
fn child_without_kernels() {
    let dir = shards();
    let consumer = Consumer::new();
    let host = builder(&dir, TransformsOn::Host).build().unwrap();
    let there = builder(&dir, TransformsOn::Device).device(device()).build().unwrap();
    compare(&host, &there, 0, &consumer);
    let warning = there.stats().warning.unwrap();
    let says =
        "transforms run and pictures are finished on the host, and more bytes cross to cuda:0";
    assert!(warning.as_str().starts_with(says), "{warning:?}");
}

#[test]
fn a_device_without_kernels_leaves_the_transforms_to_the_host() {
    let cache = tempfile::tempdir().unwrap();
    let none = [("TARFLUME_NVRTC", "/nowhere/libnvrtc.so")];
    child("gpu::device_transforms::child_without_kernels", cache.path(), &none);
}
