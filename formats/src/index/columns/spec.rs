//! `ColumnSpec`: name, type and place of a column's values.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::errors::error::{Error, ErrorKind};
use crate::index::layout as l;
use crate::text::words::words;

/// The type of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ValueType {
    /// True or false.
    Bool,
    /// Unsigned, 1 byte.
    U8,
    /// Signed, 1 byte.
    I8,
    /// Unsigned, 2 bytes.
    U16,
    /// Signed, 2 bytes.
    I16,
    /// Unsigned, 4 bytes.
    U32,
    /// Signed, 4 bytes.
    I32,
    /// Unsigned, 8 bytes.
    U64,
    /// Signed, 8 bytes.
    I64,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
    /// UTF-8 text.
    Str,
}

words!(ValueType, "the type of a column");

impl ValueType {
    /// All types, in the order of their codes in a sidecar.
    pub const ALL: [ValueType; 12] = [
        ValueType::Bool,
        ValueType::U8,
        ValueType::I8,
        ValueType::U16,
        ValueType::I16,
        ValueType::U32,
        ValueType::I32,
        ValueType::U64,
        ValueType::I64,
        ValueType::F32,
        ValueType::F64,
        ValueType::Str,
    ];

    /// Returns its name, as `--columns` takes it.
    pub fn word(self) -> &'static str {
        match self {
            ValueType::Bool => "bool",
            ValueType::U8 => "u8",
            ValueType::I8 => "i8",
            ValueType::U16 => "u16",
            ValueType::I16 => "i16",
            ValueType::U32 => "u32",
            ValueType::I32 => "i32",
            ValueType::U64 => "u64",
            ValueType::I64 => "i64",
            ValueType::F32 => "f32",
            ValueType::F64 => "f64",
            ValueType::Str => "str",
        }
    }

    /// Returns the bytes of a number; `None` for `bool`, a bit, and for `str`.
    pub fn size(self) -> Option<usize> {
        match self {
            ValueType::Bool | ValueType::Str => None,
            ValueType::U8 | ValueType::I8 => Some(1),
            ValueType::U16 | ValueType::I16 => Some(2),
            ValueType::U32 | ValueType::I32 | ValueType::F32 => Some(4),
            ValueType::U64 | ValueType::I64 | ValueType::F64 => Some(8),
        }
    }

    /// Returns true for whole numbers.
    pub fn is_whole(self) -> bool {
        self.size().is_some() && !matches!(self, ValueType::F32 | ValueType::F64)
    }

    /// Returns the number in the first bytes of `bytes`, as a sidecar has it.
    pub(in crate::index) fn number(self, bytes: [u8; 8]) -> Value<'static> {
        let [a, b, c, d, ..] = bytes;
        match self {
            ValueType::I8 => Value::Whole(i8::from_le_bytes([a]).into()),
            ValueType::U16 => Value::Whole(u16::from_le_bytes([a, b]).into()),
            ValueType::I16 => Value::Whole(i16::from_le_bytes([a, b]).into()),
            ValueType::U32 => Value::Whole(u32::from_le_bytes([a, b, c, d]).into()),
            ValueType::I32 => Value::Whole(i32::from_le_bytes([a, b, c, d]).into()),
            ValueType::U64 => Value::Whole(u64::from_le_bytes(bytes).into()),
            ValueType::I64 => Value::Whole(i64::from_le_bytes(bytes).into()),
            ValueType::F32 => Value::Float(f32::from_le_bytes([a, b, c, d]).into()),
            ValueType::F64 => Value::Float(f64::from_le_bytes(bytes)),
            ValueType::Bool | ValueType::U8 | ValueType::Str => Value::Whole(a.into()),
        }
    }

    /// Returns the code of the type in a sidecar.
    pub(super) fn code(self) -> u8 {
        let position = ValueType::ALL.iter().position(|&kind| kind == self);
        position.expect("all types are listed") as u8
    }

    /// Returns the least and the largest whole number.
    fn limits(self) -> (i128, i128) {
        match self {
            ValueType::U8 => (0, u8::MAX.into()),
            ValueType::I8 => (i8::MIN.into(), i8::MAX.into()),
            ValueType::U16 => (0, u16::MAX.into()),
            ValueType::I16 => (i16::MIN.into(), i16::MAX.into()),
            ValueType::U32 => (0, u32::MAX.into()),
            ValueType::I32 => (i32::MIN.into(), i32::MAX.into()),
            ValueType::U64 => (0, u64::MAX.into()),
            ValueType::I64 => (i64::MIN.into(), i64::MAX.into()),
            ValueType::Bool | ValueType::F32 | ValueType::F64 | ValueType::Str => (0, -1),
        }
    }

    /// Returns the value as one of this type.
    ///
    /// # Errors
    /// Returns a sentence if the value has another type, is outside the range of this one, or is a whole number that a
    /// float would round.
    pub fn take<'a>(self, value: Value<'a>) -> Result<Value<'a>, String> {
        match (self, value) {
            (ValueType::Bool, Value::Bool(_)) | (ValueType::Str, Value::Text(_)) => Ok(value),
            (ValueType::F64, Value::Float(_)) => Ok(value),
            (ValueType::F64 | ValueType::F32, Value::Whole(number)) => {
                let float = match self {
                    ValueType::F32 => f64::from(number as f32),
                    _ => number as f64,
                };
                // The largest whole number would be rounded to one that is cut back to it.
                if float as i128 == number && number != i128::MAX {
                    Ok(Value::Float(float))
                } else {
                    Err(format!("{value} would be rounded in {}", self.word()))
                }
            }
            (ValueType::F32, Value::Float(number)) => {
                let single = number as f32;
                if single.is_finite() || !number.is_finite() {
                    Ok(Value::Float(single.into()))
                } else {
                    Err(format!("{value} is outside the range of f32"))
                }
            }
            (kind, Value::Whole(number)) if kind.is_whole() => {
                let (least, most) = kind.limits();
                if (least..=most).contains(&number) {
                    Ok(value)
                } else {
                    Err(format!("{value} is outside the range of {}", kind.word()))
                }
            }
            (kind, Value::Float(number)) if kind.is_whole() => {
                // 3.0 is a whole number in JSON; above 2^53 not every one can be written so.
                if number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0 {
                    kind.take(Value::Whole(number as i128))
                } else {
                    self.refuse_type(value)
                }
            }
            _ => self.refuse_type(value),
        }
    }

    fn refuse_type<'a>(self, value: Value<'_>) -> Result<Value<'a>, String> {
        Err(format!("{value} is not of type {}", self.word()))
    }
}

