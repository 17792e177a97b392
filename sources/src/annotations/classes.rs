//! The classes of a data set that gets more samples: ids and names stay, new ones follow. Pure.

use std::collections::{BTreeMap, BTreeSet};

use tarflume_formats::{About, ClassTable, name};

/// Returns the classes of a data set, if they have this pointer: others are those of labels.
pub(super) fn before<'a>(about: &'a About, pointer: &str) -> Option<&'a ClassTable> {
    about.classes.as_ref().filter(|table| table.pointer == pointer)
}

/// Returns the classes of `before` and of `found`, in the order of ids.
///
/// # Errors
/// Returns the reason if an id has another name than before, or a name another id, and if a new id is
/// less than one before: the samples have the positions of classes, too, which would change.
pub(super) fn joined(
    before: Option<&ClassTable>,
    found: &[(i64, String)],
) -> Result<Vec<(i64, String)>, String> {
    let Some(before) = before else { return Ok(found.to_vec()) };
    let numbered = before.names.iter().enumerate().map(|(n, name)| (before.id(n), name.clone()));
    let mut all: BTreeMap<i64, String> = numbered.collect();
    let ids: BTreeMap<&str, i64> =
        before.names.iter().enumerate().map(|(n, name)| (name.as_str(), before.id(n))).collect();
    let last = all.last_key_value().map(|(id, _)| *id);
    for (id, name) in found {
        match (all.get(id), ids.get(name.as_str())) {
            (Some(old), _) if old == name => {}
            (Some(old), _) => {
                return Err(format!(
                    "class {id} is '{}' here and '{}' in the data set; give new classes new ids",
                    shown(name),
                    shown(old)
                ));
            }
            (None, Some(old)) => {
                return Err(format!(
                    "class '{}' has the id {id} here and {old} in the data set; give it that id",
                    shown(name)
                ));
            }
            (None, None) => {
                if let Some(last) = last.filter(|last| id < last) {
                    return Err(format!(
                        "class {id} '{}' is new, and its id is less than {last} of the data set, so that \
                         the positions of classes in packed samples would change; give it an id above",
                        shown(name)
                    ));
                }
                all.insert(*id, name.clone());
            }
        }
    }
    Ok(all.into_iter().collect())
}

/// Returns the table of the classes `known`, and of others behind them.
pub(super) fn grown(
    known: Option<&ClassTable>,
    mut found: BTreeSet<String>,
    pointer: &str,
) -> ClassTable {
    let mut table = known.cloned().unwrap_or_default();
    table.pointer = pointer.into();
    let known: BTreeSet<&str> = table.names.iter().map(String::as_str).collect();
    found.retain(|name| !known.contains(name.as_str()));
    if !table.ids.is_empty() {
        let next = table.ids.iter().max().map_or(0, |last| last.saturating_add(1));
        table.ids.extend(found.iter().zip(next..).map(|(_, id)| id));
    }
    table.names.extend(found);
    if !table.details.is_empty() {
        table.details.resize(table.names.len(), BTreeMap::new());
    }
    table
}

fn shown(name: &str) -> String {
    name::shown(name.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(id: i64, name: &str) -> (i64, String) {
        (id, name.to_string())
    }

    #[test]
    fn ids_and_names_stay_and_new_classes_follow() {
        let table = ClassTable {
            pointer: "/class".into(),
            names: vec!["cat".into(), "dog".into()],
            ids: vec![3, 17],
            ..ClassTable::default()
        };
        let all = [pair(3, "cat"), pair(17, "dog"), pair(18, "yak")];
        let more = [pair(18, "yak"), pair(17, "dog")];
        assert_eq!(joined(Some(&table), &more).unwrap(), all);
        assert_eq!(joined(Some(&table), &[]).unwrap(), all[..2]);
        for (other, reason) in [
            (pair(3, "dog"), "class 3 is 'dog' here and 'cat'"),
            (pair(20, "cat"), "has the id 20 here and 3"),
            (pair(4, "yak"), "less than 17"),
        ] {
            assert!(joined(Some(&table), &[other]).unwrap_err().contains(reason), "{reason}");
        }
        assert_eq!(joined(None, &[pair(4, "yak")]).unwrap(), [pair(4, "yak")]);
        let about = About { classes: Some(table), ..About::default() };
        assert!(before(&about, "/class").is_some() && before(&about, "/category_id").is_none());
    }
}
