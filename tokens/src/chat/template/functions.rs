//! The functions, filters and tests of transformers and of Jinja2 that minijinja lacks or has in another way.

use chrono::{Datelike, NaiveDateTime};
use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind};

use super::generation;
use super::python::{self, Json};

/// The kind of the error of `raise_exception`, which no other error has.
pub(super) const RAISED: ErrorKind = ErrorKind::BadInclude;

/// The time that a template sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::chat) struct Moment(pub(in crate::chat) NaiveDateTime);

/// Adds all of them to an environment.
pub(super) fn add(environment: &mut Environment<'static>, now: Moment) {
    environment.add_function("raise_exception", raise);
    environment.add_function("strftime_now", move |format: &str| now.written(format));
    environment.add_filter("tojson", to_json);
    environment.add_filter("string", |value: &Value| python::text(value));
    environment.add_filter("trim", trim);
    environment.add_filter("e", escape);
    environment.add_filter("escape", escape);
    environment.add_filter(generation::FILTER, generation::filter);
    environment.add_test("sequence", is_sequence);
    environment.add_test("iterable", is_iterable);
}

fn raise(text: &Value) -> Result<Value, Error> {
    Err(Error::new(RAISED, python::text(text)))
}

impl Moment {
    /// Writes the time as `strftime` of Python does, in English.
    fn written(self, format: &str) -> Result<String, Error> {
        use std::fmt::Write;
        let mut text = String::new();
        let written = write!(text, "{}", self.0.format(format));
        written.map_err(|_| {
            let what = format!("strftime_now does not know the format {format:?}");
            Error::new(ErrorKind::InvalidOperation, what)
        })?;
        debug_assert!(self.0.year() > 0);
        Ok(text)
    }
}

/// `tojson` of transformers: `json.dumps` without escapes of HTML.
fn to_json(value: &Value, ensure_ascii: Option<bool>, named: Kwargs) -> Result<Value, Error> {
    let json = Json::of(ensure_ascii, &named)?;
    named.assert_all_used()?;
    json.written(value).map(Value::from)
}

/// `escape` of Jinja2, which escapes HTML also where nothing else does.
fn escape(value: &Value) -> String {
    let mut escaped = String::new();
    for c in python::text(value).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\'' => escaped.push_str("&#39;"),
            '"' => escaped.push_str("&#34;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// `trim` of Jinja2: `str.strip`.
fn trim(value: &Value, characters: Option<&str>) -> String {
    let text = python::text(value);
    python::strip(&text, characters).into()
}

/// `is sequence` of Jinja2: what has a length and elements, so also texts and dicts.
fn is_sequence(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Seq | ValueKind::String | ValueKind::Map)
}

/// `is iterable` of Jinja2: what `iter` of Python accepts, so also texts and what is undefined.
fn is_iterable(value: &Value) -> bool {
    use ValueKind::{Iterable, Map, Seq, String, Undefined};
    matches!(value.kind(), Seq | String | Map | Iterable | Undefined)
}
