//! Escapes foreign text for terminals and logs: the one place that decides how.
//!
//! Keys, paths and texts of damaged files are untrusted. Characters that control a terminal, change
//! the text direction, or are invisible are shown as escapes (`\u{1b}`), bytes that are not UTF-8
//! as `\xff`. Everything that prints an error, a problem or a name uses this module.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};

use crate::text::url::without_secrets;

/// Returns true for a character that must not reach a terminal unescaped: controls (C0, DEL, C1),
/// direction marks and overrides, line and paragraph separators, zero-width characters, tags.
pub fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
        )
}

/// Returns bytes as one line of text.
pub fn bytes(bytes: &[u8]) -> String {
    Shown(bytes).to_string()
}

/// Returns text as one line of text.
pub fn text(text: &str) -> Cow<'_, str> {
    if text.chars().any(is_hostile) { Cow::Owned(bytes(text.as_bytes())) } else { text.into() }
}

/// Displays bytes as one line of text.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a>(&'a [u8]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        put(f, self.0, false)
    }
}

/// Bytes that are usually text, such as keys: `{:?}` writes them in quotes, on one line.
///
/// ```
/// use tarflume_formats::shown::Quoted;
///
/// assert_eq!(format!("{:?}", Quoted(b"photo/001")), "\"photo/001\"");
/// assert_eq!(format!("{:?}", Quoted(b"\xff\n")), r#""\xff\n""#);
/// ```
#[derive(Clone, Copy)]
pub struct Quoted<'a>(pub &'a [u8]);

impl fmt::Debug for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", Shown(self.0))
    }
}

/// The counterpart of `Path::display` for messages.
pub trait ShowPath {
    /// Displays the path as one line of text; a URL without its secrets.
    fn shown(&self) -> ShownPath<'_>;
}

impl ShowPath for Path {
    fn shown(&self) -> ShownPath<'_> {
        ShownPath(self)
    }
}

/// Displays a path as one line of text; a URL without its secrets.
#[derive(Debug, Clone, Copy)]
pub struct ShownPath<'a>(&'a Path);

impl fmt::Display for ShownPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.to_str() {
            Some(text) => put(f, without_secrets(text).as_bytes(), false),
            None => put(f, self.0.as_os_str().as_bytes(), false),
        }
    }
}

/// Displays a message of one or several lines, with control characters escaped and without the secrets of URLs.
pub fn message(text: impl fmt::Display) -> impl fmt::Display {
    Message(text)
}

struct Message<T>(T);

impl<T: fmt::Display> fmt::Display for Message<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        put(f, without_secrets(&self.0.to_string()).as_bytes(), true)
    }
}

/// Writes bytes, escaped; with `lines`, newlines and tabs are kept.
fn put(to: &mut impl fmt::Write, bytes: &[u8], lines: bool) -> fmt::Result {
    for chunk in bytes.utf8_chunks() {
        let mut rest = chunk.valid();
        while let Some(at) = rest.find(|c| is_hostile(c) && !(lines && matches!(c, '\n' | '\t'))) {
            let (plain, behind) = rest.split_at(at);
            to.write_str(plain)?;
            let mut chars = behind.chars();
            for c in chars.next().into_iter().flat_map(char::escape_default) {
                to.write_char(c)?;
            }
            rest = chars.as_str();
        }
        to.write_str(rest)?;
        for byte in chunk.invalid() {
            write!(to, "\\x{byte:02x}")?;
        }
    }
    Ok(())
}

/// A writer for people: writes to `to` what [`message`] would show. Each write must consist of
/// whole characters, as those of `write!` do.
#[derive(Debug)]
pub struct Screen<W>(pub W);

impl<W: Write> Write for Screen<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let mut safe = String::with_capacity(buffer.len());
        let written = put(&mut safe, buffer, true);
        debug_assert!(written.is_ok(), "writing to memory does not fail");
        self.0.write_all(safe.as_bytes())?;
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// What a value must be for [`json`] and [`json_lines`].
const SERIALIZES: &str = "a value of texts, numbers, lists, and maps by texts serializes";
const UTF8: &str = "JSON is UTF-8";

/// Returns a value as JSON on one line, with hostile characters as `\u` escapes: the text differs
/// from `serde_json`'s, the value is the same.
///
/// # Panics
/// Panics if `value` has a key that is no text, or does not serialize.
pub fn json(value: &impl Serialize) -> String {
    let mut out = Vec::new();
    let written =
        value.serialize(&mut Serializer::with_formatter(&mut out, Escaped(CompactFormatter)));
    written.expect(SERIALIZES);
    String::from_utf8(out).expect(UTF8)
}

