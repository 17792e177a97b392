//! `View`: whole numbers or texts of an Arrow array that another library made, row by row.
//!
//! Contains unsafe code. Contract: that of `arrow`. The producer vouches for the sizes of the buffers; formats,
//! lengths, offsets, indices and numbers of buffers and children are checked here before they are used.

#![allow(unsafe_code)]

use std::ffi::{CStr, c_void};
use std::marker::PhantomData;

use crate::buffers::arrow::{CArray, CSchema};

/// Rows of one column.
pub(crate) struct View<'a> {
    kind: ColumnKind<'a>,
    /// A bit for each row, if rows may be missing.
    valid: Option<*const u8>,
    buffers: &'a [*const c_void],
    first: usize,
    rows: usize,
    _array: PhantomData<&'a CArray>,
}

enum ColumnKind<'a> {
    /// Bytes of a number, and whether it has a sign.
    Whole(usize, bool),
    /// Text with offsets of so many bytes.
    Text(usize),
    /// Text in views of 16 bytes.
    Views,
    /// Numbers of rows of another column.
    Coded(Box<View<'a>>, Box<View<'a>>),
    /// Every row is missing.
    Missing,
}

/// The format of a column; empty if it has none.
pub(crate) fn format_of(schema: &CSchema) -> String {
    text_at(schema.format)
}

pub(crate) fn name_of(schema: &CSchema) -> String {
    text_at(schema.name)
}

fn text_at(text: *const std::ffi::c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: a live schema has texts that end with zero.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// The columns of a table; the column itself, if it is none.
pub(crate) fn columns(schema: &CSchema) -> Vec<&CSchema> {
    if format_of(schema) != "+s" || schema.children.is_null() {
        return vec![schema];
    }
    let count = usize::try_from(schema.n_children).unwrap_or(0);
    let children = (0..count).filter_map(|number| {
        // SAFETY: a live schema has the addresses of as many children as it says.
        let child = unsafe { *schema.children.wrapping_add(number) };
        // SAFETY: null, or a child, which lives as long as the schema.
        unsafe { child.as_ref() }
    });
    children.collect()
}

/// True if rows of the column are whole numbers.
pub(crate) fn is_whole(schema: &CSchema) -> bool {
    kind_of(&format_of(schema)).is_some_and(|kind| matches!(kind, ColumnKind::Whole(..)))
        && schema.dictionary.is_null()
}

/// True if rows of the column are texts, or codes of texts.
pub(crate) fn is_text(schema: &CSchema) -> bool {
    // SAFETY: null, or the live schema of the values.
    let format = unsafe { schema.dictionary.as_ref() }.map_or_else(|| format_of(schema), format_of);
    matches!(kind_of(&format), Some(ColumnKind::Text(_) | ColumnKind::Views | ColumnKind::Missing))
}

fn kind_of(format: &str) -> Option<ColumnKind<'static>> {
    Some(match format {
        "c" => ColumnKind::Whole(1, true),
        "C" => ColumnKind::Whole(1, false),
        "s" => ColumnKind::Whole(2, true),
        "S" => ColumnKind::Whole(2, false),
        "i" => ColumnKind::Whole(4, true),
        "I" => ColumnKind::Whole(4, false),
        "l" => ColumnKind::Whole(8, true),
        "L" => ColumnKind::Whole(8, false),
        "u" | "z" => ColumnKind::Text(4),
        "U" | "Z" => ColumnKind::Text(8),
        "vu" | "vz" => ColumnKind::Views,
        "n" => ColumnKind::Missing,
        _ => return None,
    })
}

fn size(number: i64, what: &str) -> Result<usize, String> {
    usize::try_from(number).map_err(|_| format!("an Arrow array has {what} {number}"))
}

