//! Values as Python writes them: `str`, `repr`, and `json.dumps`.

use minijinja::value::{Kwargs, Tuple, Value, ValueKind};
use minijinja::{Error, ErrorKind, Output, State};

/// Exponents from which on `repr` of a float has one.
const EXPONENTS: [i32; 2] = [-4, 16];

/// Returns true for the characters that Python calls white space.
pub(super) fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

/// `str.strip`.
pub(super) fn strip<'a>(text: &'a str, characters: Option<&str>) -> &'a str {
    text.trim_matches(|c| is_in(c, characters))
}

/// Returns true for one of the characters, by default white space.
pub(super) fn is_in(c: char, characters: Option<&str>) -> bool {
    characters.map_or_else(|| is_space(c), |own| own.contains(c))
}

/// The formatter of `{{ }}`.
pub(super) fn write(
    out: &mut Output<'_>,
    _: &mut State<'_, '_>,
    value: &Value,
) -> Result<(), Error> {
    match value.as_str() {
        Some(own) => out.write_str(own),
        None => out.write_str(&text(value)),
    }
    .map_err(Error::from)
}

/// `str` of a value.
pub(super) fn text(value: &Value) -> String {
    match value.as_str() {
        Some(own) => own.into(),
        None if value.is_undefined() => String::new(),
        None => {
            let mut text = String::new();
            add_repr(value, &mut text);
            text
        }
    }
}

/// Returns the text of a value of the kind `String`.
fn str_of(value: &Value) -> &str {
    value.as_str().expect("a value of the kind String is a text")
}

fn add_repr(value: &Value, to: &mut String) {
    match value.kind() {
        ValueKind::String => add_quoted(str_of(value), to),
        ValueKind::Number if !value.is_integer() => match f64::try_from(value.clone()) {
            Ok(number) => to.push_str(&float(number)),
            Err(_) => to.push_str(&value.to_string()),
        },
        ValueKind::Seq if value.downcast_object_ref::<Tuple>().is_some() => add_tuple(value, to),
        ValueKind::Seq => add_list(value, "[", "]", to),
        ValueKind::Map => add_dict(value, to),
        _ => to.push_str(&value.to_string()),
    }
}

fn add_list(value: &Value, open: &str, close: &str, to: &mut String) {
    to.push_str(open);
    for (number, element) in value.try_iter().into_iter().flatten().enumerate() {
        to.push_str(if number > 0 { ", " } else { "" });
        add_repr(&element, to);
    }
    to.push_str(close);
}

/// A tuple of one element has a comma behind it.
fn add_tuple(value: &Value, to: &mut String) {
    let close = if value.len() == Some(1) { ",)" } else { ")" };
    add_list(value, "(", close, to);
}

fn add_dict(value: &Value, to: &mut String) {
    let pairs = value.as_object().and_then(|dict| dict.try_iter_pairs());
    to.push('{');
    for (number, (key, own)) in pairs.into_iter().flatten().enumerate() {
        to.push_str(if number > 0 { ", " } else { "" });
        add_repr(&key, to);
        to.push_str(": ");
        add_repr(&own, to);
    }
    to.push('}');
}

/// `repr` of a text.
fn add_quoted(text: &str, to: &mut String) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    to.push(quote);
    for c in text.chars() {
        match c {
            '\\' => to.push_str("\\\\"),
            '\n' => to.push_str("\\n"),
            '\r' => to.push_str("\\r"),
            '\t' => to.push_str("\\t"),
            c if c == quote => to.extend(['\\', c]),
            c if is_printable(c) => to.push(c),
            c if u32::from(c) < 0x100 => to.push_str(&format!("\\x{:02x}", u32::from(c))),
            c if u32::from(c) < 0x1_0000 => to.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => to.push_str(&format!("\\U{:08x}", u32::from(c))),
        }
    }
    to.push(quote);
}

/// `str.isprintable`. A mark behind a letter is printable, as in Python.
fn is_printable(c: char) -> bool {
    let text = String::from_iter(['a', c]);
    matches!(c, '"' | '\'') || text.escape_debug().count() == 2
}

/// `repr` of a float: the fewest digits that name it.
pub(super) fn float(number: f64) -> String {
    if !number.is_finite() {
        return number.to_string().to_ascii_lowercase();
    }
    let text = format!("{number:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if exponent < EXPONENTS[0] || exponent >= EXPONENTS[1] {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.unsigned_abs());
    }
    format!("{number:?}")
}

/// The arguments of `json.dumps`.
#[derive(Debug)]
pub(super) struct Json {
    ensure_ascii: bool,
    /// What begins a level of a new line; `None` for one line.
    indent: Option<String>,
    separators: [String; 2],
    sort_keys: bool,
}

