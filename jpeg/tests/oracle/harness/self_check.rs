//! The oracle works: every field of a recipe has an effect on the file, and every answer is valid.

use crate::harness::picture::{Motif, Picture};
use crate::harness::segments::{bodies, markers};
use crate::harness::turbo::{Color, Recipe, Scans, Space, Turbo};

const SOI: u8 = 0xD8;
const EOI: u8 = 0xD9;
const SOS: u8 = 0xDA;
const DQT: u8 = 0xDB;
const DRI: u8 = 0xDD;
const DHT: u8 = 0xC4;

fn scene() -> Picture {
    Picture::new(45, 37, 3, Motif::Scene, 1)
}

/// Returns the marker of the frame: the process by which a file is coded.
fn frame(jpeg: &[u8]) -> u8 {
    fn is_frame(m: &u8) -> bool {
        matches!(m, 0xC0..=0xCF) && ![0xC4, 0xC8, 0xCC].contains(m)
    }
    markers(jpeg).into_iter().find(is_frame).unwrap()
}

fn differences(a: &Picture, b: &Picture) -> impl Iterator<Item = u64> {
    let pairs = a.bytes.clone().into_iter().zip(b.bytes.clone());
    pairs.map(|(a, b)| u64::from(a.abs_diff(b)))
}

#[test]
fn valid_encodings_decode_to_their_source() {
    let mut turbo = Turbo::new();
    let recipe = Recipe { quality: 100, space: Space::AdobeRgb, ..Recipe::default() };
    let jpeg = turbo.encode(&scene(), &recipe);
    let decoded = turbo.decode(&jpeg, 1, Color::Rgb).unwrap();
    assert_eq!((decoded.warnings, decoded.warning.as_str()), (0, ""));
    assert!(differences(&decoded.picture, &scene()).max() < Some(4));
    assert!(scene().difference(&scene()).is_none());
    assert!(decoded.picture.difference(&scene()).is_some());
}

#[test]
fn the_process_is_the_requested_one() {
    let mut turbo = Turbo::new();
    let mut frame_of = |recipe: Recipe| frame(&turbo.encode(&scene(), &recipe));
    let plain = Recipe::default;
    assert_eq!(frame_of(plain()), 0xC0);
    assert_eq!(frame_of(Recipe { wide_tables: true, quality: 1, ..plain() }), 0xC1);
    assert_eq!(frame_of(Recipe { progressive: true, ..plain() }), 0xC2);
    assert_eq!(frame_of(Recipe { arithmetic: true, ..plain() }), 0xC9);
}

