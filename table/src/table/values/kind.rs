//! `Kind`: the type of a value or column, and the words of tables without types that have it. Pure.

use serde_json::Value;

/// The type of a value or column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// `true` or `false`.
    Bool,
    /// A whole number.
    Int,
    /// A whole number, not negative, of up to 64 bits.
    UInt,
    /// A number.
    Float,
    /// Text.
    String,
    /// A list.
    List,
    /// An object.
    Object,
}

impl ValueKind {
    /// Returns its word in `dataset.json`.
    pub fn word(self) -> &'static str {
        match self {
            ValueKind::Bool => "bool",
            ValueKind::Int => "int64",
            ValueKind::UInt => "uint64",
            ValueKind::Float => "float64",
            ValueKind::String => "string",
            ValueKind::List => "list",
            ValueKind::Object => "object",
        }
    }

    /// Returns the type with this word.
    pub(crate) fn from_word(word: &str) -> Option<ValueKind> {
        use ValueKind::{Bool, Float, Int, List, Object, String, UInt};
        [Bool, Int, UInt, Float, String, List, Object].into_iter().find(|kind| kind.word() == word)
    }

    /// Returns true for a type of numbers.
    pub fn is_number(self) -> bool {
        matches!(self, ValueKind::Int | ValueKind::UInt | ValueKind::Float)
    }

    /// Returns true if a column of this type can have values of the type `value`. Some numbers of the type may not fit.
    pub fn holds(self, value: ValueKind) -> bool {
        match self {
            ValueKind::Float => value.is_number(),
            ValueKind::UInt => matches!(value, ValueKind::Int | ValueKind::UInt),
            _ => self == value,
        }
    }

    /// Returns the type of a JSON value; `null` has none.
    pub fn of_value(value: &Value) -> Option<ValueKind> {
        Some(match value {
            Value::Null => return None,
            Value::Bool(_) => ValueKind::Bool,
            Value::Number(number) if number.is_i64() => ValueKind::Int,
            Value::Number(number) if number.is_u64() => ValueKind::UInt,
            Value::Number(_) => ValueKind::Float,
            Value::String(_) => ValueKind::String,
            Value::Array(_) => ValueKind::List,
            Value::Object(_) => ValueKind::Object,
        })
    }

    /// Returns the type of a word of a table without types.
    pub fn of_word(word: &str) -> ValueKind {
        match word {
            // Most texts end here.
            text if !text.starts_with(|c: char| c.is_ascii_digit() || "-tTfF".contains(c)) => {
                ValueKind::String
            }
            "true" | "false" | "True" | "False" | "TRUE" | "FALSE" => ValueKind::Bool,
            word if is_whole(word) => match word.parse::<i64>() {
                Ok(_) => ValueKind::Int,
                Err(_) => ValueKind::String, // an id with more digits than any number keeps them
            },
            word if is_number(word) => match word.parse::<f64>() {
                Ok(number) if number.is_finite() => ValueKind::Float,
                _ => ValueKind::String,
            },
            _ => ValueKind::String,
        }
    }
}

/// Returns true for `0`, `12`, `-3`; false for `007` and `+1`.
fn is_whole(word: &str) -> bool {
    let digits = word.strip_prefix('-').unwrap_or(word).as_bytes();
    !digits.is_empty()
        && digits.iter().all(u8::is_ascii_digit)
        && (digits.len() == 1 || digits[0] != b'0')
        && word != "-0"
}

/// Returns true for a number as JSON writes it.
fn is_number(word: &str) -> bool {
    let rest = word.strip_prefix('-').unwrap_or(word);
    let (rest, exponent) = match rest.split_once(['e', 'E']) {
        Some((rest, exponent)) => (rest, Some(exponent)),
        None => (rest, None),
    };
    let (whole, fraction) = match rest.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (rest, None),
    };
    are_digits(whole)
        && (whole.len() == 1 || !whole.starts_with('0'))
        && fraction.is_none_or(are_digits)
        && exponent.is_none_or(|e| are_digits(e.strip_prefix(['+', '-']).unwrap_or(e)))
}

/// Returns true for one or more digits and nothing else.
fn are_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}
