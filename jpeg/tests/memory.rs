//! The memory of decoding: never more than [`Header::memory`], no allocation once a decoder is
//! warm, and next to nothing for a header that claims more than the file can hold.
//!
//! A separate test binary, because it counts every allocation of the process.
#![allow(clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use tarflume_fixtures::{Photo, PhotoKind};
use tarflume_jpeg::{
    Color, Damage, Decoder, ErrorKind, Header, Job, OnDamage, Region, Scale, Scanner, Size,
};

struct Counting;

thread_local! {
    /// Counts of this thread, because the test harness has others: calls, current bytes, peak
    /// bytes, and the limit on one block.
    static CALLS: Cell<u64> = const { Cell::new(0) };
    static NOW: Cell<i64> = const { Cell::new(0) };
    static PEAK: Cell<i64> = const { Cell::new(0) };
    static LARGEST: Cell<usize> = const { Cell::new(usize::MAX) };
}

// SAFETY: every call is passed to the system's allocator unchanged, or fails. Memory that grows
// counts as old and new side by side.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, block: Layout) -> *mut u8 {
        if block.size() > LARGEST.get() {
            return std::ptr::null_mut();
        }
        CALLS.set(CALLS.get() + 1);
        NOW.set(NOW.get() + block.size() as i64);
        PEAK.set(PEAK.get().max(NOW.get()));
        // SAFETY: as the caller promised.
        unsafe { System.alloc(block) }
    }
    unsafe fn dealloc(&self, at: *mut u8, block: Layout) {
        NOW.set(NOW.get() - block.size() as i64);
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(at, block) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The memory that a decoder takes once, from the documentation of `Header::memory`.
const ONCE: u64 = 512 << 10;
/// The memory of a refused job: its error, as text.
const WORDS: u64 = 4 << 10;

/// Returns the bytes allocated at the same time while `run` ran, beside those allocated before.
fn peak<T>(run: impl FnOnce() -> T) -> (u64, T) {
    let before = NOW.get();
    PEAK.set(before);
    let result = run();
    ((PEAK.get() - before) as u64, result)
}

/// Returns the number of allocations while `run` ran.
fn calls(run: impl FnOnce()) -> u64 {
    let before = CALLS.get();
    run();
    CALLS.get() - before
}

/// Returns a flat gray JPEG of minimal size: two bits per block. `sof` is the frame's marker.
fn flat(sof: u8, width: u16, height: u16, restart: u16, components: u8) -> Vec<u8> {
    let mut jpeg = b"\xff\xd8\xff\xdb\0\x43\0".to_vec();
    jpeg.extend([16; 64]);
    for table in [0x00, 0x10] {
        jpeg.extend([0xff, 0xc4, 0, 20, table, 1]);
        jpeg.extend([0; 16]); // no longer codes; the symbol of the only one
    }
    jpeg.extend([0xff, 0xdd, 0, 4]);
    jpeg.extend(restart.to_be_bytes());
    jpeg.extend([0xff, sof, 0, 8 + 3 * components, 8]);
    jpeg.extend([height.to_be_bytes(), width.to_be_bytes()].concat());
    jpeg.push(components);
    (1..=components).for_each(|n| jpeg.extend([n, 0x11, 0]));
    jpeg.extend([0xff, 0xda, 0, 6 + 2 * components, components]);
    (1..=components).for_each(|n| jpeg.extend([n, 0]));
    jpeg.extend([0, 63, 0]);
    jpeg
}

/// Appends its data and its end: all codes are zeros, and ones fill the last byte before a marker.
fn whole(width: u16, height: u16, restart: u16, components: u8) -> Vec<u8> {
    let mut jpeg = flat(0xc0, width, height, restart, components);
    let mcus = u64::from(width.div_ceil(8)) * u64::from(height.div_ceil(8));
    let each = if restart == 0 { mcus } else { u64::from(restart) };
    let mut left = mcus;
    for number in 0.. {
        let bits = 2 * u64::from(components) * each.min(left);
        jpeg.resize(jpeg.len() + (bits / 8) as usize, 0);
        jpeg.extend((bits % 8 > 0).then_some(0xff >> (bits % 8) as u32));
        left -= each.min(left);
        if left == 0 {
            break;
        }
        jpeg.extend([0xff, 0xd0 + (number % 8) as u8]);
    }
    jpeg.extend([0xff, 0xd9]);
    jpeg
}

/// Returns a flat picture with the sampling `factors` (across << 4 | down) in one scan: the only
/// one, or the first of a progressive picture.
fn sampled(sof: u8, width: u16, height: u16, factors: &[u8]) -> Vec<u8> {
    let mut jpeg = flat(sof, width, height, 0, factors.len() as u8);
    let frame = jpeg.windows(2).position(|w| w == [0xff, sof]).unwrap() + 10;
    factors.iter().enumerate().for_each(|(n, &factor)| jpeg[frame + 3 * n + 1] = factor);
    let most = |of: fn(u8) -> u8| u64::from(factors.iter().map(|&f| of(f)).max().unwrap());
    let across = u64::from(width).div_ceil(8 * most(|f| f >> 4));
    let down = u64::from(height).div_ceil(8 * most(|f| f & 15));
    let blocks: u64 = factors.iter().map(|&f| u64::from(f >> 4) * u64::from(f & 15)).sum();
    let bits = if sof == 0xc2 { 1 } else { 2 } * blocks * across * down;
    if sof == 0xc2 {
        let end = jpeg.len() - 2;
        jpeg[end] = 0; // the first pass is of DC alone
    }
    jpeg.resize(jpeg.len() + bits.div_ceil(8) as usize, 0);
    jpeg.extend([0xff, 0xd9]);
    jpeg
}

/// JPEGs of all kinds, some with an absurd number of restart markers.
fn jpegs() -> Vec<Vec<u8>> {
    use PhotoKind::{Cmyk, Gray, Progressive, Yuv420, Yuv422, Yuv444};
    let photos = [(Yuv444, 300, 200), (Yuv420, 500, 375), (Yuv422, 97, 350), (Gray, 260, 260)];
    let others = [(Progressive, 300, 250), (Progressive, 17, 900), (Cmyk, 211, 160)];
    let mut all: Vec<Vec<u8>> = photos
        .into_iter()
        .chain(others)
        .map(|(kind, width, height)| Photo::new(width, height, kind).encode(3).unwrap())
        .collect();
    all.extend([whole(2000, 1000, 0, 1), whole(1000, 800, 1, 3), whole(9, 4000, 3, 1)]);
    all
}

/// The requests for a picture: all of it, and three parts.
fn regions(size: Size) -> [Option<Region>; 4] {
    let Size { width, height } = size;
    let part = |x: u32, y: u32| {
        let left = width * x / 8;
        let top = height * y / 8;
        Some(Region {
            left,
            top,
            width: (width - left).div_ceil(3),
            height: (height - top).div_ceil(3),
        })
    };
    [None, part(0, 0), part(3, 2), part(7, 7)]
}

/// Calls `with` for every scale and region of a picture, with and without its entry points.
fn asked(jpeg: &[u8], mut with: impl FnMut(&Header, Scale, Option<Region>, Option<&[u8]>)) {
    let header = Header::parse(jpeg).unwrap();
    let mut points = Vec::new();
    let scanned = Scanner::new().scan(jpeg, &header, &mut points).is_ok();
    for scale in Scale::ALL {
        for region in regions(scale.of(header.width(), header.height())) {
            with(&header, scale, region, None);
            if scanned {
                with(&header, scale, region, Some(&points));
            }
        }
    }
}

fn room(header: &Header, scale: Scale, region: Option<Region>) -> (usize, Vec<u8>) {
    let Size { width, height } = scale.of(header.width(), header.height());
    let size = region.map_or((width, height), |r| (r.width, r.height));
    let stride = size.0 as usize * 3;
    (stride, vec![0; stride * size.1 as usize])
}

#[test]
fn one_picture_takes_the_stated_memory() {
    for (n, jpeg) in jpegs().iter().enumerate() {
        asked(jpeg, |header, scale, region, entry_points| {
            let said = header.memory(jpeg.len(), scale, region).unwrap();
            let (stride, mut output) = room(header, scale, region);
            let job =
                Job { scale, region, entry_points, stride, ..Job::new(jpeg, header, &mut output) };
            let (taken, result) = peak(|| Decoder::new().decode(job));
            result.unwrap();
            let what = format!("JPEG {n} {scale:?} {region:?} {}", entry_points.is_some());
            assert!(taken <= said + ONCE, "{what}: {taken} bytes instead of {said}");
        });
    }
}

/// A decoder that keeps a damaged picture has failed at it first, and reads it again.
#[test]
fn damaged_pictures_take_the_stated_memory() {
    let mut kept = 0;
    for (n, jpeg) in jpegs().iter().enumerate() {
        let cut = &jpeg[..jpeg.len() * 2 / 3];
        asked(cut, |header, scale, region, _| {
            for on_damage in [OnDamage::Refuse, OnDamage::Keep] {
                let beside = match on_damage {
                    OnDamage::Refuse => 0,
                    OnDamage::Keep => header.memory_to_keep(),
                };
                let said = header.memory(cut.len(), scale, region).unwrap() + beside;
                let (stride, mut output) = room(header, scale, region);
                let job = Job::new(cut, header, &mut output);
                let job = Job { scale, region, stride, on_damage, ..job };
                let (taken, result) = peak(|| Decoder::new().decode(job));
                kept += u32::from(result.is_ok_and(|report| report.damage == Damage::Lost));
                let what = format!("JPEG {n} {scale:?} {region:?} {on_damage:?}");
                assert!(taken <= said + ONCE, "{what}: {taken} bytes instead of {said}");
            }
        });
    }
    assert!(kept >= 100, "{kept} were decoded");
}

#[test]
fn unusual_samplings_take_the_stated_memory() {
    fn all(n: u8) -> u8 {
        [0x11, 0x21, 0x12, 0x22, 0x41, 0x14, 0x42, 0x44, 0x31, 0x33][usize::from(n)]
    }
    let mut decoded = 0;
    for number in 0..1000u32 {
        let digit = |n: u32| all((number / 10u32.pow(n) % 10) as u8);
        let a = digit(0);
        let b = digit(1);
        let c = digit(2);
        for factors in [&[a, b, c][..], &[a, b, c, a], &[a, b, b, c]] {
            let size = [(300, 40), (33, 500), (1500, 9)][number as usize % 3];
            let jpeg = sampled([0xc0, 0xc2][number as usize / 3 % 2], size.0, size.1, factors);
            let header = Header::parse(&jpeg).unwrap();
            let said = header.memory(jpeg.len(), Scale::Full, None).unwrap();
            let (_, mut output) = room(&header, Scale::Full, None);
            let job = Job::new(&jpeg, &header, &mut output);
            let (taken, result) = peak(|| Decoder::new().decode(job));
            assert!(taken <= said + ONCE, "{factors:x?} {size:?}: {taken} instead of {said}");
            decoded += u32::from(result.is_ok());
        }
    }
    assert!(decoded > 100, "{decoded} were decoded");
}

#[test]
fn a_warm_decoder_allocates_nothing() {
    let mut decoder = Decoder::new();
    for (n, jpeg) in jpegs().iter().enumerate() {
        asked(jpeg, |header, scale, region, entry_points| {
            let (stride, mut output) = room(header, scale, region);
            let mut decode = || {
                let output = &mut output;
                let job =
                    Job { scale, region, entry_points, stride, ..Job::new(jpeg, header, output) };
                decoder.decode(job).unwrap();
            };
            // Lanes swap: each must have had the longest row once.
            (0..8).for_each(|_| decode());
            assert_eq!(calls(decode), 0, "JPEG {n} {scale:?} {region:?}");
        });
    }
}

#[test]
fn a_warm_decoder_allocates_nothing_for_groups() {
    let jpegs: Vec<Vec<u8>> = jpegs();
    let headers: Vec<Header> = jpegs.iter().map(|jpeg| Header::parse(jpeg).unwrap()).collect();
    let blobs: Vec<Vec<u8>> = (jpegs.iter().zip(&headers))
        .map(|(jpeg, header)| {
            let mut blob = Vec::new();
            Scanner::new().scan(jpeg, header, &mut blob).unwrap();
            blob
        })
        .collect();
    let mut rooms: Vec<(usize, Vec<u8>)> =
        headers.iter().map(|header| room(header, Scale::Full, None)).collect();
    let mut decoder = Decoder::new();
    for with_points in [false, true] {
        let mut decode = || {
            let all = jpegs.iter().zip(&headers).zip(&blobs).zip(&mut rooms);
            let jobs = all.map(|(((jpeg, header), blob), (_, output))| Job {
                entry_points: with_points.then_some(blob.as_slice()),
                ..Job::new(jpeg, header, output)
            });
            decoder.decode_group(jobs, |_, result| assert!(result.is_ok()));
        };
        // Lanes swap: each must have had the largest picture once.
        (0..12).for_each(|_| decode());
        assert_eq!(calls(decode), 0, "entry points: {with_points}");
    }
}

#[test]
fn a_header_that_claims_too_much_takes_nothing() {
    let mut decoder = Decoder::new();
    let small = flat(0xc0, 8, 8, 0, 1);
    let mut output = vec![0; 64];
    let header = Header::parse(&small).unwrap();
    decoder.decode(Job { stride: 8, ..Job::new(&small, &header, &mut output) }).unwrap_err();
    for sof in [0xc0, 0xc2] {
        let mut jpeg = flat(sof, 65535, 65535, 0, 3);
        jpeg.resize(jpeg.len() + 10_000, 0);
        jpeg.extend([0xff, 0xd9]);
        let header = Header::parse(&jpeg).unwrap();
        let region = Some(Region { left: 65527, top: 65527, width: 8, height: 8 });
        let mut output = vec![0; 192];
        let job = Job { region, stride: 24, ..Job::new(&jpeg, &header, &mut output) };
        let (taken, result) = peak(|| decoder.decode(job));
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Damaged);
        assert_eq!(error.byte(), Some(jpeg.len() as u64));
        assert!(taken < WORDS, "{taken} bytes");
        let (taken, result) = peak(|| Scanner::new().scan(&jpeg, &header, &mut Vec::new()));
        result.unwrap_err();
        assert!(taken < ONCE, "{taken} bytes");
    }
}

