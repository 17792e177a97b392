//! Numbers: those of an array can be stored as numbers of fewer bytes, and are of the array's type again here.

use tarflume_formats::number_kind::{NumberClass, NumberKind};
use tarflume_formats::{Error, ErrorKind, Result};

use super::element::{Element, Order};

/// An array of numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbers {
    /// Their type.
    pub kind: NumberKind,
    /// The shape.
    pub dims: Vec<u64>,
    /// The numbers, little-endian, in column-major order.
    pub bytes: Vec<u8>,
}

/// Returns the type that a kind of element has.
fn stored(kind: u32) -> Option<NumberKind> {
    let (class, size) = match kind {
        1 => (NumberClass::Int, 1),
        2 => (NumberClass::Uint, 1),
        3 => (NumberClass::Int, 2),
        4 => (NumberClass::Uint, 2),
        5 => (NumberClass::Int, 4),
        6 => (NumberClass::Uint, 4),
        7 => (NumberClass::Float, 4),
        9 => (NumberClass::Float, 8),
        12 => (NumberClass::Int, 8),
        13 => (NumberClass::Uint, 8),
        _ => return None,
    };
    NumberKind::new(class, size)
}

/// Returns the numbers of an element as little-endian ones of a type.
///
/// # Errors
/// Returns an error for an element that has no numbers, and for a number that the type does not hold.
pub(super) fn stored_as(element: Element<'_>, kind: NumberKind, order: Order) -> Result<Vec<u8>> {
    let Element { kind: number, bytes } = element;
    let Some(from) = stored(number) else {
        return Err(wrong(format!("numbers are an element of kind {number}")));
    };
    if bytes.len() % from.size() != 0 {
        return Err(wrong(format!(
            "{} bytes are no numbers of {} bytes",
            bytes.len(),
            from.size()
        )));
    }
    let little = order.little(bytes, from.size());
    let is_same = from.size() == kind.size()
        && (from.class() == kind.class() || kind.class() == NumberClass::Bool);
    if is_same {
        return Ok(little);
    }
    let mut out = Vec::with_capacity(little.len() / from.size() * kind.size());
    for piece in little.chunks_exact(from.size()) {
        let number = Number::of(piece, from);
        if !number.write(kind, &mut out) {
            let text = format!("a number {number:?} is stored in an array of {}", kind.name());
            return Err(wrong(text));
        }
    }
    Ok(out)
}

fn wrong(why: String) -> Error {
    Error::new(ErrorKind::Damaged, why)
}

/// One number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Whole(i128),
    /// Any other number.
    Float(f64),
}

impl Number {
    /// Reads a little-endian number of a type of MATLAB.
    fn of(bytes: &[u8], kind: NumberKind) -> Number {
        let mut wide = [0; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        let bits = u64::from_le_bytes(wide);
        let unused = 64 - 8 * bytes.len() as u32;
        match (kind.class(), bytes.len()) {
            (NumberClass::Bool, _) => Number::Bool(bits != 0),
            (NumberClass::Int, _) => {
                Number::Whole(i128::from((bits << unused).cast_signed() >> unused))
            }
            (NumberClass::Uint, _) => Number::Whole(bits.into()),
            (_, 4) => Number::Float(f32::from_bits(bits as u32).into()),
            _ => Number::Float(f64::from_bits(bits)),
        }
    }

    /// Returns true for a whole number all of whose digits a float of 64 bits has.
    pub fn is_whole(self) -> bool {
        match self {
            Number::Bool(_) | Number::Whole(_) => true,
            Number::Float(float) => float.fract() == 0.0 && float.abs() <= 9_007_199_254_740_992.0,
        }
    }

    /// Appends the number as one of a type; returns false if the type does not hold it.
    fn write(self, kind: NumberKind, out: &mut Vec<u8>) -> bool {
        let size = kind.size();
        match (self, kind.class()) {
            (Number::Whole(whole), NumberClass::Float) if size == 8 => {
                out.extend((whole as f64).to_le_bytes());
                whole as f64 as i128 == whole
            }
            (Number::Whole(whole), NumberClass::Float) => {
                out.extend((whole as f32).to_le_bytes());
                whole as f32 as i128 == whole
            }
            (Number::Float(float), NumberClass::Float) if size == 8 => {
                out.extend(float.to_le_bytes());
                true
            }
            (Number::Float(float), NumberClass::Float) => {
                out.extend((float as f32).to_le_bytes());
                f64::from(float as f32) == float || float.is_nan()
            }
            (Number::Whole(whole), NumberClass::Int | NumberClass::Uint | NumberClass::Bool) => {
                let bits = 8 * size as u32;
                let (least, most) = match kind.class() {
                    NumberClass::Int => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
                    _ => (0, (1i128 << bits) - 1),
                };
                out.extend(&whole.to_le_bytes()[..size]);
                (least..=most).contains(&whole)
            }
            _ => false,
        }
    }
}

/// Rows of an array, one after another in row-major order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows {
    /// The number of rows.
    pub count: u64,
    /// The shape of a row.
    pub row: Vec<u64>,
    /// The numbers, little-endian.
    pub bytes: Vec<u8>,
}

