//! `dataset.json`, the manifest: the contents of a published data set. It is written last, so it
//! exists only when all files that it names are complete.
//!
//! Pure: converts JSON bytes to [`Manifest`] and back, byte for byte reproducibly. Does not check
//! whether the named files exist. `own_digest` finds out whether the text was changed after it was
//! written.

mod own_digest;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::bytes::checksum::Digest;
use crate::errors::error::{Error, ErrorKind, Result};
use crate::parts::content::Content;
use crate::parts::name;
use crate::records::about::{About, ClassTable};
use crate::records::objects::KeypointTable;
use own_digest::OwnDigest;

/// The manifest's file name in the folder of the data set.
pub const FILE_NAME: &str = "dataset.json";
/// The name of the manifest's signature, beside it.
pub const SIGNATURE_NAME: &str = "dataset.json.minisig";
/// The value of the field `format`.
pub const FORMAT: &str = "tarflume-dataset";
/// The newest schema this program reads, and the one it writes.
pub const SCHEMA: u32 = 1;

/// The shards of a data set and their totals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Always [`FORMAT`].
    pub format: String,
    /// The schema's version; see [`SCHEMA`].
    pub schema: u32,
    /// Program and version that wrote the manifest.
    pub tool: String,
    /// Content hash of the plan; absent for tars that were not packed by a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// Samples in all shards.
    pub samples: u64,
    /// Bytes of all tars.
    pub bytes: u64,
    /// Parts by extension, in all shards.
    pub extensions: BTreeMap<String, u64>,
    /// The options of the build, which later builds of the same data set follow; any JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<serde_json::Value>,
    /// The builds after the first, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub appended: Vec<Appended>,
    /// The classes and columns of the samples.
    #[serde(flatten)]
    pub about: About,
    /// The typed columns that all sidecars have, as `--columns` takes them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sidecar_columns: Vec<String>,
    /// Which texts are JSON (`python`), for a data set without `options`; absent for the strict rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json_rules: Option<String>,
    /// The level at which its parts were checked, for a data set without `options`; absent if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// The shards in the order that determines ordinals.
    pub shards: Vec<ShardEntry>,
}

/// A build that added shards to a data set. Its shards follow those of the builds before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Appended {
    /// Content hash of its plan.
    pub plan: String,
    /// Number of shards that it added.
    pub shards: u64,
    /// What was stated about the build, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub provenance: BTreeMap<String, String>,
}

/// One shard, as the manifest lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardEntry {
    /// File name of the tar, in the manifest's folder. Its sidecar is beside it (`index_path`).
    pub name: String,
    /// The split that it belongs to, if the data set has splits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<String>,
    /// Samples.
    pub samples: u64,
    /// Bytes of the tar.
    pub bytes: u64,
    /// blake3 of the tar in hex; absent if it was indexed from its headers alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blake3: Option<String>,
    /// Bytes of the sidecar.
    pub index_bytes: u64,
    /// blake3 of the sidecar in hex.
    pub index_blake3: String,
}

impl Manifest {
    /// Creates the manifest of `shards` and adds up the totals.
    pub fn new(
        tool: impl Into<String>,
        plan: Option<String>,
        extensions: BTreeMap<String, u64>,
        shards: Vec<ShardEntry>,
    ) -> Manifest {
        Manifest {
            format: FORMAT.into(),
            schema: SCHEMA,
            tool: tool.into(),
            plan,
            samples: shards.iter().map(|s| s.samples).sum(),
            bytes: shards.iter().map(|s| s.bytes).sum(),
            extensions,
            options: None,
            appended: Vec::new(),
            about: About::default(),
            sidecar_columns: Vec::new(),
            json_rules: None,
            check: None,
            shards,
        }
    }

