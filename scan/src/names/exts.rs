//! Extensions: their names in shards, and which ones a sample must have.
//!
//! Pure. An extension is lower-cased, then mapped; `jpeg` becomes `jpg` by default.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_formats::name;
use tarflume_formats::plan::PlannedExt;

use tarflume_formats::IMAGE_EXTS;
use tarflume_formats::IgnorePoison;

/// The map from source extensions to shard extensions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtMap(BTreeMap<String, String>);

impl Default for ExtMap {
    fn default() -> Self {
        ExtMap([("jpeg".to_string(), "jpg".to_string())].into())
    }
}

impl ExtMap {
    /// Parses `jpeg=jpg,JFIF=jpg`; the text replaces the default map.
    ///
    /// # Errors
    /// Returns an error that shows the expected form.
    pub fn parse(text: &str) -> Result<ExtMap, Message> {
        let mut map = BTreeMap::new();
        for item in text.split(',').map(str::trim).filter(|s| !s.is_empty()) {
            let Some((from, to)) = item.split_once('=') else {
                return Err(
                    message!("'{item}' is not a pair; give {ext_map}"; ext_map = Name::ExtMap.is("jpeg=jpg,jfif=jpg")),
                );
            };
            let from = from.trim_start_matches('.');
            let to = to.trim_start_matches('.');
            if from.is_empty() || to.is_empty() || to.contains('/') {
                return Err(message!("'{item}' names no extension"));
            }
            map.insert(from.to_ascii_lowercase(), to.to_ascii_lowercase());
        }
        Ok(ExtMap(map))
    }

    /// Returns the extension's name in shards.
    pub fn apply(&self, ext: &[u8]) -> Vec<u8> {
        let lower = name::lower(ext);
        let mapped = std::str::from_utf8(&lower).ok().and_then(|ext| self.0.get(ext));
        mapped.map_or_else(|| lower.to_vec(), |to| to.as_bytes().to_vec())
    }

    /// Returns the extensions in lower case that have this name in shards.
    pub fn sources<'a>(&'a self, shard: &'a str) -> impl Iterator<Item = &'a str> {
        let mapped =
            self.0.iter().filter(move |(_, to)| *to == shard).map(|(from, _)| from.as_str());
        mapped.chain([shard])
    }

    /// Returns the extensions that are renamed.
    pub fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    /// Returns the map's text for the plan's options.
    pub fn to_text(&self) -> String {
        let pairs: Vec<_> = self.0.iter().map(|(from, to)| format!("{from}={to}")).collect();
        pairs.join(",")
    }
}

/// The parts of tars that are packed into other shards.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PartChoice {
    /// Extensions in the tar; `None` for all.
    only: Option<Vec<String>>,
    /// Extensions in the tar that are left out.
    dropped: Vec<String>,
}

impl PartChoice {
    /// Creates the choice from extensions; empty `only` stands for all.
    pub fn new(only: &[String], dropped: &[String]) -> PartChoice {
        let only = bare(only);
        let only = Some(only).filter(|only| !only.is_empty());
        PartChoice { only, dropped: bare(dropped) }
    }

    /// Returns true if parts with this extension, in lower case, are packed.
    pub fn takes(&self, ext: &[u8]) -> bool {
        let is_dropped = self.dropped.iter().any(|word| word.as_bytes() == ext);
        !is_dropped && (self.only.is_none() || self.names(ext))
    }

    /// Returns true if this extension, in lower case, is listed among those that are packed.
    pub fn names(&self, ext: &[u8]) -> bool {
        self.only.iter().flatten().any(|word| word.as_bytes() == ext)
    }

    /// Returns the extensions for the plan's options: those taken, and those left out.
    pub fn planned(&self) -> (Vec<String>, Vec<String>) {
        (self.only.clone().unwrap_or_default(), self.dropped.clone())
    }
}

/// Returns extensions in lower case, without leading dots and without blanks around them.
fn bare(exts: &[String]) -> Vec<String> {
    exts.iter().map(|ext| ext.trim().trim_start_matches('.').to_ascii_lowercase()).collect()
}

/// The parts that every sample must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Require(Vec<String>);

impl Default for Require {
    fn default() -> Self {
        Require(vec!["image".into(), "json".into()])
    }
}

impl Require {
    /// Parses `jpg,json`; the word `image` means any image; an empty text requires nothing.
    pub fn parse(text: &str) -> Require {
        let words = text.split(',').map(|w| w.trim().trim_start_matches('.').to_ascii_lowercase());
        Require(words.filter(|w| !w.is_empty()).collect())
    }

