//! Images of every kind through a [`Preparer`]. The image crate is the oracle of pixels.

use image::codecs::webp::WebPEncoder;
use image::{DynamicImage, ImageEncoder, ImageFormat, Rgb, RgbImage, RgbaImage};
use tarflume_fixtures::{PHOTOS, Photo, PhotoKind};
use tarflume_image::ImageSize;
use tarflume_jpeg::Header;

use super::*;

fn preparer(preparation: Preparation) -> Preparer {
    Preparer::new(preparation)
}

fn resize(text: &str) -> Preparation {
    Preparation { resize: Some(ResizeTo::parse(text).unwrap()), ..Preparation::default() }
}

fn pixels(bytes: &[u8]) -> DynamicImage {
    image::load_from_memory(bytes).unwrap()
}

/// A smooth picture: what differs between decoders and filters is small there.
fn smooth(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| {
        Rgb([(x * 255 / width) as u8, (y * 255 / height) as u8, 128])
    })
}

fn png(image: impl Into<DynamicImage>) -> Vec<u8> {
    let mut out = std::io::Cursor::new(Vec::new());
    image.into().write_to(&mut out, ImageFormat::Png).unwrap();
    out.into_inner()
}

fn webp(image: &RgbImage) -> Vec<u8> {
    let mut out = Vec::new();
    let encoder = WebPEncoder::new_lossless(&mut out);
    let color = image::ExtendedColorType::Rgb8;
    encoder.write_image(image, image.width(), image.height(), color).unwrap();
    out
}

/// The mean difference of two pictures of the same size.
fn difference(a: &DynamicImage, b: &DynamicImage) -> f64 {
    let a = a.to_rgb8();
    let b = b.to_rgb8();
    assert_eq!(a.dimensions(), b.dimensions());
    let sum: u64 = a.iter().zip(b.iter()).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
    sum as f64 / a.len() as f64
}

#[test]
fn larger_images_are_reduced_and_look_the_same() {
    for kind in PhotoKind::ALL {
        let jpeg = Photo::new(400, 300, kind).encode(3).unwrap();
        let made = preparer(resize("short:150")).prepare(b"jpg", &jpeg, true).unwrap().unwrap();
        assert!(made.resized && !made.turned && !made.converted && !made.lossless, "{kind:?}");
        assert!(made.bytes.len() < jpeg.len() && made.ext.is_none());
        let header = Header::parse(&made.bytes).unwrap();
        let size = ImageSize::new(header.width(), header.height());
        let half = ImageSize::new(200, 150);
        assert_eq!((made.before, made.after, size), (ImageSize::new(400, 300), half, half));
        assert!(!header.has_several_scans());
        assert_eq!(header.channels(), if kind == PhotoKind::Gray { 1 } else { 3 });
        let before = Header::parse(&jpeg).unwrap().orientation().filter(|&known| known > 1);
        assert_eq!(header.orientation(), before, "{kind:?}: the tag stays");
        if kind != PhotoKind::Cmyk {
            let expected =
                pixels(&jpeg).resize_exact(200, 150, image::imageops::FilterType::Lanczos3);
            let off = difference(&pixels(&made.bytes), &expected);
            assert!(off < 6.0, "{kind:?}: {off}");
        }
    }
}

#[test]
fn images_that_are_small_enough_keep_their_bytes() {
    let jpeg = Photo::new(320, 240, PhotoKind::Yuv420).encode(3).unwrap();
    for text in ["short:240", "long:320", "320x240", "short:1000"] {
        assert_eq!(preparer(resize(text)).prepare(b"jpg", &jpeg, true).unwrap(), None, "{text}");
    }
    let all = Preparation { orient: true, to_jpeg: true, baseline: true, ..resize("long:320") };
    assert_eq!(preparer(all).prepare(b"jpg", &jpeg, true).unwrap(), None);
}

#[test]
fn orientation_is_applied_and_its_tag_goes() {
    for orientation in 1..=8 {
        let jpeg = Photo::new(96, 64, PhotoKind::Exif(orientation)).encode(5).unwrap();
        let options = Preparation { orient: true, quality: 100, ..Preparation::default() };
        let made = preparer(options).prepare(b"jpg", &jpeg, true).unwrap();
        if orientation == 1 {
            assert_eq!(made, None);
            continue;
        }
        let made = made.unwrap();
        let mut expected = pixels(&jpeg);
        expected.apply_orientation(image::metadata::Orientation::from_exif(orientation).unwrap());
        assert!(made.turned && !made.resized);
        assert_eq!(Header::parse(&made.bytes).unwrap().orientation(), None);
        assert_eq!(made.after, ImageSize::new(expected.width(), expected.height()));
        let off = difference(&pixels(&made.bytes), &expected);
        assert!(off < 4.0, "{orientation}: {off}");
        // Sizes are those of the upright picture, with and without turning.
        let exact = resize("32x48");
        let stored = preparer(exact).prepare(b"jpg", &jpeg, true).unwrap().unwrap().after;
        let upright = ImageSize::new(32, 48);
        assert_eq!(stored, if orientation >= 5 { upright.transposed() } else { upright });
        let both = Preparation { orient: true, ..exact };
        assert_eq!(preparer(both).prepare(b"jpg", &jpeg, true).unwrap().unwrap().after, upright);
    }
}

