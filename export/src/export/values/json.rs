//! Parses the JSON part of a sample and walks over its leaves. Knows no columns.

use std::borrow::Cow;

use tarflume_formats::json::{JsonFault, JsonRules, Object, Value, parse};

/// Parses an object.
///
/// # Errors
/// Returns the fault if the bytes are not JSON or not an object.
pub(crate) fn object(bytes: &[u8], rules: JsonRules) -> Result<Object, JsonFault> {
    match parse(bytes, rules)? {
        Value::Object(object) => Ok(object),
        _ => {
            let what = "the JSON is not an object, so it has no columns".into();
            Err(JsonFault { byte: 0, what, is_python: false, is_repeated_name: false })
        }
    }
}

/// A value that is not an object.
#[derive(Debug)]
pub(crate) struct Leaf<'v> {
    /// The keys that lead to it, joined by dots.
    pub(crate) name: Cow<'v, str>,
    /// The value.
    pub(crate) value: &'v Value,
    /// Number of bytes of the name before its last key; 0 for a leaf of the outer object.
    pub(crate) above: usize,
}

/// Calls `take` with every leaf, in the order of names within each object.
pub(crate) fn leaves<'v>(object: &'v Object, take: &mut dyn FnMut(Leaf<'v>)) {
    below(object, "", take);
}

fn below<'v>(object: &'v Object, prefix: &str, take: &mut dyn FnMut(Leaf<'v>)) {
    for (key, value) in object {
        let name: Cow<'v, str> = match prefix {
            "" => key.into(),
            _ => format!("{prefix}.{key}").into(),
        };
        match value {
            Value::Object(inner) => below(inner, &name, take),
            _ => take(Leaf { name, value, above: prefix.len() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_are_named_by_their_paths() {
        let text = br#"{"b": 1, "a": {"x": [1], "y": {"z": null}, "e": {}}, "c.d": "t"}"#;
        let object = object(text, JsonRules::Strict).unwrap();
        let mut found = Vec::new();
        leaves(&object, &mut |leaf| found.push((leaf.name.into_owned(), leaf.above)));
        let want = [("a.x", 1), ("a.y.z", 3), ("b", 0), ("c.d", 0)];
        assert_eq!(found, want.map(|(name, above)| (name.to_string(), above)));
    }

    #[test]
    fn other_values_have_no_columns() {
        for (text, why) in [("[1]", "not an object"), ("{", "text ends"), ("", "text ends")] {
            let fault = object(text.as_bytes(), JsonRules::Strict).unwrap_err();
            assert!(fault.what.contains(why), "{fault}");
        }
    }
}
