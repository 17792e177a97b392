//! Whole pictures to rows: Pillow's own output, all orientations, limits, threads.

use std::sync::Arc;

use tarflume_fixtures::{PHOTOS, Photo, PhotoKind};
use tarflume_image::{Area, Channels, Cut, Filter, Layout, Normalize, Placement, Transform};

use super::*;
use tarflume_transforms::placing::{
    CenterCrop, RandomResizedCrop, Resize, ResizeCenterCrop, Whole,
};

fn decode_with(
    image: &(impl Decode + ?Sized),
    bytes: &[u8],
    seed: u64,
    scratch: &mut Scratch,
) -> Result<Vec<u8>> {
    image.validate()?;
    let parts = [("jpg", bytes)];
    let sample = Sample { key: b"a", ordinal: 0, seed, parts: &parts, ..Sample::default() };
    let room = image.shape().bytes().unwrap_or(image.room(&[0]) as usize);
    let mut row = vec![0u64; room.div_ceil(8)];
    let mut used = 0;
    let bytes = &mut bytemuck::cast_slice_mut(&mut row)[..room];
    match image.shape().bytes() {
        Some(_) => image.decode(&sample, Row::fixed(bytes), scratch).map(|()| bytes.to_vec()),
        None => {
            image.decode(&sample, Row::variable(bytes, &mut used), scratch)?;
            Ok(bytes[..used].to_vec())
        }
    }
}

fn decode(image: &(impl Decode + ?Sized), bytes: &[u8]) -> Result<Vec<u8>> {
    decode_with(image, bytes, 3, &mut Scratch::default())
}

/// A box that is always the same.
#[derive(Debug, Clone, Copy)]
struct Fixed(Placement);

impl Transform for Fixed {
    fn extent(&self) -> Extent {
        Extent::Fixed(self.0.size)
    }

    fn place(&self, _: ImageSize, _: &mut Random) -> Result<Placement> {
        Ok(self.0)
    }
}

/// The cases of tests/golden/make.py.
fn cases() -> [Placement; 4] {
    fn cut(left: u32, top: u32, right: u32, bottom: u32, width: u32, height: u32) -> Placement {
        let cut = Cut { left, top, size: ImageSize::new(right - left, bottom - top) };
        Placement::of(cut, ImageSize::new(width, height))
    }

    let mut boxed = cut(0, 0, 120, 90, 32, 32);
    boxed.area = Area { left: 14.5, top: 9.25, width: 86.25, height: 70.75 };
    [cut(7, 11, 107, 78, 40, 30), cut(50, 20, 70, 40, 48, 64), cut(0, 0, 120, 90, 150, 20), boxed]
}

fn worst(found: &[u8], expected: &[u8]) -> u8 {
    assert_eq!(found.len(), expected.len());
    found.iter().zip(expected).map(|(a, b)| a.abs_diff(*b)).max().unwrap()
}

fn mean(found: &[u8], expected: &[u8]) -> f64 {
    assert_eq!(found.len(), expected.len());
    let sum: u64 = found.iter().zip(expected).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
    sum as f64 / found.len() as f64
}

/// Colors as far as they show: where opacity is nearly 0, dividing by it makes much of a rounding.
fn worst_as_seen(found: &[u8], expected: &[u8]) -> u8 {
    fn seen(pixels: &[u8]) -> Vec<u8> {
        pixels
            .chunks(4)
            .flat_map(|p| {
                [0, 1, 2, 3].map(|c| {
                    if c == 3 { p[3] } else { (u32::from(p[c]) * u32::from(p[3]) / 255) as u8 }
                })
            })
            .collect()
    }

    worst(&seen(found), &seen(expected))
}

