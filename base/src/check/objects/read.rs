//! Reads members and numbers of a sample's JSON.

use tarflume_formats::json::Value;

use crate::problem::ProblemKind;

/// What is wrong with one object.
pub(super) type Fault = Option<(ProblemKind, String)>;

/// Returns a member of an object.
pub(super) fn member<'v>(json: &'v Value, name: &str) -> Option<&'v Value> {
    match json {
        Value::Object(members) => members.get(name),
        _ => None,
    }
}

/// Returns the elements of a list that is a member.
pub(super) fn list<'v>(json: &'v Value, name: &str) -> Option<&'v [Value]> {
    member(json, name)?.as_array()
}

/// Returns the nearest float of a number.
pub(super) fn number(value: &Value) -> Option<f64> {
    Some(value.as_number()?.nearest())
}

/// Returns the numbers of a list; `None` if an element is none.
pub(super) fn numbers(value: &Value) -> Option<Vec<f64>> {
    value.as_array()?.iter().map(number).collect()
}
