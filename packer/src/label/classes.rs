//! `Classes`: names and ids of classes, from folders, from a file of `--classes`, or from a data set.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;
use tarflume_base::Failure;
use tarflume_formats::ClassTable;
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_formats::{Manifest, files, manifest, name};

/// The pointer of the class table: the field that a label adds to the JSON.
const POINTER: &str = "/class";

/// The classes that have ids before the folders are scanned.
#[derive(Debug, Clone, Default)]
pub(crate) enum ClassList {
    /// None: the folders, sorted by the bytes of their names, are 0, 1, 2 and so on.
    #[default]
    Folders,
    /// These and no others.
    Fixed(ClassTable),
    /// These; other folders, sorted by the bytes of their names, get the ids after the last.
    Grows(ClassTable),
}

impl ClassList {
    /// Returns the table, if no other classes are possible.
    pub(crate) fn into_fixed(self) -> Option<ClassTable> {
        match self {
            ClassList::Fixed(table) => Some(table),
            ClassList::Folders | ClassList::Grows(_) => None,
        }
    }

    /// Reads a file of `--classes`: a name on each line (or a JSON list), whose ids are 0, 1, 2 and so
    /// on; a JSON object of names with ids; or a `dataset.json` with classes.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or is none of these, if a name or id is repeated,
    /// and if there is no name.
    pub(crate) fn read(path: &Path) -> Result<ClassList, Failure> {
        let bytes = files::read_whole(path, "read the classes")?;
        let text =
            std::str::from_utf8(&bytes).map_err(|_| refused("it is not UTF-8".into(), path))?;
        let pairs = pairs(text).map_err(|text| refused(text, path))?;
        table(pairs).map(ClassList::Fixed).map_err(|text| refused(text, path))
    }
}

fn refused(text: Message, path: &Path) -> Failure {
    Failure::usage(message!("{classes}: {text}"; text = text, classes = Name::Classes.is(path)))
        .with_file(path)
}

/// Returns the names of a file with their ids.
fn pairs(text: &str) -> Result<Vec<(String, i64)>, Message> {
    tarflume_base::json_rules::check_names(text.as_bytes())?;
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(fields))
            if fields.get("format").is_some_and(|f| f == manifest::FORMAT) =>
        {
            let found = Manifest::from_json(text.as_bytes()).map_err(|e| e.message().clone())?;
            let table = found.about.classes.ok_or("this data set has no classes")?;
            let ids: Vec<i64> = (0..table.names.len()).map(|n| table.id(n)).collect();
            Ok(table.names.into_iter().zip(ids).collect())
        }
        Ok(Value::Object(fields)) => {
            let mut pairs = Vec::with_capacity(fields.len());
            for (name, id) in fields {
                let Some(id) = id.as_i64() else {
                    let name = name::shown(name.as_bytes());
                    return Err(message!("the id of '{name}' is not a whole number"));
                };
                pairs.push((name, id));
            }
            Ok(pairs)
        }
        Ok(Value::Array(items)) => {
            let names: Option<Vec<String>> =
                items.iter().map(|item| item.as_str().map(str::to_string)).collect();
            names.map(numbered).ok_or_else(|| "an item of the list is not a string".into())
        }
        // A name may look like another JSON value.
        _ => {
            let lines: Vec<String> = text.lines().map(|line| line.trim().to_string()).collect();
            match lines.iter().position(String::is_empty) {
                Some(line) => Err(message!("line {} is empty; give a name on each line", line + 1)),
                None => Ok(numbered(lines)),
            }
        }
    }
}

/// Returns the names with the ids 0, 1, 2 and so on.
fn numbered(names: Vec<String>) -> Vec<(String, i64)> {
    names.into_iter().zip(0..).collect()
}

/// Returns the table of these names, ordered by id.
fn table(mut pairs: Vec<(String, i64)>) -> Result<ClassTable, Message> {
    if pairs.is_empty() {
        return Err("it has no names; give a name on each line".into());
    }
    pairs.sort_by_key(|(_, id)| *id);
    if let Some(twins) = pairs.windows(2).find(|p| p[0].1 == p[1].1) {
        let shown = |n: usize| name::shown(twins[n].0.as_bytes());
        return Err(message!("'{}' and '{}' both have the id {}", shown(0), shown(1), twins[0].1));
    }
    let mut seen = BTreeSet::new();
    if let Some((twice, _)) = pairs.iter().find(|(name, _)| !seen.insert(name.as_str())) {
        return Err(message!("'{}' is listed twice", name::shown(twice.as_bytes())));
    }
    Ok(of_pairs(pairs))
}

