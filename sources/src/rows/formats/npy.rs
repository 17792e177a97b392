//! `npy:x.npy,y.npy`: NumPy arrays, one sample for each index of the first dimension.
//!
//! A row of more than one element is a part `NAME.raw` of fixed length: the bytes of the array as
//! they are, a range of the file. A row of one number becomes a field of the sample's JSON. Keys
//! are row numbers. The arrays of an npz are listed here, too.

use std::path::{Path, PathBuf};

use tarflume_base::{Failure, ProblemKind};
use tarflume_formats::Column;
use tarflume_formats::Place;
use tarflume_formats::json::{JsonRules, Object, Value};
use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_formats::npy::{Dtype, Header, needed};
use tarflume_formats::{Error, name};
use tarflume_scan::folders::walk::Watch;
use tarflume_scan::rows::builder::{Root, RowName, RowPart, ScanBuilder};

use crate::rows::Listing;
use crate::rows::columns::part_names::{Twins, renamed, twins};
use crate::rows::columns::{assign, numbers};
use crate::rows::places::bytes::Store;
use crate::rows::url::SourceUrl;

/// The first bytes of an array.
pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";
/// Numbers that are read at a time.
const NUMBERS: u64 = 64 << 10;

/// Where an array is from.
pub(crate) struct Origin {
    /// The number of the source.
    pub(crate) source: u32,
    /// The file.
    pub(crate) path: PathBuf,
    /// The member of an npz, for messages.
    pub(crate) member: Option<String>,
}

impl Origin {
    /// Returns the failure of the array, for a reason of the user.
    fn refused(&self, why: impl Into<Message>) -> Failure {
        let why = why.into();
        let why = match &self.member {
            Some(member) => message!("{member}: {why}"; why = why),
            None => why,
        };
        Failure::usage(why).in_file(&self.path)
    }

    /// Returns the failure for a header that cannot be read. The bytes of a member are counted in the member.
    fn not_parsed(&self, error: &Error) -> Failure {
        let place = Place { path: Some(self.path.clone()), ..error.place().clone() };
        let failure = self.refused(error.placed());
        if self.member.is_some() { failure } else { failure.with_place(place) }
    }

    /// Returns the file and the member, for messages.
    fn shown(&self) -> Message {
        let path = &self.path;
        match &self.member {
            Some(member) => message!("{path}: {member}"; path = path),
            None => Message::from(path),
        }
    }
}

/// The bytes of an array with its header.
pub(crate) struct StoredArray {
    /// The file or member that has them.
    pub(crate) store: Store,
    /// The position of the header's first byte.
    pub(crate) start: u64,
    /// Bytes of header and data.
    pub(crate) length: u64,
}

/// One array.
pub(crate) struct Array {
    /// Its column: the file's base name up to the first dot.
    pub(crate) name: String,
    origin: Origin,
    header: Header,
    /// The bytes of the file or member, and the position of the array's own first byte in them.
    store: Store,
    start: u64,
    /// The column of its cells, if its rows are no ranges of the source.
    cells: Option<u16>,
    /// NumPy's name of the type, or `bfloat16`.
    dtype: String,
    /// Bytes of one row.
    row: u64,
    numbers: Numbers,
}

impl Array {
    /// Returns the number of rows.
    pub(crate) fn rows(&self) -> u64 {
        self.header.shape()[0]
    }

    /// Returns true if a row is one number.
    fn is_number(&self) -> bool {
        self.header.shape().len() == 1
    }

    /// Parses an array.
    ///
    /// # Errors
    /// Returns an error for an array that cannot be packed by rows.
    pub(crate) fn new(
        name: String,
        origin: Origin,
        stored: StoredArray,
        cells: Option<u16>,
    ) -> Result<Array, Failure> {
        let StoredArray { mut store, start, length } = stored;
        let most = usize::try_from(length).unwrap_or(usize::MAX);
        let head = needed(store.get(start, most.min(12))?).map_err(|e| origin.not_parsed(&e))?;
        let header = Header::parse(store.get(start, most.min(head))?);
        let header = header.map_err(|e| origin.not_parsed(&e))?;
        check(&header, length).map_err(|why| origin.refused(why))?;
        let row = header.data_bytes() / header.shape()[0].max(1);
        let dtype = name_of_type(header.dtype);
        let numbers = Numbers::default();
        Ok(Array { name, origin, header, store, start, cells, dtype, row, numbers })
    }

