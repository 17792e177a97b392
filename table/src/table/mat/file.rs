//! `MatFile`: the arrays of a MAT file of version 5, by their places. Values are read one array at a time.
//!
//! The limit on one array after decompression is 32 MiB and 96 bytes for each byte of the file, 1 GiB at most.

use std::fs::File;
use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_foreign::mat::{
    COMPRESSED, Class, HEADER, MATRIX, Order, TAG, Tag, Value, Variable, inflated, inflated_start,
};
use tarflume_formats::message;
use tarflume_formats::{Error, ErrorKind, Place, files};

/// Arrays of a file, at most.
const MOST: usize = 65_535;
/// Bytes that have the shape and the name of an array.
const HEAD: usize = 4096;
/// Bytes of compressed data that have as many bytes after decompression.
const PACKED_HEAD: usize = 64 << 10;

/// An open file.
#[derive(Debug)]
pub struct MatFile {
    file: File,
    path: PathBuf,
    order: Order,
    length: u64,
    variables: Vec<Variable>,
    places: Vec<ElementPlace>,
}

/// Where an array is.
#[derive(Debug, Clone, Copy)]
struct ElementPlace {
    /// Its tag.
    at: u64,
    data: u64,
    length: u64,
    is_compressed: bool,
}

impl MatFile {
    /// Finds the arrays of a file. Reads the first bytes of each.
    ///
    /// # Errors
    /// Returns an error for a file that is no MAT file of version 5, and if the operating system refuses.
    pub fn open(path: &Path) -> Result<MatFile, Failure> {
        let (file, found) = files::open(path)?;
        let length = found.len();
        let start = HEADER.min(usize::try_from(length).unwrap_or(usize::MAX));
        let header = read(&file, path, 0, start)?;
        let order = Order::of_file(&header).map_err(|error| header_refused(&error, path))?;
        let mut file = MatFile {
            file,
            path: path.into(),
            order,
            length,
            variables: Vec::new(),
            places: Vec::new(),
        };
        let mut at = HEADER as u64;
        while at < length {
            let next = file.examine(at)?;
            at = next;
        }
        Ok(file)
    }

    /// Returns the arrays.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// Returns the numbers of the arrays of some classes.
    pub fn numbers_of(&self, is_wanted: impl Fn(Class) -> bool) -> Vec<usize> {
        let all = self.variables.iter().enumerate();
        all.filter(|(_, variable)| is_wanted(variable.class)).map(|(n, _)| n).collect()
    }

    /// Reads the values of an array.
    ///
    /// # Errors
    /// Returns an error for a damaged or too large array, and if the operating system refuses.
    pub fn value(&self, number: usize) -> Result<Value, Failure> {
        let place = *self.places.get(number).ok_or_else(|| {
            Failure::bad_data(format!("it has no array {number}")).in_file(&self.path)
        })?;
        let most = (32u64 << 20).saturating_add(self.length.saturating_mul(96)).min(1 << 30);
        if place.length > most {
            return Err(self.too_large(place.length, most));
        }
        let bytes = read(&self.file, &self.path, place.data, place.length as usize)?;
        let read = if place.is_compressed {
            inflated(&bytes, most).and_then(|bytes| {
                let tag = Tag::parse(&bytes, self.order)?;
                let end = tag.data.saturating_add(tag.length).min(bytes.len() as u64);
                if tag.kind != MATRIX || end - tag.data < tag.length {
                    let text = "a compressed element is no whole array";
                    return Err(Error::new(ErrorKind::Damaged, text));
                }
                Value::parse(&bytes[tag.data as usize..end as usize], self.order)
            })
        } else {
            Value::parse(&bytes, self.order)
        };
        read.map_err(|error| match error.kind() {
            ErrorKind::Limit if place.is_compressed => self.too_large(most.saturating_add(1), most),
            _ => refused(&error, place.at, &self.path),
        })
    }

    fn too_large(&self, size: u64, most: u64) -> Failure {
        let text = format!(
            "an array has {size} bytes or more, and {most} are read at once; save its rows in several files, or in \
             HDF5 with h5py"
        );
        Failure::usage(text).in_file(&self.path)
    }

    /// Takes the element at `at`, if it is a named array, and returns the place of the next one.
    fn examine(&mut self, at: u64) -> Result<u64, Failure> {
        let left = self.length - at;
        let tag = read(&self.file, &self.path, at, TAG.min(left as usize))?;
        let tag = Tag::parse(&tag, self.order).map_err(|e| refused(&e, at, &self.path))?;
        let end = tag.data.saturating_add(tag.length);
        if end > left {
            let text = format!(
                "an array of {} bytes begins at byte {at}, and the file ends at byte {}: it is cut",
                tag.length, self.length
            );
            let place = Place { byte: Some(at), ..Place::file(&self.path) };
            return Err(Failure::bad_data(text).in_place(place));
        }
        let is_compressed = tag.kind == COMPRESSED;
        if is_compressed || tag.kind == MATRIX {
            let place = ElementPlace { at, data: at + tag.data, length: tag.length, is_compressed };
            if let Some(variable) = self.head(place)? {
                if self.variables.len() == MOST {
                    let text = format!("more than {MOST} arrays in one file");
                    return Err(Failure::usage(text).in_file(&self.path));
                }
                self.variables.push(variable);
                self.places.push(place);
            }
        }
        Ok(at + tag.next)
    }

    /// Reads the class, shape and name of an array; `None` for one without a name, which is MATLAB's own.
    fn head(&self, place: ElementPlace) -> Result<Option<Variable>, Failure> {
        let most = if place.is_compressed { PACKED_HEAD } else { HEAD };
        let bytes = read(&self.file, &self.path, place.data, most.min(place.length as usize))?;
        let head = if place.is_compressed {
            inflated_start(&bytes, HEAD).and_then(|bytes| {
                let tag = Tag::parse(&bytes, self.order)?;
                match tag.kind {
                    MATRIX => Variable::parse(&bytes[tag.data as usize..], self.order),
                    _ => Err(Error::new(ErrorKind::Damaged, "a compressed element is no array")),
                }
            })
        } else {
            Variable::parse(&bytes, self.order)
        };
        let variable = head.map_err(|error| refused(&error, place.at, &self.path))?;
        Ok((!variable.name.is_empty()).then_some(variable))
    }
}

fn read(file: &File, path: &Path, at: u64, length: usize) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(length)
        .map_err(|_| Failure::io(std::io::ErrorKind::OutOfMemory.into(), "read", path))?;
    bytes.resize(length, 0);
    files::read_exact_at(file, &mut bytes, at).map_err(|e| Failure::io(e, "read", path))?;
    Ok(bytes)
}

/// Returns the failure of an error in the header.
fn header_refused(error: &Error, path: &Path) -> Failure {
    if error.kind() == ErrorKind::Version {
        return Failure::usage(message!(
            "this is a MAT file of version 7.3, which is HDF5; name it hdf5:{path}. Its axes are in reverse order: a row is \
             an index of the last axis of MATLAB, pictures need layout=cwh, and a column of labels is one row: save it \
             with save -v7, or transposed";
            path = path
        ))
        .in_file(path);
    }
    let place = Place { byte: error.place().byte, ..Place::file(path) };
    Failure::usage(error.message().clone()).in_place(place)
}

/// Returns the failure of an error of the parser in the element at byte `at`.
fn refused(error: &Error, at: u64, path: &Path) -> Failure {
    let place = Place { byte: Some(at), ..Place::file(path) };
    let why = error.message().clone();
    Failure::bad_data(message!("the array at byte {at}: {why}"; why = why)).in_place(place)
}
