//! What the parts of samples show beside problems: which check looked at them, pictures of one color, classes that are not
//! listed, values that repeat.

mod coverage;
mod found;
mod labels;
mod tally;
mod unique;

use std::path::Path;

use serde::{Deserialize, Serialize};
use tarflume_base::Problem;
use tarflume_base::check::objects::is_mask;
use tarflume_base::check::{CheckedPart, Content, Fault, is_constant_jpeg};
use tarflume_formats::ClassTable;
use tarflume_formats::json::JsonRules;

use self::labels::Labels;
use self::tally::Tally;

pub(crate) use self::found::FoundPart;

pub use self::coverage::{ExtChecks, PartChecks};
pub use self::unique::UniqueField;
pub(crate) use self::unique::{SeenValue, Values};

/// What is looked for in parts.
#[derive(Debug, Clone, Default)]
pub struct PartOptions {
    /// Fields whose values must differ between samples; read at the levels full and decode.
    pub unique: Vec<UniqueField>,
}

impl PartOptions {
    /// Returns the fields whose values are compared: those that must differ, and at level decode `/id`, whose repeated
    /// values are a warning.
    pub(crate) fn fields(&self, decode: bool) -> Vec<UniqueField> {
        let mut fields = self.unique.clone();
        fields.extend(decode.then(UniqueField::usual).filter(|usual| !fields.contains(usual)));
        fields
    }
}

/// What was found in the parts of a shard.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct ShardParts {
    /// Which check looked at how many.
    pub(crate) coverage: PartChecks,
    /// What is unusual and no problem.
    pub(crate) warnings: Vec<Problem>,
    /// The values of fields that should differ, by the number of the field.
    pub(crate) values: Vec<Vec<SeenValue>>,
}

/// The parts of a shard, while it is read.
#[derive(Debug)]
pub(crate) struct Parts<'a> {
    tar: &'a Path,
    decode: bool,
    json: JsonRules,
    coverage: PartChecks,
    constant: Tally,
    labels: Option<Labels<'a>>,
    fields: Vec<UniqueField>,
    values: Vec<Vec<SeenValue>>,
}

/// What is known before a shard is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PartRules<'a> {
    pub(crate) options: &'a PartOptions,
    /// Whether parts are decoded.
    pub(crate) decode: bool,
    pub(crate) json: JsonRules,
    /// The classes that the data set lists, if the class of each sample is compared with them.
    pub(crate) classes: Option<&'a ClassTable>,
}

impl<'a> Parts<'a> {
    /// Begins a shard.
    pub(crate) fn new(tar: &'a Path, rules: PartRules<'a>) -> Parts<'a> {
        let PartRules { options, decode, json, classes } = rules;
        let fields = options.fields(decode);
        Parts {
            tar,
            decode,
            json,
            coverage: PartChecks::default(),
            constant: Tally::default(),
            labels: classes.and_then(|table| Labels::new(table, json)),
            values: fields.iter().map(|_| Vec::new()).collect(),
            fields,
        }
    }

    /// Notes that the checksum of a part was compared.
    pub(crate) fn compared(&mut self, ext: &[u8]) {
        self.coverage.of(ext).checksums += 1;
    }

    /// Notes a part that is too long to be looked into.
    pub(crate) fn passed_by(&mut self, ext: &[u8]) {
        if self.decode {
            self.coverage.not_checked(ext, "too long");
        }
    }

    /// Notes what the check of a part's content has found.
    pub(crate) fn checked(
        &mut self,
        part: FoundPart<'_>,
        content: Content,
        found: &Result<CheckedPart, Fault>,
    ) {
        let unread = found.as_ref().ok().and_then(|found| found.unread);
        self.coverage.content(part.ext, content, unread);
        let Ok(found) = found else { return };
        if !content.is_image() || is_mask(part.ext) {
            return;
        }
        let is_constant = found.is_constant
            || found.codes.as_ref().is_some_and(|header| is_constant_jpeg(part.data, header));
        if is_constant {
            self.constant.add(part.key, part.at);
        }
    }

    /// Looks at classes and values.
    pub(crate) fn look(&mut self, part: FoundPart<'_>) {
        if let Some(labels) = &mut self.labels {
            labels.take(part);
        }
        for (field, values) in self.fields.iter().zip(&mut self.values) {
            if let Some(digest) = field.digest(part.ext, part.data, self.json) {
                values.push(SeenValue { digest, at: part.at });
            }
        }
    }

    /// Ends the shard.
    pub(crate) fn finish(self) -> ShardParts {
        let constant = self.constant.constant(self.tar);
        let labels = self.labels.and_then(|labels| labels.warning(self.tar));
        let warnings = constant.into_iter().chain(labels).collect();
        ShardParts { coverage: self.coverage, warnings, values: self.values }
    }
}
