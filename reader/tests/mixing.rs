//! MixUp and CutMix of whole epochs, beside a simple mixing of the batches of a loader that does not mix.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::expect_used)]

#[cfg(feature = "cuda")]
mod device;
mod refused;
mod targets;
mod untouched;

use tarflume::transforms::mixing::{Mix, MixMode, Partner};
use tarflume::{Batch, DType, Loader, LoaderBuilder, Raw, Shuffle, Stream};
use tarflume_fixtures::SplitMix64;

use crate::loader::harness::{Shards, key};

const SIZE: [usize; 3] = [9, 7, 3];
const ELEMENTS: usize = SIZE[0] * SIZE[1] * SIZE[2];

/// Samples with a picture of bytes, a picture of floats with the channels first, and their ordinal as the class.
fn parts(ordinal: u64) -> Vec<(&'static str, Vec<u8>)> {
    let mut random = SplitMix64::nth(11, ordinal);
    let bytes: Vec<u8> = (0..ELEMENTS).map(|_| random.next_u64() as u8).collect();
    let floats = bytes.iter().flat_map(|&byte| (f32::from(byte) / 3.0 - 40.0).to_ne_bytes());
    let floats = floats.collect();
    let json = format!(r#"{{"class": {ordinal}}}"#).into_bytes();
    vec![("float", floats), ("json", json), ("raw", bytes)]
}

fn samples(count: u64) -> Shards {
    let shards = Shards { dir: tempfile::tempdir().unwrap() };
    shards.write(0, (0..count / 2).map(|o| (key(o), parts(o))));
    shards.write(1, (count / 2..count).map(|o| (key(o), parts(o))));
    shards
}

/// A loader in batches of six, without mixing.
fn plain(shards: &Shards) -> LoaderBuilder {
    Loader::builder(shards.path())
        .shuffle(Shuffle::Full { seed: 3 })
        .column("image", Raw::new("raw").dtype(DType::U8).shape(SIZE))
        .column("float", Raw::new("float").dtype(DType::F32).shape([SIZE[2], SIZE[0], SIZE[1]]))
        .label("json", "/class")
        .batch(6)
        .threads(3)
}

fn both(image: &str) -> Mix {
    Mix::new(image, "label").mixup(0.8).cutmix(1.0)
}

fn batches(loader: &Loader, epoch: u64) -> Vec<Batch> {
    loader.epoch(epoch).map(Result::unwrap).collect()
}

/// All bytes of a batch.
fn bytes(batch: &Batch) -> Vec<Vec<u8>> {
    batch.columns().map(|column| column.bytes().to_vec()).collect()
}

/// The weight of each row, and the row of its partner, of a batch with pairs of labels.
fn pairs(batch: &Batch) -> Vec<(f32, usize)> {
    let own = batch.column("label_a").unwrap().elements::<i64>().unwrap();
    assert_eq!(own, batch.column("label").unwrap().elements::<i64>().unwrap());
    let other = batch.column("label_b").unwrap().elements::<i64>().unwrap();
    let lam = batch.column("lam").unwrap().elements::<f32>().unwrap();
    let rows = other.iter().map(|label| own.iter().position(|own| own == label).unwrap());
    lam.iter().copied().zip(rows).collect()
}

/// The pixels of a row.
fn pixels(batch: &Batch, row: usize) -> &[u8] {
    batch.column("image").unwrap().row(row)
}

/// What was done to a row, as its pixels have it.
#[derive(Debug, PartialEq, Clone, Copy)]
enum Seen {
    Alone,
    Blend,
    Paste,
}

/// Checks the pixels of a row of bytes against those of the row and of its partner before.
fn check_row(now: &[u8], own: &[u8], other: &[u8], lam: f32) -> Seen {
    if lam == 1.0 {
        assert_eq!(now, own);
        return Seen::Alone;
    }
    let blended = now.iter().zip(own.iter().zip(other)).all(|(&now, (&own, &other))| {
        let sum = f64::from(own) * f64::from(lam) + f64::from(other) * (1.0 - f64::from(lam));
        (f64::from(now) - sum).abs() < 0.5001
    });
    if blended {
        return Seen::Blend;
    }
    let pixels = now.chunks(3).zip(own.chunks(3).zip(other.chunks(3)));
    let pasted: Vec<usize> = pixels
        .enumerate()
        .filter_map(|(at, (now, (own, other)))| {
            assert!(now == own || now == other, "pixel {at}");
            (now == other).then_some(at)
        })
        .collect();
    let width = SIZE[1];
    let rows = [pasted[0] / width, pasted[pasted.len() - 1] / width + 1];
    let left = pasted.iter().map(|at| at % width).min().unwrap();
    let right = pasted.iter().map(|at| at % width).max().unwrap() + 1;
    assert_eq!(pasted.len(), (rows[1] - rows[0]) * (right - left), "it is a rectangle");
    let stays = 1.0 - pasted.len() as f32 / (SIZE[0] * width) as f32;
    assert!((stays - lam).abs() < 1e-6, "{stays} of the pixels stay, the weight is {lam}");
    Seen::Paste
}

/// Checks all rows of a batch, and which rows are mixed with which.
fn check_batch(now: &Batch, before: &Batch, mode: MixMode, partner: Partner) -> Vec<Seen> {
    assert_eq!(now.column("float").unwrap().bytes(), before.column("float").unwrap().bytes());
    let pairs = pairs(now);
    let mut seen = Vec::new();
    for (row, &(lam, other)) in pairs.iter().enumerate() {
        let expected = match partner {
            Partner::Previous => (row + now.len() - 1) % now.len(),
            Partner::Mirrored => now.len() - 1 - row,
        };
        assert!(lam == 1.0 || other == expected, "row {row} is mixed with {other}");
        assert!(mode != MixMode::Batch || lam == pairs[0].0);
        assert!(mode != MixMode::Pair || lam == pairs[other].0);
        let partner = pixels(before, other);
        seen.push(check_row(pixels(now, row), pixels(before, row), partner, lam));
    }
    seen
}

#[test]
fn pixels_are_what_labels_and_weights_say() {
    let shards = samples(30);
    let before = plain(&shards).build().unwrap();
    for (mode, partner) in [
        (MixMode::Batch, Partner::Previous),
        (MixMode::Batch, Partner::Mirrored),
        (MixMode::Pair, Partner::Mirrored),
        (MixMode::Elem, Partner::Mirrored),
        (MixMode::Elem, Partner::Previous),
    ] {
        let mix = both("image").mode(mode).partner(partner).label_pairs();
        let loader = plain(&shards).mix(mix).build().unwrap();
        let mut seen = Vec::new();
        for epoch in 0..3 {
            for (now, before) in batches(&loader, epoch).iter().zip(batches(&before, epoch)) {
                seen.extend(check_batch(now, &before, mode, partner));
            }
        }
        assert!(seen.contains(&Seen::Blend) && seen.contains(&Seen::Paste), "{mode}: {seen:?}");
    }
}

#[test]
fn floats_with_the_channels_first_are_mixed_alike() {
    let shards = samples(12);
    let before = batches(&plain(&shards).build().unwrap(), 0);
    let mix = Mix::new("float", "label").mixup(0.4).mode(MixMode::Elem).label_pairs();
    let now = batches(&plain(&shards).mix(mix).build().unwrap(), 0);
    for (now, before) in now.iter().zip(&before) {
        for (row, (lam, other)) in pairs(now).into_iter().enumerate() {
            let floats = |batch: &Batch, row: usize| {
                batch.column("float").unwrap().row_elements::<f32>(row).unwrap().to_vec()
            };
            let now = floats(now, row);
            let rest = 1.0 - lam;
            for ((now, own), other) in
                now.into_iter().zip(floats(before, row)).zip(floats(before, other))
            {
                // The loader computes the rest in f64.
                assert!((now - (own * lam + other * rest)).abs() < 1e-4);
            }
        }
    }
}

#[test]
fn threads_and_resumes_change_no_pixel() {
    fn all(loader: &Loader) -> Vec<Vec<Vec<u8>>> {
        batches(loader, 2).iter().map(bytes).collect()
    }

    let shards = samples(40);
    let mix = both("image").mode(MixMode::Elem).num_classes(40).label_smoothing(0.1);
    let loader = |threads| plain(&shards).mix(mix.clone()).threads(threads);
    let whole = all(&loader(1).build().unwrap());
    assert_eq!(whole.len(), 6);
    for threads in 2..=4 {
        assert_eq!(all(&loader(threads).build().unwrap()), whole, "{threads} threads");
    }
    for steps in 1..6 {
        let first = loader(3).build().unwrap();
        let begun: Vec<_> = first.epoch(2).take(steps).map(|b| bytes(&b.unwrap())).collect();
        let rest = all(&loader(2).resume(first.state()).build().unwrap());
        assert_eq!([begun, rest].concat(), whole, "resumed after {steps} steps");
    }
    let other = all(&plain(&shards).mix(mix.clone().mixup(0.7)).build().unwrap());
    assert_ne!(other, whole);
}

#[test]
fn a_stream_is_mixed_alike() {
    let shards = samples(20);
    let tars = shards.path().join("*.tar");
    let all = |threads| -> Vec<_> {
        let loader = Loader::stream(Stream::open(tars.to_str().unwrap()).unwrap())
            .column("image", Raw::new("raw").dtype(DType::U8).shape(SIZE))
            .column("float", Raw::new("float").dtype(DType::F32).shape([3, SIZE[0], SIZE[1]]))
            .label("json", "/class")
            .mix(both("image").label_pairs())
            .batch(6)
            .threads(threads)
            .build()
            .unwrap();
        loader.epoch(1).map(Result::unwrap).collect()
    };
    let before = plain(&shards).shuffle(Shuffle::None).build().unwrap();
    let now = all(1);
    for (now, before) in now.iter().zip(batches(&before, 1)) {
        check_batch(now, &before, MixMode::Batch, Partner::Previous);
    }
    let same: Vec<_> = now.iter().map(bytes).collect();
    assert_eq!(all(4).iter().map(bytes).collect::<Vec<_>>(), same);
}

#[test]
fn statistics_have_the_time_of_mixing() {
    let shards = samples(30);
    let loader = plain(&shards).build().unwrap();
    batches(&loader, 0);
    assert!(loader.stats().stage("mix").is_none());
    let loader = plain(&shards).mix(both("image").label_pairs()).build().unwrap();
    batches(&loader, 0);
    let mix = loader.stats().stage("mix").cloned().unwrap();
    assert_eq!((mix.items, mix.bytes), (5, 30 * ELEMENTS as u64));
    assert!(mix.busy.as_nanos() > 0);
}
