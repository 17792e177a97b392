//! `Bounds`: what a policy demands of the samples of a data set; data only. `tables` reads them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use tarflume_formats::json::Value;

use super::source::Stated;
use crate::class_field::ClassField;

/// What a policy demands of a data set.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bounds {
    /// Percent of the samples that have a part, by extension; `image` stands for any image.
    pub(crate) parts: BTreeMap<String, Stated<f64>>,
    /// Bounds of values, by field: `json:/label`, `cls`.
    pub(crate) fields: BTreeMap<String, FieldBounds>,
    pub(crate) classes: ClassBounds,
    pub(crate) pictures: PictureBounds,
    pub(crate) shards: ShardBounds,
    pub(crate) total: TotalBounds,
}

impl Bounds {
    /// Returns these bounds and, for what they do not state, those of `base`.
    pub(crate) fn over(&self, base: &Bounds) -> Bounds {
        let mut parts = base.parts.clone();
        parts.extend(self.parts.clone());
        let mut fields = base.fields.clone();
        fields.extend(self.fields.clone());
        Bounds {
            parts,
            fields,
            classes: self.classes.over(&base.classes),
            pictures: self.pictures.over(&base.pictures),
            shards: self.shards.over(&base.shards),
            total: self.total.over(&base.total),
        }
    }

    /// Returns true if a bound is about the bytes of parts.
    pub(crate) fn read_data(&self) -> bool {
        !self.fields.is_empty() || self.classes.is_stated() || self.pictures.is_stated()
    }
}

/// The type of a value, in the words of JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldType {
    String,
    Integer,
    Number,
    Boolean,
    Array,
    Object,
}

impl FieldType {
    pub(crate) const ALL: [(&'static str, FieldType); 6] = [
        ("string", FieldType::String),
        ("integer", FieldType::Integer),
        ("number", FieldType::Number),
        ("boolean", FieldType::Boolean),
        ("array", FieldType::Array),
        ("object", FieldType::Object),
    ];

    pub(crate) fn word(self) -> &'static str {
        let found = FieldType::ALL.iter().find(|(_, of_word)| *of_word == self);
        found.map(|(word, _)| *word).expect("each type has a word")
    }
}

/// What is demanded of a value of a JSON, or of a part that is a value.
#[derive(Debug, Clone)]
pub(crate) struct FieldBounds {
    /// Where the value is.
    pub(crate) field: ClassField,
    /// The name of the table in the policy: `fields."/label"`.
    pub(crate) name: String,
    pub(crate) of_type: Option<Stated<FieldType>>,
    pub(crate) min: Option<Stated<Value>>,
    pub(crate) max: Option<Stated<Value>>,
    /// The values that are allowed.
    pub(crate) allowed: Option<Stated<Vec<Value>>>,
    /// Percent of the samples that have the value.
    pub(crate) required: Option<Stated<f64>>,
}

/// What is demanded of the classes.
#[derive(Debug, Clone, Default)]
pub(crate) struct ClassBounds {
    /// Where the class is; `None` for what the manifest states.
    pub(crate) field: Option<Stated<ClassField>>,
    /// Percent of the samples with a class.
    pub(crate) min_share: Option<Stated<f64>>,
    pub(crate) max_share: Option<Stated<f64>>,
    pub(crate) min_count: Option<Stated<u64>>,
    /// Classes that must be there, by name or by value.
    pub(crate) required: Option<Stated<Vec<String>>>,
}

impl ClassBounds {
    fn over(&self, base: &ClassBounds) -> ClassBounds {
        let own = self.clone();
        let base = base.clone();
        ClassBounds {
            field: own.field.or(base.field),
            min_share: own.min_share.or(base.min_share),
            max_share: own.max_share.or(base.max_share),
            min_count: own.min_count.or(base.min_count),
            required: own.required.or(base.required),
        }
    }

    /// Returns a line of the policy that demands something.
    pub(crate) fn line(&self) -> usize {
        let field = self.field.as_ref().map(|stated| stated.line);
        let shares = [&self.min_share, &self.max_share].into_iter().flatten();
        let count = self.min_count.as_ref().map(|stated| stated.line);
        let required = self.required.as_ref().map(|stated| stated.line);
        let lines = field.into_iter().chain(shares.map(|stated| stated.line));
        lines.chain(count).chain(required).next().unwrap_or(1)
    }

    /// Returns true if something is demanded.
    pub(crate) fn is_stated(&self) -> bool {
        self.min_share.is_some()
            || self.max_share.is_some()
            || self.min_count.is_some()
            || self.required.is_some()
    }
}

