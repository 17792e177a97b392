//! Columns of annotations without a loader.

use tarflume_fixtures::{Photo, PhotoKind};
use tarflume_image::StoredPicture;
use tarflume_transforms::Recipe;
use tarflume_transforms::operations::crop::RandomResizedCrop;
use tarflume_transforms::operations::detection::RandomIoUCrop;
use tarflume_types::{ErrorKind, Result, Row};

use super::*;
use crate::decode::{DecodeHooks, ObjectRows, Sample, Scratch};
use tarflume_annotations::boxes::{AnyBoxFormat, BoxFormat, RotatedFormat};

const JSON: &[u8] =
    br#"{"b": [[10, 20, 30, 40], [0, 0, 5, 5]], "c": [3, 4], "s": [[[10, 20, 40, 20, 40, 60]], null]}"#;

fn image() -> Image {
    Image::new("jpg", Recipe::new([RandomResizedCrop::new([32, 24]).into()]))
}

fn all(image: &Image) -> Annotations {
    Annotations::of(image)
        .boxes("boxes", Boxes::new("/b", BoxFormat::Xywh))
        .values("labels", "/c", DType::I64)
        .masks("masks", Masks::new("/s").most(7))
}

fn row(column: &dyn Decode, json: &[u8], seed: u64, scratch: &mut Scratch) -> Result<Vec<u8>> {
    let photo = Photo::new(96, 80, PhotoKind::Yuv420).encode(3).unwrap();
    let parts = [("json", json), ("jpg", &photo[..])];
    let sample = Sample { seed, parts: &parts, ..Sample::default() };
    let mut bytes = vec![0; column.room(&[json.len() as u64, photo.len() as u64]) as usize];
    let mut used = 0;
    let written = column.decode(&sample, Row::variable(&mut bytes, &mut used), scratch);
    scratch.release();
    bytes.truncate(used);
    written.map(|()| bytes)
}

#[test]
fn columns_of_a_sample_have_the_same_objects_in_any_order() {
    let columns = all(&image()).columns();
    let mut shared = Scratch::default();
    let mut objects = 0;
    for seed in 0..40 {
        let boxes = row(&columns[0], JSON, seed, &mut shared).unwrap();
        let labels = row(&columns[1], JSON, seed, &mut shared).unwrap();
        let masks = row(&columns[2], JSON, seed, &mut shared).unwrap();
        assert_eq!(
            (boxes.len() / 16, masks.len() / (32 * 24)),
            (labels.len() / 8, labels.len() / 8)
        );
        objects += labels.len() / 8;
        // Alone, and after another sample, each is the same.
        for (column, expected) in columns.iter().zip([&boxes, &labels, &masks]) {
            assert!(row(column, JSON, seed, &mut Scratch::default()).unwrap() == *expected);
            assert!(row(column, JSON, seed, &mut shared).unwrap() == *expected);
        }
    }
    assert!((20..80).contains(&objects), "{objects}");
}

#[test]
fn no_more_of_a_picture_is_read_than_its_own_column_needs() {
    let image = image();
    let columns = all(&image).columns();
    let picture =
        StoredPicture { size: (80, 96).into(), orientation: Some(6), seed: 5, ordinal: 0 };
    for column in &columns {
        assert!(column.takes_excerpts());
        assert_eq!(column.picture_part(), Some(1));
        let expected = DecodeHooks::region(&image, &picture).unwrap();
        assert_eq!(format!("{:?}", column.region(&picture).unwrap()), format!("{expected:?}"));
    }
    // What is drawn with boxes is not known before they are read.
    let drawn = Image::new("jpg", Recipe::new([RandomIoUCrop::default().into()]));
    assert!(all(&drawn).columns()[0].region(&picture).is_none());
    assert!(drawn.lacks_boxes() && !all(&drawn).picture().lacks_boxes());
}

#[test]
fn rooms_hold_what_a_part_can_have_and_no_more_masks_than_are_allowed() {
    let columns = all(&image()).columns();
    assert_eq!(columns[0].objects(), Some(ObjectRows::Numbers(vec![4])));
    assert_eq!(columns[2].objects(), Some(ObjectRows::Masks));
    assert_eq!(columns[0].room(&[1000, 5]), 101 * 16);
    assert_eq!(columns[1].room(&[1000, 5]), 501 * 8);
    assert_eq!(columns[2].room(&[1000, 5]), 7 * 32 * 24);
    let least = br#"{"b":[[0,0,9,9],[0,0,9,9]],"c":[1,1],"s":[[],[]]}"#;
    for column in &columns {
        row(column, least, 1, &mut Scratch::default()).unwrap();
    }
}

