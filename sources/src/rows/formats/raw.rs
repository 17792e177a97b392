//! `raw:x.dat?dtype=float32&shape=768`: numbers without a header, one sample for each row of the shape.
//!
//! Samples are those of `npy:`. The file is rows to its end, from byte `offset` on. Options hold for all files of the
//! source, with the name of an array in front (`x.dtype`) for that one. With `record=label:u1,image:3x32x32u1` a row
//! has several arrays.

mod record;

use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::Place;
use tarflume_formats::message;
use tarflume_formats::message::{Call, Task};
use tarflume_formats::number_kind::NumberKind;
use tarflume_formats::shown::ShowPath;

use super::npy::array::{Array, ArrayType, Origin};
use super::npy::listed::{ArrayFile, FileKind, rows};
use super::npy::{MAGIC, name_of};
use crate::rows::Listing;
use crate::rows::columns::array_names::ArrayNames;
use crate::rows::formats::arrays::pickles;
use crate::rows::places::bytes::Store;
use crate::rows::places::row_cells::RowPlaces;
use crate::rows::url::SourceUrl;

/// The options of an array.
const OPTIONS: [&str; 3] = ["dtype", "shape", "offset"];
/// The option for rows of several arrays.
const RECORD: &str = "record";

/// Lists the rows of the files of one source.
///
/// # Errors
/// Returns an error for an option that is missing or wrong, and for a file that is not a whole number of rows.
pub(crate) fn list(source: &SourceUrl, listing: Listing<'_, '_>) -> Result<(), Failure> {
    if source.option(RECORD).is_some() {
        return record::list(source, listing);
    }
    let own: Vec<String> = source.files.iter().map(|path| name_of(path)).collect();
    check_options(source, &own)?;
    let names = ArrayNames::of(source, |option| OPTIONS.contains(&last_word(option)))?;
    names.check(&own.iter().map(|name| vec![name.as_str()]).collect::<Vec<_>>())?;
    let Listing { root, builder, watch } = listing;
    let mut arrays = Vec::new();
    for (n, (path, name)) in source.files.iter().zip(&own).enumerate() {
        let described = Described::of(source, name, path)?;
        let mut array = described.array(name, path)?;
        array.named(&names, &[])?;
        let root = root + n as u32;
        let file = ArrayFile {
            root,
            path: path.clone(),
            kind: FileKind::Plain,
            split: None,
            arrays: vec![array],
        };
        arrays.extend(file.planned(builder)?);
    }
    rows(arrays, builder, watch)
}

/// Returns the word of an option after the name of an array.
fn last_word(option: &str) -> &str {
    option.rsplit_once('.').map_or(option, |(_, word)| word)
}

/// Checks the arrays in front of options.
fn check_options(source: &SourceUrl, names: &[String]) -> Result<(), Failure> {
    let options = source.options.iter().map(|(option, _)| option);
    for option in options.filter(|option| OPTIONS.contains(&last_word(option))) {
        let array = option.rsplit_once('.').map(|(array, _)| array);
        if let Some(array) = array.filter(|array| !names.iter().any(|name| name == array)) {
            return Err(Failure::usage(format!(
                "raw: option '{option}' is of an array '{array}', and the arrays are {}: each has the name of its file up to \
                 the first dot",
                names.join(", ")
            )));
        }
    }
    Ok(())
}

/// What the options state about a file.
struct Described {
    kind: NumberKind,
    row: Vec<u64>,
    offset: u64,
    /// The options of the whole source, for commands in messages.
    query: String,
}

impl Described {
    fn of(source: &SourceUrl, name: &str, path: &Path) -> Result<Described, Failure> {
        let Some(word) = given(source, name, "dtype") else { return Err(untyped(path)) };
        let kind = NumberKind::of_name(word).ok_or_else(|| unknown_type(word, path))?;
        let row = match given(source, name, "shape") {
            None => Vec::new(),
            Some(text) => shape(text).ok_or_else(|| {
                let text = format!(
                    "shape={text} is no shape of a row; give whole numbers above 0: shape=224,224,3"
                );
                Failure::usage(text).in_file(path)
            })?,
        };
        let offset = offset(given(source, name, "offset"), path)?;
        let query = source.options.iter().map(|(name, value)| format!("{name}={value}"));
        let query = query.collect::<Vec<_>>().join("&");
        Ok(Described { kind, row, offset, query })
    }

