//! `zarr:FOLDERS?NAME=/ARRAY&key=/ARRAY`: arrays of Zarr, one sample for each index of the first dimension.
//!
//! A folder is an array or a group of arrays. A row of more than one number is a part `NAME.raw` of fixed length; a number
//! becomes a field of the sample's JSON. Chunks are decoded again when their rows are packed; the plan has the length and
//! the time of each file.

mod array;
mod blocks;
mod cells;
mod folder;
mod place;
mod planned;
mod words;

use std::path::{Path, PathBuf};

use tarflume_base::{Failure, ProblemKind};
use tarflume_formats::Column;
use tarflume_formats::json::{Object, Value};
use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_formats::shown::ShowPath;
use tarflume_scan::rows::builder::{Root, RowName, RowPart};

use self::array::OpenArray;
pub(crate) use self::blocks::find;
#[cfg(feature = "remote")]
pub(crate) use self::blocks::find_if_any;
use self::cells::RowCells;
pub(crate) use self::cells::ZarrCells;
pub(crate) use self::folder::is_zarr;
pub(crate) use self::place::Place;
use self::planned::{Examined, PlannedArray, PlannedFiles};
use crate::rows::Listing;
use crate::rows::columns::array_names::{ArrayNames, is_png};
use crate::rows::columns::choice::{Choice, ForJson, chosen};
use crate::rows::columns::part_names::{part_name, renamed};
use crate::rows::columns::pictures::{Layout, RowPicture};
use crate::rows::columns::{assign, numbers};
use crate::rows::places::bytes::{most_values, whole_limit};
use crate::rows::places::reader::CellFault;
use crate::rows::url::SourceUrl;

/// The kind of these sources, in plans.
pub(crate) const KIND: &str = "zarr";
/// Rows between two looks at a request to stop.
const STEP: u64 = 1024;
/// Bytes that a row counts at least: the list of samples takes memory and time for each.
const ROW: u64 = 64;

/// What an array becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Role {
    /// The key.
    Key,
    /// A field of the JSON.
    Field(String),
    /// A part with this extension.
    Part(String),
    /// A PNG with this extension.
    Picture(String, RowPicture),
}

/// An array and its role in the samples.
struct AssignedArray {
    role: Role,
    name: String,
    /// Reads the numbers that become keys and fields.
    cells: RowCells,
}

impl AssignedArray {
    fn array(&self) -> &OpenArray {
        self.cells.array()
    }

    fn dtype(&self) -> &'static str {
        self.array().array.element().name()
    }

    /// Returns the column of the manifest.
    fn column(&self) -> Option<Column> {
        let shape = self.array().row_shape().to_vec();
        let (name, kind, shape) = match &self.role {
            Role::Key | Role::Picture(..) => return None,
            Role::Field(name) => (assign::pointer(name), numbers::json_kind(self.dtype()), None),
            Role::Part(ext) => (ext.clone(), self.dtype(), Some(shape)),
        };
        Some(Column { name, kind: kind.into(), shape, nullable: false, items: None })
    }

    /// Returns true if the rows of another array become the same.
    fn is_like(&self, other: &AssignedArray) -> bool {
        (&self.role, self.dtype(), self.array().row_shape())
            == (&other.role, other.dtype(), other.array().row_shape())
    }
}

/// The arrays of one folder.
struct Table {
    arrays: Vec<AssignedArray>,
    source: u32,
    /// What the plan keeps of them.
    planned: Vec<PlannedArray>,
    /// The metadata of the first one, under the folder.
    first: String,
    /// Notes about arrays that are packed under other names.
    notes: Vec<Message>,
}

/// Lists the rows of the folders of one source.
///
/// # Errors
/// Returns an error for a folder that is not Zarr or has other arrays than the first, and if the machine fails.
pub(crate) fn list(source: &SourceUrl, mut listing: Listing<'_, '_>) -> Result<(), Failure> {
    let mut tables: Vec<Table> = Vec::with_capacity(source.files.len());
    for (n, path) in source.files.iter().enumerate() {
        let mut table = Table::open(source, path, &listing)?;
        if let Some(name) = tables.first().and_then(|first| first.difference(&table)) {
            return Err(Failure::usage(message!(
                "{path} and {} differ in {name}; pack them as different data sets",
                path.shown();
                path = &source.files[0]
            ))
            .with_file(&source.files[0]));
        }
        table.notes.drain(..).for_each(|note| listing.builder.notes.push(note));
        let root = Root { number: listing.root + n as u32, path };
        let options = serde_json::to_value(&table.planned).expect("texts serialize");
        table.source = listing.builder.source(root, &table.first, KIND, options)?;
        table.planned = Vec::new();
        tables.push(table);
    }
    for column in tables[0].arrays.iter().filter_map(AssignedArray::column) {
        listing.builder.describe(column)?;
    }
    let rows: u64 = tables.iter().map(Table::rows).sum();
    if rows == 0 {
        let text = format!("{}: it has 0 rows, so no samples", tables[0].arrays[0].name);
        return Err(Failure::usage(text).in_file(&source.files[0]));
    }
    let digits = rows.saturating_sub(1).to_string().len().max(8);
    let mut first = 0;
    for table in &mut tables {
        for row in 0..table.rows() {
            if row % STEP == 0 {
                if listing.watch.stop.requested() {
                    return Err(Failure::interrupted());
                }
                listing.watch.counter.add(STEP.min(table.rows() - row));
            }
            table.push(row, format!("{:0digits$}", first + row), &mut listing)?;
        }
        first += table.rows();
    }
    Ok(())
}

