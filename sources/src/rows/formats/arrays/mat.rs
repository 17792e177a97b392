//! `mat:train_32x32.mat?png=X&label=y`: the arrays of numbers of MAT files of version 5, one sample for each row.
//!
//! Arrays are in column-major order: a row of an array of more than two dimensions is one index of the last one, of a line
//! or a column it is one number, and of other arrays of two dimensions it is a line. An array is read whole, once in each
//! thread. Arrays of structs are tables: `csv:` and `--join` read them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use tarflume_base::Failure;
use tarflume_foreign::mat::{Class, Rows, Value, Variable};
use tarflume_formats::message;
use tarflume_formats::message::{Call, Name, Task};
use tarflume_formats::shown::ShowPath;
use tarflume_formats::{files, name};
use tarflume_scan::samples::described::Columns;
use tarflume_table::MatFile;

use crate::rows::Listing;
use crate::rows::columns::array_names::{ArrayNames, Becomes};
use crate::rows::columns::pictures::RowPicture;
use crate::rows::formats::npy::array::{Array, ArrayType, Origin};
use crate::rows::formats::npy::listed::{ArrayFile, FileKind, rows};
use crate::rows::places::bytes::{Store, check_whole};
use crate::rows::places::reader::{CellFault, CellReader};
use crate::rows::places::row_cells::RowPlaces;
use crate::rows::url::SourceUrl;

/// The kind of these sources in plans.
pub(crate) const KIND: &str = "mat";

/// Lists the rows of the arrays of each file.
///
/// # Errors
/// Returns an error for a file that is no MAT file of version 5, and for arrays of different lengths.
pub(crate) fn list(source: &SourceUrl, listing: Listing<'_, '_>) -> Result<(), Failure> {
    let names = ArrayNames::of(source, |_| false)?;
    let Listing { root, builder, watch } = listing;
    for (n, path) in source.files.iter().enumerate() {
        let file = MatFile::open(path)?;
        let all: Vec<String> =
            file.variables().iter().map(|found| name::shown(found.name.as_bytes())).collect();
        names.check(&all.iter().map(|name| vec![name.as_str()]).collect::<Vec<_>>())?;
        let packed = files::metadata(path, "examine")?.len();
        let mut held = 0u64;
        let mut arrays = Vec::new();
        let mut left = Vec::new();
        for (column, array) in all.iter().enumerate() {
            if !names.chooses(array) {
                continue;
            }
            let class = file.variables()[column].class;
            if names.is_named(array) || matches!(class, Class::Numbers(_)) {
                // Before it is in memory.
                let declared = declared_bytes(&file.variables()[column]);
                check_whole(held.saturating_add(declared), packed, path, ": its arrays")?;
                let opened = open(&file, column, array, &names, path)?;
                held = held.saturating_add(opened.bytes_of_rows());
                check_whole(held, packed, path, ": its arrays")?;
                arrays.push(opened);
            } else {
                left.push(format!("'{array}'"));
            }
        }
        if arrays.is_empty() {
            return Err(no_arrays(&file, path));
        }
        names.left_out(&all).into_iter().for_each(|note| builder.notes.push(note));
        if !left.is_empty() {
            let text = format!(
                "{}: not packed, because it is no array of numbers: {}",
                path.shown(),
                left.join(", ")
            );
            builder.notes.push(text);
        }
        let file = ArrayFile {
            root: root + n as u32,
            path: path.clone(),
            kind: FileKind::Mat,
            split: None,
            arrays,
        };
        let arrays = file.planned(builder)?;
        builder.begin(format!("mat:{}", path.shown()), Columns::All);
        rows(arrays, builder, watch)?;
    }
    Ok(())
}

/// Returns the bytes that an array of numbers has by its shape; 0 for others.
fn declared_bytes(variable: &Variable) -> u64 {
    let Class::Numbers(kind) = variable.class else { return 0 };
    variable.dims.iter().fold(kind.size() as u64, |bytes, &dim| bytes.saturating_mul(dim))
}

