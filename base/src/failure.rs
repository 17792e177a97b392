//! `Failure`: why a command failed, as data: its kind, its place, what happened and what to do.

mod advice;
pub(super) mod exit;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use tarflume_formats::message::{Face, Message, Name};
use tarflume_formats::shown::message;
use tarflume_formats::{Blame, Error, ErrorKind, Place, manifest};

use self::advice::Advice;
use crate::failure::exit::Exit;

/// What failed; the exit code follows from it.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FailureKind {
    /// The request is wrong, or the named files do not suit it.
    Usage,
    /// A second attempt gives the same result.
    BadData,
    /// The operating system or a store refuses, and would refuse a second attempt.
    Barred,
    /// The machine failed, or other workers are not done: a second attempt may succeed.
    TryAgain,
    /// A [`Stop`](crate::stop::Stop) was requested.
    Interrupted,
}

impl FailureKind {
    /// Returns the exit code of the process.
    pub fn exit(self) -> Exit {
        match self {
            FailureKind::Usage => Exit::Usage,
            FailureKind::BadData => Exit::BadData,
            FailureKind::Barred => Exit::Barred,
            FailureKind::TryAgain => Exit::TryAgain,
            FailureKind::Interrupted => Exit::Interrupted,
        }
    }
}

/// A command's failure. Faults of the data are a [`crate::problem::Problem`] instead.
#[derive(Clone)]
pub struct Failure(Box<Fields>);

#[derive(Clone)]
struct Fields {
    kind: FailureKind,
    place: Place,
    /// What failed, where, and the remedy, but for what follows.
    message: Message,
    advice: Option<Advice>,
    /// Remedies of a command that cannot be repeated as it was.
    remedies: Vec<Message>,
}

impl Failure {
    /// Creates a failure of `kind`: what failed, where, and the remedy.
    pub fn new(kind: FailureKind, message: impl Into<Message>) -> Failure {
        Failure(Box::new(Fields {
            kind,
            place: Place::default(),
            message: message.into(),
            advice: None,
            remedies: Vec::new(),
        }))
    }

    /// The command line is wrong.
    pub fn usage(message: impl Into<Message>) -> Failure {
        Failure::new(FailureKind::Usage, message)
    }

    /// A second attempt would give the same result.
    pub fn bad_data(message: impl Into<Message>) -> Failure {
        Failure::new(FailureKind::BadData, message)
    }

    /// A second attempt may succeed.
    pub fn try_again(message: impl Into<Message>) -> Failure {
        Failure::new(FailureKind::TryAgain, message)
    }

    /// The program was built without a feature, which `what` needs.
    pub fn not_built(what: impl Into<Message>, feature: &str) -> Failure {
        Failure::usage(tarflume_formats::message!(
            "{what}: this program was built without the feature `{feature}`; a program of the default features has \
             it, as `cargo install --path command` builds one, and the Python package";
            what = what
        ))
    }

    /// Checks that there is memory for `count` new threads.
    ///
    /// # Errors
    /// Returns [`Failure::no_thread`] if there is not.
    pub fn check_threads(count: usize) -> Result<(), Failure> {
        tarflume_formats::room_for_threads(count).map_err(|e| Failure::no_thread(&e))
    }

    /// A thread could not be started.
    pub fn no_thread(error: &dyn fmt::Display) -> Failure {
        Failure::try_again(tarflume_formats::message!(
            "cannot start a thread: {error}; use fewer with {jobs}, or raise the limits of processes and \
             memory (`ulimit -u`, `ulimit -v`, `ulimit -d`, the container's pids.max)";
            jobs = Name::Jobs
        ))
    }

    /// A [`Stop`](crate::stop::Stop) was requested.
    pub fn interrupted() -> Failure {
        Failure::new(FailureKind::Interrupted, Message::words("interrupted"))
    }

    /// An error of the operating system while `doing` something with `path`.
    pub fn io(error: io::Error, doing: impl Into<Message>, path: impl AsRef<Path>) -> Failure {
        Error::io(error, doing, path).into()
    }

