//! Folders of Zarr: the metadata of an array or a group, and the arrays of a group.

use std::path::{Path, PathBuf};

use tarflume_base::Failure;
use tarflume_foreign::zarr::{ArrayFault, ZarrArray, is_v3_array};
use tarflume_formats::files::{self, patiently};
use tarflume_formats::name;

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
    for file in [V3, V2_ARRAY, V2_GROUP] {
        if files::exists(&folder.join(file))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// An array in a folder.
#[derive(Debug, Clone)]
pub(super) struct FoundFolder {
    pub(super) folder: PathBuf,
    /// The name of its metadata.
    pub(super) file: &'static str,
    pub(super) array: ZarrArray,
}

fn node(folder: &Path) -> Result<Node, Failure> {
    let read = |file: &str| {
        let path = folder.join(file);
        if !files::exists(&path)? {
            return Ok(None);
        }
        let bytes = files::metadata(&path, "examine")?.len();
        if bytes > METADATA_MAX {
            let text = format!("metadata of {bytes} bytes; 16 MiB are the limit");
            return Err(Failure::usage(text).in_file(&path));
        }
        Ok(Some(files::read_whole(&path, "read")?))
    };
    if let Some(json) = read(V3)? {
        let is_array = is_v3_array(&json);
        let is_array = is_array.map_err(|fault| no_metadata(fault, &folder.join(V3)))?;
        return Ok(if is_array { Node::Array { file: V3, json } } else { Node::Group });
    }
    if let Some(json) = read(V2_ARRAY)? {
        return Ok(Node::Array { file: V2_ARRAY, json });
    }
    let is_group = files::exists(&folder.join(V2_GROUP))?;
    Ok(if is_group { Node::Group } else { Node::Other })
}

fn no_metadata(fault: ArrayFault, path: &Path) -> Failure {
    let why = match fault {
        ArrayFault::Metadata { why } => why,
        other => format!("{other:?}"),
    };
    Failure::bad_data(format!("it is no metadata of Zarr: {why}")).in_file(path)
}

/// Finds the array `name` under the folder `top`; an empty name is the folder itself.
///
/// # Errors
/// Returns an error if there is none, and for one that is not read.
pub(super) fn find(top: &Path, name: &str) -> Result<FoundFolder, Failure> {
    let trimmed = name.trim_matches('/');
    if trimmed.split('/').any(|piece| piece == "..") {
        let text = format!("'{name}' leads out of the folder; name the folder that has the array");
        return Err(Failure::usage(text).in_file(top));
    }
    let folder = if trimmed.is_empty() { top.to_path_buf() } else { top.join(trimmed) };
    let shown = if trimmed.is_empty() { "the array" } else { name };
    match node(&folder)? {
        Node::Array { file, json } => {
            let array =
                if file == V3 { ZarrArray::of_v3(&json) } else { ZarrArray::of_v2(&json) };
            let path = folder.join(file);
            let array = array.map_err(|fault| words::array(fault, shown, &folder, &path))?;
            Ok(FoundFolder { folder, file, array })
        }
        Node::Group => {
            let text = format!("it is a group; {}", named(&arrays(&folder)?, trimmed));
            Err(Failure::usage(text).in_file(&folder))
        }
        Node::Other => {
            let here = arrays(top)?;
            let text = format!(
                "{shown}: there is no array of Zarr (no {V3} and no {V2_ARRAY} in its folder); {}",
                named(&here, "")
            );
            Err(Failure::usage(text).in_file(top))
        }
    }
}

/// Returns what to name in place of a folder that has these arrays.
fn named(arrays: &[String], under: &str) -> String {
    if arrays.is_empty() {
        return "no folder in it is an array, either".into();
    }
    let lead = if under.is_empty() { String::new() } else { format!("{under}/") };
    let names: Vec<String> =
        arrays.iter().take(NAMED).map(|array| format!("{lead}{array}")).collect();
    let more = if arrays.len() > NAMED { ", .." } else { "" };
    format!("name an array in it: {}{more}", names.join(", "))
}

/// Returns the names of the arrays directly under a folder, sorted. A folder that is an array has one, itself.
///
/// # Errors
/// Returns an error if the operating system refuses.
pub(super) fn arrays(folder: &Path) -> Result<Vec<String>, Failure> {
    if !files::is_folder(folder)? {
        return Ok(Vec::new());
    }
    let unread = |e| Failure::io(e, "read the folder", folder);
    let mut found = Vec::new();
    for entry in patiently(|| std::fs::read_dir(folder)).map_err(unread)? {
        let entry = entry.map_err(unread)?;
        if !files::is_folder(&entry.path())? {
            continue;
        }
        if matches!(node(&entry.path())?, Node::Array { .. }) {
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

/// Returns true if a folder is an array itself.
///
/// # Errors
/// Returns an error if the operating system refuses, or its metadata is damaged.
pub(super) fn is_array(folder: &Path) -> Result<bool, Failure> {
    Ok(matches!(node(folder)?, Node::Array { .. }))
}
