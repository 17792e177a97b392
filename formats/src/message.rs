//! `Message`: a sentence for a user whose settings and commands are data, so that each face writes them its own way.
//!
//! A message is a list of pieces: words, which include the values of a user, and what is written otherwise in a shell, in
//! Python and in Rust. Words are written as they are. No text is searched, so a path such as `/data/my --force data`
//! stays what it is.

mod call;
mod face;
mod names;
mod path_text;
mod paths;
mod phrase;
mod quote;
mod setting;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::ops::AddAssign;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use call::{Call, Task};
pub use face::Face;
pub use names::Name;
pub use phrase::Phrase;
pub use quote::{python_text, shell_text};
pub use setting::{Setting, Value};

use crate::text::shown::ShowPath;

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Piece {
    /// Text that is the same everywhere.
    Words(String),
    /// The path of a file, which the words around it are about.
    #[serde(with = "path_text")]
    Path(PathBuf),
    /// The name of a setting, or a setting with its value.
    Setting(Setting),
    /// A task of the program, with its arguments.
    Call(Call),
    /// Words that each face writes its own way.
    Phrase(Phrase),
}

/// A sentence about what happened and what to do.
///
/// ```
/// use tarflume_formats::message;
/// use tarflume_formats::message::{Face, Name};
///
/// let path = "/data/my --force data";
/// let message = message!("{path}: it exists; replace it with {force}"; force = Name::Force.on());
/// assert_eq!(message.in_face(Face::Command), "/data/my --force data: it exists; replace it with --force");
/// assert_eq!(message.in_face(Face::Python), "/data/my --force data: it exists; replace it with force=True");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message(Vec<Piece>);

impl Message {
    /// Creates a message of words alone.
    pub fn words(text: impl Into<String>) -> Message {
        Message(vec![Piece::Words(text.into())])
    }

    /// Returns the pieces in order.
    pub fn pieces(&self) -> &[Piece] {
        &self.0
    }

    /// Returns true if there is no text.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|piece| match piece {
            Piece::Words(text) => text.is_empty(),
            Piece::Path(_) | Piece::Setting(_) | Piece::Call(_) | Piece::Phrase(_) => false,
        })
    }

    /// Returns the settings that the message names, in order.
    pub fn settings(&self) -> impl Iterator<Item = &Setting> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Setting(setting) => Some(setting),
            _ => None,
        })
    }

    /// Returns the tasks that the message names, in order.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Call(call) => Some(call),
            _ => None,
        })
    }

    /// Returns the message as one face writes it. Control characters and the secrets of URLs stay in it: see
    /// [`crate::text::shown::message`].
    pub fn in_face(&self, face: Face) -> String {
        let written = self.0.iter().map(|piece| match piece {
            Piece::Words(text) => text.clone(),
            Piece::Path(path) => path.shown().to_string(),
            Piece::Setting(setting) => setting.in_face(face),
            Piece::Call(call) => call.in_face(face),
            Piece::Phrase(phrase) => phrase.in_face(face).into(),
        });
        written.collect()
    }

    /// Returns the message as the command writes it. It has no `Display`, so that no message becomes words of another one
    /// by mistake.
    pub fn text(&self) -> String {
        self.in_face(Face::Command)
    }

    /// Names other paths: those for which `mapped` returns one, in sentences, settings and calls. Words stay as they are.
    pub fn map_paths(&mut self, mapped: impl Fn(&Path) -> Option<PathBuf>) {
        for piece in &mut self.0 {
            match piece {
                Piece::Path(path) => paths::map(path, &mapped),
                Piece::Setting(setting) => setting.map_paths(&mapped),
                Piece::Call(call) => call.map_paths(&mapped),
                Piece::Words(_) | Piece::Phrase(_) => {}
            }
        }
    }

    /// Returns the pieces as JSON, for a file that is read again; `None` if the message has words alone, which are its text.
    pub fn to_pieces(&self) -> Option<serde_json::Value> {
        let is_text = self.0.iter().all(|piece| matches!(piece, Piece::Words(_)));
        (!is_text)
            .then(|| serde_json::to_value(&self.0).expect("texts, numbers and lists serialize"))
    }

    /// Returns the message of what [`Message::to_pieces`] returned; `None` if a piece is not known to this version.
    pub fn of_pieces(pieces: &serde_json::Value) -> Option<Message> {
        Vec::deserialize(pieces).ok().map(Message)
    }

    /// Appends another message or piece.
    pub fn push(&mut self, part: impl Into<Message>) {
        for piece in part.into().0 {
            match (self.0.last_mut(), piece) {
                (Some(Piece::Words(before)), Piece::Words(text)) => before.push_str(&text),
                (_, piece) => self.0.push(piece),
            }
        }
    }
}