#[test]
fn a_bad_object_is_named() {
    let columns = all(&image()).columns();
    let error = row(&columns[1], br#"{"b": [[1, 2, 3]]}"#, 1, &mut Scratch::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Decode);
    assert!(error.text().starts_with(r#"JSON pointer "/b", object 0: expected a list"#), "{error}");
    let two = all(&image()).boxes("more", Boxes::new("/b", BoxFormat::Xyxy)).columns();
    assert!(two[0].validate().unwrap_err().text().contains("one column of boxes"));
    assert!(Boxes::new("b", BoxFormat::Xyxy).validate().is_err());
}

#[test]
fn boxes_with_an_angle_are_written_in_each_format() {
    let json = br#"{"b": [[[10,20,40,20,40,60,10,60]], [0,0,0,5,5,5,5,0]]}"#;
    let whole = Image::new("jpg", Recipe::new([]));
    let rows: [(AnyBoxFormat, Vec<f32>); 4] = [
        (RotatedFormat::Cxcywhr.into(), vec![25.0, 40.0, 30.0, 40.0, 0.0, 2.5, 2.5, 5.0, 5.0, 0.0]),
        (RotatedFormat::Xywhr.into(), vec![10.0, 20.0, 30.0, 40.0, 0.0, 0.0, 0.0, 5.0, 5.0, 0.0]),
        (
            RotatedFormat::Xyxyxyxy.into(),
            vec![
                10.0, 20.0, 40.0, 20.0, 40.0, 60.0, 10.0, 60.0, //
                0.0, 0.0, 5.0, 0.0, 5.0, 5.0, 0.0, 5.0,
            ],
        ),
        (BoxFormat::Xywh.into(), vec![10.0, 20.0, 30.0, 40.0, 0.0, 0.0, 5.0, 5.0]),
    ];
    for (out, expected) in rows {
        let boxes = Boxes::new("/b", RotatedFormat::Xyxyxyxy).out(out);
        let columns = Annotations::of(&whole).boxes("boxes", boxes).columns();
        let count = out.count();
        assert_eq!(columns[0].objects(), Some(ObjectRows::Numbers(vec![count])));
        // `[0,0,0,0,0,0,0,0],` is the shortest box.
        assert_eq!(columns[0].room(&[180, 5]), 11 * 4 * count as u64);
        let bytes = row(&columns[0], json, 1, &mut Scratch::default()).unwrap();
        let found: Vec<f32> =
            bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_ne_bytes(*bytes)).collect();
        assert_eq!(found, expected, "{out}");
    }
}

#[test]
fn bits_of_masks_are_those_of_their_bytes() {
    for width in [1, 7, 8, 33] {
        let image = Image::new("jpg", Recipe::new([RandomResizedCrop::new([24, width]).into()]));
        let columns = Annotations::of(&image)
            .masks("masks", Masks::new("/s").most(7))
            .masks("bits", Masks::new("/s").most(7).bits(true))
            .columns();
        let line = width.div_ceil(8) as usize;
        assert_eq!(columns[1].room(&[1000, 5]), 7 * 24 * line as u64);
        let mut scratch = Scratch::default();
        let mut set = 0;
        for seed in 0..9 {
            let masks = row(&columns[0], JSON, seed, &mut scratch).unwrap();
            let bits = row(&columns[1], JSON, seed, &mut scratch).unwrap();
            assert_eq!((masks.len(), bits.len()), (2 * 24 * width as usize, 2 * 24 * line));
            for (at, pixel) in masks.iter().enumerate() {
                let place = at % width as usize;
                let byte = bits[at / width as usize * line + place / 8];
                assert_eq!(byte >> (7 - place % 8) & 1, *pixel);
                set += u32::from(*pixel);
            }
            let ones: u32 = bits.iter().map(|byte| byte.count_ones()).sum();
            assert_eq!(ones, masks.iter().map(|&pixel| u32::from(pixel)).sum::<u32>());
        }
        assert!(set > 0);
    }
    // The lines of a picture of unknown width may have a byte more than their pixels fill.
    let whole = Image::new("jpg", Recipe::new([]));
    let columns = Annotations::of(&whole).masks("m", Masks::new("/s").most(1).bits(true)).columns();
    assert_eq!(columns[0].room_of(&[9, 9], &[None, Some(4_000_000)]), Some(500_000 + 65_536));
    assert_eq!(columns[0].room_of(&[9, 9], &[None, Some(300)]), Some(300));
}