impl<'a> View<'a> {
    /// Column `number` of `array`, whose schema is `schema`.
    ///
    /// # Errors
    /// The array does not fit its schema, or the column has another type.
    pub(crate) fn of(
        schema: &'a CSchema,
        array: &'a CArray,
        number: usize,
    ) -> Result<View<'a>, String> {
        let first = size(array.offset, "offset")?;
        let rows = size(array.length, "length")?;
        if format_of(schema) != "+s" {
            return View::new(schema, array, 0, rows);
        }
        if array.null_count > 0 {
            return Err("a row of the table is missing".into());
        }
        let column = columns(schema).get(number).copied().ok_or("a column is missing")?;
        if size(array.n_children, "children")? <= number || array.children.is_null() {
            return Err("an Arrow array has fewer columns than its schema".into());
        }
        // SAFETY: a live array has the addresses of as many children as it says.
        let child = unsafe { *array.children.wrapping_add(number) };
        // SAFETY: null, or a child, which lives as long as the array.
        let child = unsafe { child.as_ref() };
        View::new(column, child.ok_or("a column is missing")?, first, rows)
    }

    /// `rows` rows from row `first` on.
    fn new(
        schema: &'a CSchema,
        array: &'a CArray,
        first: usize,
        rows: usize,
    ) -> Result<View<'a>, String> {
        let offset = size(array.offset, "offset")?;
        let length = size(array.length, "length")?;
        if first.checked_add(rows).is_none_or(|end| end > length) {
            return Err(format!("an Arrow column of {length} rows is shorter than its table"));
        }
        let format = format_of(schema);
        let mut kind: ColumnKind<'a> = kind_of(&format)
            .ok_or_else(|| format!("Arrow type {format:?} is neither a whole number nor a text"))?;
        let count = size(array.n_buffers, "buffers")?;
        let needed = match kind {
            ColumnKind::Missing => 0,
            ColumnKind::Whole(..) | ColumnKind::Coded(..) => 2,
            ColumnKind::Text(_) | ColumnKind::Views => 3,
        };
        if count < needed || (count > 0 && array.buffers.is_null()) {
            return Err(format!("an Arrow array of type {format:?} has {count} buffers"));
        }
        let buffers: &[*const c_void] = match count {
            0 => &[],
            // SAFETY: a live array has the addresses of as many buffers as it says.
            _ => unsafe { std::slice::from_raw_parts(array.buffers, count) },
        };
        if rows > 0 && needed > 1 && buffers[1].is_null() {
            return Err("an Arrow array has rows, but no buffer of them".into());
        }
        // SAFETY: null, or a schema that lives as long as this one.
        let of_values = unsafe { schema.dictionary.as_ref() };
        // SAFETY: null, or an array that lives as long as this one.
        let values = unsafe { array.dictionary.as_ref() };
        let first = offset.checked_add(first).ok_or("an Arrow array has an impossible offset")?;
        let valid = buffers.first().copied().filter(|valid| {
            !valid.is_null() && array.null_count != 0 && !matches!(kind, ColumnKind::Missing)
        });
        let valid = valid.map(|valid| valid.cast::<u8>());
        if let (Some(schema), Some(values)) = (of_values, values) {
            let length = size(values.length, "length")?;
            let values = View::new(schema, values, 0, length)?;
            let codes = View { kind, valid, buffers, first, rows, _array: PhantomData };
            kind = ColumnKind::Coded(Box::new(codes), Box::new(values));
        }
        Ok(View { kind, valid, buffers, first, rows, _array: PhantomData })
    }

    pub(crate) fn len(&self) -> usize {
        self.rows
    }

    fn is_missing(&self, row: usize) -> bool {
        let at = self.first + row;
        self.valid.is_some_and(|valid| {
            // SAFETY: a bit for each row of the array, and `row` is one of them.
            let bits = unsafe { *valid.wrapping_add(at / 8) };
            bits >> (at % 8) & 1 == 0
        })
    }

    /// The number in a row; `None` if it is missing or no whole number.
    pub(crate) fn whole(&self, row: usize) -> Option<i128> {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        let ColumnKind::Whole(bytes, signed) = self.kind else { return None };
        if self.is_missing(row) {
            return None;
        }
        let mut number = [0_u8; 8];
        let from = self.buffers[1].cast::<u8>().wrapping_add((self.first + row) * bytes);
        // SAFETY: the buffer has `bytes` bytes for each row of the array, and `row` is one of them.
        let from = unsafe { std::slice::from_raw_parts(from, bytes) };
        number[..bytes].copy_from_slice(from);
        let number = u64::from_ne_bytes(number);
        let unused = 64 - 8 * bytes as u32;
        Some(if signed {
            i128::from((number << unused) as i64 >> unused)
        } else {
            i128::from(number)
        })
    }

    /// The bytes of the text in a row; `None` if it is missing or no text.
    ///
    /// # Errors
    /// Its place is outside of the array.
    pub(crate) fn text(&self, row: usize) -> Result<Option<&'a [u8]>, String> {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        if let ColumnKind::Coded(codes, values) = &self.kind {
            let Some(code) = codes.whole(row) else { return Ok(None) };
            let code = usize::try_from(code).ok().filter(|&code| code < values.rows);
            return values.text(code.ok_or("a code without a value")?);
        }
        if self.is_missing(row) {
            return Ok(None);
        }
        match self.kind {
            ColumnKind::Text(4) => self.between::<i32>(row).map(Some),
            ColumnKind::Text(_) => self.between::<i64>(row).map(Some),
            ColumnKind::Views => self.viewed(row).map(Some),
            _ => Ok(None),
        }
    }

    /// The text between two offsets.
    fn between<T: Copy + TryInto<usize>>(&self, row: usize) -> Result<&'a [u8], String> {
        let offsets = self.buffers[1].cast::<T>();
        let [start, end] = [self.first + row, self.first + row + 1].map(|number| {
            // SAFETY: one offset more than rows of the array; `number` is at most the one after a row.
            unsafe { offsets.wrapping_add(number).read_unaligned() }.try_into().ok()
        });
        match start.zip(end) {
            Some((start, end)) if start == end => Ok(&[]),
            Some((start, end)) if start < end && !self.buffers[2].is_null() => {
                let from = self.buffers[2].cast::<u8>().wrapping_add(start);
                // SAFETY: the producer vouches for as many bytes as the last offset says, and offsets ascend.
                Ok(unsafe { std::slice::from_raw_parts(from, end - start) })
            }
            _ => Err("an Arrow text has descending offsets".into()),
        }
    }

    /// The text of a view: in it, or in one of the further buffers, whose sizes are in the last one.
    fn viewed(&self, row: usize) -> Result<&'a [u8], String> {
        let view = self.buffers[1].cast::<u8>().wrapping_add(16 * (self.first + row));
        // SAFETY: the buffer has 16 bytes for each row of the array, and `row` is one of them.
        let view: &'a [u8] = unsafe { std::slice::from_raw_parts(view, 16) };
        let length = number_at(view, 0)?;
        if length <= 12 {
            return Ok(&view[4..4 + length]);
        }
        let buffer = number_at(view, 8)?;
        let start = number_at(view, 12)?;
        let further = self.buffers.len() - 3;
        let sizes = self.buffers[self.buffers.len() - 1].cast::<i64>();
        if buffer >= further || sizes.is_null() || self.buffers[2 + buffer].is_null() {
            return Err("a view names a buffer that does not exist".into());
        }
        // SAFETY: a size for each further buffer, and `buffer` is one of them.
        let size = unsafe { sizes.wrapping_add(buffer).read_unaligned() };
        let end = start
            .checked_add(length)
            .filter(|&end| i64::try_from(end).is_ok_and(|end| end <= size));
        end.ok_or("a view leads out of its buffer")?;
        let from = self.buffers[2 + buffer].cast::<u8>().wrapping_add(start);
        // SAFETY: within the size that was checked.
        Ok(unsafe { std::slice::from_raw_parts(from, length) })
    }
}

/// The number at byte `at` of a view.
fn number_at(view: &[u8], at: usize) -> Result<usize, &'static str> {
    let bytes = [view[at], view[at + 1], view[at + 2], view[at + 3]];
    usize::try_from(i32::from_ne_bytes(bytes)).map_err(|_| "a view has a negative number")
}
