//! The values that the JSON and the classes of samples have: types, ranges, and how many differ.
//!
//! Memory is bounded for any number of samples and values: of each field the values with the smallest hashes are kept,
//! and how often they occur. So the result depends neither on threads nor on the order of shards.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;

use tarflume_base::{Failure, Stop};
use tarflume_formats::IgnorePoison;
use tarflume_formats::json::{JsonRules, Value, parse};
use tarflume_formats::name;
use tarflume_shards::index::in_parallel;
use tarflume_shards::listing::{Listing, Shard};

use crate::stats::{CLASS_PART, ShardParts};

/// Values of a field that are kept. More different values are not counted.
const KEPT: usize = 1000;
/// Fields of a part. A part with more has names that are values.
const FIELDS: usize = 200;
/// Levels of objects in objects.
const DEPTH: usize = 4;
/// Bytes of a text that is kept.
const LONGEST: usize = 64;

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ValueKind {
    /// `true` or `false`.
    Flag,
    /// A whole number, also `3.0`.
    Whole,
    /// Another number.
    Fraction,
    /// NaN or an infinite number of Python.
    Special,
    /// A text.
    Text,
    /// A list.
    List,
}

/// The values of one field.
#[derive(Debug, Clone, Default)]
pub struct FieldTally {
    /// Samples with a value that is not null.
    pub samples: u64,
    /// The types of the values.
    pub kinds: BTreeSet<ValueKind>,
    /// The smallest number, as it is written.
    pub min: Option<Value>,
    /// The largest number.
    pub max: Option<Value>,
    /// True if a text is longer than those that are kept.
    pub has_long_texts: bool,
    /// By hash: the value and how often it occurs. Those with the smallest hashes.
    kept: BTreeMap<u64, (Value, u64)>,
    /// True if there are more different values.
    is_cut: bool,
}

impl FieldTally {
    /// Returns all different values of flags, numbers and texts; `None` if there are more than a thousand.
    pub fn different(&self) -> Option<Vec<&Value>> {
        (!self.is_cut).then(|| self.kept.values().map(|(value, _)| value).collect())
    }

    /// Returns true if there are many different values and each one that is kept occurs once, as identifiers do.
    pub fn are_identifiers(&self) -> bool {
        self.is_cut && self.kept.values().all(|(_, count)| *count == 1)
    }

    fn add(&mut self, value: &Value) {
        self.samples += 1;
        let kind = match value {
            Value::Null | Value::Object(_) => return,
            Value::Array(_) => {
                self.kinds.insert(ValueKind::List);
                return;
            }
            Value::Bool(_) => ValueKind::Flag,
            Value::String(text) => {
                self.has_long_texts |= text.len() > LONGEST;
                ValueKind::Text
            }
            Value::Number(_) => self.number(value),
        };
        self.kinds.insert(kind);
        let mut hasher = DefaultHasher::new();
        value.to_string().hash(&mut hasher);
        let is_long = value.as_str().is_some_and(|text| text.len() > LONGEST);
        // The text of a long one is not shown.
        self.keep(hasher.finish(), if is_long { &Value::Null } else { value }, 1);
    }

    fn number(&mut self, value: &Value) -> ValueKind {
        let Some(number) = value.as_number() else { return ValueKind::Special };
        if number.is_special() {
            return ValueKind::Special;
        }
        self.widen(value);
        if number.whole().is_some() { ValueKind::Whole } else { ValueKind::Fraction }
    }

    fn widen(&mut self, value: &Value) {
        if order(value, &self.min).is_none_or(Ordering::is_lt) {
            self.min = Some(value.clone());
        }
        if order(value, &self.max).is_none_or(Ordering::is_gt) {
            self.max = Some(value.clone());
        }
    }

    fn keep(&mut self, hash: u64, value: &Value, count: u64) {
        if let Some((_, known)) = self.kept.get_mut(&hash) {
            *known += count;
            return;
        }
        if self.kept.len() == KEPT
            && self.kept.last_key_value().is_some_and(|(last, _)| *last < hash)
        {
            self.is_cut = true;
            return;
        }
        self.kept.insert(hash, (value.clone(), count));
        if self.kept.len() > KEPT {
            self.kept.pop_last();
            self.is_cut = true;
        }
    }

