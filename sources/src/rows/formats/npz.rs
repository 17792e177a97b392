//! `npz:data.npz`: zips of NumPy arrays, one sample for each index of the first dimension.
//!
//! The rows of a stored array are ranges of the zip. A compressed array is inflated whole, once in
//! each thread, within the limit of `bytes`. Arrays of splits (`train_images`, `val_images`) follow one another, each with
//! its split.

mod splits;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::shown::ShowPath;
use tarflume_formats::{files, name};
use tarflume_scan::samples::described::Columns;

use self::splits::{Set, Taken, sets};
use crate::rows::Listing;
use crate::rows::columns::array_names::ArrayNames;
use crate::rows::columns::pictures::RowPicture;
use crate::rows::formats::npy::array::{Array, Origin};
use crate::rows::formats::npy::listed::{ArrayFile, FileKind, rows};
use crate::rows::formats::npy::{self, StoredArray};
use crate::rows::formats::zip::{FoundMember, Place, Unfit, Zip};
use crate::rows::places::bytes::{Store, check_whole};
use crate::rows::places::reader::{CellFault, CellReader};
use crate::rows::places::row_cells::RowPlaces;
use crate::rows::url::SourceUrl;

/// Lists the rows of the arrays of each npz.
///
/// # Errors
/// Returns an error for a file that is not a zip of arrays of numbers, and for arrays of different
/// lengths.
pub(crate) fn list(source: &SourceUrl, listing: Listing<'_, '_>) -> Result<(), Failure> {
    let names = ArrayNames::of(source, |option| option == "arrays")?;
    let wanted: Option<Vec<&str>> = source.option("arrays").map(|names| names.split(',').collect());
    let Listing { root, builder, watch } = listing;
    for (n, path) in source.files.iter().enumerate() {
        let members = members(path)?;
        let taken = taken(path, &members, wanted.as_deref())?;
        // An option may name an array with its split; then each array is one of the whole file.
        let names_whole = taken.iter().any(|array| names.is_named(&array.name));
        let sets = if names_whole { vec![Set { split: None, arrays: taken }] } else { sets(taken) };
        for (at, set) in sets.into_iter().enumerate() {
            let own: Vec<String> = set.arrays.iter().map(|array| array.name.clone()).collect();
            names.check(&own.iter().map(|name| vec![name.as_str()]).collect::<Vec<_>>())?;
            let mut arrays = arrays(path, &members, &set.arrays, |name| {
                wanted.is_some() || names.chooses(name)
            })?;
            for array in &mut arrays {
                array.named(&names, &[])?;
            }
            let left_out = names.left_out(&own).filter(|_| wanted.is_none() && at == 0);
            left_out.into_iter().for_each(|note| builder.notes.push(note));
            let shown = set.split.as_ref().map_or_else(String::new, |split| format!(": {split}"));
            let root = root + n as u32;
            let kind = FileKind::Npz;
            let file = ArrayFile { root, path: path.clone(), kind, split: set.split, arrays };
            let arrays = file.planned(builder)?;
            builder.begin(format!("npz:{}{shown}", path.shown()), Columns::All);
            rows(arrays, builder, watch)?;
        }
    }
    Ok(())
}

/// Returns the arrays of an npz, all or those that are wanted.
fn taken(
    path: &Path,
    members: &[FoundMember],
    wanted: Option<&[&str]>,
) -> Result<Vec<Taken>, Failure> {
    let all = members.iter().map(array_name).enumerate();
    let taken = all.map(|(member, name)| Taken { member, name });
    let mut taken: Vec<Taken> = taken.collect();
    if taken.is_empty() {
        return Err(Failure::usage("it has no arrays").in_file(path));
    }
    let Some(wanted) = wanted else { return Ok(taken) };
    if let Some(absent) = wanted.iter().find(|name| !taken.iter().any(|array| array.name == **name))
    {
        let names: Vec<String> = members.iter().map(|m| name::shown(&m.name)).collect();
        return Err(Failure::usage(format!(
            "there is no array '{absent}'; it has {}",
            names.join(", ")
        ))
        .in_file(path));
    }
    taken.retain(|array| wanted.contains(&array.name.as_str()));
    Ok(taken)
}

/// Opens the arrays of an npz that are chosen by their names.
fn arrays(
    path: &Path,
    members: &[FoundMember],
    taken: &[Taken],
    chooses: impl Fn(&str) -> bool,
) -> Result<Vec<Array>, Failure> {
    let mut arrays = Vec::new();
    let packed = files::metadata(path, "examine")?.len();
    let mut inflated = 0u64;
    for Taken { member: column, name } in taken.iter().filter(|array| chooses(&array.name)) {
        let member = &members[*column];
        let origin = Origin { path: path.into(), member: Some(name::shown(&member.name)) };
        if member.place == Place::Deflated {
            inflated += member.size;
            check_whole(inflated, packed, path, ": its arrays")?;
        }
        let opened = opened(member, path).map_err(|fault| match fault {
            CellFault::Data(reason) | CellFault::Placed(reason) => {
                Failure::bad_data(reason).in_file(path)
            }
            CellFault::Failure(failure) => failure,
        })?;
        let mut opened = opened.open(name.clone(), origin)?;
        opened.column = *column as u16;
        arrays.push(opened);
    }
    if arrays.is_empty() {
        return Err(Failure::usage("it has no arrays").in_file(path));
    }
    Ok(arrays)
}

