//! The keywords of JSON Schema: finds those that a validator ignores, because they are misspelt, of a later draft, or
//! without the keyword that they depend on. A schema with such a keyword would accept what it was written to refuse.
//! Pure.

use std::collections::HashSet;

use serde_json::{Map, Value};

/// The drafts, by the text in `$schema`; a schema without it has the last one.
const DRAFTS: [&str; 5] = ["draft-04", "draft-06", "draft-07", "2019-09", "2020-12"];

/// What the value of a keyword is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    /// No schema.
    Value,
    /// A note, which checks nothing in any draft.
    Note,
    /// A schema.
    Schema,
    /// Schemas: one, a list, or an object of them by name.
    Schemas,
    /// An object of schemas by name.
    Named,
}

/// Keyword, the number of the first draft that has it, the keyword without which it does nothing, and its value.
type Keyword = (&'static str, usize, &'static str, Holds);

const KEYWORDS: [Keyword; 61] = [
    ("$schema", 0, "", Holds::Note),
    ("$id", 1, "", Holds::Note),
    ("id", 0, "", Holds::Note),
    ("$anchor", 3, "", Holds::Note),
    ("$dynamicAnchor", 4, "", Holds::Note),
    ("$recursiveAnchor", 3, "", Holds::Note),
    ("$vocabulary", 3, "", Holds::Note),
    ("$comment", 0, "", Holds::Note),
    ("$defs", 0, "", Holds::Named),
    ("definitions", 0, "", Holds::Named),
    ("title", 0, "", Holds::Note),
    ("description", 0, "", Holds::Note),
    ("default", 0, "", Holds::Note),
    ("examples", 0, "", Holds::Note),
    ("deprecated", 0, "", Holds::Note),
    ("readOnly", 0, "", Holds::Note),
    ("writeOnly", 0, "", Holds::Note),
    ("contentEncoding", 0, "", Holds::Note),
    ("contentMediaType", 0, "", Holds::Note),
    ("contentSchema", 0, "", Holds::Note),
    ("$ref", 0, "", Holds::Value),
    ("$dynamicRef", 4, "", Holds::Value),
    ("$recursiveRef", 3, "", Holds::Value),
    ("type", 0, "", Holds::Value),
    ("enum", 0, "", Holds::Value),
    ("const", 1, "", Holds::Value),
    ("format", 0, "", Holds::Value),
    ("multipleOf", 0, "", Holds::Value),
    ("maximum", 0, "", Holds::Value),
    ("exclusiveMaximum", 0, "", Holds::Value),
    ("minimum", 0, "", Holds::Value),
    ("exclusiveMinimum", 0, "", Holds::Value),
    ("maxLength", 0, "", Holds::Value),
    ("minLength", 0, "", Holds::Value),
    ("pattern", 0, "", Holds::Value),
    ("maxItems", 0, "", Holds::Value),
    ("minItems", 0, "", Holds::Value),
    ("uniqueItems", 0, "", Holds::Value),
    ("maxProperties", 0, "", Holds::Value),
    ("minProperties", 0, "", Holds::Value),
    ("required", 0, "", Holds::Value),
    ("maxContains", 3, "contains", Holds::Value),
    ("minContains", 3, "contains", Holds::Value),
    ("dependentRequired", 3, "", Holds::Value),
    ("contains", 1, "", Holds::Schema),
    ("propertyNames", 1, "", Holds::Schema),
    ("additionalItems", 0, "items", Holds::Schema),
    ("additionalProperties", 0, "", Holds::Schema),
    ("unevaluatedItems", 3, "", Holds::Schema),
    ("unevaluatedProperties", 3, "", Holds::Schema),
    ("not", 0, "", Holds::Schema),
    ("if", 2, "", Holds::Schema),
    ("then", 2, "if", Holds::Schema),
    ("else", 2, "if", Holds::Schema),
    ("items", 0, "", Holds::Schemas),
    ("prefixItems", 4, "", Holds::Schemas),
    ("allOf", 0, "", Holds::Schemas),
    ("anyOf", 0, "", Holds::Schemas),
    ("oneOf", 0, "", Holds::Schemas),
    ("properties", 0, "", Holds::Named),
    ("patternProperties", 0, "", Holds::Named),
];
/// Keywords whose objects have schemas or lists of names.
const MIXED: [&str; 2] = ["dependencies", "dependentSchemas"];
/// The formats that are compared.
const FORMATS: [&str; 19] = [
    "date",
    "date-time",
    "duration",
    "email",
    "hostname",
    "idn-email",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "iri",
    "iri-reference",
    "json-pointer",
    "regex",
    "relative-json-pointer",
    "time",
    "uri",
    "uri-reference",
    "uri-template",
    "uuid",
];

