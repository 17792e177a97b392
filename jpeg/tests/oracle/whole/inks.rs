//! Four components: libjpeg-turbo's inks, and Pillow's colors for them.

use tarflume_jpeg::{Color, Header, Region, Scale};

use crate::harness::compare::Comparison;
use crate::harness::decoder::Ask;
use crate::harness::picture::{Motif, Picture};
use crate::harness::segments::Pieces;
use crate::harness::turbo::{Recipe, ScanOf, Scans, Space};

/// Pillow 13's `Image.open(jpeg).convert("RGB")` and `convert("L")` for libjpeg-turbo's inks: it
/// takes them as stored inverted (`CMYK;I`) whatever the file declares; then `cmyk2rgb`, with
/// `MULDIV255` as `(t + (t >> 8)) >> 8`, and `rgb2l`, of libImaging/Convert.c.
pub(crate) fn from_inks(inks: &Picture, color: Color) -> Picture {
    assert_eq!(inks.channels, 4);
    fn rgb(ink: &[u8; 4]) -> [u8; 3] {
        let [cyan, magenta, yellow, black] = ink.map(|stored| 255 - i32::from(stored));
        let light = 255 - black;
        [cyan, magenta, yellow].map(|ink| {
            let t = ink * light + 128;
            (light - ((t + (t >> 8)) >> 8)).clamp(0, 255) as u8
        })
    }
    let pixels = inks.bytes.as_chunks::<4>().0.iter().map(rgb);
    let (channels, bytes) = match color {
        Color::Rgb => (3, pixels.flatten().collect()),
        Color::Gray => {
            fn luma([r, g, b]: [u8; 3]) -> u8 {
                let [r, g, b] = [r, g, b].map(u32::from);
                ((r * 19595 + g * 38470 + b * 7471 + 0x8000) >> 16) as u8
            }
            (1, pixels.map(luma).collect())
        }
    };
    Picture { width: inks.width, height: inks.height, channels, bytes }
}

/// Results of Pillow 13.0.0 for these inks, as a JPEG stores them: `Image.frombytes("CMYK", (1, 1),
/// bytes(255 - i for i in inks)).convert("RGB")`, and `convert("L")` of that.
const PILLOW: &[([u8; 4], [u8; 3], u8)] = &[
    ([0, 0, 0, 0], [0, 0, 0], 0),
    ([255, 255, 255, 255], [255, 255, 255], 255),
    ([255, 255, 255, 0], [0, 0, 0], 0),
    ([0, 0, 0, 255], [0, 0, 0], 0),
    ([128, 64, 200, 100], [50, 25, 78], 39),
    ([1, 2, 3, 4], [0, 0, 0], 0),
    ([254, 253, 252, 251], [250, 249, 248], 249),
    ([255, 0, 128, 127], [127, 0, 64], 45),
    ([68, 32, 130, 60], [16, 8, 31], 13),
    ([253, 230, 241, 194], [192, 175, 183], 181),
    ([107, 48, 249, 14], [6, 3, 14], 5),
    ([199, 221, 1, 228], [178, 198, 1], 170),
    ([136, 117, 52, 162], [86, 74, 33], 73),
    ([15, 11, 13, 4], [0, 0, 0], 0),
    ([195, 110, 216, 14], [11, 6, 12], 8),
    ([113, 224, 253, 119], [53, 105, 118], 91),
    ([176, 118, 112, 235], [162, 109, 103], 124),
    ([148, 11, 213, 51], [30, 2, 43], 15),
    ([95, 151, 61, 170], [63, 101, 41], 83),
    ([216, 97, 155, 145], [123, 55, 88], 79),
    ([255, 201, 17, 245], [245, 193, 16], 188),
    ([124, 206, 212, 88], [43, 71, 73], 63),
    ([187, 191, 44, 224], [164, 168, 39], 152),
    ([55, 83, 201, 189], [41, 62, 149], 66),
    ([250, 15, 240, 22], [22, 1, 21], 10),
    ([157, 201, 87, 86], [53, 68, 29], 59),
    ([116, 6, 102, 118], [54, 3, 47], 23),
    ([207, 176, 180, 235], [191, 162, 166], 171),
    ([137, 2, 196, 66], [35, 1, 51], 17),
    ([105, 218, 28, 246], [101, 210, 27], 157),
    ([186, 102, 211, 248], [181, 99, 205], 136),
    ([182, 212, 177, 0], [0, 0, 0], 0),
];

