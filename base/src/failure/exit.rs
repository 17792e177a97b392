//! The exit codes for schedulers and CI; `--help` has the same table.

use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done, or nothing to do.
    Done = 0,
    /// Problems were found.
    Problems = 1,
    /// The command line is wrong, or the named files do not suit the command.
    Usage = 2,
    /// Bad data: a second attempt gives the same result. (`EX_DATAERR`)
    BadData = 65,
    /// The operating system refuses, and would refuse a second attempt: a read-only file system,
    /// missing permission, a file in place of a folder. (`EX_CANTCREAT`)
    Barred = 73,
    /// The machine failed, or other workers are not done: try again. (`EX_TEMPFAIL`)
    TryAgain = 75,
    /// Interrupted by Ctrl-C.
    Interrupted = 130,
    /// Terminated by SIGTERM.
    Terminated = 143,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}
