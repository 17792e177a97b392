//! Output streams that are full or closed: no command panics, and what it publishes is whole.

use std::fs::{self, File};
use std::io;
use std::process::{Output, Stdio};

use crate::harness::Place;

/// The fate of output to a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stream {
    Read,
    /// The disk is full.
    Full,
    /// The reader has closed it.
    Closed,
}

impl Stream {
    fn stdio(self) -> Stdio {
        match self {
            Stream::Read => Stdio::piped(),
            Stream::Full => File::options().write(true).open("/dev/full").unwrap().into(),
            Stream::Closed => io::pipe().unwrap().1.into(),
        }
    }
}

fn run(place: &Place, words: &str, stdout: Stream, stderr: Stream) -> (i32, Output) {
    let mut command = place.command(words);
    command.stdin(Stdio::null()).stdout(stdout.stdio()).stderr(stderr.stdio());
    let output = command.output().unwrap();
    (output.status.code().unwrap_or(-1), output)
}

/// A place with a data set in `out`, one that is only planned in `planned` and one to be published
/// in `packed`.
fn place() -> Place {
    let place = Place::new();
    place.photos("photos", 6).folder("bad", 3).file("bad/alone.jpg", "no picture");
    place.pack("build photos -o out --shards 2").succeeds();
    place.pack("plan photos -o planned --shards 2").succeeds();
    place.pack("plan photos -o packed --shards 2").succeeds();
    place.pack("run packed").succeeds();
    place
}

/// Commands with their exit codes where both streams are read.
const COMMANDS: [(&str, i32); 22] = [
    ("build photos -o new --shards 2", 0),
    ("build photos -o new --shards 2 --format json", 0),
    ("build photos -o new --dry-run", 0),
    ("build photos -o out --shards 2", 0),
    ("build bad -o new", 1),
    ("build bad -o new --on-problem skip", 0),
    ("build nosuch -o new", 2),
    ("plan photos -o new", 0),
    ("run planned", 0),
    ("status packed", 0),
    ("status out --format json", 0),
    ("finalize packed", 0),
    ("finalize planned", 75),
    ("verify out", 0),
    ("verify nosuch", 2),
    ("index out", 0),
    ("info out", 0),
    ("ls out", 0),
    ("cat out c0000/s000000.json", 0),
    ("unpack out -o files", 0),
    ("--help", 0),
    ("nosuch", 2),
];

#[test]
fn a_full_or_closed_stderr_changes_no_exit_code() {
    for stderr in [Stream::Full, Stream::Closed] {
        for (words, exit) in COMMANDS {
            let place = place();
            let (found, output) = run(&place, words, Stream::Read, stderr);
            assert_eq!(found, exit, "{words}: {stderr:?}: {output:?}");
            whole(&place);
        }
    }
}

#[test]
fn a_closed_stdout_changes_nothing() {
    for (words, exit) in COMMANDS {
        let place = place();
        let (found, output) = run(&place, words, Stream::Closed, Stream::Read);
        assert_eq!(found, exit, "{words}: {output:?}");
        whole(&place);
    }
}

#[test]
fn results_that_cannot_be_written_are_reported_and_change_the_exit_code() {
    for (words, exit) in COMMANDS {
        let place = place();
        let (found, output) = run(&place, words, Stream::Full, Stream::Read);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(found, if exit == 0 { 75 } else { exit }, "{words}: {stderr}");
        if exit == 0 {
            assert!(stderr.contains("cannot write to standard output: No space left"), "{stderr}");
            assert_eq!(stderr.matches("standard output").count(), 1, "{stderr}");
        }
        whole(&place);
    }
}

#[test]
fn both_streams_may_be_lost() {
    for (words, exit) in COMMANDS {
        let place = place();
        let (found, _) = run(&place, words, Stream::Full, Stream::Full);
        assert_eq!(found, if exit == 0 { 75 } else { exit }, "{words}");
        whole(&place);
    }
}

#[test]
fn measuring_and_examining_survive_lost_streams() {
    let place = place();
    for words in ["bench out --raw --seconds 0.1", "doctor", "doctor --format json"] {
        let (usual, output) = run(&place, words, Stream::Read, Stream::Read);
        assert!(usual == 0 || usual == 1, "{words}: {output:?}");
        for stderr in [Stream::Full, Stream::Closed] {
            let (found, output) = run(&place, words, Stream::Read, stderr);
            assert_eq!(found, usual, "{words}: {output:?}");
        }
        let (found, output) = run(&place, words, Stream::Closed, Stream::Read);
        assert_eq!(found, usual, "{words}: {output:?}");
        let (found, output) = run(&place, words, Stream::Full, Stream::Read);
        assert_eq!(found, 75, "{words}: {output:?}");
    }
}

/// What is published, and what was unpacked, is complete.
fn whole(place: &Place) {
    for name in ["out", "new", "packed"] {
        if place.at(name).join("dataset.json").try_exists().unwrap() {
            place.pack(&format!("verify {name}")).succeeds();
            assert!(!place.at(name).join(".pack").try_exists().unwrap(), "{name}");
        }
    }
    if place.at("files").try_exists().unwrap() {
        place.same("files", "photos");
        fs::remove_dir_all(place.at("files")).unwrap();
    }
}