/// Words, which each face writes as they are.
impl From<String> for Message {
    fn from(text: String) -> Message {
        Message::words(text)
    }
}

/// As for `String`.
impl From<&str> for Message {
    fn from(text: &str) -> Message {
        text.to_string().into()
    }
}

/// As for `String`.
impl From<&String> for Message {
    fn from(text: &String) -> Message {
        text.clone().into()
    }
}

/// As for `String`.
impl From<Cow<'_, str>> for Message {
    fn from(text: Cow<'_, str>) -> Message {
        text.into_owned().into()
    }
}

impl<T: Into<Message>> AddAssign<T> for Message {
    fn add_assign(&mut self, part: T) {
        self.push(part);
    }
}

impl From<&Message> for Message {
    fn from(message: &Message) -> Message {
        message.clone()
    }
}

impl From<Setting> for Message {
    fn from(setting: Setting) -> Message {
        Message(vec![Piece::Setting(setting)])
    }
}

/// The path, without its secrets if it is a URL.
impl From<&Path> for Message {
    fn from(path: &Path) -> Message {
        Message(vec![Piece::Path(path.to_path_buf())])
    }
}

/// As for `&Path`.
impl From<&PathBuf> for Message {
    fn from(path: &PathBuf) -> Message {
        path.as_path().into()
    }
}

/// The name of the setting, without a value.
impl From<Name> for Message {
    fn from(name: Name) -> Message {
        Setting::from(name).into()
    }
}

impl From<Call> for Message {
    fn from(call: Call) -> Message {
        Message(vec![Piece::Call(call)])
    }
}

impl From<Phrase> for Message {
    fn from(phrase: Phrase) -> Message {
        Message(vec![Piece::Phrase(phrase)])
    }
}

/// The words of the command. [`Message::to_pieces`] keeps the data.
impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.in_face(Face::Command))
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Message, D::Error> {
        Ok(String::deserialize(deserializer)?.into())
    }
}

/// The message that [`message!`](crate::message!) writes, piece by piece.
#[doc(hidden)]
#[derive(Default)]
pub struct Writing(RefCell<Message>);

impl Writing {
    /// Returns what adds `part` to the message where it is displayed.
    pub fn part(&self, part: impl Into<Message>) -> WrittenPart<'_> {
        WrittenPart { writing: self, message: part.into() }
    }

    /// Returns the message of formatted arguments that display parts of it.
    pub fn finished(&self, arguments: fmt::Arguments<'_>) -> Message {
        let mut sink = self;
        fmt::write(&mut sink, arguments).expect("a message is written to memory");
        self.0.take()
    }
}

impl fmt::Write for &Writing {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.borrow_mut().push(Message::words(text));
        Ok(())
    }
}

/// A part of a message that is being written.
#[doc(hidden)]
pub struct WrittenPart<'w> {
    writing: &'w Writing,
    message: Message,
}

impl fmt::Display for WrittenPart<'_> {
    /// Adds the part as data; nothing is written to the formatter, which has written all words before it.
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.writing.0.borrow_mut().push(&self.message);
        Ok(())
    }
}

/// Makes a [`Message`](crate::message::Message) as `format!` makes a `String`: arguments before the semicolon are words,
/// those behind it, each with a name, are parts: settings, tasks, other messages.
///
/// ```
/// use tarflume_formats::message;
/// use tarflume_formats::message::{Face, Name};
///
/// let samples = 3;
/// let text = message!("{shards}, but there are only {samples} samples"; shards = Name::Shards.is(100));
/// assert_eq!(text.in_face(Face::Command), "--shards 100, but there are only 3 samples");
/// ```
#[macro_export]
macro_rules! message {
    ($format:literal $(, $value:expr)* ; $($name:ident = $part:expr),+ $(,)?) => {{
        let writing = $crate::message::Writing::default();
        writing.finished(format_args!($format $(, $value)*, $($name = writing.part($part)),+))
    }};
    ($format:literal $(, $value:expr)* $(,)?) => {
        $crate::message::Message::words(format!($format $(, $value)*))
    };
}
