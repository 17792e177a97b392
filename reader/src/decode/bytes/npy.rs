//! `Npy`: a NumPy array file as a column of fixed or variable rows.
//!
//! `formats` parses the header; this module compares it with the column's type and shape. Converts only the byte
//! order. A TIFF is an array, too: its bands, of any number.

use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_formats::npy::Header;
#[cfg(feature = "tiff")]
use tarflume_image::formats::tiff::bands::{Bands, is_tiff};
use tarflume_types::{DType, Error, ErrorKind, Result, Row, RowShape};

use crate::decode::{Decode, Sample, Scratch};

/// Limit on the memory for decoding a TIFF, in bytes.
#[cfg(feature = "tiff")]
const BANDS_MEMORY: u64 = 4 << 30;

/// A column of arrays. Type and shape must be those of the files; nothing is cast. Arrays in Fortran order are
/// rejected unless the order makes no difference.
///
/// A part that is a TIFF is read as an array of shape `[bands, height, width]`, however its samples are stored; the shape
/// must be given. Needs the feature `tiff`.
///
/// ```
/// use tarflume::{DType, Decode, Npy, RowShape};
///
/// let masks = Npy::new("mask.npy", DType::U8).shape([224, 224]);
/// let tokens = Npy::new("tokens.npy", DType::U16); // one dimension, any length
/// let points = Npy::new("points.npy", DType::F32).tail([3]); // any number of points
/// assert_eq!(Decode::shape(&points), RowShape::Variable(DType::F32));
/// let sentinel = Npy::new("tif", DType::U16).shape([13, 64, 64]); // a TIFF of 13 bands
/// # let _ = (masks, tokens, sentinel);
/// ```
#[derive(Debug, Clone)]
pub struct Npy {
    ext: String,
    dtype: DType,
    /// All dimensions, or those after the first if that is variable.
    dims: Vec<usize>,
    fixed: bool,
}

impl Npy {
    /// Reads the part `ext`: one-dimensional arrays of `dtype` of any length, as a variable column.
    pub fn new(ext: impl Into<String>, dtype: DType) -> Npy {
        Npy { ext: ext.into(), dtype, dims: Vec::new(), fixed: false }
    }

    /// Requires exactly this shape.
    #[must_use]
    pub fn shape(mut self, shape: impl Into<Vec<usize>>) -> Npy {
        (self.dims, self.fixed) = (shape.into(), true);
        self
    }

    /// Requires these dimensions after the first, which is variable: a variable column.
    #[must_use]
    pub fn tail(mut self, dims: impl Into<Vec<usize>>) -> Npy {
        (self.dims, self.fixed) = (dims.into(), false);
        self
    }

    fn check(&self, head: &Header, bytes: &[u8]) -> Result<()> {
        if DType::of_npy(head.dtype) != Some(self.dtype) {
            return Err(fault(format!("expected {}, found {}", self.dtype, head.dtype)));
        }
        let dims = if self.fixed { Some(head.shape()) } else { head.shape().get(1..) };
        let same = dims.is_some_and(|dims| {
            dims.len() == self.dims.len()
                && dims.iter().zip(&self.dims).all(|(&found, &dim)| found == dim as u64)
        });
        if !same {
            let expected = self.expected_shape();
            return Err(fault(format!("expected shape {expected}, found {:?}", head.shape())));
        }
        if head.fortran && head.shape().iter().filter(|&&dim| dim > 1).count() > 1 {
            let text = "it is in Fortran order; save numpy.ascontiguousarray of it";
            return Err(fault(text));
        }
        let found = (bytes.len() as u64).saturating_sub(head.data);
        if found != head.data_bytes() {
            let declared = head.data_bytes();
            return Err(fault(format!(
                "its header declares {declared} bytes of data, {found} follow"
            )));
        }
        Ok(())
    }

    /// Decodes the bands of a TIFF.
    #[cfg(feature = "tiff")]
    fn decode_bands(&self, bytes: &[u8], mut row: Row<'_>) -> Result<()> {
        let bands = Bands::open(bytes)?;
        let found = [bands.bands, bands.size.height as usize, bands.size.width as usize];
        if bands.dtype != self.dtype || !self.fixed || found[..] != self.dims {
            let expected = self.expected_shape();
            return Err(fault(format!(
                "expected {} of shape {expected}, found a TIFF of {} with {} bands: give the shape {found:?}",
                self.dtype, bands.dtype, bands.bands
            )));
        }
        let needed = bands.memory();
        if needed > BANDS_MEMORY {
            let text = format!("a TIFF that needs {needed} bytes to decode, above {BANDS_MEMORY}");
            return Err(Error::new(ErrorKind::Limit, text));
        }
        bands.decode(row.bytes())
    }

    /// The expected shape, for a message.
    fn expected_shape(&self) -> String {
        if self.fixed {
            return format!("{:?}", self.dims);
        }
        let dims: Vec<String> = self.dims.iter().map(|dim| format!(", {dim}")).collect();
        format!("[any{}]", dims.concat())
    }
}

