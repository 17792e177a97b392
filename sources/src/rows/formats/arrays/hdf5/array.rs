//! `H5Array`: the rows of one HDF5 data set.
//!
//! Numbers leave as little-endian bytes. A contiguous data set has a place in the file and is not
//! decoded at all; of a chunked one, the chunks of some rows are held.

use std::ops::Range;
use std::path::Path;

use hdf5_reader::error::{Error, Result};
use hdf5_reader::messages::HdfMessage;
use hdf5_reader::messages::dataspace::DataspaceType;
use hdf5_reader::messages::layout::DataLayout;
use hdf5_reader::{
    Dataset, Datatype, H5Type, Hdf5File, SliceInfo, SliceInfoElem, StringPadding, StringSize,
    VarLenKind,
};
use tarflume_base::Failure;

use super::file::{OpenFile, failure, guarded};
use super::filters;
use super::link::instead;
use super::number::{NumberType, Unread};
use crate::rows::places::bytes::{most_values, whole_limit};

/// Bytes of rows that are read at a time from a data set without chunks.
const WINDOW: u64 = 1 << 20;
/// Bytes that a row counts at least: the list of samples takes memory and time for each.
const ROW: u64 = 64;

/// The kind of a data set's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum H5Kind {
    /// Numbers.
    Numbers(NumberType),
    /// Text, one for each row.
    Text {
        padding: StringPadding,
        /// Whether an element is a reference to the text.
        variable: bool,
    },
    /// Strings of bytes of different lengths, one for each row.
    Bytes,
}

impl H5Kind {
    /// Returns the type of numbers.
    pub(super) fn number(self) -> Option<NumberType> {
        match self {
            H5Kind::Numbers(number) => Some(number),
            H5Kind::Text { .. } | H5Kind::Bytes => None,
        }
    }

    /// Returns the kind of a data set whose type is encoded as `raw`.
    fn of(dtype: &Datatype, raw: &[u8]) -> std::result::Result<H5Kind, Unread> {
        Ok(match dtype {
            Datatype::FixedPoint { .. } | Datatype::FloatingPoint { .. } => {
                H5Kind::Numbers(NumberType::of(raw)?)
            }
            // NumPy's bool is an enumeration of two values in a byte.
            Datatype::Enum { members, .. } => {
                let number = NumberType::of(raw)?;
                let is_bool = number.size == 1
                    && members.len() == 2
                    && members.iter().any(|member| member.name == "TRUE");
                H5Kind::Numbers(if is_bool { number.as_bool() } else { number })
            }
            &Datatype::String { size, padding, .. } => {
                H5Kind::Text { padding, variable: size == StringSize::Variable }
            }
            &Datatype::VarLen { kind: VarLenKind::String, padding, .. } => {
                H5Kind::Text { padding, variable: true }
            }
            Datatype::VarLen { kind: VarLenKind::Sequence, .. } => {
                match NumberType::of_items(raw)? {
                    item if item.size == 1 && item.is_whole() => H5Kind::Bytes,
                    _ => return Err(Unread::Other),
                }
            }
            _ => return Err(Unread::Other),
        })
    }
}

/// Rows that are held.
struct Slab {
    first: u64,
    /// The numbers of all rows, or the value of each row.
    rows: SlabRows,
}

enum SlabRows {
    Numbers(Vec<u8>),
    Values(Vec<Vec<u8>>),
}

/// One data set.
pub(super) struct H5Array {
    pub(super) name: String,
    pub(super) kind: H5Kind,
    /// The position of the first row, if the bytes are in the file as they are packed.
    pub(super) place: Option<u64>,
    dataset: Dataset,
    /// Bytes of one row's elements in the file.
    row_bytes: u64,
    /// Rows that are read at a time.
    step: u64,
    slab: Option<Slab>,
    /// The first row and the error of rows that could not be read: they are not read again for each of them.
    failed: Option<(u64, String)>,
    /// Limit on the values of variable length that are held.
    limit: u64,
}

