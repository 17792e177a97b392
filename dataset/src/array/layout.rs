//! The position of the rows of an array in its file, from an npy header or from arguments.
//!
//! Arithmetic and validation only, no I/O. An error for an array names the Python expression that
//! converts it.

use std::ops::Range;

use tarflume_formats::npy::{Dtype, Header};
use tarflume_types::{DType, Error, ErrorKind, Result};

/// Rows of equal size, stored without gaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ArrayLayout {
    pub(super) dtype: DType,
    /// Elements along each dimension of one row; `[]` if a row is a single number.
    pub(super) row: Vec<usize>,
    pub(super) row_bytes: usize,
    pub(super) rows: u64,
    /// The runs of rows without gaps, by their first row; never empty.
    runs: Vec<Run>,
}

/// Consecutive rows without gaps between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    first: u64,
    /// Byte offset of the first row.
    at: u64,
}

/// Consecutive rows of an array in a file: a contiguous data set, or a page of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArrayPlace {
    /// Byte offset of the first row.
    pub at: u64,
    /// Rows, without gaps.
    pub rows: u64,
}

impl ArrayLayout {
    /// The rows of an npy file of `length` bytes. Bytes after the array are ignored, as NumPy ignores
    /// them.
    pub(super) fn of_npy(header: &Header, length: u64) -> Result<ArrayLayout> {
        let dtype = known(header.dtype)?;
        let Some((&rows, row)) = header.shape().split_first() else {
            let text = "the array is a single number and has no rows; save a.reshape(1)";
            return Err(Error::new(ErrorKind::WrongFormat, text));
        };
        if header.fortran && !row.is_empty() {
            let text = "the array is in Fortran order, so its rows are not contiguous; \
                        save np.ascontiguousarray(a)";
            return Err(Error::new(ErrorKind::WrongFormat, text));
        }
        let found = length.saturating_sub(header.data);
        if found < header.data_bytes() {
            let text = format!(
                "the header declares {} bytes of data, but {found} follow it: the file is truncated",
                header.data_bytes()
            );
            return Err(Error::new(ErrorKind::Truncated, text).with_byte(length));
        }
        let row: Option<Vec<usize>> = row.iter().map(|&n| usize::try_from(n).ok()).collect();
        let row = row.ok_or_else(too_large)?;
        let row_bytes = bytes_of(dtype, &row).ok_or_else(too_large)?;
        Ok(ArrayLayout {
            dtype,
            row,
            row_bytes,
            rows,
            runs: vec![Run { first: 0, at: header.data }],
        })
    }

    /// This layout, if it has the type and the shape that were asked for.
    pub(super) fn agrees(self, dtype: DType, row: &[usize]) -> Result<ArrayLayout> {
        if self.dtype == dtype && self.row == row {
            return Ok(self);
        }
        let text = format!(
            "this is an .npy file with rows of {:?} {:?}, not of {dtype:?} {row:?}: open it without a type and \
             a shape",
            self.dtype, self.row
        );
        Err(Error::usage(text))
    }

    /// The rows in a file of `length` bytes, from byte `data` to its end.
    pub(super) fn raw(dtype: DType, row: &[usize], data: u64, length: u64) -> Result<ArrayLayout> {
        let row_bytes = bytes_of(dtype, row).ok_or_else(too_large)?;
        if row_bytes == 0 {
            return Err(Error::usage(format!("a row of shape {row:?} has no bytes")));
        }
        let Some(found) = length.checked_sub(data) else {
            let text = format!("the file has {length} bytes, so no row can begin at byte {data}");
            return Err(Error::usage(text));
        };
        let rows = found / row_bytes as u64;
        let rest = found % row_bytes as u64;
        if rest != 0 {
            let text = format!(
                "after {rows} rows of {row_bytes} bytes, {rest} bytes are left: the file is truncated, or \
                 its type, shape or offset is different",
            );
            return Err(Error::new(ErrorKind::Truncated, text).with_byte(length - rest));
        }
        let runs = vec![Run { first: 0, at: data }];
        Ok(ArrayLayout { dtype, row: row.to_vec(), row_bytes, rows, runs })
    }

