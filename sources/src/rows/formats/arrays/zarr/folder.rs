//! Folders of Zarr: the metadata of an array or a group, and the arrays of a group.

use std::path::Path;

use tarflume_base::Failure;
use tarflume_foreign::zarr::{ArrayFault, ZarrArray, is_v3_array};
use tarflume_formats::files::{self, patiently};
use tarflume_formats::name;

use super::place::Place;
use super::words;

/// The metadata of version 3, of arrays and groups.
const V3: &str = "zarr.json";
/// The metadata of an array of version 2.
const V2_ARRAY: &str = ".zarray";
/// The metadata of a group of version 2.
const V2_GROUP: &str = ".zgroup";
/// Limit on the metadata of an array.
const METADATA_MAX: u64 = 16 << 20;
/// Arrays of a group that a message names.
const NAMED: usize = 8;

/// What a folder is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    /// No folder of Zarr.
    Other,
    Group,
    /// An array, and its metadata.
    Array {
        /// `zarr.json` or `.zarray`.
        file: &'static str,
        json: Vec<u8>,
    },
}

/// Returns true for the folder of an array or a group.
///
/// # Errors
/// Returns an error if the operating system refuses.
pub(crate) fn is_zarr(folder: &Path) -> Result<bool, Failure> {
    let place = Place::Folder(folder.into());
    for file in [V3, V2_ARRAY, V2_GROUP] {
        if place.has(file)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// An array in a folder.
#[derive(Debug, Clone)]
pub(super) struct FoundFolder {
    pub(super) place: Place,
    /// The name of its metadata.
    pub(super) file: &'static str,
    pub(super) array: ZarrArray,
}

impl FoundFolder {
    /// Refuses an array of version 2 whose chunks are in folders, and whose metadata does not say so: writers of old
    /// omitted it, and each chunk would be taken for one that was never written.
    fn check_separator(&self) -> Result<(), Failure> {
        let Some(folder) = self.place.folder().filter(|_| self.file == V2_ARRAY) else {
            return Ok(());
        };
        let is_flat = self.array.keys().next().is_some_and(|key| key.contains('.'));
        if is_flat && files::is_folder(&folder.join("0"))? {
            let text = "its chunks are in folders, and its dimension_separator is not '/'; add \"dimension_separator\": \"/\" \
                        to this file";
            return Err(Failure::bad_data(text).in_file(self.place.path(self.file)));
        }
        Ok(())
    }
}

fn node(place: &Place) -> Result<Node, Failure> {
    if let Some(json) = place.small(V3, METADATA_MAX)? {
        let is_array = is_v3_array(&json);
        let is_array = is_array.map_err(|fault| no_metadata(fault, &place.path(V3)))?;
        return Ok(if is_array { Node::Array { file: V3, json } } else { Node::Group });
    }
    if let Some(json) = place.small(V2_ARRAY, METADATA_MAX)? {
        return Ok(Node::Array { file: V2_ARRAY, json });
    }
    Ok(if place.has(V2_GROUP)? { Node::Group } else { Node::Other })
}

fn no_metadata(fault: ArrayFault, path: &Path) -> Failure {
    let why = match fault {
        ArrayFault::Metadata { why } => why,
        other => format!("{other:?}"),
    };
    Failure::bad_data(format!("it is no metadata of Zarr: {why}")).in_file(path)
}

/// Finds the array `name` under `top`; an empty name is the folder itself.
///
/// # Errors
/// Returns an error if there is none, and for one that is not read.
pub(super) fn find(top: &Place, name: &str) -> Result<FoundFolder, Failure> {
    if let Some(found) = find_if_any(top, name)? {
        return Ok(found);
    }
    let shown = if name.trim_matches('/').is_empty() { "the array" } else { name };
    let text = format!(
        "{shown}: there is no array of Zarr (no {V3} and no {V2_ARRAY} in its folder); {}",
        named(top, "")?
    );
    Err(Failure::usage(text).in_file(top.path("")))
}

/// As [`find`]; `None` if there is no metadata of Zarr.
///
/// # Errors
/// Returns an error for a group, and for an array that is not read.
pub(super) fn find_if_any(top: &Place, name: &str) -> Result<Option<FoundFolder>, Failure> {
    let trimmed = name.trim_matches('/');
    if trimmed.split('/').any(|piece| piece == "..") {
        let text = format!("'{name}' leads out of the folder; name the folder that has the array");
        return Err(Failure::usage(text).in_file(top.path("")));
    }
    let place = if trimmed.is_empty() { top.clone() } else { top.join(trimmed) };
    let shown = if trimmed.is_empty() { "the array" } else { name };
    match node(&place)? {
        Node::Array { file, json } => {
            let array = if file == V3 { ZarrArray::of_v3(&json) } else { ZarrArray::of_v2(&json) };
            let array = array
                .map_err(|fault| words::array(fault, shown, &place.path(""), &place.path(file)))?;
            let found = FoundFolder { place, file, array };
            found.check_separator()?;
            Ok(Some(found))
        }
        Node::Group => {
            let text = format!("it is a group; {}", named(&place, trimmed)?);
            Err(Failure::usage(text).in_file(place.path("")))
        }
        Node::Other => Ok(None),
    }
}

/// Returns what to name instead of a place that is no array.
fn named(place: &Place, under: &str) -> Result<String, Failure> {
    let Some(folder) = place.folder() else {
        return Ok("name an array in it".into());
    };
    let arrays = arrays(folder)?;
    if arrays.is_empty() {
        return Ok("no folder in it is an array, either".into());
    }
    let lead = if under.is_empty() { String::new() } else { format!("{under}/") };
    let names: Vec<String> =
        arrays.iter().take(NAMED).map(|array| format!("{lead}{array}")).collect();
    let more = if arrays.len() > NAMED { ", .." } else { "" };
    Ok(format!("name an array in it: {}{more}", names.join(", ")))
}

/// Returns the names of the arrays directly under a folder, sorted. A folder that is an array has one, itself.
///
/// # Errors
/// Returns an error if the operating system refuses.
pub(super) fn arrays(folder: &Path) -> Result<Vec<String>, Failure> {
    if !files::is_folder(folder)? {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for entry in patiently(|| std::fs::read_dir(folder)).map_err(|e| unread(e, folder))? {
        let entry = entry.map_err(|e| unread(e, folder))?;
        if !files::is_folder(&entry.path())? {
            continue;
        }
        if is_array(&entry.path())? {
            let Ok(name) = entry.file_name().into_string() else {
                let shown = name::shown(entry.file_name().as_encoded_bytes());
                let text = format!("the name of the array {shown} is not UTF-8; rename its folder");
                return Err(Failure::usage(text).in_file(folder));
            };
            found.push(name);
        }
    }
    found.sort_unstable();
    Ok(found)
}

fn unread(error: std::io::Error, folder: &Path) -> Failure {
    Failure::io(error, "read the folder", folder)
}

/// Returns true if a folder is an array itself.
///
/// # Errors
/// Returns an error if the operating system refuses, or its metadata is damaged.
pub(super) fn is_array(folder: &Path) -> Result<bool, Failure> {
    Ok(matches!(node(&Place::Folder(folder.into()))?, Node::Array { .. }))
}
