//! Batches of one bucket: each sample once, pictures of the size of their bucket, and the same epoch after a resume.

use std::collections::{BTreeMap, BTreeSet};

use tarflume::transforms::Recipe;
use tarflume::transforms::operations::crop::BucketCrop;
use tarflume::transforms::operations::turn::RandomHorizontalFlip;
use tarflume::{
    AspectBuckets, Batch, Bucketing, Image, ImageSize, Loader, LoaderBuilder, LoaderState, OnBad,
    Remainder, SameBucket, Shuffle, Split,
};
use tarflume_fixtures::{Photo, PhotoKind};

use crate::loader::harness::{Shards, key};
use crate::loader::order::orders::sum;

const BOUNDS: [i64; 3] = [20, 50, 100];
const SIZES: [(u16, u16); 6] = [(96, 96), (160, 80), (80, 160), (130, 100), (100, 130), (300, 60)];

/// Shards of `count` photographs of all sizes, with `json` and the size in the sidecar.
fn photographs(count: u64, kind: PhotoKind) -> Shards {
    photographs_and(count, kind, None)
}

/// As [`photographs`]; of one sample there is no picture.
fn photographs_and(count: u64, kind: PhotoKind, bad: Option<u64>) -> Shards {
    let shards = Shards::of(&[]);
    let half = count / 2;
    for (number, range) in [0..half, half..count].into_iter().enumerate() {
        let tar = shards.shard(number);
        let name = tar.file_name().unwrap().to_str().unwrap();
        let mut shard = tarflume_formats::ShardWriter::create(shards.path(), name).unwrap();
        for ordinal in range {
            let (width, height) = SIZES[(ordinal * 7 % 11 % 6) as usize];
            let mut jpeg = Photo::new(width, height, kind).encode(ordinal).unwrap();
            if bad == Some(ordinal) {
                jpeg.fill(7);
            }
            shard.begin(key(ordinal).as_bytes());
            shard.part(b"jpg", jpeg.len() as u64).unwrap().copy_from_slice(&jpeg);
            shard.commit(Some((u32::from(width), u32::from(height)))).unwrap();
        }
        let synced = tarflume_formats::Durability::Cached;
        shard.finish().unwrap().publish(shards.path(), name, synced).unwrap();
    }
    shards
}

fn recipe() -> Recipe {
    let crop = BucketCrop { size: None, random: true, interpolation: Default::default() };
    Recipe::new([crop.into(), RandomHorizontalFlip { p: 0.5 }.into()])
}

fn aspect() -> AspectBuckets {
    AspectBuckets::new(64 * 64, 16).unwrap()
}

fn pictures(shards: &Shards) -> LoaderBuilder {
    let bucketing = Bucketing::aspect(aspect()).max_pixels(4 * 64 * 64);
    Loader::builder(shards.path())
        .column("image", Image::new("jpg", recipe()))
        .shuffle(Shuffle::Full { seed: 5 })
        .remainder(Remainder::Even)
        .buckets(bucketing)
}

fn size_of(batch: &Batch, row: usize) -> ImageSize {
    let shape = batch.column("image").unwrap().picture(row).unwrap();
    ImageSize::new(shape.width, shape.height)
}

