//! `raw:data_batch_*.bin?record=label:u1,image:3x32x32u1`: files of records of several arrays, as CIFAR has them.
//!
//! Files follow one another: each is records to its end.

use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::Place;
use tarflume_formats::number_kind::NumberKind;

use super::{RECORD, after_offset, array_type, offset, open};
use crate::rows::Listing;
use crate::rows::columns::array_names::ArrayNames;
use crate::rows::formats::npy::array::{Array, Origin};
use crate::rows::formats::npy::listed::{ArrayFile, FileKind, rows};
use crate::rows::places::row_cells::RowPlaces;
use crate::rows::url::SourceUrl;

/// The name of bytes that are not packed.
const UNUSED: &str = "_";

/// One array of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Field {
    name: String,
    kind: NumberKind,
    row: Vec<u64>,
    /// Its first byte in a record, and its bytes.
    at: u64,
    size: u64,
}

/// The arrays of a record, in the order of their bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Record {
    fields: Vec<Field>,
    size: u64,
}

/// Lists the records of the files of one source.
///
/// # Errors
/// Returns an error for a malformed `record=`, and for a file that is not a whole number of records.
pub(super) fn list(source: &SourceUrl, listing: Listing<'_, '_>) -> Result<(), Failure> {
    for (option, value) in &source.options {
        if matches!(option.as_str(), "dtype" | "shape") {
            return Err(Failure::usage(format!(
                "raw: record= has the type and the shape of each array, so '{option}={value}' is of none"
            )));
        }
    }
    let record = Record::of(source.option(RECORD).unwrap_or_default())?;
    let names = ArrayNames::of(source, |option| matches!(option, RECORD | "offset"))?;
    let own = record.fields.iter().filter(|field| field.name != UNUSED);
    names.check(&own.map(|field| vec![field.name.as_str()]).collect::<Vec<_>>())?;
    let Listing { root, builder, watch } = listing;
    for (n, path) in source.files.iter().enumerate() {
        let first = offset(source.option("offset"), path)?;
        let mut arrays = record.arrays(path, first)?;
        for array in &mut arrays {
            array.named(&names, &[])?;
        }
        let root = root + n as u32;
        let file =
            ArrayFile { root, path: path.clone(), kind: FileKind::Plain, split: None, arrays };
        rows(file.planned(builder)?, builder, watch)?;
    }
    Ok(())
}

impl Record {
    /// Parses `label:u1,image:3x32x32u1`.
    fn of(text: &str) -> Result<Record, Failure> {
        let mut fields: Vec<Field> = Vec::new();
        let mut at = 0u64;
        for piece in text.split(',') {
            let field = Field::of(piece, at).ok_or_else(|| {
                let known = NumberKind::names().collect::<Vec<_>>().join(", ");
                Failure::usage(format!(
                    "record={text}: '{piece}' is no array of a record; give its name, shape and type: label:u1 for \
                     one number, image:3x32x32u1 for 3 times 32 times 32, _:4u1 for 4 bytes that are not packed; types \
                     are u1, u2, u4, u8, i1, i2, i4, i8, f2, f4, f8 and {known}, all little-endian"
                ))
            })?;
            if field.name != UNUSED && fields.iter().any(|other| other.name == field.name) {
                let text = format!("record={text}: two arrays are named '{}'", field.name);
                return Err(Failure::usage(text));
            }
            at = at.checked_add(field.size).ok_or_else(|| {
                Failure::usage(format!("record={text} has more bytes than a file can have"))
            })?;
            fields.push(field);
        }
        if fields.iter().all(|field| field.name == UNUSED) {
            return Err(Failure::usage(format!("record={text} names no array that is packed")));
        }
        Ok(Record { fields, size: at })
    }

