//! Damaged JPEGs: cut at every byte, bits flipped at a hundred thousand positions. The result is
//! never a panic: it is an error that names a byte of the file, or libjpeg-turbo's picture.

use tarflume_fixtures::SplitMix64;
use tarflume_jpeg::{Color, Damage, Error, ErrorKind, Scale, Use};

use crate::harness::compare::right;
use crate::harness::decoder::{Ask, TestDecoder};
use crate::harness::picture::{Motif, Picture};
use crate::harness::segments::segments;
use crate::harness::turbo::{Recipe, Scans, Space, Turbo};

/// Number of bits of a kind of picture: a hundred thousand in all.
const LEAST: usize = 10_000;
/// Scrambled files of each kind.
const SCRAMBLED: u64 = 5_000;
/// Limit on the reported findings.
const TOLD: usize = 8;

/// Small pictures of all kinds: every byte of them matters.
pub(crate) fn kinds() -> Vec<Vec<u8>> {
    let mut turbo = Turbo::new();
    let sampled = Recipe::sampled;
    fn plain(restart: u32) -> Recipe {
        Recipe { restart, ..Recipe::default() }
    }
    fn optimized(recipe: Recipe) -> Recipe {
        Recipe { optimized: true, ..recipe }
    }
    let recipes = [
        (40, 27, 3, plain(0)),
        (40, 33, 3, sampled(2, 2)),
        (73, 33, 3, optimized(sampled(2, 1))),
        (25, 45, 3, Recipe { restart: 1, ..sampled(1, 2) }),
        (100, 19, 3, Recipe { restart: 3, ..sampled(4, 1) }),
        (57, 43, 1, Recipe { quality: 93, ..plain(0) }),
        (75, 67, 1, optimized(plain(5))),
        (34, 18, 3, Recipe { space: Space::AdobeRgb, quality: 95, ..plain(2) }),
        (70, 59, 3, Recipe { restart: 300, quality: 70, ..optimized(sampled(2, 2)) }),
        (64, 56, 3, Recipe { progressive: true, ..sampled(2, 2) }),
        (70, 50, 3, Recipe { scans: Scans::OneEach, ..sampled(2, 1) }),
        (40, 20, 4, plain(3)),
        (40, 34, 3, Recipe { progressive: true, restart: 2, quality: 95, ..plain(0) }),
        (43, 30, 4, Recipe { ycck: true, progressive: true, ..sampled(2, 2) }),
    ];
    let jpegs = recipes.into_iter().zip(1..).map(|((width, height, channels, recipe), seed)| {
        turbo.encode(&Picture::new(width, height, channels, Motif::Scene, seed), &recipe)
    });
    jpegs.collect()
}

/// Damage is reported with its place, and no other error occurs.
fn assert_told(error: &Error, jpeg: &[u8], what: &str) {
    let byte = error.byte();
    match error.kind() {
        ErrorKind::Damaged => {
            assert!(byte.is_some_and(|byte| byte <= jpeg.len() as u64), "{what}: {error:?}");
        }
        ErrorKind::Unsupported => {}
        kind => panic!("{what}: {kind:?} is no word for damage: {error}"),
    }
}

#[test]
fn every_cut_that_loses_pixels_is_noticed() {
    let mut ours = TestDecoder::default();
    for (kind, jpeg) in kinds().iter().enumerate() {
        for length in 0..jpeg.len() {
            let cut = &jpeg[..length];
            let what = format!("kind {kind} cut at {length}");
            if length + 2 >= jpeg.len() {
                // Only the end-of-image marker lacks.
                let (picture, report) = ours.report(cut, Ask::default()).unwrap();
                let whole = ours.decode(jpeg, Ask::default()).unwrap();
                assert_eq!((picture.difference(&whole), report.damage), (None, Damage::Harmless));
                assert_eq!(ours.points(cut).unwrap(), b"", "{what}");
                continue;
            }
            for scale in [Scale::Full, Scale::Eighth] {
                let error = ours.decode(cut, Ask { scale, ..Ask::default() }).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Damaged, "{what}: {error}");
                assert_told(&error, cut, &what);
            }
            assert_told(&ours.points(cut).unwrap_err(), cut, &what);
        }
    }
}

/// Decodes one changed JPEG; returns what is wrong with the result, if anything.
fn wrong(ours: &mut TestDecoder, turbo: &mut Turbo, jpeg: &[u8], what: &str) -> Option<String> {
    let blob = ours.points(jpeg);
    let decoded = ours.decode(jpeg, Ask::default());
    if let Err(error) = &blob {
        assert_told(error, jpeg, what);
    }
    let picture = match (decoded, &blob) {
        (Ok(picture), _) => picture,
        (Err(error), Err(_)) => {
            assert_told(&error, jpeg, what);
            return None;
        }
        (Err(error), Ok(_)) => return Some(format!("scanned, not decoded: {error}")),
    };
    if let Ok(blob) = &blob {
        let (same, report) = ours
            .report(
                jpeg,
                Ask { points: Some(&blob[..]).filter(|b| !b.is_empty()), ..Ask::default() },
            )
            .unwrap();
        // Pictures of four components and of several scans have no entry points, nor irregular ones.
        let used = if blob.is_empty() { Use::Absent } else { Use::Used };
        assert_eq!((same.difference(&picture), report.entry_points), (None, used), "{what}");
    }
    match right(turbo, jpeg, Scale::Full, Color::Rgb) {
        Err(text) => Some(format!("libjpeg-turbo says {text}")),
        Ok(right) => {
            let difference = picture.difference(&right.picture)?;
            Some(format!("{difference}; warning {:?}", right.warning))
        }
    }
}

