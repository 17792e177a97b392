//! The codecs of metadata -> a [`Chain`]. Pure.

use serde_json::Value;

use super::chain::{Chain, Serial, Sharding};
use super::faults::{ArrayFault, Unread};
use super::numbers::element::Element;
use super::numbers::limits::{INDEX_MAX, check_bytes, check_edges};
use super::packing::Packing;
use super::sharding::ShardIndex;

/// Shards in shards at most.
const DEPTH: usize = 4;
/// The compressors of Blosc that are read.
const BLOSC: [&str; 5] = ["lz4", "lz4hc", "zlib", "zstd", "blosclz"];

type Result<T> = std::result::Result<T, ArrayFault>;

/// A name with options: `{"name": "gzip", "configuration": {"level": 5}}`, or the name alone.
#[derive(Debug, Clone, Copy)]
pub(super) struct Named<'a> {
    pub(super) name: &'a str,
    configuration: Option<&'a Value>,
}

impl<'a> Named<'a> {
    /// Reads a name with options; `what` has one in the message.
    pub(super) fn of(value: &'a Value, what: &str) -> Result<Named<'a>> {
        let (name, configuration) = match value {
            Value::String(name) => (Some(name.as_str()), None),
            other => (other["name"].as_str(), other.get("configuration")),
        };
        let name =
            name.ok_or_else(|| ArrayFault::metadata(format!("{what} has no name: {value}")))?;
        Ok(Named { name, configuration })
    }

    /// Returns an option.
    pub(super) fn option(&self, name: &str) -> Option<&'a Value> {
        self.configuration?.get(name).filter(|value| !value.is_null())
    }

    /// Returns an option that the codec must have.
    fn needed(&self, name: &str) -> Result<&'a Value> {
        self.option(name).ok_or_else(|| self.refused(&format!("has no {name}")))
    }

    fn word(&self, name: &str) -> Option<&'a str> {
        self.option(name)?.as_str()
    }

    fn refused(&self, why: &str) -> ArrayFault {
        ArrayFault::metadata(format!("the codec '{}' {why}", self.name))
    }
}

/// Reads a list of numbers.
pub(super) fn numbers(value: Option<&Value>, what: &str) -> Result<Vec<u64>> {
    let list = value.and_then(Value::as_array);
    let found = list.and_then(|list| list.iter().map(Value::as_u64).collect::<Option<Vec<u64>>>());
    found.ok_or_else(|| ArrayFault::metadata(format!("{what} is no list of whole numbers")))
}

/// Reads the codecs of a chunk of this shape.
pub(super) fn chain(
    codecs: &Value,
    shape: &[u64],
    element: Element,
    depth: usize,
) -> Result<Chain> {
    let codecs =
        codecs.as_array().ok_or_else(|| ArrayFault::metadata("it has no list of codecs"))?;
    let mut order: Vec<usize> = (0..shape.len()).collect();
    let mut serial = None;
    let mut packings = Vec::new();
    for codec in codecs {
        let codec = Named::of(codec, "a codec")?;
        match codec.name {
            "transpose" if serial.is_none() => {
                let next = permutation(codec, order.len())?;
                order = next.iter().map(|&dimension| order[dimension]).collect();
            }
            "bytes" if serial.is_none() => {
                serial = Some(Serial::Numbers { is_big: is_big(codec, element)? });
            }
            "sharding_indexed" if serial.is_none() => {
                let shape: Vec<u64> = order.iter().map(|&dimension| shape[dimension]).collect();
                let sharding = sharding(codec, &shape, element, depth + 1)?;
                serial = Some(Serial::Shard(Box::new(sharding)));
            }
            "transpose" | "bytes" | "sharding_indexed" => {
                return Err(codec.refused("follows a codec that made bytes of the numbers"));
            }
            name => {
                let packing =
                    packing(codec)?.ok_or_else(|| ArrayFault::unread(Unread::Codec, name))?;
                if serial.is_none() {
                    return Err(
                        codec.refused("comes before the one that makes bytes of the numbers")
                    );
                }
                packings.push(packing);
            }
        }
    }
    let serial = serial.ok_or_else(|| {
        ArrayFault::metadata(
            "none of its codecs makes bytes of the numbers ('bytes', 'sharding_indexed')",
        )
    })?;
    Ok(Chain { order, serial, packings })
}