    /// Takes an array whose file has no header, from one that says where its rows are.
    ///
    /// # Errors
    /// Returns an error for an array that cannot be packed by rows.
    pub(crate) fn described(
        name: String,
        origin: Origin,
        stored: StoredArray,
        header: Header,
        dtype: &str,
    ) -> Result<Array, Failure> {
        let StoredArray { store, start, length } = stored;
        check(&header, length).map_err(|why| origin.refused(why))?;
        let row = header.data_bytes() / header.shape()[0].max(1);
        let numbers = Numbers::default();
        let dtype = dtype.into();
        Ok(Array { name, origin, header, store, start, cells: None, dtype, row, numbers })
    }

    /// Returns the row as a part.
    fn part(&self, row: u64) -> RowPart<'static> {
        let source = self.origin.source;
        let size = self.row;
        match self.cells {
            Some(column) => RowPart::Cell { source, row, column, size },
            None => {
                let at = self.start + self.header.data + row * self.row;
                RowPart::Range { source, at, size }
            }
        }
    }

    /// Returns the row as a number, or why it is none of JSON.
    fn value(&mut self, row: u64, rules: JsonRules) -> Result<Result<Value, Message>, Failure> {
        let first = self.start + self.header.data;
        let rows = RowPlaces { first, count: self.rows(), size: self.row };
        let bytes = self.numbers.bytes(&mut self.store, rows, row)?;
        Ok(numbers::number(&self.dtype, bytes, rules).map_err(|why| {
            message!(
                "array '{}': {why}; or save the array with two dimensions (numpy.save(path, x[:, \
                 None])), and its rows are packed as they are",
                self.name; why = why)
        }))
    }

    /// Returns its description.
    fn column(&self) -> Column {
        if self.is_number() {
            let kind = numbers::json_kind(&self.dtype).into();
            let name = assign::pointer(&self.name);
            return Column { name, kind, shape: None, nullable: false, items: None };
        }
        let word = self.dtype.clone();
        let shape = Some(self.header.shape()[1..].to_vec());
        Column { name: self.ext(), kind: word, shape, nullable: false, items: None }
    }

    /// Returns the extension of its part.
    fn ext(&self) -> String {
        format!("{}.raw", assign::as_ext(&self.name))
    }
}

