//! `Columns`: the typed columns of sidecars, and their values in the bytes of parts.
//!
//! Reads nothing: the caller passes the bytes of the parts that have values.

use tarflume_formats::Index;
use tarflume_formats::index::{ColumnSpec, Value, ValueType};
use tarflume_formats::json::{self, JsonRules, Number, Value as Json};
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_formats::plan::PlanFoot;

use crate::check::Fault;
use crate::failure::Failure;
use crate::options::json_rules;
use crate::problem::ProblemKind;

/// The typed columns of a shard.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Columns {
    specs: Vec<ColumnSpec>,
    rules: JsonRules,
}

impl Columns {
    /// Parses `class:u32,split:str`; see [`ColumnSpec::parse`].
    ///
    /// # Errors
    /// Returns an error that shows the expected form.
    pub fn parse(text: &str) -> Result<Columns, Failure> {
        let specs = ColumnSpec::parse_all(text);
        let specs = specs
            .map_err(|why| Failure::usage(message!("{columns}: {why}"; columns = Name::Columns)))?;
        Ok(Columns { specs, rules: JsonRules::Strict })
    }

    /// Returns the columns with their values in JSON by these rules.
    #[must_use]
    pub fn with_rules(self, rules: JsonRules) -> Columns {
        Columns { rules, ..self }
    }

    /// Returns the typed columns of a sidecar.
    ///
    /// # Errors
    /// Returns an error if the sidecar is damaged.
    pub fn of(index: &Index) -> tarflume_formats::Result<Columns> {
        let specs = index.columns()?.iter().map(|column| column.spec().clone()).collect();
        Ok(Columns { specs, rules: JsonRules::Strict })
    }

    /// Returns the typed columns of a plan.
    ///
    /// # Errors
    /// Returns an error for a type that this version does not know.
    pub fn of_plan(foot: &PlanFoot) -> Result<Columns, Failure> {
        let text = foot.options.get("columns").and_then(|text| text.as_str());
        let specs = ColumnSpec::parse_all(text.unwrap_or_default());
        let specs =
            specs.map_err(|why| Failure::bad_data(format!("the columns of the plan: {why}")))?;
        Ok(Columns { specs, rules: json_rules::of_options(&foot.options) })
    }

    /// Returns the text of each column, for the manifest.
    pub fn texts(&self) -> Vec<String> {
        self.specs.iter().map(ToString::to_string).collect()
    }

    /// Returns the columns that all of these have, in the order of the first.
    pub fn shared<'a>(all: impl IntoIterator<Item = &'a Columns>) -> Columns {
        let mut all = all.into_iter();
        let mut shared = all.next().cloned().unwrap_or_default();
        for other in all {
            shared.specs.retain(|spec| other.specs.contains(spec));
        }
        shared
    }

    /// Returns the text that [`Columns::parse`] reads; `None` without columns.
    pub fn planned(&self) -> Option<String> {
        (!self.specs.is_empty()).then(|| ColumnSpec::to_text(&self.specs))
    }

    /// Adds a column, unless it is there.
    ///
    /// # Errors
    /// Returns a sentence if there is another column of this name.
    pub fn add(&mut self, spec: ColumnSpec) -> Result<(), String> {
        match self.specs.iter().find(|known| known.name == spec.name) {
            None => self.specs.push(spec),
            Some(known) if *known == spec => {}
            Some(known) => return Err(format!("column '{spec}' here is '{known}' elsewhere")),
        }
        Ok(())
    }

    /// Returns which texts are JSON.
    pub fn rules(&self) -> JsonRules {
        self.rules
    }

    /// Returns names, types and places.
    pub fn specs(&self) -> &[ColumnSpec] {
        &self.specs
    }

    /// Returns true without columns.
    pub fn is_empty(&self) -> bool {
        self.specs.is_empty()
    }

    /// Returns true if a column has its values in parts with this extension.
    pub fn is_in(&self, ext: &[u8]) -> bool {
        self.specs.iter().any(|spec| spec.ext.as_bytes() == ext)
    }

    /// Calls `put` with the number and the value of each column whose values are in parts with this extension. A
    /// column without a value is left out.
    ///
    /// # Errors
    /// Returns the first fault of [`Columns::each`].
    pub fn read(
        &self,
        ext: &[u8],
        bytes: &[u8],
        mut put: impl FnMut(usize, Value<'_>),
    ) -> Result<(), Fault> {
        let mut first = Ok(());
        self.each(ext, bytes, |number, found| match found {
            Ok(Some(value)) => put(number, value),
            Ok(None) => {}
            Err(fault) if first.is_ok() => first = Err(fault),
            Err(_) => {}
        });
        first
    }

    /// Calls `visit` with the number and the value of each column whose values are in parts with this extension; with
    /// a fault if the value does not have the type of its column. A JSON that cannot be parsed is one fault.
    pub fn each(
        &self,
        ext: &[u8],
        bytes: &[u8],
        mut visit: impl FnMut(usize, Result<Option<Value<'_>>, Fault>),
    ) {
        let mut json = None;
        for (number, spec) in
            self.specs.iter().enumerate().filter(|(_, spec)| spec.ext.as_bytes() == ext)
        {
            let Some(pointer) = &spec.pointer else {
                visit(number, whole(bytes, spec, self.rules));
                continue;
            };
            if json.is_none() {
                match json::parse(bytes, self.rules) {
                    Ok(parsed) => json = Some(parsed),
                    Err(fault) => {
                        visit(number, Err(Fault::of_json(&fault)));
                        json = Some(Json::Null);
                        continue;
                    }
                }
            }
            let value = json.as_ref().and_then(|json| json.pointer(pointer));
            let value = value.filter(|value| !value.is_null());
            visit(number, value.map(|value| typed(value, spec)).transpose());
        }
    }
}

fn fault(spec: &ColumnSpec, why: impl std::fmt::Display) -> Fault {
    let reason = message!("column '{}': {why}; change {columns} or the sample", spec.name; columns = Name::Columns);
    Fault { kind: ProblemKind::Schema, byte: 0, reason }
}

/// Returns the value of a JSON as one of the column's type.
fn typed<'v>(value: &'v Json, spec: &ColumnSpec) -> Result<Value<'v>, Fault> {
    let found = match value {
        Json::Bool(value) => Value::Bool(*value),
        Json::String(text) => Value::Text(text),
        Json::Number(text) => match value.as_number().map(|found| number(found, spec.kind)) {
            Some(Ok(found)) => found,
            _ => return Err(rounded(spec, text)),
        },
        Json::Array(_) => return Err(fault(spec, "its value is an array")),
        Json::Object(_) => return Err(fault(spec, "its value is an object")),
        Json::Null => return Err(fault(spec, "its value is null")),
    };
    spec.kind.take(found).map_err(|why| fault(spec, why))
}

