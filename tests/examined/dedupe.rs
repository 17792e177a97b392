//! `pack dedupe`: images that occur twice or look alike.

use std::fs;
use std::io::Cursor;

use image::DynamicImage;
use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use tarflume_fixtures::{Photo, PhotoKind};

use crate::harness::{Place, sweeps_whole};
use crate::interrupted::faults::{Call, Deed, judged};

fn photo(seed: u64) -> Vec<u8> {
    Photo::new(320, 240, PhotoKind::Yuv420).encode(seed).unwrap()
}

fn jpeg(image: &DynamicImage, quality: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    JpegEncoder::new_with_quality(&mut bytes, quality).encode_image(image).unwrap();
    bytes
}

fn changed(seed: u64, change: impl FnOnce(DynamicImage) -> DynamicImage, quality: u8) -> Vec<u8> {
    jpeg(&change(image::load_from_memory(&photo(seed)).unwrap()), quality)
}

/// Ten photographs, and copies of some of them.
fn copies() -> Place {
    let place = Place::new();
    for n in 0..10 {
        place.file(format!("photos/{n:02}.jpg"), photo(n));
    }
    place.file("photos/50-same.jpg", photo(3));
    place.file("photos/51-quality.jpg", changed(4, |image| image, 50));
    place.file(
        "photos/52-small.jpg",
        changed(5, |image| image.resize(160, 120, FilterType::Lanczos3), 85),
    );
    place.file("photos/53-bright.jpg", changed(6, |image| image.brighten(12), 90));
    let mut png = Cursor::new(Vec::new());
    image::load_from_memory(&photo(7))
        .unwrap()
        .write_to(&mut png, image::ImageFormat::Png)
        .unwrap();
    place.file("photos/54-other.png", png.into_inner());
    place.file("photos/55-mirrored.jpg", changed(8, |image| image.fliph(), 90));
    place.pack("build photos -o shards --require image --shards 2").succeeds();
    place
}

#[test]
fn equal_bytes_are_found_beside_shards_without_checksums() {
    let place = Place::new();
    place.file("first/1.jpg", photo(1));
    place.file("second/2.jpg", photo(1));
    place.pack("build first -o one --require image").succeeds();
    place.pack("build second -o packed --require image").succeeds();
    fs::create_dir(place.at("two")).unwrap();
    fs::copy(place.at("packed/shard-000000.tar"), place.at("two/shard-000000.tar")).unwrap();
    place.pack("index two --headers").succeeds();
    for words in ["dedupe one two", "dedupe two one"] {
        let run = place.pack(words).exits(1);
        assert!(run.stdout.contains("2 images of 2 samples: 1 with equal bytes"), "{run:?}");
    }
}

#[test]
fn equal_bytes_are_found_from_the_sidecars() {
    let place = copies();
    let run = place.pack("dedupe shards").exits(1);
    run.prints("50-same has the bytes of 03\n16 images of 16 samples: 1 with equal bytes, 0 that look alike\n", "");
    fs::remove_file(place.at("photos/50-same.jpg")).unwrap();
    place.pack("build photos -o single --require image").succeeds();
    place.pack("dedupe single --summary").succeeds();
}

#[test]
fn recompressed_resized_and_converted_images_look_alike() {
    let place = copies();
    let events = place.pack("dedupe --near --format json shards").exits(1).events();
    let found: Vec<(String, String)> = events
        .iter()
        .filter(|event| event.get("sample").is_some())
        .map(|event| {
            let key = |of: &str| event[of]["key"].as_str().unwrap().to_string();
            (key("sample"), key("kept"))
        })
        .collect();
    let pair = |sample: &str, kept: &str| (sample.to_string(), kept.to_string());
    assert_eq!(
        found,
        [
            pair("50-same", "03"),
            pair("51-quality", "04"),
            pair("52-small", "05"),
            pair("53-bright", "06"),
            pair("54-other", "07"),
        ]
    );
    let totals = events.last().unwrap();
    assert_eq!(
        (&totals["exact"], &totals["near"], &totals["unread"]),
        (&1.into(), &4.into(), &0.into())
    );
    let one = place.pack("dedupe --near --jobs 1 shards").exits(1).stdout;
    assert_eq!(place.pack("dedupe --near --jobs 4 shards").exits(1).stdout, one);
    place.pack("dedupe --near --distance 17 shards").exits(2);
    place.pack("dedupe --distance 3 shards").exits(2);
}

