//! Views are the rows of columns with their streams, and a picture is decoded once for all of them.

use std::io::Cursor;
use std::sync::{Arc, Mutex};

use image::{DynamicImage, ImageFormat};
use tarflume_fixtures::{Photo, PhotoKind};
use tarflume_image::row_header::Format;
use tarflume_image::{Channels, Filter, ImageSize, Layout, Normalize, Turn};
use tarflume_jpeg::Scale;
use tarflume_transforms::operations::color::RandomInvert;
use tarflume_transforms::operations::crop::RandomResizedCrop;
use tarflume_transforms::operations::crops::{FiveCrop, TenCrop};
use tarflume_transforms::operations::resize::{Resize, ResizeSize};
use tarflume_transforms::operations::turn::RandomHorizontalFlip;
use tarflume_transforms::placing::{CenterCrop, Whole};
use tarflume_transforms::{CropInterpolation, Interpolation, Operation, Recipe};
use tarflume_types::{DType, ErrorKind, Result, Row, RowShape};

use super::*;
use crate::decode::hybrid::balance::DeviceShare;
use crate::decode::hybrid::pictures::PictureStorage;
use crate::decode::jpeg::scale_for;
use crate::decode::{DecodeHooks, Memory, Sample, Scratch};

fn crop(side: u32, scale: [f64; 2]) -> Operation {
    let size = [side, side + 8];
    let interpolation = Interpolation::Bilinear;
    RandomResizedCrop { scale, interpolation: interpolation.into(), ..RandomResizedCrop::new(size) }
        .into()
}

fn flip() -> Operation {
    RandomHorizontalFlip { p: 0.5 }.into()
}

/// Large crops: a placement alone.
fn global() -> Image {
    Image::new("jpg", Recipe::new([crop(48, [0.32, 1.0]), flip()]))
}

/// Small crops that are changed.
fn local() -> Image {
    let invert = RandomInvert { p: 0.5 };
    Image::new("jpg", Recipe::new([crop(24, [0.05, 0.32]), flip(), invert.into()]))
}

fn pair(change: impl Fn(Image) -> Image) -> Views {
    Views::new().group("global", 2, change(global())).group("local", 5, change(local()))
}

fn sample<'a>(parts: &'a [(&'a str, &'a [u8])], seed: u64) -> Sample<'a> {
    Sample { key: b"a", ordinal: seed / 2, seed, parts, ..Sample::default() }
}

/// The row of a column.
fn row(decode: &dyn Decode, bytes: &[u8], seed: u64, scratch: &mut Scratch) -> Result<Vec<u8>> {
    decode.validate()?;
    let parts = [("jpg", bytes)];
    let length = decode.shape().bytes().unwrap();
    let mut words = vec![0u64; length.div_ceil(8)];
    let to = &mut bytemuck::cast_slice_mut(&mut words)[..length];
    let written = decode.decode(&sample(&parts, seed), Row::fixed(to), scratch);
    scratch.release();
    written.map(|()| to.to_vec())
}

/// What columns of single pictures make of the views of a group.
fn single(group: &str, views: usize, image: &Image, bytes: &[u8], seed: u64) -> Vec<u8> {
    let columns = (0..views).map(|view| image.clone().stream(Views::stream(group, view)));
    let rows = columns.map(|image| row(&image, bytes, seed, &mut Scratch::default()).unwrap());
    rows.flatten().collect()
}

fn png(kind: ImageFormat, picture: DynamicImage) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    picture.write_to(&mut bytes, kind).unwrap();
    bytes.into_inner()
}

/// Pictures of every coding and of other formats.
fn pictures() -> Vec<Vec<u8>> {
    let mut pictures = Vec::new();
    for kind in PhotoKind::ALL {
        pictures.push(Photo::new(205, 151, kind).encode(3).unwrap());
    }
    let photo = image::load_from_memory(&pictures[0]).unwrap();
    pictures.push(png(ImageFormat::Png, photo.clone()));
    pictures.push(png(ImageFormat::Png, photo.to_luma8().into()));
    pictures.push(png(ImageFormat::WebP, photo));
    pictures
}

