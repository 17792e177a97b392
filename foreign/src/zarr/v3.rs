//! `zarr.json`: the metadata of Zarr version 3. Pure.

use serde_json::{Map, Value};

use super::array::{Stated, ZarrArray};
use super::codecs::{Named, chain, numbers};
use super::faults::{ArrayFault, Unread};
use super::keys::Keys;
use super::numbers::element::Element;

/// The members of `zarr.json` that are known. Others are extensions.
const KNOWN: [&str; 12] = [
    "zarr_format",
    "node_type",
    "shape",
    "data_type",
    "chunk_grid",
    "chunk_key_encoding",
    "fill_value",
    "codecs",
    "attributes",
    "storage_transformers",
    "dimension_names",
    "consolidated_metadata",
];

type Result<T> = std::result::Result<T, ArrayFault>;

/// Returns true if a `zarr.json` is that of an array, and false for one of a group.
///
/// # Errors
/// Returns an error if it is neither.
pub fn is_array(json: &[u8]) -> Result<bool> {
    Ok(word(&object(json)?, "node_type")? == "array")
}

fn object(json: &[u8]) -> Result<Map<String, Value>> {
    let object = serde_json::from_slice(json);
    object.map_err(|e| ArrayFault::metadata(format!("it is no object of JSON: {e}")))
}

fn word<'a>(object: &'a Map<String, Value>, name: &str) -> Result<&'a str> {
    let word = object.get(name).and_then(Value::as_str);
    word.ok_or_else(|| ArrayFault::metadata(format!("it has no {name}")))
}

fn member<'a>(object: &'a Map<String, Value>, name: &str) -> Result<&'a Value> {
    object.get(name).ok_or_else(|| ArrayFault::metadata(format!("it has no {name}")))
}

impl ZarrArray {
    /// Reads `zarr.json`.
    ///
    /// # Errors
    /// Returns an error for metadata that is damaged, of a group, or of an array that is not read.
    pub fn of_v3(json: &[u8]) -> Result<ZarrArray> {
        let object = object(json)?;
        if object.get("zarr_format").and_then(Value::as_u64) != Some(3) {
            return Err(ArrayFault::metadata("its zarr_format is not 3"));
        }
        if word(&object, "node_type")? != "array" {
            return Err(ArrayFault::metadata("it is a group, not an array"));
        }
        refuse_extensions(&object)?;
        let data_type = Named::of(member(&object, "data_type")?, "the data_type")?;
        let element = Element::of_name(data_type.name)
            .ok_or_else(|| ArrayFault::unread(Unread::Type, data_type.name))?;
        let grid = Named::of(member(&object, "chunk_grid")?, "the chunk_grid")?;
        if grid.name != "regular" {
            return Err(ArrayFault::unread(Unread::Grid, grid.name));
        }
        let shape = numbers(object.get("shape"), "the shape")?;
        let chunk = numbers(grid.option("chunk_shape"), "the chunk_shape")?;
        if chunk.len() != shape.len() {
            let why = format!("its chunks have the shape {chunk:?}, and the array has {shape:?}");
            return Err(ArrayFault::metadata(why));
        }
        let keys =
            keys(Named::of(member(&object, "chunk_key_encoding")?, "the chunk_key_encoding")?)?;
        let fill = element.fill(member(&object, "fill_value")?)?;
        let chain = chain(member(&object, "codecs")?, &chunk, element, 0)?;
        ZarrArray::new(Stated { shape, chunk, element, fill, keys, chain })
    }
}

/// Refuses what a reader must understand and this one does not.
fn refuse_extensions(object: &Map<String, Value>) -> Result<()> {
    let transformers = object.get("storage_transformers").and_then(Value::as_array);
    if let Some(first) = transformers.and_then(|list| list.first()) {
        let name = Named::of(first, "a storage transformer")?.name;
        return Err(ArrayFault::unread(Unread::Extension, format!("storage transformer {name}")));
    }
    let unknown = object.iter().find(|(name, value)| {
        !KNOWN.contains(&name.as_str()) && value["must_understand"] != Value::Bool(false)
    });
    match unknown {
        Some((name, _)) => Err(ArrayFault::unread(Unread::Extension, name)),
        None => Ok(()),
    }
}

fn keys(encoding: Named<'_>) -> Result<Keys> {
    let (prefix, usual) = match encoding.name {
        "default" => (Some("c"), "/"),
        "v2" => (None, "."),
        name => return Err(ArrayFault::unread(Unread::Keys, name)),
    };
    let separator = match encoding.option("separator").map_or(Some(usual), Value::as_str) {
        Some("/") => '/',
        Some(".") => '.',
        _ => {
            return Err(ArrayFault::metadata(
                "the separator of its chunk keys is neither '/' nor '.'",
            ));
        }
    };
    Ok(Keys { prefix, separator })
}