    /// Parses a manifest and checks what can be checked without its files.
    ///
    /// # Errors
    /// Returns an error for invalid JSON, another format, a newer schema, a text that was changed after
    /// it was written, totals that are not the sum of the shards, and a shard name that leaves the
    /// folder or is listed twice.
    pub fn from_json(bytes: &[u8]) -> Result<Manifest> {
        let manifest = Manifest::parse(bytes)?;
        OwnDigest::of(bytes).check()?;
        manifest.check()?;
        Ok(manifest)
    }

    /// Parses a manifest as [`Manifest::from_json`] does, but accepts one that was edited after it was
    /// written, or that has no digest of its own text.
    ///
    /// # Errors
    /// As [`Manifest::from_json`], except for the change.
    pub fn from_edited_json(bytes: &[u8]) -> Result<Manifest> {
        let manifest = Manifest::parse(bytes)?;
        manifest.check()?;
        Ok(manifest)
    }

    /// Returns true if a text states its own digest, as those of earlier versions do not, and was not
    /// changed after it was written.
    pub fn is_protected(bytes: &[u8]) -> bool {
        let own = OwnDigest::of(bytes);
        own.stated.is_some() && own.check().is_ok()
    }

    /// Returns the root digest of a data set from the text of its manifest: the value that `manifest_blake3` has. It covers
    /// all that the manifest states, and by their digests each byte of tars and sidecars, if all shards have a digest.
    ///
    /// # Example
    /// ```
    /// use tarflume_formats::Manifest;
    ///
    /// let text = Manifest::new("example", None, Default::default(), Vec::new()).to_json();
    /// let stated = String::from_utf8_lossy(&text).contains(&Manifest::root_of(&text).to_hex()[..]);
    /// assert!(stated);
    /// ```
    pub fn root_of(text: &[u8]) -> Digest {
        OwnDigest::of(text).found
    }

    /// Returns true if each tar has a digest, so that the root digest covers all bytes.
    pub fn has_all_digests(&self) -> bool {
        self.shards.iter().all(|shard| shard.blake3.is_some())
    }

    /// Parses and checks the format and its version, which decide how the rest is read.
    fn parse(bytes: &[u8]) -> Result<Manifest> {
        let manifest: Manifest = serde_json::from_slice(bytes).map_err(|e| {
            let text = match Content::of(bytes) {
                Some(found) => format!("this is not a {FILE_NAME} but {}", found.name),
                None => format!("this is not a {FILE_NAME}: {e}"),
            };
            Error::new(ErrorKind::WrongFormat, text)
        })?;
        if manifest.format != FORMAT {
            let shown = name::shown(manifest.format.as_bytes());
            let text = format!("the format is '{shown}', not '{FORMAT}'");
            return Err(Error::new(ErrorKind::WrongFormat, text));
        }
        if manifest.schema != SCHEMA {
            let text =
                format!("the manifest has schema {}; this program reads {SCHEMA}", manifest.schema);
            return Err(Error::new(ErrorKind::Version, text));
        }
        Ok(manifest)
    }

    fn check(&self) -> Result<()> {
        let samples = sum(self.shards.iter().map(|shard| shard.samples));
        let bytes = sum(self.shards.iter().map(|shard| shard.bytes));
        if samples != Some(self.samples) || bytes != Some(self.bytes) {
            let text = "the totals of samples or bytes are not the sum of the shards";
            return Err(Error::new(ErrorKind::Damaged, text));
        }
        self.check_builds()?;
        let mut names = std::collections::HashSet::with_capacity(self.shards.len());
        for shard in &self.shards {
            let shown = name::shown(shard.name.as_bytes());
            if let Some(why) = name::unsafe_as_path(shard.name.as_bytes()) {
                return Err(Error::new(ErrorKind::BadName, format!("shard '{shown}': {why}")));
            }
            if !names.insert(&shard.name) {
                return Err(Error::new(
                    ErrorKind::Repeated,
                    format!("shard '{shown}' is listed twice"),
                ));
            }
            shard.digest()?;
            hex_digest(&shard.index_blake3)?;
        }
        Ok(())
    }