/// Opens an array of numbers.
fn open(
    file: &MatFile,
    column: usize,
    array: &str,
    names: &ArrayNames,
    path: &Path,
) -> Result<Array, Failure> {
    let origin = Origin { path: path.into(), member: Some(array.into()) };
    let numbers = match file.value(column)? {
        Value::Numbers(numbers) => numbers,
        Value::Unread(what) => {
            return Err(origin.refused(format!("it is {what}, which is not read")));
        }
        Value::Structs(_) => return Err(table(path)),
        Value::Texts(_) | Value::Cells(_) => {
            return Err(origin.refused("it has texts or cells, and arrays of numbers are packed"));
        }
    };
    // MATLAB has labels as floats.
    let is_bytes = matches!(names.becomes(&[array]), Becomes::Part(_));
    let is_field = numbers.is_numbers() && !is_bytes;
    let numbers = if is_field { numbers.with_whole() } else { numbers };
    let dtype = numbers.kind.name().to_string();
    let size = numbers.kind.size() as u32;
    let Rows { count, row, bytes } = numbers.rows();
    drop(numbers);
    let shape: Vec<u64> = [count].into_iter().chain(row).collect();
    let row = bytes.len() as u64 / count.max(1);
    if row == 0 {
        return Err(origin.refused(format!("its shape is {shape:?}, so its rows have no elements")));
    }
    let kind = ArrayType { dtype, size, big: false, shape };
    let places = RowPlaces { first: 0, stride: row, size: row };
    let mut opened = Array::new(array.into(), origin, kind, Store::Memory(bytes), places);
    opened.column = column as u16;
    opened.named(names, &[])?;
    Ok(opened)
}

/// Returns the error for a file without arrays of numbers.
fn no_arrays(file: &MatFile, path: &Path) -> Failure {
    if file.variables().iter().any(|found| found.class == Class::Struct) {
        return table(path);
    }
    Failure::usage("it has no arrays of numbers").in_file(path)
}

/// Returns the error for an array of structs.
fn table(path: &Path) -> Failure {
    let build = Call::of(Task::Build)
        .on_quoted(format!("csv:{}?jpg=@COLUMN", path.display()))
        .out_stand("OUT");
    let join = Name::Join.is(path.display().to_string());
    Failure::usage(message!(
        "it has an array of structs, which is a table: {join} joins its rows to the pictures that they name, and {build} \
         packs the files that they name";
        join = join,
        build = build
    ))
    .in_file(path)
}

/// Gives rows of arrays while a shard is packed.
#[derive(Debug)]
pub(crate) struct MatCells {
    path: PathBuf,
    file: MatFile,
    /// The pictures that rows become, by column.
    pictures: BTreeMap<u16, RowPicture>,
    held: Vec<HeldRows>,
}

/// The rows of an array.
#[derive(Debug)]
struct HeldRows {
    column: u16,
    rows: Rows,
}

/// What the plan keeps of a file.
#[derive(Default, Deserialize)]
struct Planned {
    pictures: BTreeMap<u16, RowPicture>,
}

impl MatCells {
    /// Opens a planned file.
    ///
    /// # Errors
    /// Returns an error if it cannot be read.
    pub(crate) fn open(path: &Path, options: &serde_json::Value) -> Result<MatCells, CellFault> {
        let planned = Option::<Planned>::deserialize(options);
        let planned = planned
            .map_err(|_| Failure::bad_data("the plan has no arrays for it").in_file(path))?;
        let pictures = planned.unwrap_or_default().pictures;
        let file = MatFile::open(path)?;
        Ok(MatCells { path: path.into(), file, pictures, held: Vec::new() })
    }

    /// Returns the rows of an array.
    fn rows(&mut self, column: u16) -> Result<&Rows, CellFault> {
        let at = match self.held.iter().position(|held| held.column == column) {
            Some(at) => at,
            None => {
                let Value::Numbers(numbers) = self.file.value(column.into())? else {
                    let text = "an array differs from the plan";
                    return Err(Failure::bad_data(text).in_file(&self.path).into());
                };
                self.held.push(HeldRows { column, rows: numbers.rows() });
                self.held.len() - 1
            }
        };
        Ok(&self.held[at].rows)
    }
}

impl CellReader for MatCells {
    fn read(&mut self, row: u64, column: u16, space: &mut [u8]) -> Result<(), CellFault> {
        let picture = self.pictures.get(&column).copied();
        let Rows { count, bytes, .. } = self.rows(column)?;
        let size = bytes.len() / usize::try_from(*count).unwrap_or(usize::MAX).max(1);
        let start = usize::try_from(row).ok().and_then(|row| row.checked_mul(size));
        let found = start.and_then(|start| bytes.get(start..start.checked_add(size)?));
        match (found, picture) {
            (Some(found), Some(picture)) => picture.encode_into(found, space),
            (Some(found), None) if found.len() == space.len() => {
                space.copy_from_slice(found);
                Ok(())
            }
            _ => Err(CellFault::placed(format!("row {row}: the array differs from the plan"))),
        }
    }
}
