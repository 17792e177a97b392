//! The exit code and the remedies of failures.

use std::io;

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
    assert_eq!(full.place().path.as_deref(), Some(std::path::Path::new(path)));
    let lost = Failure::usage(message!("{path}: lost")).with_remedy(
        message!("`{index}` makes it"; index = Call::of(Task::Index).with(Name::Force.on()).on(path)),
    );
    assert_eq!(lost.text(), format!("{path}: lost; `pack index --force '{path}'` makes it"));
    let python = format!("{path}: lost; `tarflume.pack.index(\"{path}\", force=True)` makes it");
    assert_eq!(lost.message().in_face(Face::Python), python);
}