#[test]
fn resizing_is_pillows() {
    let files: [(&[u8], &[u8], Channels); 3] = [
        (
            include_bytes!("../../../../tests/golden/rgb.png"),
            include_bytes!("../../../../tests/golden/rgb.pillow"),
            Channels::Rgb,
        ),
        (
            include_bytes!("../../../../tests/golden/gray.png"),
            include_bytes!("../../../../tests/golden/gray.pillow"),
            Channels::Gray,
        ),
        (
            include_bytes!("../../../../tests/golden/rgba.png"),
            include_bytes!("../../../../tests/golden/rgba.pillow"),
            Channels::Rgba,
        ),
    ];
    let filters =
        [(Filter::Bilinear, 1), (Filter::Bicubic, 0), (Filter::Lanczos, 0), (Filter::Nearest, 0)];
    for (png, mut pillow, channels) in files {
        for case in cases() {
            for (filter, most) in filters {
                let image = Image::new("png", Fixed(case)).channels(channels).filter(filter);
                let found = decode(&image, png).unwrap();
                let (expected, rest) = pillow.split_at(found.len());
                pillow = rest;
                if filter == Filter::Nearest && case.size.width == 150 {
                    continue; // 120 columns to 150: two are equally near, and either is right
                }
                let difference = if channels == Channels::Rgba {
                    worst_as_seen(&found, expected)
                } else {
                    worst(&found, expected)
                };
                // Multiplying by opacity and dividing again adds a rounding; the library has weights of 16 bits.
                let most = match (channels, filter) {
                    (Channels::Rgba, Filter::Bilinear | Filter::Bicubic) => 2,
                    (Channels::Rgba, Filter::Lanczos) => 3,
                    _ => most,
                };
                assert!(difference <= most, "{channels:?} {filter:?} {case:?}: {difference}");
            }
        }
        assert!(pillow.is_empty());
    }
}

#[test]
fn bicubic_and_lanczos_decode_in_full_unless_told_otherwise() {
    fn gap(filter: Filter) -> Option<f64> {
        Image::new("jpg", Resize::exact(8)).filter(filter).gap()
    }

    assert_eq!(gap(Filter::Bilinear), Some(2.0));
    assert_eq!(gap(Filter::BilinearFast), Some(2.0));
    assert_eq!(
        (gap(Filter::Bicubic), gap(Filter::Lanczos), gap(Filter::Nearest)),
        (None, None, None)
    );
    let told = Image::new("jpg", Resize::exact(8)).reducing_gap(Some(1.5));
    assert_eq!(told.clone().filter(Filter::Lanczos).gap(), Some(1.5));
    assert_eq!(told.filter(Filter::Nearest).gap(), None);
}

#[test]
fn the_evaluation_transform_equals_two_steps_of_torchvision() {
    let image = Image::new("png", ResizeCenterCrop::new(64, 48));
    let found = decode(&image, include_bytes!("../../../../tests/golden/rgb.png")).unwrap();
    assert!(worst(&found, include_bytes!("../../../../tests/golden/evaluation.pillow")) <= 1);
}

#[test]
fn all_orientations_give_what_turning_first_gives() {
    let width = 60;
    let height = 44;
    for exif in 1..=8 {
        let bytes = Photo::new(width, height, PhotoKind::Exif(exif)).encode(5).unwrap();
        let whole = Image::new("jpg", Whole::up_to(10_000));
        let stored = decode(&whole.clone().orientation(false), &bytes).unwrap();
        let oracle = image::load_from_memory(&bytes).unwrap().into_rgb8();
        assert!(mean(&stored, oracle.as_raw()) < 1.5, "EXIF {exif}: not as it is stored");
        let stored = image::RgbImage::from_raw(width.into(), height.into(), stored).unwrap();
        let mut upright = image::DynamicImage::from(stored);
        upright.apply_orientation(image::metadata::Orientation::from_exif(exif).unwrap());
        let upright = upright.into_rgb8();
        assert_eq!(&decode(&whole, &bytes).unwrap(), upright.as_raw(), "EXIF {exif}");
        let sizes = decode(&whole.sizes(), &bytes).unwrap();
        assert_eq!(
            bytemuck::pod_collect_to_vec::<_, u32>(&sizes),
            [upright.height(), upright.width()]
        );

        let mut png = std::io::Cursor::new(Vec::new());
        upright.write_to(&mut png, image::ImageFormat::Png).unwrap();
        let png = png.into_inner();
        let cut = Image::new("jpg", CenterCrop::new((31, 22)));
        assert_eq!(decode(&cut, &bytes).unwrap(), decode(&cut, &png).unwrap(), "EXIF {exif}");
        for seed in 0..20 {
            let image = Image::new("jpg", RandomResizedCrop::new((24, 40)).flip(0.5));
            let mut scratch = Scratch::default();
            let turned = decode_with(&image, &bytes, seed, &mut scratch).unwrap();
            let first = decode_with(&image, &png, seed, &mut scratch).unwrap();
            // Rows and columns are resized in the other order.
            let most = if exif < 5 { 0 } else { 1 };
            let difference = worst(&turned, &first);
            assert!(difference <= most.max(u8::from(exif > 1)), "EXIF {exif}: {difference}");
        }
    }
}

