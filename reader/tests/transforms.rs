//! Recipes in a loader: the same pixels for any number of threads, batch size and resume, within the memory limit.

use std::collections::BTreeMap;

use tarflume::transforms::mixing::{How, Mix, MixMode};
use tarflume::transforms::operations::color::ColorJitter;
use tarflume::transforms::operations::crop::RandomResizedCrop;
use tarflume::transforms::operations::filter::GaussianBlur;
use tarflume::transforms::operations::resize::{Resize, ResizeSize};
use tarflume::transforms::operations::turn::RandomHorizontalFlip;
use tarflume::transforms::{Frame, Interpolation, Recipe, apply};
use tarflume::{
    Batch, ColumnTransforms, DType, Decode, Image, ImageSize, Loader, LoaderBuilder, Remainder,
    Result, Row, RowShape, Sample, Scratch, Shuffle, Stream, Whole,
};
use tarflume_fixtures::{Photo, PhotoKind};

use crate::loader::harness::{Shards, key};

const SAMPLES: u64 = 40;

pub(crate) fn shards() -> Shards {
    let shards = Shards { dir: tempfile::tempdir().unwrap() };
    for number in 0..2 {
        let ordinals = number * SAMPLES / 2..(number + 1) * SAMPLES / 2;
        shards.write(
            number as usize,
            ordinals.map(|ordinal| {
                let kind =
                    if ordinal.is_multiple_of(3) { PhotoKind::Exif(6) } else { PhotoKind::Yuv420 };
                let photo = Photo::new(90 + ordinal as u16, 120, kind).encode(ordinal).unwrap();
                (key(ordinal), vec![("jpg", photo)])
            }),
        );
    }
    shards
}

/// What begins with a flip is not a placement: the crop is done in a frame.
fn recipe() -> Recipe {
    let flip = RandomHorizontalFlip { p: 0.5 };
    let size = ResizeSize::Exact([30, 20]);
    let resize = Resize { size, interpolation: Interpolation::Bicubic, max_size: None };
    let crop = RandomResizedCrop::new([40, 56]);
    Recipe::new([flip.clone().into(), crop.into(), flip.into(), resize.into()])
}

fn loader(shards: &Shards, threads: usize, batch: u64) -> LoaderBuilder {
    let image = Image::new("jpg", recipe());
    let loader = Loader::builder(shards.path()).column("image", image);
    let loader = loader.shuffle(Shuffle::Full { seed: 5 }).remainder(Remainder::Uneven);
    loader.threads(threads).batch(batch)
}

/// The row of each sample.
fn rows(loader: &Loader, epoch: u64) -> BTreeMap<u64, Vec<u8>> {
    let mut rows = BTreeMap::new();
    for batch in loader.epoch(epoch) {
        let batch = batch.unwrap();
        let column = batch.column("image").unwrap();
        for (row, facts) in batch.rows().enumerate() {
            rows.insert(facts.ordinal, column.row(row).to_vec());
        }
    }
    rows
}

#[test]
fn pixels_depend_on_seed_epoch_and_sample_alone() {
    let shards = shards();
    let first = loader(&shards, 1, 4).build().unwrap();
    let want = rows(&first, 0);
    assert_eq!(want.len() as u64, SAMPLES);
    for (threads, batch) in [(1, 7), (3, 4), (4, 9)] {
        let other = loader(&shards, threads, batch).build().unwrap();
        assert!(rows(&other, 0) == want, "{threads} threads, batches of {batch}");
    }
    let next = rows(&first, 1);
    let same = next.iter().filter(|(ordinal, row)| want[ordinal] == **row).count();
    assert_eq!(same, 0, "each epoch has other draws");
}

#[test]
fn a_resumed_loader_continues_with_the_same_pixels() {
    let shards = shards();
    let want = rows(&loader(&shards, 2, 4).build().unwrap(), 0);
    let stopped = loader(&shards, 2, 4).build().unwrap();
    let mut epoch = stopped.epoch(0);
    for _ in 0..3 {
        epoch.next().unwrap().unwrap();
    }
    let state = stopped.state();
    drop(epoch);
    let rest = rows(&loader(&shards, 3, 5).resume(state).build().unwrap(), 0);
    assert_eq!(rest.len() as u64, SAMPLES - 12);
    assert!(rest.iter().all(|(ordinal, row)| want[ordinal] == *row));
}

#[test]
fn a_recipe_takes_its_memory_from_the_limit() {
    let shards = shards();
    let size = ResizeSize::Exact([6000, 6000]);
    let resize = Resize { size, interpolation: Interpolation::Bilinear, max_size: None };
    let flip = RandomHorizontalFlip { p: 1.0 };
    let crop = RandomResizedCrop::new([8, 8]);
    let recipe = Recipe::new([flip.into(), resize.into(), crop.into()]);
    let image = Image::new("jpg", recipe);
    let loader = Loader::builder(shards.path()).column("image", image).batch(2).threads(2);
    let loader = loader.memory_limit("64MiB".parse().unwrap()).build().unwrap();
    let error = loader.epoch(0).next().unwrap().unwrap_err();
    assert!(error.to_string().contains("limit"), "{error}");
}