/// The value of a sample in a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// Of type `bool`.
    Bool(bool),
    /// Of a type of whole numbers.
    Whole(i128),
    /// Of type `f32` or `f64`.
    Float(f64),
    /// Of type `str`.
    Text(&'a str),
}

impl fmt::Display for Value<'_> {
    /// Writes the value as JSON has it; a long text is cut.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(value) => write!(f, "{value}"),
            Value::Whole(value) => write!(f, "{value}"),
            Value::Float(value) => write!(f, "{value}"),
            Value::Text(text) => match text.char_indices().nth(60) {
                None => write!(f, "{text:?}"),
                Some((end, _)) => write!(f, "{:?}...", &text[..end]),
            },
        }
    }
}

/// A value that owns its text.
#[derive(Debug, Clone, PartialEq)]
pub enum OwnedValue {
    /// A value without text.
    Plain(Value<'static>),
    /// Of type `str`.
    Text(String),
}

impl OwnedValue {
    /// Returns the value, borrowed.
    pub fn borrowed(&self) -> Value<'_> {
        match self {
            OwnedValue::Plain(value) => *value,
            OwnedValue::Text(text) => Value::Text(text),
        }
    }
}

impl From<Value<'_>> for OwnedValue {
    fn from(value: Value<'_>) -> OwnedValue {
        match value {
            Value::Bool(value) => OwnedValue::Plain(Value::Bool(value)),
            Value::Whole(value) => OwnedValue::Plain(Value::Whole(value)),
            Value::Float(value) => OwnedValue::Plain(Value::Float(value)),
            Value::Text(text) => OwnedValue::Text(text.into()),
        }
    }
}