    /// Returns the arrays of a file.
    fn arrays(&self, path: &Path, first: u64) -> Result<Vec<Array>, Failure> {
        let file = open(path, first)?;
        let length = file.length();
        let found = after_offset(length, first, path)?;
        let rest = found % self.size;
        if rest > 0 {
            return Err(Failure::usage(format!(
                "after {} records of {} bytes, {rest} bytes are left: the file is cut, or its records are others; if \
                 bytes come before the first record, give offset={rest}",
                found / self.size,
                self.size
            ))
            .in_place(Place { byte: Some(length - rest), ..Place::file(path) }));
        }
        let count = found / self.size;
        let mut arrays = Vec::with_capacity(self.fields.len());
        for field in self.fields.iter().filter(|field| field.name != UNUSED) {
            let shape = [count].into_iter().chain(field.row.iter().copied()).collect();
            let kind = array_type(field.kind, shape);
            let places = RowPlaces { first: first + field.at, stride: self.size, size: field.size };
            let store = file.window().expect("a file of numbers is not decompressed");
            arrays.push(Array::new(field.name.clone(), Origin::file(path), kind, store, places));
        }
        Ok(arrays)
    }
}

impl Field {
    /// Parses `image:3x32x32u1`, whose first byte in a record is `at`.
    fn of(text: &str, at: u64) -> Option<Field> {
        let (name, shape) = text.split_once(':')?;
        let (dims, last) = shape.rsplit_once('x').unwrap_or(("", shape));
        let digits = last.bytes().take_while(u8::is_ascii_digit).count();
        let (count, word) = last.split_at(digits);
        let mut row = Vec::new();
        let dims = (!dims.is_empty()).then(|| dims.split('x')).into_iter().flatten();
        for dim in dims.chain((!count.is_empty()).then_some(count)) {
            row.push(dim.parse::<u64>().ok().filter(|&dim| dim > 0)?);
        }
        let kind = kind(word)?;
        let size = row.iter().try_fold(kind.size() as u64, |n, &dim| n.checked_mul(dim))?;
        (!name.is_empty()).then(|| Field { name: name.into(), kind, row, at, size })
    }
}

/// Returns the type of a word as numpy's names have it, long or short.
fn kind(word: &str) -> Option<NumberKind> {
    let long = match word {
        "u1" => "uint8",
        "u2" => "uint16",
        "u4" => "uint32",
        "u8" => "uint64",
        "i1" => "int8",
        "i2" => "int16",
        "i4" => "int32",
        "i8" => "int64",
        "f2" => "float16",
        "f4" => "float32",
        "f8" => "float64",
        other => other,
    };
    NumberKind::of_name(long)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_arrays_one_after_another() {
        let record = Record::of("coarse:u1,fine:uint8,_:2u2,image:3x32x32u1,x:4xf4").unwrap();
        let found = record.fields.iter().map(|f| (f.name.as_str(), f.row.as_slice(), f.at, f.size));
        let found: Vec<_> = found.collect();
        assert_eq!(
            found,
            [
                ("coarse", &[][..], 0, 1),
                ("fine", &[][..], 1, 1),
                ("_", &[2][..], 2, 4),
                ("image", &[3, 32, 32][..], 6, 3072),
                ("x", &[4][..], 3078, 16)
            ]
        );
        assert_eq!(record.size, 3094);
    }

    #[test]
    fn what_is_no_record_is_refused() {
        for (text, says) in [
            ("", "'' is no array of a record"),
            ("label", "'label' is no array"),
            ("label:", "is no array"),
            ("label:3", "is no array"),
            ("label:3xx2u1,", "is no array"),
            (":u1", "is no array"),
            ("label:0u1", "is no array"),
            ("label:>u2", "is no array"),
            ("x:u1,x:u2", "two arrays are named 'x'"),
            ("_:u1", "names no array"),
            ("x:18446744073709551615u1,y:u1", "more bytes than a file"),
        ] {
            let error = Record::of(text).unwrap_err();
            assert!(error.text().contains(says), "{text}: {error}");
        }
    }
}
