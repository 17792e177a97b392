//! Files that no encoder here writes, but some encoder did: the oracle's files, changed by hand.
//!
//! Every file that libjpeg-turbo decodes without a warning must give the same pixels.

use tarflume_jpeg::{Header, Scale};

use crate::harness::compare::Comparison;
use crate::harness::picture::{Motif, Picture};
use crate::harness::segments::Pieces;
use crate::harness::turbo::{Recipe, Space};

const SOF0: u8 = 0xC0;
const SOF1: u8 = 0xC1;
const DHT: u8 = 0xC4;
const SOS: u8 = 0xDA;
const DQT: u8 = 0xDB;
const DRI: u8 = 0xDD;
const COM: u8 = 0xFE;

/// A scene in 4:2:0 with restart markers, in pieces.
fn pieces(both: &mut Comparison, space: Space) -> Pieces {
    let picture = Picture::new(61, 43, 3, Motif::Scene, 8);
    let recipe = Recipe { restart: 3, optimized: true, space, ..Recipe::sampled(2, 2) };
    Pieces::of(&both.encode(&picture, &recipe))
}

/// Changes a file, and compares both decoders' pictures of it.
fn changed(what: &str, space: Space, change: impl FnOnce(&mut Pieces)) {
    let mut both = Comparison::new();
    let mut pieces = pieces(&mut both, space);
    change(&mut pieces);
    let jpeg = pieces.file(0);
    assert_eq!(Header::parse(&jpeg).unwrap().without_entry_points(), None, "{what}");
    both.scales(&jpeg, &what);
    both.verdict();
}

#[test]
fn fill_bytes_precede_markers() {
    let mut both = Comparison::new();
    let pieces = pieces(&mut both, Space::Jfif);
    for fill in [0, 1, 2, 5] {
        let jpeg = pieces.file(fill);
        both.scales(&jpeg, &fill);
        both.ours.points(&jpeg).unwrap();
    }
    both.verdict();
}

#[test]
fn tables_share_a_segment() {
    changed("one DHT, one DQT", Space::Jfif, |pieces| {
        for marker in [DHT, DQT] {
            let all: Vec<u8> = pieces.bodies(marker).flat_map(|body| body.clone()).collect();
            pieces.segments.retain(|(m, _)| *m != marker);
            pieces.push(marker, &all);
        }
    });
}

#[test]
fn of_repeated_tables_the_last_one_counts() {
    changed("wrong tables first", Space::Jfif, |pieces| {
        let mut quant: Vec<Vec<u8>> = pieces.bodies(DQT).map(|b| b.clone()).collect();
        quant.iter_mut().for_each(|body| body[1..].fill(99));
        for body in quant {
            pieces.segments.insert(0, (DQT, body));
        }
        let mut codes: Vec<Vec<u8>> = pieces.bodies(DHT).map(|b| b.clone()).collect();
        codes.iter_mut().for_each(|body| body[17..].reverse());
        for body in codes {
            pieces.segments.insert(0, (DHT, body));
        }
    });
}

#[test]
fn tables_have_other_numbers() {
    changed("tables 2 and 3", Space::Jfif, |pieces| {
        fn other(id: u8) -> u8 {
            [2, 3][usize::from(id & 15)] | (id & 0xF0)
        }
        pieces.bodies(DQT).for_each(|body| body[0] = other(body[0]));
        pieces.bodies(DHT).for_each(|body| body[0] = other(body[0]));
        pieces.body(SOF0)[6..].chunks_mut(3).for_each(|c| c[2] = other(c[2]));
        for selector in pieces.body(SOS)[1..7].chunks_mut(2) {
            selector[1] = if selector[1] == 0 { 0x22 } else { 0x33 };
        }
        // Baseline has two tables of each kind; more are extended sequential.
        pieces.segments.iter_mut().for_each(|(m, _)| *m = if *m == SOF0 { SOF1 } else { *m });
    });
}

#[test]
fn quantizers_of_16_bits_are_small() {
    changed("16 bits", Space::Jfif, |pieces| {
        pieces.segments.iter_mut().for_each(|(m, _)| *m = if *m == SOF0 { SOF1 } else { *m });
        pieces.bodies(DQT).for_each(|body| {
            let wide = body[1..].iter().flat_map(|&q| [0, q]);
            *body = [0x10 | body[0]].into_iter().chain(wide).collect();
        });
    });
}

