//! Checksums of strips of JPEGs: which commands write them, and how `verify` detects wrong ones. A naive reader
//! checks them by FORMAT.md alone.

use std::fs;

use tarflume_fixtures::{Photo, PhotoKind};
use tarflume_formats::index_path;

use crate::harness::{JSON, Place, crc32c, entry_points, members_of, section, strips, sum_again};

const SHARD: &str = "shard-000000.tar";

/// Photographs of several kinds, the first one small.
fn photos() -> Place {
    use PhotoKind::{Exif, Gray, Progressive, Yuv420, Yuv444};
    let place = Place::new();
    let sizes = [(60, 40), (640, 480), (1500, 500), (700, 650), (400, 300), (640, 480)];
    let kinds = [Yuv420, Yuv420, Exif(6), Gray, Progressive, Yuv444];
    for (n, ((width, height), kind)) in sizes.into_iter().zip(kinds).enumerate() {
        let photo = Photo::new(width, height, kind).encode(n as u64).unwrap();
        place.file(format!("photos/{n}.jpg"), photo).file(format!("photos/{n}.json"), JSON);
    }
    place
}

fn sidecar(place: &Place, tar: &str) -> Vec<u8> {
    fs::read(index_path(place.at(tar))).unwrap()
}

/// A number of some bits, as entry points have them.
fn bits(bytes: &[u8], at: usize, width: usize) -> u64 {
    let bit = |n: usize| u64::from(bytes[(at + n) / 8] >> ((at + n) % 8) & 1);
    (0..width).map(|n| bit(n) << n).sum()
}

/// The byte of each place of a blob of entry points.
fn places(blob: &[u8]) -> Vec<i64> {
    let half = |at: usize| i64::from(u16::from_le_bytes([blob[at], blob[at + 1]]));
    let word = |at: usize| half(at) | half(at + 2) << 16;
    let rows = half(2);
    let each = half(4);
    let data = word(20);
    let span = word(24);
    let base = i64::from(word(28) as u32 as i32);
    let widths: Vec<usize> = blob[38..42].iter().map(|&width| width.into()).collect();
    let width = 3 + widths.iter().sum::<usize>();
    let count = rows * each + 1;
    let line = |n: i64| data + n * span / (count - 1);
    let place = |n: i64| {
        let residual = bits(&blob[42..], n as usize * width, widths[0]);
        line(n) + base + residual as i64
    };
    (0..count).map(place).collect()
}

/// Checks the checksums of a part by FORMAT.md alone; returns the number of strips.
fn check(jpeg: &[u8], blob: &[u8], sums: &[u8], orientation: u8) -> usize {
    let rows = usize::from(blob[2]);
    let each = usize::from(blob[4]);
    let data = i64::from(blob[20]) | i64::from(blob[21]) << 8;
    let places = places(blob);
    let stride = usize::from(sums[2]);
    assert_eq!((sums[0], sums[1], sums[3]), (1, orientation, 0));
    let sum = |number: usize| u32::from_le_bytes(sums[4 + 4 * number..][..4].try_into().unwrap());
    assert_eq!(sum(0), crc32c(&jpeg[..data as usize]));
    let count = rows.div_ceil(stride);
    assert_eq!(sums.len(), 8 + 4 * count);
    for strip in 0..count {
        let end_row = (strip * stride + stride).min(rows);
        let from = (places[strip * stride * each] - 1).max(data) as usize;
        let to = (places[end_row * each] + 2).min(jpeg.len() as i64) as usize;
        assert_eq!(sum(1 + strip), crc32c(&jpeg[from..to]), "strip {strip}");
    }
    count
}

#[test]
fn a_build_writes_checksums_that_the_specification_describes() {
    let place = photos();
    place.pack("build photos -o out").succeeds();
    let tar = fs::read(place.at("out").join(SHARD)).unwrap();
    let bytes = sidecar(&place, &format!("out/{SHARD}"));
    let points = entry_points(&bytes);
    let sums = strips(&bytes);
    let mut counts = Vec::new();
    for (part, member) in members_of(&tar).iter().enumerate() {
        let sums = &bytes[sums[part].clone()];
        if sums.is_empty() {
            counts.push(0);
            continue;
        }
        let jpeg = &member.data;
        let orientation = if member.name == "2.jpg" { 6 } else { 0 };
        counts.push(check(jpeg, &bytes[points[part].clone()], sums, orientation));
    }
    // Small and progressive ones have none, nor has JSON.
    let none = [0, 1, 3, 5, 7, 8, 9, 11];
    for (part, count) in counts.iter().enumerate() {
        assert_eq!(*count == 0, none.contains(&part), "part {part} of {counts:?}");
    }
    assert!(counts.iter().any(|&count| count > 3), "{counts:?}");
}

#[test]
fn every_way_to_a_sidecar_gives_the_same_checksums() {
    let place = photos();
    place.pack("build photos -o out").succeeds();
    let of = |tar: &str| {
        let bytes = sidecar(&place, tar);
        ["stps", "stpb"].map(|name| bytes[section(&bytes, name).unwrap()].to_vec())
    };
    let built = of(&format!("out/{SHARD}"));
    place.pack("reshard out -o again").succeeds();
    assert!(of(&format!("again/{SHARD}")) == built);
    place.pack("build photos -o bare --no-entry-points").succeeds();
    assert!(section(&sidecar(&place, &format!("bare/{SHARD}")), "stps").is_none());
    place.pack("index --entry-points bare").succeeds();
    assert!(of(&format!("bare/{SHARD}")) == built);
    place.pack("verify out again bare --level decode").succeeds();
}

/// Changes the sidecar of a shard, and corrects its checksums.
fn forge(place: &Place, change: impl FnOnce(&mut Vec<u8>)) {
    let path = index_path(place.at("out").join(SHARD));
    let mut bytes = fs::read(&path).unwrap();
    change(&mut bytes);
    sum_again(&mut bytes);
    fs::write(path, bytes).unwrap();
}

#[test]
fn wrong_checksums_are_found_with_the_part() {
    let place = photos();
    place.pack("build photos -o out").succeeds();
    fs::remove_file(place.at("out/dataset.json")).unwrap(); // it would reveal the change
    forge(&place, |bytes| {
        let at = strips(bytes)[2].clone();
        bytes[at.end - 1] ^= 1; // the last strip
    });
    let tar = format!("out/{SHARD}");
    for level in ["full", "decode"] {
        let run = place.pack(&format!("verify {tar} --level {level}")).exits(1);
        run.says("key 1: ").says("strips are not those of its bytes").says("--force");
    }
    place.pack(&format!("verify {tar} --level quick")).succeeds();
    forge(&place, |bytes| {
        let at = strips(bytes)[2].clone();
        bytes[at.end - 1] ^= 1;
        bytes[at.start + 2] ^= 7; // the rows of a strip
    });
    for level in ["quick", "full", "decode"] {
        place.pack(&format!("verify {tar} --level {level}")).exits(1).says("strips");
    }
    place.pack(&format!("index --entry-points --force {tar}")).succeeds();
    place.pack(&format!("verify {tar} --level decode")).succeeds();
}
