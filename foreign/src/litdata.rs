//! `index.json` of a folder of LitData chunks: the chunks, and the leaves of their samples. A
//! pickled leaf is named as such and never decoded.

use serde::Deserialize;
use serde_json::Value;

use tarflume_formats::name;
use tarflume_formats::{Error, ErrorKind, Result};

/// The limit on the nesting of samples.
const DEPTH: usize = 16;

/// The index of a folder of chunks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    /// The chunks, in order.
    pub chunks: Vec<Chunk>,
    /// The leaves of a sample, in the order of their bytes.
    pub leaves: Vec<Leaf>,
    /// True if chunks are compressed with zstd.
    pub zstd: bool,
}

/// A chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// The file under the folder: a relative path without `..`.
    pub file: String,
    /// Samples.
    pub samples: u64,
}

/// A leaf of a sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaf {
    /// The keys and positions that lead to it, joined by `_`.
    pub name: String,
    /// How it is stored.
    pub kind: LeafKind,
}

/// How a leaf is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeafKind {
    /// Any bytes.
    Bytes,
    /// A file with this extension.
    File(String),
    /// UTF-8.
    Text,
    /// A little-endian `i64`.
    Int,
    /// A little-endian `f64`.
    Float,
    /// One byte.
    Bool,
    /// What is not read, and why.
    Refused(String),
}

#[derive(Deserialize)]
struct RawIndex {
    chunks: Vec<RawChunk>,
    config: RawConfig,
}

#[derive(Deserialize)]
struct RawChunk {
    filename: String,
    chunk_size: u64,
    #[serde(default)]
    dim: Option<u64>,
}

#[derive(Deserialize)]
struct RawConfig {
    #[serde(default)]
    compression: Option<String>,
    #[serde(default)]
    compression_level: Option<String>,
    #[serde(default)]
    encryption: Option<Value>,
    data_format: Vec<String>,
    #[serde(default)]
    data_spec: Option<Value>,
}

impl Index {
    /// Parses `index.json`.
    ///
    /// # Errors
    /// Returns [`ErrorKind::WrongFormat`] if it is no such index, [`ErrorKind::Unsupported`] for
    /// other compressions, encryption and chunks of one running tensor, and
    /// [`ErrorKind::BadHeader`] for a path out of the folder.
    pub fn parse(json: &[u8]) -> Result<Index> {
        let raw: RawIndex = serde_json::from_slice(json).map_err(|e| {
            let text = format!("this is not the index of LitData chunks: {e}");
            Error::new(ErrorKind::WrongFormat, text)
        })?;
        fn unsupported(text: String) -> Result<Index> {
            Err(Error::new(ErrorKind::Unsupported, text))
        }
        let zstd = match raw.config.compression.as_deref() {
            None => false,
            Some(word) if word == "zstd" || word.starts_with("zstd:") => true,
            Some(other) => {
                let other = name::shown(other.as_bytes());
                return unsupported(format!(
                    "the chunks are compressed with '{other}'; zstd and no compression are read"
                ));
            }
        };
        if let Some(level @ ("batch" | "sample")) = raw.config.compression_level.as_deref() {
            return unsupported(format!(
                "the chunks are compressed with compression_level='{level}'; write them with \
                 compression_level='chunk' or without compression"
            ));
        }
        if raw.config.encryption.is_some_and(|e| !e.is_null()) {
            return unsupported(
                "the chunks are encrypted; write them again without encryption".into(),
            );
        }
        if raw.chunks.iter().any(|chunk| chunk.dim.is_some_and(|dim| dim > 0)) {
            return unsupported(
                "the chunks are blocks of one tensor (tokens), which have no samples of their own"
                    .into(),
            );
        }
        let names = names(raw.config.data_spec.as_ref(), raw.config.data_format.len());
        let formats = raw.config.data_format.iter();
        let leaves =
            names.into_iter().zip(formats).map(|(name, f)| Leaf { name, kind: LeafKind::parse(f) });
        let leaves = leaves.collect();
        let chunks = raw.chunks.into_iter().map(|chunk| {
            if let Some(why) = name::unsafe_as_path(chunk.filename.as_bytes()) {
                let shown = name::shown(chunk.filename.as_bytes());
                let text = format!("the file name '{shown}' of a chunk is refused: {why}");
                return Err(Error::new(ErrorKind::BadHeader, text));
            }
            Ok(Chunk { file: chunk.filename, samples: chunk.chunk_size })
        });
        Ok(Index { chunks: chunks.collect::<Result<_>>()?, leaves, zstd })
    }
}