/// Returns the table of different names with ascending ids.
fn of_pairs(pairs: Vec<(String, i64)>) -> ClassTable {
    let dense = pairs.iter().zip(0..).all(|((_, id), place)| *id == place);
    let ids = if dense { Vec::new() } else { pairs.iter().map(|(_, id)| *id).collect() };
    let names = pairs.into_iter().map(|(name, _)| name).collect();
    ClassTable { pointer: POINTER.into(), names, ids, ..ClassTable::default() }
}

/// Returns the ids of a table by name.
fn ids_of(table: &ClassTable) -> BTreeMap<String, i64> {
    let names = table.names.iter().enumerate();
    names.map(|(place, name)| (name.clone(), table.id(place))).collect()
}

/// Names with their ids.
#[derive(Debug)]
pub(super) struct Classes(BTreeMap<String, i64>);

impl Classes {
    /// Gives ids to `folders`, unless the list is fixed.
    pub(super) fn of(list: &ClassList, folders: &BTreeSet<String>) -> Classes {
        let mut ids = match list {
            ClassList::Folders => BTreeMap::new(),
            ClassList::Fixed(table) => return Classes(ids_of(table)),
            ClassList::Grows(table) => ids_of(table),
        };
        let mut next = ids.values().max().map_or(0, |last| last.saturating_add(1));
        for folder in folders {
            if !ids.contains_key(folder) {
                ids.insert(folder.clone(), next);
                next = next.saturating_add(1);
            }
        }
        Classes(ids)
    }

    pub(super) fn id(&self, name: &str) -> Option<i64> {
        self.0.get(name).copied()
    }

    pub(super) fn into_table(self) -> ClassTable {
        let mut pairs: Vec<(String, i64)> = self.0.into_iter().collect();
        pairs.sort_by_key(|(_, id)| *id);
        of_pairs(pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ClassTable, Message> {
        pairs(text).and_then(table)
    }

    fn folders(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_list_of_names_is_numbered_and_an_object_has_its_ids() {
        for same in ["dog\ncat\n", "dog\r\ncat", "[\"dog\", \"cat\"]", "{\"cat\": 1, \"dog\": 0}"] {
            let table = read(same).unwrap();
            assert_eq!(
                (table.names, table.ids),
                (vec!["dog".into(), "cat".into()], vec![]),
                "{same}"
            );
        }
        let gaps = read("{\"cat\": 17, \"dog\": 3}").unwrap();
        assert_eq!((gaps.names, gaps.ids), (vec!["dog".into(), "cat".into()], vec![3, 17]));
        assert_eq!(read("1\n2\n").unwrap().names, ["1", "2"]);
    }

    #[test]
    fn what_is_no_list_of_names_is_refused() {
        for (text, why) in [
            ("", "no names"),
            ("cat\n\ndog\n", "line 2 is empty"),
            ("cat\ndog\ncat\n", "'cat' is listed twice"),
            ("{\"cat\": 1, \"dog\": 1}", "both have the id 1"),
            ("{\"cat\": \"1\"}", "not a whole number"),
            ("[\"cat\", 1]", "not a string"),
        ] {
            let refused = read(text).unwrap_err();
            assert!(refused.text().contains(why), "{text}: {refused:?}");
        }
    }

    #[test]
    fn folders_are_sorted_by_bytes_and_new_ones_follow_the_old() {
        let first = Classes::of(&ClassList::Folders, &folders(&["b", "B", "a"])).into_table();
        assert_eq!(
            (&first.names[..], first.ids.len()),
            (&["B".into(), "a".into(), "b".into()][..], 0)
        );
        let more = Classes::of(&ClassList::Grows(first.clone()), &folders(&["A", "a", "c"]));
        assert_eq!((more.id("b"), more.id("A"), more.id("c")), (Some(2), Some(3), Some(4)));
        assert_eq!(more.into_table().names, ["B", "a", "b", "A", "c"]);
        let fixed = Classes::of(&ClassList::Fixed(first.clone()), &folders(&["new"]));
        assert_eq!((fixed.id("new"), fixed.into_table()), (None, first));
    }
}
