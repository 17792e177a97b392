//! The result of `pack build`, option by option. Names and terminal output have their own files.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;

use tarflume_fixtures::{PHOTOS, flat_jpeg, write_photos};

use crate::harness::{JSON, Place};

#[test]
fn photographs_become_a_shard_a_sidecar_and_a_manifest() {
    let place = Place::new();
    write_photos(&place.at("photos")).unwrap();
    place.pack("build photos -o out").succeeds();
    assert_eq!(place.names("out"), ["dataset.json", "shard-000000.index", "shard-000000.tar"]);
    let members = place.shards("out").remove(0);
    assert_eq!(members.len(), 2 * PHOTOS.len());
    for (photo, pair) in PHOTOS.iter().zip(members.chunks(2)) {
        assert_eq!(pair[0].name, format!("{}.jpg", photo.key));
        assert_eq!(pair[1].name, format!("{}.json", photo.key));
        assert!(pair[0].data == photo.jpeg && pair[1].data == photo.json, "{}", photo.key);
    }
}

#[test]
fn the_manifest_counts_what_the_shards_hold() {
    let place = Place::new();
    place.folder("photos", 50);
    place.pack("build photos -o out --shard-samples 20").succeeds();
    let manifest = place.manifest("out");
    assert_eq!(manifest["samples"], 50);
    assert_eq!(manifest["extensions"], serde_json::json!({"jpg": 50, "json": 50}));
    let mut bytes = 0;
    for shard in manifest["shards"].as_array().unwrap() {
        let tar = fs::read(place.at("out").join(shard["name"].as_str().unwrap())).unwrap();
        assert_eq!(shard["bytes"], tar.len());
        assert_eq!(shard["blake3"], blake3::hash(&tar).to_hex().as_str());
        bytes += tar.len();
    }
    assert_eq!(manifest["bytes"], bytes);
    let samples: Vec<_> = place.shards("out").iter().map(|s| s.len() / 2).collect();
    assert_eq!(samples, [20, 20, 10]);
}

#[test]
fn all_spellings_of_jpeg_become_jpg_unless_ext_map_changes_it() {
    let place = Place::new();
    for (stem, ext) in [("a", "jpeg"), ("b", "JPG"), ("c", "JPEG"), ("d", "jpg")] {
        place.file(format!("photos/{stem}.{ext}"), flat_jpeg(stem.as_bytes()));
        place.file(format!("photos/{stem}.JSON"), JSON);
    }
    place.pack("build photos -o out").succeeds();
    let jpg = ["a.jpg", "a.json", "b.jpg", "b.json", "c.jpg", "c.json", "d.jpg", "d.json"];
    assert_eq!(place.members("out"), jpg);
    place
        .pack("build photos -o mapped --ext-map jpg=jpeg,json=meta --require jpeg,meta")
        .succeeds();
    assert_eq!(place.members("mapped")[..2], ["a.jpeg", "a.meta"]);
    assert_eq!(place.members("mapped")[6..], ["d.jpeg", "d.meta"]);
    place.pack("build photos -o out2 --ext-map jpeg").exits(2).says("--ext-map");
}

#[test]
fn keys_are_paths_under_their_source_and_sorted_by_their_bytes() {
    let place = Place::new();
    for stem in ["b/2", "B/1", "a0", "a/10", "a/9", "a-1"] {
        place.pair(&format!("one/{stem}"));
    }
    place.pair("two/deep/er/x");
    place.pack("build one -o out").succeeds();
    let keys = |out| {
        let members = place.members(out);
        let jpgs = members.iter().filter_map(|m| m.strip_suffix(".jpg").map(str::to_string));
        jpgs.collect::<Vec<_>>()
    };
    assert_eq!(keys("out"), ["B/1", "a-1", "a/10", "a/9", "a0", "b/2"]);
    place.pack("build one two -o both").succeeds();
    let all: BTreeSet<_> = keys("both").into_iter().collect();
    let expected = ["B/1", "a-1", "a/10", "a/9", "a0", "b/2", "deep/er/x"];
    assert_eq!(all, expected.map(str::to_string).into());
}

#[test]
fn two_sources_with_the_same_key_are_refused() {
    let place = Place::new();
    place.pair("one/x").pair("two/x").pair("two/y");
    place.pack("build one two -o out").exits(1).says("repeated-key");
    assert_eq!(place.problems("out")[0]["key"], "x");
    assert!(place.problems("out")[0]["path"].as_str().unwrap().ends_with("two/x.jpg"));
}

