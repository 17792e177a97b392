//! JPEGs that another library decodes behind the same interface: nearly libjpeg-turbo's pixels, or an
//! error that says why not, and never a panic.

use tarflume_jpeg::{Colour, ErrorKind, Header, Region, Scale};

use crate::beside::Beside;
use crate::ours::{Ask, Ours};
use crate::picture::{Motif, Picture};
use crate::segments::{Pieces, segments};
use crate::turbo::{Recipe, Scans, Turbo};

/// The largest difference to libjpeg-turbo's pixels where chroma is not upsampled: another inverse DCT
/// and another rounding of colours.
const NEAR: u8 = 6;

fn scene(channels: usize) -> Picture {
    Picture::new(53, 38, channels, Motif::Scene, 11)
}

fn largest(a: &Picture, b: &Picture) -> u8 {
    assert_eq!((a.width, a.height, a.channels), (b.width, b.height, b.channels));
    a.bytes.iter().zip(&b.bytes).map(|(a, b)| a.abs_diff(*b)).max().unwrap()
}

#[test]
fn progressive_ones_and_those_of_several_scans_are_nearly_the_same() {
    let mut beside = Beside::new();
    let plain = Recipe::default;
    let recipes = [
        Recipe { progressive: true, ..plain() },
        Recipe { progressive: true, restart: 3, ..plain() },
        Recipe { scans: Scans::OneEach, ..plain() },
        Recipe { scans: Scans::LumaThenChroma, ..plain() },
    ];
    for recipe in recipes {
        for channels in [1, 3] {
            if channels == 1 && recipe.scans != Scans::Interleaved {
                continue;
            }
            let jpeg = beside.encode(&scene(channels), &recipe);
            assert!(Header::parse(&jpeg).unwrap().foreign().is_some());
            let right = beside.right(&jpeg, Scale::Full, Colour::Rgb);
            let ours = beside.ours.decode(&jpeg, Ask::default()).unwrap();
            assert!(largest(&ours, &right) <= NEAR, "{recipe:?}: {}", largest(&ours, &right));
            let region = Region { left: 9, top: 8, width: 30, height: 7 };
            let ask = Ask { region: Some(region), ..Ask::default() };
            let part = beside.ours.decode(&jpeg, ask).unwrap();
            assert_eq!(part.difference(&ours.crop(9, 8, 30, 7)), None);
            assert_eq!(beside.ours.points(&jpeg).unwrap_err().kind(), ErrorKind::Unsupported);
        }
    }
}

#[test]
fn progressive_ones_have_all_scales() {
    let mut beside = Beside::new();
    let jpeg = beside.encode(&scene(3), &Recipe { progressive: true, ..Recipe::default() });
    for (scale, size) in Scale::ALL.into_iter().zip([(53, 38), (27, 19), (14, 10), (7, 5)]) {
        let picture = beside.ours.decode(&jpeg, Ask { scale, ..Ask::default() }).unwrap();
        assert_eq!((picture.width, picture.height), size);
    }
}

#[test]
fn cmyk_is_decoded_as_rgb() {
    let mut turbo = Turbo::new();
    let jpeg = turbo.encode(&scene(4), &Recipe::default());
    let mut ours = Ours::default();
    let picture = ours.decode(&jpeg, Ask::default()).unwrap();
    assert_eq!((picture.width, picture.height, picture.channels), (53, 38, 3));
}

#[test]
fn what_nobody_decodes_is_refused_with_a_reason() {
    let mut turbo = Turbo::new();
    let jpeg = turbo.encode(&scene(3), &Recipe { arithmetic: true, ..Recipe::default() });
    let error = Ours::default().decode(&jpeg, Ask::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("arithmetic"), "{error}");
}

/// The other library panics at some of these; here that is an error like others.
#[test]
fn three_of_four_components_of_any_sampling_are_an_error() {
    let mut ours = Ours::default();
    let picture = Picture::new(16, 8, 4, Motif::Scene, 1);
    let mut pieces = Pieces::of(&Turbo::new().encode(&picture, &Recipe::default()));
    let ids: Vec<u8> = pieces.body(0xC0)[6..].chunks(3).map(|component| component[0]).collect();
    *pieces.body(0xDA) = vec![3, ids[1], 0, ids[2], 0, ids[3], 0, 0, 63, 0];
    let factors = [0x11, 0x12, 0x21, 0x22, 0x41, 0x44];
    for number in 0..factors.len().pow(3) {
        let frame = pieces.body(0xC0);
        for component in 0..3 {
            let digit = number / factors.len().pow(component) % factors.len();
            frame[7 + 3 * component as usize] = factors[digit];
        }
        let jpeg = pieces.file(0);
        if let Err(error) = ours.decode(&jpeg, Ask::default()) {
            let placed = error.byte().is_some_and(|byte| byte <= jpeg.len() as u64);
            assert!(placed || error.kind() == ErrorKind::Unsupported, "{error:?}");
        }
    }
}

/// Of every sampling that libjpeg-turbo writes: its pixels, nearly its pixels, or no picture at all.
#[test]
fn no_sampling_is_decoded_to_another_picture() {
    /// Chroma that is upsampled otherwise, at an edge.
    const UPSAMPLED: u8 = 32;
    let mut beside = Beside::new();
    let (mut near, mut refused) = (0, 0);
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
            let Ok(jpeg) = beside.turbo.try_encode(&picture, &recipe) else { continue };
            let right = beside.right(&jpeg, Scale::Full, Colour::Rgb);
            match beside.ours.decode(&jpeg, Ask::default()) {
                Ok(ours) => {
                    let most = largest(&ours, &right);
                    assert!(most <= UPSAMPLED, "{width}x{height} {recipe:?}: {most}");
                    near += 1;
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Unsupported, "{recipe:?}: {error}");
                    let (h, v) = recipe.luma;
                    let own_scans = recipe.scans != Scans::Interleaved && v > 1;
                    let usual = recipe.chroma == (1, 1) && h != 3 && v != 3 && !own_scans;
                    assert!(!usual, "{recipe:?}: {error}");
                    refused += 1;
                }
            }
        }
    }
    assert!(near > 100 && refused > 100, "{near} decoded, {refused} refused");
}

/// The last scan of a file, so often: each may cost a pass over all blocks, and is a dozen bytes long.
fn repeat_last_scan(jpeg: &[u8], times: usize) -> Vec<u8> {
    let last = segments(jpeg).into_iter().rfind(|segment| segment.marker == 0xDA).unwrap();
    let (scan, end) = (last.at - 4, jpeg.len() - 2);
    [&jpeg[..scan], &jpeg[scan..end].repeat(times), &jpeg[end..]].concat()
}

#[test]
fn more_scans_than_any_encoder_writes_are_refused_before_the_first_is_decoded() {
    let mut beside = Beside::new();
    let several = Recipe { scans: Scans::OneEach, ..Recipe::default() };
    let progressive = Recipe { progressive: true, ..Recipe::default() };
    let mut ours = Ours::default();
    for (recipe, times, limit) in [(several, 2, 3), (progressive, 1000, 100)] {
        let jpeg = beside.encode(&scene(3), &recipe);
        let error = ours.decode(&repeat_last_scan(&jpeg, times), Ask::default()).unwrap_err();
        let limit = format!("more than {limit} scans");
        assert!(error.to_string().contains(&limit), "{error}");
        assert_eq!(error.kind(), ErrorKind::Damaged);
        assert!(error.byte().unwrap() > jpeg.len() as u64 - 100, "{error}");
        ours.decode(&jpeg, Ask::default()).unwrap();
    }
}
