//! `Values`: finds values that several samples have in a field whose values should differ.
//!
//! A value is kept as 64 bits of its digest and its place, 16 bytes. Two different values have the same digest with a
//! probability of about one in a million for a set of six million samples.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tarflume_base::{Problem, ProblemKind, Problems, units};
use tarflume_formats::json::{JsonRules, Pointer, Value, find, parse};
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_formats::{Index, Result, name};

/// Values that are kept for a field: 1 GiB. Of more, those behind are not compared.
const MOST: usize = 64 << 20;
/// Problems that are listed for a field.
const LISTED: usize = 10_000;

/// A field whose values should differ: `EXT:/FIELD`, `/FIELD` of the part `json`, or `EXT`, the part itself.
#[derive(Debug, Clone)]
pub struct UniqueField {
    ext: String,
    pointer: Option<Pointer>,
    text: String,
    /// Whether a repeated value is a problem. Otherwise it is a warning, if most values differ.
    is_required: bool,
}

impl PartialEq for UniqueField {
    fn eq(&self, other: &UniqueField) -> bool {
        self.text == other.text
    }
}

impl fmt::Display for UniqueField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl UniqueField {
    /// Parses `/id`, `meta.json:/id` or `txt`.
    ///
    /// # Errors
    /// Returns an error that shows the expected form.
    pub fn parse(text: &str) -> std::result::Result<UniqueField, String> {
        let (ext, pointer) = match text.split_once(':') {
            Some((ext, pointer)) => (ext, Some(pointer)),
            None if text.starts_with('/') => ("json", Some(text)),
            None => (text, None),
        };
        let ext = ext.trim().trim_start_matches('.').to_ascii_lowercase();
        if ext.is_empty() || ext.contains('/') || pointer.is_some_and(|text| !text.starts_with('/'))
        {
            return Err(wrong(text));
        }
        let text = match pointer {
            Some(pointer) => format!("{ext}:{pointer}"),
            None => ext.clone(),
        };
        let pointer = pointer.map(Pointer::parse).transpose().map_err(|_| wrong(&text))?;
        Ok(UniqueField { ext, pointer, text, is_required: true })
    }

    /// Returns the field that often is the name of a sample.
    pub(super) fn usual() -> UniqueField {
        let field = UniqueField::parse("/id").expect("it has the form of a field");
        UniqueField { is_required: false, ..field }
    }

    /// Returns the digest of the value in a part; `None` if the part has none, or null.
    pub(super) fn digest(&self, ext: &[u8], data: &[u8], rules: JsonRules) -> Option<u64> {
        if self.ext.as_bytes() != ext {
            return None;
        }
        let Some(pointer) = &self.pointer else { return Some(digest(data)) };
        let place = find(data, pointer, rules).ok()??;
        match parse(&data[place], rules).ok()? {
            Value::Null => None,
            // A list in `/id` is no name of a sample.
            Value::Array(_) | Value::Object(_) if !self.is_required => None,
            value => Some(digest(value.to_string().as_bytes())),
        }
    }
}

fn wrong(text: &str) -> String {
    format!("'{text}': give a field, /id or json:/id, or a part, txt")
}

fn digest(bytes: &[u8]) -> u64 {
    let hash = blake3::hash(bytes);
    u64::from_le_bytes(*hash.as_bytes().first_chunk().expect("a digest has 32 bytes"))
}

/// A value of a shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SeenValue {
    pub(crate) digest: u64,
    /// Byte of the tar at which its part begins.
    pub(crate) at: u64,
}

/// A value of a set. The order is that of digests, and of equal digests that of places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct PlacedValue {
    digest: u64,
    place: Place,
}

/// The number of a shard in 24 bits, and a byte of its tar divided by 512, where parts begin, in 40 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place(u64);

impl Place {
    fn new(shard: usize, at: u64) -> Place {
        Place((shard as u64) << 40 | (at / 512))
    }

    fn shard(self) -> usize {
        (self.0 >> 40) as usize
    }

    fn at(self) -> u64 {
        (self.0 & ((1 << 40) - 1)) * 512
    }
}

/// The values of a set's samples, by field.
#[derive(Debug)]
pub(crate) struct Values {
    fields: Vec<UniqueField>,
    values: Vec<Vec<PlacedValue>>,
    /// Values that were not kept.
    unkept: u64,
}

/// What was found of them.
#[derive(Debug, Default)]
pub(crate) struct FoundValues {
    pub(crate) problems: Problems,
    pub(crate) warnings: Vec<Problem>,
    /// What was asked for and not found, or not compared.
    pub(crate) unchecked: Vec<Message>,
}

impl Values {
    /// Begins a set.
    pub(crate) fn new(fields: Vec<UniqueField>) -> Values {
        Values { values: fields.iter().map(|_| Vec::new()).collect(), fields, unkept: 0 }
    }

    /// Adds the values of the shard with this number.
    pub(crate) fn add(&mut self, shard: usize, found: Vec<Vec<SeenValue>>) {
        for (kept, found) in self.values.iter_mut().zip(found) {
            let room = MOST - kept.len();
            self.unkept += found.len().saturating_sub(room) as u64;
            kept.extend(found.into_iter().take(room).map(|value| PlacedValue {
                digest: value.digest,
                place: Place::new(shard, value.at),
            }));
        }
    }

