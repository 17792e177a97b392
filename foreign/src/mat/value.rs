//! Values: arrays of numbers, texts, cells and structs.

use tarflume_formats::number_kind::{NumberClass, NumberKind};
use tarflume_formats::{Error, ErrorKind, Result};

use super::element::{Element, Elements, MATRIX, Order};
use super::numbers::{Numbers, stored_as};
use super::text;

/// Values in values, at most.
const DEPTH: u32 = 16;
/// Dimensions of an array, at most.
const DIMS: usize = 32;
/// The flag of complex numbers.
const COMPLEX: u32 = 0x0800;
/// The flag of truth values.
const LOGICAL: u32 = 0x0200;

/// The class of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Arrays of any class.
    Cell,
    /// Fields.
    Struct,
    /// Characters.
    Text,
    /// Numbers.
    Numbers(NumberKind),
    /// What is not read, by its name.
    Unread(&'static str),
}

/// An array before its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name; empty in cells and structs.
    pub name: String,
    /// Its class.
    pub class: Class,
    /// Its shape.
    pub dims: Vec<u64>,
}

/// The values of an array.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Numbers.
    Numbers(Numbers),
    /// The lines of an array of characters.
    Texts(Vec<String>),
    /// The values of cells, in column-major order.
    Cells(Vec<Value>),
    /// An array of structs.
    Structs(Structs),
    /// What is not read, by its name.
    Unread(&'static str),
}

/// An array of structs.
#[derive(Debug, Clone, PartialEq)]
pub struct Structs {
    /// The names of the fields.
    pub fields: Vec<String>,
    /// The values of each struct, in the order of the fields.
    pub rows: Vec<Vec<Value>>,
}

impl Variable {
    /// Parses class, shape and name from the first bytes of an array: those after its tag.
    ///
    /// # Errors
    /// Returns an error if they end before, or state what no array has.
    pub fn parse(bytes: &[u8], order: Order) -> Result<Variable> {
        let mut elements = Elements { bytes, order, at: 0 };
        Variable::take(&mut elements)
    }

    /// Takes what comes before the values of an array.
    fn take(elements: &mut Elements<'_>) -> Result<Variable> {
        let order = elements.order;
        let flags = elements.of_kind(&[6], "the flags of an array")?;
        if flags.len() < 8 {
            return Err(damaged("the flags of an array have fewer than 8 bytes"));
        }
        let flags = order.u32(flags, 0);
        let dims = elements.of_kind(&[5, 6], "the shape of an array")?;
        let count = dims.len() / 4;
        if count == 0 || count > DIMS || dims.len() % 4 != 0 {
            return Err(damaged("the shape of an array has no number of dimensions that is read"));
        }
        let dims = (0..count).map(|n| order.u32(dims, 4 * n));
        let dims: Vec<u64> = dims.map(u64::from).collect();
        if dims.iter().any(|&dim| dim > i32::MAX as u64) {
            return Err(damaged("the shape of an array has a negative number"));
        }
        let name = elements.of_kind(&[1, 2, 16], "the name of an array")?;
        let name = tarflume_formats::name::shown(name);
        let class = match class(flags & 0xff, flags & LOGICAL != 0) {
            Class::Numbers(_) if flags & COMPLEX != 0 => {
                Class::Unread("an array of complex numbers")
            }
            class => class,
        };
        Ok(Variable { name, class, dims })
    }

    /// Returns the number of elements; `None` if no memory has so many.
    fn count(&self) -> Option<usize> {
        let count = self.dims.iter().try_fold(1u64, |n, &dim| n.checked_mul(dim))?;
        usize::try_from(count).ok()
    }
}

fn class(number: u32, is_logical: bool) -> Class {
    let (class, size) = match number {
        1 => return Class::Cell,
        2 => return Class::Struct,
        3 => return Class::Unread("an object"),
        4 => return Class::Text,
        5 => return Class::Unread("a sparse matrix"),
        6 => (NumberClass::Float, 8),
        7 => (NumberClass::Float, 4),
        9 if is_logical => (NumberClass::Bool, 1),
        8 => (NumberClass::Int, 1),
        9 => (NumberClass::Uint, 1),
        10 => (NumberClass::Int, 2),
        11 => (NumberClass::Uint, 2),
        12 => (NumberClass::Int, 4),
        13 => (NumberClass::Uint, 4),
        14 => (NumberClass::Int, 8),
        15 => (NumberClass::Uint, 8),
        16 => return Class::Unread("a function"),
        17 => return Class::Unread("an object of a class of MATLAB"),
        _ => return Class::Unread("an array of an unknown class"),
    };
    let kind = NumberKind::new(class, size).expect("each class of MATLAB is a type of NumPy");
    Class::Numbers(kind)
}