/// Returns the number and the shape of the rows of an array: a row is one index of the last of more than two dimensions,
/// one number of an array that is a line or a column, and otherwise a line.
pub fn rows_of(dims: &[u64]) -> (u64, Vec<u64>) {
    match *dims {
        [] => (1, Vec::new()),
        [only] => (only, Vec::new()),
        [1, count] | [count, 1] => (count, Vec::new()),
        [count, across] => (count, vec![across]),
        [ref row @ .., count] => (count, row.to_vec()),
    }
}

impl Numbers {
    /// Returns the number at a position in column-major order; `None` after the last one.
    pub fn at(&self, position: usize) -> Option<Number> {
        let size = self.kind.size();
        let bytes = self.bytes.get(position.checked_mul(size)?..)?.get(..size)?;
        Some(Number::of(bytes, self.kind))
    }

    /// Returns the number of numbers.
    pub fn count(&self) -> usize {
        self.bytes.len() / self.kind.size()
    }

    /// Returns true if each row is one number.
    pub fn is_numbers(&self) -> bool {
        rows_of(&self.dims).1.iter().all(|&dim| dim == 1)
    }

    /// Returns true if all numbers are whole and a float of 64 bits has all their digits.
    pub fn is_whole(&self) -> bool {
        (0..self.count()).all(|at| self.at(at).is_some_and(Number::is_whole))
    }

    /// Returns floats that are whole as `int64`; other numbers stay as they are.
    #[must_use]
    pub fn with_whole(self) -> Numbers {
        let is_float = self.kind.class() == NumberClass::Float;
        if !is_float || !self.is_whole() {
            return self;
        }
        let kind = NumberKind::new(NumberClass::Int, 8).expect("int64 is a type");
        let numbers = (0..self.count()).filter_map(|at| match self.at(at)? {
            Number::Float(float) => Some(float as i64),
            Number::Whole(_) | Number::Bool(_) => None,
        });
        let bytes = numbers.flat_map(i64::to_le_bytes).collect();
        Numbers { kind, dims: self.dims, bytes }
    }

    /// Returns one row, as an array; without numbers after the last row.
    #[must_use]
    pub fn row(&self, number: usize) -> Numbers {
        let (count, row) = rows_of(&self.dims);
        let of_row = row.iter().product::<u64>() as usize;
        let size = self.kind.size();
        let is_whole = self.dims.len() > 2;
        let step = if is_whole { 1 } else { count as usize };
        let first = if is_whole { number.saturating_mul(of_row) } else { number };
        let mut bytes = Vec::with_capacity(of_row.min(self.count()) * size);
        if (number as u64) < count {
            for at in (0..of_row).map(|n| (first + n * step) * size) {
                bytes.extend_from_slice(&self.bytes[at..at + size]);
            }
        }
        let dims = if is_whole { row } else { vec![1, of_row as u64] };
        Numbers { kind: self.kind, dims, bytes }
    }

    /// Returns the rows of the array in row-major order.
    pub fn rows(&self) -> Rows {
        let (count, row) = rows_of(&self.dims);
        let size = self.kind.size();
        // The numbers from one row to the next, and from one index of each dimension of a row to the next.
        let mut steps = Vec::with_capacity(row.len());
        let next = if self.dims.len() > 2 {
            let mut step = 1;
            for &dim in &row {
                steps.push(step);
                step *= dim as usize;
            }
            step
        } else {
            steps.extend(row.iter().map(|_| count as usize));
            1
        };
        let mut bytes = Vec::with_capacity(self.bytes.len());
        let of_row = row.iter().product::<u64>() as usize;
        let mut index = vec![0u64; row.len()];
        for n in 0..count as usize {
            index.fill(0);
            for _ in 0..of_row {
                let at =
                    index.iter().zip(&steps).map(|(&i, step)| i as usize * step).sum::<usize>();
                let at = (n * next + at) * size;
                bytes.extend_from_slice(&self.bytes[at..at + size]);
                advance(&mut index, &row);
            }
        }
        Rows { count, row, bytes }
    }
}

