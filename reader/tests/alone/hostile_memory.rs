//! Memory allocated for hostile parts: the loader's limit holds, whatever a file declares.
//!
//! A separate test binary, because it counts for the whole process.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

#[path = "../loader/harness.rs"]
#[allow(dead_code)]
mod harness;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use harness::{Shards, key};
use tarflume::internal::formats;
use tarflume::{Channels, ErrorKind, Image, Json, Loader, LoaderBuilder, Normalize, OnBad, Resize};
use tarflume_fixtures::{Bomb, SplitMix64, bombs};

struct Counting;

static NOW: AtomicU64 = AtomicU64::new(0);
static PEAK: AtomicU64 = AtomicU64::new(0);
static TURN: Mutex<()> = Mutex::new(());

// SAFETY: every call is forwarded to the system's allocator unchanged. Memory that grows counts as old
// and new side by side.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, block: Layout) -> *mut u8 {
        let now = NOW.fetch_add(block.size() as u64, SeqCst) + block.size() as u64;
        PEAK.fetch_max(now, SeqCst);
        // SAFETY: as the caller promised.
        unsafe { System.alloc(block) }
    }
    unsafe fn alloc_zeroed(&self, block: Layout) -> *mut u8 {
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

/// A data set of one part eight times.
fn shards(part: &[u8]) -> Shards {
    let shards = Shards { dir: tempfile::tempdir().unwrap() };
    shards.write(0, (0..8).map(|n| (key(n), vec![("part", part.to_vec())])));
    shards
}

/// The most bytes that were allocated at once while `loader` ran for an epoch, its bad samples, and whether
/// the bound was too small for one.
fn peak(loader: LoaderBuilder) -> (u64, u64, bool) {
    let before = NOW.load(SeqCst);
    PEAK.store(before, SeqCst);
    let loader = loader.on_bad(OnBad::Skip).build().unwrap();
    let mut epoch = loader.epoch(0);
    let mut refused = false;
    for batch in epoch.by_ref() {
        if let Err(error) = batch {
            let kinds = [ErrorKind::Limit, ErrorKind::TooManyBad];
            assert!(kinds.contains(&error.kind()), "{error}");
            refused = error.kind() == ErrorKind::Limit;
        }
    }
    let bad = loader.bad_samples().len() as u64;
    (PEAK.load(SeqCst) - before, bad, refused)
}

/// What a batch of two pictures takes at its consumer's.
const CONSUMER: u64 = 2 * 224 * 224 * 4;

#[test]
fn no_picture_exceeds_the_memory_limit() {
    let _turn = TURN.lock();
    let mut broken = Vec::new();
    for Bomb { name, good, bytes } in bombs() {
        let shards = shards(&bytes);
        let few = ("64MiB", 64 << 20, 1, Channels::Rgb);
        for (memory, bound, threads, channels) in [few, ("256MiB", 256 << 20, 4, Channels::Rgba)] {
            let column = Image::new("part", Resize::exact(224)).channels(channels);
            let loader = Loader::builder(shards.path()).column("image", column).batch(2);
            let (bytes, bad, refused) =
                peak(loader.memory_limit(memory.parse().unwrap()).threads(threads));
            if bytes > bound + CONSUMER || (good && (bad > 0 || refused)) {
                broken.push(format!(
                    "{name}: {bytes} bytes with {threads} threads, {bad} bad, refused: {refused}"
                ));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn no_picture_of_which_all_bits_are_read_exceeds_the_memory_limit() {
    fn image() -> Image {
        Image::new("part", Resize::exact(224))
    }

    let _turn = TURN.lock();
    let mut broken = Vec::new();
    for Bomb { name, bytes, .. } in bombs() {
        let shards = shards(&bytes);
        for column in [
            image().channels(Channels::Index).to_u16(),
            image().channels(Channels::Rgba).to_u16(),
            image().channels(Channels::Luma).to_f32(Normalize::unit()),
        ] {
            let loader = Loader::builder(shards.path()).column("image", column).batch(2);
            let (taken, ..) = peak(loader.memory_limit("64MiB".parse().unwrap()).threads(1));
            if taken > (64 << 20) + 2 * CONSUMER {
                broken.push(format!("{name}: {taken} bytes"));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// Small pictures of every format that is no JPEG.
fn small() -> Vec<Vec<u8>> {
    let rgb =
        image::RgbImage::from_fn(40, 30, |x, y| image::Rgb([x as u8, y as u8, (x * y) as u8]));
    let rgba = image::DynamicImage::ImageRgba8(image::DynamicImage::ImageRgb8(rgb.clone()).into());
    let rgb = image::DynamicImage::ImageRgb8(rgb);
    let formats = [
        (image::ImageFormat::Png, &rgb),
        (image::ImageFormat::Gif, &rgba),
        (image::ImageFormat::WebP, &rgba),
        (image::ImageFormat::Bmp, &rgb),
        (image::ImageFormat::Tiff, &rgb),
    ];
    formats.map(|(format, picture)| encoded(picture, format)).into()
}

fn encoded(picture: &image::DynamicImage, format: image::ImageFormat) -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    picture.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

#[test]
fn no_damaged_picture_exceeds_its_memory_limit() {
    let _turn = TURN.lock();
    const GIVEN: u64 = 32 << 20;
    // What opening may take before anything was reserved.
    const TO_OPEN: u64 = 16 << 20;
    let mut random = SplitMix64::new(17);
    let wholes = small().into_iter().chain(bombs().into_iter().map(|bomb| bomb.bytes));
    for whole in wholes.filter(|bytes| bytes.len() < 64 << 10 && !bytes.starts_with(&[0xff, 0xd8]))
    {
        for _ in 0..300 {
            let mut bytes = whole.clone();
            for _ in 0..random.between(1, 5) {
                // Most claims stand at the beginning.
                let within = if random.below(2) == 0 { bytes.len().min(128) } else { bytes.len() };
                let place = random.below(within as u32) as usize;
                bytes[place] =
                    [0, 0xff, 0x7f, 1, random.next_u64() as u8][random.below(5) as usize];
            }
            let before = NOW.load(SeqCst);
            PEAK.store(before, SeqCst);
            // Decoders have been seen to panic; the loader makes that an error of the sample.
            _ = std::panic::catch_unwind(|| formats::check(&bytes, GIVEN).is_ok());
            _ = std::panic::catch_unwind(|| formats::check_numbers(&bytes, GIVEN).is_ok());
            let taken = PEAK.load(SeqCst) - before;
            assert!(
                taken <= GIVEN + TO_OPEN,
                "{taken} bytes for {:02x?}",
                &bytes[..bytes.len().min(200)]
            );
        }
    }
}

#[test]
fn no_json_text_exceeds_the_memory_limit() {
    let _turn = TURN.lock();
    let memory = "64MiB";
    let bound = 64 << 20;
    let long = r"\n".repeat(2 << 20);
    for text in [
        format!(r#"{{"{long}": 1, "a": "{long}"}}"#),
        format!(r#"{{"b": 1, "a": ["{long}"]}}"#),
        format!(r#"{{"a": {}1}}"#, "[".repeat(100)),
    ] {
        let shards = shards(text.as_bytes());
        for column in [Json::new("part", "/a").labels(["x"]), Json::new("part", "/a").text()] {
            let loader = Loader::builder(shards.path()).column("label", column).batch(1);
            let (bytes, ..) = peak(loader.memory_limit(memory.parse().unwrap()).threads(1));
            assert!(bytes <= bound, "{bytes} bytes for {} bytes of JSON", text.len());
        }
    }
}
