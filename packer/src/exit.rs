//! The exit codes, which schedulers and CI act upon. One enum, one table in `--help`.

use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done, or nothing was left to do.
    Done = 0,
    /// Problems were found.
    Problems = 1,
    /// The command line is wrong, or the command could not run on what it names.
    Usage = 2,
    /// Bad data: trying again gives the same. (`EX_DATAERR`)
    BadData = 65,
    /// The operating system refuses, and would refuse a second attempt: a read-only file system, no
    /// permission, a file where a folder should be. (`EX_CANTCREAT`)
    Barred = 73,
    /// The machine failed, or others are not done yet: try again. (`EX_TEMPFAIL`)
    TryAgain = 75,
    /// Ended by Ctrl-C.
    Interrupted = 130,
    /// Ended by SIGTERM.
    Terminated = 143,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}
