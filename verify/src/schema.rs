//! `PartSchema`: a JSON Schema for the JSON of one extension.
//!
//! The schema is one file. References to other documents are refused: a verification reads nothing from a network.
//! `keywords` finds those that would be ignored.

#[cfg(feature = "schema")]
mod keywords;

use std::path::Path;

use tarflume_base::{Failure, json_rules};
use tarflume_formats::json::{self, JsonRules};
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};

/// Errors of one part that a problem lists.
#[cfg(feature = "schema")]
const LISTED: usize = 3;

/// A JSON Schema for parts with one extension.
#[derive(Debug, Clone)]
pub struct PartSchema {
    ext: String,
    /// The digest of its text.
    digest: String,
    #[cfg(feature = "schema")]
    validator: std::sync::Arc<jsonschema::Validator>,
}

impl PartSchema {
    /// Reads `FILE`, a schema for the part `json`, or `EXT=FILE`.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, is no JSON or no JSON Schema, has a keyword that would be ignored,
    /// refers to another document, or if this program was compiled without the feature `schema`.
    pub fn parse(text: &str) -> Result<PartSchema, Failure> {
        // A path may have an equals sign; an extension has no slash.
        let split = text.split_once('=').filter(|(ext, _)| !ext.is_empty() && !ext.contains('/'));
        let (ext, file) = split.unwrap_or(("json", text));
        PartSchema::read(ext, Path::new(file))
    }

    /// Reads the schema of the parts with an extension.
    ///
    /// # Errors
    /// As [`PartSchema::parse`].
    pub(crate) fn of_file(ext: &str, path: &Path) -> Result<PartSchema, Failure> {
        PartSchema::read(ext, path)
    }

    #[cfg(feature = "schema")]
    fn read(ext: &str, path: &Path) -> Result<PartSchema, Failure> {
        use tarflume_formats::files;

        fn refused(why: Message, path: &Path) -> Failure {
            Failure::usage(message!("{schema}: {why}"; why = why, schema = Name::Schema.is(path)))
                .with_file(path)
        }

        if !files::exists(path)? {
            return Err(refused("there is no such file".into(), path));
        }
        let bytes = files::read_whole(path, "read the schema")?;
        json_rules::check_names(&bytes).map_err(|why| refused(why, path))?;
        let schema: serde_json::Value = serde_json::from_slice(&bytes)
            .map_err(|e| refused(message!("it is no JSON: {e}"), path))?;
        keywords::check(&schema).map_err(|why| refused(why.into(), path))?;
        // By default, drafts from 2019-09 on compare no format.
        let options = jsonschema::options().should_validate_formats(true);
        let validator = tarflume_formats::panics::guarded(|| options.build(&schema));
        let validator =
            validator.map_err(|panic| refused(message!("it cannot be used: {panic}"), path))?;
        let validator = validator.map_err(|error| {
            let place = error.instance_path().to_string();
            let place = if place.is_empty() { String::new() } else { format!("at {place}: ") };
            refused(message!("it is no JSON Schema that can be used: {place}{error}"), path)
        })?;
        let ext = ext.trim_start_matches('.').to_ascii_lowercase();
        let digest = blake3::hash(&bytes).to_hex().to_string();
        Ok(PartSchema { ext, digest, validator: std::sync::Arc::new(validator) })
    }

    #[cfg(not(feature = "schema"))]
    fn read(_: &str, _: &Path) -> Result<PartSchema, Failure> {
        Err(Failure::not_built(Name::Schema, "schema"))
    }

    /// Returns the extension of the parts that the schema is for.
    pub(crate) fn ext(&self) -> &str {
        &self.ext
    }

    /// Returns what is equal for equal schemas of one extension.
    pub(crate) fn identity(&self) -> [&str; 2] {
        [&self.ext, &self.digest]
    }

    /// Returns true if the schema is for parts with this extension.
    pub(crate) fn is_for(&self, ext: &[u8]) -> bool {
        self.ext.as_bytes() == ext
    }

    /// Returns what is wrong with a part: the JSON pointers of values with the rules that they break.
    pub(crate) fn fault(&self, part: &[u8], rules: JsonRules) -> Option<SchemaFault> {
        let json = match json::parse(part, rules) {
            Ok(json) => json,
            Err(fault) => {
                let why = message!("'{}' is no JSON: {why}", self.ext; why = json_rules::sentence(&fault));
                return Some(SchemaFault::NoJson(why));
            }
        };
        self.broken(&json.approximate())
    }

