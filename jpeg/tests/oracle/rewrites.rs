//! JPEGs that are written again: libjpeg-turbo finds the same coefficients, quantizers and pixels.

use tarflume_fixtures::PHOTOS;
use tarflume_jpeg::{Color, ErrorKind, Header, Metadata, Rewriter, Scale, strip_metadata};

use crate::harness::compare::{Comparison, right};
use crate::harness::picture::{Motif, Picture};
use crate::harness::turbo::{Plane, Recipe, Scans, Space, Turbo};

const SIZES: [(usize, usize); 6] = [(1, 1), (9, 7), (16, 17), (33, 15), (47, 50), (70, 41)];

/// The blocks that pixels depend on, row by row.
fn visible(plane: &Plane) -> Vec<[i16; 64]> {
    let rows = plane.coefficients.chunks(plane.padded.0).take(plane.blocks.1);
    rows.flat_map(|row| row[..plane.blocks.0].to_vec()).collect()
}

/// Rewrites a JPEG and compares what libjpeg-turbo finds in both.
fn check(both: &mut Comparison, jpeg: &[u8], what: &str) -> Vec<u8> {
    let header = Header::parse(jpeg).unwrap();
    let rewritten = Rewriter::new().baseline(jpeg, &header, Metadata::Keep).unwrap();
    let again = Header::parse(&rewritten).unwrap();
    assert!(
        !again.is_progressive() && !again.has_several_scans() && !again.has_restarts(),
        "{what}"
    );
    assert_eq!(again.is_luma_first(), header.is_luma_first(), "{what}");
    let planes = [jpeg, &rewritten].map(|jpeg| both.turbo.coefficients(jpeg).unwrap());
    let [before, after] = planes;
    assert_eq!(before.len(), after.len(), "{what}");
    for (before, after) in before.iter().zip(&after) {
        assert!(before.quantizers == after.quantizers, "{what}: quantizers");
        assert!(
            before.blocks == after.blocks && visible(before) == visible(after),
            "{what}: blocks"
        );
    }
    let pixels = right(&mut both.turbo, jpeg, Scale::Full, Color::Rgb).unwrap().picture;
    let found = right(&mut both.turbo, &rewritten, Scale::Full, Color::Rgb).unwrap();
    assert_eq!(found.warning, "", "{what}");
    assert_eq!(found.picture.difference(&pixels), None, "{what}");
    both.whole(&rewritten, Scale::Full, Color::Rgb, &what);
    rewritten
}

fn all(recipes: &[Recipe], channels: usize) {
    let mut both = Comparison::new();
    for (n, recipe) in recipes.iter().enumerate() {
        for (i, (width, height)) in SIZES.into_iter().enumerate() {
            let motif = Motif::ALL[(n + i) % 4];
            let jpeg = both.encode(&Picture::new(width, height, channels, motif, 7), recipe);
            check(&mut both, &jpeg, &format!("{width}x{height} {motif:?} {recipe:?}"));
        }
    }
    both.verdict();
}

