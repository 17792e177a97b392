//! `Filter`: a condition on a sample's key, parts and JSON, parsed from text and evaluated.
//!
//! Reads nothing: the caller passes the bytes of the parts that [`Filter::parts`] names.

pub mod absent;
mod compare;
mod parse;

use std::fmt;

use globset::GlobMatcher;
use tarflume_formats::json::Value;

use self::compare::Comparison;

/// A condition that selects samples.
///
/// ```text
/// json:/width >= 224 and not json:/label in ("blurred", "empty")
/// key ~ "cat/*" or size:jpg > 100000
/// has mask.png
/// ```
#[derive(Debug, Clone)]
pub struct Filter {
    text: String,
    condition: Condition,
    parts: Vec<String>,
}

impl PartialEq for Filter {
    fn eq(&self, other: &Filter) -> bool {
        self.text == other.text
    }
}

/// A condition, as a tree.
#[derive(Debug, Clone)]
enum Condition {
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
    /// The operand has a value.
    Exists(Operand),
    Compare(Operand, Comparison, Value),
    In(Operand, Vec<Value>),
    Like(Operand, GlobMatcher),
}

/// What a condition looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Operand {
    /// The sample's key.
    Key,
    /// The bytes of a part, by extension.
    Size(String),
    /// The value at a JSON pointer of a part.
    Field(String, String),
    /// A part, by extension.
    Part(String),
}

/// What a filter needs to know of a sample.
pub trait Filterable {
    /// Returns the key.
    fn key(&self) -> &[u8];

    /// Returns the extensions of the parts.
    fn exts(&self) -> Vec<&[u8]>;

    /// Returns the number of bytes of a part; `None` if the sample lacks it.
    fn size(&self, ext: &str) -> Option<u64>;

    /// Returns the JSON of a part, one of [`Filter::parts`]; `None` if the sample lacks it.
    fn json(&self, ext: &str) -> Option<&Value>;
}

impl Filter {
    /// Parses a condition.
    ///
    /// # Errors
    /// Returns a sentence that names the place in the text and what is expected there.
    pub fn parse(text: &str) -> Result<Filter, String> {
        let condition = parse::parse(text)?;
        let mut parts = Vec::new();
        condition.visit(&mut |_, operand| {
            if let Operand::Field(ext, _) = operand
                && !parts.contains(ext)
            {
                parts.push(ext.clone());
            }
        });
        Ok(Filter { text: text.trim().into(), condition, parts })
    }

    /// Returns the extensions of the JSON parts that the condition reads.
    pub fn parts(&self) -> &[String] {
        &self.parts
    }

