//! `StoredNumber`: a number or label of a typed column of the sidecars, in place of a JSON or text part.
//!
//! Rows are those of the decoder that it replaces; the part is not read.

use std::collections::HashMap;

use tarflume_dataset::StoredValues;
use tarflume_formats::index::{Value, ValueType};
use tarflume_formats::json::JsonRules;
use tarflume_types::{DType, Error, ErrorKind, Result, Row, RowShape};

use crate::decode::values::json_advice::{Language, no_such_label, no_value, shown};
use crate::decode::values::number::Number;
use crate::decode::{Decode, DecodeHooks, Sample, Scratch};

/// The text of the newest label.
#[derive(Default)]
struct LabelText(Vec<u8>);

/// A column of numbers from the sidecars.
pub(in crate::decode) struct StoredNumber {
    values: StoredValues,
    dtype: DType,
    labels: Option<HashMap<String, i64>>,
    shape: RowShape,
    rules: JsonRules,
    language: Option<Language>,
}

impl StoredNumber {
    /// Returns `None` if the type of the column may give other rows than the parts: a rounded float, or a number where
    /// labels are expected.
    pub(in crate::decode) fn new(
        values: StoredValues,
        dtype: DType,
        labels: Option<&HashMap<String, i64>>,
        shape: RowShape,
    ) -> Option<StoredNumber> {
        let is_same = match values.spec().kind {
            ValueType::Str => labels.is_some(),
            ValueType::F32 => dtype == DType::F32 && labels.is_none(),
            ValueType::F64 => dtype == DType::F64 && labels.is_none(),
            _ => labels.is_none(),
        };
        let labels = labels.cloned();
        let rules = JsonRules::Strict;
        let language = None;
        is_same.then(|| StoredNumber { values, dtype, labels, shape, rules, language })
    }

    /// Sets whether `NaN` and infinite numbers are values, as in the text.
    pub(in crate::decode) fn with_rules(self, rules: JsonRules) -> StoredNumber {
        StoredNumber { rules, ..self }
    }

    /// Sets the language of the calls that errors advise.
    pub(in crate::decode) fn with_language(self, language: Option<Language>) -> StoredNumber {
        StoredNumber { language, ..self }
    }

    fn no_label(&self, text: &str) -> String {
        match &self.labels {
            Some(labels) => no_such_label(text, labels),
            None => format!("expected a number, found the text {}", shown(text)),
        }
    }

    fn fault(&self, what: &str) -> Error {
        let text = format!("column '{}' of the sidecar: {what}", self.values.spec().name);
        Error::new(ErrorKind::Decode, text)
    }

    fn number(&self, value: Option<Value<'_>>) -> Result<Number> {
        Ok(match value {
            Some(Value::Whole(number)) => Number::Whole(number),
            Some(Value::Float(number))
                if !number.is_finite() && self.rules == JsonRules::Strict =>
            {
                let what =
                    format!("{number} is not a number of JSON; give Json(..., rules=\"python\")");
                return Err(self.fault(&what));
            }
            Some(Value::Float(number)) => Number::Real(number),
            Some(Value::Bool(flag)) => Number::Whole(flag.into()),
            Some(Value::Text(text)) => match self.labels.as_ref().and_then(|all| all.get(text)) {
                Some(&label) => Number::Whole(label.into()),
                None => return Err(self.fault(&self.no_label(text))),
            },
            None => return Err(self.fault(&no_value(&[], self.language))),
        })
    }
}

impl Decode for StoredNumber {
    fn parts(&self) -> Vec<String> {
        Vec::new()
    }

    fn shape(&self) -> RowShape {
        self.shape.clone()
    }

    fn hooks(&self) -> Option<&dyn DecodeHooks> {
        Some(self)
    }

    fn decode(&self, sample: &Sample<'_>, mut row: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        let text = &mut scratch.get::<LabelText>().0;
        let number = self.number(self.values.of(sample.ordinal, text)?)?;
        let Some((bytes, size)) = number.encode(self.dtype) else {
            return Err(self.fault(&number.misfit(self.dtype)));
        };
        row.put(&bytes[..size])
    }
}

impl DecodeHooks for StoredNumber {
    fn copied_from(&self) -> Option<&str> {
        Some(&self.values.spec().ext)
    }
}
