//! `Advice`: what to do about an error of the operating system.

use std::io;

use tarflume_formats::message::{Message, Name};
use tarflume_formats::{Blame, message};

/// `EMFILE`: this process has too many open files.
const EMFILE: i32 = 24;
/// `ENFILE`: the whole machine has.
const ENFILE: i32 = 23;

/// What to do about an error of the operating system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Advice {
    /// The disk is full.
    MakeRoom,
    /// The file system is read-only.
    MountForWriting,
    /// The user lacks a permission.
    ChangePermissions,
    /// A file is where a folder has to be.
    MoveFile,
    /// The memory is used up.
    GiveMemory,
    /// Too many files are open.
    RaiseLimit,
    /// The error may pass, and was tried several times.
    ReadLog,
    /// The machine failed.
    RunAgain,
    /// No second attempt helps.
    ChangeMachine,
}

impl Advice {
    /// Returns the advice about an error; `None` if the error itself says what to do.
    pub(super) fn about(error: &io::Error) -> Option<Advice> {
        use io::ErrorKind as K;
        match error.kind() {
            K::StorageFull | K::QuotaExceeded => return Some(Advice::MakeRoom),
            K::ReadOnlyFilesystem => return Some(Advice::MountForWriting),
            K::PermissionDenied => return Some(Advice::ChangePermissions),
            K::AlreadyExists | K::NotADirectory => return Some(Advice::MoveFile),
            K::OutOfMemory => return Some(Advice::GiveMemory),
            _ => {}
        }
        if matches!(error.raw_os_error(), Some(EMFILE | ENFILE)) {
            return Some(Advice::RaiseLimit);
        }
        match Blame::of(error) {
            Blame::Passing => Some(Advice::ReadLog),
            Blame::Machine => Some(Advice::RunAgain),
            Blame::Lasting => Some(Advice::ChangeMachine),
            Blame::Signal | Blame::Data => None,
        }
    }

    /// Returns the advice as text. A command that cannot be repeated is not advised again.
    pub(super) fn message(self, is_repeatable: bool) -> Message {
        let text = match (self, is_repeatable) {
            (Advice::MakeRoom, true) => {
                "make room and run the same command again: what is finished is kept"
            }
            (Advice::MakeRoom, false) => "make room",
            (Advice::MountForWriting, _) => "mount it for writing, or name another folder",
            (Advice::ChangePermissions, _) => {
                "change its permissions or owner, or run as another user"
            }
            (Advice::MoveFile, _) => {
                "a file is in place of a folder: name another folder, or move the file away"
            }
            (Advice::GiveMemory, _) => {
                return message!("give the process more memory, or fewer threads with {jobs}";
                    jobs = Name::Jobs);
            }
            (Advice::RaiseLimit, true) => {
                "raise the limit of open files (`ulimit -n`) and run the same command again"
            }
            (Advice::RaiseLimit, false) => "raise the limit of open files (`ulimit -n`)",
            (Advice::ReadLog, true) => {
                "it was tried several times: see the system's log (`dmesg`) for the disk, network or server, then \
                 run the same command again"
            }
            (Advice::ReadLog, false) => {
                "it was tried several times: see the system's log (`dmesg`) for the disk, network or server"
            }
            (Advice::RunAgain, true) => "the machine failed: run the same command again",
            (Advice::RunAgain, false) => "the machine failed",
            (Advice::ChangeMachine, _) => "it stays so until the machine is changed",
        };
        Message::words(text)
    }
}