#[test]
fn components_have_other_names() {
    for (space, names) in [
        (Space::Jfif, [0, 1, 2]),
        (Space::Jfif, *b"RGB"),
        (Space::Unsaid, [0, 1, 2]),
        (Space::Unsaid, [7, 200, 9]),
        (Space::Unsaid, *b"RGB"),
        (Space::AdobeYcc, *b"RGB"),
        (Space::AdobeRgb, [1, 2, 3]),
        (Space::NamedRgb, [1, 2, 3]),
        (Space::NamedRgb, *b"YCC"),
    ] {
        changed(&format!("{names:?} of {space:?}"), space, |pieces| {
            let frame = pieces.body(SOF0)[6..].chunks_mut(3);
            frame.zip(names).for_each(|(component, name)| component[0] = name);
            let scan = pieces.body(SOS)[1..7].chunks_mut(2);
            scan.zip(names).for_each(|(component, name)| component[0] = name);
        });
    }
}

#[test]
fn an_adobe_segment_follows_a_jfif_one() {
    for transform in [0, 1] {
        changed(&format!("JFIF and Adobe {transform}"), Space::Jfif, |pieces| {
            pieces.push(0xEE, &[b"Adobe\0\x64\0\0\0\0", &[transform][..]].concat());
        });
    }
    changed("an Adobe segment that is too short", Space::Jfif, |p| p.push(0xEE, b"Adobe\0\x64"));
}

#[test]
fn a_jfif_segment_is_no_jfif_segment() {
    changed("JFXX", Space::NamedRgb, |pieces| pieces.push(0xE0, b"JFXX\0\x10"));
    changed("too short", Space::NamedRgb, |pieces| pieces.push(0xE0, b"JFIF\0\x01\x02"));
}

#[test]
fn unknown_segments_may_be_anywhere() {
    changed("APPn and COM", Space::Jfif, |pieces| {
        for (n, marker) in [0xE1, 0xE2, 0xED, 0xEF, COM].into_iter().enumerate() {
            let body = vec![0xFF; n * 100];
            pieces.segments.insert(n, (marker, body.clone()));
            pieces.push(marker, &body);
        }
        pieces.push(0xE1, b"Exif\0\0II*\0\xFF\xFF\xFF\xFF");
    });
}

#[test]
fn a_restart_interval_is_repeated_or_longer_than_the_picture() {
    changed("DRI first 9, then 3", Space::Jfif, |pieces| {
        pieces.segments.insert(0, (DRI, vec![0, 9]));
    });
    let mut both = Comparison::new();
    let picture = Picture::new(30, 30, 3, Motif::Scene, 1);
    let mut pieces = Pieces::of(&both.encode(&picture, &Recipe::default()));
    for interval in [[0, 0], [0, 16], [0, 17], [255, 255]] {
        pieces.segments.retain(|(m, _)| *m != DRI);
        pieces.push(DRI, &interval);
        both.scales(&pieces.file(0), &interval);
    }
    both.verdict();
}

#[test]
fn one_table_serves_all_components() {
    let mut both = Comparison::new();
    // Gray pixels as RGB components: three equal planes, coded with the first component's tables.
    let gray = Picture::new(40, 24, 1, Motif::Scene, 6);
    let bytes = gray.bytes.iter().flat_map(|&g| [g; 3]).collect();
    let picture = Picture { channels: 3, bytes, ..gray };
    let recipe = Recipe { space: Space::AdobeRgb, ..Recipe::default() };
    let jpeg = both.encode(&picture, &recipe);
    for scale in Scale::ALL {
        both.whole(&jpeg, scale, tarflume_jpeg::Color::Rgb, &scale);
        both.whole(&jpeg, scale, tarflume_jpeg::Color::Gray, &scale);
    }
    both.verdict();
}

/// Sums in the inverse DCT exceed 16 bits here, and which bits are lost is specific to
/// libjpeg-turbo's vector code on x86-64; its C code, and its code for other processors, loses
/// others.
#[cfg(target_arch = "x86_64")]
#[test]
fn quantizers_may_overflow() {
    let mut both = Comparison::new();
    for (n, steps) in [2, 4, 10, 30, 100, 255, 1000, 25_500_u16].into_iter().enumerate() {
        for motif in Motif::ALL {
            let picture = Picture::new(61, 43, 3, motif, 8);
            let recipe =
                Recipe { quality: 100, luma: [(1, 1), (2, 2)][n % 2], ..Recipe::default() };
            let mut pieces = Pieces::of(&both.encode(&picture, &recipe));
            pieces.segments.iter_mut().for_each(|(m, _)| *m = if *m == SOF0 { SOF1 } else { *m });
            pieces.bodies(DQT).for_each(|body| {
                let steps = [steps.to_be_bytes(); 64].concat();
                *body = [0x10 | body[0]].into_iter().chain(steps).collect();
            });
            both.scales(&pieces.file(0), &(steps, motif));
        }
    }
    both.verdict();
}