    fn check_builds(&self) -> Result<()> {
        let added = sum(self.appended.iter().map(|build| build.shards));
        if added.is_none_or(|added| added > self.shards.len() as u64) {
            let text = "the builds added more shards than there are";
            return Err(Error::new(ErrorKind::Damaged, text));
        }
        let about = &self.about.classes;
        if !about.as_ref().is_none_or(has_ascending_ids) {
            let text =
                "the ids of the classes do not ascend, or their number is not that of the names";
            return Err(Error::new(ErrorKind::Damaged, text));
        }
        if about.as_ref().is_some_and(has_other_details) {
            let text = "the number of 'details' of the classes is not that of their names";
            return Err(Error::new(ErrorKind::Damaged, text));
        }
        let keypoints = self.about.objects.as_ref().and_then(|objects| objects.keypoints.as_ref());
        if let Some(fault) = keypoints.and_then(KeypointTable::fault) {
            return Err(Error::new(ErrorKind::Damaged, format!("the table of keypoints: {fault}")));
        }
        Ok(())
    }

    /// Returns true if the plan with this content hash made the data set, or shards that were
    /// appended to it.
    pub fn has_plan(&self, content: &str) -> bool {
        let appended = self.appended.iter().map(|build| build.plan.as_str());
        self.plan.as_deref().into_iter().chain(appended).any(|plan| plan == content)
    }

    /// Returns what was stated about each build, by name: of the first build and of those that appended.
    pub fn provenance(&self) -> Vec<BTreeMap<String, String>> {
        let first = stated_of(self.options.as_ref());
        let later = self.appended.iter().map(|build| build.provenance.clone());
        std::iter::once(first).chain(later).collect()
    }

    /// Returns the number of builds that made the data set.
    pub fn builds(&self) -> usize {
        1 + self.appended.len()
    }

    /// Returns the number of shards of the first `builds` builds; `None` if there are fewer builds.
    pub fn shards_of(&self, builds: usize) -> Option<usize> {
        let later = self.appended.get(builds.checked_sub(1)?..)?;
        let added: u64 = later.iter().map(|build| build.shards).sum();
        Some(self.shards.len().saturating_sub(added as usize))
    }

    /// Returns the manifest as JSON, one shard per line, and the digest of this text last. Equal
    /// manifests give equal bytes.
    pub fn to_json(&self) -> Vec<u8> {
        const TEXT: &str = "texts, numbers and JSON serialize";
        let mut head = self.clone();
        let shards = std::mem::take(&mut head.shards);
        let mut out = serde_json::to_string_pretty(&head).expect(TEXT);
        out.truncate(out.rfind("[]").expect("the list of shards is the last field, and empty"));
        out.push('[');
        for (i, shard) in shards.iter().enumerate() {
            out.push_str(if i == 0 { "\n    " } else { ",\n    " });
            out.push_str(&serde_json::to_string(shard).expect(TEXT));
        }
        out.push_str("\n  ]");
        own_digest::closed(out).into_bytes()
    }
}

impl ShardEntry {
    /// Returns the tar's digest, if it has one.
    ///
    /// # Errors
    /// Returns an error if the text is not a digest.
    pub fn digest(&self) -> Result<Option<Digest>> {
        self.blake3.as_deref().map(hex_digest).transpose()
    }
}

/// Returns what the options of a build state about it, by name; nothing for options without such a field.
pub fn stated_of(options: Option<&serde_json::Value>) -> BTreeMap<String, String> {
    let fields = options.and_then(|options| options.get("provenance")?.as_object());
    let texts = fields.into_iter().flatten();
    texts.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.into()))).collect()
}

/// Parses a digest of 64 hexadecimal digits.
///
/// # Errors
/// Returns an error for any other text.
pub fn hex_digest(hex: &str) -> Result<Digest> {
    Digest::from_hex(hex).map_err(|_| {
        let text =
            format!("'{}' is not a blake3 digest of 64 hex digits", name::shown(hex.as_bytes()));
        Error::new(ErrorKind::Damaged, text)
    })
}

