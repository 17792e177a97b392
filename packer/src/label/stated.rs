//! What samples state about their classes, by a [`LabelBy`].

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use tarflume_base::{Failure, Stop, json_rules};
use tarflume_formats::json::{JsonRules, Number, Value, parse};
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_formats::name;
use tarflume_scan::Scan;
use tarflume_scan::filter::absent::beside;
use tarflume_scan::samples::list::FoundSample;
use tarflume_sources::part_bytes::json_of;

use super::classes::ClassValue;
use super::rule::LabelBy;

/// Samples whose JSON is read at a time.
const BATCH: usize = 512;
/// Limit on the classes of a data set.
const MOST: usize = 1 << 22;
/// Endings of compressed files.
const COMPRESSED: [&str; 4] = ["gz", "bz2", "xz", "zst"];

/// The class that a sample states, or why it states none.
pub(super) type Stated = Result<ClassValue, Message>;

/// The samples of a scan, and how they state their classes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Labeled<'a> {
    pub(super) scan: &'a Scan,
    pub(super) roots: &'a [PathBuf],
    pub(super) by: &'a LabelBy,
    pub(super) rules: JsonRules,
}

impl Labeled<'_> {
    /// Returns what a sample states. `json` is its JSON, or why it cannot be read.
    pub(super) fn of(self, sample: &FoundSample, json: &Json) -> Stated {
        match self.by {
            LabelBy::Folder(rule) => {
                let path = self.scan.folders(&sample.source);
                text(rule.of(path).ok_or_else(|| rule.missing(path))?)
            }
            LabelBy::Source => {
                let path = self.scan.source_path(sample, self.roots);
                let name = path.file_name().unwrap_or(path.as_os_str());
                // Without sources, the samples are those of folders.
                let name = if self.scan.sources.is_empty() { name } else { without_endings(name) };
                text(name.as_encoded_bytes())
            }
            LabelBy::Name(pattern) => {
                let path = self.scan.folders(&sample.source);
                let name = path.rsplit(|&b| b == b'/').next().unwrap_or(path);
                let class = pattern.class(name).ok_or_else(|| {
                    message!("its name '{}' does not match {label}", name::shown(name); label = self.by.option())
                })?;
                text(class)
            }
            LabelBy::Field(pointer, pattern) => match json {
                Ok(Some(json)) => match (at(json, pointer, self.rules)?, pattern) {
                    (value, Some(pattern)) => {
                        let value = value.plain();
                        text(pattern.class(value.as_bytes()).ok_or_else(|| {
                            message!("'{}' does not match {label}", name::shown(value.as_bytes()); label = self.by.option())
                        })?)
                    }
                    (value, None) => Ok(value),
                },
                Ok(None) => Err(
                    message!("it has no JSON, in which {label} reads its class"; label = self.by.option()),
                ),
                Err(reason) => Err(message!("its JSON can't be read: {reason}"; reason = reason)),
            },
        }
    }

    /// Returns all that samples state.
    ///
    /// # Errors
    /// Returns an error if the machine fails, after an interruption, and for too many classes.
    pub(super) fn all(self, stop: &Stop) -> Result<BTreeSet<ClassValue>, Failure> {
        let mut found = BTreeSet::new();
        let mut batch: Vec<FoundSample> = Vec::with_capacity(BATCH);
        let mut result = Ok(());
        self.scan.samples.visit(|_, sample| {
            batch.push(sample.clone());
            if batch.len() == BATCH {
                result = self.take(&mut batch, &mut found, stop);
            }
            result.is_ok()
        });
        result?;
        self.take(&mut batch, &mut found, stop)?;
        Ok(found)
    }

    fn take(
        self,
        batch: &mut Vec<FoundSample>,
        found: &mut BTreeSet<ClassValue>,
        stop: &Stop,
    ) -> Result<(), Failure> {
        if stop.requested() {
            return Err(Failure::interrupted());
        }
        let stated = batch.par_iter().map(|sample| Ok(self.of(sample, &self.json(sample)?)));
        let stated: Vec<Stated> = stated.collect::<Result<_, Failure>>()?;
        found.extend(stated.into_iter().flatten());
        batch.clear();
        if found.len() > MOST {
            return Err(Failure::usage(
                message!("{label}: more than {MOST} classes"; label = self.by.option()),
            ));
        }
        Ok(())
    }

    /// Returns the JSON of a sample, if the rule reads it.
    fn json(self, sample: &FoundSample) -> Result<Json, Failure> {
        if self.by.reads_json() {
            return json_of(self.scan, self.roots, sample);
        }
        Ok(Ok(None))
    }
}