#[test]
fn require_lists_the_parts_of_a_complete_sample() {
    let place = Place::new();
    for file in ["s1.png.txt", "s2.txt", "s2.cls", "s3.cls"] {
        place.file(format!("mixed/{file}"), "1");
    }
    place.pack("build mixed -o out").exits(1).says("missing-part");
    place.pack("build mixed -o any --require '' --names dot=allow").succeeds();
    assert_eq!(place.members("any"), ["s1.png.txt", "s2.cls", "s2.txt", "s3.cls"]);
    let run =
        place.pack("build mixed -o texts --require txt,cls --on-problem skip --names dot=allow");
    run.succeeds().says("missing-part 2");
    assert_eq!(place.members("texts"), ["s2.cls", "s2.txt"]);
}

#[test]
fn other_parts_are_packed_with_the_required_ones() {
    let place = Place::new();
    place
        .pair("photos/a")
        .file("photos/a.txt", "a caption")
        .file("photos/a.seg.npy", "no dot rule");
    place.pack("build photos -o out --require jpg,json,seg.npy").succeeds();
    assert_eq!(place.members("out"), ["a.jpg", "a.json", "a.seg.npy", "a.txt"]);
}

#[test]
fn shards_of_a_size_a_count_or_a_number() {
    let place = Place::new();
    place.photos("photos", 40);
    let bytes = |out: &str| {
        let manifest = place.manifest(out);
        let shards = manifest["shards"].as_array().unwrap().clone();
        shards.iter().map(|s| s["bytes"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    place.pack("build photos -o size --shard-size 64KiB").succeeds();
    assert!(bytes("size").len() > 3 && bytes("size").iter().all(|&b| b <= 64 << 10));
    place.pack("build photos -o count --shard-samples 7").succeeds();
    assert_eq!(bytes("count").len(), 6);
    place.pack("build photos -o number --shards 6 --prefix train").succeeds();
    let names = place.names("number");
    assert_eq!(names[1..3], ["train-000000.index", "train-000000.tar"]);
    assert_eq!(bytes("number").len(), 6);
    // The largest sample takes 16 kB in a tar; no shard is further than two of them from another.
    let least = bytes("number").into_iter().min();
    let most = bytes("number").into_iter().max();
    assert!(most.unwrap() - least.unwrap() <= 32 << 10, "{:?}", bytes("number"));
    place.pack("build photos -o none --shards 41").exits(2).says("only 40 samples");
    place.pack("build photos -o none --shards 2 --shard-size 1MB").exits(2);
    place.pack("build photos -o none --prefix a/b").exits(2).says("--prefix");
    assert!(!place.at("none").exists());
}

#[test]
fn a_seed_decides_the_shuffle() {
    let place = Place::new();
    place.folder("photos", 60);
    for (out, seed) in [("a", 1), ("again", 1), ("other", 2)] {
        place.pack(&format!("build photos -o {out} --shards 4 --shuffle {seed}")).succeeds();
    }
    place.pack("build photos -o sorted --shards 4").succeeds();
    place.same("a", "again");
    let set = |out| place.members(out).into_iter().collect::<BTreeSet<_>>();
    for other in ["other", "sorted"] {
        assert_ne!(place.members("a"), place.members(other));
        assert_eq!(set("a"), set(other));
    }
    assert!(place.members("a").chunks(2).all(|pair| pair[0].replace(".jpg", ".json") == pair[1]));
}

#[test]
fn limit_takes_the_first_samples() {
    let place = Place::new();
    place.folder("photos", 30);
    place.pack("build photos -o all").succeeds();
    place.pack("build photos -o few --limit 4").succeeds();
    assert_eq!(place.members("few"), place.members("all")[..8]);
    place.pack("build photos -o all2 --shuffle 3").succeeds();
    place.pack("build photos -o few2 --shuffle 3 --limit 4").succeeds();
    assert_eq!(place.members("few2"), place.members("all2")[..8]);
}

#[test]
fn excluded_and_hidden_files_are_left_out() {
    let place = Place::new();
    place.pair("photos/a").pair("photos/raw/b").pair("photos/.git/c").file("photos/.DS_Store", "x");
    place.file("photos/notes.md", "x").file("photos/raw/notes.md", "x");
    place.pack("build photos -o out --exclude raw/* --exclude *.md").succeeds();
    assert_eq!(place.members("out"), ["a.jpg", "a.json"]);
    place.pack("build photos -o bad --exclude [").exits(2).says("--exclude");
}

#[test]
fn links_are_followed_on_request_only() {
    let place = Place::new();
    place.pair("photos/a").pair("elsewhere/folder/c").pair("elsewhere/b");
    for ext in ["jpg", "json"] {
        let link = place.at(format!("photos/b.{ext}"));
        symlink(place.at(format!("elsewhere/b.{ext}")), link).unwrap();
    }
    symlink(place.at("elsewhere/folder"), place.at("photos/dir")).unwrap();
    place.pack("build photos -o out").exits(1).says("--follow-links").says("not-regular 3");
    place.pack("build photos -o out --follow-links").succeeds();
    assert_eq!(
        place.members("out"),
        ["a.jpg", "a.json", "b.jpg", "b.json", "dir/c.jpg", "dir/c.json"]
    );
}

#[test]
fn a_loop_of_links_is_followed_a_limited_number_of_times() {
    let place = Place::new();
    place.pair("photos/sub/a");
    symlink(place.at("photos"), place.at("photos/sub/back")).unwrap();
    let run = place.pack("build photos -o out --follow-links --on-problem skip").succeeds();
    assert!(run.stderr.contains("back"), "the loop is reported: {run:#?}");
    assert_eq!(place.members("out"), ["sub/a.jpg", "sub/a.json"]);
}

#[test]
fn dedupe_keeps_the_first_of_equal_images_and_reports_the_others() {
    let place = Place::new();
    place.pair("photos/a").pair("photos/b").pair("photos/z");
    fs::copy(place.at("photos/a.jpg"), place.at("photos/z.jpg")).unwrap();
    place.pack("build photos -o all").succeeds();
    assert_eq!(place.members("all").len(), 6);
    place.pack("build photos -o out --dedupe").succeeds().says("duplicate 1");
    assert_eq!(place.members("out"), ["a.jpg", "a.json", "b.jpg", "b.json"]);
    let found = place.problems("out");
    assert_eq!(
        (found.len(), &found[0]["kind"], &found[0]["key"]),
        (1, &"duplicate".into(), &"z".into())
    );
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let place = Place::new();
    place.photos("photos", 60);
    for jobs in [1, 2, 7] {
        place
            .pack(&format!("build photos -o out{jobs} --shard-samples 5 --jobs {jobs}"))
            .succeeds();
        place.same("out1", &format!("out{jobs}"));
    }
}

#[test]
fn a_copy_of_the_folder_in_another_place_gives_the_same_bytes() {
    let here = Place::new();
    let there = Place::new();
    here.folder("photos", 12);
    there.folder("elsewhere/photos", 12);
    here.pack("build photos -o out").succeeds();
    there.pack("build elsewhere/photos -o out").succeeds();
    assert_eq!(here.tree("out"), there.tree("out"));
}

#[test]
fn the_second_build_has_nothing_to_do() {
    let place = Place::new();
    place.folder("photos", 10);
    place.pack("build photos -o out").succeeds();
    let before = place.tree("out");
    place.pack("build photos -o out").succeeds().says("published already");
    assert_eq!(place.tree("out"), before);
    place.pack("build photos -o out --limit 3").exits(2).says("other options");
    assert_eq!(place.tree("out"), before);
}

#[test]
fn unpackable_input_is_refused_before_anything_is_written() {
    let place = Place::new();
    place.folder("photos", 5).file("file", "x").file("empty/.keep", "");
    for (words, text) in [
        ("build photos -o photos/out", "inside the source"),
        ("build photos -o photos", "inside the source"),
        ("build nowhere -o out", "nowhere"),
        ("build file -o out", "file"),
        ("build empty -o out", "no samples"),
        ("build photos -o out --names dots=allow", "unknown rule 'dots'"),
        ("build photos -o out --shard-size 10furlongs", "256MiB"),
        ("build photos", "--out"),
        ("build -o out", "SRC"),
    ] {
        place.pack(words).exits(2).says(text);
        assert!(!place.at("out").exists(), "{words}");
    }
    assert_eq!(place.names("photos").len(), 10);
}

#[test]
fn damage_behind_a_header_is_found_by_default() {
    let place = Place::new();
    place.pair("photos/a");
    let mut png = std::io::Cursor::new(Vec::new());
    image::RgbImage::from_fn(64, 64, |x, y| image::Rgb([x as u8, y as u8, (x * y) as u8]))
        .write_to(&mut png, image::ImageFormat::Png)
        .unwrap();
    let half = png.get_ref().len() / 2;
    place.file("photos/b.png", &png.get_ref()[..half]).file("photos/b.json", JSON);
    place.pack("build photos -o structure").exits(1).says("bad-image").says("b.png");
    place.pack("build photos -o decode --check decode").exits(1).says("bad-image").says("b.png");
    place.file("photos/a.json", "no JSON");
    place.pack("build photos -o fail").exits(1).says("bad-json");
    place.pack("build photos -o none --check none").succeeds();
}
