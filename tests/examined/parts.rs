//! `pack verify --level decode` on parts other than pictures and JSON, what it says about its coverage, values that repeat,
//! pictures of one color, classes that are not listed.

use std::fs;

use serde_json::{Value, json};
use tarflume_fixtures::{Photo, PhotoKind, TarBytes};

use crate::harness::{JSON, Place};

/// An array of two numbers of 16 bits.
fn npy(numbers: usize) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    let dict = "{'descr': '<u2', 'fortran_order': False, 'shape': (2,), }";
    bytes.extend(format!("{dict:<117}\n").bytes());
    bytes.extend(vec![7; numbers * 2]);
    bytes
}

/// The parts of a sound sample, by extension.
fn sound() -> Vec<(&'static str, Vec<u8>)> {
    let mut wav = b"RIFF\x2c\0\0\0WAVEfmt \x10\0\0\0".to_vec();
    wav.extend([1, 0, 1, 0, 0x40, 0x1f, 0, 0, 0x80, 0x3e, 0, 0, 2, 0, 16, 0]);
    wav.extend(b"data\x04\0\0\0abcd");
    vec![
        ("bin", b"anything".to_vec()),
        ("cls", b"3".to_vec()),
        ("jsonl", b"{\"a\": 1}\n[2]\n".to_vec()),
        ("npy", npy(2)),
        ("pyd", b"\x80\x02}q\0.".to_vec()),
        ("txt", "ž".into()),
        ("wav", wav),
    ]
}

/// Packs one sample with these parts as they are, and a sidecar.
fn tar(place: &Place, parts: &[(&str, Vec<u8>)]) {
    let mut tar = TarBytes::new();
    for (ext, bytes) in parts {
        tar.member(format!("k.{ext}").as_bytes(), bytes);
    }
    fs::create_dir_all(place.at("set")).unwrap();
    place.file("set/a.tar", tar.ended());
    place.pack("index --force set").succeeds();
}

fn verified(place: &Place, words: &str) -> Value {
    let run = place.pack(&format!("verify {words} --format json"));
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run:#?}"))
}

#[test]
fn sound_parts_pass_and_the_report_says_which_were_checked() {
    let place = Place::new();
    tar(&place, &sound());
    let line = "checked: 1 shard, 1 sample; bin 1 not checked, cls 1 parsed, jsonl 1 parsed, npy 1 checked, \
                pyd 1 checked, txt 1 parsed, wav 1 checked";
    let run = place.pack("verify --level decode set").succeeds();
    assert_eq!(run.stdout.lines().last(), Some(line), "{}", run.stdout);
    place.pack("verify --level decode --format markdown set").succeeds().says(line);
    let report = verified(&place, "--level decode set");
    assert_eq!(report["checked"]["npy"], json!({"checksums": 1, "checked": 1}));
    assert_eq!(report["checked"]["bin"], json!({"checksums": 1, "not_checked": 1}));
    assert_eq!(report["finished"], true);
    // The bytes are compared at level full, and no part is looked into.
    let full = verified(&place, "set");
    assert_eq!(full["checked"]["npy"], json!({"checksums": 1}));
    assert!(!place.pack("verify set").succeeds().stdout.contains("checked:"));
}

#[test]
fn each_kind_of_part_is_checked_at_level_decode() {
    for (ext, bytes, reason) in [
        ("cls", b"cat".to_vec(), "bad number: 'cat' is no whole number"),
        ("jsonl", b"{}\n{".to_vec(), "bad JSON lines: line 2: "),
        ("npy", npy(1), "bad npy: header and shape need 132 bytes, 130 are there"),
        ("pyd", b"\x80\x02}q".to_vec(), "bad pickle: it ends inside an argument"),
        ("txt", vec![b'a', 0xff], "bad text: the text is not UTF-8: 0xff"),
        ("wav", b"RIFF\0\0\0\0WAVEdata".to_vec(), "bad WAV: "),
        ("mp4", b"\0\0\0\x10ftypisom\0\0\0\0".to_vec(), "bad MP4: the box 'moov' is missing"),
    ] {
        let place = Place::new();
        let mut parts = sound();
        parts.retain(|(other, _)| *other != ext);
        parts.push((ext, bytes));
        tar(&place, &parts);
        assert_eq!(verified(&place, "set")["whole"], true, "{ext}: full");
        let report = verified(&place, "--level decode set");
        let problems = report["problems"].as_array().unwrap();
        assert_eq!(problems.len(), 1, "{ext}: {report}");
        assert_eq!((&problems[0]["kind"], &problems[0]["key"]), (&"bad-part".into(), &"k".into()));
        assert!(problems[0]["reason"].as_str().unwrap().starts_with(reason), "{problems:?}");
    }
}

#[test]
fn build_refuses_such_parts_where_it_decodes() {
    let place = Place::new();
    place
        .pair("photos/a")
        .file("photos/a.npy", npy(1))
        .pair("photos/b")
        .file("photos/b.npy", npy(2));
    place.pack("build photos -o decoded --check decode").exits(1).says("bad npy");
    place.pack("build photos -o out").succeeds();
    let report = verified(&place, "--level decode out");
    assert_eq!(report["counts"], json!({"bad-part": 1}));
}