#[test]
fn lossless_work_changes_no_pixel() {
    let mut preparer = preparer(Preparation {
        optimize: true,
        baseline: true,
        strip_metadata: true,
        ..Preparation::default()
    });
    let mut jpegs: Vec<_> = PHOTOS.iter().map(|photo| photo.jpeg.to_vec()).collect();
    jpegs.extend(PhotoKind::ALL.map(|kind| Photo::new(97, 61, kind).encode(7).unwrap()));
    let mut smaller = 0;
    for jpeg in jpegs {
        let Some(made) = preparer.prepare(b"jpg", &jpeg, true).unwrap() else { continue };
        assert!(made.lossless && made.before == made.after);
        assert!(pixels(&made.bytes) == pixels(&jpeg));
        assert!(!Header::parse(&made.bytes).unwrap().has_several_scans());
        assert_eq!(
            preparer.prepare(b"jpg", &made.bytes, true).unwrap(),
            None,
            "nothing is left to do"
        );
        smaller += u32::from(made.bytes.len() < jpeg.len());
    }
    assert!(smaller > 14, "{smaller}");
}

#[test]
fn optimizing_alone_never_makes_an_image_larger() {
    for kind in PhotoKind::ALL {
        let jpeg = Photo::new(200, 150, kind).encode(7).unwrap();
        let optimize = Preparation { optimize: true, ..Preparation::default() };
        if let Some(made) = preparer(optimize).prepare(b"jpg", &jpeg, true).unwrap() {
            assert!(made.bytes.len() < jpeg.len(), "{kind:?}");
        }
    }
}

#[test]
fn png_and_webp_become_jpeg_unless_that_loses_opacity_or_a_name() {
    let convert = Preparation { to_jpeg: true, ..Preparation::default() };
    let picture = smooth(120, 80);
    for (ext, bytes) in [(&b"png"[..], png(picture.clone())), (b"webp", webp(&picture))] {
        let made = preparer(convert).prepare(ext, &bytes, true).unwrap().unwrap();
        assert!(made.converted && made.ext == Some("jpg") && made.bytes.starts_with(&[0xff, 0xd8]));
        assert!(difference(&pixels(&made.bytes), &picture.clone().into()) < 3.0);
        assert_eq!(
            preparer(convert).prepare(ext, &bytes, false).unwrap(),
            None,
            "the name is taken"
        );
        assert_eq!(preparer(resize("long:200")).prepare(ext, &bytes, true).unwrap(), None);
        let small = Preparation { to_jpeg: true, ..resize("long:60") };
        assert_eq!(
            preparer(small).prepare(ext, &bytes, true).unwrap().unwrap().after,
            ImageSize::new(60, 40)
        );
    }
    let mut clear = RgbaImage::from_pixel(20, 20, image::Rgba([9, 9, 9, 255]));
    let opaque = preparer(convert).prepare(b"png", &png(clear.clone()), true).unwrap();
    assert_eq!(opaque.unwrap().ext, Some("jpg"));
    clear.put_pixel(3, 3, image::Rgba([9, 9, 9, 200]));
    assert_eq!(preparer(convert).prepare(b"png", &png(clear.clone()), true).unwrap(), None);
    let reduced = Preparation { to_jpeg: true, ..resize("long:10") };
    let made = preparer(reduced).prepare(b"png", &png(clear), true).unwrap().unwrap();
    assert!(made.ext.is_none() && made.bytes.starts_with(b"\x89PNG"), "it is reduced as a PNG");
}

#[test]
fn masks_and_foreign_formats_keep_their_bytes() {
    let all = Preparation { to_jpeg: true, orient: true, ..resize("long:10") };
    let image = png(smooth(120, 80));
    for ext in [&b"mask.png"[..], b"seg.jpg", b"gif", b"json", b""] {
        assert_eq!(preparer(all).prepare(ext, &image, true).unwrap(), None);
    }
    let deep =
        png(image::ImageBuffer::<image::Luma<u16>, _>::from_pixel(40, 40, image::Luma([999])));
    assert_eq!(preparer(resize("long:10")).prepare(b"png", &deep, true).unwrap(), None, "16 bits");
    let mut bmp = std::io::Cursor::new(Vec::new());
    DynamicImage::from(smooth(40, 40)).write_to(&mut bmp, ImageFormat::Bmp).unwrap();
    assert_eq!(preparer(all).prepare(b"png", bmp.get_ref(), true).unwrap(), None);
}

#[test]
fn damage_is_an_error_with_its_byte() {
    let jpeg = Photo::new(320, 240, PhotoKind::Yuv420).encode(3).unwrap();
    let cut = &jpeg[..jpeg.len() / 2];
    for options in [resize("short:100"), Preparation { optimize: true, ..Preparation::default() }] {
        match preparer(options).prepare(b"jpg", cut, true) {
            Err(PictureFault::Data { byte, .. }) => assert!(byte > 0),
            other => panic!("{other:?}"),
        }
    }
    let mut bad = png(smooth(120, 80));
    let end = bad.len();
    bad[end / 2..].fill(0);
    assert!(preparer(resize("long:10")).prepare(b"png", &bad, true).is_err());
}

#[test]
fn totals_count_and_measure() {
    let jpeg = Photo::new(800, 600, PhotoKind::Yuv420).encode(3).unwrap();
    let mut preparer = preparer(resize("long:200"));
    let mut shard = PictureTotals::default();
    let made = preparer.prepare(b"jpg", &jpeg, true).unwrap();
    shard.add(&jpeg, made.as_ref());
    shard.add(&jpeg, None);
    let mut all = PictureTotals::default();
    assert_eq!(all.decode_speed(), None);
    all.join(shard.clone());
    all.join(shard);
    assert_eq!((all.prepared, all.left_alone, all.resized, all.lossless), (2, 2, 2, 0));
    assert_eq!(all.bytes_before, 4 * jpeg.len() as u64);
    assert!(all.bytes_after < all.bytes_before);
    let speed = all.decode_speed().unwrap();
    assert!(speed.images == 2 && speed.before > 0.0 && speed.after > 0.0);
}