impl Value {
    /// Parses the values of an array from its bytes: those after its tag.
    ///
    /// # Errors
    /// Returns an error for lengths that do not agree, and for values in more values than are read.
    pub fn parse(bytes: &[u8], order: Order) -> Result<Value> {
        parse(bytes, order, 0)
    }
}

fn parse(bytes: &[u8], order: Order, depth: u32) -> Result<Value> {
    if bytes.is_empty() {
        // An empty element of a cell is an empty matrix.
        let kind = NumberKind::new(NumberClass::Float, 8).expect("float64 is a type");
        return Ok(Value::Numbers(Numbers { kind, dims: vec![0, 0], bytes: Vec::new() }));
    }
    if depth > DEPTH {
        let text = format!("cells and structs in more than {DEPTH} others");
        return Err(Error::new(ErrorKind::Limit, text));
    }
    let mut elements = Elements { bytes, order, at: 0 };
    let variable = Variable::take(&mut elements)?;
    Ok(match variable.class {
        Class::Unread(what) => Value::Unread(what),
        Class::Numbers(kind) => {
            let bytes = stored_as(elements.next()?, kind, order)?;
            let count = variable.count().and_then(|count| count.checked_mul(kind.size()));
            if count != Some(bytes.len()) {
                return Err(disagree(&variable, bytes.len() / kind.size()));
            }
            Value::Numbers(Numbers { kind, dims: variable.dims, bytes })
        }
        Class::Text => {
            // Writers leave out the characters of an empty text.
            let empty = Element { kind: 16, bytes: &[] };
            let is_empty = elements.at == bytes.len() && variable.count() == Some(0);
            let data = if is_empty { empty } else { elements.next()? };
            Value::Texts(text::lines(&variable.dims, data, order)?)
        }
        Class::Cell => Value::Cells(cells(&mut elements, &variable, variable.count(), depth)?),
        Class::Struct => Value::Structs(structs(&mut elements, &variable, depth)?),
    })
}

/// Parses so many arrays.
fn cells(
    elements: &mut Elements<'_>,
    variable: &Variable,
    count: Option<usize>,
    depth: u32,
) -> Result<Vec<Value>> {
    // Each has a tag of 8 bytes at least.
    let most = (elements.bytes.len() - elements.at) / 8;
    let count = count.filter(|&count| count <= most).ok_or_else(|| disagree(variable, most))?;
    let mut values = Vec::with_capacity(count);
    for _ in 0..count {
        let bytes = elements.of_kind(&[MATRIX], "a value of a cell or struct")?;
        values.push(parse(bytes, elements.order, depth + 1)?);
    }
    Ok(values)
}

fn structs(elements: &mut Elements<'_>, variable: &Variable, depth: u32) -> Result<Structs> {
    let order = elements.order;
    let length = elements.of_kind(&[5], "the length of names of fields")?;
    if length.len() != 4 {
        return Err(damaged("the length of names of fields has no 4 bytes"));
    }
    let length = order.u32(length, 0) as usize;
    let names = elements.of_kind(&[1, 2, 16], "the names of fields")?;
    if !names.is_empty() && (length == 0 || names.len() % length != 0) {
        return Err(damaged("the names of fields have another length than is declared"));
    }
    let fields: Vec<String> = names
        .chunks(length.max(1))
        .map(|name| name.split(|&byte| byte == 0).next().unwrap_or_default())
        .map(tarflume_formats::name::shown)
        .collect();
    if fields.is_empty() {
        return Ok(Structs { fields, rows: Vec::new() });
    }
    let count = variable.count().and_then(|count| count.checked_mul(fields.len()));
    let values = cells(elements, variable, count, depth)?;
    let mut rows: Vec<Vec<Value>> = Vec::with_capacity(values.len() / fields.len());
    let mut values = values.into_iter();
    loop {
        let row: Vec<Value> = values.by_ref().take(fields.len()).collect();
        if row.is_empty() {
            return Ok(Structs { fields, rows });
        }
        rows.push(row);
    }
}

fn disagree(variable: &Variable, found: usize) -> Error {
    let dims = &variable.dims;
    damaged(&format!("an array of shape {dims:?} has {found} values or room for no more"))
}

fn damaged(why: &str) -> Error {
    Error::new(ErrorKind::Damaged, why.to_string())
}

#[cfg(test)]
mod tests;