#[test]
fn every_kind_of_photograph_is_resized_as_by_the_image_crate() {
    for kind in PhotoKind::ALL {
        let bytes = Photo::new(130, 100, kind).encode(9).unwrap();
        let found = decode(&Image::new("jpg", Resize::exact((50, 65))).orientation(false), &bytes);
        let oracle = image::load_from_memory(&bytes).unwrap().into_rgb8();
        let oracle =
            image::imageops::resize(&oracle, 65, 50, image::imageops::FilterType::Triangle);
        // Its weights are floats, and its first pass does not round.
        assert!(worst(&found.unwrap(), oracle.as_raw()) <= 2, "{kind:?}");
    }
}

#[test]
fn a_mirrored_picture_is_the_picture_mirrored() {
    let photo = PHOTOS[0].jpeg;
    let [plain, flipped] = [0.0, 1.0].map(|probability| {
        let crop = RandomResizedCrop::new(32).flip(probability);
        decode(&Image::new("jpg", crop), photo).unwrap()
    });
    for (a, b) in plain.chunks(32 * 3).zip(flipped.chunks(32 * 3)) {
        assert!(a.chunks(3).eq(b.chunks(3).rev()));
    }
}

#[test]
fn the_crop_depends_only_on_the_seed() {
    fn one(image: &Image, n: usize, scratch: &mut Scratch) -> Vec<u8> {
        decode_with(image, PHOTOS[n % PHOTOS.len()].jpeg, n as u64, scratch).unwrap()
    }

    let image = Image::new("jpg", RandomResizedCrop::new(40).flip(0.5)).layout(Layout::Chw);
    let expected: Vec<_> = (0..24).map(|n| one(&image, n, &mut Scratch::default())).collect();
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let image = &image;
            let expected = &expected;
            scope.spawn(move || {
                let mut scratch = Scratch::default();
                for step in 0..24 {
                    let n = (step * 7 + thread * 5) % 24;
                    assert_eq!(one(image, n, &mut scratch), expected[n]);
                }
            });
        }
    });
    let second = decode(&image.clone().stream(1), PHOTOS[0].jpeg).unwrap();
    assert_ne!(second, decode(&image, PHOTOS[0].jpeg).unwrap(), "a second view differs");
}

#[test]
fn huge_pictures_are_refused_by_their_header() {
    // 60,000 x 60,000 pixels, and no data at all behind the header.
    let mut bytes = Photo::tiny(PhotoKind::Yuv444).encode(1).unwrap();
    let at = bytes.windows(2).position(|pair| pair == [0xff, 0xc0]).unwrap() + 5;
    bytes[at..at + 4].copy_from_slice(&[0xea, 0x60, 0xea, 0x60]);
    let error = decode(&Image::new("jpg", Resize::exact(8)), &bytes).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.text().contains("60000 x 60000 has 3600000000 pixels"), "{error}");
    let small = Image::new("jpg", Resize::exact(8)).most_pixels(63);
    assert!(decode(&small, &Photo::tiny(PhotoKind::Gray).encode(1).unwrap()).is_err());
}

#[test]
fn memory_is_reserved_before_it_is_allocated() {
    struct Small;
    impl crate::decode::Memory for Small {
        fn take(&self, held: u64, bytes: u64) -> Result<()> {
            if held + bytes <= 210_000 {
                return Ok(());
            }
            Err(Error::new(ErrorKind::Limit, format!("{bytes} bytes are too many")))
        }
        fn give(&self, _: u64) {}
    }
    let mut scratch = Scratch::with_memory(Arc::new(Small));
    let image = Image::new("jpg", Resize::exact(8)).reducing_gap(None);
    let mut one = |size, kind| {
        let bytes = Photo::new(size, size, kind).encode(1).unwrap();
        let result = decode_with(&image, &bytes, 0, &mut scratch);
        scratch.release();
        result
    };
    one(64, PhotoKind::Yuv420).unwrap();
    assert_eq!(one(300, PhotoKind::Yuv420).unwrap_err().kind(), ErrorKind::Limit);
    // Progressive ones keep all coefficients.
    one(160, PhotoKind::Yuv420).unwrap();
    assert!(one(160, PhotoKind::Progressive).is_err());
}

