//! JPEGs of every kind that is decoded: one axis after the other, then drawn at random over all
//! axes and sizes, so that each pair of choices occurs many times.

use tarflume_fixtures::SplitMix64;
use tarflume_jpeg::{Color, Header, Scale};

use crate::harness::compare::Comparison;
use crate::harness::picture::{Motif, Picture};
use crate::harness::turbo::{Recipe, Space};

/// Sampling factors of the first and of the other components that libjpeg-turbo writes and reads,
/// with at most ten blocks to an MCU.
const SAMPLINGS: [[(u32, u32); 2]; 16] = [
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
    [(2, 1), (2, 1)],
    [(4, 1), (2, 1)],
    [(1, 4), (1, 2)],
    [(2, 4), (1, 1)],
    [(4, 1), (1, 1)],
];

const QUALITIES: [u32; 9] = [1, 5, 25, 50, 75, 85, 92, 97, 100];

/// Sizes at which MCUs of 8, 16 and 32 pixels begin, end and have neighbors.
const SIZES: [(usize, usize); 10] =
    [(1, 1), (2, 3), (8, 8), (9, 7), (16, 17), (33, 15), (31, 33), (47, 50), (64, 65), (70, 41)];

/// All sizes and motifs by these recipes, at every scale.
fn all(recipes: &[Recipe], channels: usize) {
    let mut both = Comparison::new();
    for (n, recipe) in recipes.iter().enumerate() {
        for (i, (width, height)) in SIZES.into_iter().enumerate() {
            let motif = Motif::ALL[(n + i) % 4];
            let picture = Picture::new(width, height, channels, motif, 7);
            let jpeg = both.encode(&picture, recipe);
            let header = Header::parse(&jpeg).unwrap();
            assert_eq!(header.without_entry_points(), None, "{recipe:?}");
            both.scales(&jpeg, &(width, height, motif, recipe));
        }
    }
    both.verdict();
}

#[test]
fn samplings() {
    fn of([luma, chroma]: [(u32, u32); 2]) -> Recipe {
        Recipe { luma, chroma, ..Recipe::default() }
    }
    all(&SAMPLINGS.map(of), 3);
}

#[test]
fn qualities_and_tables() {
    let mut recipes = Vec::new();
    for quality in QUALITIES {
        let recipe = Recipe { quality, ..Recipe::sampled(2, 2) };
        recipes.push(Recipe { optimized: true, ..recipe.clone() });
        recipes.push(Recipe { three_tables: true, ..recipe.clone() });
        recipes.push(Recipe { wide_tables: true, ..recipe });
    }
    all(&recipes, 3);
}

#[test]
fn restart_intervals() {
    let intervals = [1, 2, 3, 4, 5, 7, 9, 16, 1000];
    fn of(restart: u32) -> [Recipe; 3] {
        [(1, 1), (2, 2), (2, 1)].map(|luma| Recipe { restart, luma, ..Recipe::default() })
    }
    all(&intervals.map(of).concat(), 3);
}

#[test]
fn color_spaces() {
    let spaces = [Space::Jfif, Space::AdobeYcc, Space::Unsaid, Space::AdobeRgb, Space::NamedRgb];
    fn of(space: Space) -> [Recipe; 2] {
        [(1, 1), (2, 2)].map(|luma| Recipe { space, quality: 95, luma, ..Recipe::default() })
    }
    all(&spaces.map(of).concat(), 3);
}

#[test]
fn gray_with_any_factors() {
    all(
        &[(1, 1), (2, 2), (2, 1), (4, 4)]
            .map(|luma| [0, 3].map(|restart| Recipe { restart, luma, ..Recipe::default() }))
            .concat(),
        1,
    );
}

#[test]
fn orientation_is_reported_and_not_applied_and_trailing_bytes_are_ignored() {
    let mut both = Comparison::new();
    for orientation in 1..=8 {
        let picture = Picture::new(37, 21, 3, Motif::Scene, orientation.into());
        let recipe = Recipe::sampled(2, 2).with_orientation(orientation);
        let mut jpeg = both.encode(&picture, &recipe);
        assert_eq!(Header::parse(&jpeg).unwrap().orientation(), Some(orientation));
        both.scales(&jpeg, &orientation);
        for trail in [&b"\0"[..], b"garbage", b"\xFF", b"\xFF\xD9", b"\xFF\xD8\xFF\xE0"] {
            let end = jpeg.len();
            jpeg.extend_from_slice(trail);
            both.scales(&jpeg, &(orientation, trail));
            jpeg.truncate(end);
        }
    }
    both.verdict();
}

/// A recipe, a size and a motif: number `n` of those drawn from all.
fn drawn(n: u64) -> (Picture, Recipe) {
    fn of(rng: &mut SplitMix64, count: u32) -> usize {
        rng.below(count) as usize
    }

    let mut rng = SplitMix64::nth(4, n);
    let sampling = SAMPLINGS[of(&mut rng, 16)];
    let channels = if of(&mut rng, 8) == 0 { 1 } else { 3 };
    let recipe = Recipe {
        quality: QUALITIES[of(&mut rng, 9)],
        luma: sampling[0],
        chroma: sampling[1],
        restart: [0, 0, 0, 1, 2, 3, 6, 11][of(&mut rng, 8)],
        space: match of(&mut rng, 5) {
            0 => Space::AdobeYcc,
            1 => Space::Unsaid,
            2 if channels == 3 => Space::AdobeRgb,
            _ => Space::Jfif,
        },
        optimized: of(&mut rng, 2) == 0,
        three_tables: of(&mut rng, 4) == 0,
        wide_tables: of(&mut rng, 6) == 0,
        ..Recipe::default()
    };
    let motif = Motif::ALL[of(&mut rng, 4)];
    let width = 1 + of(&mut rng, 70);
    let height = 1 + of(&mut rng, 70);
    (Picture::new(width, height, channels, motif, n), recipe)
}

/// Some thousand of them, each at two scales and in one of both colors.
fn draw(numbers: std::ops::Range<u64>) {
    let mut both = Comparison::new();
    for n in numbers {
        let (picture, recipe) = drawn(n);
        let jpeg = both.encode(&picture, &recipe);
        let color = if n % 4 == 0 { Color::Gray } else { Color::Rgb };
        let what = (n, picture.width, picture.height, recipe);
        both.whole(&jpeg, Scale::Full, color, &what);
        both.whole(&jpeg, Scale::ALL[(n % 4) as usize], Color::Rgb, &what);
    }
    both.verdict();
}

#[test]
fn drawn_at_random_first_third() {
    draw(0..3000);
}

#[test]
fn drawn_at_random_second_third() {
    draw(3000..6000);
}

#[test]
fn drawn_at_random_last_third() {
    draw(6000..9000);
}
