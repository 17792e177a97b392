//! Damaged JPEGs: cut at every byte, bits turned at a hundred thousand places. Never a panic; an error
//! that names a byte of the file, or what libjpeg-turbo shows too.

use tarflume_fixtures::SplitMix64;
use tarflume_jpeg::{Error, ErrorKind, Header, Scale, Use};

use crate::ours::{Ask, Ours};
use crate::picture::{Motif, Picture};
use crate::segments::segments;
use crate::turbo::{Colour, Recipe, Space, Turbo};

/// Bits that are turned of each kind of picture, one a time.
const TURNED: u64 = 10_000;
/// Findings that are told at most.
const TOLD: usize = 4000;

/// Small pictures of all kinds: every byte of them matters.
fn kinds() -> Vec<Vec<u8>> {
    let mut turbo = Turbo::new();
    let sampled = Recipe::sampled;
    let plain = |restart| Recipe { restart, ..Recipe::default() };
    let optimised = |recipe| Recipe { optimised: true, ..recipe };
    let recipes = [
        (24, 17, 3, plain(0)),
        (40, 33, 3, sampled((2, 2))),
        (33, 9, 3, optimised(sampled((2, 1)))),
        (17, 31, 3, Recipe { restart: 1, ..sampled((1, 2)) }),
        (70, 12, 3, Recipe { restart: 3, ..sampled((4, 1)) }),
        (25, 19, 1, plain(0)),
        (41, 28, 1, optimised(plain(5))),
        (30, 18, 3, Recipe { space: Space::AdobeRgb, quality: 95, ..plain(2) }),
        (35, 40, 3, Recipe { restart: 300, quality: 30, ..optimised(sampled((2, 2))) }),
        (24, 16, 3, Recipe { progressive: true, ..sampled((2, 2)) }),
    ];
    let jpegs = recipes.into_iter().zip(1..).map(|((width, height, channels, recipe), seed)| {
        turbo.encode(&Picture::new(width, height, channels, Motif::Scene, seed), &recipe)
    });
    jpegs.collect()
}

/// Damage is told with its place, and nothing else is told of damage.
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
fn every_cut_is_noticed() {
    let mut ours = Ours::default();
    for (kind, jpeg) in kinds().iter().enumerate() {
        for length in 0..jpeg.len() {
            let (cut, what) = (&jpeg[..length], format!("kind {kind} cut at {length}"));
            for scale in [Scale::Full, Scale::Eighth] {
                let error = ours.decode(cut, Ask { scale, ..Ask::default() }).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Damaged, "{what}: {error}");
                assert_told(&error, cut, &what);
            }
            assert_told(&ours.points(cut).unwrap_err(), cut, &what);
        }
    }
}

/// What stands where, so that half of what is turned is in the header.
fn place(rng: &mut SplitMix64, jpeg: &[u8], data: usize) -> (usize, u8) {
    let range = if rng.below(2) == 0 { 2..data } else { data..jpeg.len() };
    let byte = range.start + rng.below(range.len() as u32) as usize;
    (byte, 1 << rng.below(8))
}

/// One changed JPEG; what is wrong with what is made of it, if anything is.
fn wrong(ours: &mut Ours, turbo: &mut Turbo, jpeg: &[u8], what: &str) -> Option<String> {
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
        let (same, report) =
            ours.report(jpeg, Ask { points: Some(blob), ..Ask::default() }).unwrap();
        assert_eq!((same.difference(&picture), report.entry_points), (None, Use::Used), "{what}");
    }
    if Header::parse(jpeg).unwrap().foreign().is_some() {
        return None; // another library's pixels
    }
    match turbo.decode(jpeg, 1, Colour::Rgb) {
        Err(text) => Some(format!("libjpeg-turbo says {text}")),
        Ok(right) => {
            let difference = picture.difference(&right.picture)?;
            Some(format!("{difference}; warning {:?}", right.warning))
        }
    }
}

fn turned(kind: usize) {
    let (mut ours, mut turbo) = (Ours::default(), Turbo::new());
    let jpeg = &kinds()[kind];
    let scan = segments(jpeg).into_iter().find(|s| s.marker == 0xda).unwrap();
    let data = scan.at + scan.body.len();
    let mut found = Vec::new();
    for number in 0..TURNED {
        let mut rng = SplitMix64::nth(kind as u64, number);
        let (byte, bit) = place(&mut rng, jpeg, data);
        let mut changed = jpeg.clone();
        changed[byte] ^= bit;
        let what = format!("kind {kind}, bit {bit:#x} of byte {byte} (data from {data})");
        found.extend(wrong(&mut ours, &mut turbo, &changed, &what).map(|why| what + ": " + &why));
    }
    found.sort();
    found.dedup();
    let told = found[..found.len().min(TOLD)].join("\n");
    assert!(found.is_empty(), "{} of {TURNED}:\n{told}", found.len());
}

macro_rules! turned {
    ($($name:ident $kind:literal),* $(,)?) => {$(
        #[test]
        fn $name() {
            turned($kind);
        }
    )*};
}

turned!(
    bits_of_444 0, bits_of_420 1, bits_of_422 2, bits_of_440_with_restarts 3,
    bits_of_411_with_restarts 4, bits_of_grey 5, bits_of_grey_with_restarts 6,
    bits_of_rgb_with_restarts 7, bits_of_420_with_a_useless_interval 8, bits_of_progressive 9,
);
