//! Files that break rules of the format without losing a pixel: they are decoded as libjpeg-turbo
//! does, and reported. What loses pixels is an error.

use tarflume_jpeg::{Color, Damage, ErrorKind, Header, Region, Scale};

use crate::harness::compare::right;
use crate::harness::decoder::{Ask, TestDecoder};
use crate::harness::picture::{Motif, Picture};
use crate::harness::segments::{Pieces, segments};
use crate::harness::turbo::{Recipe, Scans, Turbo};

const SOF0: u8 = 0xC0;
const DHT: u8 = 0xC4;
const SOS: u8 = 0xDA;

/// Both decoders.
struct Irregular {
    ours: TestDecoder,
    turbo: Turbo,
}

impl Irregular {
    fn new() -> Irregular {
        Irregular { ours: TestDecoder::default(), turbo: Turbo::new() }
    }

    fn scene(&mut self, recipe: &Recipe) -> Vec<u8> {
        self.turbo.encode(&Picture::new(61, 43, 3, Motif::Scene, 8), recipe)
    }

    /// The file must give libjpeg-turbo's pixels, whole and in part, and be reported as irregular.
    fn check(&mut self, jpeg: &[u8], what: &str) {
        for scale in [Scale::Full, Scale::Half] {
            let right = right(&mut self.turbo, jpeg, scale, Color::Rgb).unwrap();
            let ask = Ask { scale, ..Ask::default() };
            let (picture, report) =
                self.ours.report(jpeg, ask).unwrap_or_else(|e| panic!("{what}: {e}"));
            assert_eq!(picture.difference(&right.picture), None, "{what}");
            assert_eq!(report.damage, Damage::Harmless, "{what}");
            let region = Region { left: 4, top: 3, width: 13, height: 5 };
            let part = self.ours.decode(jpeg, Ask { region: Some(region), ..ask }).unwrap();
            assert_eq!(part.difference(&picture.crop(4, 3, 13, 5)), None, "{what}");
        }
        assert_eq!(self.ours.points(jpeg).unwrap(), b"", "{what} has no entry points");
    }

    /// The file must be an error, whole and in a part that damage does not reach.
    fn refused(&mut self, jpeg: &[u8], what: &str) {
        let top = Region { left: 0, top: 0, width: 8, height: 1 };
        for region in [None, Some(top)] {
            let error = self.ours.decode(jpeg, Ask { region, ..Ask::default() }).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Damaged, "{what}: {error}");
        }
    }
}

fn kinds() -> [Recipe; 4] {
    [
        Recipe::sampled(2, 2),
        Recipe { restart: 2, ..Recipe::default() },
        Recipe { progressive: true, ..Recipe::sampled(2, 1) },
        Recipe { scans: Scans::OneEach, ..Recipe::default() },
    ]
}

/// Returns the file with these bytes at a place.
fn with(jpeg: &[u8], at: usize, bytes: &[u8]) -> Vec<u8> {
    [&jpeg[..at], bytes, &jpeg[at..]].concat()
}

#[test]
fn stray_bytes_precede_segments_and_scans() {
    let mut both = Irregular::new();
    for (kind, recipe) in kinds().iter().enumerate() {
        let jpeg = both.scene(recipe);
        let markers: Vec<usize> = segments(&jpeg).iter().map(|s| s.at).collect();
        let first = segments(&jpeg).iter().position(|s| s.marker == SOS).unwrap();
        for &body in &markers[1..=first] {
            // The body of a segment follows its marker and its length.
            let at = body - 4;
            for strays in [&b"\0"[..], &[0x12; 30], b"\xff\0\xff\0", b"\x01\xff\x01", b"\xff\xd3"] {
                both.check(&with(&jpeg, at, strays), &format!("kind {kind}, {strays:x?} at {at}"));
            }
        }
    }
}

#[test]
fn restart_markers_and_few_bytes_precede_the_end_of_the_image() {
    let mut both = Irregular::new();
    for (kind, recipe) in kinds().iter().enumerate() {
        let jpeg = both.scene(recipe);
        let end = jpeg.len() - 2;
        for more in [&b"\xff\xd0"[..], b"\xff\xd7", b"\xff\xd2\0\0"] {
            both.check(&with(&jpeg, end, more), &format!("kind {kind}, {more:x?}"));
        }
        both.check(&with(&jpeg, end, b"\xff\xfe\0\0"), &format!("kind {kind}, an empty comment"));
    }
}

