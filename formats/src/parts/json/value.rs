//! `Value`: a JSON text as a tree, with all digits of its numbers.

use std::collections::BTreeMap;
use std::fmt;

use super::escapes::unescaped;
use super::find::Pointer;
use super::number::Number;
use super::rules::{JsonFault, JsonRules};
use super::scan::{Scan, Token};

/// The members of an object, sorted by name.
pub type Object = BTreeMap<String, Value>;

/// A JSON value.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Value {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number as it is written; see [`Value::as_number`].
    Number(Box<str>),
    /// A string.
    String(String),
    /// A list.
    Array(Vec<Value>),
    /// An object.
    Object(Object),
}

/// Parses a JSON text.
///
/// # Errors
/// Returns the first fault with its byte.
pub fn parse(bytes: &[u8], rules: JsonRules) -> Result<Value, JsonFault> {
    let mut scan = Scan::new(bytes, rules)?;
    let value = Value::take(&mut scan)?;
    scan.end()?;
    Ok(value)
}

impl Value {
    /// Reads the next value of a text.
    ///
    /// # Errors
    /// Returns the first fault in it.
    pub fn take(scan: &mut Scan<'_>) -> Result<Value, JsonFault> {
        Ok(match scan.token()? {
            Token::Number => Value::Number(scan.take_number()?.text().into()),
            Token::String => Value::String(scan.take_string()?.into_owned()),
            Token::Array => {
                let mut list = Vec::new();
                scan.array(|scan, _| {
                    list.push(Value::take(scan)?);
                    Ok::<(), JsonFault>(())
                })?;
                Value::Array(list)
            }
            Token::Object => {
                let mut members = Object::new();
                scan.object(|scan, name| {
                    let name = unescaped(scan.piece(name)).into_owned();
                    members.insert(name, Value::take(scan)?);
                    Ok::<(), JsonFault>(())
                })?;
                Value::Object(members)
            }
            token => {
                scan.word(token);
                match token {
                    Token::Null => Value::Null,
                    _ => Value::Bool(token == Token::True),
                }
            }
        })
    }

    /// Returns the value at a JSON pointer (RFC 6901); `None` if there is none, or `pointer` has another form.
    pub fn pointer(&self, pointer: &str) -> Option<&Value> {
        let pointer = Pointer::parse(pointer).ok()?;
        pointer.steps().iter().try_fold(self, |value, step| match value {
            Value::Object(members) => members.get(&step.key),
            Value::Array(list) => list.get(usize::try_from(step.index?).ok()?),
            _ => None,
        })
    }

    /// Returns the text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the number.
    pub fn as_number(&self) -> Option<Number<'_>> {
        match self {
            Value::Number(text) => Some(Number::scanned(text)),
            _ => None,
        }
    }

    /// Returns the elements of a list.
    pub fn as_array(&self) -> Option<&[Value]> {
        match self {
            Value::Array(list) => Some(list),
            _ => None,
        }
    }

    /// Returns true or false.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// Returns true for `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// Returns the value for readers whose numbers have 64 bits, with the nearest ones: a finite one for a larger number,
    /// and `null` for `NaN`.
    pub fn approximate(&self) -> serde_json::Value {
        match self {
            Value::Null => serde_json::Value::Null,
            Value::Bool(value) => (*value).into(),
            Value::String(text) => text.as_str().into(),
            Value::Array(list) => list.iter().map(Value::approximate).collect(),
            Value::Object(members) => {
                let members = members.iter();
                serde_json::Value::Object(
                    members.map(|(name, value)| (name.clone(), value.approximate())).collect(),
                )
            }
            Value::Number(text) => match text.parse::<i64>() {
                Ok(whole) => whole.into(),
                Err(_) => match text.parse::<u64>() {
                    Ok(whole) => whole.into(),
                    Err(_) => Number::scanned(text).nearest().clamp(f64::MIN, f64::MAX).into(),
                },
            },
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::String(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::String(text)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::Number(number.to_string().into())
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Value {
        Value::Number(number.to_string().into())
    }
}

impl From<serde_json::Value> for Value {
    fn from(value: serde_json::Value) -> Value {
        match value {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Bool(value) => Value::Bool(value),
            serde_json::Value::Number(number) => Value::Number(number.to_string().into()),
            serde_json::Value::String(text) => Value::String(text),
            serde_json::Value::Array(list) => {
                Value::Array(list.into_iter().map(Value::from).collect())
            }
            serde_json::Value::Object(members) => Value::Object(
                members.into_iter().map(|(name, value)| (name, value.into())).collect(),
            ),
        }
    }
}

impl fmt::Display for Value {
    /// Writes the value without white space, names sorted, numbers as [`Number::shortest`] has them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Number(text) => f.write_str(&Number::scanned(text).shortest()),
            Value::String(text) => quoted(text, f),
            Value::Array(list) => {
                f.write_str("[")?;
                for (n, value) in list.iter().enumerate() {
                    f.write_str(if n > 0 { "," } else { "" })?;
                    write!(f, "{value}")?;
                }
                f.write_str("]")
            }
            Value::Object(members) => {
                f.write_str("{")?;
                for (n, (name, value)) in members.iter().enumerate() {
                    f.write_str(if n > 0 { "," } else { "" })?;
                    quoted(name, f)?;
                    write!(f, ":{value}")?;
                }
                f.write_str("}")
            }
        }
    }
}

fn quoted(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(&serde_json::to_string(text).map_err(|_| fmt::Error)?)
}
