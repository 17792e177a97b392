//! A path as the text of a file, in which bytes that are not UTF-8 are a list of numbers: `#[serde(with)]`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::text::url::without_secrets;

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Text {
    Utf8(String),
    Bytes(Vec<u8>),
}

pub(super) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    let text = match path.to_str() {
        Some(text) => Text::Utf8(without_secrets(text).into_owned()),
        None => Text::Bytes(path.as_os_str().as_bytes().to_vec()),
    };
    text.serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    Ok(match Text::deserialize(deserializer)? {
        Text::Utf8(text) => text.into(),
        Text::Bytes(bytes) => OsStr::from_bytes(&bytes).into(),
    })
}
