//! `Failure`: why a command failed, as one line with its causes, and the exit code.

use std::fmt;
use std::io;

use tarflume_formats::shown::message;
use tarflume_formats::{Blame, Error, ErrorKind, manifest};

use crate::exit::Exit;

/// A command's failure. Faults of the data are a [`crate::problem::Problem`] instead.
pub struct Failure {
    /// The exit code of the process.
    pub exit: Exit,
    /// The message: what failed, where, and the remedy.
    pub text: String,
}

impl Failure {
    /// The command line is wrong.
    pub fn usage(text: impl Into<String>) -> Failure {
        Failure { exit: Exit::Usage, text: text.into() }
    }

    /// A second attempt would give the same result.
    pub fn bad_data(text: impl Into<String>) -> Failure {
        Failure { exit: Exit::BadData, text: text.into() }
    }

    /// A second attempt may succeed.
    pub fn try_again(text: impl Into<String>) -> Failure {
        Failure { exit: Exit::TryAgain, text: text.into() }
    }

    /// The program was built without a feature, which `what` needs.
    pub fn not_built(what: &str, feature: &str) -> Failure {
        Failure::usage(format!(
            "{what}: this program was built without the feature `{feature}`; a program of the default features has \
             it, as `cargo install --path command` builds one, and the Python package"
        ))
    }

    /// A thread could not be started.
    pub fn no_thread(error: &dyn fmt::Display) -> Failure {
        Failure::try_again(format!(
            "cannot start a thread: {error}; use fewer with --jobs, or raise the limits of processes and \
             memory (`ulimit -u`, `ulimit -v`, the container's pids.max)"
        ))
    }

    /// A [`Stop`](crate::stop::Stop) was requested.
    pub fn interrupted() -> Failure {
        Failure { exit: Exit::Interrupted, text: "interrupted".into() }
    }

    /// Returns the same failure with another exit code.
    #[must_use]
    pub fn with_exit(mut self, exit: Exit) -> Failure {
        self.exit = exit;
        self
    }

    /// An error of the operating system while `doing` something with `path`.
    pub fn io(error: io::Error, doing: &str, path: impl AsRef<std::path::Path>) -> Failure {
        Error::io(error, doing, path).into()
    }

    /// Replaces the advice to run the same command again by `remedy`, for commands that cannot be
    /// repeated as they were.
    #[must_use]
    pub fn with_remedy(mut self, remedy: &str) -> Failure {
        if let Some((advice, kept)) = AGAIN.iter().find(|(advice, _)| self.text.ends_with(advice)) {
            self.text.truncate(self.text.len() - advice.len());
            self.text += kept;
        }
        self.text += &format!("; {remedy}");
        self
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::from(&error)
    }
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Failure {
        if is_no_data_set(error) {
            return Failure::usage(error.to_string());
        }
        let Some(source) = error.io_error() else {
            let exit = match error.kind() {
                ErrorKind::Io | ErrorKind::Exists => Exit::Usage, // nothing was refused
                _ => Exit::BadData,
            };
            return Failure { exit, text: error.to_string() };
        };
        let exit = match error.kind() {
            ErrorKind::Io | ErrorKind::Exists => exit_of(source),
            _ => Exit::BadData,
        };
        Failure { exit, text: format!("{error}: {source}{}", advice(source)) }
    }
}

/// Returns true if the error is a missing manifest: the named folder does not hold shards.
fn is_no_data_set(error: &Error) -> bool {
    let name = error.place().path.as_deref().and_then(|path| path.file_name());
    error.is_missing()
        && error.kind() == ErrorKind::Io
        && name.is_some_and(|name| name == manifest::FILE_NAME)
}

/// Returns the exit code for an error of the operating system.
fn exit_of(error: &io::Error) -> Exit {
    match Blame::of(error) {
        Blame::Data | Blame::Lasting => Exit::Barred,
        Blame::Signal | Blame::Passing | Blame::Machine => Exit::TryAgain,
    }
}

#[cfg(feature = "remote")]
impl From<tarflume_store::Error> for Failure {
    fn from(error: tarflume_store::Error) -> Failure {
        use tarflume_store::ErrorKind as K;
        let exit = match error.kind() {
            K::Usage => Exit::Usage,
            K::Machine | K::Changed => Exit::TryAgain,
            _ => Exit::Barred,
        };
        Failure { exit, text: error.to_string() }
    }
}

