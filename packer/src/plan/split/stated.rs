//! `Stated`: reads what decides about the split of a sample: a field of its JSON, a folder, or the file that has it.

use std::path::PathBuf;

use tarflume_base::{Failure, json_rules};
use tarflume_formats::json::{JsonRules, Value, parse};
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_scan::Scan;
use tarflume_scan::filter::absent::beside;
use tarflume_scan::samples::list::{FoundAt, FoundSample};
use tarflume_sources::part_bytes::json_of;

use super::files::EXAMPLE;
use super::rule::SplitRule;

/// A sample's value, or why it has none.
pub(super) type Valued = Result<String, Message>;

/// The samples of a scan with a rule that divides them.
#[derive(Clone, Copy)]
pub(super) struct Stated<'a> {
    pub(super) scan: &'a Scan,
    pub(super) roots: &'a [PathBuf],
    pub(super) rule: &'a SplitRule,
    pub(super) rules: JsonRules,
    /// The splits of the files that patterns match.
    pub(super) files: &'a [Option<String>],
}

impl Stated<'_> {
    /// Returns the text that decides about a sample: its class, its split's name, or nothing.
    ///
    /// # Errors
    /// Returns an error if the machine fails.
    pub(super) fn value(&self, sample: &FoundSample) -> Result<Valued, Failure> {
        match self.rule {
            SplitRule::Folder(folder) => {
                let found = folder
                    .of(self.scan.folders(&sample.source))
                    .map(|name| String::from_utf8_lossy(name).into_owned());
                return Ok(found.ok_or_else(|| message!("no folder names its split ({split_by})"; split_by = Name::SplitBy.is(folder.to_string()))));
            }
            SplitRule::Source => return Ok(self.of_source(sample)),
            SplitRule::Files(_) => return Ok(self.of_files(sample)),
            _ => {}
        }
        let Some(pointer) = self.rule.pointer() else { return Ok(Ok(String::new())) };
        Ok(json_of(self.scan, self.roots, sample)?.and_then(|json| match json {
            None => Err("it has no JSON that names its split".into()),
            Some(json) => at_pointer(&json, pointer, self.rules),
        }))
    }

    /// Returns the split of the shard or file that holds the sample.
    fn of_source(&self, sample: &FoundSample) -> Valued {
        let source = sample.parts.iter().find_map(|part| match part.at {
            FoundAt::Range(source, _) | FoundAt::Cell(source, ..) => {
                self.scan.sources.get(source as usize)
            }
            _ => None,
        });
        let split = source.and_then(|source| source.options["split"].as_str()).map(String::from);
        split.or_else(|| self.of_root(sample)).ok_or_else(|| {
            message!("no data set states one, and the name of the file has no word such as train, val or test; name its split \
                 ({split_by}), give {split}, or make one set ({none})"; split_by = Name::SplitBy.is(EXAMPLE), split = Name::Split, none = Name::SplitBy.is("none"))
        })
    }

    /// Returns the split that the root of the sample states.
    fn of_root(&self, sample: &FoundSample) -> Option<String> {
        self.scan.layout.splits.get(sample.root as usize).cloned().flatten()
    }

    /// Returns the split of the pattern that matches the file of the sample.
    fn of_files(&self, sample: &FoundSample) -> Valued {
        let split = self.files.get(sample.root as usize).cloned().flatten();
        split.ok_or_else(|| {
            message!("no pattern of {split_by} matches the name of the file; add one, or NAME=* for the files that no other one matches"; split_by = Name::SplitBy)
        })
    }

    /// Returns the file that has the sample as a row or a member.
    pub(super) fn path(&self, sample: &FoundSample) -> PathBuf {
        match self.scan.layout.files.get(sample.root as usize) {
            Some(file) => file.clone(),
            None => self.scan.source_path(sample, self.roots),
        }
    }
}

fn at_pointer(json: &[u8], pointer: &str, rules: JsonRules) -> Valued {
    let json = parse(json, rules).map_err(
        |fault| message!("its JSON can't be read: {why}"; why = json_rules::sentence(&fault)),
    )?;
    match json.pointer(pointer) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(value @ (Value::Number(_) | Value::Bool(_))) => Ok(value.to_string()),
        Some(_) => Err(message!("the value at {pointer} of its JSON is no text or number")),
        None => Err(match beside(&json, pointer) {
            Some(fields) => message!("its JSON has no {pointer}, but {fields}"),
            None => message!("its JSON has no {pointer}"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_text_or_a_number() {
        fn at(json: &str) -> Valued {
            at_pointer(json.as_bytes(), "/a", JsonRules::Strict)
        }
        assert_eq!(at(r#"{"a": "val"}"#).unwrap(), "val");
        assert_eq!(at(r#"{"a": 3}"#).unwrap(), "3");
        assert!(at(r#"{"b": 3}"#).unwrap_err().text().contains("no /a"));
        assert!(at(r#"{"a": [3]}"#).unwrap_err().text().contains("no text or number"));
        assert!(at("{").unwrap_err().text().contains("can't be read"));
    }
}
