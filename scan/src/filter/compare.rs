//! `Comparison`: JSON values compared with literals of a condition.

use std::cmp::Ordering;

use tarflume_formats::json::Value;

/// A comparison of two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    Unequal,
    Less,
    AtMost,
    More,
    AtLeast,
}

impl Comparison {
    /// The comparisons by their operators; an operator that begins with another one is before it.
    pub(super) const ALL: [(&str, Comparison); 7] = [
        ("==", Comparison::Equal),
        ("!=", Comparison::Unequal),
        ("<=", Comparison::AtMost),
        (">=", Comparison::AtLeast),
        ("=", Comparison::Equal),
        ("<", Comparison::Less),
        (">", Comparison::More),
    ];

    /// Returns true if the comparison holds. Values of different types meet no comparison.
    pub(super) fn holds(self, value: &Value, literal: &Value) -> bool {
        let Some(order) = order(value, literal) else { return false };
        match self {
            Comparison::Equal => order.is_eq(),
            Comparison::Unequal => order.is_ne(),
            Comparison::Less => order.is_lt(),
            Comparison::AtMost => order.is_le(),
            Comparison::More => order.is_gt(),
            Comparison::AtLeast => order.is_ge(),
        }
    }
}

/// Returns the order of two values of one type; `None` for lists, objects and different types.
fn order(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Number(_), Value::Number(_)) => a.as_number()?.order(b.as_number()?),
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        (Value::Null, Value::Null) => Some(Ordering::Equal),
        _ => None,
    }
}