#[test]
fn a_corner_of_the_largest_picture_takes_little() {
    let jpeg = whole(65535, 65535, 0, 1);
    let header = Header::parse(&jpeg).unwrap();
    let region = Some(Region { left: 65527, top: 65527, width: 8, height: 8 });
    let mut output = vec![0; 64];
    let job =
        Job { region, color: Color::Gray, stride: 8, ..Job::new(&jpeg, &header, &mut output) };
    let (taken, result) = peak(|| Decoder::new().decode(job));
    result.unwrap();
    assert_eq!(output, [128; 64]);
    let said = header.memory(jpeg.len(), Scale::Full, region).unwrap();
    assert!(taken <= said + ONCE && said < 25 << 20, "{taken} bytes instead of {said}");
}

#[test]
fn unavailable_memory_is_a_limit_error() {
    let photo = Photo::new(900, 600, PhotoKind::Progressive).encode(1).unwrap();
    // Samples of a whole picture, its data, and coefficients.
    let cases = [
        (whole(60_000, 80, 0, 1), 2 << 20),
        (whole(9000, 8000, 0, 3), 700 << 10),
        (photo, 1 << 20),
    ];
    for (n, (jpeg, largest)) in cases.iter().enumerate() {
        let header = Header::parse(jpeg).unwrap();
        let region = (n == 1).then_some(Region { left: 8992, top: 7992, width: 8, height: 8 });
        let (stride, mut output) = room(&header, Scale::Full, region);
        let mut decoder = Decoder::new();
        let mut decode = |largest| {
            let job = Job { region, stride, ..Job::new(jpeg, &header, &mut output) };
            LARGEST.set(largest);
            let result = decoder.decode(job);
            LARGEST.set(usize::MAX);
            result
        };
        assert_eq!(decode(*largest).unwrap_err().kind(), ErrorKind::Limit, "case {n}");
        decode(usize::MAX).unwrap();
    }
}