/// A number would be rounded.
struct Rounded;

/// Returns a number for a column of this type: as a whole one where it is whole, and as the float that it stands for.
fn number(number: Number<'_>, kind: ValueType) -> Result<Value<'static>, Rounded> {
    if (number.is_integer() || kind.is_whole())
        && let Some(whole) = number.whole()
    {
        return Ok(Value::Whole(whole));
    }
    match kind {
        // A column of narrow floats asks for the nearest ones.
        ValueType::F32 if !number.is_integer() => {
            let near = f64::from(number.nearest_single());
            if near.is_finite() || number.is_special() {
                Ok(Value::Float(near))
            } else {
                Err(Rounded)
            }
        }
        _ => number.real().map(Value::Float).ok_or(Rounded),
    }
}

fn rounded(spec: &ColumnSpec, text: &str) -> Fault {
    let kind = spec.kind.word();
    fault(spec, format!("{text:.60} would be rounded or is outside the range of {kind}"))
}

/// Returns the content of a whole part as a value of the column's type; `None` if it is blank.
fn whole<'v>(
    bytes: &'v [u8],
    spec: &ColumnSpec,
    rules: JsonRules,
) -> Result<Option<Value<'v>>, Fault> {
    let text = std::str::from_utf8(bytes).map_err(|e| Fault {
        byte: e.valid_up_to() as u64,
        ..fault(spec, "the part is not UTF-8")
    })?;
    if spec.kind == ValueType::Str {
        return Ok(Some(Value::Text(text)));
    }
    let text = text.trim();
    let found = match (text, Number::lenient(text, rules)) {
        ("", _) => return Ok(None),
        ("true" | "false", _) => Value::Bool(text == "true"),
        (_, None) => Value::Text(text),
        (_, Some(found)) => number(found, spec.kind).map_err(|_| rounded(spec, text))?,
    };
    spec.kind.take(found).map(Some).map_err(|why| fault(spec, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(columns: &str, ext: &str, bytes: &[u8]) -> Result<Vec<(usize, String)>, String> {
        let mut found = Vec::new();
        let columns = Columns::parse(columns).unwrap();
        columns
            .read(ext.as_bytes(), bytes, |number, value| found.push((number, value.to_string())))
            .map(|()| found)
            .map_err(|fault| format!("{} {}: {}", fault.kind, fault.byte, fault.reason.text()))
    }

    fn one(number: usize, text: &str) -> (usize, String) {
        (number, text.to_string())
    }

    #[test]
    fn values_are_read_from_json_and_from_parts() {
        let json = br#"{"class": 3, "split": "train", "score": 1, "ok": true, "none": null, "a": {"b": [7.5]}}"#;
        let columns =
            "class:u8,split:str,score:f32,ok:bool,none:u8,absent:str,deep=/a/b/0:f64,cls=cls:i16";
        let expected =
            [one(0, "3"), one(1, "\"train\""), one(2, "1"), one(3, "true"), one(6, "7.5")];
        assert_eq!(read(columns, "json", json).unwrap(), expected);
        assert_eq!(read(columns, "cls", b" -7\n").unwrap(), [one(7, "-7")]);
        assert_eq!(read(columns, "cls", b"\n").unwrap(), []);
        assert_eq!(read(columns, "jpg", b"?").unwrap(), []);
        assert_eq!(read("t=txt:str", "txt", b"two\nlines").unwrap(), [one(0, "\"two\\nlines\"")]);
    }

    #[test]
    fn a_value_of_another_type_is_a_fault_that_names_the_column() {
        for (columns, bytes, why) in [
            ("a:u8", r#"{"a": 256}"#, "schema 0: column 'a': 256 is outside the range of u8"),
            ("a:u8", r#"{"a": "7"}"#, "\"7\" is not of type u8"),
            ("a:str", r#"{"a": 7}"#, "7 is not of type str"),
            ("a:str", r#"{"a": ["x"]}"#, "its value is an array"),
            ("a:str", "{\"a\":\n x}", "bad-json"),
        ] {
            let error = read(columns, "json", bytes.as_bytes()).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        assert!(read("a=cls:u8", "cls", b"cat").unwrap_err().contains("\"cat\" is not of type u8"));
        assert!(read("a=cls:str", "cls", b"ab\xff").unwrap_err().starts_with("schema 2"));
        assert!(Columns::parse("a").unwrap_err().text().contains("--columns: 'a'"));
    }
}