    #[cfg(feature = "schema")]
    fn broken(&self, json: &serde_json::Value) -> Option<SchemaFault> {
        let compared = tarflume_formats::panics::guarded(|| {
            let mut errors = self.validator.iter_errors(json);
            let lines: Vec<String> = errors.by_ref().take(LISTED).map(|e| line(&e)).collect();
            (lines, errors.count())
        });
        let (mut lines, more) = match compared {
            Ok(compared) => compared,
            Err(panic) => (vec![format!("it cannot be compared with the schema: {panic}")], 0),
        };
        if lines.is_empty() {
            return None;
        }
        if more > 0 {
            lines.push(format!("and {more} more"));
        }
        Some(SchemaFault::Broken(format!("'{}': {}", self.ext, lines.join("; "))))
    }

    #[cfg(not(feature = "schema"))]
    fn broken(&self, _: &serde_json::Value) -> Option<SchemaFault> {
        None // such a schema cannot be made
    }
}

/// What is wrong with a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SchemaFault {
    /// It is no JSON.
    NoJson(Message),
    /// It breaks rules of the schema.
    #[cfg_attr(not(feature = "schema"), expect(dead_code, reason = "no schema can be made"))]
    Broken(String),
}

#[cfg(feature = "schema")]
fn line(error: &jsonschema::ValidationError<'_>) -> String {
    let place = match error.instance_path().to_string() {
        place if place.is_empty() => "the whole".into(),
        place => place,
    };
    // A value can be as long as the part.
    let mut told = error.to_string();
    if told.chars().count() > 160 {
        told = told.chars().take(160).collect::<String>() + "...";
    }
    format!("{place}: {told} (schema {})", error.schema_path())
}

#[cfg(feature = "schema")]
#[cfg(test)]
mod tests {
    use super::*;

    fn schema(text: &str) -> Result<PartSchema, Failure> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        PartSchema::parse(file.path().to_str().unwrap())
    }

    #[test]
    fn a_fault_names_the_value_and_the_rule() {
        let schema = schema(
            r#"{"type": "object", "required": ["label"], "properties": {"width": {"minimum": 224}}}"#,
        )
        .unwrap();
        assert_eq!(schema.fault(br#"{"label": 1, "width": 300}"#, JsonRules::Strict), None);
        let Some(SchemaFault::Broken(text)) = schema.fault(br#"{"width": 100}"#, JsonRules::Strict)
        else {
            panic!()
        };
        assert!(text.contains("/width: 100 is less than the minimum of 224"), "{text}");
        assert!(text.contains("(schema /properties/width/minimum)"), "{text}");
        assert!(text.contains("\"label\" is a required property"), "{text}");
        assert!(matches!(schema.fault(b"{", JsonRules::Strict), Some(SchemaFault::NoJson(_))));
    }

    #[test]
    fn a_bad_schema_is_refused_with_its_place() {
        for (text, why) in [
            ("{", "it is no JSON"),
            (
                r#"{"properties": {"a": {"typ": "string"}}}"#,
                "at /properties/a: 'typ' is no keyword",
            ),
            (r#"{"properties": {"a": {"type": "text"}}}"#, "at /properties/a/type"),
            (r#"{"$ref": "https://example.org/a.json"}"#, "no JSON Schema that can be used"),
        ] {
            let failure = schema(text).unwrap_err();
            assert!(failure.text().contains(why), "{failure}");
        }
    }

    #[test]
    fn formats_are_compared() {
        let schema = schema(r#"{"properties": {"day": {"format": "date"}}}"#).unwrap();
        assert_eq!(schema.fault(br#"{"day": "2026-02-28"}"#, JsonRules::Strict), None);
        let fault = schema.fault(br#"{"day": "2026-02-30"}"#, JsonRules::Strict);
        assert!(matches!(fault, Some(SchemaFault::Broken(_))), "{fault:?}");
    }

    #[test]
    fn many_errors_are_counted() {
        let schema = schema(r#"{"additionalProperties": {"type": "string"}}"#).unwrap();
        let json: serde_json::Map<_, _> = (0..10).map(|n| (n.to_string(), n.into())).collect();
        let json = serde_json::to_vec(&json).unwrap();
        let Some(SchemaFault::Broken(text)) = schema.fault(&json, JsonRules::Strict) else {
            panic!()
        };
        assert!(text.ends_with("and 7 more"), "{text}");
    }
}
