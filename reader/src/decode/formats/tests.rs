//! Formats beside JPEG: every colour kind, wrong and damaged files.

use image::{DynamicImage, ImageFormat};
use tarflume_fixtures::SplitMix64;

use super::*;

fn picture(color: ColorType) -> DynamicImage {
    let mut rng = SplitMix64::new(5);
    let mut picture = DynamicImage::new(13, 7, color);
    let mut rgba = image::Rgba32FImage::new(13, 7);
    for pixel in rgba.pixels_mut() {
        pixel.0 = [0; 4].map(|_: i32| rng.between(0, 1 << 20) as f32 / (1 << 20) as f32);
    }
    picture.copy_from_color_space(&DynamicImage::ImageRgba32F(rgba), Default::default()).unwrap();
    picture
}

fn encode(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    picture.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

fn decode(bytes: &[u8], wanted: Channels) -> Result<Pixels> {
    let mut pixels = Pixels { bytes: vec![9; 5], ..Pixels::default() };
    Other::open(bytes)?.decode(wanted, &mut pixels)?;
    Ok(pixels)
}

#[test]
fn every_format_and_depth_gives_the_wanted_channels() {
    let kinds = [
        (ImageFormat::Png, ColorType::L8),
        (ImageFormat::Png, ColorType::La8),
        (ImageFormat::Png, ColorType::Rgb8),
        (ImageFormat::Png, ColorType::Rgba8),
        (ImageFormat::Png, ColorType::L16),
        (ImageFormat::Png, ColorType::La16),
        (ImageFormat::Png, ColorType::Rgb16),
        (ImageFormat::Png, ColorType::Rgba16),
        (ImageFormat::WebP, ColorType::Rgb8),
        (ImageFormat::WebP, ColorType::Rgba8),
        (ImageFormat::Gif, ColorType::Rgba8),
        (ImageFormat::Bmp, ColorType::Rgb8),
        (ImageFormat::Bmp, ColorType::L8),
        (ImageFormat::Tiff, ColorType::Rgb16),
        (ImageFormat::Tiff, ColorType::Rgb32F),
        (ImageFormat::Tiff, ColorType::L8),
    ];
    for (format, color) in kinds {
        let bytes = encode(&picture(color), format);
        let oracle = image::load_from_memory_with_format(&bytes, format).unwrap();
        for wanted in [Channels::Rgb, Channels::Rgba, Channels::Grey] {
            let found = decode(&bytes, wanted).unwrap();
            let name = format!("{format:?} {color:?} {wanted:?}");
            assert_eq!((found.width, found.height), (13, 7), "{name}");
            assert_eq!(found.bytes.len(), 13 * 7 * found.channels, "{name}");
            assert!(found.channels <= wanted.count(), "{name}");
            let expected = oracle.to_rgba8();
            for (pixel, found) in expected.pixels().zip(found.bytes.chunks(found.channels)) {
                let [r, g, b, a] = pixel.0;
                let close = |found: u8, expected: u8| found.abs_diff(expected) <= 1;
                let same = match (wanted, found) {
                    (Channels::Grey, [grey]) => close(*grey, luma(r, g, b)),
                    (_, [grey]) => {
                        [r, g, b].iter().all(|&c| close(*grey, c))
                            && (wanted != Channels::Rgba || a == 255)
                    }
                    (_, [fr, fg, fb]) => close(*fr, r) && close(*fg, g) && close(*fb, b),
                    (_, found) => found.iter().zip(pixel.0).all(|(&f, e)| close(f, e)),
                };
                assert!(same, "{name}: {found:?} {pixel:?}");
            }
        }
    }
}

#[test]
fn a_palette_with_opacity_is_looked_up() {
    let png = indexed_png();
    let found = decode(&png, Channels::Rgba).unwrap();
    assert_eq!(found.bytes, [255, 0, 0, 255, 0, 0, 255, 128]);
    assert_eq!(decode(&png, Channels::Rgb).unwrap().bytes, [255, 0, 0, 0, 0, 255]);
}

/// Two pixels of a palette of two colours, the second half transparent.
fn indexed_png() -> Vec<u8> {
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut chunk = |kind: &[u8], data: &[u8]| {
        png.extend((data.len() as u32).to_be_bytes());
        png.extend(kind);
        png.extend(data);
        png.extend(crc32(&[kind, data].concat()).to_be_bytes());
    };
    chunk(b"IHDR", &[0, 0, 0, 2, 0, 0, 0, 1, 8, 3, 0, 0, 0]);
    chunk(b"PLTE", &[255, 0, 0, 0, 0, 255]);
    chunk(b"tRNS", &[255, 128]);
    // zlib, one stored block: filter 0, pixels 0 and 1, then its Adler-32.
    chunk(b"IDAT", &[0x78, 1, 1, 3, 0, 0xfc, 0xff, 0, 0, 1, 0, 5, 0, 2]);
    chunk(b"IEND", &[]);
    png
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |c, _| (c >> 1) ^ (0xedb8_8320 & (c & 1).wrapping_neg()))
    })
}

#[test]
fn what_is_no_picture_is_told_by_its_first_bytes() {
    for bytes in [&b""[..], b"{\"a\": 1}", b"\x89PNG", b"RIFF\x10\0\0\0WAVE"] {
        let error = decode(bytes, Channels::Rgb).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Decode, "{error}");
    }
    let error = decode(b"hello", Channels::Rgb).map(drop).unwrap_err();
    assert!(error.text().contains("68, 65, 6c, 6c"), "{error}");
}

#[test]
fn every_cut_is_an_error_and_random_damage_never_panics() {
    let mut random = SplitMix64::new(13);
    let formats = [
        (ImageFormat::Png, ColorType::Rgba8),
        (ImageFormat::Png, ColorType::Rgb16),
        (ImageFormat::WebP, ColorType::Rgb8),
        (ImageFormat::Gif, ColorType::Rgba8),
        (ImageFormat::Bmp, ColorType::Rgb8),
        (ImageFormat::Tiff, ColorType::Rgb8),
    ];
    for (format, color) in formats {
        let whole = encode(&picture(color), format);
        decode(&whole, Channels::Rgb).unwrap();
        let mut passed = Vec::new();
        for length in 0..whole.len() {
            if decode(&whole[..length], Channels::Rgb).is_ok() {
                passed.push(whole.len() - length);
            }
        }
        // All pixels are there when only the end mark is missing.
        assert!(passed.iter().all(|&cut| cut <= 24), "{format:?} cut by {passed:?} passed");
        for _ in 0..400 {
            let mut bytes = whole.clone();
            for _ in 0..random.between(1, 4) {
                let place = random.below(bytes.len() as u32) as usize;
                bytes[place] = random.next_u64() as u8;
            }
            // Above this file a limit stands on the size.
            if Other::open(&bytes).is_ok_and(|other| other.size.pixels() < 1 << 22) {
                drop(decode(&bytes, Channels::Rgba));
            }
        }
    }
}
