//! `npy:x.npy,y.npy`: NumPy arrays, one sample for each index of the first dimension.
//!
//! A row of more than one element is a part `NAME.raw` of fixed length: the bytes of the array as
//! they are, a range of the file. A row of one number becomes a field of the sample's JSON. Keys
//! are row numbers.

use std::fs::File;
use std::path::Path;

use tarflume_formats::Column;
use tarflume_formats::npy::{Dtype, Header, needed};
use tarflume_formats::shown::ShowPath;
use tarflume_formats::{Error, files, name};

use super::Listing;
use super::url::SourceUrl;
use crate::failure::Failure;
use crate::scan::builder::{RowName, RowPart};

/// Numbers that are read at a time.
const NUMBERS: u64 = 64 << 10;

/// One array.
struct Array {
    /// Its column: the file's base name up to the first dot.
    name: String,
    source: u32,
    file: File,
    header: Header,
    /// Bytes of one row.
    row: u64,
}

impl Array {
    fn rows(&self) -> u64 {
        self.header.shape()[0]
    }

    /// Returns true if a row is one number.
    fn is_number(&self) -> bool {
        self.header.shape().len() == 1
    }
}

/// Lists the rows of the arrays of one source.
///
/// # Errors
/// Returns an error for a file that is not an array of numbers, and for arrays of different
/// lengths.
pub(super) fn list(source: &SourceUrl, listing: Listing<'_, '_>) -> Result<(), Failure> {
    if let Some((option, _)) = source.options.first() {
        return Err(Failure::usage(format!("npy: has no option '{option}'")));
    }
    let Listing { root, builder, counter, stop } = listing;
    let mut arrays = Vec::new();
    for (n, path) in source.files.iter().enumerate() {
        let number = builder.source((root + n as u32, path), "", "bytes", Default::default())?;
        let array = open(path, number)?;
        describe(&array, &mut builder.about().columns)?;
        arrays.push(array);
    }
    let rows = arrays[0].rows(); // a source names at least one file
    if let Some((n, other)) = arrays.iter().enumerate().find(|(_, a)| a.rows() != rows) {
        return Err(Failure::usage(format!(
            "{} has {rows} rows and {} has {}; a sample is one row of each",
            source.files[0].shown(),
            source.files[n].shown(),
            other.rows()
        )));
    }
    let digits = rows.saturating_sub(1).to_string().len().max(8);
    let mut numbers: Vec<Numbers> = arrays.iter().map(|_| Numbers::default()).collect();
    for row in 0..rows {
        if row % NUMBERS == 0 {
            if stop.requested() {
                return Err(Failure::interrupted());
            }
            counter.add(NUMBERS.min(rows - row));
        }
        let mut json = serde_json::Map::new();
        let mut parts = Vec::new();
        for ((array, numbers), path) in arrays.iter().zip(&mut numbers).zip(&source.files) {
            if array.is_number() {
                json.insert(array.name.clone(), numbers.value(array, row, path)?);
            } else {
                let at = array.header.data + row * array.row;
                let range = RowPart::Range { source: array.source, at, size: array.row };
                parts.push((format!("{}.raw", array.name), range));
            }
        }
        let json = serde_json::Value::Object(json).to_string();
        let mut named: Vec<(&str, RowPart<'_>)> =
            parts.iter().map(|(ext, part)| (ext.as_str(), *part)).collect();
        if json != "{}" {
            named.push(("json", RowPart::Text(json.as_bytes())));
        }
        let key = format!("{row:0digits$}");
        builder.push(RowName { source: arrays[0].source, row }, key.as_bytes(), &named)?;
    }
    Ok(())
}

fn open(path: &Path, source: u32) -> Result<Array, Failure> {
    let (file, found) = files::open(path)?;
    let placed = |e: Error| Failure::from(e.with_path(path));
    let read = |length: usize| {
        let mut head = vec![0; length.min(found.len() as usize)];
        let filled = files::read_exact_at(&file, &mut head, 0);
        filled.map_err(|e| Failure::io(e, "read", path)).map(|()| head)
    };
    let length = needed(&read(12)?).map_err(placed)?;
    let header = Header::parse(&read(length)?).map_err(placed)?;
    let refuse = |why: String| Err(Failure::usage(format!("{}: {why}", path.shown())));
    if header.shape().is_empty() {
        return refuse("a single number; an array of rows is needed".into());
    }
    if header.fortran && header.shape().len() > 1 {
        return refuse(
            "the array is in column-major order, so its rows are not contiguous; save it with \
             numpy.save(path, numpy.ascontiguousarray(x))"
                .into(),
        );
    }
    if !matches!(header.dtype.kind, 'f' | 'i' | 'u' | 'b') || !header.dtype.little {
        return refuse(format!("its type is {}; little-endian numbers are packed", header.dtype));
    }
    if header.data.checked_add(header.data_bytes()).is_none_or(|end| end > found.len()) {
        return refuse(format!(
            "its header declares {} bytes of data, and the file ends at byte {}",
            header.data_bytes(),
            found.len()
        ));
    }
    let row = header.data_bytes() / header.shape()[0].max(1);
    let base = path.file_name().unwrap_or_default().as_encoded_bytes();
    let stem = base.split(|&b| b == b'.').next().unwrap_or(base);
    Ok(Array { name: name::shown(stem), source, file, header, row })
}

/// Adds the array to the columns of the data set.
fn describe(array: &Array, columns: &mut Vec<Column>) -> Result<(), Failure> {
    let dtype = array.header.dtype;
    let column = match array.is_number() {
        true => Column {
            name: format!("/{}", array.name),
            kind: match dtype.kind {
                'b' => "bool",
                'f' => "float64",
                _ => "int64",
            }
            .into(),
            shape: None,
            nullable: false,
        },
        false => Column {
            name: format!("{}.raw", array.name),
            kind: numpy_name(dtype),
            shape: Some(array.header.shape()[1..].to_vec()),
            nullable: false,
        },
    };
    if columns.iter().any(|c| c.name == column.name) {
        let text = format!("two arrays are named '{}'; rename a file", array.name);
        return Err(Failure::usage(text));
    }
    columns.push(column);
    Ok(())
}

/// Returns numpy's name of a type: `float32`.
fn numpy_name(dtype: Dtype) -> String {
    let word = match dtype.kind {
        'b' => return "bool".into(),
        'f' => "float",
        'i' => "int",
        _ => "uint",
    };
    format!("{word}{}", dtype.size * 8)
}

/// Reads an array of numbers through a window.
#[derive(Default)]
struct Numbers {
    bytes: Vec<u8>,
    /// The window's first row.
    first: u64,
}

impl Numbers {
    fn value(
        &mut self,
        array: &Array,
        row: u64,
        path: &Path,
    ) -> Result<serde_json::Value, Failure> {
        let size = array.row as usize;
        let held = (self.bytes.len() / size) as u64;
        if row >= self.first + held || row < self.first {
            let rows = NUMBERS.min(array.rows() - row);
            self.bytes.resize(rows as usize * size, 0);
            self.first = row;
            let at = array.header.data + row * array.row;
            files::read_exact_at(&array.file, &mut self.bytes, at)
                .map_err(|e| Failure::io(e, "read", path))?;
        }
        let at = (row - self.first) as usize * size;
        number(array.header.dtype, &self.bytes[at..at + size])
            .ok_or_else(|| Failure::usage(format!("{}: no number of JSON in row {row}: NaN or infinite; pack it in an array of two dimensions", path.shown())))
    }
}

/// Returns a number as JSON; `None` for values that JSON lacks.
fn number(dtype: Dtype, bytes: &[u8]) -> Option<serde_json::Value> {
    let mut wide = [0; 8];
    wide[..bytes.len().min(8)].copy_from_slice(&bytes[..bytes.len().min(8)]);
    let bits = u64::from_le_bytes(wide);
    let shift = 64 - 8 * u32::min(dtype.size, 8);
    match (dtype.kind, dtype.size) {
        ('b', _) => Some((bits != 0).into()),
        ('u', _) => Some(bits.into()),
        ('i', _) => Some((((bits << shift) as i64) >> shift).into()),
        ('f', 4) => finite(f64::from(f32::from_bits(bits as u32))),
        ('f', 8) => finite(f64::from_bits(bits)),
        _ => None,
    }
}

fn finite(value: f64) -> Option<serde_json::Value> {
    serde_json::Number::from_f64(value).map(serde_json::Value::Number)
}
