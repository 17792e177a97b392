//! `Unique`: a JSON value in which no object has a name twice. serde keeps the last value without a word.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use tarflume_formats::name;

/// A JSON value in which no object has a name twice.
#[derive(Debug)]
pub(super) struct Unique(pub(super) Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Unique, D::Error> {
        json.deserialize_any(UniqueVisitor).map(Unique)
    }
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Unique(value)) = list.next_element()? {
            values.push(value);
        }
        Ok(values.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(field) = map.next_key::<String>()? {
            if object.contains_key(&field) {
                return Err(repeated(&field));
            }
            let Unique(value) = map.next_value()?;
            object.insert(field, value);
        }
        Ok(object.into())
    }
}

/// Returns the error for a name that an object has twice.
pub(super) fn repeated<E: Error>(field: &str) -> E {
    let field = name::shown(field.as_bytes());
    E::custom(format!("'{field}' occurs twice in one object; remove one"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_serde() {
        let text =
            r#"{"a": [1, -2, 18446744073709551615, 0.1, null, true, "é\n"], "b": {"a": {}}}"#;
        let Unique(value) = serde_json::from_str(text).unwrap();
        assert_eq!(value, serde_json::from_str::<Value>(text).unwrap());
    }

    #[test]
    fn numbers_are_the_nearest_floats_whatever_other_crates_are_built() {
        for text in
            ["702.1057499999998", "6.351363452580451", "3.9068053654298485", "31.245270191439438"]
        {
            let Unique(value) = serde_json::from_str(text).unwrap();
            assert_eq!(value.as_f64(), text.parse().ok(), "{text}");
            assert_eq!(value.to_string(), text);
        }
    }

    #[test]
    fn a_name_that_an_object_has_twice_is_refused_at_any_depth() {
        for text in [r#"{"a": 1, "a": 1}"#, r#"[{"b": {"a": 1, "c": 2, "a": 3}}]"#] {
            let error = serde_json::from_str::<Unique>(text).unwrap_err().to_string();
            assert!(error.starts_with("'a' occurs twice"), "{error}");
        }
    }
}
