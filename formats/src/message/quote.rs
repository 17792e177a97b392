//! Values as a shell and Python write them. Control characters are written as escapes, which both read back.

use std::fmt::Write as _;

/// Bytes that a shell takes as they are, beside letters and digits.
const PLAIN: &[u8] = b"_-./:=,+@%";

/// Returns text as one word of a shell: in quotes if it has a character that a shell does not take as it is.
///
/// ```
/// use tarflume_formats::message::shell_text;
///
/// assert_eq!(shell_text("jpeg=jpg,jfif=jpg"), "jpeg=jpg,jfif=jpg");
/// assert_eq!(shell_text("Maria's photos"), r"'Maria'\''s photos'");
/// assert_eq!(shell_text("two\nlines"), r"$'two\nlines'");
/// ```
pub fn shell_text(text: &str) -> String {
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || PLAIN.contains(&b)) {
        return text.into();
    }
    if !text.contains(char::is_control) {
        return format!("'{}'", text.replace('\'', r"'\''"));
    }
    let mut quoted = String::from("$'");
    for c in text.chars() {
        match c {
            '\\' | '\'' => quoted.extend(['\\', c]),
            c if c.is_control() => escape(c, &mut quoted),
            c => quoted.push(c),
        }
    }
    quoted + "'"
}

/// Returns text as one word of a shell, always in quotes.
pub(super) fn in_quotes(text: &str) -> String {
    match shell_text(text) {
        plain if plain == text => format!("'{plain}'"),
        quoted => quoted,
    }
}

/// Returns text as a literal of Python, in double quotes.
///
/// ```
/// use tarflume_formats::message::python_text;
///
/// assert_eq!(python_text(r#"a "b" \ c"#), r#""a \"b\" \\ c""#);
/// assert_eq!(python_text("two\nlines"), r#""two\nlines""#);
/// ```
pub fn python_text(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '\\' | '"' => quoted.extend(['\\', c]),
            c if c.is_control() => escape(c, &mut quoted),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

/// Appends the escape of a control character.
pub(super) fn escape(c: char, to: &mut String) {
    match c {
        '\n' => to.push_str("\\n"),
        '\r' => to.push_str("\\r"),
        '\t' => to.push_str("\\t"),
        // Four digits: a shell takes one to four of them, and Python exactly four.
        c => write!(to, "\\u{:04x}", u32::from(c)).expect("text is written to memory"),
    }
}