/// Moves an index to the next place in row-major order.
fn advance(index: &mut [u64], shape: &[u64]) {
    for (i, &dim) in index.iter_mut().zip(shape).rev() {
        *i += 1;
        if *i < dim {
            return;
        }
        *i = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(dims: &[u64]) -> Numbers {
        let count = dims.iter().product::<u64>() as u8;
        let kind = NumberKind::of_name("uint8").unwrap();
        Numbers { kind, dims: dims.to_vec(), bytes: (0..count).collect() }
    }

    #[test]
    fn rows_are_indexes_of_the_last_of_many_dimensions_and_lines_of_two() {
        // Numbers of an array of (2, 3, 2) in column-major order: (h, w, n) has h + 2w + 6n.
        let rows = bytes(&[2, 3, 2]).rows();
        assert_eq!((rows.count, rows.row.as_slice()), (2, &[2, 3][..]));
        assert_eq!(rows.bytes, [0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11]);
        let rows = bytes(&[2, 3]).rows();
        assert_eq!((rows.count, rows.row.as_slice()), (2, &[3][..]));
        assert_eq!(rows.bytes, [0, 2, 4, 1, 3, 5]);
        for dims in [&[1, 5][..], &[5, 1], &[5]] {
            let rows = bytes(dims).rows();
            assert_eq!((rows.count, rows.row.len(), rows.bytes.len()), (5, 0, 5));
        }
        assert_eq!(bytes(&[2, 3]).row(1).bytes, [1, 3, 5]);
        assert_eq!(bytes(&[2, 3]).row(2).bytes, [0u8; 0]);
        assert_eq!(bytes(&[5, 1]).row(4).bytes, [4]);
        let second = bytes(&[2, 3, 2]).row(1);
        assert_eq!((second.dims.as_slice(), second.bytes[0]), (&[2, 3][..], 6));
        assert_eq!(bytes(&[3, 2, 0]).rows().count, 0);
        assert_eq!(bytes(&[0, 2, 3]).rows().bytes, [0u8; 0]);
    }

    fn as_type(kind: u32, bytes: &[u8], name: &str) -> Result<Vec<u8>> {
        let kind_of = NumberKind::of_name(name).unwrap();
        stored_as(Element { kind, bytes }, kind_of, Order::Little)
    }

    #[test]
    fn numbers_of_fewer_bytes_are_of_the_type_of_their_array() {
        assert_eq!(as_type(2, &[7], "float64").unwrap(), 7f64.to_le_bytes());
        assert_eq!(as_type(1, &[0xff], "float64").unwrap(), (-1f64).to_le_bytes());
        assert_eq!(as_type(3, &[0xff, 0xff], "int32").unwrap(), (-1i32).to_le_bytes());
        assert_eq!(as_type(2, &[1], "bool").unwrap(), [1]);
        assert_eq!(as_type(9, &2f64.to_le_bytes(), "float32").unwrap(), 2f32.to_le_bytes());
        assert!(as_type(3, &[0, 1], "uint8").is_err());
        assert!(as_type(9, &0.5f64.to_le_bytes(), "uint8").is_err());
        assert!(as_type(4, &[1], "uint16").is_err());
        assert!(as_type(14, &[], "uint8").is_err());
        let big = stored_as(
            Element { kind: 4, bytes: &[1, 2] },
            NumberKind::of_name("uint16").unwrap(),
            Order::Big,
        );
        assert_eq!(big.unwrap(), [2, 1]);
    }

    fn of(numbers: &[f64]) -> Numbers {
        let kind = NumberKind::of_name("float64").unwrap();
        let bytes = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
        Numbers { kind, dims: vec![numbers.len() as u64, 1], bytes }.with_whole()
    }

    #[test]
    fn whole_floats_are_integers() {
        assert_eq!(of(&[1.0, -2.0]).kind.name(), "int64");
        assert_eq!(of(&[1.0, -2.0]).at(1), Some(Number::Whole(-2)));
        for other in [0.5, f64::NAN, 1e300] {
            assert_eq!(of(&[1.0, other]).kind.name(), "float64", "{other}");
        }
    }
}
