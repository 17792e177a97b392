//! Reports of verifications that are killed or asked to end: each file is whole and says so, with what was found.

use std::fs;

use serde_json::Value;

use crate::harness::{Place, members_of};
use crate::interrupted::faults::{Class, Deed, Ran, judged};

const VERIFY: &str = "verify out --jobs 1 --report json=r.json --report junit=r.xml --report sarif=r.sarif \
                      --report markdown=r.md --report github=r.txt --report gitlab=r.gitlab";

/// A data set of four shards, the first of which has a changed part.
fn damaged() -> Place {
    let place = Place::new();
    place.folder("photos", 12);
    place.pack("build photos -o out --shards 4").succeeds();
    let path = place.at("out/shard-000000.tar");
    let mut tar = fs::read(&path).unwrap();
    let at = members_of(&tar)[0].at;
    tar[at + 5] ^= 1;
    fs::write(&path, tar).unwrap();
    place
}

fn json(place: &Place, name: &str) -> Value {
    let text = fs::read_to_string(place.at(name)).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}: {text}"))
}

/// Asserts that all reports are whole and unfinished, and have the problem of the first shard if `has_problem`.
#[track_caller]
fn unfinished(place: &Place, what: &str, has_problem: bool) {
    let report = json(place, "r.json");
    assert_eq!((&report["finished"], &report["whole"]), (&false.into(), &false.into()));
    assert!(report["unchecked"][0].as_str().unwrap().contains(what), "{report}");
    let found = report["problems"].as_array().unwrap().iter().any(|p| p["kind"] == "checksum");
    assert_eq!(found, has_problem, "{report}");
    let sarif = json(place, "r.sarif");
    let run = &sarif["runs"][0];
    assert_eq!(run["invocations"][0]["executionSuccessful"], false);
    let note = &run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"];
    assert!(note.as_str().unwrap().contains(what), "{note}");
    assert_eq!(run["results"].as_array().unwrap().is_empty(), !has_problem);
    let gitlab = json(place, "r.gitlab");
    assert!(gitlab[0]["description"].as_str().unwrap().contains(what), "{gitlab}");
    for (name, end) in [("r.xml", "</testsuites>\n"), ("r.md", "\n"), ("r.txt", "\n")] {
        let text = fs::read_to_string(place.at(name)).unwrap();
        assert!(text.contains(what) && text.ends_with(end), "{name}: {text}");
        assert_eq!(text.contains("checksum"), has_problem, "{name}: {text}");
    }
    assert!(fs::read_to_string(place.at("r.xml")).unwrap().contains("<error message="));
}

#[test]
fn a_killed_verification_leaves_reports_of_what_it_has_found() {
    let place = damaged();
    for (shard, has_problem) in [("out/shard-000000.tar", false), ("out/shard-000003.tar", true)] {
        let ran = judged(&place, VERIFY, |call| match call.class {
            Class::Open if call.path == shard => Deed::Kill,
            _ => Deed::Go,
        });
        let Some(Ran { exit, stderr, .. }) = ran else { return };
        assert_eq!(exit, 137, "{stderr}");
        unfinished(&place, "the verification has not finished", has_problem);
    }
    // The next one replaces them.
    place.pack(VERIFY).exits(1);
    let report = json(&place, "r.json");
    assert_eq!((&report["finished"], &report["shards"]), (&true.into(), &4.into()));
    assert!(!fs::read_to_string(place.at("r.xml")).unwrap().contains("<error"));
}

#[test]
fn no_kill_leaves_half_a_report() {
    let place = damaged();
    for n in 0.. {
        let mut names = 0;
        let ran = judged(&place, VERIFY, |call| {
            names += u32::from(call.class == Class::Name);
            if call.class == Class::Name && names > n { Deed::Kill } else { Deed::Go }
        });
        let Some(Ran { exit, stderr, .. }) = ran else { return };
        for name in ["r.json", "r.sarif", "r.gitlab"] {
            if place.at(name).exists() {
                json(&place, name);
            }
        }
        if exit == 1 {
            assert!(n >= 12, "each report is written at the begin and at the end: {n}");
            return;
        }
        assert_eq!(exit, 137, "{stderr}");
    }
}

#[test]
fn a_verification_that_is_asked_to_end_says_so_in_its_reports() {
    for (signal, exit) in [(libc::SIGINT, 130), (libc::SIGTERM, 143)] {
        let place = damaged();
        let ran = judged(&place, VERIFY, |call| match call.class {
            Class::Open if call.path == "out/shard-000002.tar" && call.nth == 0 => {
                Deed::Signal(signal)
            }
            _ => Deed::Go,
        });
        let Some(ran) = ran else { return };
        assert_eq!(ran.exit, exit, "{}", ran.stderr);
        unfinished(&place, "the verification ended before it had finished", true);
    }
}

#[test]
fn a_report_that_cannot_be_written_ends_the_command_before_the_data_are_read() {
    let place = damaged();
    let mut reads = 0;
    let ran = judged(&place, "verify out --report json=r.json", |call| {
        reads += u32::from(call.class == Class::Open && call.path.ends_with(".tar"));
        match call.class {
            Class::Name if call.path == "r.json" => Deed::Fail(libc::EROFS),
            _ => Deed::Go,
        }
    });
    let Some(Ran { exit, stderr, .. }) = ran else { return };
    assert!(exit > 1 && stderr.contains("r.json"), "{exit}: {stderr}");
    assert_eq!(reads, 0);
}