#[test]
fn sampling_factors_stand_in_the_frame() {
    let mut turbo = Turbo::new();
    for luma in [(1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (1, 4), (4, 2), (2, 4)] {
        let jpeg = turbo.encode(&scene(), &Recipe { luma, ..Recipe::default() });
        let factors: Vec<u8> = bodies(&jpeg, 0xC0)[0][6..].chunks(3).map(|c| c[1]).collect();
        assert_eq!(factors, [(luma.0 << 4 | luma.1) as u8, 0x11, 0x11]);
        let planes = turbo.coefficients(&jpeg).unwrap();
        assert_eq!(planes[0].sampling, luma);
    }
    let jpeg =
        turbo.encode(&scene(), &Recipe { luma: (2, 2), chroma: (1, 2), ..Recipe::default() });
    assert_eq!(bodies(&jpeg, 0xC0)[0][10], 0x12);
    let many = turbo.try_encode(&scene(), &Recipe::sampled(4, 4));
    assert!(many.unwrap_err().contains("Sampling factors"), "16 + 2 blocks do not fit an MCU");
}

#[test]
fn restart_markers_are_written_on_request() {
    let mut turbo = Turbo::new();
    let jpeg = turbo.encode(&scene(), &Recipe { restart: 7, ..Recipe::default() });
    assert_eq!(bodies(&jpeg, DRI), [[0, 7]]);
    let restarts = markers(&jpeg).iter().filter(|m| matches!(m, 0xD0..=0xD7)).count();
    assert_eq!(restarts, (6 * 5 - 1) / 7);
    assert!(bodies(&turbo.encode(&scene(), &Recipe::default()), DRI).is_empty());
}

#[test]
fn tables_are_of_the_requested_kind() {
    let mut turbo = Turbo::new();
    let plain = turbo.encode(&scene(), &Recipe::default());
    let optimized = turbo.encode(&scene(), &Recipe { optimized: true, ..Recipe::default() });
    assert_ne!(bodies(&plain, DHT), bodies(&optimized, DHT));
    assert!(optimized.len() < plain.len());
    let three = turbo.encode(&scene(), &Recipe { three_tables: true, ..Recipe::default() });
    assert_eq!((bodies(&plain, DQT).len(), bodies(&three, DQT).len()), (2, 3));
    let quantizers: Vec<_> =
        turbo.coefficients(&three).unwrap().into_iter().map(|p| p.quantizers).collect();
    assert_ne!(quantizers[1], quantizers[2]);
    let wide = Recipe { wide_tables: true, quality: 1, ..Recipe::default() };
    let wide = turbo.encode(&scene(), &wide);
    assert_eq!(bodies(&wide, DQT)[0].len(), 129);
}

#[test]
fn scans_are_split_as_requested() {
    let mut turbo = Turbo::new();
    let mut scans = |scans| {
        let jpeg = turbo.encode(&scene(), &Recipe { scans, ..Recipe::sampled(2, 2) });
        let counts: Vec<u8> = bodies(&jpeg, SOS).iter().map(|s| s[0]).collect();
        (counts, turbo.decode(&jpeg, 1, Color::Rgb).unwrap().picture)
    };
    let (counts, picture) = scans(Scans::Interleaved);
    assert_eq!(counts, [3]);
    let (counts, same) = scans(Scans::OneEach);
    assert_eq!(counts, [1, 1, 1]);
    assert_eq!(picture.difference(&same), None);
    let (counts, same) = scans(Scans::LumaThenChroma);
    assert_eq!(counts, [1, 2]);
    assert_eq!(picture.difference(&same), None);
}

#[test]
fn color_spaces_are_encoded_as_requested() {
    let mut turbo = Turbo::new();
    let jfif = 0xE0;
    let adobe = 0xEE;
    let cases = [
        (Space::Jfif, vec![jfif], [1, 2, 3]),
        (Space::AdobeYcc, vec![adobe], [1, 2, 3]),
        (Space::Unsaid, vec![], [1, 2, 3]),
        (Space::AdobeRgb, vec![adobe], *b"RGB"),
        (Space::NamedRgb, vec![], *b"RGB"),
    ];
    for (space, segments, names) in cases {
        let jpeg = turbo.encode(&scene(), &Recipe { space, ..Recipe::default() });
        let found: Vec<u8> = markers(&jpeg).into_iter().filter(|m| m & 0xF0 == 0xE0).collect();
        assert_eq!(found, segments, "{space:?}");
        let components = bodies(&jpeg, 0xC0)[0][6..].chunks(3).map(|c| c[0]);
        assert!(components.eq(names), "{space:?}");
        let transform = bodies(&jpeg, adobe).first().map(|body| body[11]);
        assert_eq!(transform == Some(1), space == Space::AdobeYcc);
        let decoded = turbo.decode(&jpeg, 1, Color::Rgb).unwrap().picture;
        let off: u64 = differences(&decoded, &scene()).sum();
        assert!(off / (decoded.bytes.len() as u64) < 8, "{space:?}: the colors are others");
    }
}

#[test]
fn extra_segments_follow_the_jfif_one() {
    let mut turbo = Turbo::new();
    let jpeg = turbo.encode(&scene(), &Recipe::default().with_orientation(6));
    assert_eq!(markers(&jpeg)[..3], [SOI, 0xE0, 0xE1]);
    let exif = bodies(&jpeg, 0xE1)[0];
    assert_eq!((exif.len(), &exif[..6], exif[25]), (32, &b"Exif\0\0"[..], 6));
    assert_eq!(markers(&jpeg).last(), Some(&EOI));
}

#[test]
fn scales_round_up_and_gray_is_one_channel() {
    let mut turbo = Turbo::new();
    let jpeg = turbo.encode(&scene(), &Recipe::sampled(2, 2));
    for (scale, size) in [(1, (45, 37)), (2, (23, 19)), (4, (12, 10)), (8, (6, 5))] {
        for (color, channels) in [(Color::Rgb, 3), (Color::Gray, 1)] {
            let picture = turbo.decode(&jpeg, scale, color).unwrap().picture;
            assert_eq!((picture.width, picture.height), size);
            assert_eq!(picture.channels, channels);
        }
    }
}

#[test]
fn damage_is_counted_and_invalid_input_is_refused_and_the_process_continues() {
    let mut turbo = Turbo::new();
    let jpeg = turbo.encode(&scene(), &Recipe::default());
    let cut = turbo.decode(&jpeg[..jpeg.len() / 2], 1, Color::Rgb).unwrap();
    assert_eq!((cut.warnings > 0, cut.warning.as_str()), (true, "Premature end of JPEG file"));
    assert!(turbo.decode(b"nonsense", 1, Color::Rgb).is_err_and(|e| e.contains("Not a JPEG")));
    assert!(turbo.decode(b"", 1, Color::Rgb).is_err());
    assert!(turbo.coefficients(b"nonsense").is_err());
    let cmyk = turbo.encode(&Picture::new(9, 9, 4, Motif::Scene, 1), &Recipe::default());
    assert!(turbo.decode(&cmyk, 1, Color::Rgb).is_err_and(|e| e.contains("color conversion")));
    assert_eq!(turbo.decode(&jpeg, 1, Color::Rgb).unwrap().warnings, 0);
}

#[test]
fn coefficients_are_those_of_the_file() {
    let mut turbo = Turbo::new();
    let flat = Picture::new(33, 17, 1, Motif::Flat, 5);
    let value = i32::from(flat.bytes[0]);
    let jpeg = turbo.encode(&flat, &Recipe { quality: 100, ..Recipe::default() });
    let planes = turbo.coefficients(&jpeg).unwrap();
    assert_eq!(planes.len(), 1);
    assert_eq!((planes[0].blocks, planes[0].padded), ((5, 3), (5, 3)));
    assert_eq!(planes[0].quantizers, [1; 64]);
    for block in &planes[0].coefficients {
        assert_eq!(i32::from(block[0]), (value - 128) * 8);
        assert!(block[1..].iter().all(|c| *c == 0));
    }
    let color = turbo.encode(&scene(), &Recipe::sampled(2, 2));
    let planes = turbo.coefficients(&color).unwrap();
    assert_eq!((planes[0].blocks, planes[0].padded), ((6, 5), (6, 6)));
    assert_eq!((planes[1].blocks, planes[1].padded), ((3, 3), (3, 3)));
    assert_eq!(planes[0].coefficients.len(), 36);
}

#[test]
fn every_motif_is_a_picture_of_its_own() {
    fn of(motif: Motif) -> Picture {
        Picture::new(20, 10, 3, motif, 3)
    }
    for (i, a) in Motif::ALL.into_iter().enumerate() {
        assert_eq!(of(a).bytes.len(), 600);
        assert!(of(a).difference(&of(a)).is_none());
        for b in &Motif::ALL[i + 1..] {
            assert!(of(a).difference(&of(*b)).is_some());
        }
    }
    let window = of(Motif::Noise).crop(3, 2, 5, 4);
    assert_eq!(window.bytes[..3], of(Motif::Noise).bytes[(2 * 20 + 3) * 3..][..3]);
    assert_eq!(window.crop(1, 1, 2, 2).difference(&of(Motif::Noise).crop(4, 3, 2, 2)), None);
}
