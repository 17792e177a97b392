//! `Template`: a text made of fields of a row, as the option of a source gives it.
//!
//! | form | text |
//! |---|---|
//! | `COLUMN` | the value of the column |
//! | `/COLUMN/NAME` | a value inside the JSON of the column, by its pointer |
//! | `val/{COLUMN}.jpg` | literal text, and fields of both forms in braces |
//! | `{COLUMN:012}` | a whole number with zeros before it, up to 12 digits |

use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::json::{self, JsonRules, Pointer, Value};
use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_formats::name;
use tarflume_table::values::json::put_plain;
use tarflume_table::values::survey::Survey;
use tarflume_table::values::types::ValueKind;
use tarflume_table::{Cell, TableRow};

/// Digits of a number, at most.
const MAX_DIGITS: usize = 64;

/// A text made of fields of a row.
#[derive(Debug)]
pub(super) struct Template {
    /// As it was given.
    text: String,
    pieces: Vec<Piece>,
}

#[derive(Debug)]
enum Piece {
    Literal(String),
    Field {
        field: Field,
        /// Digits to which zeros fill a number; 0 for the value as it is.
        digits: usize,
    },
}

/// A value of a row.
#[derive(Debug)]
struct Field {
    column: usize,
    /// The place in the JSON of the column; `None` for the whole value.
    inside: Option<Pointer>,
}

/// What a field has in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Nothing,
    /// Text or a whole number.
    Name,
    /// A truth value or another number.
    Plain,
    /// A list or an object.
    Json,
}

impl Template {
    /// Parses a template over the columns of a table.
    ///
    /// # Errors
    /// Returns an error for a column that the table lacks, and for unbalanced braces.
    pub(super) fn parse(text: &str, survey: &Survey, path: &Path) -> Result<Template, Failure> {
        let is_column = survey.names.iter().any(|name| name == text);
        if is_column || text.starts_with('/') || !text.contains('{') {
            let pieces = vec![Piece::Field { field: Field::parse(text, survey, path)?, digits: 0 }];
            return Ok(Template { text: text.into(), pieces });
        }
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((literal, after)) = rest.split_once('{') {
            let Some((inner, behind)) = after.split_once('}') else {
                let why = format!("'{text}': the brace before '{after}' is not closed");
                return Err(Failure::usage(why).in_file(path));
            };
            if !literal.is_empty() {
                pieces.push(Piece::Literal(literal.into()));
            }
            let digits = digits_of(inner).filter(|_| !survey.names.iter().any(|n| n == inner));
            let (field, digits) = match digits {
                Some(Digits { name, digits }) => (Field::parse(name, survey, path)?, digits),
                None => (Field::parse(inner, survey, path)?, 0),
            };
            pieces.push(Piece::Field { field, digits });
            rest = behind;
        }
        if !rest.is_empty() {
            pieces.push(Piece::Literal(rest.into()));
        }
        Ok(Template { text: text.into(), pieces })
    }

    /// Returns the template as it was given.
    pub(super) fn given(&self) -> &str {
        &self.text
    }

    /// Returns the column whose whole value it is.
    pub(super) fn column(&self) -> Option<usize> {
        match self.pieces.as_slice() {
            [Piece::Field { field: Field { column, inside: None }, .. }] => Some(*column),
            _ => None,
        }
    }

    /// Checks that its columns have values that can be in the path of a file.
    ///
    /// # Errors
    /// Returns an error that names the column and its type.
    pub(super) fn check_path(&self, survey: &Survey, path: &Path) -> Result<(), Failure> {
        let is_whole = self.column().is_some();
        for piece in &self.pieces {
            let Piece::Field { field, .. } = piece else { continue };
            let kind = survey.types[field.column].kind;
            let fits = match kind {
                ValueKind::String => field.inside.is_none(),
                ValueKind::Int | ValueKind::UInt => !is_whole && field.inside.is_none(),
                ValueKind::List | ValueKind::Object => field.inside.is_some(),
                _ => false,
            };
            if fits {
                continue;
            }
            let name = &survey.names[field.column];
            let word = kind.word();
            let why = if is_whole {
                format!("column '{name}' is {word}, and a path is text")
            } else if field.inside.is_none() {
                let text = &self.text;
                format!(
                    "column '{name}' is {word}, and '{text}' is made of texts and whole numbers"
                )
            } else {
                let text = &self.text;
                format!("column '{name}' is {word}, and '{text}' leads into a list or an object")
            };
            return Err(Failure::usage(why).in_file(path));
        }
        Ok(())
    }