#[test]
fn each_view_is_the_row_of_a_column_with_its_stream() {
    let normalize = Normalize::imagenet();
    let changes: [&dyn Fn(Image) -> Image; 4] = [
        &|image| image.reducing_gap(None),
        &|image| image.reducing_gap(None).layout(Layout::Chw).to_f16(normalize),
        &|image| image.reducing_gap(None).to_f32(normalize).channels(Channels::Gray),
        &|image| image.filter(Filter::Bicubic).orientation(false),
    ];
    for (n, bytes) in pictures().iter().enumerate() {
        for (m, change) in changes.iter().enumerate() {
            let columns = pair(change).columns();
            let mut scratch = Scratch::default();
            for seed in 0..2 {
                let want = [
                    single("global", 2, &change(global()), bytes, seed),
                    single("local", 5, &change(local()), bytes, seed),
                ];
                // The column that comes first decodes.
                let order = if seed % 2 == 0 { [0, 1] } else { [1, 0] };
                for at in order {
                    let found = row(&columns[at], bytes, seed, &mut scratch).unwrap();
                    assert!(found == want[at], "picture {n}, settings {m}, seed {seed}, {at}");
                }
            }
        }
    }
}

/// The scale at which a view is decoded alone.
fn scale_alone(image: &Image, stream: u64, size: ImageSize, seed: u64) -> u32 {
    let image = image.clone().stream(stream);
    let (_, _, placement) = image.placed_as_stored(seed, size, Turn::default()).unwrap();
    scale_for(&placement, image.gap(), Scale::Eighth) as u32
}

/// The mean difference of two bytes.
fn mean(found: &[u8], want: &[u8]) -> f64 {
    let sum: u64 = found.iter().zip(want).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
    sum as f64 / found.len() as f64
}

#[test]
fn a_reduced_picture_has_the_scale_of_the_view_that_needs_the_most() {
    let size = ImageSize::new(1600, 1200);
    let bytes = Photo::new(1600, 1200, PhotoKind::Yuv420).encode(7).unwrap();
    let groups = [("global", 2, global()), ("local", 5, local())];
    let columns = pair(|image| image).columns();
    let mut scratch = Scratch::default();
    let mut equal = 0;
    let mut finer = 0;
    for seed in 0..12 {
        let mut views = Vec::new();
        for ((group, count, image), column) in groups.iter().zip(&columns) {
            let found = row(column, &bytes, seed, &mut scratch).unwrap();
            let want = single(group, *count, image, &bytes, seed);
            let each = found.len() / count;
            for (view, (found, want)) in found.chunks(each).zip(want.chunks(each)).enumerate() {
                let scale = scale_alone(image, Views::stream(group, view), size, seed);
                views.push((scale, found == want, mean(found, want)));
            }
        }
        let shared = views.iter().map(|(scale, _, _)| *scale).min().unwrap();
        for (scale, is_equal, mean) in views {
            // At another scale, a view is resized from more pixels than alone, which decoding had averaged before.
            assert!(if scale == shared { is_equal } else { mean < 2.0 }, "seed {seed}: {mean}");
            *(if scale == shared { &mut equal } else { &mut finer }) += 1;
        }
    }
    assert!(equal > 20 && finer > 20, "{equal} views at their own scale, {finer} at a larger one");
}

#[test]
fn a_picture_is_decoded_once_for_all_columns() {
    let bytes = Photo::new(200, 150, PhotoKind::Yuv420).encode(3).unwrap();
    let columns = pair(|image| image).columns();
    let mut scratch = Scratch::default();
    let mut decoded = Vec::new();
    // The second column takes its row, and takes it once: a second time the bytes may be others. So does the first, of the
    // same sample; the row of another sample is not taken.
    for [at, seed] in [[0, 1], [1, 1], [1, 1], [0, 1], [0, 2], [1, 3]] {
        row(&columns[at as usize], &bytes, seed, &mut scratch).unwrap();
        decoded.push(std::mem::take(&mut scratch.blocks).all);
    }
    let all = decoded[0];
    assert!(all > 0);
    assert_eq!(decoded, [all, 0, all, 0, all, all]);
}

