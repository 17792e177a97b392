//! `Expect`: totals, class counts and digests of a data set in a file, and what differs from them.
//!
//! A repository keeps the file beside its code. A pull request that changes the data then fails until the file
//! changes with it, and the difference of the file is what a reviewer reads. Pure. `tables` has classes and columns,
//! `content` the digest of all samples.

mod content;
mod tables;

use std::collections::BTreeMap;
use tarflume_formats::message;
use tarflume_formats::message::{Call, Message, Name, Task};

use serde::{Deserialize, Serialize};
use tarflume_base::units;

use crate::class_field::NO_CLASS;

pub(crate) use content::ContentDigest;
pub use tables::{ExpectedClasses, ExpectedTables, SideNames};

/// The field `format` of a file.
const FORMAT: &str = "tarflume-expect";
/// Shards that are named when many differ.
const LISTED: usize = 20;
/// The words of differences.
const NAMES: SideNames = SideNames { expected: "expected", found: "found" };
/// Why there is no digest of the samples.
fn unknown() -> Message {
    message!("a sidecar has no checksums; `{index}` adds them";
        index = Call::of(Task::Index).with(Name::Force.on()).on_stand("DIR"))
}

/// What a data set contains. A field that is absent in a file is not compared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// `tarflume-expect`.
    pub format: String,
    /// Samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<u64>,
    /// A digest of all samples: keys, extensions, sizes and checksums of parts. It depends neither on their order nor
    /// on shards. Absent if a sidecar has no checksums.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Parts by extension.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extensions: Option<BTreeMap<String, u64>>,
    /// Where the class of a sample is: `EXT:/FIELD`, or `EXT`, a part that is the class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Samples by class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<BTreeMap<String, u64>>,
    /// The names of classes that the manifest states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class_table: Option<ExpectedClasses>,
    /// The types of the fields of the JSON and of arrays that the manifest states, by JSON pointer or extension.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<BTreeMap<String, String>>,
    /// True for several data sets whose manifests state other classes or columns than each other; no field of a file.
    #[serde(skip)]
    pub tables_differ: bool,
    /// The shards, in their order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shards: Option<Vec<ExpectedShard>>,
}

/// A shard.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedShard {
    /// File name.
    pub name: String,
    /// Samples.
    pub samples: u64,
    /// blake3 of the tar in hex; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blake3: Option<String>,
}