fn fault(text: impl Into<Message>) -> Error {
    Error::new(ErrorKind::Decode, message!("npy array: {text}"; text = text))
}

impl Decode for Npy {
    fn parts(&self) -> Vec<String> {
        vec![self.ext.clone()]
    }

    fn shape(&self) -> RowShape {
        if self.fixed {
            RowShape::Fixed(self.dtype, self.dims.clone())
        } else {
            RowShape::Variable(self.dtype)
        }
    }

    fn decode(&self, sample: &Sample<'_>, mut row: Row<'_>, _: &mut Scratch) -> Result<()> {
        let bytes = sample.part(0);
        #[cfg(feature = "tiff")]
        if is_tiff(bytes) {
            return self.decode_bands(bytes, row);
        }
        let head = Header::parse(bytes).map_err(|e| {
            let at = e.place().byte.unwrap_or(0);
            fault(message!("{told}, at byte {at} of the part"; told = e.message()))
        })?;
        self.check(&head, bytes)?;
        let data = &bytes[head.data as usize..];
        row.put(data)?;
        let size = self.dtype.size();
        if size > 1 && head.dtype.little != cfg!(target_endian = "little") {
            row.bytes()[..data.len()].chunks_exact_mut(size).for_each(<[u8]>::reverse);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tarflume_formats::npy::{Dtype, write_header};

    use super::*;

    fn file(
        kind: char,
        size: u32,
        little: bool,
        fortran: bool,
        shape: &[u64],
        data: &[u8],
    ) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_header(&mut bytes, Dtype { kind, size, little }, fortran, shape).unwrap();
        bytes.extend(data);
        bytes
    }

    fn decode(npy: &Npy, bytes: &[u8]) -> Result<Vec<u8>, String> {
        let sample = Sample {
            key: b"a",
            ordinal: 0,
            seed: 0,
            parts: &[("npy", bytes)],
            ..Sample::default()
        };
        let mut row = vec![0xaa; npy.shape().bytes().unwrap_or(bytes.len())];
        let mut used = row.len();
        let given = match npy.shape() {
            RowShape::Fixed(..) => Row::fixed(&mut row),
            _ => Row::variable(&mut row, &mut used),
        };
        npy.decode(&sample, given, &mut Scratch::default()).map_err(|e| e.to_string())?;
        row.truncate(used);
        Ok(row)
    }

    #[test]
    fn arrays_of_the_promised_type_and_shape_pass() {
        let data = [1u8, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12];
        let little = file('i', 2, true, false, &[2, 3], &data);
        let fixed = Npy::new("npy", DType::I16).shape([2, 3]);
        assert_eq!(decode(&fixed, &little).unwrap(), data);
        assert_eq!(decode(&Npy::new("npy", DType::I16).tail([3]), &little).unwrap(), data);
        let big = file('i', 2, false, false, &[2, 3], &data);
        assert_eq!(decode(&fixed, &big).unwrap(), [2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11]);
        let scalar = file('f', 8, true, false, &[], &[0; 8]);
        assert_eq!(decode(&Npy::new("npy", DType::F64).shape([]), &scalar).unwrap(), [0; 8]);
        let none = file('u', 1, true, false, &[0], &[]);
        assert!(decode(&Npy::new("npy", DType::U8), &none).unwrap().is_empty());
        let column = file('u', 1, true, true, &[1, 3], &[7, 8, 9]);
        assert_eq!(decode(&Npy::new("npy", DType::U8).shape([1, 3]), &column).unwrap(), [7, 8, 9]);
    }

    #[test]
    fn errors_for_other_types_and_shapes_name_both() {
        let bytes = file('f', 4, true, false, &[2, 3], &[0; 24]);
        let single = Npy::new("npy", DType::F32);
        for (npy, reason) in [
            (Npy::new("npy", DType::F64).shape([2, 3]), "expected float64, found <f4"),
            (single.clone().shape([3, 2]), "expected shape [3, 2], found [2, 3]"),
            (single.clone().tail([4]), "expected shape [any, 4], found [2, 3]"),
            (single, "[any]"),
        ] {
            let error = decode(&npy, &bytes).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
        let fortran = file('f', 4, true, true, &[2, 3], &[0; 24]);
        let npy = Npy::new("npy", DType::F32).shape([2, 3]);
        assert!(decode(&npy, &fortran).unwrap_err().contains("ascontiguousarray"));
    }

    #[test]
    fn every_cut_and_every_byte_too_many_is_an_error() {
        let bytes = file('u', 2, true, false, &[5], &[1; 10]);
        for npy in [Npy::new("npy", DType::U16), Npy::new("npy", DType::U16).shape([5])] {
            assert!((0..bytes.len()).all(|length| decode(&npy, &bytes[..length]).is_err()));
            assert!(
                decode(&npy, &[bytes.clone(), vec![0]].concat()).unwrap_err().contains("11 follow")
            );
            assert!(decode(&npy, b"not an array").unwrap_err().contains("byte 0 of the part"));
        }
    }
}
