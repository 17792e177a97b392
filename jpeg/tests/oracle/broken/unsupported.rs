//! Kinds that are not decoded are refused with a reason, and never cause a panic. Also kinds that
//! only resemble these.

use tarflume_jpeg::{Color, ErrorKind, Header, Scale};

use crate::harness::compare::Comparison;
use crate::harness::decoder::{Ask, TestDecoder};
use crate::harness::picture::{Motif, Picture};
use crate::harness::segments::Pieces;
use crate::harness::turbo::{Recipe, Scans, Turbo};

fn scene(channels: usize) -> Picture {
    Picture::new(53, 38, channels, Motif::Scene, 11)
}

#[test]
fn unsupported_jpegs_are_refused_with_a_reason() {
    let mut turbo = Turbo::new();
    let jpeg = turbo.encode(&scene(3), &Recipe { arithmetic: true, ..Recipe::default() });
    let progressive = Recipe { arithmetic: true, progressive: true, ..Recipe::default() };
    let mut cases =
        vec![(jpeg, "arithmetic"), (turbo.encode(&scene(3), &progressive), "arithmetic")];
    let baseline = Pieces::of(&turbo.encode(&scene(3), &Recipe::default()));
    let mut bits = baseline.clone();
    bits.body(0xC0)[0] = 12;
    cases.push((bits.file(0), "more than 8 bits"));
    for (marker, why) in [(0xC3, "lossless"), (0xC5, "hierarchical")] {
        let mut pieces = baseline.clone();
        pieces.segments.iter_mut().filter(|(m, _)| *m == 0xC0).for_each(|(m, _)| *m = marker);
        cases.push((pieces.file(0), why));
    }
    let mut rates = baseline.clone();
    rates.body(0xC0)[7] = 0x31;
    rates.body(0xC0)[10] = 0x21;
    let rates = rates.file(0);
    assert!(turbo.decode(&rates, 1, crate::harness::turbo::Color::Rgb).is_err());
    cases.push((rates, "rates that do not divide"));
    let mut ours = TestDecoder::default();
    for (jpeg, why) in cases {
        let header = Header::parse(&jpeg).unwrap();
        assert!(header.unsupported().unwrap().contains(why));
        assert_eq!(header.without_entry_points(), header.unsupported());
        for error in
            [ours.decode(&jpeg, Ask::default()).unwrap_err(), ours.points(&jpeg).unwrap_err()]
        {
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert!(error.to_string().contains(why), "{error}");
            assert!(error.text().ends_with(header.way_on().unwrap()), "{error}");
        }
        let error = ours.decode(&jpeg[..jpeg.len() - 2], Ask::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Damaged, "a cut comes first");
    }
}

/// Frames of motion JPEG omit their tables.
#[test]
fn tables_that_are_not_in_the_file_are_the_typical_ones() {
    let mut both = Comparison::new();
    let kinds = [Scans::Interleaved, Scans::OneEach, Scans::LumaThenChroma];
    for (channels, scans) in [1, 3, 4].into_iter().flat_map(|n| kinds.map(|scans| (n, scans))) {
        if channels == 1 && scans != Scans::Interleaved {
            continue;
        }
        let recipe = Recipe { scans, quality: 95, ..Recipe::sampled(2, 1) };
        let mut pieces = Pieces::of(&both.encode(&scene(channels), &recipe));
        pieces.segments.retain(|(marker, _)| *marker != 0xC4);
        if scans != Scans::Interleaved {
            // Tables of later scans are those of the first.
            fn at(data: &[u8]) -> Option<usize> {
                data.windows(2).position(|w| w == [0xFF, 0xC4])
            }
            while let Some(from) = at(&pieces.data) {
                let length =
                    usize::from(pieces.data[from + 2]) << 8 | usize::from(pieces.data[from + 3]);
                pieces.data.drain(from..from + 2 + length);
            }
        }
        let jpeg = pieces.file(0);
        both.scales(&jpeg, &(channels, scans));
        assert_eq!(both.ours.points(&jpeg).unwrap(), b"", "FORMAT.md wants tables in the file");
    }
    both.verdict();
    let progressive = Recipe { progressive: true, ..Recipe::default() };
    let mut pieces = Pieces::of(&Turbo::new().encode(&scene(3), &progressive));
    pieces.segments.retain(|(marker, _)| *marker != 0xC4);
    let error = TestDecoder::default().decode(&pieces.file(0), Ask::default()).unwrap_err();
    assert!(error.text().contains("Huffman table 0 was never given"), "{error}");
}