impl H5Array {
    /// Finds a data set in a file.
    ///
    /// # Errors
    /// Returns an error if there is none, if its type is not read, or if its chunks are too large.
    pub(super) fn find(
        opened: &OpenFile,
        name: &str,
        path: &Path,
    ) -> std::result::Result<H5Array, Failure> {
        let refuse = |why: String| Failure::usage(format!("{name}: {why}")).in_file(path);
        let OpenFile { file, length } = opened;
        let dataset = guarded(|| file.dataset(name));
        let dataset = dataset.map_err(|e| match instead(file, name, path) {
            Some(why) => refuse(why),
            None => failure(e, path),
        })?;
        filters::check(file, &dataset, name, path)?;
        let raw = guarded(|| dataset.raw_datatype()).map_err(|e| failure(e, path))?;
        let kind = H5Kind::of(dataset.dtype(), &raw);
        let kind = kind.map_err(|why| refuse(unread(why, dataset.dtype(), name)))?;
        let shape = dataset.shape();
        if shape.is_empty() {
            let is_null = is_null(file, &dataset).map_err(|e| failure(e, path))?;
            return Err(refuse(if is_null {
                "it has no values (h5py.Empty), and so no rows".into()
            } else {
                "it has no rows: it is a single value".into()
            }));
        }
        if shape[1..].contains(&0) {
            return Err(refuse(format!("its shape is {shape:?}, so a row has no values")));
        }
        if shape.len() > 1 && kind.number().is_none() {
            return Err(refuse("text and bytes are read from data sets of one dimension".into()));
        }
        let element = dataset.raw_element_size().map_err(|e| failure(e, path))? as u64;
        let row = shape[1..].iter().try_fold(element, |bytes, &dim| bytes.checked_mul(dim));
        let limit = whole_limit(*length);
        let row_bytes = row.filter(|&bytes| bytes > 0 && bytes <= limit);
        let row_bytes =
            row_bytes.ok_or_else(|| refuse(format!("a row of shape {shape:?} has no size")))?;
        let place = place(file, &dataset, kind).map_err(|e| failure(e, path))?;
        let end = place.map(|at| shape[0].checked_mul(row_bytes)?.checked_add(at));
        if end.is_some_and(|end| end.is_none_or(|end| end > *length)) {
            return Err(refuse("its data ends after the end of the file".into()));
        }
        let values = shape[0].checked_mul(row_bytes.max(ROW));
        let values = values.filter(|&bytes| bytes <= most_values(*length));
        if place.is_none() && values.is_none() {
            return Err(refuse(format!(
                "it declares {} rows of {row_bytes} bytes, which the {length} bytes of the file cannot have; rows that \
                 were never written are no samples: copy the others (in h5py: out[{name:?}] = data[:ROWS])",
                shape[0]
            )));
        }
        let step = match dataset.chunks() {
            Some(chunk) => u64::from(chunk[0]).clamp(1, shape[0].max(1)),
            None => (WINDOW / row_bytes).max(1),
        };
        // A chunk has references to texts and bytes; what they refer to has any length.
        let step = match kind {
            H5Kind::Bytes => step.min(32),
            H5Kind::Text { variable: true, .. } => step.min(4096),
            _ => step,
        };
        let bytes = step.saturating_mul(row_bytes);
        if place.is_none() && bytes > limit {
            return Err(refuse(format!(
                "its chunks hold {step} rows, {bytes} bytes; a thread holds at most {limit}; write \
                 the data set with smaller chunks (in h5py: chunks=(1, ...))"
            )));
        }
        let slab = None;
        let failed = None;
        let name = name.into();
        Ok(H5Array { name, kind, place, dataset, row_bytes, step, slab, failed, limit })
    }

    /// Returns the rows that are read at a time.
    pub(super) fn step(&self) -> u64 {
        self.step
    }

    /// Returns rows of numbers, one after another. Holds nothing of them.
    ///
    /// # Errors
    /// Returns an error if they cannot be read or decoded, or are no numbers.
    pub(super) fn block(&self, rows: Range<u64>) -> Result<Vec<u8>> {
        match guarded(|| self.read(rows.start, rows.end - rows.start))? {
            SlabRows::Numbers(bytes) => Ok(bytes),
            SlabRows::Values(_) => Err(Error::InvalidData("they are no numbers".into())),
        }
    }

    /// Returns the number of rows.
    pub(super) fn rows(&self) -> u64 {
        self.dataset.shape()[0]
    }

    /// Returns the shape of one row.
    pub(super) fn row_shape(&self) -> &[u64] {
        &self.dataset.shape()[1..]
    }

    /// Returns the bytes of one row of numbers.
    pub(super) fn row_bytes(&self) -> u64 {
        self.row_bytes
    }

