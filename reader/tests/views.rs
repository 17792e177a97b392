//! Views in a loader: the same pixels for any number of threads, ranks, batch size and resume, from one decoding.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use tarflume::transforms::operations::color::ColorJitter;
use tarflume::transforms::operations::crop::RandomResizedCrop;
use tarflume::transforms::operations::turn::RandomHorizontalFlip;
use tarflume::transforms::{Operation, Recipe};
use tarflume::{
    Calls, Channels, Fallback, FallbackPicture, Image, ImageSize, Loader, LoaderBuilder, OnBad,
    Remainder, Resize, Result, Shuffle, Split, Views,
};
use tarflume_fixtures::{Photo, PhotoKind};

use crate::loader::harness::{Shards, key};

const SAMPLES: u64 = 40;
const BAD: u64 = 17;

fn shards(bad: bool) -> Shards {
    let shards = Shards { dir: tempfile::tempdir().unwrap() };
    for number in 0..2 {
        let ordinals = number * SAMPLES / 2..(number + 1) * SAMPLES / 2;
        shards.write(
            number as usize,
            ordinals.map(|ordinal| {
                let kind =
                    if ordinal.is_multiple_of(3) { PhotoKind::Exif(6) } else { PhotoKind::Yuv420 };
                let mut photo = Photo::new(90 + ordinal as u16, 120, kind).encode(ordinal).unwrap();
                if bad && ordinal == BAD {
                    photo.truncate(700);
                }
                (key(ordinal), vec![("jpg", photo)])
            }),
        );
    }
    shards
}

fn crop(side: u32, scale: [f64; 2]) -> Image {
    let crop = RandomResizedCrop { scale, ..RandomResizedCrop::new([side, side]) };
    let jitter: ColorJitter = serde_json::from_str(r#"{"brightness": [0.6, 1.4]}"#).unwrap();
    let flip = RandomHorizontalFlip { p: 0.5 };
    let operations: [Operation; 3] = [crop.into(), flip.into(), jitter.into()];
    Image::new("jpg", Recipe::new(operations))
}

fn views() -> Views {
    let global = crop(32, [0.32, 1.0]);
    Views::new().group("global", 2, global).group("local", 3, crop(16, [0.05, 0.32]))
}

fn loader(shards: &Shards, threads: usize, batch: u64) -> LoaderBuilder {
    let loader = Loader::builder(shards.path()).views(&views());
    let loader = loader.shuffle(Shuffle::Full { seed: 5 }).remainder(Remainder::Uneven);
    loader.threads(threads).batch(batch)
}

/// The rows of each sample, those of both columns.
fn rows(loader: &Loader, epoch: u64) -> BTreeMap<u64, Vec<u8>> {
    let mut rows = BTreeMap::new();
    for batch in loader.epoch(epoch) {
        let batch = batch.unwrap();
        let global = batch.column("global").unwrap();
        let local = batch.column("local").unwrap();
        assert_eq!(global.shape()[1..], [2, 32, 32, 3]);
        assert_eq!(local.shape()[1..], [3, 16, 16, 3]);
        for (row, facts) in batch.rows().enumerate() {
            rows.insert(facts.ordinal, [global.row(row), local.row(row)].concat());
        }
    }
    rows
}

#[test]
fn views_depend_on_seed_epoch_and_sample_alone() {
    let shards = shards(false);
    let first = loader(&shards, 1, 4).build().unwrap();
    let want = rows(&first, 0);
    assert_eq!(want.len() as u64, SAMPLES);
    for (threads, batch) in [(1, 7), (3, 4), (4, 9)] {
        let other = loader(&shards, threads, batch).build().unwrap();
        assert!(rows(&other, 0) == want, "{threads} threads, batches of {batch}");
    }
    let mut ranks = BTreeMap::new();
    for rank in 0..2 {
        let split = Split::new(rank, 2).unwrap();
        ranks.append(&mut rows(&loader(&shards, 2, 4).split(split).build().unwrap(), 0));
    }
    assert!(ranks == want, "two ranks");
    let next = rows(&first, 1);
    let same = next.iter().filter(|(ordinal, row)| want[ordinal] == **row).count();
    assert_eq!(same, 0, "each epoch has other draws");
    assert!(rows(&first, 0) == want, "an epoch that is repeated");
}

#[test]
fn a_resumed_loader_continues_with_the_same_views() {
    let shards = shards(false);
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

/// Decodes anything to gray, and counts.
#[derive(Debug, Clone, Default)]
struct Counting(Arc<AtomicU64>);

impl Fallback for Counting {
    fn open<'a>(&self, _: &'a [u8]) -> Result<Box<dyn FallbackPicture + 'a>> {
        Ok(Box::new(self.clone()))
    }
}

