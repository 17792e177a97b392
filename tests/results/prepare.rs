//! `pack build --resize` and the like: images that are prepared while they are packed.

use std::fs;
use std::io::Cursor;

use image::{DynamicImage, GrayImage, ImageFormat, Luma, Rgb, RgbImage, Rgba, RgbaImage};
use serde_json::Value;
use tarflume_fixtures::{Folder, Photo, PhotoKind};

use crate::harness::{Member, Place};
use crate::interrupted::kills::killed;

const ALL: &str = "--resize short:120 --quality 85 --orient --to-jpeg --optimize --baseline --strip-metadata \
                   --keep-original-size";

fn encoded(image: impl Into<DynamicImage>, format: ImageFormat) -> Vec<u8> {
    let mut out = Cursor::new(Vec::new());
    image.into().write_to(&mut out, format).unwrap();
    out.into_inner()
}

fn gradient(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| Rgb([x as u8, y as u8, (x + y) as u8]))
}

/// A folder `photos` of JPEGs of every kind, PNG, WebP, and images that stay as they are.
fn mixed() -> Place {
    let place = Place::new();
    Folder::new(7).pairs(28).mixed_kinds().write(&place.at("photos")).unwrap();
    let file = |name: &str, bytes: Vec<u8>| {
        place.file(format!("photos/{name}"), bytes);
        let stem = name.split('.').next().unwrap();
        place.file(format!("photos/{stem}.json"), format!("{{\"name\": \"{stem}\", \"f\": 1.50}}"));
    };
    for (n, kind) in PhotoKind::ALL.into_iter().enumerate() {
        file(&format!("big{n}.jpg"), Photo::new(400, 300, kind).encode(n as u64).unwrap());
    }
    file("a.png", encoded(gradient(300, 200), ImageFormat::Png));
    file("b.webp", encoded(gradient(300, 200), ImageFormat::WebP));
    file("c.png", encoded(RgbaImage::from_pixel(300, 200, Rgba([1, 2, 3, 90])), ImageFormat::Png));
    file("d.png", encoded(gradient(300, 200), ImageFormat::Png));
    place
}

fn members(place: &Place, set: &str) -> Vec<Member> {
    place.shards(set).into_iter().flatten().collect()
}

fn member<'a>(members: &'a [Member], name: &str) -> &'a Member {
    let names = || members.iter().map(|member| member.name.clone()).collect::<Vec<_>>();
    members.iter().find(|m| m.name == name).unwrap_or_else(|| panic!("{name}: {:?}", names()))
}

fn size(member: &Member) -> (u32, u32) {
    let image = image::load_from_memory(&member.data).unwrap();
    (image.width(), image.height())
}

fn json(member: &Member) -> Value {
    serde_json::from_slice(&member.data).unwrap()
}

#[test]
fn the_bytes_do_not_depend_on_threads_and_the_data_set_is_whole() {
    let place = mixed();
    for jobs in [1, 2, 4] {
        place.pack(&format!("build photos -o out{jobs} --shards 5 --jobs {jobs} {ALL}")).succeeds();
    }
    place.same("out1", "out2");
    place.same("out1", "out4");
    for level in ["quick", "full", "decode"] {
        place.pack(&format!("verify out1 --level {level}")).succeeds();
    }
    place.pack(&format!("plan photos -o planned --shards 5 {ALL}")).succeeds();
    place.pack("run planned --shards 3..5").succeeds().says("prepared");
    place.pack("run planned").succeeds();
    place.pack("finalize planned").succeeds();
    place.same("out1", "planned");
}

#[test]
fn a_killed_build_that_prepares_images_gives_the_same_bytes() {
    let place = Place::new();
    place.photos("photos", 60);
    killed(&place, "photos", "--shard-samples 4 --resize short:100 --strip-metadata", 8);
}