    /// The array that the options describe.
    fn array(&self, name: &str, path: &Path) -> Result<Array, Failure> {
        let store = open(path, self.offset)?;
        let row = self.row.iter().try_fold(self.kind.size() as u64, |n, &dim| n.checked_mul(dim));
        let row = row.ok_or_else(|| {
            let text = format!("a row of shape {:?} has more bytes than a file can have", self.row);
            Failure::usage(text).in_file(path)
        })?;
        let length = store.length();
        let found = after_offset(length, self.offset, path)?;
        let count = found / row;
        if found % row > 0 {
            return Err(self.uneven(count, row, length, path));
        }
        let shape = [count].into_iter().chain(self.row.iter().copied()).collect();
        let kind = array_type(self.kind, shape);
        let places = RowPlaces { first: self.offset, stride: row, size: row };
        Ok(Array::new(name.into(), Origin::file(path), kind, store, places))
    }

    /// The failure of a file that ends inside a row.
    fn uneven(&self, rows: u64, row: u64, length: u64, path: &Path) -> Failure {
        let rest = (length - self.offset) % row;
        let offset = self.offset + rest;
        let others = self.query.split('&').filter(|option| !option.starts_with("offset="));
        let others = others.collect::<Vec<_>>().join("&");
        let build = build(format!("raw:{}?{others}&offset={offset}", path.shown()));
        Failure::usage(message!(
            "after {rows} rows of {row} bytes ({} {:?}), {rest} bytes are left: the file is cut, or its type, shape or \
             offset is another one. If {offset} bytes come before the first row: {build}",
            self.kind.name(),
            self.row;
            build = build
        ))
        .in_place(Place { byte: Some(length - rest), ..Place::file(path) })
    }
}

/// Opens a file of numbers; refuses one that says itself what it is.
fn open(path: &Path, offset: u64) -> Result<Store, Failure> {
    let mut store = Store::open(path)?;
    let first = MAGIC.len().min(usize::try_from(store.length()).unwrap_or(usize::MAX));
    if offset == 0 && store.get(0, first)? == MAGIC {
        let build = build(format!("npy:{}", path.shown()));
        return Err(Failure::usage(message!(
            "this is an npy file, whose header has the type and the shape: {build}";
            build = build
        ))
        .in_file(path));
    }
    pickles::refuse(&mut store, path)?;
    Ok(store)
}

/// Returns the bytes of a file from an offset on.
fn after_offset(length: u64, offset: u64, path: &Path) -> Result<u64, Failure> {
    length.checked_sub(offset).ok_or_else(|| {
        let text = format!("it has {length} bytes, so no row can begin at byte {offset}");
        Failure::usage(text).in_file(path)
    })
}

/// Returns the type of little-endian numbers.
fn array_type(kind: NumberKind, shape: Vec<u64>) -> ArrayType {
    ArrayType { dtype: kind.name().into(), size: kind.size() as u32, big: false, shape }
}

/// Returns the value of an option of an array: that with its name in front, or that of all arrays; the last one given.
fn given<'s>(source: &'s SourceUrl, name: &str, word: &str) -> Option<&'s str> {
    let own = format!("{name}.{word}");
    let mut options = source.options.iter().rev();
    let exact = options.clone().find(|(option, _)| *option == own);
    let found = exact.or_else(|| options.find(|(option, _)| option == word));
    found.map(|(_, value)| value.as_str())
}

/// Parses the option `offset`.
fn offset(given: Option<&str>, path: &Path) -> Result<u64, Failure> {
    let Some(text) = given else { return Ok(0) };
    text.parse()
        .map_err(|_| Failure::usage(format!("offset={text} is no number of bytes")).in_file(path))
}

/// Returns the failure of a source that does not name a type.
fn untyped(path: &Path) -> Failure {
    let build = build(format!("raw:{}?dtype=float32&shape=768", path.shown()));
    Failure::usage(message!(
        "a file of numbers without a header does not say what they are; name their type and the shape of a row, without \
         a shape for single numbers: {build}";
        build = build
    ))
    .in_file(path)
}

fn unknown_type(word: &str, path: &Path) -> Failure {
    let known = NumberKind::names().collect::<Vec<_>>().join(", ");
    Failure::usage(format!(
        "dtype={word} is no type; there are {known}, all little-endian (numpy.fromfile(path, '{word}').astype('float32') \
         converts others)"
    ))
    .in_file(path)
}

/// Returns the command that packs a source.
fn build(source: String) -> Call {
    Call::of(Task::Build).on_quoted(source).out_stand("OUT")
}

/// Parses the shape of a row: `224,224,3`.
fn shape(text: &str) -> Option<Vec<u64>> {
    let dims = text.split(',').map(|dim| dim.trim().parse::<u64>().ok().filter(|&dim| dim > 0));
    dims.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_whole_numbers_above_zero() {
        assert_eq!(shape("224,224, 3"), Some(vec![224, 224, 3]));
        assert_eq!(shape("768"), Some(vec![768]));
        for wrong in ["0", "", "3,", "2x3", "-1", "1.5"] {
            assert_eq!(shape(wrong), None, "{wrong}");
        }
    }
}
