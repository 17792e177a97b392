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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class_field::ClassField;
    use crate::policy::source::Stated;

    fn bounds(min: Option<&str>, max: Option<&str>, of_type: Option<FieldType>) -> FieldBounds {
        FieldBounds {
            field: ClassField::parse("json:/a").unwrap(),
            name: "fields.\"/a\"".into(),
            of_type: of_type.map(|value| Stated { value, line: 3 }),
            min: min.map(number),
            max: max.map(number),
            allowed: None,
            required: None,
        }
    }

    fn number(text: &str) -> Stated<Value> {
        Stated { value: Value::Number(text.into()), line: 2 }
    }

    fn found(bounds: &FieldBounds, json: &str) -> Vec<String> {
        let value = parse(json.as_bytes(), JsonRules::Python).unwrap();
        broken(bounds, &value).into_iter().map(|broken| broken.found).collect()
    }

    #[test]
    fn numbers_are_compared_with_all_their_digits() {
        let max = bounds(None, Some("9007199254740992"), None);
        assert!(found(&max, "9007199254740992").is_empty());
        assert_eq!(found(&max, "9007199254740993"), ["9007199254740993 is above it"]);
        let min = bounds(Some("0.1"), None, None);
        assert!(found(&min, "0.10").is_empty());
        assert_eq!(found(&min, "0.0999999999999999999999").len(), 1);
        for none in ["\"5\"", "true", "NaN", "{}"] {
            assert_eq!(found(&min, none).len(), 1, "{none}");
        }
    }

    #[test]
    fn each_value_of_a_list_is_compared_and_the_type_is_that_of_the_list() {
        let range = bounds(Some("0"), Some("9"), Some(FieldType::Array));
        assert!(found(&range, "[0, 9, 5]").is_empty());
        assert!(found(&range, "[]").is_empty());
        assert_eq!(found(&range, "[0, 10, -1]"), ["10 is above it"]);
        assert_eq!(found(&range, "5"), ["5 is a number"]);
        let integer = bounds(None, None, Some(FieldType::Integer));
        assert!(found(&integer, "1e2").is_empty(), "as JSON Schema has it");
        assert_eq!(found(&integer, "1.5"), ["1.5 is a number"]);
    }

    #[test]
    fn a_long_value_is_shown_by_its_beginning() {
        let text = format!("\"{}\"", "é".repeat(100));
        let shown = found(&bounds(Some("0"), None, None), &text);
        assert!(
            shown[0].chars().count() < 90 && shown[0].ends_with("... is no number"),
            "{shown:?}"
        );
    }

    #[test]
    fn a_part_is_a_number_or_a_text() {
        assert_eq!(plain(b" 3\n"), Some(Value::Number("3".into())));
        assert_eq!(plain(b"cat\n"), Some(Value::String("cat".into())));
        assert_eq!(plain(b"{}"), Some(Value::String("{}".into())));
        assert_eq!(plain(b"\xff"), None);
    }
}
