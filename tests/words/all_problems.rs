//! One run reports everything that is wrong; oddities are warnings; images are named by their
//! content.

use tarflume_fixtures::SplitMix64;

use crate::harness::Place;

/// Six photos, four of them damaged in the middle.
fn damaged() -> Place {
    let place = Place::new();
    place.photos("photos", 6);
    let photos: Vec<_> =
        place.names("photos").into_iter().filter(|n| n.ends_with(".jpg")).collect();
    for name in &photos[..4] {
        let path = format!("photos/{name}");
        let mut bytes = std::fs::read(place.at(&path)).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle..middle + 200].fill(0);
        place.file(path, bytes);
    }
    place
}

fn kinds(problems: &[serde_json::Value]) -> Vec<&str> {
    problems.iter().map(|problem| problem["kind"].as_str().unwrap()).collect()
}

#[test]
fn damaged_contents_are_reported_together_with_bad_names() {
    let place = damaged();
    place.file("photos/orphan.json", "{}");
    let run = place.pack("build photos -o out --check decode").exits(1);
    run.says("5 problems: missing-part 1, bad-jpeg 4; all in out/problems.jsonl");
    let problems = place.problems("out");
    assert_eq!(kinds(&problems)[0], "missing-part");
    assert_eq!(kinds(&problems)[1..], ["bad-jpeg"; 4]);
    assert_eq!(place.names("out"), ["problems.jsonl"], "nothing was packed");
    // With --check none contents are not read.
    place.pack("build photos -o names --check none").exits(1).says("1 problem: missing-part 1;");
}

#[test]
fn a_dry_run_checks_contents_if_a_check_is_requested() {
    let place = damaged();
    let run = place.pack("build photos -o out --dry-run --check decode").exits(1);
    run.says("4 problems: bad-jpeg 4").says("would pack 6 samples");
    let run = place.pack("build photos -o out --dry-run --check decode --format json").exits(1);
    assert_eq!(run.events()[0]["problems"].as_array().unwrap().len(), 4);
    place.pack("build photos -o out --dry-run").succeeds();
    place.pack("build photos -o out --dry-run --check none").succeeds();
    assert!(!place.at("out").exists());
}

#[test]
fn all_bad_parts_of_a_sample_are_reported() {
    let place = Place::new();
    place.folder("photos", 4).file("photos/z.jpg", "no picture").file("photos/z.json", "{");
    for options in ["", " --dry-run --check structure"] {
        let run = place.pack(&format!("build photos -o out{options}")).exits(1);
        run.says("2 problems: bad-jpeg 1, bad-json 1").says("z.jpg: byte 0").says("z.json: byte 1");
    }
    let run = place.pack("build photos -o skipped --on-problem skip").succeeds();
    run.says("2 problems: bad-jpeg 1, bad-json 1");
    assert_eq!(place.manifest("skipped")["samples"], 4);
}

