//! `ClassNames`: compares the names of classes in samples with the class table of the manifest.
//!
//! `--label` and `--voc` write the name of a class beside its id. If the table was edited, each sample of the class
//! differs, so a shard has one problem for each id and name.

use std::collections::BTreeMap;
use std::path::Path;

use tarflume_base::{Problem, ProblemKind, units};
use tarflume_formats::json::{JsonRules, Value, parse};
use tarflume_formats::tar::Member;
use tarflume_formats::{ClassTable, name};

/// The part with the class.
const EXT: &[u8] = b"json";
/// The field of ids that has a field of names beside it.
const CLASS: &str = "/class";
/// Different pairs of id and name that a shard keeps.
const MOST: usize = 1000;

/// The names of a shard's samples that are not those of the table.
#[derive(Debug)]
pub(in crate::verify) struct ClassNames<'a> {
    table: &'a ClassTable,
    json: JsonRules,
    differing: BTreeMap<(i64, String), Differing>,
}

/// Samples with an id and a name that the table does not give it.
#[derive(Debug)]
struct Differing {
    samples: u64,
    first: Problem,
}

impl<'a> ClassNames<'a> {
    /// Begins a shard; `None` if the table is not about a field that has names beside it.
    pub(in crate::verify) fn new(
        table: Option<&'a ClassTable>,
        json: JsonRules,
    ) -> Option<ClassNames<'a>> {
        let table = table.filter(|table| table.pointer.ends_with(CLASS))?;
        Some(ClassNames { table, json, differing: BTreeMap::new() })
    }

    /// Returns true if parts with this extension have the class.
    pub(in crate::verify) fn are_in(&self, ext: &[u8]) -> bool {
        ext == EXT
    }

    /// Compares the classes of a part.
    pub(in crate::verify) fn take(&mut self, tar: &Path, member: &Member, key: &[u8], part: &[u8]) {
        let Ok(json) = parse(part, self.json) else { return };
        let names = format!("{}_name", self.table.pointer);
        let Some(ids) = json.pointer(&self.table.pointer) else { return };
        let Some(names) = json.pointer(&names) else { return };
        let mut seen = Vec::new();
        for (id, name) in pairs(ids, names) {
            if self.table.name(id) == Some(name) || seen.contains(&(id, name)) {
                continue;
            }
            seen.push((id, name));
            let is_new = !self.differing.contains_key(&(id, name.to_string()));
            if is_new && self.differing.len() >= MOST {
                continue;
            }
            let differing =
                self.differing.entry((id, name.to_string())).or_insert_with(|| Differing {
                    samples: 0,
                    first: Problem::new(ProblemKind::ClassName, tar.display().to_string(), "")
                        .at(member.data)
                        .of(name::shown(key)),
                });
            differing.samples += 1;
        }
    }

    /// Returns a problem for each id and name.
    pub(in crate::verify) fn problems(self) -> Vec<Problem> {
        let table = self.table;
        self.differing
            .into_iter()
            .map(|((id, found), differing)| differing.problem(id, &found, table.name(id)))
            .collect()
    }
}

impl Differing {
    /// Returns the problem of the class `id`, which the samples call `found` and the manifest `listed`.
    fn problem(self, id: i64, found: &str, listed: Option<&str>) -> Problem {
        let reason = format!(
            "class {id} is '{}' here, {} in dataset.json{}; restore dataset.json from a copy, or pack the \
             samples again",
            name::shown(found.as_bytes()),
            match listed {
                Some(name) => format!("'{}'", name::shown(name.as_bytes())),
                None => "and not listed".into(),
            },
            match self.samples - 1 {
                0 => String::new(),
                more => {
                    let more = units::counted(more, "other sample", "other samples");
                    format!(" ({more} of this shard, too)")
                }
            }
        );
        Problem { reason: reason.into(), ..self.first }
    }
}

/// Returns ids with their names: of one class, or of two lists of equal length.
fn pairs<'v>(ids: &'v Value, names: &'v Value) -> Vec<(i64, &'v str)> {
    match (ids, names) {
        (Value::Array(ids), Value::Array(names)) if ids.len() == names.len() => {
            ids.iter().zip(names).filter_map(|(id, name)| pair(id, name)).collect()
        }
        _ => pair(ids, names).into_iter().collect(),
    }
}

fn pair<'v>(id: &Value, name: &'v Value) -> Option<(i64, &'v str)> {
    match (id, name) {
        (Value::Number(id), Value::String(name)) => Some((id.parse().ok()?, name)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use tarflume_formats::tar::MemberKind;

    use super::*;

    fn problems(pointer: &str, parts: &[&str]) -> Vec<String> {
        let names = vec!["cat".to_string(), "dog".to_string()];
        let table =
            ClassTable { pointer: pointer.into(), names, ids: vec![3, 7], ..ClassTable::default() };
        let Some(mut found) = ClassNames::new(Some(&table), JsonRules::Strict) else {
            return Vec::new();
        };
        let member =
            Member { name: Vec::new(), kind: MemberKind::File, first: 0, data: 512, size: 9 };
        for (n, part) in parts.iter().enumerate() {
            found.take(Path::new("a.tar"), &member, format!("k{n}").as_bytes(), part.as_bytes());
        }
        found.problems().into_iter().map(|problem| problem.to_string()).collect()
    }

    #[test]
    fn each_id_with_another_name_is_one_problem_of_its_first_sample() {
        let good = [
            r#"{"class": 3, "class_name": "cat"}"#,
            r#"{"class": [3, 7, 3], "class_name": ["cat", "dog", "cat"]}"#,
            r#"{"class": 3}"#,
            r#"{"class": 3, "class_name": null}"#,
            r#"{"class": [3], "class_name": "the name of all"}"#,
            "no JSON",
        ];
        assert!(problems("/class", &good).is_empty());
        let bad = [
            good[0],
            r#"{"class": 3, "class_name": "dog"}"#,
            r#"{"class": [3, 3, 9], "class_name": ["dog", "dog", "cow"]}"#,
        ];
        let found = problems("/class", &bad);
        assert_eq!(found.len(), 2, "{found:?}");
        let texts = [
            "class-name: a.tar: byte 512: key k1: class 3 is 'dog' here, 'cat' in dataset.json (1 other sample of",
            "class-name: a.tar: byte 512: key k2: class 9 is 'cow' here, and not listed in dataset.json; restore",
        ];
        for (found, text) in found.iter().zip(texts) {
            assert!(found.starts_with(text), "{found}");
        }
        // Of COCO, `class_name` would be a field of the user.
        assert!(problems("/category_id", &[r#"{"category_id": 3, "class_name": "x"}"#]).is_empty());
    }
}
