//! `ClassField`: where the class of a sample is, and its value.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use tarflume_formats::json::{JsonRules, Value, parse};

/// Limit on different classes: more are no classes.
const MOST: usize = 100_000;
/// Limit on the bytes of a class.
const LONGEST: usize = 256;

/// The class of samples without one.
pub(crate) const NO_CLASS: &str = "(none)";

/// Where the class of a sample is: `EXT:/FIELD` in its JSON, or `EXT`, a part that is the class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassField {
    ext: String,
    pointer: Option<String>,
}

impl ClassField {
    /// Parses `json:/label` or `cls`.
    ///
    /// # Errors
    /// Returns an error that shows the expected form.
    pub fn parse(text: &str) -> Result<ClassField, String> {
        let (ext, pointer) = match text.split_once(':') {
            Some((ext, pointer)) => (ext, Some(pointer)),
            None => (text, None),
        };
        let ext = ext.trim().trim_start_matches('.').to_ascii_lowercase();
        let is_field = pointer.is_none_or(|pointer| pointer.starts_with('/'));
        if ext.is_empty() || ext.contains('/') || !is_field {
            return Err(format!("'{text}': give a field, json:/label, or a part, cls"));
        }
        Ok(ClassField { ext, pointer: pointer.map(String::from) })
    }

    pub(crate) fn is_in(&self, ext: &[u8]) -> bool {
        self.ext.as_bytes() == ext
    }

    /// Returns the pointer of a field; `None` for a part that is the class.
    pub(crate) fn pointer(&self) -> Option<&str> {
        self.pointer.as_deref()
    }

    /// Returns the class that a part states; a list of classes counts each. `None` if it has none.
    fn of(&self, part: &[u8], rules: JsonRules) -> Option<Vec<String>> {
        let Some(pointer) = &self.pointer else {
            let text = std::str::from_utf8(part).ok()?.trim();
            return Some(vec![text.into()]);
        };
        let json = parse(part, rules).ok()?;
        match json.pointer(pointer)? {
            Value::Array(values) => Some(values.iter().map(text).collect()),
            value => Some(vec![text(value)]),
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), String::from)
}

impl fmt::Display for ClassField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pointer {
            Some(pointer) => write!(f, "{}:{pointer}", self.ext),
            None => f.write_str(&self.ext),
        }
    }
}

/// Samples by class. A sample without a class counts as `(none)`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ClassCounts {
    pub(crate) counts: BTreeMap<String, u64>,
    /// True if there are more different values than a field of classes has.
    pub(crate) is_too_many: bool,
}

impl ClassCounts {
    /// Counts the class of a part.
    pub(crate) fn take(&mut self, field: &ClassField, part: &[u8], rules: JsonRules) {
        for mut class in field.of(part, rules).unwrap_or_else(|| vec![NO_CLASS.into()]) {
            if class.len() > LONGEST {
                class = class.chars().take(LONGEST / 4).collect::<String>() + "...";
            }
            self.add(class, 1);
        }
    }

    /// Adds the counts of another shard.
    pub(crate) fn merge(&mut self, other: ClassCounts) {
        self.is_too_many |= other.is_too_many;
        for (class, count) in other.counts {
            self.add(class, count);
        }
    }

    fn add(&mut self, class: String, count: u64) {
        if self.counts.len() >= MOST && !self.counts.contains_key(&class) {
            self.is_too_many = true;
            return;
        }
        *self.counts.entry(class).or_default() += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(field: &str, parts: &[&str]) -> Vec<(String, u64)> {
        let field = ClassField::parse(field).unwrap();
        let mut counts = ClassCounts::default();
        parts.iter().for_each(|part| counts.take(&field, part.as_bytes(), JsonRules::Strict));
        counts.counts.into_iter().collect()
    }

    #[test]
    fn a_class_is_a_field_of_the_json_or_a_part() {
        let parts = [r#"{"a": 1}"#, r#"{"a": "1"}"#, r#"{"a": [2, 1]}"#, "{}", "no JSON"];
        let expected = [("(none)".into(), 2), ("1".into(), 3), ("2".into(), 1)];
        assert_eq!(counted("json:/a", &parts), expected);
        assert_eq!(counted("cls", &["3\n", " 3"]), [("3".into(), 2)]);
        for text in ["", ":/a", "json:a", "a/b"] {
            assert!(ClassField::parse(text).unwrap_err().contains("json:/label"), "{text}");
        }
        assert_eq!(ClassField::parse("json:/a/b").unwrap().to_string(), "json:/a/b");
    }

    #[test]
    fn more_values_than_classes_are_told() {
        let field = ClassField::parse("cls").unwrap();
        let mut counts = ClassCounts::default();
        (0..=MOST).for_each(|n| counts.take(&field, n.to_string().as_bytes(), JsonRules::Strict));
        assert!(counts.is_too_many && counts.counts.len() == MOST);
    }
}
