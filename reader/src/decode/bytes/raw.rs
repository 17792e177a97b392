//! `Raw`: the unchanged bytes of a part. Validates only their length.

use tarflume_types::{DType, Error, ErrorKind, Result, Row, RowShape};

use crate::decode::{Decode, DecodeHooks, Sample, Scratch};

/// A column of bytes, or of elements that the file stores in the machine's representation (little-endian).
///
/// Without type and shape, a part that `dataset.json` describes as an array (`x.raw` of `pack build npy:x.npy`) becomes
/// a column of its type and shape; `.dtype(DType::U8)` gives its bytes.
///
/// ```
/// use tarflume::{DType, Raw};
///
/// let bytes = Raw::new("bin"); // rows of any length
/// let vectors = Raw::new("emb").dtype(DType::F32).shape([768]); // 3,072 bytes each
/// ```
#[derive(Debug, Clone)]
pub struct Raw {
    ext: String,
    shape: RowShape,
    optional: bool,
    /// Type or shape was given.
    given: bool,
}

impl Raw {
    /// Reads the part `ext` of any length, as a variable column of bytes.
    pub fn new(ext: impl Into<String>) -> Raw {
        Raw { ext: ext.into(), shape: RowShape::Variable(DType::U8), optional: false, given: false }
    }

    /// Interprets the bytes as elements of type `dtype`.
    #[must_use]
    pub fn dtype(mut self, dtype: DType) -> Raw {
        self.shape = match self.shape {
            RowShape::Fixed(_, shape) => RowShape::Fixed(dtype, shape),
            _ => RowShape::Variable(dtype),
        };
        self.given = true;
        self
    }

    /// Requires parts of exactly this shape.
    #[must_use]
    pub fn shape(mut self, shape: impl Into<Vec<usize>>) -> Raw {
        self.shape = RowShape::Fixed(self.shape.dtype(), shape.into());
        self.given = true;
        self
    }

    /// Accepts samples without the part. Their rows have no bytes.
    #[must_use]
    pub fn allow_missing(mut self) -> Raw {
        self.optional = true;
        self
    }
}

impl Decode for Raw {
    fn parts(&self) -> Vec<String> {
        vec![self.ext.clone()]
    }

    fn shape(&self) -> RowShape {
        self.shape.clone()
    }

    fn optional(&self) -> bool {
        self.optional
    }

    fn decode(&self, sample: &Sample<'_>, mut row: Row<'_>, _: &mut Scratch) -> Result<()> {
        let bytes = sample.part(0);
        let size = self.shape.dtype().size();
        match self.shape.bytes() {
            Some(expected) if expected != bytes.len() => {
                let text = format!("expected {expected} bytes, the part has {}", bytes.len());
                Err(Error::new(ErrorKind::Decode, text))
            }
            None if !bytes.len().is_multiple_of(size) => {
                let text = format!("{} bytes are not whole elements of {size} bytes", bytes.len());
                Err(Error::new(ErrorKind::Decode, text))
            }
            _ if self.shape.dtype() == DType::Bool && bytes.iter().any(|&byte| byte > 1) => {
                Err(Error::new(ErrorKind::Decode, "a byte of a bool is neither 0 nor 1"))
            }
            _ => row.put(bytes),
        }
    }

    fn hooks(&self) -> Option<&dyn DecodeHooks> {
        Some(self)
    }
}

impl DecodeHooks for Raw {
    fn copies(&self) -> bool {
        true
    }

    fn undescribed(&self) -> Option<&str> {
        (!self.given).then_some(&self.ext)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(raw: &Raw, bytes: &[u8]) -> Option<String> {
        let sample = Sample {
            key: b"a",
            ordinal: 0,
            seed: 0,
            parts: &[("bin", bytes)],
            ..Sample::default()
        };
        let mut row = vec![0; raw.shape.bytes().unwrap_or(bytes.len())];
        let mut used = 0;
        let given = match raw.shape {
            RowShape::Fixed(..) => Row::fixed(&mut row),
            _ => Row::variable(&mut row, &mut used),
        };
        let result = raw.decode(&sample, given, &mut Scratch::default());
        assert!(result.is_err() || row == bytes);
        result.err().map(|e| e.text().to_string())
    }

    #[test]
    fn bytes_pass_unchanged_and_other_lengths_are_errors() {
        assert_eq!(refusal(&Raw::new("bin"), b"\xff\x00any"), None);
        let pair = Raw::new("bin").dtype(DType::F32).shape([2]);
        assert_eq!(refusal(&pair, &[7; 8]), None);
        assert!(refusal(&pair, &[7; 9]).unwrap().contains("expected 8 bytes, the part has 9"));
        let floats = Raw::new("bin").dtype(DType::F32);
        assert_eq!(refusal(&floats, &[7; 12]), None);
        let truths = Raw::new("bin").dtype(DType::Bool).shape([2]);
        assert_eq!(refusal(&truths, &[0, 1]), None);
        assert!(refusal(&truths, &[0, 2]).unwrap().contains("neither 0 nor 1"));
        assert!(refusal(&floats, &[7; 13]).unwrap().contains("not whole elements"));
    }
}
