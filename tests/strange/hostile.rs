//! Names that could control a terminal: every command escapes them, in text and in JSON.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStringExt;

use tarflume_fixtures::{TarBytes, flat_jpeg};

use crate::harness::{Child, Place, Run, without_digest};

/// Escape sequences (C0 and C1), a direction override, zero-width characters, a line separator, a
/// newline, a carriage return.
const NAMES: [&str; 8] = [
    "a\u{1b}[31mred",
    "b\u{202e}gpj",
    "c\u{9b}2J",
    "d\u{200b}d",
    "e\u{2028}e",
    "f\nerror: g",
    "g\rg",
    "h\u{2066}h",
];

fn steers(c: char) -> bool {
    (c.is_control() && c != '\n')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[track_caller]
fn harmless(run: Run) -> Run {
    for text in [&run.stdout, &run.stderr] {
        assert!(!text.chars().any(steers), "{run:#?}");
        assert!(
            !text.lines().any(|line| line.starts_with("error: g")),
            "a line of a name's own: {run:#?}"
        );
    }
    run
}

fn pack(place: &Place, words: &[&OsStr]) -> Run {
    let mut command = place.command("");
    command.args(words);
    harmless(Child::start(command, &place.at("")).ended())
}

/// Runs the words, the last of them a path.
fn on(place: &Place, words: &str, path: impl AsRef<OsStr>) -> Run {
    let mut all: Vec<&OsStr> = words.split(' ').map(OsStr::new).collect();
    all.push(path.as_ref());
    pack(place, &all)
}

fn photos(place: &Place, folder: &str) {
    for name in NAMES {
        let jpeg = flat_jpeg(name.as_bytes());
        place
            .file(format!("{folder}/{name}.jpg"), jpeg)
            .file(format!("{folder}/{name}.json"), "{}");
    }
}

#[test]
fn hostile_names_in_a_source_are_reported_without_harm() {
    for folder in ["photos", "in\u{1b}[2Jput"] {
        let place = Place::new();
        photos(&place, folder);
        let latin = OsString::from_vec(b"latin\xff\x9b.jpg".to_vec());
        fs::write(place.at(folder).join(latin), flat_jpeg(b"")).unwrap();
        fs::write(place.at(folder).join("broken\u{1b}c.jpg"), "no picture").unwrap();
        for out in ["out", "o\u{202e}ut"] {
            for words in ["build", "build --dry-run", "plan"] {
                for more in ["", " --format json"] {
                    let words = format!("{words}{more} -o {out} --on-problem skip --names allow");
                    let run = on(&place, &words, folder);
                    assert!([0, 1, 2, 65].contains(&run.exit), "{run:#?}");
                    on(&place, "status", out);
                    fs::remove_dir_all(place.at(out)).ok();
                }
            }
            let run = on(&place, &format!("build -o {out}"), folder);
            assert_ne!(run.exit, 0, "{run:#?}");
            let problems =
                fs::read_to_string(place.at(out).join("problems.jsonl")).unwrap_or_default();
            assert!(!problems.chars().any(steers), "{problems}");
        }
    }
}

/// A tar of such names, one with every fault that a listing reports, under such a name.
fn hostile_tar() -> Vec<u8> {
    let mut tar = TarBytes::new();
    for name in NAMES {
        tar.member(format!("{name}.jpg").as_bytes(), &flat_jpeg(b""));
        tar.member(format!("{name}.js\u{1b}[7mon").as_bytes(), b"{}");
    }
    tar.member(b"latin\xff\x9b.jpg", b"no jpeg")
        .member(format!("{}.jpg", NAMES[0]).as_bytes(), b"again");
    tar.ended()
}

#[test]
fn hostile_names_in_a_tar_are_reported_without_harm() {
    for name in ["plain.tar", "a\u{1b}]0;title\u{7}.tar", "b\u{202e}rat.tar"] {
        let place = Place::new();
        place.file(format!("shards/{name}"), hostile_tar());
        let tar = format!("shards/{name}");
        for with_sidecar in [false, true] {
            for words in [
                "ls",
                "ls --long",
                "ls --format json",
                "info",
                "info --format json",
                "verify",
                "verify --format json",
                "verify --level decode",
                "unpack -o back",
            ] {
                on(&place, words, &tar);
                fs::remove_dir_all(place.at("back")).ok();
            }
            pack(&place, &["cat", &tar, "nothing\u{1b}[1m"].map(OsStr::new));
            if !with_sidecar {
                on(&place, "index", &tar);
            }
        }
        on(&place, "index --force", "shards");
        for words in [
            "ls --long",
            "ls --format json",
            "info",
            "info --format json",
            "verify",
            "verify --format json",
        ] {
            on(&place, words, "shards");
        }
        // The same values are in the JSON, escaped.
        let sample = &on(&place, "ls --format json", "shards").events()[0];
        assert_eq!(sample["key"], NAMES[0]);
    }
}

#[test]
fn a_hostile_manifest_is_reported_without_harm() {
    let place = Place::new();
    place.file("shards/a.tar", tarflume_fixtures::good_shard());
    place.pack("index -q shards").succeeds();
    // With its digest, an edited manifest would be refused before its texts are used.
    let manifest = without_digest(&fs::read_to_string(place.at("shards/dataset.json")).unwrap());
    for (from, to) in [
        ("\"tool\": \"pack", "\"tool\": \"\\u001b[31m\\u202e\\nerror: g"),
        ("\"name\":\"a.tar\"", "\"name\":\"a\\u001b[2J\\u009b.tar\""),
        ("\"format\": \"tarflume", "\"format\": \"\\u001b[31m"),
        ("\"jpg\":", "\"jp\\u202eg\":"),
    ] {
        assert!(manifest.contains(from), "{from} in {manifest}");
        place.file("shards/dataset.json", manifest.replacen(from, to, 1));
        for words in
            ["info", "info --format json", "ls --long", "verify", "verify --format json", "index"]
        {
            on(&place, words, "shards");
        }
    }
}

#[test]
fn a_newline_in_the_name_of_a_source_forges_no_line() {
    let place = Place::new();
    let source = "empty\nerror: forged";
    fs::create_dir(place.at(source)).unwrap();
    let mut command = place.command("build -o out");
    let output = command.arg(source).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("forged") && !stderr.contains("\nerror: forged"), "{stderr}");
}