    fn merge(&mut self, other: FieldTally) {
        self.samples += other.samples;
        self.kinds.extend(other.kinds);
        self.has_long_texts |= other.has_long_texts;
        other.min.iter().chain(&other.max).for_each(|value| self.widen(value));
        self.is_cut |= other.is_cut;
        for (hash, (value, count)) in other.kept {
            self.keep(hash, &value, count);
        }
    }
}

/// Returns the order of a number and an end of a range; `None` if there is none so far.
fn order(value: &Value, end: &Option<Value>) -> Option<Ordering> {
    value.as_number()?.order(end.as_ref()?.as_number()?)
}

/// The values of all fields of a data set.
#[derive(Debug, Clone, Default)]
pub struct FieldValues {
    /// Samples.
    pub samples: u64,
    /// By place: `json:/label`, `meta.json:/camera/id`, `cls`.
    pub fields: BTreeMap<String, FieldTally>,
    /// JSON parts with more fields than are looked at, by extension.
    pub many: BTreeSet<String>,
}

impl FieldValues {
    /// Adds a part.
    fn take(&mut self, ext: &str, bytes: &[u8], rules: JsonRules) {
        if is_json(ext) {
            if let Ok(json @ Value::Object(_)) = parse(bytes, rules) {
                self.object(ext, "", &json, DEPTH);
            }
        } else if let Some(value) = plain(bytes) {
            self.tally(ext.into(), &value);
        }
    }

    fn object(&mut self, ext: &str, pointer: &str, value: &Value, depth: usize) {
        let Value::Object(members) = value else { return };
        for (key, value) in members {
            let pointer = format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
            match value {
                Value::Object(_) if depth > 1 => self.object(ext, &pointer, value, depth - 1),
                Value::Object(_) | Value::Null => {}
                value if !self.many.contains(ext) => self.tally(format!("{ext}:{pointer}"), value),
                _ => {}
            }
        }
    }

    fn tally(&mut self, field: String, value: &Value) {
        match self.fields.get_mut(&field) {
            Some(tally) => tally.add(value),
            None => {
                let ext = field.split(':').next().unwrap_or(&field).to_string();
                self.fields.entry(field).or_default().add(value);
                self.bound(&ext);
            }
        }
    }

    /// Leaves out the fields of a part that has too many.
    fn bound(&mut self, ext: &str) {
        let start = format!("{ext}:");
        if self.many.contains(ext)
            || self.fields.keys().filter(|field| field.starts_with(&start)).count() > FIELDS
        {
            self.fields.retain(|field, _| !field.starts_with(&start));
            self.many.insert(ext.into());
        }
    }

    fn merge(&mut self, other: FieldValues) {
        self.samples += other.samples;
        self.many.extend(other.many);
        let mut exts = self.many.clone();
        for (field, tally) in other.fields {
            exts.extend(field.split(':').next().map(String::from));
            self.fields.entry(field).or_default().merge(tally);
        }
        exts.iter().for_each(|ext| self.bound(ext));
    }
}