#[test]
fn pictures_have_the_size_of_their_bucket_and_the_bytes_of_a_loader_of_that_size() {
    let shards = photographs(60, PhotoKind::Yuv420);
    let loader = pictures(&shards).build().unwrap();
    let mut seen = BTreeMap::new();
    for batch in loader.epoch(1) {
        let batch = batch.unwrap();
        let size = size_of(&batch, 0);
        assert!(size.pixels() * batch.len() as u64 <= 4 * 64 * 64, "a batch over its budget");
        for (row, ordinal) in batch.ordinals().enumerate() {
            assert_eq!(size_of(&batch, row), size);
            let (width, height) = SIZES[(ordinal * 7 % 11 % 6) as usize];
            let stored = ImageSize::new(u32::from(width), u32::from(height));
            assert_eq!(aspect().sizes()[aspect().bucket(stored)], size);
            let bytes = batch.column("image").unwrap().row(row).to_vec();
            assert_eq!(seen.insert(ordinal, (size, bytes)), None, "each sample once");
        }
    }
    assert_eq!(seen.len(), 60);
    assert_eq!(loader.ledger(), loader.expected(1).unwrap());
    for &size in aspect().sizes() {
        let plain = Loader::builder(shards.path())
            .column("image", Image::new("jpg", recipe().in_bucket(size)))
            .shuffle(Shuffle::Full { seed: 5 })
            .build()
            .unwrap();
        for batch in plain.epoch(1) {
            let batch = batch.unwrap();
            let ordinal = batch.ordinals().next().unwrap();
            let (own, bytes) = &seen[&ordinal];
            if *own == size {
                assert_eq!(batch.column("image").unwrap().row(0), bytes, "sample {ordinal}");
            }
        }
    }
}

/// The loaders of `world` ranks.
fn ranks(builder: &LoaderBuilder, world: u64, state: Option<LoaderState>) -> Vec<Loader> {
    let splits = (0..world).map(|rank| Split::new(rank, world).unwrap());
    let builders = splits.map(|split| builder.clone().split(split));
    let resumed = builders.map(|builder| match &state {
        Some(state) => builder.resume(state.clone()).prefetch(1),
        None => builder,
    });
    resumed.map(|builder| builder.build().unwrap()).collect()
}

#[test]
fn a_resume_with_other_ranks_delivers_the_rest_of_each_bucket() {
    let shards = photographs(80, PhotoKind::Yuv420);
    for same in [SameBucket::Rank, SameBucket::Step] {
        for stop in 0..4 {
            let bucketing =
                Bucketing::aspect(aspect()).rows(vec![3; aspect().sizes().len()]).same_bucket(same);
            let builder = pictures(&shards).buckets(bucketing);
            let mut all = None;
            let mut state = None;
            for loader in ranks(&builder, 3, None) {
                let mut epoch = loader.epoch(2);
                for _ in 0..stop {
                    epoch.next().unwrap().unwrap();
                }
                state = Some(loader.state());
                sum(&mut all, &loader.ledger());
            }
            let loaders = ranks(&builder, 2, state);
            let steps: Vec<u64> = loaders.iter().map(|l| l.steps_of(2).unwrap()).collect();
            assert_eq!(steps[0], steps[1]);
            for loader in &loaders {
                let sizes: Vec<usize> = loader.epoch(2).map(|batch| batch.unwrap().len()).collect();
                assert_eq!(sizes.len() as u64, steps[0]);
                sum(&mut all, &loader.ledger());
                assert_eq!((loader.state().epoch(), loader.state().position()), (3, 0));
            }
            assert_eq!(all, Some(loaders[0].expected(2).unwrap()), "{same}, after {stop} steps");
        }
    }
}

#[test]
fn lengths_have_bounds_and_numbers_have_buckets() {
    let shards = Shards::of(&[30, 20]);
    let lengths: Vec<i64> = (0..50).map(|n| n * 13 % 97).collect();
    let bucketing = Bucketing::length(lengths.clone(), [20, 50, 100]).max_tokens(400);
    let loader = shards.loader().remainder(Remainder::Even).buckets(bucketing).build().unwrap();
    let mut rows = 0;
    for batch in loader.epoch(0) {
        let batch = batch.unwrap();
        let own = batch.ordinals().map(|ordinal| lengths[ordinal as usize]);
        let bounds = own.filter_map(|own| BOUNDS.into_iter().find(|bound| own <= *bound));
        let bounds: BTreeSet<i64> = bounds.collect();
        assert_eq!(bounds.len(), 1);
        assert!(batch.len() as i64 * bounds.first().unwrap() <= 400);
        rows += batch.len();
    }
    assert_eq!(rows, 50);
    let by_class = shards.loader().batch(2).buckets(Bucketing::numbered("/class"));
    let loader = by_class.build().unwrap();
    for batch in loader.epoch(0) {
        let ordinals: Vec<u64> = batch.unwrap().ordinals().collect();
        assert_eq!((ordinals.len(), ordinals[0] % 10), (2, ordinals[1] % 10));
    }
    assert_eq!(loader.ledger(), loader.expected(0).unwrap());
}

