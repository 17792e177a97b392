//! Pictures whose coefficients come in several scans, progressive and sequential: libjpeg-turbo's
//! pixels for every script.

use std::ops::RangeInclusive;

use tarflume_fixtures::{PHOTOS, SplitMix64};
use tarflume_jpeg::{Color, ErrorKind, Header, Region, Scale};

use crate::harness::compare::Comparison;
use crate::harness::decoder::Ask;
use crate::harness::picture::{Motif, Picture};
use crate::harness::segments::segments;
use crate::harness::turbo::{Recipe, ScanOf, Scans, Space};

/// Sampling factors that libjpeg-turbo writes and reads, odd ones among them.
const SAMPLINGS: [[(u32, u32); 2]; 18] = [
    [(1, 1), (1, 1)],
    [(2, 1), (1, 1)],
    [(1, 2), (1, 1)],
    [(2, 2), (1, 1)],
    [(4, 1), (1, 1)],
    [(1, 4), (1, 1)],
    [(4, 2), (1, 1)],
    [(2, 4), (1, 1)],
    [(2, 2), (1, 2)],
    [(2, 2), (2, 1)],
    [(1, 2), (1, 2)],
    [(4, 1), (2, 1)],
    [(3, 1), (1, 1)],
    [(1, 3), (1, 1)],
    [(3, 2), (1, 1)],
    [(1, 1), (2, 1)],
    [(1, 1), (1, 2)],
    [(1, 2), (2, 1)],
];

/// Sizes at which MCUs of 8, 16 and 32 pixels begin, end and have neighbors.
const SIZES: [(usize, usize); 10] =
    [(1, 1), (2, 3), (8, 8), (9, 7), (16, 17), (33, 15), (31, 33), (47, 50), (64, 65), (70, 41)];

fn progressive() -> Recipe {
    Recipe { progressive: true, ..Recipe::default() }
}

/// All sizes and motifs by these recipes, at every scale.
fn all(recipes: &[Recipe], channels: usize) {
    let mut both = Comparison::new();
    for (n, recipe) in recipes.iter().enumerate() {
        for (i, (width, height)) in SIZES.into_iter().enumerate() {
            let motif = Motif::ALL[(n + i) % 4];
            let picture = Picture::new(width, height, channels, motif, 7);
            let jpeg = both.encode(&picture, recipe);
            let header = Header::parse(&jpeg).unwrap();
            assert!(header.has_several_scans() && header.unsupported().is_none(), "{recipe:?}");
            assert!(header.without_entry_points().is_some());
            both.scales(&jpeg, &(width, height, motif, recipe));
            assert_eq!(both.ours.points(&jpeg).unwrap(), b"", "nothing to enter by");
        }
    }
    both.verdict();
}

#[test]
fn samplings() {
    fn of([luma, chroma]: [(u32, u32); 2]) -> Recipe {
        Recipe { luma, chroma, ..progressive() }
    }
    all(&SAMPLINGS.map(of), 3);
}

#[test]
fn all_small_sizes() {
    let mut both = Comparison::new();
    for luma in [(1, 1), (2, 2), (2, 1), (1, 2), (4, 1)] {
        for (width, height) in (1..=33).map(|n| (n, 34 - n)).chain((1..=33).map(|n| (n, n))) {
            let recipe = Recipe { luma, ..progressive() };
            let jpeg = both.encode(&Picture::new(width, height, 3, Motif::Scene, 3), &recipe);
            both.scales(&jpeg, &(width, height, luma));
        }
    }
    both.verdict();
}

#[test]
fn scans_of_sequential_ones() {
    all(
        &SAMPLINGS
            .map(|[luma, chroma]: [(u32, u32); 2]| {
                [Scans::OneEach, Scans::LumaThenChroma].map(|scans| Recipe {
                    luma,
                    chroma,
                    scans,
                    restart: luma.0 + 1,
                    ..Recipe::default()
                })
            })
            .concat(),
        3,
    );
}