/// A column: its name, its type, and where its values are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ColumnSpec {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub kind: ValueType,
    /// The extension of the part that has the value.
    pub ext: String,
    /// The JSON pointer in that part; `None` if the part is the value.
    pub pointer: Option<String>,
}

/// As [`ColumnSpec::parse`].
impl FromStr for ColumnSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<ColumnSpec, Error> {
        ColumnSpec::parse(text).map_err(|text| Error::new(ErrorKind::WrongFormat, text))
    }
}

impl Serialize for ColumnSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ColumnSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ColumnSpec, D::Error> {
        let text = String::deserialize(deserializer)?;
        ColumnSpec::parse(&text).map_err(D::Error::custom)
    }
}

fn form(text: &str) -> String {
    format!(
        "'{text}': give NAME:TYPE, NAME=EXT:/FIELD:TYPE or NAME=EXT:TYPE, such as class:u32 or \
         caption=txt:str"
    )
}

/// Returns true if the length of the text fits the description of columns.
fn is_short(text: &str) -> bool {
    !text.is_empty() && text.len() < usize::from(u16::MAX)
}

impl ColumnSpec {
    /// Parses `NAME:TYPE`, the field `/NAME` of the part `json`, or `NAME=EXT:/FIELD:TYPE`, `NAME=/FIELD:TYPE`,
    /// `NAME=EXT:TYPE`.
    ///
    /// # Errors
    /// Returns a sentence that shows the expected form.
    pub fn parse(text: &str) -> Result<ColumnSpec, String> {
        let (place, kind) = text.trim().rsplit_once(':').ok_or_else(|| form(text))?;
        let kind =
            ValueType::ALL.into_iter().find(|known| known.word() == kind).ok_or_else(|| {
                let known = ValueType::ALL.map(ValueType::word).join(", ");
                format!("'{text}': the type '{kind}' is none of {known}")
            })?;
        let (name, place) = match place.split_once('=') {
            None => (place, None),
            Some((name, place)) => (name, Some(place)),
        };
        let (ext, pointer) = match place {
            None => ("json", Some(format!("/{}", name.replace('~', "~0").replace('/', "~1")))),
            Some(pointer) if pointer.starts_with('/') => ("json", Some(pointer.into())),
            Some(place) => match place.split_once(':') {
                None => (place, None),
                Some((ext, pointer)) if pointer.starts_with('/') => (ext, Some(pointer.into())),
                Some(_) => return Err(form(text)),
            },
        };
        let ext = ext.trim_start_matches('.').to_ascii_lowercase();
        let fits = is_short(name) && is_short(&ext) && pointer.as_deref().is_none_or(is_short);
        if !fits || ext.contains('/') {
            return Err(form(text));
        }
        Ok(ColumnSpec { name: name.into(), kind, ext, pointer })
    }

    /// Parses columns with commas between them.
    ///
    /// # Errors
    /// As [`ColumnSpec::parse`], if a name comes twice, and if there are more than 4,096.
    pub fn parse_all(text: &str) -> Result<Vec<ColumnSpec>, String> {
        let mut columns: Vec<ColumnSpec> = Vec::new();
        for word in text.split(',').filter(|word| !word.trim().is_empty()) {
            let column = ColumnSpec::parse(word)?;
            if columns.iter().any(|other| other.name == column.name) {
                return Err(format!("two columns have the name '{}'", column.name));
            }
            columns.push(column);
        }
        if columns.len() <= l::MAX_COLUMNS {
            Ok(columns)
        } else {
            Err(format!("{} columns are too many; at most {}", columns.len(), l::MAX_COLUMNS))
        }
    }