    /// Returns the same failure with another kind.
    #[must_use]
    pub fn with_kind(mut self, kind: FailureKind) -> Failure {
        self.0.kind = kind;
        self
    }

    /// Leaves out the advice to run the same command again and adds `remedy`, for commands that cannot be repeated as they
    /// were.
    #[must_use]
    pub fn with_remedy(mut self, remedy: impl Into<Message>) -> Failure {
        self.0.remedies.push(remedy.into());
        self
    }

    /// Sets the place, which the message names already.
    #[must_use]
    pub fn with_place(mut self, place: Place) -> Failure {
        self.0.place = place;
        self
    }

    /// Sets the file alone as the place. The message names it already.
    #[must_use]
    pub fn with_file(self, path: impl AsRef<Path>) -> Failure {
        self.with_place(Place::file(path))
    }

    /// Adds the file in which it was found, to the place and before the message. To name a
    /// byte as well, use [`Failure::in_place`].
    #[must_use]
    pub fn in_file(self, path: impl AsRef<Path>) -> Failure {
        self.in_place(Place::file(path))
    }

    /// Adds the place in which it was found, also before the message.
    #[must_use]
    pub fn in_place(self, place: Place) -> Failure {
        let before = Message::from(&place);
        self.with_place(place).after(tarflume_formats::message!("{before}: "; before = before))
    }

    /// Puts words before the message.
    #[must_use]
    pub fn after(mut self, words: impl Into<Message>) -> Failure {
        let mut message = words.into();
        message.push(&self.0.message);
        self.0.message = message;
        self
    }

    /// Names other paths: those for which `mapped` returns one. Words stay as they are.
    #[must_use]
    pub fn map_paths(mut self, mapped: impl Fn(&Path) -> Option<PathBuf>) -> Failure {
        self.0.message.map_paths(&mapped);
        for remedy in &mut self.0.remedies {
            remedy.map_paths(&mapped);
        }
        if let Some(path) = &mut self.0.place.path
            && let Some(other) = mapped(path)
        {
            *path = other;
        }
        self
    }

    /// Returns what failed.
    pub fn kind(&self) -> FailureKind {
        self.0.kind
    }

    /// Returns the exit code of the process.
    pub fn exit(&self) -> Exit {
        self.0.kind.exit()
    }

    /// Returns the file, the byte and the key, as far as an error of a file has named them.
    pub fn place(&self) -> &Place {
        &self.0.place
    }

    /// Returns the whole message: what failed, where, and the remedy.
    pub fn message(&self) -> Message {
        let Fields { message, advice, remedies, .. } = &*self.0;
        let mut whole = message.clone();
        let advice = advice.map(|advice| advice.message(remedies.is_empty()));
        for part in advice.iter().chain(remedies) {
            whole.push(Message::words("; "));
            whole.push(part);
        }
        whole
    }

    /// Returns the whole message in the words of a face, with control characters escaped and without the secrets of URLs.
    pub fn text_in(&self, face: Face) -> String {
        message(self.message().in_face(face)).to_string()
    }

    /// Returns the whole message in the words of the command, as [`Failure::text_in`].
    pub fn text(&self) -> String {
        self.text_in(Face::Command)
    }

    fn advised(mut self, error: &io::Error) -> Failure {
        self.0.advice = Advice::about(error);
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
        let kind = kind_of(error);
        let Some(source) = error.io_error().filter(|_| !is_no_data_set(error)) else {
            return Failure::new(kind, error.placed()).with_place(error.place().clone());
        };
        let message = tarflume_formats::message!("{error}: {source}"; error = error.placed());
        Failure::new(kind, message).with_place(error.place().clone()).advised(source)
    }
}

/// Returns the place of an error, and its message.
fn placed(place: &Place, told: &Message) -> Message {
    if place.is_empty() {
        return told.clone();
    }
    tarflume_formats::message!("{place}: {told}"; place = place, told = told)
}