#[test]
fn qualities_and_tables() {
    let mut recipes = Vec::new();
    for quality in [1, 5, 25, 50, 75, 85, 92, 97, 100] {
        let recipe = Recipe { quality, luma: (2, 2), ..progressive() };
        recipes.push(Recipe { three_tables: true, ..recipe.clone() });
        recipes.push(Recipe { wide_tables: true, ..recipe });
    }
    all(&recipes, 3);
}

#[test]
fn restart_intervals() {
    let intervals = [1, 2, 3, 4, 5, 7, 9, 16, 1000];
    fn of(restart: u32) -> [Recipe; 3] {
        [(1, 1), (2, 2), (2, 1)].map(|luma| Recipe { restart, luma, ..progressive() })
    }
    all(&intervals.map(of).concat(), 3);
}

#[test]
fn color_spaces_and_gray() {
    let spaces = [Space::Jfif, Space::AdobeYcc, Space::Unsaid, Space::AdobeRgb, Space::NamedRgb];
    fn of(space: Space) -> [Recipe; 2] {
        [(1, 1), (2, 2)].map(|luma| Recipe { space, luma, ..progressive() })
    }
    all(&spaces.map(of).concat(), 3);
    all(
        &[(1, 1), (2, 2), (2, 1), (4, 4)]
            .map(|luma| [0, 3].map(|restart| Recipe { restart, luma, ..progressive() }))
            .concat(),
        1,
    );
}

/// Returns the scans that code a band: all but the `low` lowest bits, and then bit by bit.
fn chain(components: &[u8], band: RangeInclusive<u8>, low: u8) -> Vec<ScanOf> {
    let mut line = vec![ScanOf::new(components, band.clone(), 0, low)];
    line.extend((0..low).rev().map(|low| ScanOf::new(components, band.clone(), low + 1, low)));
    line
}

/// Returns a script that codes everything once, in a random order.
fn script(rng: &mut SplitMix64, components: u8) -> Vec<ScanOf> {
    let all: Vec<u8> = (0..components).collect();
    // Sequences of scans, each in its own order: the DC, and ranges of the AC of each component.
    let mut lines: Vec<Vec<ScanOf>> = Vec::new();
    let together = rng.below(2) == 0;
    let groups: Vec<Vec<u8>> =
        if together { vec![all] } else { all.iter().map(|&c| vec![c]).collect() };
    let mut first = Vec::new();
    for group in groups {
        let mut dc = chain(&group, 0..=0, rng.below(4) as u8);
        first.push(dc.remove(0));
        lines.push(dc);
    }
    for c in 0..components {
        let mut from = 1;
        while from < 64 {
            let most = [1, 5, 63][rng.below(3) as usize];
            let to = (from + rng.below(most) as u8).min(63);
            lines.push(chain(&[c], from..=to, rng.below(4) as u8));
            from = to + 1;
        }
    }
    let mut scans = first;
    while !lines.is_empty() {
        let n = rng.below(lines.len() as u32) as usize;
        if lines[n].is_empty() {
            drop(lines.swap_remove(n))
        } else {
            scans.push(lines[n].remove(0))
        }
    }
    scans
}

/// Number `n` of those drawn over all axes.
fn drawn(n: u64) -> (Picture, Recipe) {
    fn of(rng: &mut SplitMix64, count: u32) -> usize {
        rng.below(count) as usize
    }

    let mut rng = SplitMix64::nth(5, n);
    let channels = [1, 3, 3, 3][rng.below(4) as usize];
    let script = script(&mut rng, channels as u8);
    let sampling = SAMPLINGS[of(&mut rng, 18)];
    let recipe = Recipe {
        quality: [5, 50, 85, 97, 100][of(&mut rng, 5)],
        luma: sampling[0],
        chroma: sampling[1],
        restart: [0, 0, 0, 1, 2, 3, 6, 11][of(&mut rng, 8)],
        three_tables: of(&mut rng, 4) == 0,
        script,
        ..Recipe::default()
    };
    let motif = Motif::ALL[of(&mut rng, 4)];
    let width = 1 + of(&mut rng, 70);
    let height = 1 + of(&mut rng, 70);
    (Picture::new(width, height, channels, motif, n), recipe)
}