    /// Returns the value of a row.
    ///
    /// # Errors
    /// Returns an error if the row cannot be read or decoded.
    pub(super) fn value(&mut self, row: u64) -> Result<&[u8]> {
        if row >= self.rows() {
            return Err(Error::InvalidData(format!("it has {} rows", self.rows())));
        }
        let first = row - row % self.step;
        if self.slab.as_ref().is_none_or(|slab| slab.first != first) {
            if let Some((_, text)) = self.failed.as_ref().filter(|(failed, _)| *failed == first) {
                return Err(Error::InvalidData(text.clone()));
            }
            self.slab = None; // frees it before the next one is read
            let read = guarded(|| self.read(first, self.step.min(self.rows() - first)));
            if let Err(error @ (Error::InvalidData(_) | Error::ResourceLimit(_))) = &read {
                self.failed = Some((first, error.to_string()));
            }
            self.slab = Some(Slab { first, rows: read? });
        }
        let skip = (row - first) as usize;
        let slab = self.slab.as_ref().expect("it was read above");
        let value = match &slab.rows {
            SlabRows::Numbers(bytes) => {
                let size = self.row_bytes as usize;
                bytes.get(skip * size..(skip + 1) * size)
            }
            SlabRows::Values(values) => values.get(skip).map(Vec::as_slice),
        };
        value.ok_or_else(|| Error::InvalidData(format!("it ends before row {row}")))
    }

    fn read(&self, first: u64, rows: u64) -> Result<SlabRows> {
        let mut selections =
            vec![SliceInfoElem::Slice { start: first, end: first + rows, step: 1 }];
        let row = self.dataset.shape()[1..].iter();
        selections.extend(row.map(|&end| SliceInfoElem::Slice { start: 0, end, step: 1 }));
        let selected = SliceInfo { selections };
        match self.kind {
            H5Kind::Numbers(number) => {
                let mut bytes = match number.size {
                    1 => self.numbers::<1>(&selected),
                    2 => self.numbers::<2>(&selected),
                    4 => self.numbers::<4>(&selected),
                    _ => self.numbers::<8>(&selected),
                }?;
                number.settle(&mut bytes);
                Ok(SlabRows::Numbers(bytes))
            }
            H5Kind::Text { padding, variable } => {
                let elements = self.dataset.read_slice::<Element>(&selected)?;
                if variable {
                    return self.resolved(elements.iter(), |bytes| trimmed(bytes, padding));
                }
                let texts = elements.iter().map(|element| trimmed(element.0.clone(), padding));
                Ok(SlabRows::Values(texts.collect()))
            }
            H5Kind::Bytes => {
                let elements = self.dataset.read_slice::<Element>(&selected)?;
                self.resolved(elements.iter(), |bytes| bytes)
            }
        }
    }

    /// Reads the values that elements refer to. Many can refer to the same bytes.
    fn resolved<'e>(
        &self,
        elements: impl ExactSizeIterator<Item = &'e Element>,
        settle: impl Fn(Vec<u8>) -> Vec<u8>,
    ) -> Result<SlabRows> {
        let rows = elements.len();
        let mut values = Vec::new();
        let mut bytes = 0;
        for element in elements {
            let value = settle(self.dataset.resolve_vlen_reference_bytes(&element.0, 1)?);
            bytes += value.len() as u64;
            if bytes > self.limit {
                let text = format!("{rows} rows have more than {} bytes", self.limit);
                return Err(Error::ResourceLimit(text));
            }
            values.push(value);
        }
        Ok(SlabRows::Values(values))
    }

    /// Reads numbers as they are in the file.
    fn numbers<const N: usize>(&self, selected: &SliceInfo) -> Result<Vec<u8>> {
        let array = self.dataset.read_slice::<Number<N>>(selected)?;
        let numbers = array.as_slice().expect("the library gives arrays in row-major order");
        let mut bytes = Vec::with_capacity(numbers.len() * N);
        for number in numbers {
            bytes.extend_from_slice(&number.0);
        }
        Ok(bytes)
    }
}

/// Returns true for a data set that was written without values.
fn is_null(file: &Hdf5File, dataset: &Dataset) -> Result<bool> {
    let header = guarded(|| file.get_or_parse_header(dataset.address()))?;
    Ok(header.messages.iter().any(|message| match message {
        HdfMessage::Dataspace(space) => space.dataspace_type == DataspaceType::Null,
        _ => false,
    }))
}

