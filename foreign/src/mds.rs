//! `index.json` of a folder of MDS shards (MosaicML streaming, version 2), and the encodings of its
//! columns. A pickled column is named as such and never decoded.

use serde::Deserialize;

use tarflume_formats::name;
use tarflume_formats::{Error, ErrorKind, Result};

/// The index of a folder of shards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    /// The shards, in order.
    pub shards: Vec<Shard>,
}

/// A shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shard {
    /// The columns, in the order of their bytes.
    pub columns: Vec<Column>,
    /// The file under the folder: a relative path without `..`.
    pub file: String,
    /// Bytes of that file as the index declares them.
    pub bytes: u64,
    /// Bytes before compression, if the file is compressed with zstd.
    pub zstd: Option<u64>,
    /// Samples.
    pub samples: u64,
}

/// A column of a shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its encoding.
    pub encoding: Encoding,
    /// Bytes, or `None` if each sample has its own size.
    pub size: Option<u64>,
}

/// How the values of a column are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Encoding {
    /// Any bytes.
    Bytes,
    /// An image file with this extension: `jpg`, `png`.
    Image(&'static str),
    /// UTF-8.
    Text,
    /// JSON.
    Json,
    /// A number: numpy's name of its type.
    Number(&'static str),
    /// A whole number of any size, as decimal text.
    Whole,
    /// A float as decimal text.
    Digits,
    /// An array of one type and shape.
    Array(&'static str, Vec<u64>),
    /// An array whose type or shape, or both, precede its values; the type if all have it.
    AnyArray(Option<&'static str>, Option<Vec<u64>>),
    /// What is not read, and why.
    Refused(String),
}

/// The types of numbers and arrays, with their bytes and their codes in arrays.
const TYPES: [(&str, u64, u8); 11] = [
    ("uint8", 1, 8),
    ("int8", 1, 9),
    ("uint16", 2, 16),
    ("int16", 2, 17),
    ("float16", 2, 18),
    ("uint32", 4, 32),
    ("int32", 4, 33),
    ("float32", 4, 34),
    ("uint64", 8, 64),
    ("int64", 8, 65),
    ("float64", 8, 66),
];

/// Returns a type with its bytes, by its name.
fn type_of(word: &str) -> Option<(&'static str, u64)> {
    TYPES.iter().find(|(name, ..)| *name == word).map(|(name, bytes, _)| (*name, *bytes))
}

#[derive(Deserialize)]
struct RawIndex {
    version: u64,
    shards: Vec<RawShard>,
}

#[derive(Deserialize)]
struct RawShard {
    format: String,
    #[serde(default)]
    column_names: Vec<String>,
    #[serde(default)]
    column_encodings: Vec<String>,
    #[serde(default)]
    column_sizes: Vec<Option<u64>>,
    #[serde(default)]
    compression: Option<String>,
    raw_data: Option<RawFile>,
    #[serde(default)]
    zip_data: Option<RawFile>,
    samples: u64,
}

#[derive(Deserialize)]
struct RawFile {
    basename: String,
    bytes: u64,
}

impl Index {
    /// Parses `index.json`.
    ///
    /// # Errors
    /// Returns [`ErrorKind::WrongFormat`] if it is no such index, [`ErrorKind::Version`] for another
    /// version, [`ErrorKind::Unsupported`] for other formats of shards and compressions, and
    /// [`ErrorKind::BadHeader`] for lists of columns that do not agree and for paths out of the
    /// folder.
    pub fn parse(json: &[u8]) -> Result<Index> {
        let raw: RawIndex = serde_json::from_slice(json).map_err(|e| {
            let text = format!("this is not the index of MDS shards: {e}");
            Error::new(ErrorKind::WrongFormat, text)
        })?;
        if raw.version != 2 {
            let text = format!("MDS version {}; this program reads version 2", raw.version);
            return Err(Error::new(ErrorKind::Version, text));
        }
        let shards = raw.shards.into_iter().enumerate().map(|(n, shard)| shard.checked(n));
        Ok(Index { shards: shards.collect::<Result<_>>()? })
    }
}

impl RawShard {
    fn checked(self, number: usize) -> Result<Shard> {
        if self.format != "mds" {
            let format = name::shown(self.format.as_bytes());
            let text = format!("its format is '{format}'; shards of format 'mds' are read");
            return refused(ErrorKind::Unsupported, text, number);
        }
        let columns = self.column_names.len();
        if self.column_encodings.len() != columns || self.column_sizes.len() != columns {
            let text = "names, encodings and sizes of columns have different lengths";
            return refused(ErrorKind::BadHeader, text.into(), number);
        }
        let compression = self.compression.as_deref().unwrap_or("");
        let zstd = compression == "zstd" || compression.starts_with("zstd:");
        if !zstd && !compression.is_empty() {
            let text = format!(
                "its compression is '{}'; zstd and no compression are read",
                name::shown(compression.as_bytes())
            );
            return refused(ErrorKind::Unsupported, text, number);
        }
        let Some(raw) = self.raw_data else {
            return refused(ErrorKind::BadHeader, "it has no 'raw_data'".into(), number);
        };
        let zip = self.zip_data.filter(|_| zstd);
        if zstd && zip.is_none() {
            return refused(ErrorKind::BadHeader, "it has no 'zip_data'".into(), number);
        }
        let zstd = zstd.then_some(raw.bytes);
        let file = zip.unwrap_or(raw);
        if let Some(why) = name::unsafe_as_path(file.basename.as_bytes()) {
            return refused(
                ErrorKind::BadHeader,
                format!("its file name is refused: {why}"),
                number,
            );
        }
        let list = self.column_names.into_iter().zip(self.column_encodings).zip(self.column_sizes);
        let columns = list.map(|((name, encoding), size)| Column::checked(name, &encoding, size));
        let columns = columns.collect::<std::result::Result<Vec<_>, String>>();
        match columns {
            Ok(columns) => Ok(Shard {
                columns,
                file: file.basename,
                bytes: file.bytes,
                zstd,
                samples: self.samples,
            }),
            Err(text) => refused(ErrorKind::BadHeader, text, number),
        }
    }
}

fn refused(kind: ErrorKind, text: String, number: usize) -> Result<Shard> {
    Err(Error::new(kind, format!("shard {number}: {text}")))
}

impl Column {
    fn checked(
        name: String,
        encoding: &str,
        size: Option<u64>,
    ) -> std::result::Result<Column, String> {
        let encoding = Encoding::parse(encoding);
        let fixed = encoding.size();
        if fixed.is_some() && fixed != size {
            let name = name::shown(name.as_bytes());
            return Err(format!("column '{name}' has another size than its encoding"));
        }
        Ok(Column { name, encoding, size })
    }
}

impl Encoding {
    /// Parses an encoding: `jpeg`, `int`, `ndarray:float32:3,4`.
    pub fn parse(text: &str) -> Encoding {
        let (word, rest) = text.split_once(':').unwrap_or((text, ""));
        match word {
            "bytes" => Encoding::Bytes,
            "jpeg" => Encoding::Image("jpg"),
            "png" => Encoding::Image("png"),
            "str" => Encoding::Text,
            "json" => Encoding::Json,
            "int" => Encoding::Number("int64"),
            // A decimal number keeps its digits: `1.10` is not `1.1`.
            "str_decimal" => Encoding::Text,
            "str_int" => Encoding::Whole,
            "str_float" => Encoding::Digits,
            "ndarray" => Encoding::array(rest),
            "pkl" => {
                Encoding::Refused("it is pickled, and pickles run code when they are read".into())
            }
            "pil" => Encoding::Refused(
                "its encoding 'pil' holds raw pixels; write it again as 'png' or 'jpeg'".into(),
            ),
            word => match type_of(word) {
                Some((name, _)) => Encoding::Number(name),
                None => Encoding::Refused(format!(
                    "its encoding '{}' is unknown",
                    name::shown(text.as_bytes())
                )),
            },
        }
    }

    fn array(rest: &str) -> Encoding {
        let (word, shape) = rest.split_once(':').unwrap_or((rest, ""));
        let kind = match word {
            "" => None,
            word => match type_of(word) {
                Some((name, _)) => Some(name),
                None => return Self::unknown(rest),
            },
        };
        let dims: Option<Vec<u64>> = match shape {
            "" => None,
            shape => {
                match shape.split(',').map(str::parse).collect::<std::result::Result<_, _>>() {
                    Ok(dims) => Some(dims),
                    Err(_) => return Self::unknown(rest),
                }
            }
        };
        match (kind, dims) {
            (Some(kind), Some(dims)) if array_bytes(kind, &dims).is_some_and(|bytes| bytes > 0) => {
                Encoding::Array(kind, dims)
            }
            (Some(_), Some(_)) => Self::unknown(rest),
            (kind, dims) => Encoding::AnyArray(kind, dims),
        }
    }

    fn unknown(rest: &str) -> Encoding {
        Encoding::Refused(format!("'ndarray:{}' is unknown", name::shown(rest.as_bytes())))
    }

    /// Returns the bytes of each value if all have the same.
    pub fn size(&self) -> Option<u64> {
        match self {
            Encoding::Number(kind) => type_of(kind).map(|(_, bytes)| bytes),
            Encoding::Array(kind, dims) => array_bytes(kind, dims),
            _ => None,
        }
    }
}

/// Returns the bytes of an array; `None` if no file can have as many.
pub fn array_bytes(kind: &str, dims: &[u64]) -> Option<u64> {
    let (_, size) = type_of(kind)?;
    dims.iter().try_fold(size, |bytes, dim| bytes.checked_mul(*dim))
}

/// Returns type, shape and first byte of the values of an array whose encoding leaves type or shape
/// open.
///
/// # Errors
/// Returns [`ErrorKind::BadHeader`] for an unknown type or a shape with another number of bytes.
pub fn any_array(
    kind: Option<&'static str>,
    dims: Option<&[u64]>,
    value: &[u8],
) -> Result<(&'static str, Vec<u64>, usize)> {
    fn wrong(text: String) -> Error {
        Error::new(ErrorKind::BadHeader, text)
    }
    fn take<'v>(count: usize, value: &'v [u8], at: &mut usize) -> Result<&'v [u8]> {
        let bytes = value.get(*at..*at + count);
        *at += count;
        bytes.ok_or_else(|| wrong("the array ends inside its header".into()))
    }
    fn number(bytes: &[u8]) -> u64 {
        bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
    }
    let mut at = 0;
    let kind = match kind {
        Some(kind) => kind,
        None => {
            let code = take(1, value, &mut at)?[0];
            let found = TYPES.iter().find(|(.., c)| *c == code);
            found
                .map(|(name, ..)| *name)
                .ok_or_else(|| wrong(format!("an array of type {code}")))?
        }
    };
    let dims = match dims {
        Some(dims) => dims.to_vec(),
        None => {
            let byte = take(1, value, &mut at)?[0];
            let count = usize::from(byte >> 2);
            let width = 1usize << (byte & 3);
            take(count * width, value, &mut at)?.chunks_exact(width).map(number).collect()
        }
    };
    let bytes = (value.len() - at) as u64;
    if array_bytes(kind, &dims) != Some(bytes) {
        return Err(wrong(format!("an array of {kind} and shape {dims:?} in {bytes} bytes")));
    }
    Ok((kind, dims, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(columns: &str, more: &str) -> Result<Index> {
        let json = format!(
            r#"{{"version":2,"shards":[{{"format":"mds",{columns},"samples":3,
            "raw_data":{{"basename":"shard.00000.mds","bytes":100,"hashes":{{}}}}{more}}}]}}"#
        );
        Index::parse(json.as_bytes())
    }

    const ONE: &str = r#""column_names":["a"],"column_encodings":["int"],"column_sizes":[8]"#;

    #[test]
    fn shards_have_columns_with_their_encodings() {
        let found = index(ONE, "").unwrap();
        let shard = &found.shards[0];
        assert_eq!((shard.file.as_str(), shard.bytes, shard.zstd), ("shard.00000.mds", 100, None));
        assert_eq!(shard.columns[0].encoding, Encoding::Number("int64"));
        let zip = r#","compression":"zstd:3","zip_data":{"basename":"s.mds.zstd","bytes":50}"#;
        let shard = index(ONE, zip).unwrap().shards.remove(0);
        assert_eq!((shard.file.as_str(), shard.bytes, shard.zstd), ("s.mds.zstd", 50, Some(100)));
    }

    #[test]
    fn what_can_not_be_read_is_refused_with_its_reason() {
        fn says(result: Result<Index>, text: &str) {
            let error = result.unwrap_err();
            assert!(error.text().contains(text), "{error}");
        }

        says(index(ONE, r#","compression":"br:11""#), "'br:11'");
        let sizes = r#""column_names":["a"],"column_encodings":["int"],"column_sizes":[4]"#;
        says(index(sizes, ""), "another size");
        let lists = r#""column_names":["a"],"column_encodings":[],"column_sizes":[8]"#;
        says(index(lists, ""), "different lengths");
        let out = br#"{"version":2,"shards":[{"format":"mds","samples":1,
            "raw_data":{"basename":"../x","bytes":1}}]}"#;
        says(Index::parse(out), "climbs out");
        says(Index::parse(br#"{"version":3,"shards":[]}"#), "version 3");
        says(Index::parse(b"[]"), "not the index");
    }

    #[test]
    fn encodings_are_read_and_pickles_are_not() {
        assert_eq!(Encoding::parse("jpeg:90"), Encoding::Image("jpg"));
        let fixed = Encoding::parse("ndarray:float32:3,4");
        assert_eq!((fixed.size(), fixed), (Some(48), Encoding::Array("float32", vec![3, 4])));
        assert_eq!(Encoding::parse("ndarray"), Encoding::AnyArray(None, None));
        for bad in
            ["pkl", "pil", "ndarray:complex64", "ndarray:uint8:-1", "ndarray:int8:0", "list[int]"]
        {
            assert!(matches!(Encoding::parse(bad), Encoding::Refused(_)), "{bad}");
        }
    }

    #[test]
    fn an_array_with_its_own_type_and_shape_is_checked() {
        let value = [&[16, 2 << 2, 2, 3][..], &[0; 12]].concat();
        assert_eq!(any_array(None, None, &value).unwrap(), ("uint16", vec![2, 3], 4));
        assert!(any_array(None, None, &value[..15]).is_err());
        assert!(any_array(Some("float64"), None, &[255; 9]).is_err());
        assert!(any_array(None, None, &[]).is_err());
        assert_eq!(any_array(Some("int8"), Some(&[2]), &[0; 2]).unwrap(), ("int8", vec![2], 0));
    }
}