/// Returns name and path of the arrays of a folder.
fn all(path: &Path) -> Result<Vec<(String, String)>, Failure> {
    if folder::is_array(path)? {
        // `.` and `/` have no name.
        let base = path.file_name().map(|base| base.to_string_lossy());
        let mut pieces = base.iter().flat_map(|base| base.split('.'));
        let stem = pieces.find(|piece| !piece.is_empty()).unwrap_or("array");
        return Ok(vec![(stem.into(), "/".into())]);
    }
    Ok(folder::arrays(path)?.into_iter().map(|name| (name.clone(), name)).collect())
}

/// Returns the failure of an array that cannot be what it was chosen for.
fn choice_refused(choice: &Choice, why: &str, path: &Path) -> Failure {
    Failure::usage(format!("{}: {why}", choice.dataset)).in_file(path)
}

/// Returns what an array becomes; `None` if `json=` leaves it out.
fn role(
    choice: &Choice,
    array: &OpenArray,
    layout: Option<Layout>,
    path: &Path,
) -> Result<Option<Role>, Failure> {
    let name = &choice.name;
    let is_number = array.row_shape().iter().all(|&dim| dim == 1);
    let is_float = array.array.element().name().contains("float");
    let found = match (name.as_str(), is_number) {
        ("key", true) if !is_float => Role::Key,
        ("key", _) => {
            return Err(choice_refused(
                choice,
                "it is no key: keys are whole numbers, one for each row",
                path,
            ));
        }
        _ if is_png(name) => {
            let dtype = array.array.element().name();
            let picture = RowPicture::of(array.row_shape(), dtype, layout);
            let picture = picture.map_err(|why| choice_refused(choice, &why, path))?;
            Role::Picture(part_name(name), picture)
        }
        _ if name.ends_with(".raw") => Role::Part(part_name(name)),
        (_, true) => Role::Field(name.clone()),
        (_, false) => Role::Part(format!("{}.raw", part_name(name))),
    };
    Ok(match (choice.json, &found) {
        (ForJson::NoFields, Role::Field(_)) => None,
        (ForJson::Fields, role) if !matches!(role, Role::Field(_)) => None,
        (ForJson::Named { .. }, Role::Part(_) | Role::Picture(..) | Role::Key) => {
            let why = "an array of more than one dimension is no field of JSON; name it as a part: zarr:FOLDER?image=/ARRAY";
            return Err(choice_refused(choice, why, path));
        }
        _ => Some(found),
    })
}

impl Table {
    fn open(source: &SourceUrl, path: &Path, listing: &Listing<'_, '_>) -> Result<Table, Failure> {
        let place = Place::Folder(path.into());
        let names = ArrayNames::layouts(source)?;
        let choices = chosen(source, || all(path))?;
        let mut arrays: Vec<AssignedArray> = Vec::with_capacity(choices.len());
        let mut planned = Vec::new();
        let mut notes = Vec::new();
        let mut first = None;
        let mut stored = 0;
        for choice in choices {
            let found = folder::find(&place, &choice.dataset)?;
            let metadata = under(path, &found.place.path(found.file));
            let array = OpenArray::new(found.clone(), &choice.dataset, None)?;
            let layout = names.layout(&[&choice.dataset, choice.dataset.trim_start_matches('/')]);
            let Some(role) = role(&choice, &array, layout, path)? else { continue };
            if let Some(other) = arrays.iter().find(|other| other.role == role) {
                return Err(Failure::usage(format!(
                    "{} and {} are both packed as '{}'; name them: zarr:FOLDER?one=/ARRAY&two=/ARRAY",
                    other.name,
                    choice.dataset,
                    part_name(&choice.name)
                ))
                .in_file(path));
            }
            if let Role::Part(ext) = &role
                && part_name(&choice.name) != choice.name
            {
                notes.push(renamed("array", &choice.name, ext));
            }
            let Examined { files, bytes } = PlannedFiles::examine(&found, listing.watch.stop)?;
            stored += bytes;
            let picture = picture_of(&role);
            planned.push(PlannedArray {
                name: choice.dataset.clone(),
                files: files.to_hex(),
                picture,
            });
            first.get_or_insert(metadata);
            arrays.push(AssignedArray { role, name: choice.dataset, cells: RowCells::new(array) });
        }
        let Some(first) = first else {
            let text =
                "the folder has no arrays of Zarr; name them: zarr:FOLDER?image=/GROUP/ARRAY";
            return Err(Failure::usage(text).in_file(path));
        };
        names.check_pictures(planned.iter().any(|array| array.picture.is_some()))?;
        let table = Table { arrays, source: 0, planned, first, notes };
        table.check(stored, path)?;
        Ok(table)
    }