impl Json {
    /// Takes the arguments of the filter `tojson`.
    pub(super) fn of(ensure_ascii: Option<bool>, named: &Kwargs) -> Result<Json, Error> {
        let indent: Option<Value> = named.get("indent")?;
        let indent =
            indent.filter(|indent| !indent.is_none()).map(|indent| match indent.as_str() {
                Some(text) => Ok(text.to_string()),
                None => usize::try_from(indent).map(|spaces| " ".repeat(spaces.min(64))),
            });
        let indent = indent.transpose()?;
        let separators: Option<Vec<String>> = named.get("separators")?;
        let usual = [if indent.is_some() { "," } else { ", " }.into(), ": ".into()];
        Ok(Json {
            ensure_ascii: match ensure_ascii {
                Some(given) => given,
                None => named.get::<Option<bool>>("ensure_ascii")?.unwrap_or(false),
            },
            indent,
            separators: match separators {
                Some(given) => given.try_into().map_err(|_| {
                    Error::new(ErrorKind::InvalidOperation, "tojson takes two separators")
                })?,
                None => usual,
            },
            sort_keys: named.get::<Option<bool>>("sort_keys")?.unwrap_or(false),
        })
    }

    /// Returns a value as JSON.
    pub(super) fn written(&self, value: &Value) -> Result<String, Error> {
        let mut text = String::new();
        self.add(value, 0, &mut text)?;
        Ok(text)
    }

    fn add(&self, value: &Value, level: usize, to: &mut String) -> Result<(), Error> {
        match value.kind() {
            ValueKind::None => to.push_str("null"),
            ValueKind::Bool => to.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => to.push_str(&number(value)),
            ValueKind::String => self.add_text(str_of(value), to),
            ValueKind::Seq | ValueKind::Iterable => {
                let elements: Vec<Value> = value.try_iter()?.collect();
                self.add_each(['[', ']'], &elements, level, to, &mut |element, to| {
                    self.add(element, level + 1, to)
                })?;
            }
            ValueKind::Map => {
                let mut keys: Vec<Value> = value.try_iter()?.collect();
                if self.sort_keys {
                    keys.sort();
                }
                self.add_each(['{', '}'], &keys, level, to, &mut |key, to| {
                    self.add_key(key, to)?;
                    to.push_str(&self.separators[1]);
                    self.add(&value.get_item(key)?, level + 1, to)
                })?;
            }
            kind => return Err(unwritable(kind)),
        }
        Ok(())
    }

    fn add_each(
        &self,
        signs: [char; 2],
        elements: &[Value],
        level: usize,
        to: &mut String,
        add: &mut dyn FnMut(&Value, &mut String) -> Result<(), Error>,
    ) -> Result<(), Error> {
        to.push(signs[0]);
        for (number, element) in elements.iter().enumerate() {
            to.push_str(if number > 0 { &self.separators[0] } else { "" });
            self.add_line(level + 1, to);
            add(element, to)?;
        }
        if !elements.is_empty() {
            self.add_line(level, to);
        }
        to.push(signs[1]);
        Ok(())
    }

    /// Begins a new line, if there are several.
    fn add_line(&self, level: usize, to: &mut String) {
        if let Some(indent) = &self.indent {
            to.push('\n');
            (0..level).for_each(|_| to.push_str(indent));
        }
    }

    fn add_key(&self, key: &Value, to: &mut String) -> Result<(), Error> {
        let text = match key.kind() {
            ValueKind::String => str_of(key).to_string(),
            ValueKind::None => "null".into(),
            ValueKind::Bool => key.to_string().to_ascii_lowercase(),
            ValueKind::Number => number(key),
            kind => return Err(unwritable(kind)),
        };
        self.add_text(&text, to);
        Ok(())
    }

    fn add_text(&self, text: &str, to: &mut String) {
        to.push('"');
        for c in text.chars() {
            match c {
                '"' => to.push_str("\\\""),
                '\\' => to.push_str("\\\\"),
                '\n' => to.push_str("\\n"),
                '\r' => to.push_str("\\r"),
                '\t' => to.push_str("\\t"),
                '\u{8}' => to.push_str("\\b"),
                '\u{c}' => to.push_str("\\f"),
                c if u32::from(c) < 0x20 || self.ensure_ascii && !(' '..='~').contains(&c) => {
                    let mut units = [0; 2];
                    for unit in c.encode_utf16(&mut units) {
                        to.push_str(&format!("\\u{unit:04x}"));
                    }
                }
                c => to.push(c),
            }
        }
        to.push('"');
    }
}

fn number(value: &Value) -> String {
    match f64::try_from(value.clone()) {
        Ok(number) if !value.is_integer() => match number {
            number if number.is_nan() => "NaN".into(),
            number if number.is_infinite() && number > 0.0 => "Infinity".into(),
            number if number.is_infinite() => "-Infinity".into(),
            number => float(number),
        },
        _ => value.to_string(),
    }
}

fn unwritable(kind: ValueKind) -> Error {
    Error::new(ErrorKind::BadSerialization, format!("tojson cannot write a value that is {kind}"))
}