/// Reads a codec from bytes to bytes; `None` if it is none that is read.
fn packing(codec: Named<'_>) -> Result<Option<Packing>> {
    let name = codec.name.strip_prefix("numcodecs.").unwrap_or(codec.name);
    Ok(Some(match name {
        "gzip" => Packing::Gzip,
        "zlib" => Packing::Zlib,
        "zstd" => Packing::Zstd,
        "lz4" => Packing::Lz4,
        "crc32c" if name == codec.name => Packing::Crc32c,
        "blosc" => blosc(codec.word("cname"))?,
        "shuffle" => shuffle(codec.option("elementsize"))?,
        _ => return Ok(None),
    }))
}

/// Reads the codec of a compressor of Blosc.
pub(super) fn blosc(compressor: Option<&str>) -> Result<Packing> {
    match compressor {
        Some(name) if !BLOSC.contains(&name) => {
            Err(ArrayFault::unread(Unread::Codec, format!("blosc ({name})")))
        }
        _ => Ok(Packing::Blosc),
    }
}

/// Reads the filter shuffle.
pub(super) fn shuffle(size: Option<&Value>) -> Result<Packing> {
    let size = size.map_or(Some(4), Value::as_u64).filter(|size| (1..=255).contains(size));
    let size =
        size.ok_or_else(|| ArrayFault::metadata("the filter shuffle has an odd elementsize"))?;
    Ok(Packing::Shuffle(size as usize))
}

fn is_big(codec: Named<'_>, element: Element) -> Result<bool> {
    match codec.word("endian") {
        Some("little") => Ok(false),
        Some("big") => Ok(element.size() > 1),
        None if element.size() == 1 => Ok(false),
        None => Err(codec.refused("has no 'endian', which numbers of several bytes need")),
        Some(_) => Err(codec.refused("has an 'endian' that is neither 'little' nor 'big'")),
    }
}

fn permutation(codec: Named<'_>, dimensions: usize) -> Result<Vec<usize>> {
    match codec.word("order") {
        Some("C") => return Ok((0..dimensions).collect()),
        Some("F") => return Ok((0..dimensions).rev().collect()),
        _ => {}
    }
    let order = numbers(codec.option("order"), "the order of the codec 'transpose'")?;
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if !sorted.iter().copied().eq(0..dimensions as u64) {
        return Err(codec.refused("has an order that does not name each dimension once"));
    }
    Ok(order.into_iter().map(|dimension| dimension as usize).collect())
}

/// Reads the codec of shards whose bytes have this shape.
fn sharding(codec: Named<'_>, shape: &[u64], element: Element, depth: usize) -> Result<Sharding> {
    if depth > DEPTH {
        return Err(codec.refused("is nested more than four times"));
    }
    let chunk =
        numbers(codec.option("chunk_shape"), "the chunk_shape of the codec 'sharding_indexed'")?;
    check_edges(&chunk, shape.len(), "inner chunks")?;
    if shape.iter().zip(&chunk).any(|(edge, inner)| edge % inner != 0) {
        return Err(
            codec.refused(&format!("has inner chunks of {chunk:?}, which do not divide {shape:?}"))
        );
    }
    let inner = chain(codec.needed("codecs")?, &chunk, element, depth)?;
    let entries: Option<u64> = shape
        .iter()
        .zip(&chunk)
        .try_fold(16u64, |bytes, (edge, inner)| bytes.checked_mul(edge / inner));
    check_bytes(entries, "indexes of shards", INDEX_MAX)?;
    let at_start = match codec.word("index_location") {
        Some("start") => true,
        Some("end") | None => false,
        Some(_) => {
            return Err(codec.refused("has an index that is neither at the start nor at the end"));
        }
    };
    let index = index(codec.needed("index_codecs")?, at_start)?;
    Ok(Sharding { chunk, inner, index })
}

/// Reads the codecs of an index, whose length must not depend on its content.
fn index(codecs: &Value, at_start: bool) -> Result<ShardIndex> {
    let entry = Element::of_name("uint64").expect("it is a type");
    let chain = chain(codecs, &[1, 2], entry, DEPTH)?;
    let other = chain.packings.iter().find(|packing| **packing != Packing::Crc32c);
    let Serial::Numbers { is_big } = chain.serial else {
        return Err(ArrayFault::unread(Unread::Codec, "sharding_indexed (of an index)"));
    };
    if let Some(packing) = other {
        return Err(ArrayFault::unread(
            Unread::Codec,
            format!("{packing:?} (of an index of shards)"),
        ));
    }
    if !chain.order.is_sorted() {
        return Err(ArrayFault::unread(Unread::Codec, "transpose (of an index of shards)"));
    }
    Ok(ShardIndex { is_big, sums: chain.packings, at_start })
}
