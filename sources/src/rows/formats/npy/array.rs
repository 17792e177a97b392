//! `Array`: the rows of one array in a file, and what they become in the samples.

use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_formats::Column;
use tarflume_formats::json::{JsonRules, Value};
use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_scan::rows::builder::RowPart;

use crate::rows::columns::array_names::{ArrayNames, Becomes};
use crate::rows::columns::pictures::RowPicture;
use crate::rows::columns::{assign, numbers};
use crate::rows::places::bytes::Store;
use crate::rows::places::row_cells::{PlannedRows, RowPlaces, swap};

/// Numbers that are read at a time.
pub(super) const NUMBERS: u64 = 64 << 10;
/// Bytes that are read at a time for numbers between other bytes.
const WINDOW: u64 = 1 << 20;

/// Where an array is from.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    /// The file.
    pub(crate) path: PathBuf,
    /// The member of an npz, for messages.
    pub(crate) member: Option<String>,
}

impl Origin {
    /// Returns the origin of the only array of a file.
    pub(crate) fn file(path: &Path) -> Origin {
        Origin { path: path.into(), member: None }
    }

    /// Returns the failure of the array, for a reason of the user.
    pub(crate) fn refused(&self, why: impl Into<Message>) -> Failure {
        let why = why.into();
        let why = match &self.member {
            Some(member) => message!("{member}: {why}"; why = why),
            None => why,
        };
        Failure::usage(why).in_file(&self.path)
    }

    /// Returns the file and the member, for messages.
    pub(super) fn shown(&self) -> Message {
        let path = &self.path;
        match &self.member {
            Some(member) => message!("{path}: {member}"; path = path),
            None => Message::from(path),
        }
    }
}

/// The numbers of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ArrayType {
    /// NumPy's name of the type, or `bfloat16`.
    pub(crate) dtype: String,
    /// Bytes of a number.
    pub(crate) size: u32,
    /// Whether its first byte is the highest.
    pub(crate) big: bool,
    /// The shape, with the number of rows first.
    pub(crate) shape: Vec<u64>,
}

/// What the rows of an array become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Form {
    /// A field of the JSON.
    Field,
    /// A part with this extension.
    Part(String),
    /// A PNG with this extension.
    Picture(String, RowPicture),
}

/// One array.
#[derive(Debug)]
pub(crate) struct Array {
    /// Its name in the source.
    pub(crate) own: String,
    /// Its name in the samples.
    pub(crate) name: String,
    pub(super) origin: Origin,
    /// The number of its source in the plan.
    pub(super) source: u32,
    /// Its number among the cells of its source.
    pub(crate) column: u16,
    /// True if its rows are no ranges of the file.
    pub(crate) is_packed: bool,
    kind: ArrayType,
    store: Store,
    places: RowPlaces,
    pub(super) form: Form,
    numbers: Numbers,
}

impl Array {
    /// Creates an array of rows of `kind` at `places` in `store`.
    pub(crate) fn new(
        name: String,
        origin: Origin,
        kind: ArrayType,
        store: Store,
        places: RowPlaces,
    ) -> Array {
        let is_one = places.size == u64::from(kind.size);
        let form = if is_one { Form::Field } else { Form::Part(raw_ext(&name)) };
        let is_packed = matches!(store, Store::Memory(_)) || kind.big;
        Array {
            own: name.clone(),
            name,
            origin,
            source: 0,
            column: 0,
            is_packed,
            kind,
            store,
            places,
            form,
            numbers: Numbers::default(),
        }
    }

    /// Gives the array its name and form by the options; `aliases` are other names that the options may use.
    ///
    /// # Errors
    /// Returns an error for an array that is no picture and should be one.
    pub(crate) fn named(&mut self, names: &ArrayNames, aliases: &[&str]) -> Result<(), Failure> {
        let own = self.own.clone();
        let mut all = vec![own.as_str()];
        all.extend(aliases);
        match names.becomes(&all) {
            Becomes::Named(name) => {
                if let Form::Part(_) = self.form {
                    self.form = Form::Part(raw_ext(&name));
                }
                self.name = name;
            }
            Becomes::Part(ext) => {
                self.name = ext.strip_suffix(".raw").unwrap_or(&ext).into();
                self.form = Form::Part(ext);
            }
            Becomes::Picture(ext) => {
                let layout = names.layout(&all);
                let picture = RowPicture::of(&self.kind.shape[1..], &self.kind.dtype, layout);
                let picture =
                    picture.map_err(|why| self.origin.refused(format!("{own}: {why}")))?;
                self.form = Form::Picture(ext, picture);
            }
        }
        Ok(())
    }

    /// Returns the bytes of all rows.
    pub(crate) fn bytes_of_rows(&self) -> u64 {
        self.rows().saturating_mul(self.places.size)
    }

    /// Returns the number of rows.
    pub(crate) fn rows(&self) -> u64 {
        self.kind.shape[0]
    }