/// As [`json`], pretty-printed.
///
/// # Panics
/// As [`json`].
pub fn json_lines(value: &impl Serialize) -> String {
    let mut out = Vec::new();
    let pretty = Escaped(PrettyFormatter::new());
    let written = value.serialize(&mut Serializer::with_formatter(&mut out, pretty));
    written.expect(SERIALIZES);
    String::from_utf8(out).expect(UTF8)
}

/// Formats as `F`, but escapes hostile characters in strings.
struct Escaped<F>(F);

macro_rules! as_inner {
    ($($name:ident($($arg:ident: $kind:ty),*);)*) => {
        $(fn $name<W: ?Sized + Write>(&mut self, to: &mut W $(, $arg: $kind)*) -> io::Result<()> {
            self.0.$name(to $(, $arg)*)
        })*
    };
}

impl<F: Formatter> Formatter for Escaped<F> {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        to: &mut W,
        text: &str,
    ) -> io::Result<()> {
        let mut rest = text;
        while let Some(at) = rest.find(is_hostile) {
            let (plain, behind) = rest.split_at(at);
            to.write_all(plain.as_bytes())?;
            let mut chars = behind.chars();
            for unit in chars.next().into_iter().flat_map(|c| c.encode_utf16(&mut [0; 2]).to_vec())
            {
                write!(to, "\\u{unit:04x}")?;
            }
            rest = chars.as_str();
        }
        to.write_all(rest.as_bytes())
    }

    as_inner! {
        begin_array();
        end_array();
        begin_array_value(first: bool);
        end_array_value();
        begin_object();
        end_object();
        begin_object_key(first: bool);
        end_object_key();
        begin_object_value();
        end_object_value();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hostile texts, their escaped form, and their characters in JSON.
    const HOSTILE: [(&str, &str, &str); 14] = [
        ("\u{1b}[31m", "\\u{1b}[31m", "\\u001b[31m"),
        ("\u{7}", "\\u{7}", "\\u0007"),
        ("a\rb", "a\\rb", "a\\rb"),
        ("\u{7f}", "\\u{7f}", "\\u007f"),
        ("\u{9b}2J", "\\u{9b}2J", "\\u009b2J"),
        ("\u{202e}gpj", "\\u{202e}gpj", "\\u202egpj"),
        ("\u{2066}x\u{2069}", "\\u{2066}x\\u{2069}", "\\u2066x\\u2069"),
        ("a\u{200b}b", "a\\u{200b}b", "a\\u200bb"),
        ("\u{200e}\u{200f}", "\\u{200e}\\u{200f}", "\\u200e\\u200f"),
        ("a\u{2028}b", "a\\u{2028}b", "a\\u2028b"),
        ("a\u{2029}b", "a\\u{2029}b", "a\\u2029b"),
        ("\u{feff}a", "\\u{feff}a", "\\ufeffa"),
        ("\u{61c}", "\\u{61c}", "\\u061c"),
        ("\u{e0041}", "\\u{e0041}", "\\udb40\\udc41"),
    ];

    #[test]
    fn control_sequences_are_escaped_everywhere() {
        for (raw, shown, in_json) in HOSTILE {
            assert_eq!(bytes(raw.as_bytes()), shown);
            assert_eq!(text(raw), shown);
            assert_eq!(Path::new(raw).shown().to_string(), shown);
            assert_eq!(message(raw).to_string(), shown);
            let mut screen = Screen(Vec::new());
            write!(screen, "<{raw}>").unwrap();
            assert_eq!(String::from_utf8(screen.0).unwrap(), format!("<{shown}>"));
            let value = serde_json::json!({ raw: [raw] });
            for json in [json(&value), json_lines(&value)] {
                assert!(!json.chars().any(|c| is_hostile(c) && c != '\n'), "{json}");
                assert_eq!(json.matches(in_json).count(), 2, "{json}");
                assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap(), value);
            }
        }
    }

    #[test]
    fn invalid_utf8_and_line_ends_are_shown() {
        assert_eq!(bytes(b"a\xff\xfeb\n\t"), "a\\xff\\xfeb\\n\\t");
        assert_eq!(message("two\nlines\tand a tab").to_string(), "two\nlines\tand a tab");
        let mut screen = Screen(Vec::new());
        screen.write_all(b"a\xffb\n").unwrap();
        assert_eq!(screen.0, b"a\\xffb\n");
    }

    #[test]
    fn ordinary_text_is_not_escaped() {
        for plain in ["a/b c.jpg", "naïve öl", "写真/0001", "🦀", "αβγ", "עברית", "\\x1b is text"]
        {
            assert_eq!(text(plain), plain);
            assert_eq!(message(plain).to_string(), plain);
            let value = serde_json::json!([plain, 1, {"a": null, "b": [], "c": {}}]);
            assert_eq!(json(&value), value.to_string());
            assert_eq!(json_lines(&value), serde_json::to_string_pretty(&value).unwrap());
        }
    }
}