#[test]
fn baseline_pictures_keep_their_coefficients() {
    let factors = [(1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (4, 2)];
    let mut recipes: Vec<Recipe> =
        factors.map(|luma| Recipe { luma, ..Recipe::default() }).to_vec();
    for quality in [1, 30, 100] {
        let recipe = Recipe { quality, ..Recipe::sampled(2, 2) };
        recipes.push(Recipe { wide_tables: true, ..recipe.clone() });
        recipes.push(Recipe { three_tables: true, restart: 3, ..recipe });
    }
    for space in [Space::AdobeYcc, Space::Unsaid, Space::AdobeRgb, Space::NamedRgb] {
        recipes.push(Recipe { space, ..Recipe::default() });
    }
    all(&recipes, 3);
    all(&[Recipe::default(), Recipe { restart: 5, ..Recipe::sampled(2, 2) }], 1);
}

#[test]
fn progressive_and_separate_scans_become_one_baseline_scan() {
    let mut recipes = Vec::new();
    for luma in [(1, 1), (2, 1), (1, 2), (2, 2), (4, 1)] {
        recipes.push(Recipe { progressive: true, luma, ..Recipe::default() });
        for scans in [Scans::OneEach, Scans::LumaThenChroma] {
            recipes.push(Recipe { scans, restart: 2, luma, ..Recipe::default() });
        }
    }
    all(&recipes, 3);
    all(&[Recipe { progressive: true, ..Recipe::default() }], 1);
}

#[test]
fn four_components_keep_their_coefficients() {
    let mut recipes = Vec::new();
    for ycck in [false, true] {
        for progressive in [false, true] {
            let recipe = Recipe { ycck, progressive, ..Recipe::default() };
            recipes.push(Recipe { luma: (2, 2), black_as_luma: true, ..recipe.clone() });
            recipes.push(recipe);
        }
    }
    all(&recipes, 4);
}

#[test]
fn codes_are_as_short_as_those_of_libjpeg() {
    let mut both = Comparison::new();
    for (luma, motif) in [((2, 2), Motif::Scene), ((1, 1), Motif::Noise), ((2, 1), Motif::Tiles)] {
        let picture = Picture::new(160, 96, 3, motif, 3);
        let optimized = Recipe { optimized: true, luma, ..Recipe::default() };
        let theirs = both.encode(&picture, &optimized);
        let usual = both.encode(&picture, &Recipe { luma, ..Recipe::default() });
        let ours = check(&mut both, &usual, "");
        assert!(ours.len() <= theirs.len(), "{} and {} bytes, {motif:?}", ours.len(), theirs.len());
        assert!(ours.len() < usual.len());
    }
    both.verdict();
}

#[test]
fn photographs_become_smaller() {
    let mut both = Comparison::new();
    let mut bytes = (0, 0);
    for photo in PHOTOS {
        let after = check(&mut both, photo.jpeg, photo.key);
        if Header::parse(photo.jpeg).unwrap().is_progressive() {
            continue; // progressive codes are shorter than those of one scan
        }
        // Some are optimal already, by an encoder that shortens long codes in another way.
        assert!(after.len() <= photo.jpeg.len() * 1001 / 1000, "{}: {}", photo.key, after.len());
        bytes = (bytes.0 + photo.jpeg.len(), bytes.1 + after.len());
    }
    assert!(bytes.1 < bytes.0, "{bytes:?}");
    both.verdict();
}

/// Returns the byte after the header of the first scan.
fn header_end(jpeg: &[u8]) -> usize {
    jpeg.windows(2).position(|pair| pair == [0xff, 0xda]).unwrap() + 14
}

/// Returns a segment.
fn segment(marker: u8, content: &[u8]) -> Vec<u8> {
    let length = (content.len() as u16 + 2).to_be_bytes();
    [&[0xff, marker], &length[..], content].concat()
}

#[test]
fn metadata_go_except_what_changes_pixels() {
    fn has(found: &[u8], part: &[u8]) -> bool {
        found.windows(part.len()).any(|window| window == part)
    }

    let mut both = Comparison::new();
    let secret = segment(0xe1, b"http://ns.adobe.com/xap/1.0/\0place and owner");
    let profile = segment(0xe2, b"ICC_PROFILE\0\x01\x01a color profile");
    let places = segment(0xe2, b"MPF\0II*\0");
    let comment = segment(0xfe, b"a comment");
    for (orientation, progressive) in [(1, false), (6, false), (8, true)] {
        let recipe = Recipe { progressive, ..Recipe::sampled(2, 2) };
        let recipe = recipe.with_orientation(orientation);
        let extra = [&recipe.extra[..], &secret, &profile, &places, &comment].concat();
        let recipe = Recipe { extra, ..recipe };
        let mut jpeg = both.encode(&Picture::new(47, 33, 3, Motif::Scene, 5), &recipe);
        jpeg.extend(b"a second picture");
        let header = Header::parse(&jpeg).unwrap();
        let stripped = strip_metadata(&jpeg, &header).unwrap();
        let baseline = Rewriter::new().baseline(&jpeg, &header, Metadata::Strip).unwrap();
        let pixels = both.right(&jpeg, Scale::Full, Color::Rgb);
        for found in [&stripped, &baseline] {
            assert!(has(found, b"a color profile") && has(found, b"JFIF"));
            assert!(
                !has(found, b"place and owner") && !has(found, b"a comment") && !has(found, b"MPF")
            );
            assert!(found.ends_with(&[0xff, 0xd9]) && !has(found, b"a second picture"));
            let kept = (orientation > 1).then_some(orientation);
            assert_eq!(Header::parse(found).unwrap().orientation(), kept);
            assert_eq!(has(found, b"Exif"), kept.is_some());
            assert_eq!(both.right(found, Scale::Full, Color::Rgb).difference(&pixels), None);
        }
        assert_eq!(
            strip_metadata(&stripped, &header).unwrap(),
            stripped,
            "nothing is left to strip"
        );
        let kept = Rewriter::new().baseline(&jpeg, &header, Metadata::Keep).unwrap();
        assert!(kept.windows(15).any(|window| window == b"place and owner"));
    }
}

#[test]
fn an_adobe_segment_stays() {
    let mut both = Comparison::new();
    for (channels, space, ycck) in [(3, Space::AdobeRgb, false), (4, Space::Jfif, true)] {
        let recipe = Recipe { space, ycck, ..Recipe::default() };
        let jpeg = both.encode(&Picture::new(24, 24, channels, Motif::Scene, 5), &recipe);
        let header = Header::parse(&jpeg).unwrap();
        let pixels = both.right(&jpeg, Scale::Full, Color::Rgb);
        let stripped = strip_metadata(&jpeg, &header).unwrap();
        assert_eq!(both.right(&stripped, Scale::Full, Color::Rgb).difference(&pixels), None);
        let baseline = Rewriter::new().baseline(&jpeg, &header, Metadata::Strip).unwrap();
        assert_eq!(both.right(&baseline, Scale::Full, Color::Rgb).difference(&pixels), None);
    }
}

#[test]
fn other_kinds_and_damage_are_errors() {
    let mut turbo = Turbo::new();
    let picture = Picture::new(160, 160, 3, Motif::Scene, 1);
    let jpeg = turbo.encode(&picture, &Recipe { arithmetic: true, ..Recipe::default() });
    let header = Header::parse(&jpeg).unwrap();
    let error = Rewriter::new().baseline(&jpeg, &header, Metadata::Keep).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(
        turbo
            .decode(&strip_metadata(&jpeg, &header).unwrap(), 1, crate::harness::turbo::Color::Rgb)
            .unwrap()
            .warning,
        ""
    );
    let jpeg = turbo.encode(&picture, &Recipe::default());
    let header = Header::parse(&jpeg).unwrap();
    let mut rewriter = Rewriter::new();
    for cut in [header_end(&jpeg) + 300, jpeg.len() - 40, jpeg.len() - 1] {
        let error = rewriter.baseline(&jpeg[..cut], &header, Metadata::Keep).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Damaged, "{cut}: {error}");
        assert!(strip_metadata(&jpeg[..cut], &header).is_err());
    }
    assert!(
        rewriter.baseline(&jpeg, &header, Metadata::Keep).is_ok(),
        "nothing of the damage is left"
    );
}