    /// Returns the requirements, of extensions as they are in shards.
    ///
    /// # Errors
    /// Returns an error that names the extension in shards for one that files alone have.
    pub fn renamed_by(self, exts: &ExtMap) -> Result<Require, Failure> {
        match self
            .0
            .iter()
            .find_map(|word| exts.0.get_key_value(word))
            .filter(|(from, to)| from != to)
        {
            Some((from, to)) => Err(Failure::usage(
                message!("{require}: files of this extension get the extension {to} ({ext_map}); give {require_option}"; require = Name::Require.is(from.to_string()), ext_map = Name::ExtMap, require_option = Name::Require.is(to.to_string())),
            )),
            None => Ok(self),
        }
    }

    /// Returns the same requirements without `ext`, which samples get later.
    #[must_use]
    pub fn without(mut self, ext: &str) -> Require {
        self.0.retain(|word| word != ext);
        self
    }

    /// Returns the first requirement that a sample with these extensions does not meet.
    pub fn missing<'a>(&'a self, exts: &[&[u8]]) -> Option<&'a str> {
        self.0.iter().map(String::as_str).find(|word| match *word {
            "image" => !exts.iter().any(|e| IMAGE_EXTS.iter().any(|i| i.as_bytes() == *e)),
            word => !exts.contains(&word.as_bytes()),
        })
    }

    /// Returns true if `ext`, which contains a dot, is required by name: `seg.png`.
    pub fn names(&self, ext: &[u8]) -> bool {
        self.0.iter().any(|word| word.as_bytes() == ext)
    }

    /// Returns the words for the plan's options.
    pub fn to_text(&self) -> String {
        self.0.join(",")
    }
}

/// Numbers the extensions of a scan; shared by its threads.
#[derive(Debug, Default)]
pub(crate) struct ExtTable(Mutex<HashMap<ExtPair, u16>>);

/// An extension in the source, and in shards; and whether its files have paths of their own.
type ExtPair = (Vec<u8>, Vec<u8>, bool);

impl ExtTable {
    /// Returns the number of this pair of source and shard extension; `None` after 65,536 pairs.
    pub(crate) fn number(&self, source: &[u8], shard: &[u8]) -> Option<u16> {
        self.number_of((source.to_vec(), shard.to_vec(), false))
    }

    /// As [`ExtTable::number`], for files with paths of their own.
    pub(crate) fn number_of_paths(&self, shard: &[u8]) -> Option<u16> {
        self.number_of((shard.to_vec(), shard.to_vec(), true))
    }

    fn number_of(&self, pair: ExtPair) -> Option<u16> {
        let mut table = self.0.lock().ignore_poison();
        let next = u16::try_from(table.len()).ok();
        match table.get(&pair) {
            Some(&number) => Some(number),
            None => {
                table.insert(pair, next?);
                next
            }
        }
    }

    /// Returns the extensions by number. Only UTF-8 extensions have numbers.
    pub(crate) fn into_list(self) -> Vec<PlannedExt> {
        let table = self.0.into_inner().ignore_poison();
        let mut list: Vec<_> = table.into_iter().collect();
        list.sort_by_key(|(_, number)| *number);
        list.into_iter()
            .map(|((source, shard, has_paths), _)| PlannedExt {
                source: String::from_utf8_lossy(&source).into_owned(),
                shard: String::from_utf8_lossy(&shard).into_owned(),
                has_paths,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jpeg_becomes_jpg_in_any_case() {
        let map = ExtMap::default();
        for ext in ["jpg", "JPG", "jpeg", "JPEG", "Jpeg"] {
            assert_eq!(map.apply(ext.as_bytes()), b"jpg");
        }
        assert_eq!(map.apply(b"PNG"), b"png");
        assert_eq!(ExtMap::parse("").unwrap().apply(b"JPEG"), b"jpeg");
        assert!(ExtMap::parse("jpeg").unwrap_err().text().contains("jpeg=jpg"));
    }

    #[test]
    fn image_is_any_image() {
        let require = Require::default();
        assert_eq!(require.missing(&[b"jpg", b"json"]), None);
        assert_eq!(require.missing(&[b"json", b"webp", b"txt"]), None);
        assert_eq!(require.missing(&[b"json"]), Some("image"));
        assert_eq!(require.missing(&[b"png", b"txt"]), Some("json"));
        assert_eq!(Require::parse("").missing(&[b"txt"]), None);
        assert_eq!(Require::parse("jpg,seg.png").missing(&[b"jpg"]), Some("seg.png"));
    }
}