#[test]
fn leaks_between_data_sets_and_splits_are_named_and_can_be_left_out() {
    let place = copies();
    for n in 20..24 {
        place.file(format!("more/{n:02}.jpg"), photo(n));
    }
    place.file("more/leak.jpg", changed(2, |image| image, 60));
    place.pack("build more -o val --require image").succeeds();
    let run = place.pack("dedupe --near val shards --exclude-list leak.jsonl").exits(1);
    run.clone().says("shards: 02 looks like");
    run.says("1 sample of 'shards' in 'val', too");
    place.pack("reshard shards -o clean --exclude @leak.jsonl").succeeds();
    place.pack("dedupe --near val clean").succeeds();
    assert_eq!(place.manifest("clean")["samples"], 10);

    let split = |n: u32| if n.is_multiple_of(2) { "train" } else { "val" };
    for n in 0..6 {
        place.file(format!("both/{}/{n}.jpg", split(n)), photo(40 + u64::from(n / 2)));
    }
    place.pack("build both -o splits --require image --split-by folder").succeeds();
    place.pack("dedupe splits").exits(1).says("3 samples of 'val' in 'train', too");
}

#[test]
fn a_list_names_samples_of_one_data_set_only() {
    let place = Place::new();
    // Both data sets have the keys 0 to 3. The last of the first set is its first again, the second of the second set
    // is the second of the first.
    for (n, seed) in [0, 1, 2, 0].into_iter().enumerate() {
        place.file(format!("a/{n}.jpg"), photo(seed));
    }
    for (n, seed) in [10, 1, 12, 13].into_iter().enumerate() {
        place.file(format!("b/{n}.jpg"), photo(seed));
    }
    place.pack("build a -o val/shards --require image").succeeds();
    place.pack("build b -o train/shards --require image").succeeds();
    let run = place.pack("dedupe val/shards train/shards --exclude-list one.jsonl").exits(1);
    run.clone().says("1 sample of 'train/shards' in 'val/shards', too");
    run.says("note: 1 duplicate in data sets before the last one: in no list");
    place.pack("reshard train/shards -o clean --exclude @one.jsonl").succeeds();
    assert_eq!(place.manifest("clean")["samples"], 3, "0, 2 and 3 of train are no duplicates");
    let lists = "--exclude-list val.jsonl --exclude-list train.jsonl";
    place.pack(&format!("dedupe val/shards train/shards {lists}")).exits(1);
    let list = |name: &str| fs::read_to_string(place.at(name)).unwrap();
    assert_eq!(list("train.jsonl"), list("one.jsonl"));
    assert!(list("val.jsonl").contains("\"key\":\"3\"") && list("val.jsonl").lines().count() == 1);
    place.pack(&format!("dedupe val/shards {lists}")).exits(2).says("2 times for 1 data set");
    place.pack("dedupe val/shards val/../val/shards").exits(2).says("is given twice");
}

#[test]
fn damaged_images_and_samples_without_one_are_counted() {
    let place = copies();
    place.file("photos/60.jpg", &photo(60)[..4000]);
    place.file("photos/61.txt", "no image");
    place.pack("build photos -o damaged --require jpg,txt --on-problem skip").exits(2);
    let options = "--check none --no-entry-points --require";
    place.pack(&format!("build photos -o damaged {options} ''")).succeeds();
    let run = place.pack("dedupe --near --summary damaged").exits(1);
    run.says("17 images of 18 samples").says("1 could not be decoded");
    place.pack("dedupe --part png damaged").succeeds();
    place.pack("dedupe none").exits(2);
}

/// What happens to a call on a file: its error, or a kill before it.
const DEEDS: [(&str, Option<i32>); 4] = [
    ("EIO", Some(libc::EIO)),
    ("ENOMEM", Some(libc::ENOMEM)),
    ("ENOSPC", Some(libc::ENOSPC)),
    ("kill", None),
];