#[test]
fn another_group_or_view_changes_no_draw() {
    let bytes = Photo::new(200, 150, PhotoKind::Yuv420).encode(3).unwrap();
    let image = global().reducing_gap(None);
    let other = local().reducing_gap(None);
    let alone = Views::new().group("global", 2, image.clone());
    let more = Views::new().group("other", 3, other).group("global", 4, image);
    for seed in 0..8 {
        let few = row(&alone.columns()[0], &bytes, seed, &mut Scratch::default()).unwrap();
        let many = row(&more.columns()[1], &bytes, seed, &mut Scratch::default()).unwrap();
        assert!(many[..few.len()] == few, "seed {seed}");
        let views: Vec<&[u8]> = many.chunks(few.len() / 2).collect();
        assert!(views[0] != views[1] && views[1] != views[2], "each view draws for itself");
    }
    // Frozen: other numbers would be other augmentations.
    assert_eq!(Views::stream("global", 0), 0xbdf3_31c0_f00d_0f6e);
    assert_eq!(Views::stream("local", 7), 0x53b6_0a0a_3cfe_c5d9);
}

#[test]
fn pictures_that_are_decoded_ahead_have_the_same_views() {
    let photos: Vec<Vec<u8>> =
        (0..8).map(|n| Photo::new(150 + n, 140, PhotoKind::Yuv420).encode(9).unwrap()).collect();
    let columns = pair(|image| image).columns();
    let parts: Vec<[(&str, &[u8]); 1]> = photos.iter().map(|photo| [("jpg", &photo[..])]).collect();
    let samples: Vec<Sample<'_>> =
        parts.iter().zip(0..).map(|(parts, seed)| sample(parts, 2 * seed)).collect();
    let mut scratch = Scratch::default();
    columns.iter().filter(|column| column.group() > 1).for_each(|column| {
        column.prepare(&samples, &mut scratch);
    });
    let ahead = std::mem::take(&mut scratch.blocks).all;
    assert!(ahead > 8 * 300, "{ahead} blocks");
    for (photo, seed) in photos.iter().zip(0..) {
        for column in &columns {
            let found = row(column, photo, 2 * seed, &mut scratch).unwrap();
            assert_eq!(scratch.blocks.all, 0, "nothing is decoded again");
            assert!(found == row(column, photo, 2 * seed, &mut Scratch::default()).unwrap());
        }
    }
}

/// A crop whose filter is drawn for each view.
fn drawn(side: u32) -> Image {
    let interpolation = CropInterpolation::Random;
    let crop = RandomResizedCrop { interpolation, ..RandomResizedCrop::new([side, side]) };
    Image::new("jpg", Recipe::new([crop.into(), flip()])).reducing_gap(None)
}

#[test]
fn each_view_has_the_filter_that_is_drawn_for_it() {
    let photos: Vec<Vec<u8>> =
        (0..8).map(|n| Photo::new(150 + n, 140, PhotoKind::Yuv420).encode(9).unwrap()).collect();
    let columns = Views::new().group("one", 3, drawn(48)).group("two", 4, drawn(24)).columns();
    let parts: Vec<[(&str, &[u8]); 1]> = photos.iter().map(|photo| [("jpg", &photo[..])]).collect();
    let samples: Vec<Sample<'_>> =
        parts.iter().zip(0..).map(|(parts, seed)| sample(parts, 2 * seed)).collect();
    let mut scratch = Scratch::default();
    let ahead: Vec<&ViewsColumn> = columns.iter().filter(|column| column.group() > 1).collect();
    assert!(!ahead.is_empty(), "pictures are decoded ahead");
    ahead.iter().for_each(|column| column.prepare(&samples, &mut scratch));
    let mut bilinear = 0;
    let mut bicubic = 0;
    for (photo, seed) in photos.iter().zip(0..) {
        for (column, (group, views, side)) in columns.iter().zip([("one", 3, 48), ("two", 4, 24)]) {
            let found = row(column, photo, 2 * seed, &mut scratch).unwrap();
            let smooth =
                single(group, views, &drawn(side).filter(Filter::Bilinear), photo, 2 * seed);
            let sharp = single(group, views, &drawn(side).filter(Filter::Bicubic), photo, 2 * seed);
            let each = found.len() / views;
            let wanted = smooth.chunks(each).zip(sharp.chunks(each));
            for (view, (smooth, sharp)) in found.chunks(each).zip(wanted) {
                assert!(view == smooth || view == sharp, "group {group}, seed {seed}");
                bilinear += usize::from(view == smooth);
                bicubic += usize::from(view == sharp);
            }
        }
    }
    assert_eq!(bilinear + bicubic, 8 * 7);
    assert!(bilinear > 10 && bicubic > 10, "{bilinear} bilinear, {bicubic} bicubic");
}

