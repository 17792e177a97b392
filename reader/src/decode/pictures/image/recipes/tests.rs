//! A recipe that is divided between the decoder and a frame gives the pixels of its actions, one by one, on the whole picture.

use tarflume_fixtures::{Photo, PhotoKind};
use tarflume_image::{Filter, Normalize, Random};
use tarflume_transforms::operations::crop::RandomResizedCrop;
use tarflume_transforms::operations::resize::{Resize, ResizeKeepRatio, ResizeSize};
use tarflume_transforms::operations::turn::RandomHorizontalFlip;
use tarflume_transforms::{CropInterpolation, Interpolation, Operation};

use super::*;
use crate::decode::hybrid::balance::DeviceShare;
use crate::decode::hybrid::pictures::PictureStorage;
use crate::decode::{Decode, DecodeHooks, Sample, Scratch};
use tarflume_image::row_header::Format;
use tarflume_transforms::apply;
use tarflume_transforms::placing::Whole;

fn crop() -> Operation {
    RandomResizedCrop::new([40, 56]).into()
}

/// A crop whose filter is drawn for each picture.
fn random_crop() -> Operation {
    let interpolation = CropInterpolation::Random;
    RandomResizedCrop { interpolation, ..RandomResizedCrop::new([40, 56]) }.into()
}

fn flip() -> Operation {
    RandomHorizontalFlip { p: 0.5 }.into()
}

fn resize(size: ResizeSize) -> Operation {
    Resize { size, interpolation: Interpolation::Bilinear, max_size: None }.into()
}

/// The pixels of a row.
fn row(image: &Image, bytes: &[u8], seed: u64) -> Result<Vec<u8>> {
    image.validate()?;
    let parts = [("jpg", bytes)];
    let sample = Sample { key: b"a", ordinal: 0, seed, parts: &parts, ..Sample::default() };
    let fixed = image.shape().bytes();
    let room = fixed.unwrap_or_else(|| image.room_of(&[0], &[Some(200 * 150)]).unwrap() as usize);
    let mut row = vec![0u64; room.div_ceil(8)];
    let bytes = &mut bytemuck::cast_slice_mut(&mut row)[..room];
    let mut used = room;
    let row = if fixed.is_some() { Row::fixed(bytes) } else { Row::variable(bytes, &mut used) };
    image.decode(&sample, row, &mut Scratch::default())?;
    Ok(bytes[..used].to_vec())
}

/// The pixels of the recipe's actions on the whole picture.
fn one_by_one(recipe: &Recipe, image: &Image, bytes: &[u8], seed: u64) -> (ImageSize, Vec<u8>) {
    let whole = Image { recipe: None, ..image.clone() };
    let whole = Image { transform: Arc::new(Whole::up_to(1 << 20)), ..whole };
    let mut sizes = [0u32; 2];
    let parts = [("jpg", bytes)];
    let sample = Sample { key: b"a", ordinal: 0, seed, parts: &parts, ..Sample::default() };
    let to = Row::fixed(bytemuck::bytes_of_mut(&mut sizes));
    whole.sizes().decode(&sample, to, &mut Scratch::default()).unwrap();
    let size = ImageSize::new(sizes[1], sizes[0]);
    let channels = image.channels.count();
    let mut frame = Frame::default();
    frame.begin(size, channels).unwrap().copy_from_slice(&row(&whole, bytes, seed).unwrap());
    let mut actions = Vec::new();
    recipe.draw(seed, image.stream, Shape { size, channels }, &mut actions).unwrap();
    apply(&actions, &mut frame).unwrap();
    (frame.size(), frame.pixels().to_vec())
}

/// The largest difference of two bytes.
fn worst(found: &[u8], want: &[u8]) -> u8 {
    assert_eq!(found.len(), want.len());
    found.iter().zip(want).map(|(found, want)| found.abs_diff(*want)).max().unwrap()
}