#[test]
fn a_transform_with_a_false_extent_is_an_error_and_no_panic() {
    fn cut(left: u32, top: u32, width: u32, height: u32) -> Cut {
        Cut { left, top, size: ImageSize::new(width, height) }
    }

    let photo = Photo::new(20, 10, PhotoKind::Yuv444).encode(1).unwrap();
    for bad in [cut(0, 0, 21, 10), cut(0, 1, 20, 10), cut(u32::MAX, 0, 1, 1), cut(0, 0, 0, 5)] {
        let placement = Placement::of(bad, ImageSize::new(4, 4));
        assert!(decode(&Image::new("jpg", Fixed(placement)), &photo).is_err());
    }
    let good = cut(2, 2, 5, 5);
    for area in [f64::NAN, -1.0, 1e300] {
        let mut placement = Placement::of(good, ImageSize::new(4, 4));
        placement.area.left = area;
        assert!(decode(&Image::new("jpg", Fixed(placement)), &photo).is_err());
    }
    let nothing = Image::new("jpg", Resize::exact(0));
    assert_eq!(nothing.validate().unwrap_err().kind(), ErrorKind::Usage);
    let flat = Image::new("jpg", Resize::exact(4)).to_f32(Normalize::new([0.0; 3], [0.0; 3]));
    assert_eq!(flat.validate().unwrap_err().kind(), ErrorKind::Usage);
}

/// A PNG or TIFF of 3 x 2 pixels with these samples.
fn wide<P: image::Pixel + image::PixelWithColorType>(
    samples: Vec<P::Subpixel>,
    format: image::ImageFormat,
) -> Vec<u8>
where
    image::ImageBuffer<P, Vec<P::Subpixel>>: Into<image::DynamicImage>,
{
    let mut bytes = std::io::Cursor::new(Vec::new());
    let picture = image::ImageBuffer::<P, _>::from_raw(3, 2, samples).unwrap();
    picture.into().write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

fn whole() -> Image {
    Image::new("jpg", Whole::up_to(100))
}

#[test]
fn samples_of_16_bits_keep_all_of_them() {
    fn samples(count: u16) -> Vec<u16> {
        (0..count).map(|n| n * 2731 + 7).collect()
    }

    fn words(image: Image, bytes: &[u8]) -> Vec<u16> {
        bytemuck::pod_collect_to_vec(&decode(&image.to_u16(), bytes).unwrap())
    }

    use image::{ImageFormat, LumaA, Rgb, Rgba};
    for format in [ImageFormat::Png, ImageFormat::Tiff] {
        assert_eq!(words(whole(), &wide::<Rgb<u16>>(samples(18), format)), samples(18));
        let rgba = whole().channels(Channels::Rgba);
        assert_eq!(words(rgba.clone(), &wide::<Rgba<u16>>(samples(24), format)), samples(24));
        let opaque = words(rgba.clone(), &wide::<Rgb<u16>>(samples(18), format));
        assert!(opaque.chunks(4).all(|pixel| pixel[3] == u16::MAX));
    }
    let gray = wide::<LumaA<u16>>(samples(12), ImageFormat::Png);
    let with_opacity = words(whole().channels(Channels::Rgba), &gray);
    for (pixel, stored) in with_opacity.chunks(4).zip(samples(12).chunks(2)) {
        assert_eq!(pixel, [stored[0], stored[0], stored[0], stored[1]]);
    }
    let luma = words(whole().channels(Channels::Gray), &gray);
    assert!(luma.iter().eq(samples(12).iter().step_by(2)));
}

#[test]
fn floats_of_a_tiff_are_not_cut_to_the_range_of_bytes() {
    let samples: Vec<f32> = (0..18).map(|n| n as f32 * 0.37 - 1.0).collect();
    let tiff = wide::<image::Rgb<f32>>(samples.clone(), image::ImageFormat::Tiff);
    let found = decode(&whole().to_f32(Normalize::unit()), &tiff).unwrap();
    assert_eq!(bytemuck::pod_collect_to_vec::<_, f32>(&found), samples);
    let bytes = decode(&whole(), &tiff).unwrap();
    let rounded = samples.iter().map(|s| (s.clamp(0.0, 1.0) * 255.0).round_ties_even() as u8);
    assert!(bytes.iter().copied().eq(rounded));
}

#[test]
fn a_device_that_converts_bytes_is_not_given_pictures_of_16_bits() {
    fn image() -> Image {
        Image::new("jpg", Resize::exact((2, 3)))
    }

    let png = wide::<image::Luma<u16>>(vec![300; 6], image::ImageFormat::Png);
    let divided = image().to_f32(Normalize::unit()).for_device().unwrap();
    let error = decode(&*divided.decode, &png).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Decode);
    assert!(error.text().contains("dtype=\"uint16\""), "{error}");
    // Integers of 16 bits cross as they are, and bytes are asked for as bytes.
    assert!(image().to_u16().for_device().is_none());
    let planes = image().layout(Layout::Chw).for_device().unwrap();
    assert_eq!(decode(&*planes.decode, &png).unwrap(), [1; 18]);
    let storage = PictureStorage { side: 64, format: tarflume_image::row_header::Format::Pixels };
    for image in [image().to_u16(), image().channels(Channels::Index)] {
        let error = image.for_resident(storage).map(drop).unwrap_err();
        assert!(error.text().contains("Resident"), "{error}");
    }
}

