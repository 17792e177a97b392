//! `Jsonl`: one JSON object per line; a field holds the text.

use std::fmt;
use std::path::Path;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use tarflume_packer::Failure;

use super::documents::Documents;
use super::lines::Lines;

/// The documents of a JSONL file. Blank lines are none.
pub(super) struct Jsonl {
    lines: Lines,
    field: String,
}

impl Jsonl {
    pub(super) fn open(path: &Path, field: &str) -> Result<Jsonl, Failure> {
        Ok(Jsonl { lines: Lines::open(path)?, field: field.into() })
    }
}

impl Documents for Jsonl {
    fn next(&mut self, text: &mut String) -> Result<bool, Failure> {
        while self.lines.advance()? {
            if self.lines.line().iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let added = field(self.lines.line(), &self.field, text);
            return added.map(|()| true).map_err(|reason| self.lines.fault(&reason));
        }
        Ok(false)
    }
}

/// Appends the text of a field of a JSON object; `null` is an empty text. Builds no tree.
pub(super) fn field(json: &[u8], name: &str, text: &mut String) -> Result<(), String> {
    let mut parser = serde_json::Deserializer::from_slice(json);
    let mut others = Vec::new();
    let object = Object { name, text, others: &mut others };
    let found = object.deserialize(&mut parser).map_err(|e| e.to_string())?;
    parser.end().map_err(|e| e.to_string())?;
    if found {
        return Ok(());
    }
    Err(format!(
        "there is no field '{name}'; the fields are {}; give the text's name with --text-field",
        others.join(", ")
    ))
}

/// Limit on the names of other fields in an error.
const NAMED: usize = 8;

struct Object<'a> {
    name: &'a str,
    text: &'a mut String,
    others: &'a mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for Object<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<bool, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        let mut found = false;
        while let Some(own) =
            map.next_key_seed(Name { name: self.name, others: &mut *self.others })?
        {
            if !own {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            if std::mem::replace(&mut found, true) {
                return Err(A::Error::custom(format!("the field '{}' appears twice", self.name)));
            }
            map.next_value_seed(Append(&mut *self.text))?;
        }
        Ok(found)
    }
}

/// Compares a name; keeps the first others for an error.
struct Name<'a> {
    name: &'a str,
    others: &'a mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<bool, D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<bool, E> {
        let own = name == self.name;
        if !own && self.others.len() < NAMED {
            self.others.push(format!("'{}'", name.chars().take(40).collect::<String>()));
        }
        Ok(own)
    }
}

/// Appends a string.
struct Append<'a>(&'a mut String);

impl<'de> DeserializeSeed<'de> for Append<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl Visitor<'_> for Append<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the text as a string")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.0.push_str(text);
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }
}