    /// Refuses arrays of different lengths, and rows that their files cannot have.
    fn check(&self, stored: u64, path: &Path) -> Result<(), Failure> {
        let rows = self.rows();
        if let Some(other) = self.arrays.iter().find(|array| array.array().rows() != rows) {
            return Err(Failure::usage(format!(
                "{} has {rows} rows and {} has {}; a sample is one row of each; name the arrays: \
                 zarr:FOLDER?image=/x&label=/y",
                self.arrays[0].name,
                other.name,
                other.array().rows()
            ))
            .in_file(path));
        }
        for array in &self.arrays {
            array.cells.check_memory(whole_limit(stored))?;
        }
        let row: u64 = self.arrays.iter().map(|array| array.array().array.row_bytes()).sum();
        let values = rows.checked_mul(row.max(ROW));
        if values.is_none_or(|values| values > most_values(stored)) {
            return Err(Failure::usage(format!(
                "{} declares {rows} rows of {row} bytes, which the {stored} bytes of its files cannot have; rows that were \
                 never written are no samples: copy the others (in zarr-python: zarr.create_array('NEW.zarr', \
                 data=array[:ROWS]))",
                self.arrays[0].name
            ))
            .in_file(path));
        }
        Ok(())
    }

    /// Returns the name of an array in which two folders differ.
    fn difference(&self, other: &Table) -> Option<String> {
        self.odd(other).or_else(|| other.odd(self))
    }

    /// Returns the name of an array that another folder lacks.
    fn odd(&self, other: &Table) -> Option<String> {
        let odd =
            self.arrays.iter().find(|array| !other.arrays.iter().any(|own| own.is_like(array)));
        odd.map(|array| array.name.clone())
    }

    fn rows(&self) -> u64 {
        self.arrays[0].array().rows() // a table has at least one
    }

    /// Adds one row as a sample, or its problem.
    fn push(
        &mut self,
        row: u64,
        number: String,
        listing: &mut Listing<'_, '_>,
    ) -> Result<(), Failure> {
        let source = self.source;
        let name = RowName { source, row };
        let rules = listing.builder.options().json;
        let mut key = number;
        let mut json = Object::new();
        let mut parts = Vec::new();
        for (n, AssignedArray { role, name: shown, cells }) in self.arrays.iter_mut().enumerate() {
            if let Role::Part(ext) = role {
                let size = cells.array().array.row_bytes();
                parts.push((ext.as_str(), RowPart::Cell { source, row, column: n as u16, size }));
                continue;
            }
            let dtype = cells.array().array.element().name();
            let bytes = match cells.row(row) {
                Ok(bytes) => bytes,
                Err(CellFault::Failure(failure)) => return Err(failure),
                Err(CellFault::Data(why) | CellFault::Placed(why)) => {
                    let why = message!("{shown}: {why}"; why = why);
                    listing.builder.refuse(name, ProblemKind::Unreadable, None, why);
                    return Ok(());
                }
            };
            if let Role::Picture(ext, picture) = role {
                match picture.encode(bytes) {
                    Ok(png) => {
                        let size = png.len() as u64;
                        let cell = RowPart::Cell { source, row, column: n as u16, size };
                        parts.push((ext.as_str(), cell));
                        continue;
                    }
                    Err(why) => {
                        let why = format!("{shown}: {why}");
                        listing.builder.refuse(name, ProblemKind::Unreadable, None, why);
                        return Ok(());
                    }
                }
            }
            let value = numbers::number(dtype, bytes, rules);
            match (value, role) {
                (Ok(value), Role::Field(field)) => drop(json.insert(field.clone(), value)),
                (Ok(value), _) => key = value.to_string(),
                (Err(why), _) => {
                    let why = message!("{shown}: {why}"; why = why);
                    listing.builder.refuse(name, ProblemKind::BadJson, None, why);
                    return Ok(());
                }
            }
        }
        let text = (!json.is_empty()).then(|| Value::Object(json).to_string());
        if let Some(text) = &text {
            parts.push(("json", RowPart::Text(text.as_bytes())));
        }
        listing.builder.push(name, key.as_bytes(), &parts)
    }
}

/// Returns the picture that a role is; `None` for another role.
fn picture_of(role: &Role) -> Option<RowPicture> {
    match role {
        Role::Picture(_, picture) => Some(*picture),
        _ => None,
    }
}

/// Returns a path under a folder, as text. Names of arrays are text.
fn under(top: &Path, path: &Path) -> String {
    let under: PathBuf = path.strip_prefix(top).expect("the array is under the folder").into();
    under.to_str().expect("names of arrays are text").to_string()
}