/// Checks that a schema has no keyword that would be ignored.
///
/// # Errors
/// Returns a sentence with the JSON pointer of the schema that has it.
pub(super) fn check(root: &Value) -> Result<(), String> {
    let stated = root.get("$schema").and_then(Value::as_str).unwrap_or_default();
    let last = DRAFTS.len() - 1;
    let draft = DRAFTS.iter().position(|draft| stated.contains(draft)).unwrap_or(last);
    let mut walk = Walk { root, draft, seen: HashSet::new(), refs: Vec::new() };
    walk.schema(root, "")?;
    // Schemas that a reference names may be below a name that is no keyword.
    while let Some(pointer) = walk.refs.pop() {
        if let Some(target) = root.pointer(&pointer) {
            walk.schema(target, &pointer)?;
        }
    }
    Ok(())
}

struct Walk<'s> {
    root: &'s Value,
    draft: usize,
    /// Pointers of schemas that were visited.
    seen: HashSet<String>,
    /// Pointers that references name.
    refs: Vec<String>,
}

impl Walk<'_> {
    fn schema(&mut self, schema: &Value, place: &str) -> Result<(), String> {
        let Value::Object(members) = schema else { return Ok(()) };
        if !self.seen.insert(place.into()) {
            return Ok(());
        }
        let at = if place.is_empty() { String::new() } else { format!("at {place}: ") };
        for (name, value) in members {
            self.keyword(members, name, value, place).map_err(|why| match why {
                Fault::Here(why) => format!("{at}{why}"),
                Fault::Below(why) => why,
            })?;
        }
        Ok(())
    }

    fn keyword(
        &mut self,
        members: &Map<String, Value>,
        name: &str,
        value: &Value,
        place: &str,
    ) -> Result<(), Fault> {
        let below = format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"));
        if MIXED.contains(&name) {
            return self.schemas(value, &below);
        }
        let Some((_, first, needs, holds)) = KEYWORDS.iter().find(|known| known.0 == name) else {
            let is_named = place.is_empty() && has_reference(self.root, &format!("#/{name}/"));
            return if name.starts_with("x-") || is_named { Ok(()) } else { Err(unknown(name)) };
        };
        if *first > self.draft {
            let here = DRAFTS[self.draft];
            let first = DRAFTS[*first];
            return Err(Fault::Here(format!(
                "JSON Schema {here} has no '{name}', so it would be ignored; {first} has it"
            )));
        }
        if !needs.is_empty() && !members.contains_key(*needs) {
            return Err(Fault::Here(format!("'{name}' does nothing without '{needs}'")));
        }
        let is_before_2019 = self.draft < 3;
        if is_before_2019
            && *holds != Holds::Note
            && name != "$ref"
            && members.contains_key("$ref")
            && !matches!(name, "definitions" | "$defs")
        {
            let here = DRAFTS[self.draft];
            return Err(Fault::Here(format!(
                "JSON Schema {here} ignores '{name}' beside '$ref'; put both into a list of 'allOf'"
            )));
        }
        match (name, value) {
            ("$ref", Value::String(target)) => {
                self.refs.extend(target.strip_prefix('#').map(String::from));
                Ok(())
            }
            ("format", Value::String(format)) => known_format(format),
            _ => match holds {
                Holds::Value | Holds::Note => Ok(()),
                Holds::Schema => self.schema(value, &below).map_err(Fault::Below),
                Holds::Schemas => match value {
                    Value::Array(_) => self.schemas(value, &below),
                    one => self.schema(one, &below).map_err(Fault::Below),
                },
                Holds::Named => self.schemas(value, &below),
            },
        }
    }

    /// Visits the schemas of a list, or of an object by name.
    fn schemas(&mut self, value: &Value, place: &str) -> Result<(), Fault> {
        match value {
            Value::Array(list) => list
                .iter()
                .enumerate()
                .try_for_each(|(n, schema)| self.below(&n.to_string(), schema, place)),
            Value::Object(named) => {
                named.iter().try_for_each(|(name, schema)| self.below(name, schema, place))
            }
            _ => Ok(()),
        }
    }

    /// Visits the schema that is called `name` at `place`.
    fn below(&mut self, name: &str, schema: &Value, place: &str) -> Result<(), Fault> {
        let place = format!("{place}/{}", name.replace('~', "~0").replace('/', "~1"));
        self.schema(schema, &place).map_err(Fault::Below)
    }
}

/// What is wrong with a keyword of this schema, or with a schema below it: then with its place.
enum Fault {
    Here(String),
    Below(String),
}

