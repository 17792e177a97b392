//! Compares a value of a sample with the bounds of its field.

use std::cmp::Ordering;

use tarflume_formats::json::{JsonRules, Value, parse};

use crate::policy::bounds::{FieldBounds, FieldType};

/// Characters of a value that a reason shows.
const SHOWN: usize = 60;

/// A bound that a value breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BrokenBound {
    pub(super) line: usize,
    /// The bound as the policy has it: `fields."/label".max = 9`.
    pub(super) bound: String,
    /// What was found.
    pub(super) found: String,
}

/// Returns the value of a part that is no JSON: a number, or a text.
pub(super) fn plain(part: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(part).ok()?.trim();
    match parse(text.as_bytes(), JsonRules::Strict) {
        Ok(number @ Value::Number(_)) => Some(number),
        _ => Some(Value::String(text.into())),
    }
}

/// Returns the bounds that a value breaks.
pub(super) fn broken(bounds: &FieldBounds, value: &Value) -> Vec<BrokenBound> {
    let mut broken = Vec::new();
    if let Some(stated) = &bounds.of_type
        && !is_of(stated.value, value)
    {
        broken.push(BrokenBound {
            line: stated.line,
            bound: format!("{}.type = \"{}\"", bounds.name, stated.value.word()),
            found: format!("{} is {}", shown(value), kind(value)),
        });
        return broken;
    }
    let single = std::slice::from_ref(value);
    for value in value.as_array().unwrap_or(single) {
        let found = limits(bounds, value);
        if let Some(found) = found {
            broken.push(found);
            break; // one value of a list is enough
        }
    }
    broken
}

/// Returns the first of min, max and enum that a value breaks.
fn limits(bounds: &FieldBounds, value: &Value) -> Option<BrokenBound> {
    let name = &bounds.name;
    if let Some(min) = &bounds.min
        && !matches!(order(value, &min.value), Some(Ordering::Greater | Ordering::Equal))
    {
        let bound = format!("{name}.min = {}", min.value);
        return Some(BrokenBound { line: min.line, bound, found: is_no(value, "below it") });
    }
    if let Some(max) = &bounds.max
        && !matches!(order(value, &max.value), Some(Ordering::Less | Ordering::Equal))
    {
        let bound = format!("{name}.max = {}", max.value);
        return Some(BrokenBound { line: max.line, bound, found: is_no(value, "above it") });
    }
    let allowed = bounds.allowed.as_ref()?;
    if allowed.value.iter().any(|one| is_same(one, value)) {
        return None;
    }
    let bound = format!("{name}.enum");
    Some(BrokenBound { line: allowed.line, bound, found: format!("{} is not in it", shown(value)) })
}

/// Returns a sentence about a value that is outside of a limit, or no number.
fn is_no(value: &Value, outside: &str) -> String {
    let is_number = value.as_number().is_some_and(|number| number.order(number).is_some());
    format!("{} is {}", shown(value), if is_number { outside } else { "no number" })
}

/// Returns the order of two numbers; `None` if one is none.
fn order(value: &Value, limit: &Value) -> Option<Ordering> {
    value.as_number()?.order(limit.as_number()?)
}

fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(_), Value::Number(_)) => order(one, other) == Some(Ordering::Equal),
        (one, other) => one == other,
    }
}

fn is_of(wanted: FieldType, value: &Value) -> bool {
    match (wanted, value) {
        (FieldType::String, Value::String(_))
        | (FieldType::Boolean, Value::Bool(_))
        | (FieldType::Array, Value::Array(_))
        | (FieldType::Object, Value::Object(_))
        | (FieldType::Number, Value::Number(_)) => true,
        (FieldType::Integer, Value::Number(_)) => {
            value.as_number().is_some_and(|number| number.whole().is_some())
        }
        _ => false,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
