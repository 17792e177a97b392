//! `ClassSource`: where the class of a sample is written: a text part, or a value of a JSON part.

use std::fmt;

use tarflume_formats::json::{JsonRules, Value, parse};
use tarflume_formats::{ClassTable, name};

/// Pointers that are tried where a data set declares no classes.
const USUAL: [&str; 4] = ["/class_name", "/label", "/class", "/category_id"];
/// Limit on the characters of a class name.
const LONGEST: usize = 120;

/// The place of a sample's class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClassSource {
    /// The text of a part: `cls`.
    Text(String),
    /// The value at a pointer of a JSON part: `json:/label`. A list has several classes.
    Json {
        /// The extension of the part.
        ext: String,
        /// The JSON pointer.
        pointer: String,
    },
}

impl ClassSource {
    /// Reads `cls` or `json:/label`.
    ///
    /// # Errors
    /// Returns a text that says which forms there are.
    pub fn parse(text: &str) -> Result<ClassSource, String> {
        match text.split_once(':') {
            Some((ext, pointer)) if !ext.is_empty() && pointer.starts_with('/') => {
                Ok(ClassSource::Json { ext: ext.into(), pointer: pointer.into() })
            }
            None if !text.is_empty() && !text.contains('/') => Ok(ClassSource::Text(text.into())),
            _ => Err(format!("'{text}': give an extension (cls) or EXT:POINTER (json:/label)")),
        }
    }

    fn json(pointer: &str) -> ClassSource {
        ClassSource::Json { ext: "json".into(), pointer: pointer.into() }
    }

    /// Returns the places to try, the first one first: that of the data set's class table, or `cls` and usual pointers.
    pub fn candidates(table: Option<&ClassTable>) -> Vec<ClassSource> {
        match table {
            Some(table) => vec![ClassSource::json(&table.pointer)],
            None => {
                let text = ClassSource::Text("cls".into());
                std::iter::once(text).chain(USUAL.map(ClassSource::json)).collect()
            }
        }
    }

    /// Returns the extension of its part.
    pub fn ext(&self) -> &str {
        let (ClassSource::Text(ext) | ClassSource::Json { ext, .. }) = self;
        ext
    }

    /// Returns the classes that the bytes of its part name, each once, in order; none if there are none.
    ///
    /// # Errors
    /// Returns a text if the part is not JSON.
    pub fn classes(
        &self,
        bytes: &[u8],
        table: Option<&ClassTable>,
        rules: JsonRules,
    ) -> Result<Vec<String>, String> {
        let mut found = Vec::new();
        match self {
            ClassSource::Text(_) => {
                let text = name::shown(bytes.trim_ascii());
                let id = text.parse().ok();
                let known = id.and_then(|id| table.and_then(|table| table.name(id)));
                found.push(known.map_or(text, str::to_string));
            }
            ClassSource::Json { pointer, .. } => {
                let value = parse(bytes, rules).map_err(|fault| fault.to_string())?;
                if let Some(value) = value.pointer(pointer) {
                    names(value, table, &mut found);
                }
            }
        }
        found.retain(|class| !class.is_empty());
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }
}

impl fmt::Display for ClassSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClassSource::Text(ext) => f.write_str(ext),
            ClassSource::Json { ext, pointer } => write!(f, "{ext}:{pointer}"),
        }
    }
}

/// Appends the classes of a value.
pub(crate) fn names(value: &Value, table: Option<&ClassTable>, into: &mut Vec<String>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| names(value, table, into)),
        Value::Object(_) | Value::Null => {}
        Value::String(text) => {
            into.push(name::shown(text.as_bytes()).chars().take(LONGEST).collect());
        }
        Value::Bool(is_true) => into.push(is_true.to_string()),
        Value::Number(number) => {
            let known = number.parse::<i64>().ok().and_then(|id| table?.name(id));
            into.push(known.map_or_else(|| value.to_string(), str::to_string));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_an_extension_or_a_pointer_of_a_json_part() {
        for text in ["cls", "json:/label", "meta.json:/a/b"] {
            assert_eq!(ClassSource::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "json:label", ":/label", "a/b"] {
            assert!(ClassSource::parse(text).unwrap_err().contains("EXT:POINTER"), "{text}");
        }
    }

    #[test]
    fn classes_are_names_ids_or_lists_of_both() {
        let table = ClassTable { names: vec!["cat".into(), "dog".into()], ..ClassTable::default() };
        for (source, bytes, names) in [
            ("cls", &b"1\n"[..], &["dog"][..]),
            ("cls", b"heron", &["heron"]),
            ("json:/class", br#"{"class":0}"#, &["cat"]),
            ("json:/class", br#"{"class":[1,0,1,7]}"#, &["7", "cat", "dog"]),
            ("json:/class", br#"{"class":null}"#, &[]),
        ] {
            let source = ClassSource::parse(source).unwrap();
            assert_eq!(source.classes(bytes, Some(&table), JsonRules::Strict).unwrap(), names);
        }
        let source = ClassSource::parse("json:/class").unwrap();
        assert!(source.classes(b"{", Some(&table), JsonRules::Strict).is_err());
    }
}