fn unknown(name: &str) -> Fault {
    let words = KEYWORDS.iter().map(|known| known.0).chain(MIXED);
    let meant = match near(name, words) {
        Some(word) => format!("; did you mean '{word}'?"),
        None => ".".into(),
    };
    Fault::Here(format!(
        "'{name}' is no keyword of JSON Schema, so it would be ignored{meant} The names of your own notes begin with x-"
    ))
}

/// Refuses a misspelt format. Other unknown ones are notes, as of OpenAPI (`int32`) or Pydantic (`path`).
fn known_format(format: &str) -> Result<(), Fault> {
    let letters: String = format.chars().filter(|letter| !letter.is_ascii_digit()).collect();
    let is_known = FORMATS.contains(&format) || FORMATS.contains(&letters.as_str());
    match near(format, FORMATS).filter(|_| !is_known && letters.len() > 4) {
        Some(word) => Err(Fault::Here(format!(
            "'{format}' is no format of JSON Schema, so it would be ignored; did you mean '{word}'?"
        ))),
        None => Ok(()),
    }
}

fn has_reference(value: &Value, start: &str) -> bool {
    match value {
        Value::Object(members) => members.iter().any(|(name, value)| {
            (name == "$ref" && value.as_str().is_some_and(|target| target.starts_with(start)))
                || has_reference(value, start)
        }),
        Value::Array(list) => list.iter().any(|value| has_reference(value, start)),
        _ => false,
    }
}

/// Returns the word that differs from a name in the fewest letters, at most two.
fn near<'w>(name: &str, words: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let found = words
        .into_iter()
        .map(|word| (strsim::osa_distance(&name.to_lowercase(), &word.to_lowercase()), word))
        .min()?;
    (found.0 <= 2 && 2 * found.0 <= name.chars().count()).then_some(found.1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keywords_that_a_validator_ignores_are_refused_with_their_place() {
        let draft7 = "http://json-schema.org/draft-07/schema#";
        for (schema, why) in [
            (
                json!({"requird": ["label"]}),
                "'requird' is no keyword of JSON Schema, so it would be ignored; did you mean 'required'?",
            ),
            (json!({"properties": {"a/b": {"minumum": 3}}}), "at /properties/a~1b: 'minumum'"),
            (json!({"items": [{"enumm": [1]}]}), "at /items/0: 'enumm'"),
            (json!({"items": {"anyOf": [{}, {"maxLenght": 1}]}}), "at /items/anyOf/1: 'maxLenght'"),
            (
                json!({"type": "object", "fields": {}}),
                "'fields' is no keyword of JSON Schema, so it would be ignored. The names",
            ),
            (json!({"then": {"required": ["a"]}}), "'then' does nothing without 'if'"),
            (json!({"minContains": 2}), "'minContains' does nothing without 'contains'"),
            (json!({"$schema": draft7, "prefixItems": []}), "draft-07 has no 'prefixItems'"),
            (
                json!({"$schema": draft7, "allOf": [{"$ref": "#", "required": ["a"]}]}),
                "ignores 'required' beside '$ref'",
            ),
            (json!({"$ref": "#/parts/a", "parts": {"a": {"typ": "string"}}}), "at /parts/a: 'typ'"),
            (json!({"format": "emial"}), "did you mean 'email'?"),
            (
                json!({"dependentSchemas": {"a": {"requires": []}}}),
                "at /dependentSchemas/a: 'requires'",
            ),
        ] {
            let found = check(&schema).unwrap_err();
            assert!(found.contains(why), "{schema}: {found}");
        }
    }

    #[test]
    fn notes_and_the_keywords_of_each_draft_are_accepted() {
        for schema in [
            json!(true),
            json!({"title": "t", "description": "d", "$comment": "c", "x-owner": "me", "examples": [{"typ": 1}]}),
            json!({"properties": {"requird": {"const": {"typ": 1}}}, "enum": [{"typ": 1}]}),
            json!({"$schema": "http://json-schema.org/draft-04/schema#", "id": "x", "minimum": 1, "exclusiveMinimum": true}),
            json!({"if": {}, "then": {}, "else": {}, "prefixItems": [{}], "unevaluatedProperties": false}),
            json!({"$ref": "#/components/a", "required": ["b"], "components": {"a": {"type": "object"}}}),
            json!({"dependencies": {"a": ["b"], "c": {"required": ["d"]}}, "items": [], "additionalItems": false}),
            json!({"format": "int32"}),
            json!({"format": "uuid4"}),
            json!({"format": "path"}),
            json!({"$ref": "#/properties/a", "properties": {"a": {"$ref": "#"}}}),
        ] {
            assert_eq!(check(&schema), Ok(()), "{schema}");
        }
    }

    #[test]
    fn no_keyword_is_listed_twice() {
        let names: HashSet<&str> = KEYWORDS.iter().map(|known| known.0).collect();
        assert_eq!(names.len(), KEYWORDS.len());
    }
}
