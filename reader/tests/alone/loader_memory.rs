//! Allocations of a loader: bytes within its limit, and none for a single sample.
//!
//! A separate test binary, because it counts for the whole process. Its tests run one at a time.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

#[path = "../loader/harness.rs"]
mod harness;

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Cursor;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use harness::{Shards, key};
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{ExtendedColorType, ImageEncoder};
use tarflume::{ErrorKind, Loader, LoaderBuilder, OnBad, Resize, Shuffle};
use tarflume_fixtures::{Photo, PhotoKind, SplitMix64};

struct Counting;

static CALLS: AtomicU64 = AtomicU64::new(0);
static NOW: AtomicU64 = AtomicU64::new(0);
static PEAK: AtomicU64 = AtomicU64::new(0);
static TURN: Mutex<()> = Mutex::new(());

// SAFETY: every call is forwarded to the system's allocator unchanged. Memory that grows counts as old
// and new side by side.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, block: Layout) -> *mut u8 {
        CALLS.fetch_add(1, SeqCst);
        let now = NOW.fetch_add(block.size() as u64, SeqCst) + block.size() as u64;
        PEAK.fetch_max(now, SeqCst);
        // SAFETY: as the caller promised.
        unsafe { System.alloc(block) }
    }
    unsafe fn alloc_zeroed(&self, block: Layout) -> *mut u8 {
        CALLS.fetch_add(1, SeqCst);
        let now = NOW.fetch_add(block.size() as u64, SeqCst) + block.size() as u64;
        PEAK.fetch_max(now, SeqCst);
        // SAFETY: as the caller promised.
        unsafe { System.alloc_zeroed(block) }
    }
    unsafe fn dealloc(&self, at: *mut u8, block: Layout) {
        NOW.fetch_sub(block.size() as u64, SeqCst);
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(at, block) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const BOUND: u64 = 256 << 20;

/// A picture of noise, which nothing makes smaller: 19 MB as PNG.
fn noise(seed: u64) -> Vec<u8> {
    let mut random = SplitMix64::nth(seed, 0);
    let side = 2500;
    let words = (0..side * side * 3 / 4).flat_map(|_| (random.next_u64() as u32).to_le_bytes());
    let pixels: Vec<u8> = words.collect();
    png(side, &pixels)
}

fn png(side: u32, pixels: &[u8]) -> Vec<u8> {
    let mut png = Cursor::new(Vec::new());
    PngEncoder::new_with_quality(&mut png, CompressionType::Fast, FilterType::NoFilter)
        .write_image(pixels, side, side, ExtendedColorType::Rgb8)
        .unwrap();
    png.into_inner()
}

/// A small picture in a JPEG of 20 MB: the rest are comments.
fn talkative(seed: u64) -> Vec<u8> {
    let jpeg = Photo::new(400, 300, PhotoKind::Yuv420).encode(seed).unwrap();
    let mut long = jpeg[..2].to_vec();
    for _ in 0..320 {
        long.extend([0xff, 0xfe, 0xff, 0xff]);
        long.resize(long.len() + 65533, b'x');
    }
    long.extend(&jpeg[2..]);
    long
}

/// Four samples with pictures of 20 MB.
fn huge() -> Shards {
    let shards = Shards { dir: tempfile::tempdir().unwrap() };
    shards.write(
        0,
        (0..4).map(|n| (key(n), vec![("img", if n < 2 { noise(n) } else { talkative(n) })])),
    );
    shards
}

/// The most bytes that were allocated at once while `loader` ran for an epoch, and batches of it.
fn peak(loader: LoaderBuilder) -> (u64, u64) {
    let before = NOW.load(SeqCst);
    PEAK.store(before, SeqCst);
    let loader = loader.build().unwrap();
    let batches = loader.epoch(0).map(Result::unwrap).count() as u64;
    (PEAK.load(SeqCst) - before, batches)
}

#[test]
fn memory_stays_within_its_bound_however_large_the_samples() {
    let _turn = TURN.lock();
    let shards = huge();
    let loader = Loader::builder(shards.path()).repeat(4).threads(4);
    let loader = loader.memory_limit("256MiB".parse().unwrap());
    let (bytes, batches) = peak(loader.clone().image("img", Resize::exact(224)).batch(8));
    let consumer = 8 * 224 * 224 * 3;
    assert_eq!(batches, 2);
    assert!(bytes <= BOUND + consumer, "{bytes} bytes for pictures");
    let (bytes, batches) = peak(loader.clone().bytes("img").batch(1));
    assert_eq!(batches, 16);
    assert!(bytes <= BOUND + (40 << 20), "{bytes} bytes for long parts");

    let wide = Shards { dir: tempfile::tempdir().unwrap() };
    wide.write(0, [(key(0), vec![("img", png(4000, &vec![0; 4000 * 4000 * 3]))])]);
    let wide = Loader::builder(wide.path()).image("img", Resize::exact(224)).on_bad(OnBad::Skip);
    let pictures = loader.clone().image("img", Resize::exact(224));
    for (loader, words) in [
        (pictures.memory_limit("100MiB".parse().unwrap()), "reading this sample"),
        (wide.memory_limit("160MiB".parse().unwrap()).threads(1), "decoding this sample"),
        (loader.bytes("img").batch(8), "the parts of batch 0 of epoch 0"),
    ] {
        let error = loader.build().unwrap().epoch(0).find_map(Result::err).unwrap();
        // Under a policy, a limit that is too small for every sample is an error at the end of the epoch.
        assert!([ErrorKind::Limit, ErrorKind::TooManyBad].contains(&error.kind()), "{error}");
        assert!(error.to_string().contains(words), "{error}");
        assert!(words.starts_with("the") || error.place().key == Some(key(0)), "{error}");
    }
}

/// Allocations of one warm batch, on average.
fn calls(shards: &Shards, shuffle: Shuffle, batch: u64) -> u64 {
    let loader = shards.loader().label("json", "/class").shuffle(shuffle);
    let loader = loader.batch(batch).repeat(100).threads(2).build().unwrap();
    let mut epoch = loader.epoch(0);
    epoch.by_ref().take(150).for_each(|batch| drop(batch.unwrap()));
    let before = CALLS.load(SeqCst);
    let counted = 100;
    epoch.by_ref().take(counted).for_each(|batch| drop(batch.unwrap()));
    (CALLS.load(SeqCst) - before) / counted as u64
}

#[test]
fn nothing_is_allocated_for_a_sample_once_the_loader_is_warm() {
    let _turn = TURN.lock();
    let shards = Shards::of(&[300, 7, 500]);
    for shuffle in [Shuffle::None, Shuffle::Full { seed: 1 }] {
        let few = calls(&shards, shuffle, 16);
        let many = calls(&shards, shuffle, 256);
        assert!(few <= 12 && many <= 12, "{few} for 16 rows, {many} for 256: {shuffle:?}");
    }
}