    /// Returns true if the condition holds. A comparison with a value that is absent, or of another type, does
    /// not hold.
    pub fn holds(&self, facts: &dyn Filterable) -> bool {
        self.condition.holds(facts)
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Condition {
    fn holds(&self, facts: &dyn Filterable) -> bool {
        match self {
            Condition::All(all) => all.iter().all(|condition| condition.holds(facts)),
            Condition::Any(any) => any.iter().any(|condition| condition.holds(facts)),
            Condition::Not(condition) => !condition.holds(facts),
            Condition::Exists(operand) => operand.with(facts, |_| true),
            Condition::Compare(operand, comparison, literal) => {
                operand.with(facts, |value| comparison.holds(value, literal))
            }
            Condition::In(operand, literals) => operand.with(facts, |value| {
                literals.iter().any(|literal| Comparison::Equal.holds(value, literal))
            }),
            Condition::Like(operand, glob) => {
                operand.with(facts, |value| value.as_str().is_some_and(|text| glob.is_match(text)))
            }
        }
    }

    /// Calls `each` with each comparison or question and its operand, in the order of the text.
    fn visit<'c>(&'c self, each: &mut impl FnMut(&'c Condition, &'c Operand)) {
        match self {
            Condition::All(inner) | Condition::Any(inner) => {
                inner.iter().for_each(|condition| condition.visit(each));
            }
            Condition::Not(inner) => inner.visit(each),
            Condition::Exists(operand)
            | Condition::Compare(operand, ..)
            | Condition::In(operand, _)
            | Condition::Like(operand, _) => each(self, operand),
        }
    }
}

impl Operand {
    /// Applies `test` to the operand's value; false if it has none.
    fn with(&self, facts: &dyn Filterable, test: impl FnOnce(&Value) -> bool) -> bool {
        match self {
            Operand::Key => test(&Value::String(String::from_utf8_lossy(facts.key()).into_owned())),
            Operand::Size(ext) => facts.size(ext).is_some_and(|size| test(&size.into())),
            Operand::Part(ext) => facts.size(ext).is_some(),
            Operand::Field(ext, pointer) => {
                facts.json(ext).and_then(|json| json.pointer(pointer)).is_some_and(test)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Cat(Value);

    impl Filterable for Cat {
        fn key(&self) -> &[u8] {
            b"cat/001"
        }

        fn exts(&self) -> Vec<&[u8]> {
            vec![b"jpg", b"json"]
        }

        fn size(&self, ext: &str) -> Option<u64> {
            match ext {
                "jpg" => Some(5000),
                "json" => Some(40),
                _ => None,
            }
        }

        fn json(&self, ext: &str) -> Option<&Value> {
            (ext == "json").then_some(&self.0)
        }
    }

    fn holds(text: &str) -> bool {
        let json = Value::from(
            serde_json::json!({"width": 300, "label": "cat", "score": 0.5, "tags": ["a"], "a/b": true,
                          "big": 9_007_199_254_740_993_u64, "none": null}),
        );
        Filter::parse(text).unwrap().holds(&Cat(json))
    }

    #[test]
    fn comparisons_have_the_order_of_numbers_and_texts() {
        for text in [
            "json:/width >= 224",
            "json:/width>=300",
            "json:/width == 300.0",
            "json:/score < 1",
            "json:/label = \"cat\"",
            "json:/label == cat",
            "json:/label > 'bat'",
            "json:/label != dog",
            "json:/label in (dog, 'cat')",
            "json:/label ~ 'c*'",
            "json:/tags/0 == a",
            "json:/a~1b == true",
            "json:/none == null",
            "json:/big == 9007199254740993",
            "json:/big != 9007199254740992",
            "key ~ 'cat/*'",
            "size:jpg > 4999",
            "has jpg",
            "not has mask.png",
            "json:/width",
            "(json:/width < 10 or json:/score == 0.5) and not json:/missing",
            "json:/width < 10 or json:/score == 0.5 and key == 'cat/001'",
        ] {
            assert!(holds(text), "{text}");
        }
    }

    #[test]
    fn a_value_that_is_absent_or_of_another_type_meets_no_comparison() {
        for text in [
            "json:/missing == 1",
            "json:/missing != 1",
            "json:/label > 3",
            "json:/label != 3",
            "json:/width == '300'",
            "json:/width ~ '3*'",
            "meta.json:/width == 300",
            "size:png > 0",
            "json:/tags == a",
            "has mask.png",
        ] {
            assert!(!holds(text), "{text}");
        }
    }

    #[test]
    fn an_error_names_its_place_and_what_is_expected() {
        for (text, expected) in [
            ("", "a condition is expected"),
            ("json:/width >=", "a value is expected at the end"),
            ("json:/width >= 224 json:/x", "'and', 'or' or the end is expected at character 20"),
            ("width >= 224", "json:/width"),
            ("(key == a", "')' is expected"),
            ("json:width > 1", "json:/width"),
            ("key in a", "'(' is expected"),
            ("key == 'a", "the quote at character 8 is not closed"),
            ("key ~ '[a'", "is no pattern"),
            ("size: > 1", "size:EXT"),
        ] {
            let why = Filter::parse(text).unwrap_err();
            assert!(why.contains(expected), "{text}: {why}");
        }
        assert!(Filter::parse(&"not ".repeat(1000)).unwrap_err().contains("nested"));
        assert!(Filter::parse(&"(".repeat(1000)).unwrap_err().contains("nested"));
    }

    #[test]
    fn the_parts_are_those_whose_json_is_read() {
        let filter = Filter::parse("json:/a == 1 or meta.json:/b and json:/c and size:jpg > 1");
        assert_eq!(filter.unwrap().parts(), ["json", "meta.json"]);
    }
}
