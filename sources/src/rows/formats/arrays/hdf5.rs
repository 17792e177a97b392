//! `hdf5:FILES?NAME=/DATASET&key=/DATASET`: HDF5 data sets, one sample for each index of the first
//! dimension.
//!
//! A row of more than one number is a part `NAME.raw` of fixed length; a number or text becomes a
//! field of the sample's JSON; bytes of any length are a part `NAME`. Rows of contiguous data sets are
//! ranges of the file; chunked ones are decoded again when they are packed. Files with the same data sets follow one
//! another; files without a common one lie side by side.

mod array;
mod blocks;
mod cells;
mod file;
mod filters;
mod link;
mod number;
mod role;
mod shares;
mod table;

use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::shown::ShowPath;
use tarflume_scan::rows::builder::Root;

use self::array::H5Array;
pub(crate) use self::blocks::find;
pub(crate) use self::cells::Hdf5Cells;
use self::role::{AssignedArray, Role, chosen_role};
use self::shares::Shares;
use self::table::{Collected, Table};
use crate::rows::Listing;
use crate::rows::columns::array_names::ArrayNames;
use crate::rows::columns::choice::Choice;
use crate::rows::columns::part_names::{part_name, renamed};
use crate::rows::places::bytes::most_values;
use crate::rows::url::SourceUrl;

/// Rows between two looks at a request to stop.
const STEP: u64 = 1024;

/// Lists the rows of the files of one source.
///
/// # Errors
/// Returns an error for a file that is not HDF5 or has some of the data sets of another, and if the machine fails.
pub(crate) fn list(source: &SourceUrl, mut listing: Listing<'_, '_>) -> Result<(), Failure> {
    let names = ArrayNames::layouts(source)?;
    let Shares { files, side_by_side } = Shares::of(source)?;
    let mut tables: Vec<Table> = Vec::with_capacity(source.files.len());
    for (n, (path, choices)) in source.files.iter().zip(&files).enumerate() {
        let mut table = open(choices, &names, path)?;
        if let Some(first) = tables.first()
            && !side_by_side
            && let Some(difference) = difference(first, &table)
        {
            return Err(Failure::usage(message!(
                "{path} and {} differ in {difference}; pack them as different data sets",
                path.shown();
                path = &source.files[0]
            ))
            .with_file(&source.files[0]));
        }
        table.notes.drain(..).for_each(|note| listing.builder.notes.push(note));
        let root = Root { number: listing.root + n as u32, path };
        table.source = listing.builder.source(root, "", "hdf5", table.options())?;
        tables.push(table);
    }
    let mut arrays = tables.iter().flat_map(|table| &table.arrays);
    names.check_pictures(arrays.any(|array| array.picture().is_some()))?;
    let described = if side_by_side { &tables[..] } else { &tables[..1] };
    let columns = described.iter().flat_map(|table| &table.arrays);
    for column in columns.filter_map(AssignedArray::column) {
        listing.builder.describe(column)?;
    }
    if side_by_side {
        check_beside(&tables, source)?;
        let numbers = Numbers { first: 0, digits: digits(tables[0].rows()) };
        return rows(&mut tables, &source.files, numbers, &mut listing);
    }
    let all: u64 = tables.iter().map(Table::rows).sum();
    let mut first = 0;
    for (table, path) in tables.iter_mut().zip(&source.files) {
        let numbers = Numbers { first, digits: digits(all) };
        first += table.rows();
        let path = std::slice::from_ref(path);
        rows(std::slice::from_mut(table), path, numbers, &mut listing)?;
    }
    if all == 0 {
        return Err(no_rows(&tables[0], &source.files[0]));
    }
    Ok(())
}

/// The numbers of rows as keys.
#[derive(Clone, Copy)]
struct Numbers {
    /// The number of the first row.
    first: u64,
    digits: usize,
}

