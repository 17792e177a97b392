//! Entry points that are false, and bytes other than those that they were made from: decoding with
//! them gives the same as without, or the same error.

use crc_fast::{CrcAlgorithm, checksum};
use tarflume_fixtures::SplitMix64;
use tarflume_jpeg::{Header, Region, Report, Use};

use crate::harness::decoder::{Ask, TestDecoder};
use crate::harness::picture::{Motif, Picture};
use crate::harness::turbo::{Recipe, Turbo};

/// The position of a blob's own checksum (FORMAT.md).
const SUM: std::ops::Range<usize> = 16..20;

/// A JPEG with one or several positions per row, its entry points, and the request.
struct Case {
    jpeg: Vec<u8>,
    points: Vec<u8>,
    regions: [Option<Region>; 3],
}

fn cases() -> Vec<Case> {
    let mut turbo = Turbo::new();
    let mut ours = TestDecoder::default();
    let recipes = [
        (150, 70, 3, Recipe::sampled(2, 2)),
        (500, 24, 3, Recipe { restart: 7, ..Recipe::default() }),
        (420, 33, 1, Recipe { optimized: true, ..Recipe::default() }),
        (61, 90, 3, Recipe { restart: 1, ..Recipe::sampled(2, 1) }),
    ];
    recipes
        .into_iter()
        .map(|(width, height, channels, recipe)| {
            let picture = Picture::new(width, height, channels, Motif::Scene, 5);
            let jpeg = turbo.encode(&picture, &recipe);
            let points = ours.points(&jpeg).unwrap();
            let width = width as u32;
            let height = height as u32;
            let corner = Region { left: width - 9, top: height - 9, width: 9, height: 9 };
            let middle = Region { left: width / 2, top: height / 2, width: 12, height: 6 };
            Case { jpeg, points, regions: [None, Some(corner), Some(middle)] }
        })
        .collect()
}

/// Returns the decoder's result; the pixels, or the error without its place, because lanes fail in
/// any order.
fn outcome(ours: &mut TestDecoder, jpeg: &[u8], ask: Ask<'_>) -> Result<(Picture, Report), String> {
    ours.report(jpeg, ask).map_err(|error| format!("{:?}", error.kind()))
}

/// Checks that `points` change nothing; returns how they were used.
fn same(
    ours: &mut TestDecoder,
    jpeg: &[u8],
    region: Option<Region>,
    points: &[u8],
    what: &str,
) -> Use {
    let without = outcome(ours, jpeg, Ask { region, ..Ask::default() });
    let with = outcome(ours, jpeg, Ask { region, points: Some(points), ..Ask::default() });
    match (with, without) {
        (Ok((with, report)), Ok((without, _))) => {
            assert_eq!(with.difference(&without), None, "{what}, {region:?}");
            report.entry_points
        }
        (with, without) => {
            assert_eq!(with.map(|_| ()), without.map(|_| ()), "{what}, {region:?}");
            Use::Refused
        }
    }
}

/// Returns the blob with a matching checksum.
fn sealed(mut points: Vec<u8>) -> Vec<u8> {
    points[SUM].fill(0);
    let sum = checksum(CrcAlgorithm::Crc32Iscsi, &points) as u32;
    points[SUM].copy_from_slice(&sum.to_le_bytes());
    points
}

#[test]
fn the_seal_is_that_of_the_format() {
    for case in cases() {
        assert_eq!(sealed(case.points.clone()), case.points);
    }
}

#[test]
fn any_byte_may_be_false() {
    let mut ours = TestDecoder::default();
    for (n, case) in cases().iter().enumerate() {
        for at in (0..case.points.len()).filter(|at| !SUM.contains(at)) {
            for change in [1, 2, 0x10, 0x80, 0xff] {
                let mut points = case.points.clone();
                points[at] ^= change;
                let what = format!("byte {at} of case {n} changed by {change:#x}");
                let claims = sealed(points);
                for region in case.regions {
                    same(&mut ours, &case.jpeg, region, &claims, &what);
                }
            }
        }
    }
}

/// Returns the blob with another `bit` in the place of number `n`, as specified in FORMAT.md.
fn with_another_bit(points: &[u8], n: usize) -> Vec<u8> {
    let widths: Vec<usize> = points[38..42].iter().map(|&width| width.into()).collect();
    let at = n * (widths.iter().sum::<usize>() + 3) + widths[0];
    let mut changed = points.to_vec();
    changed[42 + at / 8] ^= 1 << (at % 8);
    sealed(changed)
}

