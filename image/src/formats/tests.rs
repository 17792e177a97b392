//! Formats beside JPEG: every color kind, wrong and damaged files.

mod palettes;
mod planes;

use std::io::Cursor;

use image::{ColorType, DynamicImage, ImageFormat};
use tarflume_fixtures::{SplitMix64, bombs};

use tarflume_types::ErrorKind;

use super::*;
use crate::picture::pixels::luma;

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

fn decode(bytes: &[u8], channels: Channels) -> Result<Pixels> {
    decode_as(bytes, Wanted { channels, exact: false })
}

fn decode_as(bytes: &[u8], wanted: Wanted) -> Result<Pixels> {
    let mut pixels = Pixels { bytes: vec![9; 5], words: vec![9; 5], ..Pixels::default() };
    OtherPicture::open(bytes)?.decode(wanted, &mut pixels)?;
    Ok(pixels)
}

#[test]
fn every_format_and_depth_gives_the_wanted_channels() {
    fn close(found: u8, expected: u8) -> bool {
        found.abs_diff(expected) <= 1
    }

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
        for wanted in [Channels::Rgb, Channels::Rgba, Channels::Luma] {
            let found = decode(&bytes, wanted).unwrap();
            let name = format!("{format:?} {color:?} {wanted:?}");
            assert_eq!((found.width, found.height), (13, 7), "{name}");
            assert_eq!(found.bytes.len(), 13 * 7 * found.channels, "{name}");
            assert!(found.channels <= wanted.count(), "{name}");
            let expected = oracle.to_rgba8();
            for (pixel, found) in expected.pixels().zip(found.bytes.chunks(found.channels)) {
                let [r, g, b, a] = pixel.0;
                let same = match (wanted, found) {
                    (Channels::Luma, [gray]) => close(*gray, luma(r, g, b)),
                    (_, [gray]) => {
                        [r, g, b].iter().all(|&c| close(*gray, c))
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
fn the_error_for_a_file_that_is_no_picture_names_its_type() {
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
        // Only the end marker is missing; all pixels are present.
        assert!(passed.iter().all(|&cut| cut <= 24), "{format:?} cut by {passed:?} passed");
        for _ in 0..400 {
            let mut bytes = whole.clone();
            for _ in 0..random.between(1, 4) {
                let place = random.below(bytes.len() as u32) as usize;
                bytes[place] = random.next_u64() as u8;
            }
            // The size limit excludes the bytes after this file.
            if OtherPicture::open(&bytes).is_ok_and(|other| other.size.pixels() < 1 << 22) {
                drop(decode(&bytes, Channels::Rgba));
            }
        }
    }
}

#[test]
fn codes_of_a_lossless_webp_are_counted() {
    // Nearly every first pixel of these has a separate group of codes.
    for color in [ColorType::Rgb8, ColorType::Rgba8] {
        let bytes = encode(&picture(color), ImageFormat::WebP);
        let codes = webp::codes::memory(&bytes[20..], None).unwrap();
        assert!((1024..64 << 10).contains(&codes), "{codes} bytes of codes");
        for cut in 0..bytes.len() - 40 {
            webp::codes::memory(&bytes[20..20 + cut], None).map(drop).unwrap_or_default();
        }
    }
    let bomb = bombs().into_iter().find(|bomb| bomb.name.contains("codes of 4,096")).unwrap();
    let other = OtherPicture::open(&bomb.bytes).unwrap();
    let tables = 4096 * 5 * 4096;
    assert!(other.memory() >= tables && other.memory() < tables / 4 * 5, "{}", other.memory());
    other.decode(EVERYTHING, &mut Pixels::default()).unwrap();
    // Opacity is stored in the same way, but for the sides.
    let codes = &bomb.bytes[25..];
    let size = ImageSize::new(4, 4);
    let file =
        [&[0; 12][..], b"ALPH", &(codes.len() as u32 + 1).to_le_bytes(), &[1], codes].concat();
    assert!(webp::Chunks::of(&file, size).beside().unwrap() >= tables);
    let cut = &bomb.bytes[..bomb.bytes.len() / 2];
    let error = OtherPicture::open(cut).map(drop).unwrap_err();
    assert!(error.text().contains("codes"), "{error}");
}

/// A BigTIFF of these tags: number, type, count, and the value or where it is.
fn big_tiff(tags: &[(u16, u16, u64, u64)]) -> Vec<u8> {
    let mut tiff = b"II\x2b\0\x08\0\0\0".to_vec();
    tiff.extend(16u64.to_le_bytes());
    tiff.extend((tags.len() as u64).to_le_bytes());
    for (tag, kind, count, value) in tags {
        tiff.extend([tag.to_le_bytes(), kind.to_le_bytes()].concat());
        tiff.extend([count.to_le_bytes(), value.to_le_bytes()].concat());
    }
    tiff.extend([0; 8]);
    tiff
}

#[test]
fn a_tiff_with_tags_that_decoders_read_differently_is_refused() {
    fn refused(more: &[(u16, u16, u64, u64)], why: &str) {
        let picture =
            [(256, 4, 1, 8), (257, 4, 1, 8), (258, 3, 1, 8), (259, 3, 1, 7), (262, 3, 1, 1)];
        let error = tiff::beside(&big_tiff(&[&picture[..], more].concat())).unwrap_err();
        assert!(error.contains(why), "{error}");
    }

    refused(&[(256, 4, 1, 9)], "tag 256 of the TIFF is repeated");
    refused(&[(273, 3, 1, 8), (273, 3, 1, 9)], "tag 273 of the TIFF is repeated");
    refused(&[(40_000, 99, 1, 1)], "tag 40000 of the TIFF has the unknown type 99");
    refused(&[(277, 14, 1, 1)], "tag 277 of the TIFF has type 14");
    refused(&[(322, 11, 1, 1)], "tag 322 of the TIFF has type 11");
    refused(&[(273, 4, 1 << 18, 8)], "tag 273 of the TIFF declares 262144 values");
    // A tag that the decoder does not read may be repeated.
    assert!(tiff::beside(&big_tiff(&[(40_000, 1, 1, 1), (40_000, 1, 1, 2)])).is_ok());
    // Sides beyond all bounds.
    let far = u64::MAX;
    let tiles = [(324, 4, 1, 8), (325, 4, 1, 8)];
    refused(&[&[(322, 16, 1, far), (323, 16, 1, far)], &tiles[..]].concat(), "no readable header");
}

#[test]
fn the_jpeg_of_a_tiff_is_the_one_that_its_decoder_finds() {
    for (bomb, why) in [
        ("larger than its strip", "16000x16000 pixels is in a strip or tile of 8x8"),
        ("tables that end within", "16000x16000 pixels is in a strip or tile of 8x8"),
        ("an APP0 of six bytes", "16000x16000 pixels is in a strip or tile of 8x8"),
        ("stands twice", "tag 259 of the TIFF is repeated"),
        ("an unknown type", "tag 259 of the TIFF has type 99"),
    ] {
        let found = bombs().into_iter().find(|found| found.name.contains(bomb)).unwrap();
        let error = OtherPicture::open(&found.bytes).map(drop).unwrap_err();
        assert!(error.text().contains(why), "{bomb}: {error}");
    }
}

/// A TIFF of so many strips of `jpeg`, which all begin at its first byte.
fn strips(jpeg: &[u8], count: u32) -> Vec<u8> {
    let places = 8 + jpeg.len() as u32;
    let tags = [
        (256, 4, 1, 8),
        (257, 4, 1, count),
        (258, 3, 1, 8),
        (259, 3, 1, 7),
        (262, 3, 1, 1),
        (273, 4, count, places),
        (277, 3, 1, 1),
        (278, 3, 1, 1),
        (279, 4, count, places + 4 * count),
    ];
    let mut tiff = [&b"II\x2a\0"[..], &(places + 8 * count).to_le_bytes(), jpeg].concat();
    // Every second one is a byte shorter, so that none is known from before.
    (0..count).for_each(|_| tiff.extend(8u32.to_le_bytes()));
    (0..count).for_each(|n| tiff.extend((jpeg.len() as u32 - n % 2).to_le_bytes()));
    tiff.extend((tags.len() as u16).to_le_bytes());
    for (tag, kind, count, value) in tags {
        tiff.extend([u16::to_le_bytes(tag), u16::to_le_bytes(kind)].concat());
        tiff.extend([u32::to_le_bytes(count), value.to_le_bytes()].concat());
    }
    tiff.extend([0; 4]);
    tiff
}

#[test]
fn strips_that_lie_upon_each_other_are_refused() {
    let mut jpeg =
        tarflume_fixtures::Photo::new(8, 8, tarflume_fixtures::PhotoKind::Gray).encode(1).unwrap();
    jpeg.resize(64 << 10, 0);
    assert!(tiff::beside(&strips(&jpeg, 64)).is_ok(), "some may be the same");
    let error = tiff::beside(&strips(&jpeg, 1 << 17)).unwrap_err();
    assert!(error.contains("overlap"), "{error}");
}

#[test]
fn an_animation_frame_of_another_size_than_its_bitstream_is_an_error() {
    let seed = include_bytes!("../../../fuzz/seeds/pictures/webp-frames");
    let sides = seed.windows(3).position(|bytes| bytes == [0x9d, 0x01, 0x2a]).unwrap() + 3;
    assert_eq!(check(seed, 1 << 20).unwrap(), ImageSize::new(32, 24));
    for (width, height) in [(0, 0), (0, 24), (32, 0), (31, 24), (32, 23)] {
        let mut bytes = seed.to_vec();
        (bytes[sides], bytes[sides + 2]) = (width, height);
        let error = check(&bytes, 1 << 20).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Decode);
        assert!(error.to_string().contains("another size than its bitstream"), "{error}");
    }
}

#[test]
fn a_panic_of_a_decoder_is_an_error_of_the_data() {
    let error = guarded(|| -> Result<()> { panic!("index out of bounds") }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Decode);
    assert!(error.to_string().contains("its decoder panicked"), "{error}");
}

#[test]
fn kinds_that_are_not_decoded_are_named() {
    fn box_of(brand: &[u8]) -> Vec<u8> {
        [b"\0\0\0\x1cftyp", brand, b"\0\0\0\0mif1avifmiaf"].concat()
    }

    let cases: [(Vec<u8>, &str); 8] = [
        (box_of(b"avif"), "an AVIF"),
        (box_of(b"mif1"), "an AVIF"),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic".to_vec(), "a HEIC"),
        (b"\xff\x0a\x7f\0".to_vec(), "a JPEG XL"),
        (b"\0\0\0\x0cJXL \r\n\x87\n".to_vec(), "a JPEG XL"),
        (b"\0\0\0\x0cjP  \r\n\x87\n".to_vec(), "a JPEG 2000"),
        (b"\xff\x4f\xff\x51\0".to_vec(), "a JPEG 2000"),
        (b"qoif\0\0\0\x01".to_vec(), "a QOI"),
    ];
    for (bytes, name) in cases {
        let error = OtherPicture::open(&bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{name}");
        assert!(error.text().contains(name), "{name}: {error}");
    }
    // A BMP of OS/2, and a TIFF with a compression that is not decoded.
    let mut bmp = encode(&picture(ColorType::Rgb8), ImageFormat::Bmp);
    bmp[14] = 64;
    let mut tiff = encode(&picture(ColorType::Rgb8), ImageFormat::Tiff);
    let compression = tiff.windows(4).position(|tag| tag == [3, 1, 3, 0]).unwrap();
    tiff[compression + 8..compression + 10].copy_from_slice(&34_661u16.to_le_bytes());
    for bytes in [bmp, tiff] {
        let error = decode(&bytes, Channels::Rgb).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    }
    let page = OtherPicture::open(b"<!DOCTYPE html>").unwrap_err();
    assert_eq!(page.kind(), ErrorKind::Decode);
    assert!(page.text().contains("an HTML page"), "{page}");
}

/// A GIF of one frame of four colors, two pixels from the left and one from the top.
fn one_frame(colors: &[u8], screen: u16, transparent: Option<u8>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = gif_encoder(&mut bytes, screen, colors);
    let buffer = vec![0, 1, 2, 3].into();
    let frame = ::gif::Frame {
        left: 2,
        top: 1,
        width: 2,
        height: 2,
        buffer,
        transparent,
        ..Default::default()
    };
    encoder.write_frame(&frame).unwrap();
    drop(encoder);
    bytes
}

#[test]
fn a_frame_of_a_gif_lies_on_a_canvas_that_holds_it() {
    let colors = [10, 20, 30, 200, 0, 0, 0, 200, 0, 0, 0, 200];
    for (screen, transparent) in [(5, None), (3, Some(3)), (0, None)] {
        let bytes = one_frame(&colors, screen, transparent);
        let found = decode(&bytes, Channels::Rgba).unwrap();
        let width = u32::from(screen).max(4);
        let height = u32::from(screen).max(3);
        assert_eq!((found.width, found.height), (width, height));
        for (n, pixel) in found.bytes.chunks(4).enumerate() {
            let x = n as u32 % width;
            let y = n as u32 / width;
            let is_inside = (2..4).contains(&x) && (1..3).contains(&y);
            let index = is_inside.then(|| x - 2 + 2 * (y - 1));
            let expected = match index {
                None => [0; 4],
                Some(index) => {
                    let color = &colors[3 * index as usize..][..3];
                    let opacity = if transparent == Some(index as u8) { 0 } else { 255 };
                    [color[0], color[1], color[2], opacity]
                }
            };
            assert_eq!(pixel, expected, "{x}, {y} of a screen of {screen}");
        }
        let numbers = decode(&bytes, Channels::Index).unwrap();
        assert_eq!(numbers.bytes[width as usize + 2..][..2], [0, 1]);
        assert_eq!(numbers.bytes[0], transparent.unwrap_or(0));
        let error = decode(&bytes[..bytes.len() - 6], Channels::Index).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Decode);
    }
}

fn gif_encoder<'a>(
    out: &'a mut Vec<u8>,
    screen: u16,
    colors: &[u8],
) -> ::gif::Encoder<&'a mut Vec<u8>> {
    ::gif::Encoder::new(out, screen, screen, colors).unwrap()
}