/// Whole and in part, at all scales and in both colors by turns.
fn draw(numbers: std::ops::Range<u64>) {
    let mut both = Comparison::new();
    for n in numbers {
        let (picture, recipe) = drawn(n);
        let jpeg = both.encode(&picture, &recipe);
        let color = if n % 4 == 0 { Color::Gray } else { Color::Rgb };
        let what = (n, picture.width, picture.height, recipe);
        both.whole(&jpeg, Scale::Full, color, &what);
        let scale = Scale::ALL[(n % 4) as usize];
        let right = both.right(&jpeg, scale, Color::Rgb);
        both.ask(&jpeg, Ask { scale, ..Ask::default() }, &right, &what);
        let mut rng = SplitMix64::nth(6, n);
        for _ in 0..3 {
            let left = rng.below(right.width as u32);
            let top = rng.below(right.height as u32);
            let width = rng.between(1, right.width as u32 - left);
            let height = rng.between(1, right.height as u32 - top);
            let region = Some(Region { left, top, width, height });
            both.ask(&jpeg, Ask { scale, region, ..Ask::default() }, &right, &what);
        }
        if let Err(error) = both.ours.points(&jpeg) {
            both.tell(format!("{what:?}: the scanner says {error}"));
        }
    }
    both.verdict();
}

#[test]
fn scripts_drawn_at_random_first_half() {
    draw(0..1000);
}

#[test]
fn scripts_drawn_at_random_second_half() {
    draw(1000..2000);
}

/// One coefficient per scan, 14 bits of it, from the last one on: more scans than any encoder
/// writes.
#[test]
fn the_longest_scripts() {
    let mut both = Comparison::new();
    let mut single: Vec<ScanOf> = vec![ScanOf::new(&[0, 1, 2], 0..=0, 0, 0)];
    for c in 0..3 {
        single.extend((1..64).rev().map(|k| ScanOf::new(&[c], k..=k, 0, 0)));
    }
    let mut deep = vec![ScanOf::new(&[0, 1, 2], 0..=0, 0, 10)];
    deep.extend((0..10).rev().map(|low| ScanOf::new(&[0, 1, 2], 0..=0, low + 1, low)));
    for c in 0..3 {
        deep.push(ScanOf::new(&[c], 1..=63, 0, 10));
        deep.extend((0..10).rev().map(|low| ScanOf::new(&[c], 1..=63, low + 1, low)));
    }
    for script in [single, deep] {
        for motif in Motif::ALL {
            let recipe = Recipe { script: script.clone(), quality: 98, ..Recipe::sampled(2, 2) };
            let jpeg = both.encode(&Picture::new(50, 40, 3, motif, 9), &recipe);
            both.scales(&jpeg, &(motif, script.len()));
        }
    }
    both.verdict();
}

/// Runs of ended blocks of every length: flat pictures with a few marks in them.
#[test]
fn long_runs_of_ended_blocks() {
    let mut both = Comparison::new();
    for (n, (width, height)) in [(520, 300), (1000, 90), (2000, 1300)].into_iter().enumerate() {
        for restart in [0, 1, 100, 5000] {
            let mut picture = Picture::new(width, height, 3, Motif::Flat, n as u64);
            let mut rng = SplitMix64::nth(9, n as u64);
            for _ in 0..10 {
                let at = rng.below(picture.bytes.len() as u32) as usize;
                picture.bytes[at] ^= 0x7f;
            }
            let recipe = Recipe { restart, ..progressive() };
            let jpeg = both.encode(&picture, &recipe);
            both.whole(&jpeg, Scale::Full, Color::Rgb, &(width, height, restart));
        }
    }
    both.verdict();
}