impl LeafKind {
    fn parse(text: &str) -> LeafKind {
        let (word, rest) = text.split_once(':').unwrap_or((text, ""));
        match word {
            "bytes" => LeafKind::Bytes,
            "jpeg" => LeafKind::File("jpg".into()),
            "tifffile" => LeafKind::File("tif".into()),
            "file" | "video" if is_word(rest) => LeafKind::File(rest.into()),
            "str" | "string" => LeafKind::Text,
            "int" => LeafKind::Int,
            "float" => LeafKind::Float,
            "bool" => LeafKind::Bool,
            "pickle" => {
                LeafKind::Refused("it is pickled, and pickles run code when they are read".into())
            }
            _ => LeafKind::Refused(format!(
                "its format '{}' is not read; bytes, jpeg, str, int, float and bool are",
                name::shown(text.as_bytes())
            )),
        }
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
}

/// Returns the names of the leaves: from the tree of the sample if it has as many, else their
/// positions.
fn names(spec: Option<&Value>, leaves: usize) -> Vec<String> {
    let parsed = match spec {
        Some(Value::String(text)) => serde_json::from_str(text).ok(),
        Some(value) => Some(value.clone()),
        None => None,
    };
    let tree = match &parsed {
        Some(Value::Array(versioned)) => versioned.get(1), // [version, tree]
        other => other.as_ref(),
    };
    let mut found = Vec::new();
    let whole = tree.is_some_and(|tree| walk(tree, String::new(), 0, &mut found).is_some());
    let distinct = {
        let mut sorted = found.clone();
        sorted.sort_unstable();
        sorted.windows(2).all(|pair| pair[0] != pair[1])
    };
    if whole && distinct && found.len() == leaves {
        found
    } else {
        (0..leaves).map(|n| n.to_string()).collect()
    }
}

/// Adds the names of all leaves below `node`; `None` if the tree is not understood.
fn walk(node: &Value, path: String, depth: usize, found: &mut Vec<String>) -> Option<()> {
    let children = node.get("children_spec")?.as_array()?;
    if children.is_empty() && node.get("type")?.is_null() {
        found.push(if path.is_empty() { "0".into() } else { path });
        return Some(());
    }
    if depth == DEPTH {
        return None;
    }
    let context = node.get("context");
    let keys: Option<Vec<Value>> = match context {
        Some(Value::String(text)) => serde_json::from_str(text).ok(),
        Some(Value::Array(keys)) => Some(keys.clone()),
        _ => None,
    };
    let keys = keys.filter(|keys| keys.len() == children.len());
    for (n, child) in children.iter().enumerate() {
        let key = match keys.as_ref().map(|keys| &keys[n]) {
            Some(Value::String(key)) => key.clone(),
            Some(Value::Number(key)) => key.to_string(),
            _ => n.to_string(),
        };
        let path = if path.is_empty() { key } else { format!("{path}_{key}") };
        walk(child, path, depth + 1, found)?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(formats: &str, spec: &str, more: &str) -> Result<Index> {
        let json = format!(
            r#"{{"chunks":[{{"chunk_bytes":90,"chunk_size":3,"dim":null,"filename":"chunk-0-0.bin"}}],
            "config":{{"compression":null,"data_format":{formats},"data_spec":{spec}{more}}}}}"#
        );
        Index::parse(json.as_bytes())
    }

    #[test]
    fn leaves_are_named_by_the_tree_of_the_sample() {
        let leaf = r#"{\"type\": null, \"context\": null, \"children_spec\": []}"#;
        let spec = format!(
            r#""[1, {{\"type\": \"builtins.dict\", \"context\": \"[\\\"image\\\", \\\"y\\\"]\",
            \"children_spec\": [{leaf}, {leaf}]}}]""#
        );
        let spec = spec.replace('\n', " ");
        let found = index(r#"["jpeg","int"]"#, &spec, "").unwrap();
        let names: Vec<_> = found.leaves.iter().map(|leaf| leaf.name.as_str()).collect();
        assert_eq!(names, ["image", "y"]);
        assert_eq!(found.leaves[0].kind, LeafKind::File("jpg".into()));
        assert_eq!((found.chunks[0].samples, found.zstd), (3, false));
        let found = index(r#"["bytes","float"]"#, "null", "").unwrap();
        assert_eq!(found.leaves[1], Leaf { name: "1".into(), kind: LeafKind::Float });
    }

    #[test]
    fn what_can_not_be_read_is_refused_with_its_reason() {
        let leaves = index(r#"["pickle","numpy"]"#, "null", "").unwrap().leaves;
        assert!(leaves.iter().all(|leaf| matches!(leaf.kind, LeafKind::Refused(_))));
        let encrypted = index(r#"["int"]"#, "null", r#","encryption":{"algorithm":"fernet"}"#);
        assert!(encrypted.unwrap_err().text().contains("encrypted"));
        let level = r#","compression_level":"batch""#;
        assert!(index(r#"["int"]"#, "null", level).unwrap_err().text().contains("'batch'"));
        let out = br#"{"chunks":[{"filename":"/etc/x","chunk_size":1}],"config":{"data_format":["int"]}}"#;
        assert_eq!(Index::parse(out).unwrap_err().kind(), ErrorKind::BadHeader);
        let tokens = br#"{"chunks":[{"filename":"x","chunk_size":1,"dim":7}],"config":{"data_format":["int"]}}"#;
        assert!(Index::parse(tokens).unwrap_err().text().contains("tensor"));
        assert!(Index::parse(b"{}").unwrap_err().text().contains("not the index"));
    }
}
