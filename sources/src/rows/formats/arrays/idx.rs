//! `idx:train-images-idx3-ubyte,train-labels-idx1-ubyte`: the arrays of MNIST and its relatives, plain or compressed
//! with gzip; one sample for each index of the first dimension.
//!
//! A file is two zero bytes, the type, the number of dimensions, their sizes, and the numbers: all big-endian. The
//! last word of its name is that of the array, and files whose names are the same before it belong together.

use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::Place;
use tarflume_formats::message::Message;
use tarflume_formats::name;
use tarflume_formats::shown::ShowPath;
use tarflume_scan::samples::described::Columns;

use crate::rows::Listing;
use crate::rows::columns::array_names::ArrayNames;
use crate::rows::formats::npy::array::{Array, ArrayType, Origin};
use crate::rows::formats::npy::listed::{ArrayFile, FileKind, rows};
use crate::rows::places::bytes::Store;
use crate::rows::places::inflate::Codec;
use crate::rows::places::row_cells::{self, RowPlaces};
use crate::rows::url::SourceUrl;

/// Dimensions at most.
const DIMS: u8 = 8;

/// The name of a file, split.
#[derive(Debug, Clone, PartialEq, Eq)]
struct IdxName {
    /// What comes before the last word: that of the split.
    set: String,
    /// The last word, and `image` and `label` for their plurals.
    array: String,
    /// The last word.
    word: String,
}

impl IdxName {
    /// Splits `train-images-idx3-ubyte.gz` into `train` and `image`.
    fn of(path: &Path) -> IdxName {
        let base = name::shown(path.file_name().unwrap_or_default().as_encoded_bytes());
        let base = base.strip_suffix(".gz").unwrap_or(&base);
        let base = base.strip_suffix(".idx").unwrap_or(base);
        let stem = match base.rfind("idx").and_then(|at| base[..at].strip_suffix(['-', '.', '_'])) {
            Some(stem) => stem,
            None => base.split('.').next().unwrap_or(base),
        };
        let split = stem.rsplit_once(['-', '.', '_']);
        let (set, word) = split.unwrap_or(("", stem));
        let array = match word {
            "images" => "image",
            "labels" => "label",
            other => other,
        };
        IdxName { set: set.into(), array: array.into(), word: word.into() }
    }
}

/// Lists the rows of the files of one source: of files that belong together side by side.
///
/// # Errors
/// Returns an error for a file that is not idx, and for arrays of different lengths.
pub(crate) fn list(source: &SourceUrl, listing: Listing<'_, '_>) -> Result<(), Failure> {
    let Listing { root, builder, watch } = listing;
    let options = ArrayNames::of(source, |_| false)?;
    let names: Vec<IdxName> = source.files.iter().map(|path| IdxName::of(path)).collect();
    let all = names.iter().map(|name| vec![name.array.as_str(), name.word.as_str()]);
    let mut all: Vec<Vec<&str>> = all.collect();
    all.sort_unstable();
    all.dedup();
    options.check(&all)?;
    let sets = sets(&names);
    for members in sets {
        let first = source.files[members[0]].shown();
        builder.begin(format!("idx:{first}"), Columns::All);
        let mut arrays = Vec::with_capacity(members.len());
        for n in members {
            let file = open(&source.files[n], &names[n], &options, root + n as u32)?;
            arrays.extend(file.planned(builder)?);
        }
        rows(arrays, builder, watch)?;
    }
    Ok(())
}

/// Returns the positions of files that belong together: all, unless an array is there twice.
fn sets(names: &[IdxName]) -> Vec<Vec<usize>> {
    let mut arrays: Vec<&str> = names.iter().map(|name| name.array.as_str()).collect();
    arrays.sort_unstable();
    let is_twice = arrays.windows(2).any(|pair| pair[0] == pair[1]);
    let mut sets: Vec<Vec<usize>> = Vec::new();
    for (n, name) in names.iter().enumerate() {
        let own = sets.iter_mut().find(|set| !is_twice || names[set[0]].set == name.set);
        match own {
            Some(set) => set.push(n),
            None => sets.push(vec![n]),
        }
    }
    sets
}

/// Opens one file.
fn open(
    path: &Path,
    name: &IdxName,
    options: &ArrayNames,
    root: u32,
) -> Result<ArrayFile, Failure> {
    let codec = Codec::of(path)?;
    let is_gzip = codec == Some(Codec::Gzip);
    let mut store = row_cells::open(path, is_gzip)?;
    let Parsed { kind, places } = parse(&mut store, path)?;
    let mut array = Array::new(name.array.clone(), Origin::file(path), kind, store, places);
    array.named(options, &[&name.word])?;
    let kind = if is_gzip { FileKind::Gzip } else { FileKind::Plain };
    Ok(ArrayFile { root, path: path.into(), kind, split: None, arrays: vec![array] })
}

/// What a header states.
#[derive(Debug)]
struct Parsed {
    kind: ArrayType,
    places: RowPlaces,
}