#[test]
fn numbers_of_classes_are_resized_by_the_nearest_and_stay_whole() {
    fn index() -> Image {
        Image::new("jpg", Resize::exact((7, 9))).channels(Channels::Index)
    }

    let classes = wide::<image::Luma<u8>>(vec![0, 3, 7, 0, 3, 255], image::ImageFormat::Png);
    let found = decode(&index(), &classes).unwrap();
    assert!(found.iter().all(|class| [0, 3, 7, 255].contains(class)));
    let words = decode(&index().to_u16(), &classes).unwrap();
    assert!(
        bytemuck::pod_collect_to_vec::<_, u16>(&words)
            .iter()
            .zip(found)
            .all(|(&w, f)| w == u16::from(f))
    );
    for refused in [index().filter(Filter::Bilinear), index().to_f32(Normalize::unit())] {
        assert_eq!(refused.validate().unwrap_err().kind(), ErrorKind::Usage);
    }
    index().filter(Filter::Nearest).validate().unwrap();
}

#[test]
fn damaged_jpegs_are_kept_on_request_and_counted() {
    let photo = Photo::new(64, 48, PhotoKind::Yuv420).encode(1).unwrap();
    let cut = &photo[..photo.len() * 2 / 3];
    let open = &photo[..photo.len() - 2];
    let image = Image::new("jpg", Whole::up_to(10_000));
    let whole = decode(&image, &photo).unwrap();
    // Pixels are lost: an error, or gray below what is there.
    let error = decode(&image, cut).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Decode);
    let mut scratch = Scratch::default();
    let kept = decode_with(&image.clone().keep_damaged(true), cut, 3, &mut scratch).unwrap();
    assert_eq!((kept.len(), &kept[..3 * 32]), (whole.len(), &whole[..3 * 32]));
    assert_eq!(kept[kept.len() - 3..], [128; 3]);
    assert_eq!((scratch.blocks.damaged, scratch.blocks.irregular), (1, 0));
    // Only the end of the image is missing: nothing is lost.
    let mut scratch = Scratch::default();
    assert_eq!(decode_with(&image, open, 3, &mut scratch).unwrap(), whole);
    assert_eq!((scratch.blocks.damaged, scratch.blocks.irregular), (0, 1));
}

#[test]
fn memory_for_damaged_pictures_is_reserved_first() {
    let image = Image::new("jpg", Resize::exact(8)).reducing_gap(None);
    let progressive = Photo::new(160, 160, PhotoKind::Progressive).encode(1).unwrap();
    let parts = [("jpg", progressive.as_slice())];
    let sample = Sample { key: b"a", parts: &parts, ..Sample::default() };
    let memory = image.open(&sample).unwrap().memory;
    let blocks = 160 * 160 / 64;
    assert!(image.keep_damaged(true).open(&sample).unwrap().memory >= memory + 128 * blocks);
}