    /// The rows at `places` of a file of `length` bytes, one place after the other.
    pub(super) fn placed(
        dtype: DType,
        row: &[usize],
        places: &[ArrayPlace],
        length: u64,
    ) -> Result<ArrayLayout> {
        let row_bytes = bytes_of(dtype, row).ok_or_else(too_large)?;
        let mut runs: Vec<Run> = Vec::new();
        let mut rows: u64 = 0;
        for place in places {
            let bytes = place.rows.checked_mul(row_bytes as u64);
            let end = bytes.and_then(|bytes| bytes.checked_add(place.at));
            if end.is_none_or(|end| end > length) {
                let text = format!(
                    "{} rows of {row_bytes} bytes do not fit after byte {} of a file of {length}",
                    place.rows, place.at
                );
                return Err(Error::new(ErrorKind::Truncated, text).with_byte(place.at));
            }
            let gapless = runs
                .last()
                .is_some_and(|run| run.at + (rows - run.first) * row_bytes as u64 == place.at);
            if !gapless && place.rows > 0 {
                runs.push(Run { first: rows, at: place.at });
            }
            rows = rows.checked_add(place.rows).ok_or_else(too_large)?;
        }
        if runs.is_empty() {
            runs.push(Run { first: 0, at: 0 });
        }
        Ok(ArrayLayout { dtype, row: row.to_vec(), row_bytes, rows, runs })
    }

    /// Rows that are at no place: they are decoded.
    pub(super) fn decoded(dtype: DType, row: &[usize], rows: u64) -> Result<ArrayLayout> {
        let row_bytes = bytes_of(dtype, row).ok_or_else(too_large)?;
        if rows.checked_mul(row_bytes as u64).is_none() {
            return Err(too_large());
        }
        Ok(ArrayLayout {
            dtype,
            row: row.to_vec(),
            row_bytes,
            rows,
            runs: vec![Run { first: 0, at: 0 }],
        })
    }

    /// Byte offset of `row`, which must be a row of the file.
    pub(super) fn start(&self, row: u64) -> u64 {
        let run = self.runs[self.run(row)];
        run.at + (row - run.first) * self.row_bytes as u64
    }

    /// True if the rows follow each other without gaps.
    pub(super) fn is_gapless(&self, rows: &Range<u64>) -> bool {
        rows.is_empty() || self.run(rows.start) == self.run(rows.end - 1)
    }

    fn run(&self, row: u64) -> usize {
        match self.runs.len() {
            1 => 0,
            _ => self.runs.partition_point(|run| run.first <= row).saturating_sub(1),
        }
    }
}

fn bytes_of(dtype: DType, row: &[usize]) -> Option<usize> {
    let elements = row.iter().try_fold(1usize, |n, &dim| n.checked_mul(dim))?;
    elements.checked_mul(dtype.size())
}

fn too_large() -> Error {
    Error::new(ErrorKind::Limit, "a row has more bytes than this machine can address")
}

/// Converts a NumPy element type, or returns an error that names a supported replacement.
fn known(dtype: Dtype) -> Result<DType> {
    if !dtype.little {
        return refused("they are big-endian: save a.astype(a.dtype.newbyteorder('<'))", dtype);
    }
    if let Some(known) = DType::of_npy(dtype) {
        return Ok(known);
    }
    match (dtype.kind, dtype.size) {
        ('c', 8) => refused("save a.view('<f4')", dtype),
        ('c', 16) => refused("save a.view('<f8')", dtype),
        ('f', _) => refused("save a.astype('<f8')", dtype),
        _ => refused("save numbers, or bytes as a.view('u1')", dtype),
    }
}

fn refused(remedy: &str, dtype: Dtype) -> Result<DType> {
    let text = format!("elements of type '{dtype}' are not supported; {remedy}");
    Err(Error::new(ErrorKind::WrongFormat, text))
}