/// A recipe whose head is done while pictures are decoded, and a jitter and a blur behind it.
pub(crate) fn jittered(interpolation: Interpolation) -> Recipe {
    let crop = RandomResizedCrop {
        interpolation: interpolation.into(),
        ..RandomResizedCrop::new([40, 56])
    };
    let jitter = ColorJitter {
        brightness: Some([0.6, 1.4]),
        contrast: Some([0.6, 1.4]),
        ..ColorJitter::default()
    };
    let blur = GaussianBlur { kernel_size: [5, 5], sigma: [0.1, 2.0] };
    Recipe::new([crop.into(), RandomHorizontalFlip { p: 0.5 }.into(), jitter.into(), blur.into()])
}

/// The rows of a batch by applying what was drawn to the whole pictures.
fn replayed(drawn: &[ColumnTransforms], batch: &Batch) -> Vec<Vec<u8>> {
    assert_eq!((drawn.len(), drawn[0].column.as_str()), (1, "image"));
    let originals = batch.column("original").unwrap();
    let rows = drawn[0].rows.iter().enumerate().map(|(row, drawn)| {
        assert_eq!(drawn.mixed, None);
        let shape = originals.picture(row).unwrap();
        let size = ImageSize::new(shape.width, shape.height);
        let mut frame = Frame::default();
        frame.begin(size, 3).unwrap().copy_from_slice(originals.row(row));
        apply(&drawn.actions, &mut frame).unwrap();
        frame.pixels().to_vec()
    });
    rows.collect()
}

#[test]
fn what_was_drawn_makes_the_row_of_the_whole_picture_again() {
    let shards = shards();
    let image = Image::new("jpg", jittered(Interpolation::Bicubic));
    let loader = Loader::builder(shards.path()).column("image", image.clone());
    let loader = loader.column("original", Image::new("jpg", Whole::up_to(1 << 16)));
    let loader = loader.keep_transforms().shuffle(Shuffle::Full { seed: 5 }).batch(8).threads(2);
    let loader = loader.build().unwrap();
    let plain = Loader::builder(shards.path()).column("image", image);
    let plain = plain.shuffle(Shuffle::Full { seed: 5 }).batch(8).build().unwrap();
    let want = rows(&plain, 1);
    let mut turned = 0;
    for batch in loader.epoch(1) {
        let batch = batch.unwrap();
        let column = batch.column("image").unwrap();
        for (row, made) in
            replayed(&loader.transforms(&batch).unwrap(), &batch).into_iter().enumerate()
        {
            let ordinal = batch.ordinals().nth(row).unwrap();
            let delivered = column.row(row);
            assert!(*delivered == want[&ordinal], "what is kept changes no pixel");
            if ordinal.is_multiple_of(3) {
                // A picture that is turned is resized before that: its axes are rounded in another order.
                turned += 1;
                let most = delivered.iter().zip(&made).map(|(a, b)| a.abs_diff(*b)).max();
                assert!(most <= Some(3), "sample {ordinal}: {most:?}");
            } else {
                assert!(delivered == made, "sample {ordinal}");
            }
        }
    }
    assert!(turned > 0);
}

/// The row of each key of a stream in `epoch`; each is compared with what its draws make, unless its picture is turned.
fn rows_of_stream(
    shards: &Shards,
    seed: u64,
    threads: usize,
    epoch: u64,
) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let tars = shards.path().join("*.tar");
    let stream = Stream::open(tars.to_str().unwrap()).unwrap();
    let stream = stream.shuffle(Shuffle::Buffer { size: 16, seed });
    let loader = Loader::stream(stream)
        .column("image", Image::new("jpg", jittered(Interpolation::Bicubic)))
        .column("original", Image::new("jpg", Whole::up_to(1 << 16)))
        .keep_transforms()
        .batch(4 + threads as u64)
        .threads(threads)
        .build()
        .unwrap();
    let mut rows = BTreeMap::new();
    let mut same = 0;
    for batch in loader.epoch(epoch) {
        let batch = batch.unwrap();
        let column = batch.column("image").unwrap();
        let made = replayed(&loader.transforms(&batch).unwrap(), &batch);
        for (row, made) in made.into_iter().enumerate() {
            same += usize::from(made == column.row(row));
            rows.insert(batch.key(row).to_vec(), column.row(row).to_vec());
        }
    }
    assert!(same >= SAMPLES as usize / 2, "{same} rows are what their draws make");
    rows
}