impl Expect {
    /// Creates what a file states; `found` has the fields.
    pub fn new(found: Expect) -> Expect {
        Expect { format: FORMAT.into(), ..found }
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// Returns a sentence that names the place.
    pub fn from_json(bytes: &[u8]) -> Result<Expect, Message> {
        tarflume_base::json_rules::check_names(bytes)?;
        let expect: Expect = serde_json::from_slice(bytes)
            .map_err(|e| message!("it is not what `{verify}` writes: {e}"; verify = Call::of(Task::Verify).with(Name::WriteExpect)))?;
        if expect.format != FORMAT {
            return Err(message!("its field format is '{}', not '{FORMAT}'", expect.format));
        }
        expect.check()?;
        Ok(expect)
    }

    /// Checks that each field of a file is compared with something.
    fn check(&self) -> Result<(), Message> {
        let nothing = Expect { format: self.format.clone(), ..Expect::default() };
        match (&self.class, &self.classes) {
            _ if *self == nothing => Err("it states nothing that could be compared".into()),
            (None, Some(_)) => {
                Err("it has 'classes' without 'class', which names the field of the class, as in \
                                    \"class\": \"json:/label\"; so no class would be counted"
                    .into())
            }
            (Some(_), None) => {
                Err("it has 'class' without 'classes', the number of samples of each class; so \
                                    nothing would be compared"
                    .into())
            }
            (_, Some(classes)) if !has_class(classes) => {
                Err("its 'classes' lists no class, so nothing would be compared".into())
            }
            _ => Ok(()),
        }
    }

    /// Checks that a file of this would pin the bytes of all samples, and the classes that were asked for.
    ///
    /// # Errors
    /// Returns a sentence if the digest of the samples is not known, if no sample has a class at the field that was named,
    /// or if several manifests state other classes or columns than each other.
    pub fn is_complete(&self) -> Result<(), Message> {
        if self.content.is_none() {
            return Err(
                message!("no change of bytes would be found: {unknown}"; unknown = unknown()),
            );
        }
        if self.tables_differ {
            return Err(
                "the data sets state different classes or columns; write a file for each".into()
            );
        }
        match (&self.class, &self.classes) {
            (Some(field), Some(classes)) if !has_class(classes) && self.samples != Some(0) => Err(
                message!("no sample has a class at {field}; name another field with {class}"; class = Name::Class),
            ),
            _ => Ok(()),
        }
    }

    /// Returns the text of the file: sorted, each shard on a line, so that two versions can be compared by lines.
    pub fn to_json(&self) -> String {
        let mut text = String::from("{\n");
        let mut fields = Vec::new();
        let value = serde_json::to_value(self).expect("texts and numbers serialize");
        let order = [
            "format",
            "samples",
            "content",
            "extensions",
            "class",
            "classes",
            "class_table",
            "columns",
            "shards",
        ];
        for name in order {
            match value.get(name) {
                None => {}
                Some(serde_json::Value::Array(shards)) => {
                    let lines: Vec<String> = shards.iter().map(line_of_shard).collect();
                    fields.push(format!("  \"{name}\": [\n{}\n  ]", lines.join(",\n")));
                }
                Some(serde_json::Value::Object(counts))
                    if name == "classes" || name == "columns" =>
                {
                    let lines =
                        counts.iter().map(|(class, n)| format!("    {}: {n}", quoted(class)));
                    let lines: Vec<String> = lines.collect();
                    fields.push(format!("  \"{name}\": {{\n{}\n  }}", lines.join(",\n")));
                }
                Some(_) if name == "class_table" => {
                    fields.extend(self.class_table.as_ref().map(lines_of_table));
                }
                Some(value) => fields.push(format!("  \"{name}\": {value}")),
            }
        }
        text.push_str(&fields.join(",\n"));
        text.push_str("\n}\n");
        text
    }

    /// Returns what differs, a sentence each: the totals first, then classes, then shards.
    pub fn differences(&self, found: &Expect) -> Vec<Message> {
        let mut lines = Vec::new();
        if let (Some(expected), Some(found)) = (self.samples, found.samples)
            && expected != found
        {
            lines.push(format!("samples: {}", numbers(expected, found)));
        }
        counts("part", &self.extensions, &found.extensions, &mut lines);
        counts("class", &self.classes, &found.classes, &mut lines);
        if let Some(table) = &self.class_table {
            tables::classes(Some(table), found.class_table.as_ref(), NAMES, &mut lines);
        }
        if let Some(columns) = &self.columns {
            let none = BTreeMap::new();
            let found = found.columns.as_ref().unwrap_or(&none);
            tables::of_maps("column", columns, found, NAMES, &mut lines);
        }
        let mut messages: Vec<Message> = lines.drain(..).map(Message::words).collect();
        let is_same_content = self.content == found.content;
        match (&self.content, &found.content) {
            (Some(expected), Some(found)) if expected != found => messages.push(message!("content: the samples are others: {expected} is expected, {found} is found; `{diff}` lists them"; diff = Call::of(Task::Diff))),
            (Some(_), None) => messages.push(message!("content: it can't be compared: {unknown}"; unknown = unknown())),
            _ => {}
        }
        if let (Some(expected), Some(found)) = (&self.shards, &found.shards) {
            shards(expected, found, self.content.is_some() && is_same_content, &mut lines);
        }
        messages.extend(lines.into_iter().map(Message::words));
        messages
    }
}

/// Returns true if some class has samples.
fn has_class(classes: &BTreeMap<String, u64>) -> bool {
    classes.keys().any(|class| class != NO_CLASS)
}

/// Returns a text as JSON.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns a class table with each name on a line, in the order of ids.
fn lines_of_table(table: &ExpectedClasses) -> String {
    let names = table.names.iter().map(|(id, name)| format!("      \"{id}\": {}", quoted(name)));
    let names: Vec<String> = names.collect();
    format!(
        "  \"class_table\": {{\n    \"pointer\": {},\n    \"names\": {{\n{}\n    }}\n  }}",
        quoted(&table.pointer),
        names.join(",\n")
    )
}

/// Returns a shard as one line, its name first.
fn line_of_shard(shard: &serde_json::Value) -> String {
    let fields: Vec<String> = ["name", "samples", "blake3"]
        .iter()
        .filter_map(|name| Some(format!("\"{name}\": {}", shard.get(*name)?)))
        .collect();
    format!("    {{{}}}", fields.join(", "))
}

fn numbers(expected: u64, found: u64) -> String {
    let change = i128::from(found) - i128::from(expected);
    format!("{} expected, {} found ({change:+})", units::count(expected), units::count(found))
}

fn counts(
    what: &str,
    expected: &Option<BTreeMap<String, u64>>,
    found: &Option<BTreeMap<String, u64>>,
    lines: &mut Vec<String>,
) {
    let Some(expected) = expected else { return };
    let Some(found) = found else { return };
    let names: std::collections::BTreeSet<&String> = expected.keys().chain(found.keys()).collect();
    for name in names {
        let expected = expected.get(name).copied().unwrap_or(0);
        let found = found.get(name).copied().unwrap_or(0);
        if expected != found {
            lines.push(format!("{what} '{name}': {}", numbers(expected, found)));
        }
    }
}

fn by_name(shards: &[ExpectedShard]) -> BTreeMap<&str, &ExpectedShard> {
    shards.iter().map(|shard| (shard.name.as_str(), shard)).collect()
}

fn shards(
    expected: &[ExpectedShard],
    found: &[ExpectedShard],
    is_same_content: bool,
    lines: &mut Vec<String>,
) {
    let before = by_name(expected);
    let after = by_name(found);
    let mut differing = Vec::new();
    for shard in expected {
        match after.get(shard.name.as_str()) {
            None => differing.push(format!("shard '{}': it is gone", shard.name)),
            Some(other) if other.samples != shard.samples => {
                let change = numbers(shard.samples, other.samples);
                differing.push(format!("shard '{}': samples: {change}", shard.name));
            }
            Some(other) if shard.blake3.is_some() && other.blake3.is_none() => {
                let why = "its bytes can't be compared: its sidecar has no digest";
                differing.push(format!("shard '{}': {why}", shard.name));
            }
            Some(other) if shard.blake3.is_some() && other.blake3 != shard.blake3 => {
                let why = if is_same_content { "; all samples are the same" } else { "" };
                differing.push(format!("shard '{}': its bytes are others{why}", shard.name));
            }
            Some(_) => {}
        }
    }
    let new = found.iter().filter(|shard| !before.contains_key(shard.name.as_str()));
    differing.extend(new.map(|shard| format!("shard '{}': it is new", shard.name)));
    let names = expected.iter().map(|shard| &shard.name);
    if differing.is_empty() && !names.eq(found.iter().map(|shard| &shard.name)) {
        differing.push("shards: they are in another order".into());
    }
    let more = differing.len().saturating_sub(LISTED);
    differing.truncate(LISTED);
    lines.append(&mut differing);
    if more > 0 {
        lines.push(format!("{more} more shards differ"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(found: &Expect) -> Vec<String> {
        expect().differences(found).iter().map(Message::text).collect()
    }

    fn shard(name: &str, samples: u64, digest: &str) -> ExpectedShard {
        ExpectedShard { name: name.into(), samples, blake3: Some(digest.into()) }
    }

    fn expect() -> Expect {
        Expect::new(Expect {
            samples: Some(20),
            content: Some("ab".into()),
            extensions: Some([("jpg".to_string(), 20)].into()),
            class: Some("json:/label".into()),
            classes: Some([("cat \"x\"".to_string(), 8), ("dog".to_string(), 12)].into()),
            class_table: Some(ExpectedClasses {
                pointer: "/label".into(),
                names: [(0, "cat \"x\"".to_string()), (10, "dog".to_string())].into(),
            }),
            columns: Some([("/label".to_string(), "int64".to_string())].into()),
            shards: Some(vec![shard("a.tar", 10, "11"), shard("b.tar", 10, "22")]),
            ..Expect::default()
        })
    }

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let text = expect().to_json();
        assert_eq!(Expect::from_json(text.as_bytes()).unwrap(), expect());
        assert_eq!(text.lines().filter(|line| line.contains(".tar")).count(), 2, "{text}");
        assert!(
            Expect::from_json(b"{\"format\": \"x\"}")
                .unwrap_err()
                .text()
                .contains("tarflume-expect")
        );
        for (fields, why) in [
            ("\"smaples\": 3", "smaples"),
            ("\"classes\": {\"cat\": 3}", "'classes' without 'class'"),
            ("\"class\": \"cls\", \"samples\": 3", "'class' without 'classes'"),
            ("\"class\": \"cls\", \"classes\": {\"(none)\": 3}", "lists no class"),
        ] {
            let text = format!("{{\"format\": \"tarflume-expect\", {fields}}}");
            let error = Expect::from_json(text.as_bytes()).unwrap_err();
            assert!(error.text().contains(why), "{text}: {error:?}");
        }
        let empty = Expect::from_json(b"{\"format\": \"tarflume-expect\"}").unwrap_err();
        assert!(empty.text().contains("nothing that could be compared"), "{empty:?}");
    }

    #[test]
    fn differences_are_sentences_and_absent_fields_are_not_compared() {
        assert!(expect().differences(&expect()).is_empty());
        let mut found = expect();
        found.samples = Some(19);
        found.content = Some("cd".into());
        found.classes = Some([("dog".to_string(), 12), ("cow".to_string(), 7)].into());
        found.shards = Some(vec![shard("a.tar", 10, "33"), shard("c.tar", 9, "44")]);
        let lines = told(&found);
        assert_eq!(
            lines,
            [
                "samples: 20 expected, 19 found (-1)",
                "class 'cat \"x\"': 8 expected, 0 found (-8)",
                "class 'cow': 0 expected, 7 found (+7)",
                "content: the samples are others: ab is expected, cd is found; `pack diff` lists them",
                "shard 'a.tar': its bytes are others",
                "shard 'b.tar': it is gone",
                "shard 'c.tar': it is new",
            ]
        );
        let table = ExpectedClasses { pointer: "/label".into(), names: BTreeMap::new() };
        found = Expect { class_table: Some(table), columns: None, ..expect() };
        assert_eq!(
            told(&found),
            [
                "name of class '0': 'cat \"x\"' expected, none found",
                "name of class '10': 'dog' expected, none found",
                "column '/label': 'int64' expected, none found",
            ]
        );
        found.samples = Some(19);
        let totals = Expect::new(Expect { samples: Some(20), ..Expect::default() });
        assert_eq!(totals.differences(&found).len(), 1);
    }

    #[test]
    fn bytes_without_checksums_are_never_taken_for_the_same() {
        let mut found = expect();
        found.content = None;
        found.shards.as_mut().unwrap()[1].blake3 = None;
        let lines = told(&found);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].contains("content: it can't be compared"), "{lines:?}");
        assert!(lines[1].starts_with("shard 'b.tar': its bytes can't be compared"), "{lines:?}");
        assert!(found.is_complete().unwrap_err().text().contains("pack index --force"));
        assert_eq!(expect().is_complete(), Ok(()));
        let nowhere = Expect { classes: Some([(NO_CLASS.to_string(), 20)].into()), ..expect() };
        assert!(
            nowhere
                .is_complete()
                .unwrap_err()
                .text()
                .contains("no sample has a class at json:/label")
        );
        let mixed = Expect { tables_differ: true, ..expect() };
        assert!(mixed.is_complete().unwrap_err().text().contains("a file for each"));
    }

    #[test]
    fn shards_of_equal_samples_with_other_bytes_are_told_apart() {
        let mut found = expect();
        found.shards = Some(vec![shard("b.tar", 10, "22"), shard("a.tar", 10, "11")]);
        assert_eq!(told(&found), ["shards: they are in another order"]);
        found.shards = Some(vec![shard("a.tar", 10, "99"), shard("b.tar", 10, "22")]);
        assert!(told(&found)[0].ends_with("all samples are the same"));
    }
}
