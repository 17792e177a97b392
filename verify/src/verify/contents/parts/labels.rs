//! `Labels`: samples whose class is null, negative or not in the class table of the manifest.

use std::path::Path;

use tarflume_base::{Problem, ProblemKind, units};
use tarflume_formats::ClassTable;
use tarflume_formats::json::{JsonRules, Pointer, Value, find, parse};

use super::found::FoundPart;
use super::tally::Tally;

/// The classes of a shard's samples.
#[derive(Debug)]
pub(super) struct Labels<'a> {
    table: &'a ClassTable,
    pointer: Pointer,
    rules: JsonRules,
    tally: Tally,
    /// The class of the first sample.
    first: Option<String>,
}

impl<'a> Labels<'a> {
    /// Begins a shard; `None` if the table names no field.
    pub(super) fn new(table: &'a ClassTable, rules: JsonRules) -> Option<Labels<'a>> {
        let pointer = Pointer::parse(&table.pointer).ok()?;
        Some(Labels { table, pointer, rules, tally: Tally::default(), first: None })
    }

    /// Looks at the class of a part.
    pub(super) fn take(&mut self, part: FoundPart<'_>) {
        let class = match part.ext {
            b"json" => self.in_json(part.data),
            b"cls" => self.in_text(part.data),
            _ => None,
        };
        let Some(class) = class else { return };
        self.first.get_or_insert(class);
        self.tally.add(part.key, part.at);
    }

    /// Returns the class of a JSON that is not listed.
    fn in_json(&self, bytes: &[u8]) -> Option<String> {
        let place = find(bytes, &self.pointer, self.rules).ok()??;
        let value = parse(&bytes[place], self.rules).ok()?;
        match &value {
            Value::Array(values) => values.iter().find_map(|value| self.unlisted(value)),
            value => self.unlisted(value),
        }
    }

    fn in_text(&self, bytes: &[u8]) -> Option<String> {
        let id: i64 = std::str::from_utf8(bytes).ok()?.trim().parse().ok()?;
        self.table.name(id).is_none().then(|| id.to_string())
    }

    /// Returns a class that is not listed, as text. Names are compared elsewhere.
    fn unlisted(&self, value: &Value) -> Option<String> {
        match value {
            Value::Null => Some("null".into()),
            Value::Number(text) => {
                let id: i64 = text.parse().ok()?;
                self.table.name(id).is_none().then(|| text.to_string())
            }
            _ => None,
        }
    }

    /// Returns a warning about them.
    pub(super) fn warning(&self, tar: &Path) -> Option<Problem> {
        let class = self.first.as_ref()?;
        let classes = units::counted(self.table.names.len() as u64, "class", "classes");
        let what = format!("the class {class} is none of the {classes} in dataset.json");
        self.tally.warning(ProblemKind::UnlistedClass, tar, &what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unlisted(ids: &[i64], ext: &[u8], data: &[u8]) -> Option<String> {
        let table = ClassTable {
            pointer: "/class".into(),
            names: vec!["cat".into(), "dog".into()],
            ids: ids.to_vec(),
            ..ClassTable::default()
        };
        let mut labels = Labels::new(&table, JsonRules::Strict).unwrap();
        labels.take(FoundPart { key: b"k", ext, at: 512, data });
        labels.warning(Path::new("a.tar")).map(|problem| problem.reason.text())
    }

    #[test]
    fn classes_that_are_not_listed_are_found() {
        for good in [&b"{\"class\": 1}"[..], b"{\"class\": [0, 1]}", b"{}", b"{\"class\": \"cat\"}"]
        {
            assert_eq!(unlisted(&[], b"json", good), None);
        }
        for (bad, class) in [
            (&b"{\"class\": 2}"[..], "2"),
            (b"{\"class\": -1}", "-1"),
            (b"{\"class\": null}", "null"),
            (b"{\"class\": [0, 9]}", "9"),
        ] {
            let text = format!("the class {class} is none of the 2 classes in dataset.json");
            assert_eq!(unlisted(&[], b"json", bad), Some(text));
        }
        assert_eq!(unlisted(&[3, 7], b"json", b"{\"class\": 7}"), None);
        assert!(unlisted(&[3, 7], b"json", b"{\"class\": 1}").is_some());
        assert!(unlisted(&[], b"cls", b"5\n").is_some() && unlisted(&[], b"cls", b"0").is_none());
    }
}