/// A scan of some components in another order than the frame's; for a scan of all components
/// libjpeg-turbo refuses that.
#[test]
fn a_scan_has_an_order_of_its_own() {
    let mut both = Comparison::new();
    for (luma, scans) in [(1, 1), (2, 2)].map(|luma| (luma, Scans::LumaThenChroma)) {
        let recipe = Recipe { scans, three_tables: true, luma, ..Recipe::default() };
        let mut pieces = Pieces::of(&both.encode(&scene(3), &recipe));
        // The components swap their names in the frame, so the scan has the second before the
        // first.
        let frame = pieces.body(0xC0);
        frame.swap(9, 12);
        let jpeg = pieces.file(0);
        assert!(Header::parse(&jpeg).unwrap().has_several_scans());
        both.scales(&jpeg, &luma);
    }
    both.verdict();
    let mut pieces = Pieces::of(&Turbo::new().encode(&scene(3), &Recipe::default()));
    pieces.body(0xC0).swap(9, 12);
    let error = Header::parse(&pieces.file(0)).unwrap_err();
    assert!(error.text().contains("names components that are not there"), "{error}");
    assert!(Turbo::new().decode(&pieces.file(0), 1, crate::harness::turbo::Color::Rgb).is_err());
}

#[test]
fn scans_of_some_components_of_any_sampling_are_an_error() {
    let mut ours = TestDecoder::default();
    let picture = Picture::new(16, 8, 4, Motif::Scene, 1);
    let mut pieces = Pieces::of(&Turbo::new().encode(&picture, &Recipe::default()));
    let ids: Vec<u8> = pieces.body(0xC0)[6..].chunks(3).map(|component| component[0]).collect();
    *pieces.body(0xDA) = vec![3, ids[1], 0, ids[2], 0, ids[3], 0, 0, 63, 0];
    let factors = [0x11, 0x12, 0x21, 0x22, 0x41, 0x44, 0x31];
    for number in 0..factors.len().pow(3) {
        let frame = pieces.body(0xC0);
        for component in 0..3 {
            let digit = number / factors.len().pow(component) % factors.len();
            frame[7 + 3 * component as usize] = factors[digit];
        }
        let jpeg = pieces.file(0);
        let error = ours.decode(&jpeg, Ask::default()).unwrap_err();
        let placed = error.byte().is_some_and(|byte| byte <= jpeg.len() as u64);
        assert!(placed || error.kind() == ErrorKind::Unsupported, "{error:?}");
    }
}

/// Of every sampling that libjpeg-turbo writes.
#[test]
fn no_sampling_is_decoded_to_another_picture() {
    let mut both = Comparison::new();
    let mut same = 0;
    let kinds = [
        Recipe::default(),
        Recipe { progressive: true, ..Recipe::default() },
        Recipe { scans: Scans::OneEach, ..Recipe::default() },
        Recipe { scans: Scans::LumaThenChroma, ..Recipe::default() },
    ];
    for (n, kind) in (0..4 * 256u32).map(|n| (n / 4, &kinds[n as usize % 4])) {
        let factor = |digit: u32| 1 + (n >> (2 * digit)) % 4;
        let recipe =
            Recipe { luma: (factor(0), factor(1)), chroma: (factor(2), factor(3)), ..kind.clone() };
        for (width, height) in [(53, 38), (70, 50), (17, 9)] {
            let picture = Picture::new(width, height, 3, Motif::Scene, 11);
            let Ok(jpeg) = both.turbo.try_encode(&picture, &recipe) else { continue };
            both.whole(&jpeg, Scale::Full, Color::Rgb, &recipe);
            both.whole(&jpeg, Scale::ALL[n as usize % 4], Color::Rgb, &recipe);
            same += 1;
            // FORMAT.md: a first component as fine as any, others 1, 2 or 4 times as coarse.
            fn fits(most: u32, own: u32) -> bool {
                most.is_multiple_of(own) && [1, 2, 4].contains(&(most / own))
            }
            let (h, v) = recipe.luma;
            let (across, down) = recipe.chroma;
            let one = kind.scans == Scans::Interleaved && !kind.progressive;
            let has = one && fits(h, across) && fits(v, down);
            assert_eq!(!both.ours.points(&jpeg).unwrap().is_empty(), has, "{recipe:?}");
        }
    }
    both.verdict();
    assert!(same > 900, "{same} decoded");
}
