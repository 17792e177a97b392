//! `ExpectedTables`: the classes and columns of a data set that a file pins, and what differs from them. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tarflume_formats::{About, ClassTable, Column};

/// Differences that are listed.
const LISTED: usize = 20;

/// The words of a report for the two descriptions that are compared.
#[derive(Debug, Clone, Copy)]
pub struct SideNames {
    /// The word for the first one, such as `expected`.
    pub expected: &'static str,
    /// The word for the second one, such as `found`.
    pub found: &'static str,
}

/// The classes of a data set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedClasses {
    /// JSON pointer to the id in a sample's JSON.
    pub pointer: String,
    /// Names by id.
    pub names: BTreeMap<i64, String>,
}

/// What the manifests of a verification state about samples.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ExpectedTables {
    /// The classes; `None` if there are none, or if the manifests differ.
    pub(crate) classes: Option<ExpectedClasses>,
    /// The types of columns by name; `None` likewise.
    pub(crate) columns: Option<BTreeMap<String, String>>,
    /// True if the manifests do not state the same.
    pub(crate) differ: bool,
}

impl ExpectedTables {
    /// Returns the tables that all these manifests have.
    pub(crate) fn shared(abouts: &[About]) -> ExpectedTables {
        let Some((first, others)) = abouts.split_first() else { return ExpectedTables::default() };
        let tables = ExpectedTables::of(first);
        if others.iter().all(|other| ExpectedTables::of(other) == tables) {
            tables
        } else {
            ExpectedTables { differ: true, ..ExpectedTables::default() }
        }
    }

    fn of(about: &About) -> ExpectedTables {
        let columns: BTreeMap<String, String> =
            about.columns.iter().map(|column| (column.name.clone(), type_of(column))).collect();
        ExpectedTables {
            classes: about.classes.as_ref().map(ExpectedClasses::of),
            columns: (!columns.is_empty()).then_some(columns),
            differ: false,
        }
    }

    /// Returns what differs between two descriptions of samples, a sentence each.
    pub fn differences(expected: &About, found: &About, names: SideNames) -> Vec<String> {
        let expected = ExpectedTables::of(expected);
        let found = ExpectedTables::of(found);
        let mut lines = Vec::new();
        classes(expected.classes.as_ref(), found.classes.as_ref(), names, &mut lines);
        let left = expected.columns.unwrap_or_default();
        let right = found.columns.unwrap_or_default();
        of_maps("column", &left, &right, names, &mut lines);
        lines
    }
}

impl ExpectedClasses {
    fn of(table: &ClassTable) -> ExpectedClasses {
        let names = table.names.iter().enumerate();
        let names = names.map(|(position, name)| (table.id(position), name.clone())).collect();
        ExpectedClasses { pointer: table.pointer.clone(), names }
    }
}

/// Returns the type of a column as text: `int64`, `float32[3,4]`, `string, nullable`.
fn type_of(column: &Column) -> String {
    let mut text = column.kind.clone();
    if let Some(shape) = &column.shape {
        let lengths: Vec<String> = shape.iter().map(u64::to_string).collect();
        text.push_str(&format!("[{}]", lengths.join(",")));
    }
    if column.nullable {
        text.push_str(", nullable");
    }
    text
}

/// Adds what differs between two class tables.
pub(super) fn classes(
    expected: Option<&ExpectedClasses>,
    found: Option<&ExpectedClasses>,
    names: SideNames,
    lines: &mut Vec<String>,
) {
    let none = ExpectedClasses::default();
    if expected.map(|table| &table.pointer) != found.map(|table| &table.pointer) {
        let before = quoted(expected.map(|table| &table.pointer));
        let after = quoted(found.map(|table| &table.pointer));
        lines.push(format!("field of the class: {}", both(&before, &after, names)));
    }
    let expected = &expected.unwrap_or(&none).names;
    let found = &found.unwrap_or(&none).names;
    of_maps("name of class", expected, found, names, lines);
}

/// Adds what differs between two maps of texts.
pub(super) fn of_maps<K: Ord + ToString>(
    what: &str,
    expected: &BTreeMap<K, String>,
    found: &BTreeMap<K, String>,
    names: SideNames,
    lines: &mut Vec<String>,
) {
    let keys: BTreeSet<&K> = expected.keys().chain(found.keys()).collect();
    let differing = keys.into_iter().filter(|key| expected.get(key) != found.get(key));
    let mut differing: Vec<String> = differing
        .map(|key| {
            let before = quoted(expected.get(key));
            let after = quoted(found.get(key));
            format!("{what} '{}': {}", key.to_string(), both(&before, &after, names))
        })
        .collect();
    let more = differing.len().saturating_sub(LISTED);
    differing.truncate(LISTED);
    lines.append(&mut differing);
    if more > 0 {
        lines.push(format!("{what}: {more} more differ"));
    }
}

/// Returns a text in quotes, or `none`.
fn quoted(text: Option<&String>) -> String {
    text.map_or("none".into(), |text| format!("'{text}'"))
}

fn both(before: &str, after: &str, names: SideNames) -> String {
    format!("{before} {}, {after} {}", names.expected, names.found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: SideNames = SideNames { expected: "expected", found: "found" };

    fn column(name: &str, kind: &str, shape: Option<Vec<u64>>) -> Column {
        Column {
            name: name.into(),
            kind: kind.into(),
            nullable: shape.is_none(),
            shape,
            items: None,
        }
    }

    fn about(names: &[&str], width: &str) -> About {
        let names = names.iter().map(|name| name.to_string()).collect();
        About {
            classes: Some(ClassTable { pointer: "/class".into(), names, ..ClassTable::default() }),
            columns: vec![
                column("/width", width, None),
                column("x.raw", "float32", Some(vec![3, 4])),
            ],
            ..About::default()
        }
    }

    #[test]
    fn exchanged_names_and_other_types_are_found() {
        fn lines(found: &About) -> Vec<String> {
            let expected = about(&["cat", "dog"], "int64");
            ExpectedTables::differences(&expected, found, NAMES)
        }
        assert!(lines(&about(&["cat", "dog"], "int64")).is_empty());
        assert_eq!(
            lines(&about(&["dog", "cat"], "string")),
            [
                "name of class '0': 'cat' expected, 'dog' found",
                "name of class '1': 'dog' expected, 'cat' found",
                "column '/width': 'int64, nullable' expected, 'string, nullable' found",
            ]
        );
        assert_eq!(
            lines(&About::default()),
            [
                "field of the class: '/class' expected, none found",
                "name of class '0': 'cat' expected, none found",
                "name of class '1': 'dog' expected, none found",
                "column '/width': 'int64, nullable' expected, none found",
                "column 'x.raw': 'float32[3,4]' expected, none found",
            ]
        );
    }

    #[test]
    fn manifests_that_differ_pin_nothing_and_say_so() {
        let same = about(&["cat"], "int64");
        let shared = ExpectedTables::shared(&[same.clone(), same.clone()]);
        assert_eq!(shared.classes.unwrap().names, [(0, "cat".to_string())].into());
        assert!(ExpectedTables::shared(&[same, about(&["dog"], "int64")]).differ);
        assert_eq!(ExpectedTables::shared(&[]), ExpectedTables::default());
    }

    #[test]
    fn many_differences_are_counted() {
        let names: Vec<String> = (0..50).map(|n| n.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let lines = ExpectedTables::differences(&about(&names, "bool"), &about(&[], "bool"), NAMES);
        assert_eq!((lines.len(), lines[LISTED].as_str()), (21, "name of class: 30 more differ"));
    }
}