/// Refuses files of different lengths that lie side by side, and data sets of them that become the same.
fn check_beside(tables: &[Table], source: &SourceUrl) -> Result<(), Failure> {
    let first = &tables[0];
    for (n, (table, path)) in tables.iter().zip(&source.files).enumerate() {
        if table.rows() != first.rows() {
            return Err(Failure::usage(message!(
                "{path} has {} rows and {} has {}; files without a common data set lie side by side, and a sample is one \
                 row of each",
                first.rows(),
                path.shown(),
                table.rows();
                path = &source.files[0]
            ))
            .with_file(&source.files[0]));
        }
        let others = tables[..n].iter().flat_map(|other| &other.arrays);
        let twin = others.flat_map(|other| {
            table.arrays.iter().filter(|own| own.role == other.role).map(move |own| (own, other))
        });
        if let Some((own, other)) = twin.into_iter().next() {
            return Err(Failure::usage(format!(
                "{} of another file and {} become the same; name them: hdf5:FILE,FILE?one=/DATASET&two=/DATASET",
                other.array.name, own.array.name
            ))
            .in_file(path));
        }
    }
    if first.rows() == 0 { Err(no_rows(first, &source.files[0])) } else { Ok(()) }
}

/// Adds the rows of tables that lie side by side, or of one.
fn rows(
    tables: &mut [Table],
    paths: &[PathBuf],
    numbers: Numbers,
    listing: &mut Listing<'_, '_>,
) -> Result<(), Failure> {
    let all = tables[0].rows();
    let Numbers { first, digits } = numbers;
    for row in 0..all {
        if row % STEP == 0 {
            if listing.watch.stop.requested() {
                return Err(Failure::interrupted());
            }
            listing.watch.counter.add(STEP.min(all - row));
        }
        let mut collected = Collected::new(format!("{:0digits$}", first + row));
        for (table, path) in tables.iter_mut().zip(paths) {
            table.collect(row, path, listing.builder.options().json, &mut collected)?;
        }
        collected.push(tables[0].source, row, listing)?;
    }
    Ok(())
}

fn digits(rows: u64) -> usize {
    rows.saturating_sub(1).to_string().len().max(8)
}

fn no_rows(table: &Table, path: &Path) -> Failure {
    let name = &table.arrays[0].array.name;
    Failure::usage(format!("{name}: it has 0 rows, so no samples")).in_file(path)
}

fn open(choices: &[Choice], names: &ArrayNames, path: &Path) -> Result<Table, Failure> {
    let file = file::open(path)?;
    let mut arrays: Vec<AssignedArray> = Vec::with_capacity(choices.len());
    let mut notes = Vec::new();
    for choice in choices {
        let Choice { name, dataset, .. } = choice;
        let array = H5Array::find(&file, dataset, path)?;
        let layout = names.layout(&[dataset, dataset.trim_start_matches('/')]);
        let Some(role) = chosen_role(choice, &array, layout, path)? else { continue };
        if let Some(other) = arrays.iter().find(|other| other.role == role) {
            return Err(Failure::usage(format!(
                "{} and {dataset} are both packed as '{}'; name them: \
                 hdf5:FILE?one=/DATASET&two=/DATASET",
                other.array.name,
                part_name(name)
            ))
            .in_file(path));
        }
        if let Role::Part(Some(ext)) = &role
            && part_name(name) != *name
        {
            notes.push(renamed("data set", name, ext));
        }
        arrays.push(AssignedArray { role, array });
    }
    if arrays.is_empty() {
        return Err(Failure::usage(
            "the file has no data sets at its root; name them: hdf5:FILE?image=/GROUP/DATASET",
        )
        .in_file(path));
    }
    let rows = arrays[0].array.rows();
    if let Some(other) = arrays.iter().find(|read| read.array.rows() != rows) {
        return Err(Failure::usage(format!(
            "{} has {rows} rows and {} has {}; a sample is one row of each; name the data sets: \
             hdf5:FILE?image=/x&label=/y",
            arrays[0].array.name,
            other.array.name,
            other.array.rows()
        ))
        .in_file(path));
    }
    if let Some(json) = arrays.iter().find(|read| read.is_json())
        && arrays.iter().any(AssignedArray::is_field)
    {
        return Err(Failure::usage(format!(
            "{} is the part 'json', and other data sets are fields of it; name the data sets: \
             hdf5:FILE?text=/x&label=/y",
            json.array.name
        ))
        .in_file(path));
    }
    Ok(Table { arrays, source: 0, values: 0, most_values: most_values(file.length), notes })
}

/// Returns the name of a data set in which two files differ.
fn difference(a: &Table, b: &Table) -> Option<String> {
    let odd = a.arrays.iter().find(|found| !b.has(found));
    odd.or_else(|| b.arrays.iter().find(|found| !a.has(found))).map(|read| read.array.name.clone())
}