#[test]
fn a_view_that_cannot_be_made_is_an_error_of_its_own_column() {
    let bytes = Photo::new(200, 150, PhotoKind::Yuv420).encode(3).unwrap();
    let large = Image::new("jpg", CenterCrop::new(160));
    let columns = Views::new().group("one", 2, global()).group("two", 1, large).columns();
    let mut scratch = Scratch::default();
    row(&columns[0], &bytes, 1, &mut scratch).unwrap();
    let error = row(&columns[1], &bytes, 1, &mut scratch).unwrap_err();
    assert!(error.text().contains("smaller than the center crop"), "{error}");
    let error = row(&columns[1], &bytes, 2, &mut scratch).unwrap_err();
    assert!(error.text().contains("smaller than the center crop"), "{error}");
    row(&columns[0], &bytes, 2, &mut scratch).unwrap();

    let alone = Views::new().group("two", 2, Image::new("jpg", CenterCrop::new(160))).columns();
    let error = row(&alone[0], &bytes, 1, &mut scratch).unwrap_err();
    assert!(error.text().contains("smaller than the center crop"), "{error}");
    let error = row(&columns[0], &bytes[..300], 1, &mut scratch).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Decode);
}

#[test]
fn pictures_of_16_bits_are_kept_by_all_groups_or_by_none() {
    let wide = image::ImageBuffer::from_fn(90, 70, |x, y| image::Luma([(x * 601 + y * 87) as u16]));
    let bytes = png(ImageFormat::Png, DynamicImage::ImageLuma16(wide));
    fn placed(image: Image) -> Image {
        image.channels(Channels::Gray).to_f32(Normalize::unit())
    }

    let same = Views::new().group("global", 2, placed(global())).group("more", 1, placed(global()));
    let found = row(&same.columns()[0], &bytes, 4, &mut Scratch::default()).unwrap();
    assert!(found == single("global", 2, &placed(global()), &bytes, 4));
    let mixed = pair(placed).columns();
    let error = row(&mixed[0], &bytes, 4, &mut Scratch::default()).unwrap_err();
    assert!(error.text().contains("more than 8 bits"), "{error}");
    let bytes_alone = pair(|image| image.channels(Channels::Gray)).columns();
    row(&bytes_alone[0], &bytes, 4, &mut Scratch::default()).unwrap();
}

#[test]
fn groups_that_no_decoding_can_serve_are_refused() {
    fn refused(views: &Views, text: &str) {
        let columns = views.columns();
        let error = columns.iter().find_map(|column| column.validate().err()).unwrap();
        assert!(error.text().contains(text), "{error}");
    }

    fn with(image: Image) -> Views {
        Views::new().group("one", 2, global()).group("two", 1, image)
    }

    pair(|image| image).columns().iter().for_each(|column| column.validate().unwrap());
    refused(&with(global().channels(Channels::Gray)), "'one' and 'two' differ in channels");
    refused(&with(global().orientation(false)), "orientation");
    refused(&with(global().most_pixels(9)), "most_pixels");
    refused(&with(global().keep_damaged(true)), "damage");
    refused(&with(Image::new("png", CenterCrop::new(8))), "the part");
    refused(&with(Image::new("jpg", Whole::up_to(900))), "one size");
    refused(&with(global().stream(3)), "Views::stream");
    refused(&with(global().resize_on_device(64)), "resize_on_device");
    refused(&with(global().device_decoder(DeviceShare::fixed(1))), "device_decoder");
    refused(&with(Image::new("jpg", CenterCrop::new(0))), "no pixels");
    refused(&Views::new().group("none", 0, global()), "1 to 1024 views, and this one has 0");
    refused(&Views::new().group("many", 1 << 40, global()), "1 to 1024 views");
    let storage = PictureStorage { side: 64, format: Format::Pixels };
    let columns = pair(|image| image).columns();
    let Err(error) = columns[0].hooks().unwrap().for_resident(storage) else { panic!("resident") };
    assert!(error.text().contains("Resident"), "{error}");
    assert!(columns[0].for_device().is_none());
    let shape = RowShape::Fixed(DType::U8, vec![5, 24, 32, 3]);
    assert_eq!((columns[1].shape(), columns[1].name()), (shape, "local"));
}

