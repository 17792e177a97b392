//! The exit code and the remedies of failures.

use std::io;
use std::path::{Path, PathBuf};

use tarflume_formats::message::{Call, Face, Name, Task};
use tarflume_formats::{Error, message};

use super::Failure;
use crate::failure::exit::Exit;

#[test]
fn the_exit_code_shows_whether_a_retry_may_succeed() {
    for (code, exit, remedy) in [
        (4, Exit::TryAgain, ""),
        (5, Exit::TryAgain, "tried several times"),
        (11, Exit::TryAgain, "again"),
        (12, Exit::TryAgain, "more memory"),
        (23, Exit::TryAgain, "ulimit -n"),
        (24, Exit::TryAgain, "ulimit -n"),
        (28, Exit::TryAgain, "make room"),
        (110, Exit::TryAgain, "tried several times"),
        (116, Exit::TryAgain, "tried several times"),
        (122, Exit::TryAgain, "make room"),
        (4000, Exit::TryAgain, "the machine failed"),
        (2, Exit::Barred, ""),
        (13, Exit::Barred, "permissions"),
        (17, Exit::Barred, "name another folder"),
        (20, Exit::Barred, "name another folder"),
        (27, Exit::Barred, "until the machine is changed"),
        (30, Exit::Barred, "for writing"),
    ] {
        let refused = || io::Error::from_raw_os_error(code);
        let failure = Failure::io(refused(), "write", "a/b");
        assert_eq!(failure.exit(), exit, "{code}: {failure}");
        assert!(failure.text().contains("a/b: cannot write: "), "{failure}");
        assert!(failure.text().contains(remedy), "{failure}");
        let read = Error::io(refused(), "write", "a/b");
        let failure = Failure::from(tarflume_types::Error::from(read));
        assert_eq!(failure.exit(), exit, "{code}: {failure}");
    }
    for code in [5, 11, 24, 28, 122, 4000] {
        let refused = io::Error::from_raw_os_error(code);
        let failure = Failure::io(refused, "write", "a/b").with_remedy("remove a");
        assert!(failure.text().ends_with("; remove a"), "{failure}");
        assert!(!failure.text().contains("same command"), "{failure}");
    }
    let refused =
        tarflume_types::Error::new(tarflume_types::ErrorKind::Refused, "the store refuses");
    let failure =
        Failure::from(refused.with_source(io::Error::from(io::ErrorKind::PermissionDenied)));
    assert_eq!((failure.exit(), &*failure.text()), (Exit::Barred, "the store refuses"));
    let eof = Failure::io(io::ErrorKind::UnexpectedEof.into(), "read", "a.tar");
    assert_eq!(eof.exit(), Exit::BadData);
}

#[test]
fn each_face_writes_the_remedy_and_keeps_the_words_of_a_user() {
    let path = "/data/my --force data";
    let full = Failure::io(io::Error::from_raw_os_error(12), "read", path);
    let message = full.message();
    let remedy = "give the process more memory, or fewer threads with";
    assert!(message.in_face(Face::Command).ends_with(&format!("{remedy} --jobs")), "{full}");
    assert!(message.in_face(Face::Python).ends_with(&format!("{remedy} jobs")), "{full}");
    assert!(message.in_face(Face::Python).starts_with(&format!("{path}: cannot read")), "{full}");
    assert_eq!(full.place().path.as_deref(), Some(Path::new(path)));
    let lost = Failure::usage(message!("{path}: lost")).with_remedy(
        message!("`{index}` makes it"; index = Call::of(Task::Index).with(Name::Force.on()).on(path)),
    );
    assert_eq!(lost.text(), format!("{path}: lost; `pack index --force '{path}'` makes it"));
    let python = format!("{path}: lost; `tarflume.pack.index(\"{path}\", force=True)` makes it");
    assert_eq!(lost.message().in_face(Face::Python), python);
}

const COPIES: &str = "/tmp/copies";

fn moved(path: &Path) -> Option<PathBuf> {
    path.strip_prefix(COPIES).ok().map(|below| Path::new("s3://set").join(below))
}

#[test]
fn other_paths_are_named_and_words_stay() {
    let copy = Path::new(COPIES);
    let text = message!("as /tmp/copies says; `{index}`"; index = Call::of(Task::Index).on_path(copy.join("b")));
    let refused = Error::new(tarflume_formats::ErrorKind::Damaged, text)
        .with_path(copy.join("a.tar"))
        .with_byte(7);
    let failure = Failure::from(refused).with_remedy(message!("remove {it}"; it = &copy.join("c")));
    let other = failure.clone().map_paths(moved);
    let told =
        "s3://set/a.tar: byte 7: as /tmp/copies says; `pack index s3://set/b`; remove s3://set/c";
    assert_eq!(other.text(), told);
    assert_eq!(other.place().path.as_deref(), Some(Path::new("s3://set/a.tar")));
    assert_eq!(failure.clone().map_paths(|_| None).text(), failure.text());
}

#[test]
fn a_place_is_a_field_and_the_beginning_of_the_message() {
    let place = tarflume_formats::Place { byte: Some(3), ..tarflume_formats::Place::file("a\nb") };
    let failure = Failure::bad_data("no XML").in_place(place.clone());
    assert_eq!(failure.text(), "a\\nb: byte 3: no XML");
    assert_eq!(failure.place(), &place);
    assert_eq!(Failure::usage("gone").in_file("x").text(), "x: gone");
    let hostile = Failure::usage(message!("{}: give {}", "\u{1b}[31m", "http://me:word@h/a"));
    assert_eq!(hostile.text(), "\\u{1b}[31m: give http://h/a");
}