fn report(place: &Place, form: &str) -> String {
    fs::read_to_string(place.at(format!("r.{form}"))).unwrap()
}

#[test]
fn reports_are_written_before_the_search_and_after_it() {
    let place = copies();
    let forms = ["text", "json", "junit", "sarif", "github", "gitlab", "markdown"];
    let words: Vec<String> = forms.iter().map(|form| format!("--report {form}=r.{form}")).collect();
    let words = format!("dedupe shards {}", words.join(" "));
    let run = place.pack(&words).exits(1);
    for form in forms {
        let printed = place.pack(&format!("dedupe shards --format {form}")).exits(1).stdout;
        assert_eq!(report(&place, form), printed, "{form}");
    }
    assert_eq!(report(&place, "text"), run.stdout);
    // A search that fails leaves reports that say so, and they can be replaced.
    place.pack(&words.replace("dedupe shards", "dedupe nowhere")).exits(2);
    assert!(report(&place, "json").contains("\"finished\": false"));
    for form in ["text", "junit", "sarif", "gitlab", "markdown"] {
        assert!(report(&place, form).contains("has not finished"), "{form}");
    }
    place.pack(&words).exits(1);
    assert_eq!(report(&place, "text"), run.stdout);
    place.pack("dedupe shards --report junit=-").exits(2).says("--report takes files");
    place.pack("dedupe shards --report junit=no/r.xml").exits(2).says("there is no folder no");
    place
        .pack("dedupe shards --report text=a --report json=a")
        .exits(2)
        .says("two reports have this path");
    place.file("mine.txt", "mine\n");
    place.pack("dedupe shards --report text=mine.txt").exits(2);
}

#[test]
fn a_dedupe_that_fails_or_is_killed_leaves_a_whole_list_or_none() {
    let place = Place::new();
    for n in 0..4 {
        place.file(format!("photos/{n}.jpg"), photo(n));
    }
    place.file("photos/5-same.jpg", photo(3));
    place.file("photos/6-quality.jpg", changed(2, |image| image, 50));
    place.pack("build photos -o set --require image --shards 2").succeeds();
    let words = "dedupe set --near --jobs 1 --exclude-list lists/a.jsonl";
    let list = || fs::read_to_string(place.at("lists/a.jsonl")).ok();
    fs::create_dir(place.at("lists")).unwrap();
    let mut calls: Vec<Call> = Vec::new();
    let ran = judged(&place, words, |call| {
        calls.push(call.clone());
        Deed::Go
    });
    let Some(ran) = ran else { return };
    let expected = list().unwrap();
    assert_eq!((ran.exit, expected.lines().count()), (1, 2), "{}", ran.stderr);
    assert!(calls.len() > 30, "the tracer sees too little: {calls:?}");
    // Of each five calls one is the target, and each deed has its turn.
    let step = if sweeps_whole() { 1 } else { 5 };
    for (n, target) in calls.iter().enumerate().step_by(step) {
        // Another deed from call to call; from this call on, as a disk that is broken.
        let (what, error) = DEEDS[n % DEEDS.len()];
        let _ = fs::remove_file(place.at("lists/a.jsonl"));
        let ran = judged(&place, words, |call| {
            let same = (call.name, &call.path) == (target.name, &target.path);
            if same && call.nth >= target.nth {
                error.map_or(Deed::Kill, Deed::Fail)
            } else {
                Deed::Go
            }
        });
        let ran = ran.expect("it could trace before");
        let about = format!("{what} at {} {} of {}", target.name, target.nth, target.path);
        match ran.exit {
            // It found everything: a call whose failure does no harm.
            1 => assert_eq!(list().as_ref(), Some(&expected), "{about}: {}", ran.stderr),
            75 | 137 => assert!(list().is_none_or(|list| list == expected), "{about}"),
            exit => panic!("{about}: exit {exit}: {}", ran.stderr),
        }
        if what == "kill" || n % 8 == 0 {
            place.pack(words).exits(1);
            assert_eq!(list().as_ref(), Some(&expected), "{about}");
            assert_eq!(place.names("lists"), ["a.jsonl"], "{about}");
        }
    }
}
