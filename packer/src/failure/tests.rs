//! The exit code and the remedies of failures.

use std::io;

use tarflume_formats::Error;

use super::Failure;
use crate::exit::Exit;

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
        let failure = Failure::from(tarflume::Error::from(read));
        assert_eq!(failure.exit(), exit, "{code}: {failure}");
    }
    for code in [5, 11, 24, 28, 122, 4000] {
        let refused = io::Error::from_raw_os_error(code);
        let failure = Failure::io(refused, "write", "a/b").with_remedy("remove a");
        assert!(failure.text().ends_with("; remove a"), "{failure}");
        assert!(!failure.text().contains("same command"), "{failure}");
    }
    let refused = tarflume::Error::new(tarflume::ErrorKind::Refused, "the store refuses");
    let failure =
        Failure::from(refused.with_source(io::Error::from(io::ErrorKind::PermissionDenied)));
    assert_eq!((failure.exit(), &*failure.text()), (Exit::Barred, "the store refuses"));
    let eof = Failure::io(io::ErrorKind::UnexpectedEof.into(), "read", "a.tar");
    assert_eq!(eof.exit(), Exit::BadData);
}