#[test]
fn what_the_decoder_does_and_what_a_frame_does_are_the_recipe() {
    let keep = ResizeKeepRatio {
        size: 50,
        letterbox: false,
        fill: 0u8.into(),
        interpolation: Interpolation::Bilinear,
    };
    let recipes = [
        vec![],
        vec![crop()],
        vec![crop(), flip()],
        vec![flip(), crop()],
        vec![random_crop(), flip()],
        vec![random_crop(), flip(), resize(ResizeSize::Shorter(24))],
        vec![crop(), flip(), resize(ResizeSize::Exact([30, 20]))],
        vec![crop(), resize(ResizeSize::Shorter(24)), flip()],
        vec![resize(ResizeSize::Shorter(60)), flip(), crop()],
        vec![flip(), keep.into(), flip()],
    ];
    for kind in [PhotoKind::Yuv420, PhotoKind::Exif(6), PhotoKind::Exif(2), PhotoKind::Gray] {
        let photo = Photo::new(200, 150, kind).encode(3).unwrap();
        for recipe in &recipes {
            let recipe = Recipe::new(recipe.iter().cloned());
            for channels in [Channels::Rgb, Channels::Gray] {
                for seed in 0..12 {
                    let image =
                        Image::new("jpg", recipe.clone()).reducing_gap(None).stream(seed % 3);
                    let image = image.channels(channels);
                    let found = row(&image, &photo, seed).unwrap();
                    let (_, want) = one_by_one(&recipe, &image, &photo, seed);
                    // A picture that lies on its side is resized before it is turned, which rounds otherwise.
                    let most = u8::from(kind == PhotoKind::Exif(6));
                    assert!(
                        worst(&found, &want) <= most,
                        "{kind:?}, {channels}, seed {seed}: {recipe:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn rows_have_the_types_and_layouts_of_other_columns() {
    let photo = Photo::new(200, 150, PhotoKind::Yuv420).encode(3).unwrap();
    let recipe = Recipe::new([crop(), flip(), resize(ResizeSize::Exact([30, 20]))]);
    let image = Image::new("jpg", recipe);
    let bytes = row(&image, &photo, 5).unwrap();
    assert_eq!(image.shape().bytes(), Some(30 * 20 * 3));
    let normalized = image.clone().layout(Layout::Chw).to_f16(Normalize::unit());
    let found = row(&normalized, &photo, 5).unwrap();
    let found: &[f16] = bytemuck::cast_slice(&found);
    for (at, byte) in bytes.iter().enumerate() {
        let value = found[at % 3 * 600 + at / 3];
        assert_eq!(value, f16::from_f32(f32::from(*byte) * (1.0 / 255.0)));
    }
}

#[test]
fn rectangles_are_erased_after_values_are_normalized() {
    let photo = Photo::new(200, 150, PhotoKind::Yuv420).encode(3).unwrap();
    let erasing = r#"[{"RandomHorizontalFlip": {}}, {"RandomErasing": {"p": 1.0, "value": 0.0}}]"#;
    let Ok(recipe) = serde_json::from_str::<Recipe>(erasing) else { panic!("{erasing}") };
    let erased = Image::new("jpg", recipe.clone()).to_f32(Normalize::imagenet());
    let found = row(&erased, &photo, 5).unwrap();
    let plain = Image::new("jpg", Recipe::new([flip()])).to_f32(Normalize::imagenet());
    let want = row(&plain, &photo, 5).unwrap();
    let values = bytemuck::cast_slice::<u8, f32>(&found).iter();
    let pairs = values.zip(bytemuck::cast_slice::<u8, f32>(&want));
    let zeros = pairs.clone().filter(|(found, _)| **found == 0.0).count();
    assert!(zeros > 500, "{zeros} of {}", found.len() / 4);
    assert!(pairs.clone().all(|(found, want)| found == want || *found == 0.0));
    assert!(erased.for_device().is_none());
}

#[test]
fn a_variable_row_has_the_size_that_is_drawn() {
    let photo = Photo::new(200, 150, PhotoKind::Exif(6)).encode(3).unwrap();
    let recipe = Recipe::new([flip(), resize(ResizeSize::Shorter(24))]);
    let image = Image::new("jpg", recipe.clone()).reducing_gap(None);
    assert!(image.shape().bytes().is_none());
    assert_eq!(image.room_of(&[0], &[Some(30_000)]), Some(24 * 96 * 3));
    let mut sizes = [0u32; 2];
    let parts = [("jpg", &photo[..])];
    for seed in 0..8 {
        let sample = Sample { key: b"a", ordinal: 0, seed, parts: &parts, ..Sample::default() };
        let to = Row::fixed(bytemuck::bytes_of_mut(&mut sizes));
        image.sizes().decode(&sample, to, &mut Scratch::default()).unwrap();
        let (size, want) = one_by_one(&recipe, &image, &photo, seed);
        assert_eq!(sizes, [size.height, size.width]);
        assert!(worst(&row(&image, &photo, seed).unwrap(), &want) <= 1);
    }
    let narrow = Photo::new(200, 16, PhotoKind::Yuv420).encode(3).unwrap();
    let image = Image::new(
        "jpg",
        Recipe::new([
            resize(ResizeSize::Shorter(4)),
            crop(),
            flip(),
            resize(ResizeSize::Shorter(9)),
        ]),
    );
    row(&image, &narrow, 1).unwrap();
    let image =
        Image::new("jpg", Recipe::new([flip(), resize(ResizeSize::Shorter(4)), flip(), flip()]));
    let error = row(&image, &narrow, 1).unwrap_err();
    assert!(error.text().contains("max_size"), "{error}");
}

#[test]
fn the_filter_is_that_of_the_recipe_unless_it_is_set() {
    fn drawn() -> Image {
        Image::new("jpg", Recipe::new([random_crop(), flip()]))
    }

    let bicubic = RandomResizedCrop {
        interpolation: CropInterpolation::Bicubic,
        ..RandomResizedCrop::new([8, 8])
    };
    let image = Image::new("jpg", Recipe::new([bicubic.into(), flip()]));
    assert_eq!(image.resize_filter(), Filter::Bicubic);
    assert_eq!(image.filter(Filter::Lanczos).resize_filter(), Filter::Lanczos);
    let filters: Vec<Filter> = (0..20).map(|seed| drawn().filter_of(seed)).collect();
    assert!(filters.contains(&Filter::Bilinear) && filters.contains(&Filter::Bicubic));
    assert!(drawn().gap().is_none(), "bicubic pictures are decoded in full");
    let lanczos = drawn().filter(Filter::Lanczos);
    assert!((0..20).all(|seed| lanczos.filter_of(seed) == Filter::Lanczos));
    let shared = drawn().device_decoder(DeviceShare::fixed(500));
    assert!(shared.validate().unwrap_err().text().contains("Filter::Bilinear"));
}

#[test]
fn columns_that_a_recipe_cannot_make_are_refused() {
    fn refused(image: Image, text: &str) {
        let error = image.validate().unwrap_err();
        assert!(error.text().contains(text), "{error}");
    }

    fn image() -> Image {
        Image::new("jpg", Recipe::new([flip(), crop()]))
    }

    image().validate().unwrap();
    refused(image().channels(Channels::Rgba), "rgba");
    refused(image().channels(Channels::Index), "index");
    refused(image().to_u16(), "16-bit");
    refused(image().device_decoder(DeviceShare::fixed(500)), "device_decoder");
    refused(image().resize_on_device(512), "resize_on_device");
    let storage = PictureStorage { side: 64, format: Format::Pixels };
    let Err(error) = image().for_resident(storage) else { panic!("a recipe on a device") };
    assert!(error.text().contains("Resident"), "{error}");

    let placed = Image::new("jpg", Recipe::new([crop(), flip()]));
    placed.clone().channels(Channels::Rgba).validate().unwrap();
    placed.clone().to_u16().validate().unwrap();
    placed.clone().device_decoder(DeviceShare::fixed(500)).validate().unwrap();
    placed.clone().resize_on_device(512).validate().unwrap();
    assert!(placed.for_resident(storage).unwrap().is_some());
    let bad = RandomResizedCrop { scale: [0.5, 2.0], ..RandomResizedCrop::new([8, 8]) };
    refused(Image::new("jpg", Recipe::new([bad.into()])), "RandomResizedCrop: scale");
}

#[test]
fn a_recipe_whose_type_is_chosen_at_run_time_is_a_recipe() {
    let photo = Photo::new(200, 150, PhotoKind::Yuv420).encode(3).unwrap();
    let recipe = Recipe::new([flip(), crop()]);
    let boxed: Box<dyn tarflume_image::Transform> = Box::new(recipe.clone());
    let mut random = Random::new(1);
    assert_eq!(boxed.place((150, 200).into(), &mut random).unwrap().cut.size.width, 200);
    let found = row(&Image::new("jpg", boxed), &photo, 4).unwrap();
    assert!(found == row(&Image::new("jpg", recipe), &photo, 4).unwrap());
}
