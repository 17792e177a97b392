//! `Class`: an integer in decimal text, the content of WebDataset's `.cls` parts. Pure.

use std::sync::Arc;

use tarflume_dataset::StoredValues;
use tarflume_types::{DType, Error, ErrorKind, Result, Row, RowShape};

use super::stored_number::StoredNumber;
use crate::decode::texts::text::packed;
use crate::decode::values::number::Number;
use crate::decode::{Decode, DecodeHooks, Sample, Scratch};

/// A column of integers: ASCII digits with an optional sign and optional white space around them.
///
/// ```
/// use tarflume::{Class, DType};
///
/// let class = Class::new("cls").dtype(DType::U16); // "42" is 42
/// ```
#[derive(Debug, Clone)]
pub struct Class {
    ext: String,
    dtype: DType,
}

impl Class {
    /// Reads the part `ext` as `i64`.
    pub fn new(ext: impl Into<String>) -> Class {
        Class { ext: ext.into(), dtype: DType::I64 }
    }

    /// Sets the element type. A number outside its range is an error.
    #[must_use]
    pub fn dtype(mut self, dtype: DType) -> Class {
        self.dtype = dtype;
        self
    }
}

impl Decode for Class {
    fn parts(&self) -> Vec<String> {
        vec![self.ext.clone()]
    }

    fn shape(&self) -> RowShape {
        RowShape::Fixed(self.dtype, Vec::new())
    }

    fn hooks(&self) -> Option<&dyn DecodeHooks> {
        Some(self)
    }

    fn decode(&self, sample: &Sample<'_>, mut row: Row<'_>, _: &mut Scratch) -> Result<()> {
        let bytes = sample.part(0).trim_ascii();
        let number = std::str::from_utf8(bytes).ok().and_then(|text| text.parse::<i128>().ok());
        let Some(number) = number else {
            let start = String::from_utf8_lossy(&bytes[..bytes.len().min(20)]);
            let json = match bytes.first() {
                Some(b'{') => "; the number in a part of JSON has a pointer, such as \"/class\"",
                _ => "",
            };
            let text = packed(sample.part(0), &self.ext)
                .unwrap_or_else(|| format!("expected a decimal integer, found {start:?}{json}"));
            return Err(Error::new(ErrorKind::Decode, text));
        };
        let Some((bytes, size)) = Number::Whole(number).encode(self.dtype) else {
            return Err(Error::new(ErrorKind::Decode, Number::Whole(number).misfit(self.dtype)));
        };
        row.put(&bytes[..size])
    }
}

impl DecodeHooks for Class {
    fn value_place(&self) -> Option<(&str, Option<&str>)> {
        Some((&self.ext, None))
    }

    fn with_values(&self, values: StoredValues) -> Option<Arc<dyn Decode>> {
        let is_whole = values.spec().kind.is_whole();
        let stored = StoredNumber::new(values, self.dtype, None, Decode::shape(self))?;
        is_whole.then(|| Arc::new(stored) as Arc<dyn Decode>)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(bytes: &[u8], dtype: DType) -> Result<Vec<u8>> {
        let sample = Sample {
            key: b"a",
            ordinal: 0,
            seed: 0,
            parts: &[("cls", bytes)],
            ..Sample::default()
        };
        let mut row = vec![0; dtype.size()];
        let column = Class::new("cls").dtype(dtype);
        column.decode(&sample, Row::fixed(&mut row), &mut Scratch::default())?;
        Ok(row)
    }

    #[test]
    fn numbers_are_read_and_other_text_is_an_error() {
        assert_eq!(class(b"207\n", DType::I64).unwrap(), 207i64.to_ne_bytes());
        assert_eq!(class(b" -3 ", DType::I16).unwrap(), (-3i16).to_ne_bytes());
        assert_eq!(class(b"+3", DType::U8).unwrap(), [3]);
        for bad in [&b""[..], b"cat", b"1.5", b"1 2", b"\xff", b"0x1f", b"1e3"] {
            let error = class(bad, DType::I64).unwrap_err();
            assert!(error.text().contains("expected a decimal integer"), "{error}");
        }
        let outside = class(b"300", DType::U8).unwrap_err();
        assert!(outside.text().contains("300 is outside the range of uint8"));
        assert!(class(b"99999999999999999999999999999999999999999", DType::I64).is_err());
    }
}
