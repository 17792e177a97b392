//! JPEGs beside what the `image` crate makes of them, and damaged ones.

use tarflume_fixtures::{PHOTOS, Photo, PhotoKind, SplitMix64};
use tarflume_image::luma;

use tarflume_jpeg::Decoder;

use super::*;

/// A region at full scale, after another picture was decoded to the same buffer.
fn decode(bytes: &[u8], wanted: Channels, cut: Option<Cut>) -> Result<Pixels> {
    let mut pixels = Pixels { bytes: vec![200; 64 * 64 * 3], ..Pixels::default() };
    let jpeg = Jpeg::open(bytes, None, None)?;
    let cut = cut.unwrap_or(Cut::whole(jpeg.size()));
    let view = jpeg.view(&Placement::of(cut, cut.size), None);
    assert_eq!((view.region.left, view.region.top), (cut.left, cut.top));
    let job = jpeg.job(&view, wanted, &mut pixels)?;
    Decoder::new().decode(job).map_err(convert_error)?;
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
fn every_kind_decodes_nearly_as_the_image_crate_does() {
    for (name, bytes) in photographs() {
        let found = decode(&bytes, Channels::Rgb, None).unwrap();
        let expected = oracle(&bytes);
        assert_eq!((found.width, found.height), expected.dimensions(), "{name}");
        // It rounds its inverse DCT in another way, and interpolates color less finely; exactness is
        // proved beside libjpeg-turbo, in jpeg/tests.
        let mut sum = 0;
        for (at, pixel) in expected.pixels().enumerate() {
            for (c, value) in pixel.0.iter().enumerate() {
                let place = if found.channels == 1 { at } else { at * 3 + c };
                sum += u64::from(found.bytes[place].abs_diff(*value));
            }
        }
        let mean = sum as f64 / expected.len() as f64;
        assert!(mean < 1.5, "{name}: {mean}");
    }
}

#[test]
fn a_region_is_the_same_part_of_the_whole() {
    for (name, bytes) in photographs() {
        let whole = decode(&bytes, Channels::Rgb, None).unwrap();
        let size = ImageSize::new((whole.width / 2).max(1), (whole.height / 3).max(1));
        let cut = Cut { left: whole.width / 3, top: whole.height / 4, size };
        let found = decode(&bytes, Channels::Rgb, Some(cut)).unwrap();
        let channels = whole.channels;
        for y in 0..size.height {
            let at = ((cut.top + y) * whole.width + cut.left) as usize * channels;
            let length = size.width as usize * channels;
            let row = y as usize * length;
            assert!(found.bytes[row..row + length] == whole.bytes[at..at + length], "{name}, {y}");
        }
    }
}

#[test]
fn pictures_are_decoded_smaller_only_as_long_as_enough_is_left() {
    let bytes = Photo::new(640, 480, PhotoKind::Yuv420).encode(7).unwrap();
    let jpeg = Jpeg::open(&bytes, None, None).unwrap();
    let cut = Cut { left: 101, top: 7, size: ImageSize::new(400, 450) };
    let placement = Placement::of(cut, ImageSize::new(100, 100));
    let gaps = [None, Some(1.0), Some(2.0), Some(4.0)];
    let scales = gaps.map(|gap| jpeg.view(&placement, gap).scale);
    assert_eq!(scales, [Scale::Full, Scale::Quarter, Scale::Half, Scale::Full]);
    let view = jpeg.view(&placement, Some(1.0));
    assert_eq!(view.region, Region { left: 25, top: 1, width: 101, height: 114 });
    let placed = view.place(&placement);
    assert_eq!((placed.area.left, placed.area.top), (0.25, 0.75));
    assert_eq!((placed.area.width, placed.area.height), (100.0, 112.5));
}

#[test]
fn gray_of_color_is_its_luma() {
    for (name, bytes) in photographs() {
        let found = decode(&bytes, Channels::Gray, None).unwrap();
        assert_eq!(found.channels, 1, "{name}");
        let expected = oracle(&bytes);
        let mut worst = 0;
        for (at, pixel) in expected.pixels().enumerate() {
            let expected = luma(pixel[0], pixel[1], pixel[2]);
            // Colors that RGB can't hold were clipped on the oracle's way.
            let clipped = pixel.0.iter().any(|&c| c == 0 || c == 255);
            worst = worst.max(if clipped { 0 } else { found.bytes[at].abs_diff(expected) });
        }
        assert!(worst <= 2, "{name}: {worst}");
    }
}

#[test]
fn every_cut_that_loses_pixels_is_an_error_and_random_damage_never_panics() {
    let mut random = SplitMix64::new(11);
    for kind in [PhotoKind::Yuv420, PhotoKind::Progressive, PhotoKind::Gray, PhotoKind::Cmyk] {
        let whole = Photo::new(40, 24, kind).encode(3).unwrap();
        for length in 0..whole.len() {
            // Without its last two bytes, a file only lacks the end-of-image marker.
            let is_whole = length >= whole.len() - 2;
            let decoded = decode(&whole[..length], Channels::Rgb, None);
            assert_eq!(decoded.is_ok(), is_whole, "{kind:?} cut to {length}");
        }
        for _ in 0..1500 {
            let mut bytes = whole.clone();
            for _ in 0..random.between(1, 4) {
                let place = random.below(bytes.len() as u32) as usize;
                bytes[place] = random.next_u64() as u8;
            }
            for wanted in [Channels::Rgb, Channels::Gray] {
                // Damage to the size may ask for much; the limit is checked above this file.
                let size = Jpeg::open(&bytes, None, None).map(|jpeg| jpeg.size().pixels());
                if size.is_ok_and(|pixels| pixels < 1 << 22) {
                    drop(decode(&bytes, wanted, None));
                }
            }
        }
    }
}

#[test]
fn truncated_data_never_show_an_earlier_picture() {
    let whole = Photo::new(64, 64, PhotoKind::Yuv444).encode(3).unwrap();
    let middle = whole.len() * 3 / 4;
    for inserted in [&[0xff, 0xfe, 0, 2, 0xff, 0xd9][..], &[0xff, 0xd9], &[0xff, 0xc4, 0, 2]] {
        let mut bytes = whole.clone();
        bytes.splice(middle..middle, inserted.iter().copied());
        assert!(decode(&bytes, Channels::Rgb, None).is_err(), "{inserted:02x?}");
    }
}

#[test]
fn a_picture_of_one_color_is_no_damage() {
    for shade in [0xaa, 0x55, 0] {
        let mut bytes = Vec::new();
        let encoder = image::codecs::jpeg::JpegEncoder::new_with_quality(&mut bytes, 100);
        let flat = image::GrayImage::from_pixel(20, 20, image::Luma([shade]));
        flat.write_with_encoder(encoder).unwrap();
        assert!(decode(&bytes, Channels::Rgb, None).unwrap().bytes == [shade; 400]);
    }
}

#[test]
fn the_scale_is_that_of_the_pixels_that_become_the_output() {
    let size = ImageSize::new(1100, 1100);
    let mut placement = Placement::of(Cut::whole(size), ImageSize::new(224, 224));
    assert_eq!(view(size, &placement, Some(2.0), Scale::Eighth).scale, Scale::Half);
    // The center of the picture, of which all may be read: it must not be enlarged again.
    placement.area = Area { left: 430.0, top: 430.0, width: 240.0, height: 240.0 };
    assert_eq!(view(size, &placement, Some(2.0), Scale::Eighth).scale, Scale::Full);
}
