//! Paths in messages: how a shell and Python write one.

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

/// Returns a path as one word of a shell; a URL without its secrets. Bytes that are not UTF-8 are written as escapes.
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

/// Returns a path as a literal of Python; a URL without its secrets. A byte that is not UTF-8 is the surrogate by which
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