#[test]
fn five_and_ten_crops_are_pictures_of_one_resize() {
    let bytes = Photo::new(200, 150, PhotoKind::Exif(6)).encode(3).unwrap();
    let size = ResizeSize::Shorter(60);
    let interpolation = Interpolation::Bicubic;
    let resize = Operation::from(Resize { size, interpolation, max_size: None });
    let whole = Image::new("jpg", Recipe::new([flip(), resize.clone()]));
    let mut pixels = vec![0; 60 * 80 * 3];
    let parts = [("jpg", &bytes[..])];
    let mut used = 0;
    let to = Row::variable(&mut pixels, &mut used);
    whole.decode(&sample(&parts, 5), to, &mut Scratch::default()).unwrap();
    for (last, count) in [(FiveCrop::new([40, 32]).into(), 5), (TenCrop::new([40, 32]).into(), 10)]
    {
        let image = Image::new("jpg", Recipe::new([flip(), resize.clone(), last]));
        let refused = image.validate().unwrap_err();
        assert!(refused.text().contains("Views::crops"), "{refused}");
        let columns = Views::new().crops("crops", image).columns();
        assert_eq!(columns[0].shape(), RowShape::Fixed(DType::U8, vec![count, 40, 32, 3]));
        let found = row(&columns[0], &bytes, 5, &mut Scratch::default()).unwrap();
        let views: Vec<&[u8]> = found.chunks(40 * 32 * 3).collect();
        // The picture is 60 wide and 80 high: lower right is from (28, 40), the center from (14, 20).
        for (view, [left, top]) in [(0, [0, 0]), (3, [28, 40]), (4, [14, 20])] {
            for y in 0..40 {
                let want = &pixels[((top + y) * 60 + left) * 3..][..32 * 3];
                assert!(
                    views[view][y * 32 * 3..][..32 * 3] == *want,
                    "crop {view} of {count}, row {y}"
                );
            }
        }
        if count == 10 {
            let rows = views[9].chunks(32 * 3).zip(views[4].chunks(32 * 3));
            rows.for_each(|(found, want)| assert!(found.chunks(3).eq(want.chunks(3).rev())));
        }
    }
}

/// Records the bytes that are reserved.
#[derive(Default)]
struct Reserved(Mutex<Vec<u64>>);

impl Memory for Reserved {
    fn take(&self, held: u64, bytes: u64) -> Result<()> {
        assert_eq!(held, 0, "a thread that holds memory must not wait for more");
        self.0.lock().unwrap().push(bytes);
        Ok(())
    }
    fn give(&self, _: u64) {}
}

#[test]
fn pixels_frames_and_kept_rows_are_reserved() {
    let bytes = Photo::new(200, 150, PhotoKind::Yuv444).encode(3).unwrap();
    let reserved = Arc::new(Reserved::default());
    let mut scratch = Scratch::with_memory(reserved.clone());
    let columns = pair(|image| image.reducing_gap(None)).columns();
    for column in &columns {
        row(column, &bytes, 4, &mut scratch).unwrap();
    }
    let rows = 2 * 48 * 56 * 3 + 5 * 24 * 32 * 3;
    let found = reserved.0.lock().unwrap().clone();
    assert_eq!(found.len(), 2);
    assert!(found[0] > 200 * 150 + rows, "{found:?}");
    // The second row is made of the pixels that the first column has left.
    assert!(found[1] > 5 * 24 * 32 * 3 && found[1] <= found[0], "{found:?}");
}

/// Pixels of pictures up to 8 MiB are kept for the next column; of larger ones, the rows are.
#[test]
fn rows_are_the_same_from_kept_pixels_from_kept_rows_and_alone() {
    for (width, height) in [(200, 150), (2100, 1500)] {
        let bytes = Photo::new(width, height, PhotoKind::Yuv444).encode(3).unwrap();
        let columns = pair(|image| image.reducing_gap(None)).columns();
        let mut shared = Scratch::default();
        for seed in 0..3 {
            for column in columns.iter().chain(&columns) {
                let found = row(column, &bytes, seed, &mut shared).unwrap();
                let alone = row(column, &bytes, seed, &mut Scratch::default()).unwrap();
                assert!(found == alone, "{width} x {height}, seed {seed}, {}", column.name());
            }
        }
    }
}
