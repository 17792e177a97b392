//! Whatever is packed passes every level of `pack verify`: pictures with the extension of another format, all kinds of
//! JPEG, long names, other scripts, many parts. Random, with fixed seeds.

use std::fs;
use std::io::Cursor;

use image::{DynamicImage, ImageFormat};
use tarflume_fixtures::{Photo, PhotoKind, SplitMix64};

use crate::harness::Place;

/// Extensions of pictures, right or wrong.
const PICTURES: [&str; 8] = ["jpg", "JPEG", "png", "webp", "gif", "bmp", "tif", "tiff"];
const SAMPLES: u64 = 14;

struct Inputs {
    random: SplitMix64,
}

impl Inputs {
    fn below(&mut self, end: usize) -> usize {
        (self.random.next_u64() % end as u64) as usize
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    /// The bytes of a JPEG, with bytes after its end every fourth time.
    fn jpeg(&mut self) -> Vec<u8> {
        let kind = self.one(&PhotoKind::ALL);
        let width = 1 + self.below(200) as u16;
        let height = 1 + self.below(90) as u16;
        let mut bytes = Photo::new(width, height, kind).encode(self.random.next_u64()).unwrap();
        if self.below(4) == 0 {
            bytes.extend(b"notes of a camera");
        }
        bytes
    }

    /// The bytes of a picture that is no JPEG.
    fn other_picture(&mut self) -> Vec<u8> {
        let width = 1 + self.below(60) as u32;
        let height = 1 + self.below(60) as u32;
        let format = self.one(&[ImageFormat::Png, ImageFormat::Gif, ImageFormat::Bmp]);
        let mut bytes = Cursor::new(Vec::new());
        DynamicImage::new_rgb8(width, height).write_to(&mut bytes, format).unwrap();
        bytes.into_inner()
    }

    /// An extension, and a picture that packing accepts for it: a JPEG for any, others for all but JPEG's.
    fn picture(&mut self) -> (&'static str, Vec<u8>) {
        let ext = self.one(&PICTURES);
        let is_jpeg = ext.to_lowercase().starts_with("jp") || self.below(3) > 0;
        (ext, if is_jpeg { self.jpeg() } else { self.other_picture() })
    }

    fn stem(&mut self, number: u64) -> String {
        let long = "x".repeat(self.below(60));
        let folders = ["", "a/", "a/b-c/", "déjà/", "写真/", "with space/"];
        let words = ["", "photo", "_", "Ünïcode", "写真", long.as_str()];
        format!("{}{}{number}", self.one(&folders), self.one(&words))
    }

    fn json(&mut self, number: u64) -> String {
        let more = ["", ",\"caption\":\"\\u00e9\\n\"", ",\"list\":[1,[2]]", ",\"none\":null"];
        format!("{{\"class\":{number}{}}}", self.one(&more))
    }

    /// Writes a folder of samples.
    fn write(&mut self, place: &Place, folder: &str) {
        for number in 0..SAMPLES {
            let stem = format!("{folder}/{}", self.stem(number));
            let (ext, picture) = self.picture();
            place.file(format!("{stem}.{ext}"), picture);
            let json = self.json(number);
            place.file(format!("{stem}.json"), json);
            if self.below(3) == 0 {
                let bytes = vec![self.below(256) as u8; 1 + self.below(3000)];
                place.file(format!("{stem}.bin"), bytes);
            }
        }
    }
}

#[track_caller]
fn expect_whole(place: &Place, folder: &str) {
    for level in ["quick", "full", "decode"] {
        let run = place.pack(&format!("verify --level {level} {folder}"));
        assert_eq!(run.exit, 0, "{folder} at {level}: {run:#?}");
    }
}

#[test]
fn what_is_packed_from_odd_inputs_passes_every_level_of_verify() {
    for seed in 0..6 {
        let place = Place::new();
        let mut inputs = Inputs { random: SplitMix64::new(seed) };
        inputs.write(&place, "src");
        for (command, out) in [
            ("build src -o plain --names replace", "plain"),
            ("build src -o few --names replace --shard-samples 3 --columns class:u32", "few"),
            ("build src -o packed --names replace --compress zstd", "packed"),
            ("build src -o decoded --names replace --check decode --no-entry-points", "decoded"),
            ("reshard plain -o again", "again"),
            ("reshard packed -o unpacked --shard-samples 4", "unpacked"),
            ("build tar:few -o merged", "merged"),
        ] {
            place.pack(command).succeeds();
            expect_whole(&place, out);
        }
        let tar = fs::read(place.at("plain/shard-000000.tar")).unwrap();
        for (options, folder) in [
            ("", "i0"),
            ("--entry-points", "i1"),
            ("--columns class:u32 --entry-points", "i2"),
            ("--headers", "i3"),
        ] {
            place.file(format!("{folder}/a.tar"), &tar);
            place.pack(&format!("index {options} {folder}")).succeeds();
            expect_whole(&place, folder);
            place.pack(&format!("reshard {folder} -o {folder}r")).succeeds();
        }
        inputs.write(&place, "src/later");
        place.pack("append src -o plain").succeeds();
        expect_whole(&place, "plain");
    }
}

#[test]
fn a_jpeg_named_as_another_picture_has_entry_points() {
    let place = Place::new();
    for ext in PICTURES {
        let photo = Photo::new(150, 90, PhotoKind::Yuv420).encode(3).unwrap();
        place.file(format!("src/{}.{ext}", ext.to_lowercase()), photo);
        place.file(format!("src/{}.json", ext.to_lowercase()), "{}");
    }
    place.pack("build src -o out").succeeds();
    expect_whole(&place, "out");
    let tar = fs::read(place.at("out/shard-000000.tar")).unwrap();
    place.file("t/shard-000000.tar", tar);
    place.pack("index --entry-points t").succeeds().says("entry points of 8 JPEGs");
    expect_whole(&place, "t");
    let sidecar = |folder: &str| fs::read(place.at(folder).join("shard-000000.index")).unwrap();
    assert_eq!(sidecar("out"), sidecar("t"));
}

/// A JPEG with arithmetic coding, by its header: no code of it is read.
fn arithmetic() -> Vec<u8> {
    let mut bytes = Photo::new(60, 40, PhotoKind::Yuv420).encode(1).unwrap();
    let frame = bytes.windows(2).position(|pair| pair == [0xff, 0xc0]).unwrap();
    bytes[frame + 1] = 0xc9;
    bytes
}

#[test]
fn pictures_of_kinds_that_are_not_decoded_are_warnings_where_packing_has_taken_them() {
    let place = Place::new();
    for key in ["src/a", "src/b"] {
        place.file(format!("{key}.jpg"), arithmetic()).file(format!("{key}.json"), "{}");
    }
    place.pack("build src -o out").succeeds();
    let run = place.pack("verify --level decode out").succeeds();
    run.says("warning: bad-jpeg: out/shard-000000.tar: byte 512: key a: ")
        .says("coded arithmetically")
        .says("; 1 other picture of this shard, too")
        .says("whole; 1 warning");
    place.pack("reshard out -o again").succeeds();
    place.pack("build src -o no --check decode").exits(1).says("coded arithmetically");
    // Nothing says that anyone has accepted those of another program's tar.
    place.file("t/a.tar", fs::read(place.at("out/shard-000000.tar")).unwrap());
    place.pack("index t").succeeds();
    place.pack("verify --level decode t").exits(1).says("2 problems (bad-jpeg 2)");
}