/// Changed versions of one JPEG, and the findings.
struct Changes {
    ours: TestDecoder,
    turbo: Turbo,
    jpeg: Vec<u8>,
    tried: usize,
    found: Vec<String>,
}

impl Changes {
    fn of(kind: usize) -> Changes {
        let jpeg = kinds().swap_remove(kind);
        Changes {
            ours: TestDecoder::default(),
            turbo: Turbo::new(),
            jpeg,
            tried: 0,
            found: Vec::new(),
        }
    }

    fn try_one(&mut self, changed: &[u8], what: &str) {
        self.tried += 1;
        let why = wrong(&mut self.ours, &mut self.turbo, changed, what);
        self.found.extend(why.map(|why| format!("{what}: {why}")));
    }

    fn verdict(self) {
        let told = self.found[..self.found.len().min(TOLD)].join("\n");
        assert!(self.found.is_empty(), "{} of {}:\n{told}", self.found.len(), self.tried);
    }
}

/// Every bit of the file but those of its first two bytes, one at a time.
fn bits(kind: usize) {
    let mut changes = Changes::of(kind);
    let mut jpeg = changes.jpeg.clone();
    for at in 2..jpeg.len() {
        for bit in 0..8 {
            jpeg[at] ^= 1 << bit;
            changes.try_one(&jpeg, &format!("bit {bit} of byte {at} of kind {kind}"));
            jpeg[at] ^= 1 << bit;
        }
    }
    assert!(changes.tried >= LEAST, "{} are too few", changes.tried);
    changes.verdict();
}

/// Several bytes at once: overwritten with confusing values, left out, doubled, or moved.
fn bytes(kind: usize) {
    const TELLING: [u8; 12] = [0, 1, 0x7f, 0x80, 0xfe, 0xff, 0xd0, 0xd1, 0xd7, 0xd9, 0xda, 0x11];
    let mut changes = Changes::of(kind);
    for number in 0..SCRAMBLED {
        let mut rng = SplitMix64::nth(kind as u64, number);
        let mut jpeg = changes.jpeg.clone();
        for _ in 0..rng.between(1, 4) {
            let at = 2 + rng.below(jpeg.len() as u32 - 2) as usize;
            let length = (1 + rng.below(3) as usize).min(jpeg.len() - at);
            match rng.below(6) {
                0 => drop(jpeg.drain(at..at + length)),
                1 => drop(jpeg.splice(at..at, jpeg[at..at + length].to_vec())),
                2 => jpeg[at..].rotate_left(length),
                3 => jpeg[at] = rng.next_u64() as u8,
                _ => jpeg[at] = TELLING[rng.below(TELLING.len() as u32) as usize],
            }
        }
        changes.try_one(&jpeg, &format!("scrambled kind {kind} number {number}"));
    }
    changes.verdict();
}

/// Markers, halves of them and stuffed bytes, inserted at every byte of the entropy-coded data.
fn markers(kind: usize) {
    let mut changes = Changes::of(kind);
    let original = changes.jpeg.clone();
    let scan = segments(&original).into_iter().find(|s| s.marker == 0xda).unwrap();
    for at in scan.at + scan.body.len()..original.len() {
        for marker in [0xd0, 0xd1, 0xd2, 0xd7, 0xd9, 0xdb, 0xff, 0] {
            let (before, behind) = original.split_at(at);
            let jpeg = [before, &[0xff, marker], behind].concat();
            changes.try_one(&jpeg, &format!("ff{marker:02x} in kind {kind} at {at}"));
            let jpeg = [before, &[0xff, marker], &behind[2.min(behind.len())..]].concat();
            changes.try_one(&jpeg, &format!("ff{marker:02x} over kind {kind} at {at}"));
        }
    }
    changes.verdict();
}

/// Makes a module for each kind of [`kinds`], with these tests: their names, and the functions that
/// get the number of the kind.
macro_rules! kind_tests {
    ($($test:ident $run:ident),* $(,)?) => {
        $crate::broken::damage::kind_tests!(
            { $($test $run),* }
            ycc_444 0, ycc_420 1, ycc_422 2, ycc_440_with_restarts 3, ycc_411_with_restarts 4, gray 5,
            gray_with_restarts 6, rgb_with_restarts 7, ycc_420_with_a_useless_interval 8, progressive 9,
            a_scan_for_each_component 10, cmyk 11,
            progressive_with_restarts 12, progressive_ycck 13,
        );
    };
    ($tests:tt $($name:ident $kind:literal),* $(,)?) => {$(
        mod $name {
            $crate::broken::damage::kind_tests!($kind $tests);
        }
    )*};
    ($kind:literal { $($test:ident $run:ident),* }) => {$(
        #[test]
        fn $test() {
            super::$run($kind);
        }
    )*};
}
pub(crate) use kind_tests;

kind_tests!(
    every_bit_is_turned bits,
    bytes_are_scrambled bytes,
    markers_may_be_anywhere markers,
);
