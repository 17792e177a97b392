//! Recipes in a loader: the same pixels for any number of threads, batch size and resume, within the memory limit.

use std::collections::BTreeMap;

use tarflume::transforms::operations::crop::RandomResizedCrop;
use tarflume::transforms::operations::resize::{Resize, ResizeSize};
use tarflume::transforms::operations::turn::RandomHorizontalFlip;
use tarflume::transforms::{Interpolation, Recipe};
use tarflume::{Image, Loader, LoaderBuilder, Remainder, Shuffle};
use tarflume_fixtures::{Photo, PhotoKind};

use crate::loader::harness::{Shards, key};

const SAMPLES: u64 = 40;

fn shards() -> Shards {
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
    assert_eq!(same, 0, "each epoch draws anew");
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