    /// Returns true if a row is a field of the JSON.
    pub(super) fn is_field(&self) -> bool {
        self.form == Form::Field
    }

    /// Returns true if its rows are read by the reader of cells of its source.
    pub(super) fn is_cell(&self) -> bool {
        match self.form {
            Form::Field => false,
            Form::Part(_) => self.is_packed,
            Form::Picture(..) => true,
        }
    }

    /// Returns what the plan keeps of its rows.
    pub(super) fn planned(&self) -> PlannedRows {
        let swapped = if self.kind.big { self.kind.size } else { 0 };
        PlannedRows { places: self.places, swapped, picture: self.picture() }
    }

    /// Returns the picture of a row; `None` if its bytes are packed.
    pub(crate) fn picture(&self) -> Option<RowPicture> {
        match self.form {
            Form::Picture(_, picture) => Some(picture),
            Form::Field | Form::Part(_) => None,
        }
    }

    /// Returns the extension of its part; that of the JSON for a field.
    pub(super) fn ext(&self) -> &str {
        match &self.form {
            Form::Field => "json",
            Form::Part(ext) | Form::Picture(ext, _) => ext,
        }
    }

    /// Returns the row as a part.
    ///
    /// # Errors
    /// Returns an error if a row that is encoded cannot be read.
    pub(super) fn part(&mut self, row: u64) -> Result<RowPart<'static>, Failure> {
        let Array { source, column, .. } = *self;
        let size = match self.form {
            Form::Picture(_, picture) => {
                let row = self.bytes(row)?;
                let png = picture.encode(&row);
                png.map_err(|why| self.origin.refused(why))?.len() as u64
            }
            Form::Field | Form::Part(_) => self.places.size,
        };
        if self.is_cell() {
            return Ok(RowPart::Cell { source, row, column, size });
        }
        let at = self.places.at(row).ok_or_else(|| self.origin.refused("its rows have no end"))?;
        Ok(RowPart::Range { source, at, size })
    }

    /// Returns the bytes of a row, little-endian.
    fn bytes(&mut self, row: u64) -> Result<Vec<u8>, Failure> {
        let at = self.places.at(row).ok_or_else(|| self.origin.refused("its rows have no end"))?;
        let size = usize::try_from(self.places.size).unwrap_or(usize::MAX);
        let mut bytes = self.store.get(at, size)?.to_vec();
        if self.kind.big {
            swap(&mut bytes, self.kind.size);
        }
        Ok(bytes)
    }

    /// Returns the row as a number, or why it is none of JSON.
    pub(super) fn value(
        &mut self,
        row: u64,
        rules: JsonRules,
    ) -> Result<Result<Value, Message>, Failure> {
        let rows = self.rows();
        let mut bytes = [0; 8];
        let Some(number) = bytes.get_mut(..self.places.size as usize) else {
            return Err(self.origin.refused("its numbers have more than 8 bytes"));
        };
        number.copy_from_slice(self.numbers.bytes(&mut self.store, self.places, rows, row)?);
        if self.kind.big {
            number.reverse();
        }
        Ok(numbers::number(&self.kind.dtype, number, rules).map_err(|why| {
            message!(
                "array '{}': {why}; or name its bytes as a part: {}.raw={}",
                self.own, self.own, self.own; why = why)
        }))
    }

    /// Returns its description; `None` for a picture.
    pub(super) fn described(&self) -> Option<Column> {
        let (name, kind, shape) = match &self.form {
            Form::Field => {
                let kind = numbers::json_kind(&self.kind.dtype).into();
                (assign::pointer(&self.name), kind, None)
            }
            Form::Part(ext) => {
                let shape = self.kind.shape[1..].to_vec();
                (ext.clone(), self.kind.dtype.clone(), Some(shape))
            }
            Form::Picture(..) => return None,
        };
        Some(Column { name, kind, shape, nullable: false, items: None })
    }
}

/// Returns the extension of the part of an array.
fn raw_ext(name: &str) -> String {
    format!("{}.raw", assign::as_ext(name))
}

/// Reads an array of numbers through a window.
#[derive(Debug, Default)]
struct Numbers {
    bytes: Vec<u8>,
    /// The window's first row, and its rows.
    first: u64,
    held: u64,
}

impl Numbers {
    /// Returns the bytes of a row of an array of `count` rows in `store`.
    fn bytes(
        &mut self,
        store: &mut Store,
        places: RowPlaces,
        count: u64,
        row: u64,
    ) -> Result<&[u8], Failure> {
        let RowPlaces { first, stride, size } = places;
        if row < self.first || row >= self.first + self.held {
            let held = NUMBERS.min((WINDOW / stride.max(1)).max(1)).min(count - row);
            let length = ((held - 1) * stride + size) as usize;
            self.held = 0;
            self.bytes.clear();
            self.bytes.extend_from_slice(store.get(first + row * stride, length)?);
            self.first = row;
            self.held = held;
        }
        let at = ((row - self.first) * stride) as usize;
        Ok(&self.bytes[at..at + size as usize])
    }
}