fn kind_of(error: &Error) -> FailureKind {
    if is_no_data_set(error) {
        return FailureKind::Usage;
    }
    match (error.kind(), error.io_error()) {
        (ErrorKind::Io | ErrorKind::Exists, Some(source)) => kind_of_system(source),
        (ErrorKind::Io | ErrorKind::Exists, None) => FailureKind::Usage, // nothing was refused
        _ => FailureKind::BadData,
    }
}

/// Returns true if the error is a missing manifest: the named folder does not hold shards.
fn is_no_data_set(error: &Error) -> bool {
    let name = error.place().path.as_deref().and_then(|path| path.file_name());
    error.is_missing()
        && error.kind() == ErrorKind::Io
        && name.is_some_and(|name| name == manifest::FILE_NAME)
}

/// Returns the kind for an error of the operating system.
fn kind_of_system(error: &io::Error) -> FailureKind {
    match Blame::of(error) {
        Blame::Data | Blame::Lasting => FailureKind::Barred,
        Blame::Signal | Blame::Passing | Blame::Machine => FailureKind::TryAgain,
    }
}

#[cfg(feature = "remote")]
impl From<tarflume_store::Error> for Failure {
    fn from(error: tarflume_store::Error) -> Failure {
        use tarflume_store::ErrorKind as K;
        let kind = match error.kind() {
            K::Usage => FailureKind::Usage,
            K::Machine | K::Changed => FailureKind::TryAgain,
            _ => FailureKind::Barred,
        };
        let place = Place::file(error.url());
        Failure::new(kind, placed(&place, &of_store(&error))).with_place(place)
    }
}

/// Returns the message of an error of a store.
#[cfg(feature = "remote")]
fn of_store(error: &tarflume_store::Error) -> Message {
    let mut message = Message::default();
    for part in error.parts() {
        match part {
            tarflume_store::ErrorPart::Text(text) => message.push(&**text),
            tarflume_store::ErrorPart::Option { name, value } => {
                message.push(tarflume_formats::message::Setting::of_store(name, value));
            }
        }
    }
    message
}

impl From<tarflume_types::Error> for Failure {
    fn from(error: tarflume_types::Error) -> Failure {
        use tarflume_types::ErrorKind as K;
        let kind = match error.kind() {
            // The given memory limit is too small, unless one sample exceeds the limit by itself.
            K::Limit if error.place().key.is_none() => FailureKind::Usage,
            K::Usage => FailureKind::Usage,
            K::Io | K::Refused => FailureKind::Barred,
            K::Machine | K::Network => FailureKind::TryAgain,
            _ => FailureKind::BadData,
        };
        let mut failure = Failure::new(kind, placed(error.place(), error.message()))
            .with_place(error.place().clone());
        let mut cause = std::error::Error::source(&error);
        while let Some(next) = cause {
            // The text of an error of a store says more than the kind of its cause.
            if next.downcast_ref::<io::Error>().is_some_and(is_a_kind_alone) {
                break;
            }
            failure.0.message.push(Message::words(format!(": {next}")));
            if let Some(refused) = next.downcast_ref::<io::Error>() {
                failure = failure.advised(refused);
                if matches!(error.kind(), K::Io | K::Machine) {
                    failure = failure.with_kind(kind_of_system(refused));
                }
            }
            cause = next.source();
        }
        failure
    }
}

/// Returns true for an error that says nothing but that something is missing or refused.
fn is_a_kind_alone(error: &io::Error) -> bool {
    let is_known =
        matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied);
    is_known && error.raw_os_error().is_none() && error.get_ref().is_none()
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

/// Writes the line that [`fmt::Display`] writes, for `main` and `unwrap`. `{:#?}` writes the fields.
impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            return f
                .debug_struct("Failure")
                .field("kind", &self.kind())
                .field("place", self.place())
                .field("message", &self.message())
                .finish();
        }
        write!(f, "{self}")
    }
}

impl std::error::Error for Failure {}

/// The result of every command.
pub type Outcome = Result<Exit, Failure>;