#[test]
fn shards_of_one_sample_are_warned_of() {
    let place = Place::new();
    place.folder("photos", 40);
    for command in
        ["build photos -o out --shard-size 256", "plan photos -o planned --shard-size 256"]
    {
        place
            .pack(command)
            .succeeds()
            .says(
                "warning: 40 samples are larger than --shard-size 256B, and each has its own shard",
            )
            .says("each: readers lose time with each shard that they open");
    }
    let run =
        place.pack("build photos -o many --shards 20").succeeds().says("warning: 20 shards of");
    assert!(!run.stderr.contains("larger than"), "{}", run.stderr);
    let run = place.pack("build photos -o good").succeeds();
    assert!(!run.stderr.contains("warning"), "{}", run.stderr);
    let quiet = place.pack("build photos -o quiet --shard-size 256 -q").succeeds();
    assert_eq!(quiet.stderr, "");
    let events = place.pack("build photos -o dry --dry-run --shards 20 --format json").succeeds();
    assert!(events.stderr.contains(r#""event":"warning""#), "{}", events.stderr);
}

#[test]
fn one_large_sample_is_a_warning_with_a_count() {
    let place = Place::new();
    place.folder("photos", 4).pair("photos/z").file("photos/z.bin", vec![7; 50_000]);
    let run = place.pack("build photos -o out --shard-size 20kB").succeeds();
    run.says("warning: 1 sample is larger than --shard-size 20kB, and has its own shard");
}

/// A folder of two samples whose JPEGs are not JPEGs.
fn misnamed() -> Place {
    let place = Place::new();
    let png = place.at("a.png");
    let gif = place.at("b.gif");
    image::RgbImage::new(8, 8).save(&png).unwrap();
    image::RgbImage::new(8, 8).save(&gif).unwrap();
    place.file("photos/a.jpg", std::fs::read(png).unwrap()).file("photos/a.json", "{}");
    place.file("photos/b.seg.jpeg", std::fs::read(gif).unwrap()).file("photos/b.json", "{}");
    place.pair("photos/c");
    place
}

#[test]
fn an_image_with_a_wrong_extension_is_an_error_with_its_format_and_remedy() {
    let place = misnamed();
    let run = place.pack("build photos -o out --names dot=allow --require json").exits(1);
    run.says("a.jpg: byte 0: key a: it is not a JPEG but a PNG: rename it to .png, or use")
        .says("b.seg.jpeg: byte 0: key b: it is not a JPEG but a GIF")
        .says("--ext-by-content");
}

#[test]
fn images_may_be_named_by_their_content() {
    let place = misnamed();
    let words = "--names dot=allow --require json --ext-by-content";
    place.pack(&format!("build photos -o out {words}")).succeeds();
    let mut members = place.members("out");
    members.sort();
    assert_eq!(members, ["a.json", "a.png", "b.json", "b.seg.gif", "c.jpg", "c.json"]);
    place.pack("verify out --level decode --require json").succeeds();
    place.pack(&format!("build photos -o out {words}")).succeeds().says("published already");
    // The option is part of the plan: another value gives another data set.
    let run = place.pack("build photos -o out --names dot=allow --require json --check none");
    run.exits(2);
}

#[test]
fn two_images_that_become_one_part_are_refused() {
    let place = misnamed();
    std::fs::copy(place.at("a.png"), place.at("photos/a.png")).unwrap();
    let words = "build photos -o out --names dot=allow --require json --ext-by-content";
    place.pack(words).exits(1).says("repeated-part").says("both give the part 'png' of 'a'");
    assert_eq!(kinds(&place.problems("out")), ["repeated-part"]);
}

/// The bytes of a picture in the format of this extension.
fn encoded(place: &Place, ext: &str) -> Vec<u8> {
    let path = place.at(format!("whole.{ext}"));
    let mut random = SplitMix64::new(3);
    let picture = image::RgbImage::from_fn(60, 50, |_, _| {
        image::Rgb([random.next_u64() as u8, random.next_u64() as u8, 7])
    });
    picture.save(&path).unwrap();
    std::fs::read(path).unwrap()
}

const OTHERS: [&str; 5] = ["png", "gif", "webp", "bmp", "tif"];

#[test]
fn damaged_pictures_of_every_format_are_problems_by_default() {
    let place = Place::new();
    for ext in OTHERS {
        let whole = encoded(&place, ext);
        let cut = &whole[..whole.len() * 3 / 4];
        place.file(format!("photos/cut_{ext}.{ext}"), cut);
        place.file(format!("photos/cut_{ext}.json"), "{}");
        place.file(format!("photos/whole_{ext}.{ext}"), &whole);
        place.file(format!("photos/whole_{ext}.json"), "{}");
    }
    let run = place.pack("build photos -o out").exits(1);
    OTHERS.iter().fold(run, |run, ext| run.says(&format!("key cut_{ext}: ")));
    assert_eq!(kinds(&place.problems("out")), ["bad-image"; 5]);
    place.pack("build photos -o good --on-problem skip").succeeds();
    assert_eq!(place.members("good").len(), 10, "five whole samples");
    // Without the check they are packed, and are found by verify.
    place.pack("build photos -o unchecked --check none").succeeds();
    let run = place.pack("verify unchecked --level decode").exits(1);
    OTHERS.iter().fold(run, |run, ext| run.says(&format!("key cut_{ext}: ")));
}

#[test]
fn reshard_decodes_pictures_that_no_command_has_decoded() {
    let place = Place::new();
    for ext in OTHERS {
        let whole = encoded(&place, ext);
        place.file(format!("photos/cut_{ext}.{ext}"), &whole[..whole.len() * 3 / 4]);
        place.file(format!("photos/whole_{ext}.{ext}"), &whole);
    }
    place.pack("build photos -o unchecked --check none --require image").succeeds();
    let tar = std::fs::read(place.at("unchecked/shard-000000.tar")).unwrap();
    for folder in ["bare", "indexed", "alone"] {
        place.file(format!("{folder}/shard-000000.tar"), &tar);
    }
    place.pack("index indexed").succeeds();
    place.pack("index alone/shard-000000.tar").succeeds();
    // The manifest of an older state beside a tar that was replaced and indexed.
    place.pack("build photos -o replaced --on-problem skip --require image").succeeds();
    std::fs::write(place.at("replaced/shard-000000.tar"), &tar).unwrap();
    place.pack("index --force replaced/shard-000000.tar").succeeds();
    for source in ["unchecked", "bare", "indexed", "alone", "replaced"] {
        let run = place.pack(&format!("reshard {source} -o {source}-no")).exits(1);
        OTHERS.iter().fold(run, |run, ext| run.says(&format!("key cut_{ext}: ")));
        place.pack(&format!("reshard {source} -o {source}-new --on-problem skip")).succeeds();
        place.pack(&format!("verify {source}-new --level decode")).succeeds();
        assert_eq!(place.members(&format!("{source}-new")).len(), OTHERS.len());
        place.pack(&format!("reshard {source} -o {source}-all --check none")).succeeds();
    }
    // What packing has decoded, as the manifest states and a checksum confirms, is decoded again by --check decode alone.
    let manifest = std::fs::read_to_string(place.at("unchecked/dataset.json")).unwrap();
    let stated = manifest.replace("\"check\": \"none\"", "\"check\": \"structure\"");
    assert_ne!(stated, manifest);
    std::fs::write(place.at("unchecked/dataset.json"), stated).unwrap();
    place.pack("index --accept-edits unchecked").succeeds();
    place.file("keys", "cut_png\ncut_webp\nwhole_gif\n");
    let trusted = place.start("reshard unchecked -o trusted --keys keys").ended();
    assert_eq!(trusted.exit, 0, "{trusted:#?}");
    place.pack("reshard unchecked -o strict --check decode").exits(1).says("key cut_png: ");
}

#[test]
fn jpegs_have_five_extensions() {
    let place = Place::new();
    place.pair("photos/a");
    let jpeg = std::fs::read(place.at("photos/a.jpg")).unwrap();
    for ext in ["jfif", "jpe", "mpo"] {
        place.file(format!("photos/{ext}.{ext}"), &jpeg);
        place.file(format!("photos/{ext}.json"), "{}");
    }
    place.pack("build photos -o out").succeeds();
    place.pack("verify out --level decode").succeeds();
    place.file("photos/jfif.jfif", &jpeg[..jpeg.len() / 2]);
    place.pack("build photos -o cut").exits(1).says("key jfif: bad JPEG");
    assert_eq!(kinds(&place.problems("cut")), ["bad-jpeg"]);
}

#[test]
fn advice_for_a_file_that_is_no_jpeg_is_not_what_was_done_already() {
    let place = Place::new();
    place.pair("photos/a");
    place.file("photos/b.jpg", b"\0\0\0\x20ftypavif\0\0\0\0avifmif1").file("photos/b.json", "{}");
    place.file("photos/c.jpg", "<!DOCTYPE html><p>404").file("photos/c.json", "{}");
    let run = place.pack("build photos -o out --ext-by-content").exits(1);
    let run = run
        .says("key b: it is not a JPEG but an AVIF: rename it to .avif and read it with Image(")
        .says("key c: it is not a JPEG but an HTML page: leave it out with --on-problem skip");
    assert!(!run.stderr.contains("--ext-by-content"), "{}", run.stderr);
}