#[test]
fn the_first_row_and_one_in_32_after_it_end_at_a_place_where_they_are_verified() {
    let mut turbo = Turbo::new();
    let mut ours = TestDecoder::default();
    let picture = Picture::new(640, 480, 3, Motif::Scene, 6);
    let jpeg = turbo.encode(&picture, &Recipe::sampled(1, 1));
    let points = ours.points(&jpeg).unwrap();
    assert_eq!((points[4], points[6]), (5, 16), "five places a row, one for every 16 MCUs");
    // MCUs 12 to 19 of the rows 25 to 58: from place 0 to the crop's end, or to place 2.
    let region = Some(Region { left: 100, top: 200, width: 60, height: 272 });
    let without = ours.decode(&jpeg, Ask { region, ..Ask::default() }).unwrap();
    let mut used = |points: &[u8]| {
        let ask = Ask { region, points: Some(points), ..Ask::default() };
        let (found, report) = ours.report(&jpeg, ask).unwrap();
        assert_eq!(found.difference(&without), None);
        report
    };
    let report = used(&points);
    assert_eq!(report.entry_points, Use::Used);
    assert_eq!(report.decoded, (2 * 32 + 32 * 20) * 3);
    for row in 25..59 {
        let verified = matches!(row, 25 | 57);
        let expected = if verified { Use::Refused } else { Use::Used };
        let false_place = with_another_bit(&points, row * 5 + 2);
        assert_eq!(used(&false_place).entry_points, expected, "row {row}");
    }
    // Where a crop ends at a place, or a row of the picture ends, each row is verified.
    for (region, place) in [
        (Region { left: 100, top: 200, width: 156, height: 80 }, 2),
        (Region { left: 600, top: 200, width: 40, height: 80 }, 5),
    ] {
        for row in 25..35 {
            let false_place = with_another_bit(&points, row * 5 + place);
            let used = same(&mut ours, &jpeg, Some(region), &false_place, "at a place");
            assert_eq!(used, Use::Refused, "row {row}");
        }
    }
}

#[test]
fn many_bytes_may_be_false() {
    let mut ours = TestDecoder::default();
    for (n, case) in cases().iter().enumerate() {
        for number in 0..1200 {
            let mut rng = SplitMix64::nth(n as u64, number);
            let mut points = case.points.clone();
            for _ in 0..rng.between(2, 12) {
                let at = rng.below(points.len() as u32) as usize;
                points[at] = [rng.next_u64() as u8, 0, 0xff, 32][rng.below(4) as usize];
            }
            let what = format!("case {n}, number {number}");
            let claims = sealed(points);
            same(&mut ours, &case.jpeg, None, &claims, &what);
            // A part is not verified from the picture's start: any result is accepted.
            let ask = Ask { region: case.regions[1], points: Some(&claims), ..Ask::default() };
            ours.decode(&case.jpeg, ask).unwrap();
        }
    }
}

#[test]
fn bytes_that_changed_since_have_none() {
    let mut ours = TestDecoder::default();
    for (n, case) in cases().iter().enumerate() {
        for number in 0..1000 {
            let mut rng = SplitMix64::nth(100 + n as u64, number);
            let mut jpeg = case.jpeg.clone();
            let at = rng.below(jpeg.len() as u32) as usize;
            jpeg[at] ^= 1 << rng.below(8);
            if Header::parse(&jpeg).is_ok_and(|h| h.width() > 2000 || h.height() > 2000) {
                continue;
            }
            for region in [None, case.regions[1]] {
                let used = same(&mut ours, &jpeg, region, &case.points, &format!("{n}: byte {at}"));
                assert_ne!(used, Use::Used, "{n}: byte {at}");
            }
        }
    }
}

#[test]
fn entry_points_of_any_other_jpeg_are_refused() {
    let mut ours = TestDecoder::default();
    let cases = cases();
    for (n, case) in cases.iter().enumerate() {
        for (m, other) in cases.iter().enumerate().filter(|(m, _)| *m != n) {
            for region in case.regions {
                let what = format!("{m}'s for {n}");
                let used = same(&mut ours, &case.jpeg, region, &other.points, &what);
                assert_eq!(used, Use::Refused, "{what}");
            }
        }
    }
}