#[test]
fn values_that_should_differ_are_compared() {
    let place = Place::new();
    for n in 0..24 {
        let id = if n == 20 { 4 } else { n };
        place.pair(&format!("photos/s{n:02}"));
        place.file(format!("photos/s{n:02}.json"), format!("{{\"class\": 1, \"id\": {id}}}"));
    }
    place.pack("build photos -o out --shards 3").succeeds();
    let report = verified(&place, "--level decode out");
    let warnings = report["warnings"].as_array().unwrap();
    let warning = warnings.iter().find(|warning| warning["kind"] == "repeated-value").unwrap();
    assert_eq!(warning["key"], "s20");
    let reason = warning["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("the value of 'json:/id' is that of sample s04 of out/shard-0000"),
        "{reason}"
    );
    assert!(reason.ends_with("--unique json:/id makes this a problem"), "{reason}");
    assert_eq!(report["whole"], true);
    let run = place.pack("verify --unique /id out").exits(1);
    assert!(run.stdout.contains("repeated-value: out/shard-000002.tar: byte "), "{}", run.stdout);
    place.pack("verify --unique /class out").exits(1).says("repeated-value 23");
    place.pack("verify --unique /nope out").exits(2).says("no sample has a value there");
    place.pack("verify --unique id out").exits(2).says("no sample has a value there");
    place.pack("verify --unique json:id out").exits(2).says("give a field, /id");
    place.pack("verify --unique /id --level quick out").exits(2).says("reads no data");
}

/// A photograph, different for each seed.
fn photo(seed: u64) -> Vec<u8> {
    Photo::new(64, 48, PhotoKind::Yuv420).encode(seed).unwrap()
}

/// A picture of 9 by 9 white pixels.
fn white() -> Vec<u8> {
    [&b"P6 9 9 255\n"[..], &[255; 243]].concat()
}

#[test]
fn pictures_of_one_color_are_a_warning_unless_they_are_masks() {
    let place = Place::new();
    let parts = [("jpg", photo(1)), ("mask.ppm", white())];
    tar(&place, &parts);
    assert_eq!(verified(&place, "--level decode set")["warnings"], Value::Null);
    tar(&place, &[("ppm", white())]);
    let report = verified(&place, "--level decode set");
    let warnings = report["warnings"].as_array().unwrap();
    assert_eq!((warnings.len(), &report["whole"]), (1, &true.into()), "{report}");
    assert_eq!(
        (&warnings[0]["kind"], &warnings[0]["key"]),
        (&"constant-picture".into(), &"k".into())
    );
    assert_eq!(verified(&place, "set")["warnings"], Value::Null, "level full decodes nothing");
}

#[test]
fn classes_that_the_manifest_does_not_list_are_a_warning() {
    let place = Place::new();
    for (n, class) in ["cat", "dog"].iter().enumerate() {
        place.file(format!("photos/{class}/{n}.jpg"), photo(n as u64));
    }
    place.pack("build photos -o out --label folder").succeeds();
    assert_eq!(verified(&place, "out")["warnings"], Value::Null);
    let mut edited = place.manifest("out");
    edited["classes"]["names"] = json!(["cat"]);
    place.file("out/dataset.json", edited.to_string());
    place.pack("index --accept-edits out").succeeds();
    let report = verified(&place, "out");
    let warnings = report["warnings"].as_array().unwrap();
    assert_eq!(
        (&warnings[0]["kind"], &warnings[0]["key"]),
        (&"unlisted-class".into(), &"dog/1".into())
    );
}

#[test]
fn dedupe_has_the_forms_of_verify() {
    let place = Place::new();
    place.pair("photos/a").file("photos/b.jpg", fs::read(place.at("photos/a.jpg")).unwrap());
    place.file("photos/b.json", JSON);
    place.pack("build photos -o out").succeeds();
    for (form, text) in [
        ("markdown", "| duplicate | `out/shard-000000.tar` | key b: b has the bytes of a |"),
        (
            "github",
            "::error file=out/shard-000000.tar,title=duplicate::key b: b has the bytes of a",
        ),
        ("junit", "<testsuites name=\"pack dedupe\" tests=\"2\" failures=\"1\""),
        ("sarif", "\"name\": \"pack dedupe\""),
        ("gitlab", "\"check_name\": \"duplicate\""),
    ] {
        let run = place.pack(&format!("dedupe --format {form} out")).exits(1);
        assert!(run.stdout.contains(text), "{form}: {}", run.stdout);
    }
}

#[test]
fn diff_has_tables_for_a_pull_request() {
    let place = Place::new();
    for name in ["a", "b", "c"] {
        place.pair(&format!("one/{name}"));
    }
    for name in ["b", "c", "d"] {
        place.pair(&format!("two/{name}"));
    }
    // The pictures of a pair have its path.
    for name in ["b", "c"] {
        place.file(
            format!("two/{name}.jpg"),
            fs::read(place.at(format!("one/{name}.jpg"))).unwrap(),
        );
    }
    place.file("two/c.json", "{\"class\": 2}");
    for name in ["one", "two"] {
        place.pack(&format!("build {name} -o {name}_set --columns class:u32")).succeeds();
    }
    let run = place.pack("diff --format markdown one_set two_set").exits(1);
    for text in [
        "🔶 1 sample added, 1 removed, 1 changed, 1 the same\n",
        "| samples | 3 | 3 | 0 |\n",
        "| shards | 1 | 1 | 0 |\n",
        "| class | added | removed | changed |\n|---|---:|---:|---:|\n| 1 | 1 | 1 | 1 |\n",
        "| `json` | 3 | 3 | 36 bytes | 36 bytes |\n",
        "<details><summary>1 sample added</summary>\n\n- d: ",
        "<details><summary>1 sample changed</summary>\n\n- c: json other bytes\n",
    ] {
        assert!(run.stdout.contains(text), "{text}: {}", run.stdout);
    }
    let same = place.pack("diff --format markdown one_set one_set").exits(0);
    assert!(same.stdout.starts_with("✅ 0 samples added"), "{}", same.stdout);
    assert!(!same.stdout.contains("<details>"));
}