/// Returns the sum; `None` if it is too large.
fn sum(mut numbers: impl Iterator<Item = u64>) -> Option<u64> {
    numbers.try_fold(0_u64, u64::checked_add)
}

/// Returns true if there are details of some classes alone.
fn has_other_details(table: &ClassTable) -> bool {
    !table.details.is_empty() && table.details.len() != table.names.len()
}

fn has_ascending_ids(classes: &ClassTable) -> bool {
    let ids = &classes.ids;
    ids.is_empty() || (ids.len() == classes.names.len() && ids.is_sorted_by(|a, b| a < b))
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn manifest() -> Manifest {
        let hex = blake3::hash(b"x").to_hex().to_string();
        let shard = |name: &str| ShardEntry {
            name: name.into(),
            split: None,
            samples: 2,
            bytes: 4096,
            blake3: Some(hex.clone()),
            index_bytes: 500,
            index_blake3: hex.clone(),
        };
        let exts = [("jpg".to_string(), 4), ("json".to_string(), 4)].into();
        Manifest::new("pack 0", None, exts, vec![shard("a.tar"), shard("b.tar")])
    }

    #[test]
    fn written_values_are_read_back() {
        let json = manifest().to_json();
        assert_eq!(Manifest::from_json(&json).unwrap(), manifest());
        assert_eq!(json.iter().filter(|&&b| b == b'\n').count(), 16, "one shard a line");
    }

    #[test]
    fn an_empty_list_of_shards_is_valid_json_too() {
        let empty = Manifest::new("pack 0", None, BTreeMap::new(), vec![]);
        assert_eq!(Manifest::from_json(&empty.to_json()).unwrap(), empty);
    }

    fn descending() -> ClassTable {
        let names = vec!["a".to_string(), "b".to_string()];
        ClassTable { pointer: "/class".into(), names, ids: vec![9, 3], ..ClassTable::default() }
    }

    #[test]
    fn the_shards_of_the_first_builds_are_counted() {
        let mut grown = manifest();
        assert_eq!((grown.builds(), grown.shards_of(1), grown.shards_of(2)), (1, Some(2), None));
        grown.plan = Some("first".into());
        grown.appended =
            vec![Appended { plan: "second".into(), shards: 1, provenance: BTreeMap::new() }];
        grown.options = Some(serde_json::json!({"exclude": [], "prefix": "shard"}));
        grown.shards[1].split = Some("val".into());
        assert_eq!(
            (grown.shards_of(0), grown.shards_of(1), grown.shards_of(2)),
            (None, Some(1), Some(2))
        );
        assert!(grown.has_plan("first") && grown.has_plan("second") && !grown.has_plan(""));
        assert_eq!(Manifest::from_json(&grown.to_json()).unwrap(), grown);
    }

    #[test]
    fn false_claims_are_refused_by_kind() {
        type Change = fn(&mut Manifest);
        let cases: [(Change, ErrorKind); 8] = [
            (|m| m.samples += 1, ErrorKind::Damaged),
            (|m| m.schema = 2, ErrorKind::Version),
            (|m| m.format = "other".into(), ErrorKind::WrongFormat),
            (|m| m.shards[0].name = "../a.tar".into(), ErrorKind::BadName),
            (|m| m.shards[1].name = "a.tar".into(), ErrorKind::Repeated),
            (|m| m.shards[1].blake3 = Some("12".into()), ErrorKind::Damaged),
            (
                |m| {
                    m.appended = vec![Appended {
                        plan: String::new(),
                        shards: 3,
                        provenance: BTreeMap::new(),
                    }]
                },
                ErrorKind::Damaged,
            ),
            (|m| m.about.classes = Some(descending()), ErrorKind::Damaged),
        ];
        for (change, kind) in cases {
            let mut changed = manifest();
            change(&mut changed);
            assert_eq!(Manifest::from_json(&changed.to_json()).unwrap_err().kind(), kind);
        }
    }
}
