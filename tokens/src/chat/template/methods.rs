//! The methods of Python's values that `pycompat` lacks, or has in another way.

use minijinja::value::{Kwargs, Tuple, Value, ValueKind, from_args};
use minijinja::{Error, ErrorKind, State};
use minijinja_contrib::pycompat::unknown_method_callback;

use super::python::{is_in, is_space, strip};

/// Calls a method of a value.
pub(super) fn call(
    state: &mut State<'_, '_>,
    value: &Value,
    method: &str,
    args: &[Value],
) -> Result<Value, Error> {
    let found = match (value.kind(), value.as_str()) {
        (ValueKind::String, Some(text)) => of_text(text, method, args)?,
        (ValueKind::Map, _) => of_dict(value, method, args)?,
        _ => None,
    };
    match found {
        Some(found) => Ok(found),
        None => unknown_method_callback(state, value, method, args),
    }
}

fn of_text(text: &str, method: &str, args: &[Value]) -> Result<Option<Value>, Error> {
    Ok(Some(match method {
        "strip" | "lstrip" | "rstrip" => {
            let (characters,): (Option<&str>,) = from_args(args)?;
            Value::from(match method {
                "strip" => strip(text, characters),
                "lstrip" => text.trim_start_matches(|c| is_in(c, characters)),
                _ => text.trim_end_matches(|c| is_in(c, characters)),
            })
        }
        "isspace" => Value::from(!text.is_empty() && text.chars().all(is_space)),
        "removeprefix" => {
            let (prefix,): (&str,) = from_args(args)?;
            Value::from(text.strip_prefix(prefix).unwrap_or(text))
        }
        "removesuffix" => {
            let (suffix,): (&str,) = from_args(args)?;
            Value::from(text.strip_suffix(suffix).unwrap_or(text))
        }
        "index" => {
            let (own,): (&str,) = from_args(args)?;
            let at = text.find(own).map(|at| text[..at].chars().count());
            Value::from(at.ok_or_else(|| {
                Error::new(ErrorKind::InvalidOperation, "index: substring not found")
            })?)
        }
        "split" | "rsplit" => split(text, method == "rsplit", args)?,
        "splitlines" => {
            let (keep,): (Option<bool>,) = from_args(args)?;
            lines(text, keep.unwrap_or(false)).collect()
        }
        "partition" | "rpartition" => {
            let (separator,): (&str,) = from_args(args)?;
            partition(text, separator, method == "rpartition")?
        }
        _ => return Ok(None),
    }))
}

/// The arguments of `str.split`.
fn split(text: &str, from_end: bool, args: &[Value]) -> Result<Value, Error> {
    let (separator, most, named): (Option<&str>, Option<i64>, Kwargs) = from_args(args)?;
    let named_separator: Option<String> = named.get("sep")?;
    let most = match most {
        Some(most) => Some(most),
        None => named.get("maxsplit")?,
    };
    named.assert_all_used()?;
    let most = most.and_then(|most| usize::try_from(most).ok());
    let separator = separator.map(str::to_string).or(named_separator);
    if separator.as_deref() == Some("") {
        return Err(Error::new(ErrorKind::InvalidOperation, "split by an empty text"));
    }
    let parts = match (separator, from_end) {
        (Some(own), false) => text
            .splitn(most.map_or(usize::MAX, |n| n.saturating_add(1)), &*own)
            .map(Value::from)
            .collect(),
        (Some(own), true) => {
            let mut parts: Vec<Value> = text
                .rsplitn(most.map_or(usize::MAX, |n| n.saturating_add(1)), &*own)
                .map(Value::from)
                .collect();
            parts.reverse();
            parts
        }
        (None, false) => words(text, most),
        (None, true) if most.is_none() => words(text, None),
        (None, true) => {
            let what = "rsplit by white space with a limit";
            return Err(Error::new(ErrorKind::InvalidOperation, what));
        }
    };
    Ok(Value::from(parts))
}

/// Splits at white space; after `most` words the rest is one.
fn words(text: &str, most: Option<usize>) -> Vec<Value> {
    let mut parts = Vec::new();
    let mut rest = text.trim_start_matches(is_space);
    while !rest.is_empty() {
        if most.is_some_and(|most| parts.len() >= most) {
            parts.push(Value::from(rest.trim_end_matches(is_space)));
            break;
        }
        let end = rest.find(is_space).unwrap_or(rest.len());
        parts.push(Value::from(&rest[..end]));
        rest = rest[end..].trim_start_matches(is_space);
    }
    parts
}

/// Returns true for the ends of lines of Python.
fn is_line_end(c: char) -> bool {
    matches!(
        c,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
    )
}

/// `str.splitlines`.
fn lines(text: &str, keep: bool) -> impl Iterator<Item = Value> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.find(is_line_end).unwrap_or(rest.len());
        let width = match rest[end..].chars().next() {
            Some('\r') if rest[end..].starts_with("\r\n") => 2,
            found => found.map_or(0, char::len_utf8),
        };
        let line = &rest[..if keep { end + width } else { end }];
        rest = &rest[end + width..];
        Some(Value::from(line))
    })
}

fn partition(text: &str, separator: &str, from_end: bool) -> Result<Value, Error> {
    if separator.is_empty() {
        return Err(Error::new(ErrorKind::InvalidOperation, "partition by an empty text"));
    }
    let at = if from_end { text.rfind(separator) } else { text.find(separator) };
    let parts = match at {
        Some(at) => [&text[..at], separator, &text[at + separator.len()..]],
        None if from_end => ["", "", text],
        None => [text, "", ""],
    };
    Ok(Value::from(Tuple::from(parts.map(Value::from).to_vec())))
}

fn of_dict(value: &Value, method: &str, args: &[Value]) -> Result<Option<Value>, Error> {
    match method {
        "copy" => {
            let () = from_args(args)?;
            Ok(Some(value.clone()))
        }
        _ => Ok(None),
    }
}
