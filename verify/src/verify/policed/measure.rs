//! `Measure`: compares the parts of a shard with the bounds of a policy, and counts what the bounds of a set need.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tarflume_base::check::Content;
use tarflume_base::check::objects::is_mask;
use tarflume_base::{ProblemKind, json_rules};
use tarflume_formats::json::{JsonRules, Value, parse};
use tarflume_formats::name;

use super::values::{self, BrokenBound};
use crate::class_field::ClassCounts;
use crate::policy::bounds::{FieldBounds, PictureBounds, Range};
use crate::policy::sift::SetRules;

/// Keys that a reason names.
pub(super) const NAMED: usize = 3;

/// What the parts of shards have.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Measured {
    /// By the field of the policy.
    pub(super) fields: BTreeMap<String, FieldCount>,
    pub(super) classes: ClassCounts,
}

/// Samples with a value of a field.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct FieldCount {
    pub(super) samples: u64,
    /// The first keys whose part has no value.
    pub(super) lacking: Vec<String>,
}

impl Measured {
    /// Adds what another shard has.
    pub(in crate::verify) fn merge(&mut self, other: Measured) {
        for (field, found) in other.fields {
            let count = self.fields.entry(field).or_default();
            count.samples += found.samples;
            count.lacking.extend(found.lacking);
            count.lacking.truncate(NAMED);
        }
        self.classes.merge(other.classes);
    }
}

/// A part of a sample.
#[derive(Debug, Clone, Copy)]
pub(in crate::verify) struct Part<'p> {
    pub(in crate::verify) key: &'p [u8],
    pub(in crate::verify) ext: &'p [u8],
    pub(in crate::verify) bytes: &'p [u8],
}

/// What a part breaks.
#[derive(Debug)]
pub(in crate::verify) struct Broken {
    pub(in crate::verify) kind: ProblemKind,
    pub(in crate::verify) reason: String,
}

/// The parts of a shard against a policy.
#[derive(Debug)]
pub(in crate::verify) struct Measure<'a> {
    rules: &'a SetRules,
    json: JsonRules,
    /// Whether each JSON is checked anyway.
    decodes: bool,
    pub(in crate::verify) measured: Measured,
}

impl<'a> Measure<'a> {
    /// Begins a shard; `None` if nothing is demanded of the bytes of its parts.
    pub(in crate::verify) fn new(
        rules: Option<&'a SetRules>,
        json: JsonRules,
        decodes: bool,
    ) -> Option<Measure<'a>> {
        let rules = rules.filter(|rules| rules.bounds.read_data())?;
        Some(Measure { rules, json, decodes, measured: Measured::default() })
    }

    /// Returns true if something is demanded of parts with this extension.
    pub(in crate::verify) fn is_in(&self, ext: &[u8]) -> bool {
        self.has_fields(ext) || self.has_class(ext) || is_bounded(&self.rules.bounds.pictures, ext)
    }

    fn has_fields(&self, ext: &[u8]) -> bool {
        self.rules.bounds.fields.values().any(|bounds| bounds.field.is_in(ext))
    }

    fn has_class(&self, ext: &[u8]) -> bool {
        self.rules.class.as_ref().is_some_and(|class| class.is_in(ext))
    }

    /// Compares a part with the bounds.
    pub(in crate::verify) fn take(&mut self, part: Part<'_>) -> Vec<Broken> {
        let rules = self.rules;
        let mut broken = Vec::new();
        if let Some(class) = rules.class.as_ref().filter(|class| class.is_in(part.ext)) {
            self.measured.classes.take(class, part.bytes, self.json);
        }
        if self.has_fields(part.ext) {
            self.fields(part, &mut broken);
        }
        if is_bounded(&rules.bounds.pictures, part.ext) {
            let dimensions = Content::of(part.ext).dimensions(part.bytes);
            let size = dimensions.map(|size| [size.width, size.height]);
            broken.extend(picture(rules, size, part.bytes.len() as u64));
        }
        broken
    }

    fn fields(&mut self, part: Part<'_>, broken: &mut Vec<Broken>) {
        let rules = self.rules;
        let of_part = rules.bounds.fields.iter().filter(|(_, bounds)| bounds.field.is_in(part.ext));
        let mut whole = None;
        for (name, bounds) in of_part {
            let value = match bounds.field.pointer() {
                None => values::plain(part.bytes),
                Some(pointer) => {
                    let json = whole.get_or_insert_with(|| parse(part.bytes, self.json));
                    json.as_ref().ok().and_then(|json| json.pointer(pointer)).cloned()
                }
            };
            self.measured.count(name, value.as_ref(), part.key);
            let Some(value) = value.filter(|value| !value.is_null()) else { continue };
            broken
                .extend(values::broken(bounds, &value).into_iter().map(|found| rules.field(found)));
        }
        if let Some(Err(fault)) = whole
            && !self.decodes
        {
            let reason = json_rules::sentence(&fault).text();
            broken.push(Broken { kind: ProblemKind::BadJson, reason });
        }
    }
}

impl Measured {
    fn count(&mut self, field: &str, value: Option<&Value>, key: &[u8]) {
        let count = match self.fields.get_mut(field) {
            Some(count) => count,
            None => self.fields.entry(field.into()).or_default(),
        };
        if value.is_some_and(|value| !value.is_null()) {
            count.samples += 1;
        } else if count.lacking.len() < NAMED {
            count.lacking.push(name::shown(key));
        }
    }
}

impl SetRules {
    fn field(&self, found: BrokenBound) -> Broken {
        let BrokenBound { line, bound, found } = found;
        Broken {
            kind: ProblemKind::PolicyField,
            reason: format!("{}: {found}", self.bound(line, &bound)),
        }
    }
}

/// Returns true if the bounds of pictures are about parts with this extension.
pub(super) fn is_bounded(bounds: &PictureBounds, ext: &[u8]) -> bool {
    let is_named = match &bounds.parts {
        Some(parts) => parts.value.iter().any(|part| part.as_bytes() == ext),
        None => Content::of(ext).is_image() && !is_mask(ext),
    };
    bounds.is_stated() && is_named
}

/// Returns the bounds that a picture of a width and a height breaks; without them only its bytes are compared.
pub(super) fn picture(rules: &SetRules, size: Option<[u32; 2]>, bytes: u64) -> Vec<Broken> {
    let bounds = &rules.bounds.pictures;
    let mut found = vec![PictureFact { name: "bytes", range: &bounds.bytes, value: bytes }];
    if let Some(size) = size {
        let [width, height] = size.map(u64::from);
        found.push(PictureFact { name: "width", range: &bounds.width, value: width });
        found.push(PictureFact { name: "height", range: &bounds.height, value: height });
        found.push(PictureFact { name: "pixels", range: &bounds.pixels, value: width * height });
    }
    found.iter().filter_map(|fact| fact.broken(rules)).collect()
}

/// A number of a picture.
struct PictureFact<'a> {
    name: &'static str,
    range: &'a Range,
    value: u64,
}

impl PictureFact<'_> {
    fn broken(&self, rules: &SetRules) -> Option<Broken> {
        let found = self.range.broken(self.value)?;
        let bound = format!("pictures.{}-{} = {}", found.bound, self.name, found.value);
        let reason =
            format!("{}: {} is {}", rules.bound(found.line, &bound), self.name, self.value);
        Some(Broken { kind: ProblemKind::PolicyPicture, reason })
    }
}

/// Returns true if a field must be in a share of the samples.
pub(super) fn is_required(bounds: &FieldBounds) -> bool {
    bounds.required.is_some()
}