/// Lists the rows of the arrays of one source.
///
/// # Errors
/// Returns an error for a file that is not an array of numbers, and for arrays of different
/// lengths.
pub(crate) fn list(source: &SourceUrl, listing: Listing<'_, '_>) -> Result<(), Failure> {
    if let Some((option, _)) = source.options.first() {
        return Err(Failure::usage(format!("npy: has no option '{option}'")));
    }
    let Listing { root, builder, watch } = listing;
    let mut arrays = Vec::new();
    for (n, path) in source.files.iter().enumerate() {
        let root = Root { number: root + n as u32, path };
        let source = builder.source(root, "", "bytes", Default::default())?;
        let store = Store::open(path)?;
        let length = store.length();
        let origin = Origin { source, path: path.clone(), member: None };
        let stored = StoredArray { store, start: 0, length };
        arrays.push(Array::new(name_of(path), origin, stored, None)?);
    }
    rows(arrays, builder, watch)
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

/// Returns the column of a file: its base name up to the first dot.
pub(crate) fn name_of(path: &Path) -> String {
    let base = path.file_name().unwrap_or_default().as_encoded_bytes();
    let stem = base.split(|&b| b == b'.').next().unwrap_or(base);
    name::shown(stem)
}

/// Adds a sample for each row of arrays of one length.
///
/// # Errors
/// Returns an error for arrays of different lengths or the same name. A number that JSON lacks is a
/// problem.
pub(crate) fn rows(
    mut arrays: Vec<Array>,
    builder: &mut ScanBuilder<'_>,
    watch: Watch<'_>,
) -> Result<(), Failure> {
    let Some(first) = arrays.first() else { return Ok(()) };
    let rows = first.rows();
    let source = first.origin.source;
    if let Some(other) = arrays.iter().find(|array| array.rows() != rows) {
        return Err(Failure::usage(message!(
            "{first} has {rows} rows and {other} has {}; a sample is one row of each",
            other.rows();
            first = first.origin.shown(),
            other = other.origin.shown()
        ))
        .with_file(&first.origin.path));
    }
    let names: Vec<(String, String)> = arrays.iter().map(|a| (a.name.clone(), a.ext())).collect();
    if let Some(Twins { first, second, ext }) = twins(&names) {
        return Err(Failure::usage(if first == second {
            format!("two arrays are named '{first}'; rename a file")
        } else {
            format!("the arrays '{first}' and '{second}' become the part '{ext}'; rename one")
        }));
    }
    for array in &arrays {
        builder.describe(array.column())?;
        if !array.is_number() && array.ext() != format!("{}.raw", array.name) {
            builder.notes.push(renamed("array", &array.name, &array.ext()));
        }
    }
    let mut exts: Vec<String> = arrays.iter().map(Array::ext).collect();
    exts.push("json".into());
    let rules = builder.options().json;
    for row in 0..rows {
        if row % NUMBERS == 0 {
            if watch.stop.requested() {
                return Err(Failure::interrupted());
            }
            watch.counter.add(NUMBERS.min(rows - row));
        }
        let key = builder.number();
        let mut json = Object::new();
        let mut fault = None;
        for array in arrays.iter_mut().filter(|array| array.is_number()) {
            match array.value(row, rules)? {
                Ok(value) => drop(json.insert(array.name.clone(), value)),
                Err(why) => fault = Some(why),
            }
        }
        if let Some(why) = fault {
            let name = RowName { source, row };
            builder.refuse(name, ProblemKind::BadJson, Some(key.as_bytes()), why);
            continue;
        }
        let text = Value::Object(json).to_string();
        let mut parts: Vec<(&str, RowPart<'_>)> = Vec::with_capacity(exts.len());
        for (array, ext) in arrays.iter().zip(&exts).filter(|(array, _)| !array.is_number()) {
            parts.push((ext, array.part(row)));
        }
        if text != "{}" {
            parts.push(("json", RowPart::Text(text.as_bytes())));
        }
        builder.push(RowName { source, row }, key.as_bytes(), &parts)?;
    }
    Ok(())
}

/// The number of an array's rows, and where they are in its store.
#[derive(Clone, Copy)]
struct RowPlaces {
    /// The position of the first row's first byte.
    first: u64,
    /// The number of rows.
    count: u64,
    /// Bytes of one row.
    size: u64,
}

/// Reads an array of numbers through a window.
#[derive(Default)]
struct Numbers {
    bytes: Vec<u8>,
    /// The window's first row.
    first: u64,
}

impl Numbers {
    /// Returns the bytes of a row of an array in `store`.
    fn bytes(&mut self, store: &mut Store, rows: RowPlaces, row: u64) -> Result<&[u8], Failure> {
        let RowPlaces { first, count, size } = rows;
        let held = self.bytes.len() as u64 / size;
        if row < self.first || row >= self.first + held {
            let length = (NUMBERS.min(count - row) * size) as usize;
            self.bytes.clear();
            self.bytes.extend_from_slice(store.get(first + row * size, length)?);
            self.first = row;
        }
        let at = ((row - self.first) * size) as usize;
        Ok(&self.bytes[at..at + size as usize])
    }
}

/// Returns where the rows of an inflated array are: the byte of the first and the bytes of each.
pub(crate) fn rows_of(bytes: &[u8]) -> Option<(u64, u64)> {
    let header = Header::parse(bytes).ok()?;
    let rows = *header.shape().first()?;
    let end = header.data.checked_add(header.data_bytes())?;
    (end <= bytes.len() as u64).then(|| (header.data, header.data_bytes() / rows.max(1)))
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
