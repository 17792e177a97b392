//! `npz:data.npz`: zips of NumPy arrays, one sample for each index of the first dimension.
//!
//! The rows of a stored array are ranges of the zip. A compressed array is inflated whole, once in
//! each thread, within the limit of `bytes`. Arrays of splits (`train_images`, `val_images`) follow one another, each with
//! its split.

use std::path::{Path, PathBuf};

use serde_json::json;
use tarflume_base::{Failure, split_names};
use tarflume_formats::message;
use tarflume_formats::shown::ShowPath;
use tarflume_formats::{files, name};
use tarflume_scan::samples::described::Columns;

use crate::rows::Listing;
use crate::rows::formats::npy::{self, Array, Origin, StoredArray};
use crate::rows::formats::zip::{FoundMember, Place, Unfit, Zip};
use crate::rows::places::bytes::{Store, check_whole};
use crate::rows::places::reader::{CellFault, CellReader};
use crate::rows::url::SourceUrl;
use tarflume_scan::rows::builder::Root;

/// Lists the rows of the arrays of each npz.
///
/// # Errors
/// Returns an error for a file that is not a zip of arrays of numbers, and for arrays of different
/// lengths.
pub(crate) fn list(source: &SourceUrl, listing: Listing<'_, '_>) -> Result<(), Failure> {
    if let Some((option, _)) = source.options.iter().find(|(name, _)| name != "arrays") {
        return Err(Failure::usage(format!(
            "npz: has no option '{option}'; npz:FILE?arrays=x,y packs these arrays alone"
        )));
    }
    let wanted: Option<Vec<&str>> = source.option("arrays").map(|names| names.split(',').collect());
    let Listing { root, builder, watch } = listing;
    for (n, path) in source.files.iter().enumerate() {
        let root = Root { number: root + n as u32, path };
        let members = members(path)?;
        let taken = taken(path, &members, wanted.as_deref())?;
        for set in sets(taken) {
            let options = set.split.as_ref().map_or_else(Default::default, |s| json!({"split": s}));
            let number = builder.source(root, "", "npz", options)?;
            let arrays = arrays(path, number, &members, &set.arrays)?;
            let split = set.split.map_or_else(String::new, |split| format!(": {split}"));
            builder.begin(format!("npz:{}{split}", path.shown()), Columns::All);
            npy::rows(arrays, builder, watch)?;
        }
    }
    Ok(())
}

/// An array that is packed.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Taken {
    /// The number of its member.
    member: usize,
    /// Its name, without that of a split.
    name: String,
}

/// Arrays that are packed together, row by row.
#[derive(Debug, PartialEq, Eq)]
struct Set {
    split: Option<String>,
    arrays: Vec<Taken>,
}

/// Returns the arrays as one set, or as one for each split if all names have a split's (`train_images`, `x_test`) and
/// each split has the same arrays.
fn sets(taken: Vec<Taken>) -> Vec<Set> {
    let mut sets: Vec<Set> = Vec::new();
    for array in &taken {
        let Some((split, name)) = of_split(&array.name) else {
            return vec![Set { split: None, arrays: taken }];
        };
        let array = Taken { name: name.into(), ..*array };
        match sets.iter_mut().find(|set| set.split.as_deref() == Some(split)) {
            Some(set) => set.arrays.push(array),
            None => sets.push(Set { split: Some(split.into()), arrays: vec![array] }),
        }
    }
    let first = sets.first().map(names_of);
    if sets.len() < 2 || sets.iter().any(|set| Some(names_of(set)) != first) {
        return vec![Set { split: None, arrays: taken }];
    }
    sets
}

/// Returns the names of the arrays of a set, sorted.
fn names_of(set: &Set) -> Vec<&str> {
    let mut names: Vec<&str> = set.arrays.iter().map(|array| array.name.as_str()).collect();
    names.sort_unstable();
    names
}

/// Returns the split that a name states at its begin or end, and the rest.
fn of_split(name: &str) -> Option<(&str, &str)> {
    let first = name.split_once('_');
    let last = name.rsplit_once('_').map(|(rest, split)| (split, rest));
    let found = [first, last].into_iter().flatten().find(|(split, _)| {
        split.bytes().all(|b| b.is_ascii_alphabetic()) && split_names::word(split).is_some()
    });
    found.filter(|(_, rest)| !rest.is_empty())
}

/// Returns the arrays of an npz, all or those that are wanted.
fn taken(
    path: &Path,
    members: &[FoundMember],
    wanted: Option<&[&str]>,
) -> Result<Vec<Taken>, Failure> {
    let mut taken = Vec::new();
    let mut absent: Vec<&str> = wanted.unwrap_or_default().to_vec();
    for (number, member) in members.iter().enumerate() {
        let stem = member.name.strip_suffix(b".npy").unwrap_or(&member.name);
        let name = name::shown(stem);
        if wanted.is_some_and(|wanted| !wanted.contains(&name.as_str())) {
            continue;
        }
        absent.retain(|absent| *absent != name);
        taken.push(Taken { member: number, name });
    }
    if let Some(name) = absent.first() {
        let names: Vec<String> = members.iter().map(|m| name::shown(&m.name)).collect();
        return Err(Failure::usage(format!(
            "there is no array '{name}'; it has {}",
            names.join(", ")
        ))
        .in_file(path));
    }
    if taken.is_empty() {
        return Err(Failure::usage("it has no arrays").in_file(path));
    }
    Ok(taken)
}

