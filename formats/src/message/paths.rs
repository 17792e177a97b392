//! Paths in messages: how a sentence, a shell and Python write one, and its text in a file.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::quote::{escape, python_text, shell_text};
use crate::text::url::without_secrets;

const MEMORY: &str = "text is written to memory";

/// Puts the path that `mapped` returns in place of `path`, if it returns one.
pub(super) fn map(path: &mut PathBuf, mapped: &impl Fn(&Path) -> Option<PathBuf>) {
    if let Some(other) = mapped(path) {
        *path = other;
    }
}

/// Returns a path as one word of a shell; a URL without its secrets. Bytes that are no UTF-8 are written as escapes.
pub(super) fn in_shell(path: &Path) -> String {
    if let Some(text) = path.to_str() {
        return shell_text(&without_secrets(text));
    }
    let mut quoted = String::from("$'");
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' | '\'' => quoted.extend(['\\', c]),
                c if c.is_control() => escape(c, &mut quoted),
                c => quoted.push(c),
            }
        }
        for byte in chunk.invalid() {
            write!(quoted, "\\x{byte:02x}").expect(MEMORY);
        }
    }
    quoted + "'"
}

/// Returns a path as a literal of Python; a URL without its secrets. A byte that is no UTF-8 is the surrogate by which
/// `os.fsdecode` names it.
pub(super) fn in_python(path: &Path) -> String {
    if let Some(text) = path.to_str() {
        return python_text(&without_secrets(text));
    }
    let mut quoted = String::from("\"");
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        let literal = python_text(chunk.valid());
        quoted.push_str(&literal[1..literal.len() - 1]); // without its quotes
        for byte in chunk.invalid() {
            write!(quoted, "\\udc{byte:02x}").expect(MEMORY);
        }
    }
    quoted + "\""
}

/// A path as the text of a file, in which bytes that are no UTF-8 are a list of numbers.
pub(super) mod as_text {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{OsStr, OsStrExt, Path, PathBuf, without_secrets};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Text {
        Utf8(String),
        Bytes(Vec<u8>),
    }

    pub(in crate::message) fn serialize<S: Serializer>(
        path: &Path,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let text = match path.to_str() {
            Some(text) => Text::Utf8(without_secrets(text).into_owned()),
            None => Text::Bytes(path.as_os_str().as_bytes().to_vec()),
        };
        text.serialize(serializer)
    }

    pub(in crate::message) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<PathBuf, D::Error> {
        Ok(match Text::deserialize(deserializer)? {
            Text::Utf8(text) => text.into(),
            Text::Bytes(bytes) => OsStr::from_bytes(&bytes).into(),
        })
    }
}
