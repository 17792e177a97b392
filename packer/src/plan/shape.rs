//! `Shape`: the options that determine the shards, as a plan records them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tarflume_base::compress::{COMPRESSED, PLAIN};
use tarflume_formats::json::JsonRules;
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};

use super::deal::Cut;
use crate::pictures::Preparation;

/// The options that determine the shards. They are part of the plan and of its content hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shape {
    /// The size of shards.
    pub cut: Cut,
    /// The prefix of a shard's name.
    pub prefix: String,
    /// The seed of the shuffle over shards.
    pub shuffle: Option<u64>,
    /// Leaves out images whose bytes occurred before.
    pub dedupe: bool,
    /// Limit on the number of samples.
    pub limit: Option<u64>,
    /// The level of the content checks; refused samples are not in the shards.
    pub check: String,
    /// The other options that determine names and contents, as text.
    pub names: String,
    /// See `names`.
    pub require: String,
    /// See `names`.
    pub ext_map: String,
    /// See `names`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ext_by_content: bool,
    /// Whether samples with wrong objects are refused, as with `check`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub objects: bool,
    /// See `names`. For a list of keys, `@` and its digest.
    pub exclude: Vec<String>,
    /// See `names`.
    pub follow_links: bool,
    /// How samples are labeled; see `names`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// `number` if the names of classes are their numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class_order: Option<String>,
    /// A digest of the classes that were given with their ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<String>,
    /// The shares of the splits; see `names`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<String>,
    /// See `names`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stratify: Option<String>,
    /// See `names`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split_by: Option<String>,
    /// The splits with the digests of their lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split_list: Option<String>,
    /// The field whose values are in one split each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split_group: Option<String>,
    /// The sources that are not folders; see [`rows::planned`](tarflume_sources::rows::planned).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// What is joined to the samples, as text; absent for the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub join: Option<String>,
    /// How images are prepared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prepare: Option<Preparation>,
    /// The folders that are paired.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pair: Vec<String>,
    /// Which folders are samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The conditions that samples of tars meet.
    #[serde(default, rename = "where", skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<String>,
    /// A digest of the keys that are packed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<String>,
    /// The parts of tars that are packed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<String>,
    /// How shards are compressed; absent if they are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compress: Option<String>,
    /// The parts of tars that are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drop: Vec<String>,
    /// The typed columns of sidecars; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<String>,
    /// Extensions of parts that may be empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keep_empty: Vec<String>,
    /// Which texts are JSON; absent for the strict rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json_rules: Option<String>,
    /// What is stated about the build; by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub provenance: BTreeMap<String, String>,
}

impl Shape {
    /// Returns which texts are JSON.
    pub(crate) fn json_rules(&self) -> JsonRules {
        self.json_rules.as_deref().and_then(JsonRules::from_word).unwrap_or_default()
    }

    /// Returns the ending of the names of shards.
    pub(super) fn ending(&self) -> &'static str {
        if self.compress.is_some() { COMPRESSED } else { PLAIN }
    }
}

/// Returns the setting of a field of [`Shape`]; the name of the field if it is none.
pub(crate) fn flag_of(field: &str) -> Message {
    match field {
        "cut" => {
            message!("the size of shards ({shard_size}, {shard_samples}, {shards})"; shard_size = Name::ShardSize, shard_samples = Name::ShardSamples, shards = Name::Shards)
        }
        "prepare" => message!(
            "the preparation of images ({resize}, {quality}, {strip}, {orient}, {optimize}, {baseline}, {to_jpeg}, \
             {keep_size})";
            resize = Name::Resize,
            quality = Name::Quality,
            strip = Name::StripMetadata,
            orient = Name::Orient,
            optimize = Name::Optimize,
            baseline = Name::Baseline,
            to_jpeg = Name::ToJpeg,
            keep_size = Name::KeepOriginalSize
        ),
        "sources" => "the list of sources".into(),
        field => match Name::of_keyword(field) {
            Some(name) => name.into(),
            None => Message::words(field),
        },
    }
}