#[test]
fn a_bad_sample_is_replaced_by_one_of_its_bucket() {
    let shards = photographs_and(60, PhotoKind::Yuv420, Some(0));
    let loader = pictures(&shards).on_bad(OnBad::Substitute).build().unwrap();
    for batch in loader.epoch(0) {
        let batch = batch.unwrap();
        let size = size_of(&batch, 0);
        assert!((0..batch.len()).all(|row| size_of(&batch, row) == size));
    }
    let bad = loader.bad_samples();
    assert_eq!((bad.len(), bad[0].ordinal), (1, 0));
    assert_eq!(SIZES[(bad[0].substitute.unwrap() * 7 % 11 % 6) as usize], SIZES[0]);
}

#[test]
fn turned_pictures_are_in_the_bucket_of_the_upright_shape_or_errors() {
    // Strips state the orientation. Without them a turned picture is an error, and not a crop of another shape.
    let shards = photographs(12, PhotoKind::Exif(6));
    let error = pictures(&shards).build().unwrap().epoch(0).find_map(|batch| batch.err()).unwrap();
    assert!(error.to_string().contains("belongs into the bucket"), "{error}");
    let stored = Image::new("jpg", recipe()).orientation(false);
    let loader = Loader::builder(shards.path())
        .column("image", stored)
        .remainder(Remainder::Even)
        .buckets(Bucketing::aspect(aspect()))
        .build()
        .unwrap();
    assert_eq!(loader.epoch(0).map(|batch| batch.unwrap().len()).sum::<usize>(), 12);
}

#[test]
fn impossible_buckets_are_errors_that_say_what_to_give() {
    fn refused(builder: LoaderBuilder) -> String {
        builder.build().unwrap_err().to_string()
    }

    fn lengths(text: &Shards, bounds: [u64; 2]) -> LoaderBuilder {
        let given: Vec<i64> = (0..30).collect();
        text.loader().buckets(Bucketing::length(given, bounds))
    }

    let shards = photographs(12, PhotoKind::Yuv420);
    let small = Bucketing::aspect(aspect()).max_pixels(1000);
    assert!(refused(pictures(&shards).buckets(small)).contains("less than one row of the bucket"));
    let crop = Loader::builder(shards.path()).column("image", Image::new("jpg", recipe()));
    assert!(refused(crop.clone()).contains("give the loader buckets of pictures"));
    let text = Shards::of(&[30]);
    assert!(refused(lengths(&text, [20, 10])).contains("ascend"));
    assert!(refused(lengths(&text, [10, 20])).contains("sample/000021"));
    let few = lengths(&text, [10, 20]).take(21);
    assert!(few.build().is_ok(), "samples that take no part need no bucket");
    let far = Bucketing::numbered(vec![1_i64 << 40; 30]);
    assert!(refused(text.loader().buckets(far)).contains("65536 at most"));
    let tokens = text.loader().buckets(Bucketing::numbered("/class").max_tokens(100));
    assert!(refused(tokens).contains("buckets by length"));
    let by_shard = lengths(&text, [15, 30]).split(Split::new(0, 1).unwrap().by_shard());
    assert!(refused(by_shard).contains("by_shard"));
    let none = Loader::builder(text.path()).text("txt").buckets(Bucketing::aspect(aspect()));
    assert!(refused(none).contains("no size of a picture"));
}