    /// Appends the text as a name: a key or a path. Returns false if a field has no value.
    ///
    /// # Errors
    /// Returns the reason if a field has a value that is no name.
    pub(super) fn name(
        &self,
        row: &TableRow,
        rules: JsonRules,
        out: &mut Vec<u8>,
    ) -> Result<bool, Message> {
        for piece in &self.pieces {
            let (field, digits) = match piece {
                Piece::Literal(text) => {
                    out.extend_from_slice(text.as_bytes());
                    continue;
                }
                Piece::Field { field, digits } => (field, *digits),
            };
            let start = out.len();
            match field.put(row, rules, out) {
                Found::Name if digits > 0 => self.fill(start, digits, out)?,
                Found::Name => {}
                Found::Nothing => return Ok(false),
                Found::Plain | Found::Json => {
                    let text = name::shown(&out[start..]);
                    return Err(message!("'{}': {text} is no text and no whole number", self.text));
                }
            }
            if out.len() == start {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Puts zeros before the number that begins at `start`.
    fn fill(&self, start: usize, digits: usize, out: &mut Vec<u8>) -> Result<(), Message> {
        if !out[start..].iter().all(u8::is_ascii_digit) {
            let text = name::shown(&out[start..]);
            return Err(message!("'{}': '{text}' is no whole number", self.text));
        }
        let zeros = digits.saturating_sub(out.len() - start);
        out.splice(start..start, std::iter::repeat_n(b'0', zeros));
        Ok(())
    }

    /// Appends the text as the content of a part: a list or an object is its JSON, if it is all of the text. Returns
    /// false if a field has no value.
    ///
    /// # Errors
    /// As [`Template::name`].
    pub(super) fn content(
        &self,
        row: &TableRow,
        rules: JsonRules,
        out: &mut Vec<u8>,
    ) -> Result<bool, Message> {
        match self.pieces.as_slice() {
            [Piece::Field { field, digits: 0 }] => {
                Ok(field.put(row, rules, out) != Found::Nothing && !out.is_empty())
            }
            _ => self.name(row, rules, out),
        }
    }
}

/// A field with a number of digits.
struct Digits<'t> {
    name: &'t str,
    digits: usize,
}

/// Splits `image_id:012`.
fn digits_of(inner: &str) -> Option<Digits<'_>> {
    let (name, form) = inner.rsplit_once(':')?;
    let digits = form.strip_prefix('0')?.parse().ok()?;
    (1..=MAX_DIGITS).contains(&digits).then_some(Digits { name, digits })
}

impl Field {
    /// Parses the name of a column, or a pointer whose first step is one.
    fn parse(text: &str, survey: &Survey, path: &Path) -> Result<Field, Failure> {
        if let Some(column) = survey.names.iter().position(|name| name == text) {
            return Ok(Field { column, inside: None });
        }
        let Some(steps) = text.strip_prefix('/') else { return Err(absent(text, survey, path)) };
        let (first, inside) = match steps.split_once('/') {
            Some((first, _)) => (first, Some(&steps[first.len()..])),
            None => (steps, None),
        };
        let first = first.replace("~1", "/").replace("~0", "~");
        let column = survey.names.iter().position(|name| *name == first);
        let column = column.ok_or_else(|| absent(&first, survey, path))?;
        let inside = inside.map(Pointer::parse).transpose();
        let inside = inside.map_err(|why| Failure::usage(why).in_file(path))?;
        Ok(Field { column, inside })
    }