#[test]
fn each_image_is_prepared_as_its_kind_allows() {
    let place = mixed();
    let run = place.pack(&format!("build photos -o out {ALL}")).succeeds();
    assert!(
        run.stdout.contains("prepared ") && run.stdout.contains("one thread decodes"),
        "{run:?}"
    );
    let members = members(&place, "out");
    for name in ["a.jpg", "b.jpg", "d.jpg"] {
        let made = member(&members, name);
        assert!(made.data.starts_with(&[0xff, 0xd8]));
        assert_eq!(size(made), (180, 120), "{name}");
    }
    assert!(members.iter().all(|m| !["a.png", "b.webp", "d.png"].contains(&m.name.as_str())));
    let clear = member(&members, "c.png");
    assert_eq!(size(clear), (180, 120), "opacity stays");
    assert!(image::load_from_memory(&clear.data).unwrap().color().has_alpha());
    for (n, kind) in PhotoKind::ALL.into_iter().enumerate() {
        let turned = matches!(kind, PhotoKind::Exif(5..=8));
        let made = member(&members, &format!("big{n}.jpg"));
        assert_eq!(size(made), if turned { (120, 160) } else { (160, 120) }, "{kind:?}");
        assert!(!made.data.windows(4).any(|w| w == b"Exif"), "{kind:?}");
        let json = json(member(&members, &format!("big{n}.json")));
        assert_eq!((&json["original_width"], &json["original_height"]), (&400.into(), &300.into()));
        let source = fs::metadata(place.at(format!("photos/big{n}.jpg"))).unwrap().len();
        assert_eq!(json["original_bytes"], source);
    }
    let text = String::from_utf8(member(&members, "a.json").data.clone()).unwrap();
    assert!(text.starts_with("{\"name\": \"a\", \"f\": 1.50, \"original_width\": 300"), "{text}");
    let info: Value =
        serde_json::from_str(&place.pack("info --format json out").succeeds().stdout).unwrap();
    let jpegs = members.iter().filter(|member| member.name.ends_with(".jpg")).count();
    // Two small ones of four components stay as they are: all others are baseline now.
    assert_eq!(info["entry_points"]["parts"], jpegs - 2);
}

#[test]
fn lossless_options_keep_all_pixels() {
    let place = mixed();
    place.pack("build photos -o before").succeeds();
    place.pack("build photos -o after --optimize --baseline --strip-metadata").succeeds();
    let before = members(&place, "before");
    let after = members(&place, "after");
    let mut changed = 0;
    let mut bytes = (0, 0);
    for (old, new) in before.iter().zip(&after) {
        assert_eq!(old.name, new.name);
        changed += u32::from(old.data != new.data);
        if old.name.ends_with(".jpg") {
            let pixels = |member: &Member| image::load_from_memory(&member.data).unwrap();
            assert!(pixels(old) == pixels(new), "{}", old.name);
            bytes = (bytes.0 + old.data.len(), bytes.1 + new.data.len());
        } else {
            assert!(old.data == new.data);
        }
    }
    assert!(changed > 30 && bytes.1 < bytes.0, "{changed} {bytes:?}");
}

#[test]
fn a_damaged_image_is_a_problem_and_the_others_are_prepared() {
    let place = mixed();
    let mut bytes = Photo::new(400, 300, PhotoKind::Yuv420).encode(1).unwrap();
    let end = bytes.len() - 2;
    bytes.drain(end / 2..end);
    place.file("photos/zz.jpg", &bytes).file("photos/zz.json", "{}");
    let command = format!("build photos -o out {ALL} --no-entry-points");
    place.pack(&command).exits(1).says("bad-jpeg 1");
    place.pack(&format!("{command} --on-problem skip --fresh")).succeeds();
    let problems = place.problems("out");
    assert_eq!((problems.len(), &problems[0]["key"]), (1, &"zz".into()));
    assert!(problems[0]["byte"].as_u64().unwrap() > 0, "{problems:?}");
    assert!(!place.members("out").iter().any(|name| name.starts_with("zz.")));
}