/// Returns the position of a contiguous data set of little-endian numbers in the file.
fn place(file: &Hdf5File, dataset: &Dataset, kind: H5Kind) -> Result<Option<u64>> {
    let header = guarded(|| file.get_or_parse_header(dataset.address()))?;
    let mut found = None;
    for message in &header.messages {
        match message {
            HdfMessage::ExternalFiles(_) => {
                return Err(Error::UnsupportedEncoding(
                    "its data is in external files; copy it into one (in h5py: \
                     out.create_dataset(name, data=file[name][:]))"
                        .into(),
                ));
            }
            HdfMessage::DataLayout(layout) => found = Some(&layout.layout),
            _ => {}
        }
    }
    if !kind.number().is_some_and(NumberType::is_plain) {
        return Ok(None);
    }
    let base = file.superblock().base_address;
    let undefined = match file.superblock().offset_size {
        2 => u64::from(u16::MAX),
        4 => u64::from(u32::MAX),
        _ => u64::MAX,
    };
    Ok(match found {
        // Without an address nothing was written, and the rows have the fill value.
        Some(&DataLayout::Contiguous { address, size })
            if address != undefined
                && Some(size) == dataset.raw_byte_len().ok().map(|n| n as u64) =>
        {
            base.checked_add(address)
        }
        _ => None,
    })
}

fn trimmed(mut bytes: Vec<u8>, padding: StringPadding) -> Vec<u8> {
    let end = match padding {
        StringPadding::NullTerminate => bytes.iter().position(|&b| b == 0),
        StringPadding::NullPad => Some(bytes.iter().rposition(|&b| b != 0).map_or(0, |n| n + 1)),
        StringPadding::SpacePad => {
            Some(bytes.iter().rposition(|&b| b != b' ').map_or(0, |n| n + 1))
        }
    };
    bytes.truncate(end.unwrap_or(bytes.len()));
    bytes
}

/// Returns why a type is not read, and what to do.
fn unread(why: Unread, dtype: &Datatype, name: &str) -> String {
    match why {
        Unread::Other => format!(
            "its type is not read: {}; numbers, text and bytes of any length are",
            described(dtype)
        ),
        Unread::OddFloat => format!(
            "its floats have another layout than float16, bfloat16, float32 and float64; write them as floats that \
             NumPy has (in h5py: data = file['{name}'].astype('float64')[:]; del file['{name}']; file['{name}'] = data)"
        ),
        Unread::Damaged => "its type is damaged".into(),
    }
}

fn described(dtype: &Datatype) -> &'static str {
    match dtype {
        Datatype::Compound { .. } => "a compound of several fields",
        Datatype::Array { .. } => "an array type",
        Datatype::Opaque { .. } => "an opaque type",
        Datatype::Reference { .. } => "a reference",
        Datatype::VarLen { .. } => "lists of different lengths",
        _ => "a number of an unusual size",
    }
}

/// The bytes of a number, in the order of the file.
#[derive(Clone)]
#[repr(transparent)]
struct Number<const N: usize>([u8; N]);

impl<const N: usize> H5Type for Number<N> {
    fn hdf5_type() -> Datatype {
        Datatype::Opaque { size: N as u32, tag: String::new() }
    }

    fn from_bytes(bytes: &[u8], _: &Datatype) -> Result<Self> {
        let number = bytes.try_into().map(Number);
        number.map_err(|_| Error::InvalidData(format!("a number of {} bytes", bytes.len())))
    }

    fn element_size(_: &Datatype) -> usize {
        N
    }

    fn decode_vec(raw: &[u8], _: &Datatype, count: usize) -> Option<Result<Vec<Self>>> {
        let (numbers, rest) = raw.as_chunks::<N>();
        let whole = numbers.len() == count && rest.is_empty();
        whole.then(|| Ok(numbers.iter().map(|&number| Number(number)).collect()))
    }
}

/// The bytes of any element.
#[derive(Clone)]
struct Element(Vec<u8>);

impl H5Type for Element {
    fn hdf5_type() -> Datatype {
        Datatype::Opaque { size: 1, tag: String::new() }
    }

    fn from_bytes(bytes: &[u8], _: &Datatype) -> Result<Self> {
        Ok(Element(bytes.to_vec()))
    }

    fn element_size(dtype: &Datatype) -> usize {
        hdf5_reader::dtype_element_size(dtype).unwrap_or(0)
    }
}