    /// Appends its value in a row.
    fn put(&self, row: &TableRow, rules: JsonRules, out: &mut Vec<u8>) -> Found {
        let cell = row.cell(self.column);
        let text = match cell {
            Cell::List(span) | Cell::Object(span) => row.text(span),
            _ if self.inside.is_some() => return Found::Nothing,
            Cell::Absent | Cell::Null => return Found::Nothing,
            Cell::Bool(_) | Cell::Float(_) => {
                put_plain(cell, out);
                return Found::Plain;
            }
            _ => {
                row.name(self.column, out);
                return Found::Name;
            }
        };
        let Some(pointer) = &self.inside else {
            out.extend_from_slice(text.as_bytes());
            return Found::Json;
        };
        let found = json::find(text.as_bytes(), pointer, rules).ok().flatten();
        let Some(found) = found.map(|range| &text[range]) else { return Found::Nothing };
        match json::parse(found.as_bytes(), rules) {
            Ok(Value::String(text)) => out.extend_from_slice(text.as_bytes()),
            Ok(Value::Number(number)) => {
                out.extend_from_slice(number.as_bytes());
                let is_whole = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
                return if is_whole { Found::Name } else { Found::Plain };
            }
            Ok(Value::Bool(_)) => {
                out.extend_from_slice(found.as_bytes());
                return Found::Plain;
            }
            Ok(Value::Array(_) | Value::Object(_)) => {
                out.extend_from_slice(found.as_bytes());
                return Found::Json;
            }
            Ok(Value::Null) | Err(_) => return Found::Nothing,
        }
        Found::Name
    }
}

/// Returns the error for a column that the table lacks.
fn absent(name: &str, survey: &Survey, path: &Path) -> Failure {
    let shown: Vec<_> = survey.names.iter().take(30).map(|n| format!("'{n}'")).collect();
    let why = format!("there is no column '{name}'; there are {}", shown.join(", "));
    Failure::usage(why).in_file(path)
}

/// Returns the number of the column with a name.
///
/// # Errors
/// Returns an error that lists the columns if there is none.
pub(super) fn column(name: &str, survey: &Survey, path: &Path) -> Result<usize, Failure> {
    let found = survey.names.iter().position(|column| column == name);
    found.ok_or_else(|| absent(name, survey, path))
}

#[cfg(test)]
mod tests {
    use tarflume_base::Stop;
    use tarflume_table::TableOptions;

    use super::*;

    const TABLE: &str = r#"{"id": 42, "path": "a/b", "image": {"file": {"name": "x.png"}, "n": [7]}, "s": 1.5, "e": ""}"#;

    /// The names that templates give in the one row of a table.
    fn named(templates: &[&str]) -> Vec<Result<Option<String>, String>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.jsonl");
        std::fs::write(&path, TABLE).unwrap();
        let options = TableOptions::default();
        let survey = Survey::of(&path, &options, &Stop::default()).unwrap();
        let mut row = TableRow::default();
        tarflume_table::open(&path, &options).unwrap().next(&mut row).unwrap();
        let mut names = Vec::new();
        for template in templates {
            let mut out = Vec::new();
            let parsed = Template::parse(template, &survey, &path).map_err(|e| e.text());
            names.push(parsed.and_then(|template| {
                let found = template.name(&row, JsonRules::default(), &mut out);
                let found = found.map_err(|why| why.text())?;
                Ok(found.then(|| String::from_utf8(out).unwrap()))
            }));
        }
        names
    }

    #[test]
    fn a_template_puts_fields_into_a_text() {
        let names = named(&[
            "path",
            "v/COCO_{id:012}.jpg",
            "{path}/{/image/file/name}",
            "/image/n/0",
            "{id:02}{id:03}",
            "/image/none",
            "{e}x",
        ]);
        let wanted = [
            Some("a/b"),
            Some("v/COCO_000000000042.jpg"),
            Some("a/b/x.png"),
            Some("7"),
            Some("42042"),
            None,
            None,
        ];
        let names: Vec<Option<String>> = names.into_iter().map(Result::unwrap).collect();
        assert_eq!(names, wanted.map(|name| name.map(String::from)));
    }

    #[test]
    fn what_is_no_template_or_no_name_is_refused() {
        let faults = [
            ("none", "there is no column 'none'; there are 'id', 'path'"),
            ("{none}.jpg", "there is no column 'none'"),
            ("/none/x", "there is no column 'none'"),
            ("a{id", "the brace before 'id' is not closed"),
            ("{path:04}", "'a/b' is no whole number"),
            ("{s}", "1.5 is no text and no whole number"),
            ("{/image/file}", "is no text and no whole number"),
        ];
        let named = named(&faults.map(|(template, _)| template));
        for ((template, reason), name) in faults.iter().zip(named) {
            let error = name.unwrap_err();
            assert!(error.contains(reason), "{template}: {error}");
        }
    }
}
