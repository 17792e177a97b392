//! `.zarray`: the metadata of Zarr version 2. Pure.

use serde_json::Value;

use super::array::{Stated, ZarrArray};
use super::chain::{Chain, Serial};
use super::codecs::{blosc, numbers, shuffle};
use super::faults::{ArrayFault, Unread};
use super::keys::Keys;
use super::numbers::element::Element;
use super::packing::Packing;

type Result<T> = std::result::Result<T, ArrayFault>;

fn object(json: &[u8]) -> Result<Value> {
    let object = serde_json::from_slice(json);
    object.map_err(|e| ArrayFault::metadata(format!("it is no JSON: {e}")))
}

impl ZarrArray {
    /// Reads `.zarray`.
    ///
    /// # Errors
    /// Returns an error for metadata that is damaged, or of an array that is not read.
    pub fn of_v2(json: &[u8]) -> Result<ZarrArray> {
        let object = object(json)?;
        if object["zarr_format"] != 2 {
            return Err(ArrayFault::metadata("its zarr_format is not 2"));
        }
        let Some(dtype) = object["dtype"].as_str() else {
            return Err(ArrayFault::unread(Unread::Type, object["dtype"].to_string()));
        };
        let Some((element, is_big)) = Element::of_v2(dtype) else {
            return Err(ArrayFault::unread(Unread::Type, dtype));
        };
        let shape = numbers(object.get("shape"), "the shape")?;
        let chunk = numbers(object.get("chunks"), "the list of chunks")?;
        let mut order: Vec<usize> = (0..shape.len()).collect();
        match object["order"].as_str() {
            Some("C") => {}
            Some("F") => order.reverse(),
            _ => return Err(ArrayFault::metadata("its order is neither C nor F")),
        }
        let separator = match object.get("dimension_separator").map_or(Some("."), Value::as_str) {
            Some("/") => '/',
            Some(".") => '.',
            _ => {
                return Err(ArrayFault::metadata("its dimension_separator is neither '/' nor '.'"));
            }
        };
        let fill = match object.get("fill_value") {
            // Chunks that were never written have any content.
            None | Some(Value::Null) => vec![0; element.size()],
            Some(value) => element.fill(value)?,
        };
        let chain = Chain {
            order,
            serial: Serial::Numbers { is_big },
            packings: packings(&object, dtype)?,
        };
        let keys = Keys { prefix: None, separator };
        ZarrArray::new(Stated { shape, chunk, element, fill, keys, chain })
    }
}

/// Reads the filters and the compressor, in the order in which they were applied.
fn packings(object: &Value, dtype: &str) -> Result<Vec<Packing>> {
    let mut packings = Vec::new();
    for filter in object["filters"].as_array().into_iter().flatten() {
        packings.push(match id(filter)? {
            "shuffle" => shuffle(filter.get("elementsize"))?,
            "delta" => delta(filter, dtype)?,
            other => compressor(other, filter)?,
        });
    }
    let last = &object["compressor"];
    if !last.is_null() {
        packings.push(compressor(id(last)?, last)?);
    }
    Ok(packings)
}

fn id(codec: &Value) -> Result<&str> {
    let id = codec["id"].as_str();
    id.ok_or_else(|| ArrayFault::metadata(format!("a codec has no id: {codec}")))
}

fn compressor(id: &str, codec: &Value) -> Result<Packing> {
    match id {
        "gzip" => Ok(Packing::Gzip),
        "zlib" => Ok(Packing::Zlib),
        "zstd" => Ok(Packing::Zstd),
        "lz4" => Ok(Packing::Lz4),
        "blosc" => blosc(codec["cname"].as_str()),
        other => Err(ArrayFault::unread(Unread::Codec, other)),
    }
}

/// Reads the filter delta, which must keep the type of the array.
fn delta(filter: &Value, dtype: &str) -> Result<Packing> {
    let types = [filter["dtype"].as_str(), filter.get("astype").map_or(Some(dtype), Value::as_str)];
    let same =
        types.into_iter().all(|found| found.and_then(Element::of_v2) == Element::of_v2(dtype));
    match Element::of_v2(dtype) {
        Some((element, is_big)) if same => Ok(Packing::Delta(element, is_big)),
        _ => Err(ArrayFault::unread(Unread::Codec, "delta (of another type than the array)")),
    }
}
