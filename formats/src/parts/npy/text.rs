//! The dictionary in an npy header: a Python literal of three entries, parsed without Python.
//!
//! Accepts what NumPy writes (and, from old files, the `L` after Python 2's long numbers); anything
//! else is an error that names its byte. Evaluates no expression.

use std::fmt;

use super::layout::{Dtype, MAX_DIMS, Shape};
use crate::errors::error::{Error, ErrorKind, Result};
use crate::parts::name;

/// The dictionary's three entries, and the byte of the shape.
pub(super) struct Described {
    pub(super) dtype: Dtype,
    pub(super) fortran: bool,
    pub(super) shape: Shape,
    pub(super) shape_at: u64,
}

/// Parses the dictionary that fills `head` from `start` on.
pub(super) fn describe(head: &[u8], start: usize) -> Result<Described> {
    fn missing(start: usize, key: &str) -> Error {
        wrong(start, format!("entry '{key}' is missing"))
    }

    let mut text = Text { bytes: head, at: start };
    let mut dtype = None;
    let mut fortran = None;
    let mut shape = None;
    text.expect(b'{')?;
    while !text.take(b'}') {
        text.skip();
        let at = text.at;
        let key = text.quoted()?;
        text.expect(b':')?;
        let twice = match key {
            b"descr" => dtype.replace(text.dtype()?).is_some(),
            b"fortran_order" => fortran.replace(text.truth()?).is_some(),
            b"shape" => {
                text.skip();
                shape.replace((text.at as u64, text.shape()?)).is_some()
            }
            key => return Err(wrong(at, format!("unknown entry '{}'", name::shown(key)))),
        };
        if twice {
            return Err(wrong(at, format!("entry '{}' appears twice", name::shown(key))));
        }
        if !text.take(b',') {
            text.expect(b'}')?;
            break;
        }
    }
    text.skip();
    if text.at < head.len() {
        return Err(wrong(text.at, "unexpected bytes after the dictionary"));
    }
    let (shape_at, shape) = shape.ok_or_else(|| missing(start, "shape"))?;
    let dtype = dtype.ok_or_else(|| missing(start, "descr"))?;
    let fortran = fortran.ok_or_else(|| missing(start, "fortran_order"))?;
    Ok(Described { dtype, fortran, shape, shape_at })
}

/// The bytes of a header and the read position.
struct Text<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Text<'a> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip(&mut self) {
        while self.peek().is_some_and(|b| b.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// Skips blanks and then `byte`, if it follows.
    fn take(&mut self, byte: u8) -> bool {
        self.skip();
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        if self.take(byte) {
            return Ok(());
        }
        Err(wrong(self.at, format!("expected '{}'", char::from(byte))))
    }

    /// Returns the bytes up to one for which `inside` is false.
    fn run(&mut self, inside: impl Fn(u8) -> bool) -> &'a [u8] {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|&b| !inside(b)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    /// Reads a string without escapes: NumPy writes none here.
    fn quoted(&mut self) -> Result<&'a [u8]> {
        self.skip();
        let at = self.at;
        let quote = self.peek().filter(|b| [b'\'', b'"'].contains(b));
        let quote = quote.ok_or_else(|| wrong(at, "expected a quoted string"))?;
        self.at += 1;
        let word = self.run(|b| b != quote && b != b'\\');
        if self.peek() != Some(quote) {
            return Err(wrong(at, "a quoted string does not end, or has a backslash"));
        }
        self.at += 1;
        Ok(word)
    }

    fn truth(&mut self) -> Result<bool> {
        self.skip();
        let at = self.at;
        match self.run(|b| b.is_ascii_alphanumeric()) {
            b"True" => Ok(true),
            b"False" => Ok(false),
            _ => Err(wrong(at, "expected True or False")),
        }
    }

    fn shape(&mut self) -> Result<Shape> {
        self.expect(b'(')?;
        let mut dims = [0; MAX_DIMS];
        let mut count = 0;
        let mut comma = true;
        while !self.take(b')') {
            if !comma {
                return Err(wrong(self.at, "expected ',' or ')'"));
            }
            let at = self.at;
            let dim = self.number().ok_or_else(|| wrong(at, "expected a number"))?;
            let Some(place) = dims.get_mut(count) else {
                let text = format!("an array of more than {MAX_DIMS} dimensions");
                return Err(Error::new(ErrorKind::Limit, text).with_byte(at as u64));
            };
            *place = dim;
            count += 1;
            comma = self.take(b',');
            if count == 1 && !comma && self.peek() == Some(b')') {
                return Err(wrong(self.at, "the shape is a number and no tuple: ',' is missing"));
            }
        }
        Ok(Shape::of(dims, count))
    }

    fn number(&mut self) -> Option<u64> {
        let number = decimal(self.run(|b| b.is_ascii_digit()))?;
        // The suffix of Python 2's long numbers.
        self.at += usize::from(self.peek() == Some(b'L'));
        Some(number)
    }

    fn dtype(&mut self) -> Result<Dtype> {
        self.skip();
        let at = self.at;
        if self.peek() == Some(b'[') {
            let text = "an array of records (structured dtype) has no single type; \
                        save one field of it, as in np.save(path, a['field'])";
            return Err(Error::new(ErrorKind::Unsupported, text).with_byte(at as u64));
        }
        let word = self.quoted()?;
        dtype(word, at as u64)
    }
}

/// Parses NumPy's type string at byte `at`.
fn dtype(word: &[u8], at: u64) -> Result<Dtype> {
    let &[order, kind, ref size @ ..] = word else { return Err(unknown(word, at)) };
    if !b"<>|".contains(&order) {
        return Err(unknown(word, at));
    }
    match kind {
        b'O' => {
            let what =
                "Python objects can only be read by Python; save numbers, as in a.astype('<f4')";
            return Err(refused(ErrorKind::Unsupported, what, word, at));
        }
        b'M' | b'm' => {
            return Err(refused(
                ErrorKind::Unsupported,
                "dates and times; save a.view('<i8')",
                word,
                at,
            ));
        }
        _ => {}
    }
    let count =
        decimal(size).and_then(|n| u32::try_from(n).ok()).ok_or_else(|| unknown(word, at))?;
    let size =
        if kind == b'U' { count.checked_mul(4).ok_or_else(|| unknown(word, at))? } else { count };
    let known = match kind {
        b'b' => size == 1,
        b'i' | b'u' => [1, 2, 4, 8].contains(&size),
        b'f' => [2, 4, 8, 12, 16].contains(&size),
        b'c' => [8, 16, 24, 32].contains(&size),
        b'S' | b'U' | b'V' => true,
        _ => false,
    };
    // Without a byte order only bytes and types made of bytes can be read.
    if !known || (order == b'|' && size > 1 && !b"SV".contains(&kind)) {
        return Err(unknown(word, at));
    }
    Ok(Dtype { kind: char::from(kind), size, little: order != b'>' || size <= 1 })
}

fn refused(kind: ErrorKind, what: &str, word: &[u8], at: u64) -> Error {
    let text = format!("dtype '{}': {what}", name::shown(word));
    Error::new(kind, text).with_byte(at)
}

fn unknown(word: &[u8], at: u64) -> Error {
    refused(ErrorKind::WrongFormat, "no word of NumPy's for a type", word, at)
}

/// Parses digits alone, as Python writes them; `None` past `u64`.
fn decimal(digits: &[u8]) -> Option<u64> {
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn wrong(at: usize, what: impl fmt::Display) -> Error {
    let text = format!("the npy header can't be read: {what}");
    Error::new(ErrorKind::WrongFormat, text).with_byte(at as u64)
}
