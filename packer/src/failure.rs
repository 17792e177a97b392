//! Why a command could not do its work: one line (with its causes), and the exit code.

use std::fmt;

use tarflume_formats::shown::message;
use tarflume_formats::{Error, ErrorKind};

use crate::exit::Exit;
use crate::interrupt;

/// A command's failure. What is wrong with data is a [`crate::problem::Problem`] instead.
#[derive(Debug)]
pub struct Failure {
    /// The code with which the process ends.
    pub exit: Exit,
    /// What could not be done, where, and what to do.
    pub text: String,
}

impl Failure {
    /// The command line is wrong.
    pub fn usage(text: impl Into<String>) -> Failure {
        Failure { exit: Exit::Usage, text: text.into() }
    }

    /// Trying again would give the same.
    pub fn bad_data(text: impl Into<String>) -> Failure {
        Failure { exit: Exit::BadData, text: text.into() }
    }

    /// Trying again may help.
    pub fn try_again(text: impl Into<String>) -> Failure {
        Failure { exit: Exit::TryAgain, text: text.into() }
    }

    /// Somebody asked for the end.
    pub fn interrupted() -> Failure {
        Failure { exit: interrupt::exit(), text: "interrupted".into() }
    }

    /// The same failure with another exit code.
    #[must_use]
    pub fn with_exit(mut self, exit: Exit) -> Failure {
        self.exit = exit;
        self
    }

    /// An operating-system error while `doing` something with `path`.
    pub fn io(error: std::io::Error, doing: &str, path: impl AsRef<std::path::Path>) -> Failure {
        Error::io(error, doing, path).into()
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let exit = match error.kind() {
            ErrorKind::Io | ErrorKind::Exists => Exit::TryAgain,
            _ => Exit::BadData,
        };
        let text = match error.io_error() {
            Some(source) => format!("{error}: {source}{}", advice(source)),
            None => error.to_string(),
        };
        Failure { exit, text }
    }
}

impl From<tarflume::Error> for Failure {
    fn from(error: tarflume::Error) -> Failure {
        use tarflume::ErrorKind as K;
        let exit = match error.kind() {
            // Too large for the memory that was given, unless it is one sample that is.
            K::Limit if error.place().key.is_none() => Exit::Usage,
            K::Usage => Exit::Usage,
            K::Io => Exit::TryAgain,
            _ => Exit::BadData,
        };
        let mut text = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(next) = cause {
            text = format!("{text}: {next}");
            cause = next.source();
        }
        Failure { exit, text }
    }
}

/// What to do about it, where that is known.
fn advice(error: &std::io::Error) -> &'static str {
    use std::io::ErrorKind as K;
    match error.kind() {
        K::StorageFull | K::QuotaExceeded => {
            "; make room and run the same command again: what is finished is kept"
        }
        _ => "",
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", message(&self.text))
    }
}

/// What every command gives back.
pub type Outcome = Result<Exit, Failure>;