#[test]
fn colors_are_those_that_pillow_printed() {
    for &(inks, rgb, gray) in PILLOW {
        let one = Picture { width: 1, height: 1, channels: 4, bytes: inks.to_vec() };
        assert_eq!(from_inks(&one, Color::Rgb).bytes, rgb, "{inks:?}");
        assert_eq!(from_inks(&one, Color::Gray).bytes, [gray], "{inks:?}");
    }
    assert!(PILLOW.len() > 20);
}

fn recipes() -> Vec<Recipe> {
    let mut all = Vec::new();
    for (luma, chroma) in [((1, 1), (1, 1)), ((2, 2), (1, 1)), ((2, 1), (1, 1)), ((1, 2), (1, 1))] {
        for (ycck, progressive) in [(false, false), (true, false), (false, true), (true, true)] {
            for black_as_luma in [false, true] {
                let recipe =
                    Recipe { luma, chroma, ycck, progressive, black_as_luma, ..Recipe::default() };
                all.push(Recipe { restart: 3, ..recipe.clone() });
                // Without an Adobe segment: inks, whatever they are.
                all.push(Recipe { space: Space::Unsaid, ..recipe });
            }
        }
    }
    all
}

#[test]
fn every_kind_at_every_scale() {
    let mut both = Comparison::new();
    for (n, recipe) in recipes().iter().enumerate() {
        for (i, size) in [(1, 1), (2, 3), (16, 17), (33, 15), (47, 50)].into_iter().enumerate() {
            let picture = Picture::new(size.0, size.1, 4, Motif::ALL[(n + i) % 4], n as u64);
            let jpeg = both.encode(&picture, recipe);
            assert_eq!(Header::parse(&jpeg).unwrap().unsupported(), None);
            both.scales(&jpeg, &(size, recipe));
            assert_eq!(both.ours.points(&jpeg).unwrap(), b"", "nothing to enter by");
        }
    }
    both.verdict();
}

#[test]
fn parts_are_those_of_the_whole() {
    let mut both = Comparison::new();
    for recipe in recipes() {
        let jpeg = both.encode(&Picture::new(90, 70, 4, Motif::Scene, 5), &recipe);
        for (scale, color) in [(Scale::Full, Color::Rgb), (Scale::Half, Color::Gray)] {
            let right = both.right(&jpeg, scale, color);
            for (left, top, width, height) in [(0, 0, 9, 9), (17, 20, 13, 9), (44, 34, 1, 1)] {
                let region = Some(Region { left, top, width, height });
                let ask = Ask { scale, color, region, ..Ask::default() };
                both.ask(&jpeg, ask, &right, &recipe);
            }
        }
    }
    both.verdict();
}

#[test]
fn scans_of_inks_come_one_by_one() {
    let mut both = Comparison::new();
    fn each(c: u8) -> ScanOf {
        ScanOf::new(&[c], 0..=63, 0, 0)
    }
    let scripts =
        [vec![3, 0, 2, 1], vec![0, 1, 2, 3]].map(|order| order.into_iter().map(each).collect());
    for script in scripts {
        for ycck in [false, true] {
            for scans in [Scans::OneEach, Scans::LumaThenChroma] {
                let recipe = Recipe { ycck, scans, ..Recipe::sampled(2, 2) };
                let own = Recipe { script: Vec::clone(&script), ..recipe.clone() };
                for recipe in [recipe, own] {
                    let jpeg = both.encode(&Picture::new(41, 39, 4, Motif::Scene, 6), &recipe);
                    both.scales(&jpeg, &recipe);
                }
            }
        }
    }
    both.verdict();
}

#[test]
fn every_transform_that_an_adobe_segment_names_is_understood_as_libjpeg_turbo_does() {
    let mut both = Comparison::new();
    let picture = Picture::new(30, 20, 4, Motif::Scene, 2);
    let mut pieces = Pieces::of(&both.encode(&picture, &Recipe::default()));
    for transform in [0, 1, 2, 3, 255] {
        pieces.body(0xEE)[11] = transform;
        let jpeg = pieces.file(0);
        let expected =
            crate::harness::compare::right(&mut both.turbo, &jpeg, Scale::Full, Color::Rgb);
        let right = expected.unwrap().picture;
        both.ask(&jpeg, Ask::default(), &right, &transform);
    }
    both.verdict();
}