/// The JSON of a sample, if it has one, or why it cannot be read.
pub(super) type Json = Result<Option<Vec<u8>>, Message>;

/// Refuses numbers beside names: a number is that of its class, and a name gets one.
///
/// # Errors
/// Returns an error that shows both.
pub(super) fn check_kinds(by: &LabelBy, found: &BTreeSet<ClassValue>) -> Result<(), Failure> {
    // Numbers are before names.
    let [Some(ClassValue::Number(number)), Some(ClassValue::Name(name))] =
        [found.first(), found.last()]
    else {
        return Ok(());
    };
    Err(Failure::usage(message!(
        "{label}: {number} is a number and '{}' is a text: give the field one type, or number the classes with {classes}",
        name::shown(name.as_bytes());
        label = by.option(),
        classes = Name::Classes.stand("FILE")
    )))
}

fn text(class: &[u8]) -> Stated {
    match std::str::from_utf8(class) {
        Ok(class) => Ok(ClassValue::Name(class.into())),
        Err(_) => Err(message!(
            "the name of its class, '{}', is not UTF-8; rename it",
            name::shown(class)
        )),
    }
}

/// Returns the name of a file without its ending, and without that of a compression.
fn without_endings(name: &OsStr) -> &OsStr {
    let path = Path::new(name);
    let is_compressed = path.extension().is_some_and(|end| COMPRESSED.iter().any(|c| end == *c));
    let name = path.file_stem().filter(|_| is_compressed).unwrap_or(name);
    Path::new(name).file_stem().unwrap_or(name)
}

fn at(json: &[u8], pointer: &str, rules: JsonRules) -> Stated {
    let json = parse(json, rules).map_err(
        |fault| message!("its JSON can't be read: {why}"; why = json_rules::sentence(&fault)),
    )?;
    match json.pointer(pointer) {
        Some(Value::String(text)) if !text.is_empty() => Ok(ClassValue::Name(text.clone())),
        Some(Value::Bool(flag)) => Ok(ClassValue::Name(flag.to_string())),
        Some(Value::Number(text)) => {
            match Number::parse(text).and_then(Number::whole).map(i64::try_from) {
                Some(Ok(number)) => Ok(ClassValue::Number(number)),
                _ => Err(message!(
                    "{text}, the value of {pointer} in its JSON, is no whole number of 64 bits"
                )),
            }
        }
        Some(Value::Null) => Err(message!("the value of {pointer} in its JSON is null")),
        Some(Value::String(_)) => {
            Err(message!("the value of {pointer} in its JSON is an empty text"))
        }
        Some(_) => Err(message!("the value of {pointer} in its JSON is no text and no number")),
        None => Err(match beside(&json, pointer) {
            Some(fields) => message!("its JSON has no {pointer}, but {fields}"),
            None => message!("its JSON has no {pointer}"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> ClassValue {
        ClassValue::Name(text.into())
    }

    #[test]
    fn a_field_is_a_text_or_a_whole_number() {
        for (json, stated) in [
            (r#"{"a": "cat"}"#, name("cat")),
            (r#"{"a": 7}"#, ClassValue::Number(7)),
            (r#"{"a": 7.0}"#, ClassValue::Number(7)),
            (r#"{"a": "7"}"#, name("7")),
            (r#"{"a": true}"#, name("true")),
        ] {
            assert_eq!(at(json.as_bytes(), "/a", JsonRules::Strict).unwrap(), stated, "{json}");
        }
        for (json, why) in [
            (r#"{"b": 3}"#, "no /a"),
            (r#"{"a": [3]}"#, "no text and no number"),
            (r#"{"a": 0.5}"#, "no whole number"),
            (r#"{"a": null}"#, "is null"),
            (r#"{"a": ""}"#, "empty text"),
            ("{", "can't be read"),
        ] {
            let refused = at(json.as_bytes(), "/a", JsonRules::Strict).unwrap_err();
            assert!(refused.text().contains(why), "{json}: {refused:?}");
        }
    }

    #[test]
    fn a_file_is_named_without_its_endings() {
        for (file, name) in [("n01.tar", "n01"), ("a.b.tar.gz", "a.b"), ("x.zip", "x"), ("x", "x")]
        {
            assert_eq!(without_endings(OsStr::new(file)), name, "{file}");
        }
    }
}