/// The smallest and the largest number that is allowed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Range {
    pub(crate) min: Option<Stated<u64>>,
    pub(crate) max: Option<Stated<u64>>,
}

impl Range {
    fn over(&self, base: &Range) -> Range {
        let own = self.clone();
        let base = base.clone();
        Range { min: own.min.or(base.min), max: own.max.or(base.max) }
    }

    fn is_stated(&self) -> bool {
        self.min.is_some() || self.max.is_some()
    }

    /// Returns which bound a number breaks: its name, its number and its line.
    pub(crate) fn broken(&self, found: u64) -> Option<BrokenRange> {
        if let Some(Stated { value, line }) = self.min.as_ref().filter(|min| found < min.value) {
            return Some(BrokenRange { bound: "min", value: *value, line: *line });
        }
        let Stated { value, line } = self.max.as_ref().filter(|max| found > max.value)?;
        Some(BrokenRange { bound: "max", value: *value, line: *line })
    }
}

/// A bound that a number breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BrokenRange {
    /// `min` or `max`.
    pub(crate) bound: &'static str,
    pub(crate) value: u64,
    pub(crate) line: usize,
}

/// What is demanded of each picture but masks.
#[derive(Debug, Clone, Default)]
pub(crate) struct PictureBounds {
    /// The extensions of the pictures; `None` for all but masks.
    pub(crate) parts: Option<Stated<Vec<String>>>,
    pub(crate) width: Range,
    pub(crate) height: Range,
    pub(crate) pixels: Range,
    pub(crate) bytes: Range,
}

impl PictureBounds {
    fn over(&self, base: &PictureBounds) -> PictureBounds {
        PictureBounds {
            parts: self.parts.clone().or(base.parts.clone()),
            width: self.width.over(&base.width),
            height: self.height.over(&base.height),
            pixels: self.pixels.over(&base.pixels),
            bytes: self.bytes.over(&base.bytes),
        }
    }

    /// Returns true if something is demanded.
    pub(crate) fn is_stated(&self) -> bool {
        [&self.width, &self.height, &self.pixels, &self.bytes].iter().any(|range| range.is_stated())
    }
}

/// What is demanded of the shards.
#[derive(Debug, Clone, Default)]
pub(crate) struct ShardBounds {
    pub(crate) bytes: Range,
    pub(crate) samples: Range,
    /// Percent by which a shard may differ from the mean, in samples. The last shard may have fewer.
    pub(crate) samples_deviation: Option<Stated<f64>>,
    /// As above, in bytes.
    pub(crate) bytes_deviation: Option<Stated<f64>>,
}

impl ShardBounds {
    fn over(&self, base: &ShardBounds) -> ShardBounds {
        ShardBounds {
            bytes: self.bytes.over(&base.bytes),
            samples: self.samples.over(&base.samples),
            samples_deviation: self.samples_deviation.clone().or(base.samples_deviation.clone()),
            bytes_deviation: self.bytes_deviation.clone().or(base.bytes_deviation.clone()),
        }
    }
}

/// What is demanded of the totals.
#[derive(Debug, Clone, Default)]
pub(crate) struct TotalBounds {
    pub(crate) samples: Option<Stated<u64>>,
    pub(crate) shards: Option<Stated<u64>>,
    pub(crate) bytes: Option<Stated<u64>>,
    /// Percent by which the totals may differ.
    pub(crate) tolerance: Option<Stated<f64>>,
}

impl TotalBounds {
    fn over(&self, base: &TotalBounds) -> TotalBounds {
        let own = self.clone();
        let base = base.clone();
        TotalBounds {
            samples: own.samples.or(base.samples),
            shards: own.shards.or(base.shards),
            bytes: own.bytes.or(base.bytes),
            tolerance: own.tolerance.or(base.tolerance),
        }
    }
}

/// The options of a verification in a policy; their values are those of the options of the command.
#[derive(Debug, Clone, Default)]
pub(crate) struct StatedOptions {
    pub(crate) level: Option<Stated<String>>,
    pub(crate) require: Option<Vec<String>>,
    pub(crate) profiles: Vec<Stated<String>>,
    pub(crate) json_rules: Option<Stated<String>>,
    pub(crate) schemas: Vec<Stated<String>>,
    pub(crate) require_checksums: bool,
    pub(crate) objects: bool,
    pub(crate) baseline: Option<PathBuf>,
    pub(crate) expect: Option<PathBuf>,
}