/// Returns the name of the array in a member.
fn array_name(member: &FoundMember) -> String {
    name::shown(member.name.strip_suffix(b".npy").unwrap_or(&member.name))
}

/// Opens a member: a stored one where it is, a deflated one in memory.
fn opened(member: &FoundMember, path: &Path) -> Result<StoredArray, CellFault> {
    let length = member.size;
    Ok(match member.place {
        Place::Stored(start) => StoredArray { store: Store::open(path)?, start, length },
        Place::Deflated => {
            let bytes = inflate(&mut Zip::open(path)?, member, path)?;
            StoredArray { store: Store::Memory(bytes), start: 0, length }
        }
    })
}

/// Refuses a single array.
fn refuse_npy(path: &Path) -> Result<(), Failure> {
    let mut store = Store::open(path)?;
    if store.length() >= npy::MAGIC.len() as u64 && store.get(0, npy::MAGIC.len())? == npy::MAGIC {
        let text = message!("it is one array, no npz; name it npy:{path}"; path = path);
        return Err(Failure::usage(text).in_file(path));
    }
    Ok(())
}

/// Returns the members of an npz in the order of its directory.
fn members(path: &Path) -> Result<Vec<FoundMember>, Failure> {
    let mut found = Vec::new();
    refuse_npy(path)?;
    Zip::open(path)?.members(path, |member| {
        let member = member.map_err(|Unfit { name, record, reason, .. }| {
            let name = name::shown(&name);
            let place =
                tarflume_formats::Place { path: Some(path.into()), byte: Some(record), key: None };
            Failure::bad_data(message!("member '{name}': {reason}"; reason = reason))
                .in_place(place)
        })?;
        if found.len() == usize::from(u16::MAX) {
            let text = "more than 65,535 arrays in one file";
            return Err(Failure::usage(text).in_file(path));
        }
        found.push(member);
        Ok(())
    })?;
    Ok(found)
}

fn inflate(zip: &mut Zip, member: &FoundMember, path: &Path) -> Result<Vec<u8>, CellFault> {
    let mut bytes = Vec::new();
    let size = member.size as usize; // it was compared with the limit
    bytes.try_reserve_exact(size).map_err(|_| {
        let error = std::io::Error::from(std::io::ErrorKind::OutOfMemory);
        Failure::io(error, "inflate", path)
    })?;
    bytes.resize(size, 0);
    zip.inflate(member.record, &mut bytes, path)?;
    Ok(bytes)
}

/// Gives rows of inflated arrays, and pictures, while a shard is packed.
#[derive(Debug)]
pub(crate) struct NpzCells {
    path: PathBuf,
    members: Vec<FoundMember>,
    /// The pictures that rows become, by column.
    pictures: BTreeMap<u16, RowPicture>,
    held: Vec<HeldArray>,
}

/// An array that was opened.
#[derive(Debug)]
struct HeldArray {
    column: u16,
    store: Store,
    rows: RowPlaces,
}

/// What the plan keeps of an npz.
#[derive(Deserialize)]
struct Planned {
    #[serde(default)]
    pictures: BTreeMap<u16, RowPicture>,
}

fn differs(row: u64) -> CellFault {
    CellFault::placed(format!("row {row}: the npz differs from the plan"))
}

fn changed() -> CellFault {
    CellFault::data("the npz differs from the plan")
}

impl NpzCells {
    pub(crate) fn open(path: &Path, options: &serde_json::Value) -> Result<NpzCells, Failure> {
        let pictures = match options {
            serde_json::Value::Null => BTreeMap::new(),
            planned => {
                let planned = Planned::deserialize(planned).map_err(|_| {
                    Failure::bad_data("the plan has no arrays for it").in_file(path)
                })?;
                planned.pictures
            }
        };
        let members = members(path)?;
        Ok(NpzCells { path: path.to_path_buf(), members, pictures, held: Vec::new() })
    }

    /// Returns the position of an array in `held`.
    fn position(&mut self, column: u16) -> Result<usize, CellFault> {
        if let Some(at) = self.held.iter().position(|held| held.column == column) {
            return Ok(at);
        }
        let member = self.members.get(usize::from(column)).ok_or_else(changed)?;
        if member.place == Place::Deflated {
            let inflated = self.held.iter().map(|held| match &held.store {
                Store::Memory(bytes) => bytes.len() as u64,
                Store::File(_) => 0,
            });
            let all: u64 = inflated.sum();
            let packed = files::metadata(&self.path, "examine").map_err(Failure::from)?.len();
            check_whole(all + member.size, packed, &self.path, ": its arrays")?;
        }
        let StoredArray { mut store, start, length } = opened(member, &self.path)?;
        let rows = npy::rows_of(&mut store, start, length)?.ok_or_else(changed)?;
        self.held.push(HeldArray { column, store, rows });
        Ok(self.held.len() - 1)
    }
}

impl CellReader for NpzCells {
    fn read(&mut self, row: u64, column: u16, space: &mut [u8]) -> Result<(), CellFault> {
        let at = self.position(column)?;
        let HeldArray { store, rows, .. } = &mut self.held[at];
        let start = rows
            .at(row)
            .filter(|&start| start.checked_add(rows.size).is_some_and(|end| end <= store.length()));
        let start = start.ok_or_else(|| differs(row))?;
        let found = store.get(start, rows.size as usize)?;
        match self.pictures.get(&column) {
            Some(picture) => picture.encode_into(found, space),
            None if found.len() == space.len() => {
                space.copy_from_slice(found);
                Ok(())
            }
            None => Err(differs(row)),
        }
    }
}
