//! `raw:x.dat?dtype=float32&shape=768`: numbers without a header, one sample for each row of the shape.
//!
//! Samples are those of `npy:`. The file is rows to its end, from byte `offset` on. Options hold for all files of the
//! source, with the name of an array in front (`x.dtype`) for that one.

use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::Place;
use tarflume_formats::message;
use tarflume_formats::message::{Call, Task};
use tarflume_formats::npy::{Dtype, Header, write_header};
use tarflume_formats::number_kind::NumberKind;
use tarflume_formats::shown::ShowPath;
use tarflume_scan::rows::builder::Root;

use super::npy::{Array, MAGIC, Origin, StoredArray, name_of, rows};
use crate::rows::Listing;
use crate::rows::places::bytes::Store;
use crate::rows::url::SourceUrl;

/// The options of an array.
const OPTIONS: [&str; 3] = ["dtype", "shape", "offset"];

/// Lists the rows of the files of one source.
///
/// # Errors
/// Returns an error for an option that is missing or wrong, and for a file that is not a whole number of rows.
pub(crate) fn list(source: &SourceUrl, listing: Listing<'_, '_>) -> Result<(), Failure> {
    let names: Vec<String> = source.files.iter().map(|path| name_of(path)).collect();
    check_options(source, &names)?;
    let Listing { root, builder, watch } = listing;
    let mut arrays = Vec::new();
    for (n, (path, name)) in source.files.iter().zip(&names).enumerate() {
        let described = Described::of(source, name, path)?;
        let root = Root { number: root + n as u32, path };
        let number = builder.source(root, "", "bytes", Default::default())?;
        let mut store = Store::open(path)?;
        let header = described.header(&mut store, path)?;
        let length = store.length();
        let origin = Origin { source: number, path: path.clone(), member: None };
        let stored = StoredArray { store, start: 0, length };
        arrays.push(Array::described(name.clone(), origin, stored, header, described.kind.name())?);
    }
    rows(arrays, builder, watch)
}

/// Checks the names of options, and that the arrays in front of them exist.
fn check_options(source: &SourceUrl, names: &[String]) -> Result<(), Failure> {
    for (option, _) in &source.options {
        let (array, word) = match option.rsplit_once('.') {
            Some((array, word)) => (Some(array), word),
            None => (None, option.as_str()),
        };
        if !OPTIONS.contains(&word) {
            return Err(Failure::usage(format!(
                "raw: has no option '{option}'; there are dtype=float32, shape=224,224,3 and offset=0, with an array in front \
                 for one of several files: x.dtype=float32"
            )));
        }
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
        let offset = match given(source, name, "offset") {
            None => 0,
            Some(text) => text.parse().map_err(|_| {
                Failure::usage(format!("offset={text} is no number of bytes")).in_file(path)
            })?,
        };
        let query = source.options.iter().map(|(name, value)| format!("{name}={value}"));
        let query = query.collect::<Vec<_>>().join("&");
        Ok(Described { kind, row, offset, query })
    }

    /// The header that the file lacks.
    fn header(&self, store: &mut Store, path: &Path) -> Result<Header, Failure> {
        let length = store.length();
        let first = MAGIC.len().min(usize::try_from(length).unwrap_or(usize::MAX));
        if self.offset == 0 && store.get(0, first)? == MAGIC {
            let build = build(format!("npy:{}", path.shown()));
            return Err(Failure::usage(message!(
                "this is an npy file, whose header has the type and the shape: {build}";
                build = build
            ))
            .in_file(path));
        }
        let row = self.row.iter().try_fold(self.kind.size() as u64, |n, &dim| n.checked_mul(dim));
        let row = row.ok_or_else(|| {
            let text = format!("a row of shape {:?} has more bytes than a file can have", self.row);
            Failure::usage(text).in_file(path)
        })?;
        let Some(found) = length.checked_sub(self.offset) else {
            let text =
                format!("it has {length} bytes, so no row can begin at byte {}", self.offset);
            return Err(Failure::usage(text).in_file(path));
        };
        let rest = found % row;
        let rows = found / row;
        if rest > 0 {
            return Err(self.uneven(rows, row, length, path));
        }
        let shape: Vec<u64> = [rows].into_iter().chain(self.row.iter().copied()).collect();
        let size = self.kind.size() as u32;
        let dtype = Dtype { kind: self.kind.letter(), size, little: true };
        let mut text = Vec::new();
        let written = write_header(&mut text, dtype, false, &shape);
        let header = written.and_then(|()| Header::parse(&text));
        let mut header = header.map_err(|e| Failure::usage(e.placed()).in_file(path))?;
        header.data = self.offset;
        Ok(header)
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

/// Returns the value of an option of an array: that with its name in front, or that of all arrays; the last one given.
fn given<'s>(source: &'s SourceUrl, name: &str, word: &str) -> Option<&'s str> {
    let own = format!("{name}.{word}");
    let mut options = source.options.iter().rev();
    let exact = options.clone().find(|(option, _)| *option == own);
    let found = exact.or_else(|| options.find(|(option, _)| option == word));
    found.map(|(_, value)| value.as_str())
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