/// Opens arrays of an npz.
fn arrays(
    path: &Path,
    source: u32,
    members: &[FoundMember],
    taken: &[Taken],
) -> Result<Vec<Array>, Failure> {
    let mut arrays = Vec::new();
    let packed = files::metadata(path, "examine")?.len();
    let mut inflated = 0u64;
    for Taken { member: column, name } in taken {
        let member = &members[*column];
        let origin = Origin { source, path: path.into(), member: Some(name::shown(&member.name)) };
        let (store, start, cells) = match member.place {
            Place::Stored(at) => (Store::open(path)?, at, None),
            Place::Deflated => {
                inflated += member.size;
                check_whole(inflated, packed, path, ": its arrays")?;
                let bytes = inflate(&mut Zip::open(path)?, member, path);
                let bytes = bytes.map_err(|fault| match fault {
                    CellFault::Data(reason) | CellFault::Placed(reason) => {
                        Failure::bad_data(reason).in_file(path)
                    }
                    CellFault::Failure(failure) => failure,
                })?;
                (Store::Memory(bytes), 0, Some(*column as u16))
            }
        };
        let stored = StoredArray { store, start, length: member.size };
        arrays.push(Array::new(name.clone(), origin, stored, cells)?);
    }
    Ok(arrays)
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

/// Gives rows of inflated arrays while a shard is packed.
#[derive(Debug)]
pub(crate) struct NpzCells {
    path: PathBuf,
    members: Vec<(u64, u64)>,
    /// Inflated arrays by column, with the byte of the first row and the bytes of each.
    held: Vec<(u16, Vec<u8>, (u64, u64))>,
}

fn changed() -> CellFault {
    CellFault::data("the npz differs from the plan")
}

impl NpzCells {
    pub(crate) fn open(path: &Path) -> Result<NpzCells, Failure> {
        let members = members(path)?.iter().map(|member| (member.record, member.size)).collect();
        Ok(NpzCells { path: path.to_path_buf(), members, held: Vec::new() })
    }

    /// Returns the position of an array in `held`.
    fn position(&mut self, column: u16) -> Result<usize, CellFault> {
        if let Some(at) = self.held.iter().position(|(held, ..)| *held == column) {
            return Ok(at);
        }
        let &(record, size) = self.members.get(usize::from(column)).ok_or_else(changed)?;
        let all: u64 = self.held.iter().map(|(_, bytes, _)| bytes.len() as u64).sum();
        let packed = files::metadata(&self.path, "examine").map_err(Failure::from)?.len();
        check_whole(all + size, packed, &self.path, ": its arrays")?;
        let found = FoundMember { name: Vec::new(), record, size, place: Place::Deflated };
        let bytes = inflate(&mut Zip::open(&self.path)?, &found, &self.path)?;
        let rows = npy::rows_of(&bytes).ok_or_else(changed)?;
        self.held.push((column, bytes, rows));
        Ok(self.held.len() - 1)
    }
}

impl CellReader for NpzCells {
    fn read(&mut self, row: u64, column: u16, space: &mut [u8]) -> Result<(), CellFault> {
        let at = self.position(column)?;
        let (_, bytes, (data, size)) = &self.held[at];
        let start = row.checked_mul(*size).and_then(|skip| skip.checked_add(*data));
        let found = start.and_then(|start| {
            let start = usize::try_from(start).ok()?;
            bytes.get(start..start.checked_add(space.len())?)
        });
        match found {
            Some(found) if space.len() as u64 == *size => {
                space.copy_from_slice(found);
                Ok(())
            }
            _ => Err(CellFault::placed(format!("row {row}: the npz differs from the plan"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(names: &[&str]) -> Vec<(Option<String>, Vec<String>)> {
        let taken = names.iter().enumerate();
        let taken = taken.map(|(member, name)| Taken { member, name: (*name).into() }).collect();
        let sets = sets(taken).into_iter();
        sets.map(|set| (set.split, set.arrays.into_iter().map(|a| a.name).collect())).collect()
    }

    fn set(split: &str, arrays: &[&str]) -> (Option<String>, Vec<String>) {
        (Some(split.to_string()), arrays.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn arrays_of_splits_are_sets_of_equal_arrays() {
        let names = ["train_images", "val_images", "train_labels", "val_labels"];
        let wanted = [set("train", &["images", "labels"]), set("val", &["images", "labels"])];
        assert_eq!(found(&names), wanted);
        let names = ["x_train", "y_train", "x_test", "y_test"];
        assert_eq!(found(&names), [set("train", &["x", "y"]), set("test", &["x", "y"])]);
        for names in [
            &["train_images", "train_labels"][..],
            &["train_images", "val_labels"],
            &["train_images", "val_images", "names"],
            &["images", "labels"],
            &["train", "val"],
            &["val_1x"],
        ] {
            let wanted: Vec<String> = names.iter().map(ToString::to_string).collect();
            assert_eq!(found(names), [(None, wanted)], "{names:?}");
        }
    }
}