/// The fixtures' photographs, encoded again as progressive ones.
#[test]
fn photographs() {
    let mut both = Comparison::new();
    for photo in PHOTOS {
        let whole = both.right(photo.jpeg, Scale::Full, Color::Rgb);
        for recipe in [progressive(), Recipe { luma: (2, 2), restart: 50, ..progressive() }] {
            let jpeg = both.encode(&whole, &recipe);
            both.scales(&jpeg, &(photo.key, recipe.luma));
            let width = whole.width as u32;
            let height = whole.height as u32;
            let region =
                Region { left: width / 3, top: height / 4, width: width / 2, height: height / 3 };
            let ask = Ask { region: Some(region), ..Ask::default() };
            let right = both.right(&jpeg, Scale::Full, Color::Rgb);
            both.ask(&jpeg, ask, &right, &photo.key);
        }
    }
    both.verdict();
}

/// Returns the file without its last `count` scans.
fn without_last(jpeg: &[u8], count: usize) -> Vec<u8> {
    let scans: Vec<_> = segments(jpeg).into_iter().filter(|s| s.marker == 0xDA).collect();
    let at = scans[scans.len() - count].at - 4;
    [&jpeg[..at], b"\xFF\xD9"].concat()
}

#[test]
fn scans_that_are_missing_are_an_error_where_libjpeg_turbo_guesses() {
    let mut both = Comparison::new();
    let picture = Picture::new(60, 50, 3, Motif::Scene, 4);
    let jpeg = both.encode(&picture, &Recipe { luma: (2, 2), ..progressive() });
    let scans = segments(&jpeg).iter().filter(|s| s.marker == 0xDA).count();
    assert_eq!(scans, 10);
    for count in 1..scans {
        let cut = without_last(&jpeg, count);
        for error in [
            both.ours.decode(&cut, Ask::default()).unwrap_err(),
            both.ours.points(&cut).unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Damaged);
            assert_eq!(error.byte(), Some(cut.len() as u64 - 2), "{error}");
            assert!(error.text().contains("its last scans are missing"), "{error}");
        }
    }
}

/// T.81 allows it, and libjpeg-turbo takes the coefficients as zeros; here such a file is
/// indistinguishable from a truncated one.
#[test]
fn coefficients_that_no_scan_brings_are_missing() {
    let mut both = Comparison::new();
    for last in [1, 8, 20, 62] {
        let mut script = vec![ScanOf::new(&[0, 1, 2], 0..=0, 0, 0)];
        script.extend((0..3).map(|c| ScanOf::new(&[c], 1..=last, 0, 0)));
        let recipe = Recipe { script, ..Recipe::sampled(2, 1) };
        let jpeg = both.encode(&Picture::new(60, 50, 3, Motif::Noise, 4), &recipe);
        let error = both.ours.decode(&jpeg, Ask::default()).unwrap_err();
        let text = format!("coefficient {} of component 0", last + 1);
        assert!(error.text().contains(&text), "{error}");
    }
}

#[test]
fn a_small_scale_and_a_gray_picture_take_less_reading() {
    let mut both = Comparison::new();
    let picture = Picture::new(160, 160, 3, Motif::Noise, 4);
    let mut jpeg = both.encode(&picture, &Recipe { luma: (1, 1), ..progressive() });
    let right = both.right(&jpeg, Scale::Full, Color::Gray);
    // The last scan is of the AC of the first component, the one before of another's.
    let scans: Vec<usize> =
        segments(&jpeg).iter().filter(|s| s.marker == 0xDA).map(|s| s.at).collect();
    let of_color = scans[scans.len() - 2] + 20;
    jpeg[of_color..of_color + 40].fill(0xfe);
    both.ours.decode(&jpeg, Ask::default()).unwrap_err();
    both.ask(&jpeg, Ask { color: Color::Gray, ..Ask::default() }, &right, &"color is damaged");
    both.ours.decode(&jpeg, Ask { scale: Scale::Eighth, ..Ask::default() }).unwrap();
    both.verdict();
}