#[test]
fn a_build_is_not_continued_with_other_images() {
    let place = Place::new();
    place.photos("photos", 20);
    place.pack("plan photos -o out --shard-samples 4 --resize short:100").succeeds();
    place.pack("run out --shards 0..2").succeeds();
    for options in ["", "--resize short:90", "--resize short:100 --quality 80", "--optimize"] {
        let run = place.pack(&format!("build photos -o out --shard-samples 4 {options}"));
        run.exits(2).says("--resize").says("--fresh");
    }
    place.pack("build photos -o out --shard-samples 4 --resize short:100").succeeds();
}

#[test]
fn more_samples_are_prepared_as_the_first_ones() {
    let place = mixed();
    place.pack("build photos -o out --resize long:64 --to-jpeg").succeeds();
    place.file("photos/new.png", encoded(gradient(300, 200), ImageFormat::Png));
    place.file("photos/new.json", "{}");
    place.pack("append photos -o out").succeeds();
    let members = members(&place, "out");
    assert_eq!(size(member(&members, "new.jpg")), (64, 43));
    place.pack("verify out").succeeds();
}

#[test]
fn names_that_are_taken_stay_and_sizes_have_a_json_of_their_own() {
    let place = Place::new();
    let png = encoded(gradient(300, 200), ImageFormat::Png);
    place
        .file("photos/two.png", &png)
        .file("photos/two.webp", encoded(gradient(300, 200), ImageFormat::WebP));
    place.file("photos/taken.png", &png);
    place.file("photos/taken.jpg", Photo::new(64, 64, PhotoKind::Yuv420).encode(1).unwrap());
    place.pack("build photos -o out --require image --to-jpeg --keep-original-size").succeeds();
    let names = place.members("out");
    let expected = ["taken.jpg", "taken.png", "taken.json", "two.jpg", "two.webp", "two.json"];
    assert_eq!(names, expected);
    let members = members(&place, "out");
    let sizes = json(member(&members, "taken.json"));
    assert_eq!(
        sizes,
        serde_json::json!({"original_width": 64, "original_height": 64,
        "original_bytes": member(&members, "taken.jpg").data.len(), "width": 64, "height": 64})
    );
    place.pack("verify out --level decode").succeeds();
}

#[test]
fn masks_keep_their_bytes() {
    let place = Place::new();
    let mask = encoded(GrayImage::from_pixel(300, 200, Luma([3])), ImageFormat::Png);
    place.file("pairs/images/a.png", encoded(gradient(300, 200), ImageFormat::Png));
    place.file("pairs/masks/a.png", &mask);
    let run = place.pack(&format!("build pairs -o out --pair images=png masks=mask.png {ALL}"));
    assert!(run.succeeds().stdout.contains("prepared 1 image ("));
    let members = members(&place, "out");
    assert_eq!(size(member(&members, "a.jpg")), (180, 120));
    assert_eq!(member(&members, "a.mask.png").data, mask);
}

#[test]
fn the_summary_says_what_was_saved_and_how_fast_decoding_is() {
    let place = mixed();
    let run = place.pack(&format!("build photos -o out --format json {ALL}")).succeeds();
    let events = run.events();
    let event = events.iter().find(|event| event["event"] == "prepared").unwrap();
    let number = |name: &str| event[name].as_u64().unwrap();
    assert_eq!(number("prepared") + number("left_alone"), 28 + 14 + 4);
    assert_eq!(number("converted"), 3);
    assert!(number("bytes_after") < number("bytes_before"));
    let decoding = &event["decoding"];
    assert!(decoding["images"].as_u64().unwrap() > 0);
    for name in ["images_per_second_before", "images_per_second_after"] {
        assert!(decoding[name].as_f64().unwrap() > 0.0, "{event}");
    }
    let plain = place.pack("build photos -o plain").succeeds();
    assert!(!plain.stdout.contains("prepared"), "nothing was asked for");
}

#[test]
fn options_without_effect_or_meaning_are_refused() {
    let place = mixed();
    place.pack("build photos -o out --quality 80").exits(2).says("--resize, --orient or --to-jpeg");
    place.pack("build photos -o out --resize 320").exits(2).says("short:320");
    place.pack("build photos -o out --resize long:10 --quality 0").exits(2);
    assert!(!place.at("out").exists());
}