/// Reads the JSON parts and the classes of all samples.
///
/// # Errors
/// Returns an error if a sidecar is damaged, if the machine or a store fails, and after an interruption. Parts that are
/// damaged or no JSON are passed over.
pub fn field_values(listing: &Listing, jobs: usize, stop: &Stop) -> Result<FieldValues, Failure> {
    let total = Mutex::new(FieldValues::default());
    let shards: Vec<&Shard> = listing.shards.iter().collect();
    let done = in_parallel(jobs, shards, |shard| {
        let values = of_shard(shard, listing.json_rules, stop)?;
        total.lock().ignore_poison().merge(values);
        Ok(())
    })?;
    done.into_iter().collect::<Result<(), Failure>>()?;
    Ok(total.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
}

fn of_shard(shard: &Shard, rules: JsonRules, stop: &Stop) -> Result<FieldValues, Failure> {
    let mut values = FieldValues::default();
    let mut parts = None;
    for sample in shard.index.iter() {
        let sample = sample?;
        if sample.row % 1024 == 0 && stop.requested() {
            return Err(Failure::interrupted());
        }
        values.samples += 1;
        for part in sample.parts() {
            let part = part?;
            let ext = name::shown(part.ext);
            if part.length > CLASS_PART || !(is_json(&ext) || is_class(&ext)) {
                continue;
            }
            let opened = match &parts {
                Some(opened) => opened,
                None => parts.insert(ShardParts::open(shard)?),
            };
            if let Ok(bytes) = opened.read(&part, CLASS_PART)? {
                values.take(&ext, &bytes, rules);
            }
        }
    }
    shard.index.intact()?;
    Ok(values)
}

fn is_json(ext: &str) -> bool {
    ext == "json" || ext.ends_with(".json")
}

/// Returns true for a part that is the class.
fn is_class(ext: &str) -> bool {
    matches!(ext, "cls" | "cls2")
}

/// Returns the value of a part that is no JSON: a number, or a text.
fn plain(part: &[u8]) -> Option<Value> {
    let text = std::str::from_utf8(part).ok()?.trim();
    match parse(text.as_bytes(), JsonRules::Strict) {
        Ok(number @ Value::Number(_)) => Some(number),
        _ => Some(Value::String(text.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: &[String]) -> FieldValues {
        let mut values = FieldValues::default();
        for text in texts {
            values.samples += 1;
            values.take("json", text.as_bytes(), JsonRules::Python);
        }
        values
    }

    fn kinds(values: &FieldValues, field: &str) -> Vec<ValueKind> {
        values.fields[field].kinds.iter().copied().collect()
    }

    #[test]
    fn types_and_ranges_are_those_of_the_values_in_objects_too() {
        let values = of(&[
            r#"{"a": 1, "b": {"c/d": -2.5}, "l": [1], "t": "x", "n": null}"#.into(),
            r#"{"a": 3.0, "b": {"c/d": 1e3}, "t": "y", "f": true}"#.into(),
            "{".into(),
        ]);
        assert_eq!(kinds(&values, "json:/a"), [ValueKind::Whole]);
        assert_eq!(kinds(&values, "json:/b/c~1d"), [ValueKind::Whole, ValueKind::Fraction]);
        assert_eq!(kinds(&values, "json:/l"), [ValueKind::List]);
        assert_eq!(kinds(&values, "json:/f"), [ValueKind::Flag]);
        let number = &values.fields["json:/b/c~1d"];
        assert_eq!(number.min.as_ref().unwrap().to_string(), "-2.5");
        assert_eq!(number.max.as_ref().unwrap().to_string(), "1000.0");
        assert_eq!(values.fields["json:/t"].different().unwrap().len(), 2);
        assert!(!values.fields.contains_key("json:/n"));
    }

    #[test]
    fn many_values_are_bounded_and_the_order_does_not_matter() {
        let texts: Vec<String> = (0..5000)
            .map(|n| format!(r#"{{"id": {n}, "label": {}, "at": {}}}"#, n % 7, n / 2))
            .collect();
        let whole = of(&texts);
        let mut merged = FieldValues::default();
        for part in texts.rchunks(999) {
            merged.merge(of(part));
        }
        for values in [&whole, &merged] {
            assert!(values.fields["json:/id"].are_identifiers());
            assert_eq!(values.fields["json:/label"].different().unwrap().len(), 7);
            assert!(values.fields["json:/at"].different().is_none());
            assert!(!values.fields["json:/at"].are_identifiers(), "each twice");
            assert_eq!(values.samples, 5000);
        }
        for (field, tally) in &whole.fields {
            assert_eq!(tally.kept, merged.fields[field].kept, "{field}");
            assert!(tally.kept.len() <= KEPT);
        }
    }

    #[test]
    fn a_part_whose_names_are_values_has_no_fields() {
        let texts: Vec<String> = (0..300).map(|n| format!(r#"{{"photo-{n}": 1}}"#)).collect();
        let mut values = of(&texts[..150]);
        values.take("cls", b" 3\n", JsonRules::Strict);
        values.merge(of(&texts[150..]));
        assert!(values.many.contains("json"));
        assert_eq!(values.fields.keys().collect::<Vec<_>>(), ["cls"]);
        values.merge(of(&texts[..1]));
        assert_eq!(values.fields.len(), 1);
    }
}