/// Parses a header and compares it with the length of the file.
fn parse(store: &mut Store, path: &Path) -> Result<Parsed, Failure> {
    let length = store.length();
    if length < 8 {
        return Err(wrong(path, length, "it ends inside the header of an idx file"));
    }
    let [zero, other, code, dims] = store.array(0)?;
    let found = number_type(code).filter(|_| (zero, other) == (0, 0));
    let Some((dtype, size)) = found else {
        let why = format!(
            "it is no idx file: it begins with {zero:02x} {other:02x} {code:02x} {dims:02x}, and such a file with 00 \
             00, its type (08 for bytes) and the number of its dimensions"
        );
        return Err(wrong(path, 0, why));
    };
    if dims == 0 || dims > DIMS {
        return Err(wrong(path, 3, format!("it states {dims} dimensions; 1 to {DIMS} are read")));
    }
    let first = 4 + 4 * u64::from(dims);
    if length < first {
        return Err(wrong(path, length, "it ends inside the header of an idx file"));
    }
    let mut shape = Vec::with_capacity(dims.into());
    for dim in 0..u64::from(dims) {
        shape.push(u64::from(u32::from_be_bytes(store.array(4 + 4 * dim)?)));
    }
    let row = shape[1..].iter().try_fold(u64::from(size), |bytes, &dim| bytes.checked_mul(dim));
    let sizes = row.and_then(|row| Some((row, row.checked_mul(shape[0])?.checked_add(first)?)));
    let Some((row, bytes)) = sizes else {
        return Err(wrong(
            path,
            4,
            format!("an array of shape {shape:?} is larger than a file can be"),
        ));
    };
    if bytes != length {
        let why = format!(
            "its header states the shape {shape:?} of {dtype}, {bytes} bytes with the header, and it has {length}{}; \
             download it again",
            if matches!(store, Store::Memory(_)) { " after decompression" } else { "" }
        );
        return Err(wrong(path, length.min(bytes), why));
    }
    if row == 0 {
        return Err(wrong(
            path,
            4,
            format!("its shape is {shape:?}, so its rows have no elements"),
        ));
    }
    let kind = ArrayType { dtype: dtype.into(), size, big: size > 1, shape };
    Ok(Parsed { kind, places: RowPlaces { first, stride: row, size: row } })
}

fn wrong(path: &Path, byte: u64, why: impl Into<Message>) -> Failure {
    Failure::bad_data(why).in_place(Place { byte: Some(byte), ..Place::file(path) })
}

/// Returns numpy's name and the bytes of a type.
fn number_type(code: u8) -> Option<(&'static str, u32)> {
    Some(match code {
        0x08 => ("uint8", 1),
        0x09 => ("int8", 1),
        0x0b => ("int16", 2),
        0x0c => ("int32", 4),
        0x0d => ("float32", 4),
        0x0e => ("float64", 8),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(file: &str) -> (String, String) {
        let IdxName { set, array, .. } = IdxName::of(Path::new(file));
        (set, array)
    }

    #[test]
    fn the_last_word_of_a_name_is_that_of_the_array() {
        for (file, set, array) in [
            ("raw/train-images-idx3-ubyte", "train", "image"),
            ("train-labels-idx1-ubyte.gz", "train", "label"),
            ("t10k-images.idx3-ubyte", "t10k", "image"),
            ("emnist-balanced-test-labels-idx1-ubyte.gz", "emnist-balanced-test", "label"),
            ("qmnist-train-labels-idx2-int.gz", "qmnist-train", "label"),
            ("digits.idx", "", "digits"),
            ("x", "", "x"),
        ] {
            assert_eq!(named(file), (set.into(), array.into()), "{file}");
        }
    }

    fn sets_of(files: &[&str]) -> Vec<Vec<usize>> {
        sets(&files.iter().map(|file| IdxName::of(Path::new(file))).collect::<Vec<_>>())
    }

    #[test]
    fn files_belong_together_unless_an_array_is_there_twice() {
        assert_eq!(sets_of(&["a-images-idx3-ubyte", "b-labels-idx1-ubyte"]), [[0, 1]]);
        let four = [
            "t10k-images-idx3-ubyte",
            "t10k-labels-idx1-ubyte",
            "train-images-idx3-ubyte",
            "train-labels-idx1-ubyte",
        ];
        assert_eq!(sets_of(&four), [[0, 1], [2, 3]]);
    }

    fn parsed(bytes: &[u8]) -> Result<Parsed, Failure> {
        parse(&mut Store::Memory(bytes.to_vec()), Path::new("/x"))
    }

    fn says(bytes: &[u8], text: &str) {
        let error = parsed(bytes).unwrap_err();
        assert!(error.text().contains(text), "{error}");
    }

    #[test]
    fn a_header_agrees_with_the_length_of_its_file() {
        let good = [0, 0, 0x0b, 2, 0, 0, 0, 2, 0, 0, 0, 3, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6];
        let found = parsed(&good).unwrap();
        assert_eq!(found.places, RowPlaces { first: 12, stride: 6, size: 6 });
        assert_eq!((found.kind.dtype.as_str(), found.kind.big), ("int16", true));
        says(&good[..23], "24 bytes with the header, and it has 23");
        says(&[&good[..], &[0]].concat(), "and it has 25");
        says(&good[..11], "ends inside the header");
        says(&[1, 0, 8, 1, 0, 0, 0, 0], "begins with 01 00 08 01");
        says(&[0, 0, 10, 1, 0, 0, 0, 0], "no idx file");
        says(&[0, 0, 8, 9, 0, 0, 0, 0], "states 9 dimensions");
        says(&[0, 0, 8, 2, 0, 0, 0, 1, 0, 0, 0, 0], "no elements");
        let huge = [[0, 0, 8, 4].as_slice(), &[0xff; 16]].concat();
        says(&huge, "larger than a file");
        assert_eq!(parsed(&[0, 0, 8, 1, 0, 0, 0, 0]).unwrap().kind.shape, [0]);
    }
}
