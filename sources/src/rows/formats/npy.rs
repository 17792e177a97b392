//! `npy:x.npy,y.npy`: NumPy arrays, one sample for each index of the first dimension.
//!
//! A row of more than one element is a part `NAME.raw` of fixed length: the bytes of the array as
//! they are, a range of the file. A row of one number becomes a field of the sample's JSON, and with
//! `png=NAME` a row is a picture. Keys are row numbers. The arrays of other sources are listed here, too.

pub(crate) mod array;
pub(crate) mod listed;

use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_formats::npy::{Dtype, Header, needed};
use tarflume_formats::{Error, Place};

use self::array::{Array, ArrayType, Origin};
pub(crate) use self::listed::name_of;
use self::listed::{ArrayFile, FileKind, rows};
use crate::rows::Listing;
use crate::rows::columns::array_names::ArrayNames;
use crate::rows::formats::arrays::pickles;
use crate::rows::places::bytes::Store;
use crate::rows::places::row_cells::RowPlaces;
use crate::rows::url::SourceUrl;

/// The first bytes of an array.
pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";

/// The bytes of an array with its header.
pub(crate) struct StoredArray {
    /// The file or member that has them.
    pub(crate) store: Store,
    /// The position of the header's first byte.
    pub(crate) start: u64,
    /// Bytes of header and data.
    pub(crate) length: u64,
}

impl StoredArray {
    /// Parses the header.
    ///
    /// # Errors
    /// Returns an error for an array that cannot be packed by rows.
    pub(crate) fn open(mut self, name: String, origin: Origin) -> Result<Array, Failure> {
        let most = usize::try_from(self.length).unwrap_or(usize::MAX);
        let head = needed(self.store.get(self.start, most.min(12))?);
        let head = head.map_err(|e| not_parsed(&origin, &e))?;
        let header = Header::parse(self.store.get(self.start, most.min(head))?);
        let header = header.map_err(|e| not_parsed(&origin, &e))?;
        check(&header, self.length).map_err(|why| origin.refused(why))?;
        let kind = ArrayType {
            dtype: name_of_type(header.dtype),
            size: header.dtype.size,
            big: false,
            shape: header.shape().to_vec(),
        };
        let places = places(&header, self.start);
        Ok(Array::new(name, origin, kind, self.store, places))
    }
}

/// Returns the places of the rows of an array whose header begins at byte `start`.
fn places(header: &Header, start: u64) -> RowPlaces {
    let rows = header.shape().first().copied().unwrap_or(1).max(1);
    let size = header.data_bytes() / rows;
    RowPlaces { first: start + header.data, stride: size, size }
}

/// Returns the failure for a header that cannot be read. The bytes of a member are counted in the member.
fn not_parsed(origin: &Origin, error: &Error) -> Failure {
    let place = Place { path: Some(origin.path.clone()), ..error.place().clone() };
    let failure = origin.refused(error.placed());
    if origin.member.is_some() { failure } else { failure.with_place(place) }
}

/// Lists the rows of the arrays of one source.
///
/// # Errors
/// Returns an error for a file that is not an array of numbers, and for arrays of different
/// lengths.
pub(crate) fn list(source: &SourceUrl, listing: Listing<'_, '_>) -> Result<(), Failure> {
    let Listing { root, builder, watch } = listing;
    let names = ArrayNames::of(source, |_| false)?;
    let own: Vec<String> = source.files.iter().map(|path| name_of(path)).collect();
    names.check(&own.iter().map(|name| vec![name.as_str()]).collect::<Vec<_>>())?;
    let mut arrays = Vec::new();
    for (n, (path, name)) in source.files.iter().zip(own).enumerate() {
        let mut array = open(path, name)?;
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

/// Opens the array of a file.
fn open(path: &Path, name: String) -> Result<Array, Failure> {
    let mut store = Store::open(path)?;
    pickles::refuse(&mut store, path)?;
    refuse_idx(&mut store, path)?;
    let length = store.length();
    StoredArray { store, start: 0, length }.open(name, Origin::file(path))
}

/// Refuses a file of the format of MNIST.
fn refuse_idx(store: &mut Store, path: &Path) -> Result<(), Failure> {
    let is_long = store.length() >= 4;
    if is_long && matches!(*store.get(0, 4)?, [0, 0, 8 | 9 | 11..=14, 1..=8]) {
        let text: Message = message!("it is an idx file, no npy; name it idx:{path}"; path = path);
        return Err(Failure::usage(text).in_file(path));
    }
    Ok(())
}

/// Returns numpy's name of a type.
fn name_of_type(dtype: Dtype) -> String {
    let Dtype { kind, size, .. } = dtype;
    match kind {
        'b' => "bool".to_string(),
        'f' => format!("float{}", size * 8),
        'i' => format!("int{}", size * 8),
        _ => format!("uint{}", size * 8),
    }
}

/// Returns where the rows of an array in a member of a file are.
///
/// # Errors
/// Returns an error if they cannot be read.
pub(crate) fn rows_of(
    store: &mut Store,
    start: u64,
    length: u64,
) -> Result<Option<RowPlaces>, Failure> {
    let most = usize::try_from(length).unwrap_or(usize::MAX);
    let Ok(head) = needed(store.get(start, most.min(12))?) else { return Ok(None) };
    let Ok(header) = Header::parse(store.get(start, most.min(head))?) else { return Ok(None) };
    let end = header.data.checked_add(header.data_bytes());
    Ok(end.filter(|&end| end <= length).map(|_| places(&header, start)))
}

/// Returns why an array in a file of so many bytes cannot be packed by rows.
fn check(header: &Header, length: u64) -> Result<(), String> {
    if header.shape().is_empty() {
        return Err("a single number; an array of rows is needed".into());
    }
    if header.fortran && header.shape().len() > 1 {
        return Err(
            "the array is in column-major order, so its rows are not contiguous; save it with \
             numpy.save(path, numpy.ascontiguousarray(x))"
                .into(),
        );
    }
    let Dtype { kind, little, .. } = header.dtype;
    if matches!(kind, 'f' | 'i' | 'u') && !little {
        return Err(format!(
            "its type is {}, which is big-endian; save it with numpy.save(path, \
             x.astype(x.dtype.newbyteorder('<')))",
            header.dtype
        ));
    }
    if !matches!(kind, 'f' | 'i' | 'u' | 'b') || header.dtype.size > 8 {
        return Err(format!(
            "its type is {}; bool, integers and floats of up to 8 bytes are packed",
            header.dtype
        ));
    }
    if header.data.checked_add(header.data_bytes()).is_none_or(|end| end > length) {
        return Err(format!(
            "its header declares {} bytes of data from byte {}, and the file ends at byte {length}",
            header.data_bytes(),
            header.data
        ));
    }
    if header.shape()[0] > 0 && header.data_bytes() / header.shape()[0] == 0 {
        return Err("its rows have no elements".into());
    }
    Ok(())
}