#[test]
fn rows_of_a_stream_depend_on_seed_epoch_and_sample_alone() {
    let shards = shards();
    let want = rows_of_stream(&shards, 5, 1, 0);
    assert_eq!(want.len() as u64, SAMPLES);
    assert!(rows_of_stream(&shards, 5, 3, 0) == want, "three threads");
    for other in [rows_of_stream(&shards, 5, 2, 1), rows_of_stream(&shards, 6, 2, 0)] {
        let same = other.iter().filter(|(key, row)| want[*key] == **row).count();
        assert_eq!(same, 0, "another epoch and another seed have other draws");
    }
}

#[test]
fn a_loader_that_keeps_nothing_says_what_to_do() {
    let shards = shards();
    let first = loader(&shards, 1, 4).build().unwrap();
    let batch = first.epoch(0).next().unwrap().unwrap();
    let error = first.transforms(&batch).unwrap_err().to_string();
    assert!(error.contains("column 'image'") && error.contains(".keep_transforms()"), "{error}");
    let placed = tarflume::RandomResizedCrop::new(32);
    let plain = Loader::builder(shards.path()).image("jpg", placed).keep_transforms().build();
    let plain = plain.unwrap();
    let batch = plain.epoch(0).next().unwrap().unwrap();
    let error = plain.transforms(&batch).unwrap_err().to_string();
    assert!(error.contains("no column keeps what it drew"), "{error}");
}

/// The number of each sample, as its class.
struct Ordinal;

impl Decode for Ordinal {
    fn parts(&self) -> Vec<String> {
        vec!["jpg".into()]
    }

    fn shape(&self) -> RowShape {
        RowShape::Fixed(DType::I64, Vec::new())
    }

    fn decode(&self, sample: &Sample<'_>, mut row: Row<'_>, _: &mut Scratch) -> Result<()> {
        row.put(&(sample.ordinal as i64).to_ne_bytes())
    }
}

#[test]
fn mixed_rows_have_their_partner_and_their_weight() {
    let shards = shards();
    let mix = Mix::new("image", "label").mixup(0.8).cutmix(1.0).mode(MixMode::Elem).label_pairs();
    let loader = Loader::builder(shards.path())
        .column("image", Image::new("jpg", jittered(Interpolation::Bilinear)))
        .column("label", Ordinal)
        .mix(mix)
        .keep_transforms()
        .batch(8)
        .build()
        .unwrap();
    let mut pasted = 0;
    for batch in loader.epoch(0) {
        let batch = batch.unwrap();
        let drawn = loader.transforms(&batch).unwrap();
        let lam = batch.column("lam").unwrap();
        let other = batch.column("label_b").unwrap();
        let own = batch.column("label_a").unwrap();
        for (row, drawn) in drawn[0].rows.iter().enumerate() {
            let weight = lam.elements::<f32>().unwrap()[row];
            let Some(mixed) = drawn.mixed else {
                assert_eq!(weight, 1.0);
                continue;
            };
            assert_eq!((mixed.row, mixed.how.lam() as f32), (row, weight));
            assert_eq!(own.row(mixed.partner), other.row(row));
            if let How::Paste { region, lam } = mixed.how {
                pasted += 1;
                let area = (region.bottom - region.top) * (region.right - region.left);
                assert!((1.0 - lam - f64::from(area) / (40.0 * 56.0)).abs() < 1e-9);
            }
        }
    }
    assert!(pasted > 5, "{pasted}");
}

#[test]
fn statistics_have_the_time_of_each_operation() {
    let shards = shards();
    let image = Image::new("jpg", jittered(Interpolation::Bilinear));
    let loader = Loader::builder(shards.path()).column("image", image).batch(4).threads(2);
    let loader = loader.build().unwrap();
    assert!(loader.stats().operations.is_empty());
    for epoch in 0..2 {
        loader.epoch(epoch).for_each(|batch| drop(batch.unwrap()));
    }
    let stats = loader.stats();
    let found: Vec<(&str, &str, u64)> = stats
        .operations
        .iter()
        .map(|of| (of.column.as_str(), of.name.as_str(), of.calls))
        .collect();
    let want = [("image", "ColorJitter", 2 * SAMPLES), ("image", "GaussianBlur", 2 * SAMPLES)];
    assert_eq!(found, want);
    let spent = stats.operations.iter().map(|of| of.busy).sum::<std::time::Duration>();
    assert!(!spent.is_zero() && spent < stats.stage("decode").unwrap().busy);
    assert!(stats.to_string().contains("Operation GaussianBlur of image:"), "{stats}");
    let json = serde_json::to_value(&stats).unwrap();
    assert_eq!(json["operations"][1]["name"], "GaussianBlur");
    assert!(json["operations"][1]["busy_s"].as_f64() > Some(0.0));
}