    /// Returns the text that [`ColumnSpec::parse_all`] reads, for several columns.
    pub fn to_text(columns: &[ColumnSpec]) -> String {
        columns.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
    }
}

impl fmt::Display for ColumnSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ColumnSpec { name, kind, ext, pointer } = self;
        match pointer {
            Some(pointer) => write!(f, "{name}={ext}:{pointer}:{}", kind.word()),
            None => write!(f, "{name}={ext}:{}", kind.word()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_parsed_and_written() {
        fn text(text: &str) -> String {
            ColumnSpec::to_text(&ColumnSpec::parse_all(text).unwrap())
        }
        assert_eq!(text("class:u32, split:str"), "class=json:/class:u32,split=json:/split:str");
        assert_eq!(text("a/b:bool"), "a/b=json:/a~1b:bool");
        assert_eq!(text("c=/x/0:f32,d=.CLS:i64"), "c=json:/x/0:f32,d=cls:i64");
        assert_eq!(text("w=meta.json:/w:u16"), text(&text("w=meta.json:/w:u16")));
        assert_eq!(text(""), "");
        let many: Vec<String> = (0..=l::MAX_COLUMNS).map(|n| format!("c{n}:u8")).collect();
        assert!(ColumnSpec::parse_all(&many[1..].join(",")).is_ok());
        assert!(ColumnSpec::parse_all(&many.join(",")).unwrap_err().contains("too many"));
        for (wrong, said) in [
            ("class", "NAME:TYPE"),
            (":u8", "NAME:TYPE"),
            ("a=:u8", "NAME:TYPE"),
            ("a=json:b:u8", "NAME:TYPE"),
            ("a=b/c:u8", "NAME:TYPE"),
            ("class:int", "is none of bool, u8"),
            ("a:u8,a=/b:str", "two columns have the name 'a'"),
        ] {
            let error = ColumnSpec::parse_all(wrong).unwrap_err();
            assert!(error.contains(said), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_value_is_taken_if_its_type_has_it() {
        use Value::{Bool, Float, Text, Whole};
        assert_eq!(ValueType::U8.take(Whole(255)), Ok(Whole(255)));
        assert_eq!(ValueType::I8.take(Float(-128.0)), Ok(Whole(-128)));
        assert_eq!(ValueType::U64.take(Whole(u64::MAX.into())), Ok(Whole(u64::MAX.into())));
        assert_eq!(ValueType::F32.take(Whole(3)), Ok(Float(3.0)));
        assert_eq!(ValueType::F64.take(Float(0.1)), Ok(Float(0.1)));
        assert_eq!(ValueType::Bool.take(Bool(true)), Ok(Bool(true)));
        assert_eq!(ValueType::Str.take(Text("a")), Ok(Text("a")));
        for (kind, value, why) in [
            (ValueType::U8, Whole(256), "256 is outside the range of u8"),
            (ValueType::U32, Whole(-1), "outside the range of u32"),
            (ValueType::U32, Float(0.5), "0.5 is not of type u32"),
            (ValueType::F32, Float(1e300), "outside the range of f32"),
            (ValueType::Bool, Whole(1), "1 is not of type bool"),
            (ValueType::U8, Text("7"), "\"7\" is not of type u8"),
            (ValueType::Str, Whole(7), "7 is not of type str"),
            (ValueType::F32, Whole(16_777_217), "16777217 would be rounded in f32"),
            (ValueType::F64, Whole((1 << 53) + 1), "9007199254740993 would be rounded in f64"),
            (ValueType::F64, Whole(i128::MAX), "would be rounded in f64"),
        ] {
            let error = kind.take(value).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