impl FallbackPicture for Counting {
    fn size(&self) -> ImageSize {
        ImageSize::new(70, 50)
    }

    fn memory(&self) -> u64 {
        0
    }

    fn decode(self: Box<Self>, _: Channels, pixels: &mut [u8], _: &mut Calls) -> Result<()> {
        self.0.fetch_add(1, SeqCst);
        pixels.fill(77);
        Ok(())
    }
}

#[test]
fn every_picture_is_decoded_once() {
    let shards = Shards { dir: tempfile::tempdir().unwrap() };
    let avif = b"\0\0\0\x20ftypavif\0\0\0\0avifmif1miafMA1B\x01";
    shards.write(0, (0..SAMPLES).map(|ordinal| (key(ordinal), vec![("jpg", avif.to_vec())])));
    let counting = Counting::default();
    let global = Image::new("jpg", Resize::exact(32)).fallback(counting.clone());
    let local = Image::new("jpg", Resize::exact(16)).fallback(counting.clone());
    let views = Views::new().group("global", 2, global).group("local", 8, local);
    let loader = Loader::builder(shards.path()).views(&views).batch(8).threads(3).build().unwrap();
    for batch in loader.epoch(0) {
        let batch = batch.unwrap();
        let local = batch.column("local").unwrap();
        assert_eq!(local.shape(), [8, 8, 16, 16, 3]);
        assert!(local.elements::<u8>().unwrap().iter().all(|&byte| byte == 77));
    }
    assert_eq!(counting.0.load(SeqCst), SAMPLES);
}

#[test]
fn a_bad_picture_is_one_bad_sample() {
    let shards = shards(true);
    let want = rows(&loader(&shards, 2, 4).on_bad(OnBad::Skip).build().unwrap(), 0);
    let skipping = loader(&shards, 3, 5).on_bad(OnBad::Skip).build().unwrap();
    assert!(rows(&skipping, 0) == want);
    assert_eq!(want.len() as u64, SAMPLES - 1);
    let bad = skipping.bad_samples();
    assert_eq!(bad.len(), 1, "{bad:?}");
    assert_eq!(bad[0].ordinal, BAD);
    assert!(bad[0].reason.contains("column 'global': bad JPEG"), "{}", bad[0].reason);
    let with_substitutes = loader(&shards, 2, 4).on_bad(OnBad::Substitute).build().unwrap();
    let found: usize = with_substitutes.epoch(0).map(|batch| batch.unwrap().len()).sum();
    assert_eq!(found as u64, SAMPLES);
}

#[test]
fn operations_are_measured_for_the_group_that_has_them() {
    let shards = shards(false);
    let jitter: Operation =
        ColorJitter { brightness: Some([0.5, 0.9]), ..ColorJitter::default() }.into();
    let views = Views::new()
        .group(
            "global",
            2,
            Image::new("jpg", Recipe::new([RandomResizedCrop::new([32, 32]).into()])),
        )
        .group(
            "local",
            3,
            Image::new("jpg", Recipe::new([RandomResizedCrop::new([16, 16]).into(), jitter])),
        );
    let loader = Loader::builder(shards.path()).views(&views).batch(8).threads(3).build().unwrap();
    loader.epoch(0).for_each(|batch| drop(batch.unwrap()));
    let operations = loader.stats().operations;
    let found: Vec<_> =
        operations.iter().map(|of| (of.column.as_str(), of.name.as_str(), of.calls)).collect();
    assert_eq!(found, [("local", "ColorJitter", 3 * SAMPLES)]);
}

#[test]
fn two_columns_of_one_name_are_refused() {
    let shards = shards(false);
    let twice = loader(&shards, 1, 4).column("global", crop(8, [0.1, 0.2]));
    let error = twice.build().unwrap_err();
    assert!(error.to_string().contains("two columns 'global'"), "{error}");
}