    /// Compares all values.
    ///
    /// # Errors
    /// Returns an error if a sidecar cannot be read.
    pub(crate) fn compare(self, shards: &[(PathBuf, Index)]) -> Result<FoundValues> {
        let mut found = FoundValues::default();
        if self.unkept > 0 {
            let text =
                format!("{} values were not compared with others", units::count(self.unkept));
            found.unchecked.push(text.into());
        }
        for (field, mut values) in self.fields.into_iter().zip(self.values) {
            values.sort_unstable();
            if values.is_empty() && field.is_required {
                found.unchecked.push(
                    message!("{unique}: no sample has a value there"; unique = Name::Unique.is(field.text.clone())),
                );
            }
            let mut repeated: Vec<Repeated> = Vec::new();
            for same in values.chunk_by(|one, other| one.digest == other.digest) {
                let others = same.iter().skip(1);
                repeated
                    .extend(others.map(|value| Repeated { at: value.place, first: same[0].place }));
            }
            repeated.sort_unstable_by_key(|repeated| repeated.at);
            field.report(&repeated, values.len(), shards, &mut found)?;
        }
        Ok(found)
    }
}

/// A value that an earlier sample has.
struct Repeated {
    at: Place,
    first: Place,
}

impl UniqueField {
    fn report(
        &self,
        repeated: &[Repeated],
        values: usize,
        shards: &[(PathBuf, Index)],
        found: &mut FoundValues,
    ) -> Result<()> {
        if self.is_required {
            for one in repeated.iter().take(LISTED) {
                found.problems.push(self.problem(one, shards)?);
            }
            found.problems.unlisted += repeated.len().saturating_sub(LISTED) as u64;
            return Ok(());
        }
        // Where many values repeat, the field is no name of a sample.
        let Some(first) = repeated.first().filter(|_| repeated.len() <= values / 10) else {
            return Ok(());
        };
        let others = match repeated.len() - 1 {
            0 => String::new(),
            more => {
                let more =
                    units::counted(more as u64, "other sample repeats", "other samples repeat");
                format!("; {more} a value")
            }
        };
        let problem = self.problem(first, shards)?;
        let reason = message!("{reason}{others}. {unique} makes this a problem"; reason = problem.reason, unique = Name::Unique.is(self.text.clone()));
        found.warnings.push(Problem { reason, ..problem });
        Ok(())
    }

    fn problem(&self, repeated: &Repeated, shards: &[(PathBuf, Index)]) -> Result<Problem> {
        let path = shown_path(shards, repeated.at);
        let first = key_at(shards, repeated.first)?;
        let place = match shown_path(shards, repeated.first) {
            same if same == path => String::new(),
            other => format!(" of {other}"),
        };
        let text = format!("the value of '{}' is that of sample {first}{place}, too", self.text);
        let problem = Problem::new(ProblemKind::RepeatedValue, path, text);
        Ok(problem.at(repeated.at.at()).of(key_at(shards, repeated.at)?))
    }
}

fn shown_path(shards: &[(PathBuf, Index)], place: Place) -> String {
    shards[place.shard()].0.display().to_string()
}

/// Returns the key of the sample with a part at this place.
fn key_at(shards: &[(PathBuf, Index)], place: Place) -> Result<String> {
    for sample in shards[place.shard()].1.iter() {
        let sample = sample?;
        for part in sample.parts() {
            if part?.offset == place.at() {
                return Ok(sample.shown_key());
            }
        }
    }
    Ok(name::shown(b"?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_a_pointer_or_a_part() {
        assert_eq!(UniqueField::parse("/id").unwrap().to_string(), "json:/id");
        assert_eq!(UniqueField::parse("meta.json:/a/b").unwrap().to_string(), "meta.json:/a/b");
        assert_eq!(UniqueField::parse("TXT").unwrap().to_string(), "txt");
        for bad in ["", "json:id", "a/b", ":/id"] {
            assert!(UniqueField::parse(bad).unwrap_err().contains("/id"), "{bad}");
        }
    }

    fn digest_of(text: &str) -> Option<u64> {
        let field = UniqueField::parse("/id").unwrap();
        field.digest(b"json", text.as_bytes(), JsonRules::Strict)
    }

    #[test]
    fn equal_values_have_equal_digests_however_they_are_written() {
        let rules = JsonRules::Strict;
        assert_eq!(digest_of(r#"{"id": "a\u0062"}"#), digest_of(r#"{"x": 1, "id":"ab"}"#));
        assert_ne!(digest_of(r#"{"id": "1"}"#), digest_of(r#"{"id": 1}"#));
        assert_eq!(digest_of(r#"{"id": null}"#), None);
        assert_eq!(digest_of("{}"), None);
        assert_eq!(digest_of("no JSON"), None);
        assert!(digest_of(r#"{"id": [1]}"#).is_some());
        assert_eq!(UniqueField::usual().digest(b"json", br#"{"id": [1]}"#, rules), None);
        let place = Place::new(77, 512 * 123_456_789);
        assert_eq!(place.shard(), 77);
        assert_eq!(place.at(), 512 * 123_456_789);
    }
}