impl From<tarflume::Error> for Failure {
    fn from(error: tarflume::Error) -> Failure {
        use tarflume::ErrorKind as K;
        let exit = match error.kind() {
            // The given memory limit is too small, unless one sample exceeds the limit by itself.
            K::Limit if error.place().key.is_none() => Exit::Usage,
            K::Usage => Exit::Usage,
            K::Io | K::Refused => Exit::Barred,
            K::Machine | K::Network => Exit::TryAgain,
            _ => Exit::BadData,
        };
        let (mut exit, mut text) = (exit, error.to_string());
        let mut cause = std::error::Error::source(&error);
        while let Some(next) = cause {
            // The text of an error of a store says more than the kind of its cause.
            if next.downcast_ref::<io::Error>().is_some_and(is_a_kind_alone) {
                break;
            }
            text = format!("{text}: {next}");
            if let Some(refused) = next.downcast_ref::<io::Error>() {
                text += advice(refused);
                if matches!(error.kind(), K::Io | K::Machine) {
                    exit = exit_of(refused);
                }
            }
            cause = next.source();
        }
        Failure { exit, text }
    }
}

/// Returns true for an error that says nothing but that something is missing or refused.
fn is_a_kind_alone(error: &io::Error) -> bool {
    let is_known =
        matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied);
    is_known && error.raw_os_error().is_none() && error.get_ref().is_none()
}

const MAKE_ROOM: &str = "; make room and run the same command again: what is finished is kept";
const RAISE_LIMIT: &str =
    "; raise the limit of open files (`ulimit -n`) and run the same command again";
const TRIED: &str = "; it was tried several times: see the system's log (`dmesg`) for the disk, network or \
                     server, then run the same command again";
const TROUBLE: &str = "; the machine failed: run the same command again";
/// Each advice to run the same command again, and its form for a command that cannot be repeated.
const AGAIN: [(&str, &str); 4] = [
    (MAKE_ROOM, "; make room"),
    (RAISE_LIMIT, "; raise the limit of open files (`ulimit -n`)"),
    (
        TRIED,
        "; it was tried several times: see the system's log (`dmesg`) for the disk, network or server",
    ),
    (TROUBLE, "; the machine failed"),
];

/// Returns the remedy for an error.
fn advice(error: &io::Error) -> &'static str {
    use io::ErrorKind as K;
    match error.kind() {
        K::StorageFull | K::QuotaExceeded => return MAKE_ROOM,
        K::ReadOnlyFilesystem => return "; mount it for writing, or name another folder",
        K::PermissionDenied => return "; change its permissions or owner, or run as another user",
        K::AlreadyExists | K::NotADirectory => {
            return "; a file is in place of a folder: name another folder, or move the file away";
        }
        K::OutOfMemory => return "; give the process more memory, or fewer threads with --jobs",
        _ => {}
    }
    if matches!(error.raw_os_error(), Some(EMFILE | ENFILE)) {
        return RAISE_LIMIT;
    }
    match Blame::of(error) {
        Blame::Passing => TRIED,
        Blame::Machine => TROUBLE,
        Blame::Lasting => "; it stays so until the machine is changed",
        Blame::Signal | Blame::Data => "",
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", message(&self.text))
    }
}

/// Writes the line that [`fmt::Display`] writes, for `main` and `unwrap`. `{:#?}` writes the fields.
impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            let Failure { exit, text } = self;
            return f.debug_struct("Failure").field("exit", exit).field("text", text).finish();
        }
        write!(f, "{self}")
    }
}

impl std::error::Error for Failure {}

/// `EMFILE`: this process has too many open files.
const EMFILE: i32 = 24;
/// `ENFILE`: the whole machine has.
const ENFILE: i32 = 23;

/// The result of every command.
pub type Outcome = Result<Exit, Failure>;

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(failure.exit, exit, "{code}: {failure}");
            assert!(failure.text.contains("a/b: cannot write: "), "{failure}");
            assert!(failure.text.contains(remedy), "{failure}");
            let read = Error::io(refused(), "write", "a/b");
            let failure = Failure::from(tarflume::Error::from(read));
            assert_eq!(failure.exit, exit, "{code}: {failure}");
        }
        for code in [5, 11, 24, 28, 122, 4000] {
            let refused = io::Error::from_raw_os_error(code);
            let failure = Failure::io(refused, "write", "a/b").with_remedy("remove a");
            assert!(failure.text.ends_with("; remove a"), "{failure}");
            assert!(!failure.text.contains("same command"), "{failure}");
        }
        let refused = tarflume::Error::new(tarflume::ErrorKind::Refused, "the store refuses");
        let failure =
            Failure::from(refused.with_source(io::Error::from(io::ErrorKind::PermissionDenied)));
        assert_eq!((failure.exit, &*failure.text), (Exit::Barred, "the store refuses"));
        let eof = Failure::io(io::ErrorKind::UnexpectedEof.into(), "read", "a.tar");
        assert_eq!(eof.exit, Exit::BadData);
    }
}