#[test]
fn metadata_declare_impossible_lengths() {
    let mut both = Irregular::new();
    for (kind, recipe) in kinds().iter().enumerate() {
        let jpeg = both.scene(recipe);
        for marker in [0xe1, 0xe9, 0xee, 0xfe] {
            for length in [0, 1] {
                let what = format!("kind {kind}, {marker:x} of length {length}");
                both.check(&with(&jpeg, 2, &[0xff, marker, 0, length]), &what);
            }
        }
        // Longer than the file: libjpeg-turbo finds no picture either.
        let longer = with(&jpeg, 2, b"\xff\xfe\xff\xf0");
        Header::parse(&longer).unwrap_err();
    }
}

#[test]
fn the_end_of_the_image_is_missing() {
    let mut both = Irregular::new();
    for (kind, recipe) in kinds().iter().enumerate() {
        let jpeg = both.scene(recipe);
        for cut in [1, 2] {
            both.check(&jpeg[..jpeg.len() - cut], &format!("kind {kind} without {cut}"));
        }
        for cut in [3, 4, 9] {
            both.refused(&jpeg[..jpeg.len() - cut], &format!("kind {kind} without {cut}"));
        }
    }
}

#[test]
fn restart_markers_have_wrong_numbers() {
    let mut both = Irregular::new();
    for (kind, recipe) in
        kinds().iter().enumerate().map(|(n, r)| (n, Recipe { restart: 2, ..r.clone() }))
    {
        let jpeg = both.scene(&recipe);
        let places: Vec<usize> = (0..jpeg.len() - 1)
            .filter(|&at| jpeg[at] == 0xff && (0xd0..=0xd7).contains(&jpeg[at + 1]))
            .collect();
        for &at in places.iter().take(6) {
            for far in 3..=5 {
                let mut jpeg = jpeg.clone();
                jpeg[at + 1] = 0xd0 | ((jpeg[at + 1] + far) & 7);
                both.check(&jpeg, &format!("kind {kind}, marker at {at}, {far} too far"));
            }
            // libjpeg-turbo takes these for markers of other intervals, and loses some.
            for near in [1, 2, 6, 7] {
                let mut jpeg = jpeg.clone();
                jpeg[at + 1] = 0xd0 | ((jpeg[at + 1] + near) & 7);
                let error = both.ours.decode(&jpeg, Ask::default()).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Damaged, "{error}");
            }
        }
    }
}

#[test]
fn equal_bytes_fill_the_data() {
    let mut both = Irregular::new();
    for (kind, recipe) in kinds().iter().enumerate() {
        let jpeg = both.scene(recipe);
        let filled = with(&jpeg, jpeg.len() - 2, &[0; 200]);
        let right = right(&mut both.turbo, &filled, Scale::Full, Color::Rgb).unwrap();
        let picture = both.ours.decode(&filled, Ask::default()).unwrap();
        assert_eq!(picture.difference(&right.picture), None, "kind {kind}");
        assert_eq!(both.ours.points(&filled).unwrap(), b"", "kind {kind}");
        let codes = with(&jpeg, jpeg.len() - 2, &[0x12, 0x34].repeat(10));
        both.ours.points(&codes).unwrap_err();
    }
}

/// A part of the data behind another marker could be taken for bytes that belong to nothing.
#[test]
fn a_segment_inside_a_scan_loses_pixels() {
    let mut both = Irregular::new();
    for (kind, recipe) in kinds().iter().enumerate() {
        let jpeg = both.scene(recipe);
        for marker in [0xd5, 0xe1, 0xfe] {
            let inside = jpeg.len() - 60;
            let jpeg = with(&jpeg, inside, &[0xff, marker, 0, 4, 0, 0]);
            both.refused(&jpeg, &format!("kind {kind}, {marker:x}"));
        }
    }
}

#[test]
fn frames_of_motion_jpeg_have_no_huffman_tables() {
    let mut both = Irregular::new();
    let recipe = Recipe { quality: 95, ..Recipe::sampled(2, 1) };
    let mut pieces = Pieces::of(&both.scene(&recipe));
    pieces.segments.retain(|(marker, _)| *marker != DHT);
    pieces.segments[0] = (0xe0, b"AVI1\0\0\0\0\0\0\0\0\0\0".to_vec());
    assert_eq!(pieces.body(SOF0).len(), 15);
    let jpeg = pieces.file(0);
    let right = right(&mut both.turbo, &jpeg, Scale::Full, Color::Rgb).unwrap();
    let (picture, report) = both.ours.report(&jpeg, Ask::default()).unwrap();
    assert_eq!(picture.difference(&right.picture), None);
    assert_eq!(report.damage, Damage::None, "it breaks no rule of motion JPEG");
    both.check(&with(&jpeg, jpeg.len() - 2, b"\xff\xd0"), "a restart marker before its end");
}
