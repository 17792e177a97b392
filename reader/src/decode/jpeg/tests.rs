//! JPEGs beside what the `image` crate makes of them, and damaged ones.

use tarflume_fixtures::{PHOTOS, Photo, PhotoKind, SplitMix64};

use super::*;

fn decode(bytes: &[u8], wanted: Channels, rows: u32) -> Result<Pixels> {
    let mut pixels = Pixels::default();
    let mut input = vec![7; 3];
    Jpeg::open(bytes)?.decode(wanted, rows, &mut input, &mut pixels)?;
    Ok(pixels)
}

fn oracle(bytes: &[u8]) -> image::RgbImage {
    image::load_from_memory_with_format(bytes, image::ImageFormat::Jpeg).unwrap().into_rgb8()
}

fn photographs() -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for kind in PhotoKind::ALL {
        for (width, height) in [(1, 1), (8, 8), (17, 9), (97, 61), (320, 240)] {
            let bytes = Photo::new(width, height, kind).encode(7).unwrap();
            all.push((format!("{kind:?} {width} x {height}"), bytes));
        }
    }
    all.extend(PHOTOS.iter().map(|photo| (photo.key.to_string(), photo.jpeg.to_vec())));
    all
}

#[test]
fn every_kind_decodes_as_the_image_crate_does() {
    for (name, bytes) in photographs() {
        let found = decode(&bytes, Channels::Rgb, u32::MAX).unwrap();
        let expected = oracle(&bytes);
        assert_eq!((found.width, found.height), expected.dimensions(), "{name}");
        let grey = found.channels == 1;
        let same = expected.pixels().enumerate().all(|(at, pixel)| {
            if grey {
                pixel.0 == [found.bytes[at]; 3]
            } else {
                pixel.0 == found.bytes[at * 3..at * 3 + 3]
            }
        });
        assert!(same, "{name}");
    }
}

#[test]
fn the_first_rows_are_the_same_when_only_they_are_decoded() {
    for (name, bytes) in photographs() {
        let whole = decode(&bytes, Channels::Rgb, u32::MAX).unwrap();
        let stride = whole.width as usize * whole.channels;
        for rows in [1, 7, 8, 15, 16, 17, 31, 32, 60, 100, 200] {
            let found = decode(&bytes, Channels::Rgb, rows).unwrap();
            let rows = rows.min(whole.height) as usize;
            assert!(found.height as usize >= rows, "{name}");
            assert!(found.bytes[..rows * stride] == whole.bytes[..rows * stride], "{name}, {rows}");
        }
    }
}

#[test]
fn grey_of_colour_is_its_luma() {
    for (name, bytes) in photographs() {
        let found = decode(&bytes, Channels::Grey, u32::MAX).unwrap();
        assert_eq!(found.channels, 1, "{name}");
        let expected = oracle(&bytes);
        let mut worst = 0;
        for (at, pixel) in expected.pixels().enumerate() {
            let expected = luma(pixel[0], pixel[1], pixel[2]);
            // Colours that RGB can't hold were clipped on the oracle's way.
            let clipped = pixel.0.iter().any(|&c| c == 0 || c == 255);
            worst = worst.max(if clipped { 0 } else { found.bytes[at].abs_diff(expected) });
        }
        assert!(worst <= 2, "{name}: {worst}");
    }
}

#[test]
fn every_cut_is_an_error_and_random_damage_never_panics() {
    let mut random = SplitMix64::new(11);
    for kind in [PhotoKind::Yuv420, PhotoKind::Progressive, PhotoKind::Grey, PhotoKind::Cmyk] {
        let whole = Photo::new(40, 24, kind).encode(3).unwrap();
        for length in 0..whole.len() {
            assert!(
                decode(&whole[..length], Channels::Rgb, 24).is_err(),
                "{kind:?} cut to {length}"
            );
        }
        for _ in 0..1500 {
            let mut bytes = whole.clone();
            for _ in 0..random.between(1, 4) {
                let place = random.below(bytes.len() as u32) as usize;
                bytes[place] = random.next_u64() as u8;
            }
            for wanted in [Channels::Rgb, Channels::Grey] {
                // Damage to the size may ask for much; the limit is checked above this file.
                let size = markers::walk(&bytes).map(|s| s.size.pixels());
                if size.is_ok_and(|pixels| pixels < 1 << 22) {
                    drop(decode(&bytes, wanted, random.between(1, 24)));
                }
            }
        }
    }
}
