//! `About`: the classes and columns of a data set's samples, as plan and manifest hold them.
//!
//! Pure data; describes JSON and arrays and reads none.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};

use super::objects::ObjectTable;

/// The description of a data set's samples.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The classes, if samples have labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<ClassTable>,
    /// The values of the samples' JSON and arrays, in the order of the source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<Column>,
    /// What the numbers of objects mean, if annotations were joined to the samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objects: Option<ObjectTable>,
}

impl About {
    /// Returns true if nothing is described.
    pub fn is_empty(&self) -> bool {
        *self == About::default()
    }
}

/// The classes of a data set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassTable {
    /// JSON pointer to the class id in a sample's JSON: `/class`.
    pub pointer: String,
    /// Names, in the order of ids.
    pub names: Vec<String>,
    /// The ids, ascending; absent if they are 0, 1, 2 and so on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<i64>,
    /// What the source states about each class beside id and name, in the order of the names; absent if nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<BTreeMap<String, serde_json::Value>>,
}

impl ClassTable {
    /// The JSON pointer to the name of the class, beside its id, in a sample that was labeled by its folder.
    pub const NAME_POINTER: &str = "/class_name";

    /// Returns true if both give the same names the same ids at the same place.
    pub fn is_numbered_as(&self, other: &ClassTable) -> bool {
        (&self.pointer, &self.names, &self.ids) == (&other.pointer, &other.names, &other.ids)
    }

    /// Returns each name with its id; `None` if two classes have the same name.
    pub fn numbers(&self) -> Option<Vec<(&str, i64)>> {
        let numbers = self.names.iter().enumerate().map(|(at, name)| (name.as_str(), self.id(at)));
        let numbers: Vec<(&str, i64)> = numbers.collect();
        let different: HashSet<&str> = numbers.iter().map(|(name, _)| *name).collect();
        (different.len() == numbers.len()).then_some(numbers)
    }

    /// Returns the id of the class with this position.
    pub fn id(&self, position: usize) -> i64 {
        self.ids.get(position).copied().unwrap_or(position as i64)
    }

    /// Returns the name of the class with this id.
    pub fn name(&self, id: i64) -> Option<&str> {
        let position = if self.ids.is_empty() {
            usize::try_from(id).ok()?
        } else {
            self.ids.binary_search(&id).ok()?
        };
        self.names.get(position).map(String::as_str)
    }
}

/// A value that samples have: a field of their JSON, or an array.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// A JSON pointer (`/width`), or the extension of an array part (`x.raw`).
    pub name: String,
    /// `bool`, `int64`, `uint64`, `float32`, `float64`, `string`, `list`, `object`: the type as which a value reads back
    /// the same; for an array, numpy's name of its type, or `bfloat16`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The shape of one sample's array; absent for fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Vec<u64>>,
    /// Whether samples can lack it; absent if none does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nullable: bool,
    /// The type of the elements of a list; absent if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_table_maps_ids_with_and_without_gaps() {
        let names = vec!["cat".to_string(), "dog".to_string()];
        let dense = ClassTable { names: names.clone(), ..ClassTable::default() };
        assert_eq!((dense.id(1), dense.name(1), dense.name(2)), (1, Some("dog"), None));
        let gaps = ClassTable { names, ids: vec![3, 17], ..ClassTable::default() };
        assert_eq!((gaps.id(1), gaps.name(17), gaps.name(1)), (17, Some("dog"), None));
        assert_eq!(gaps.name(-1), None);
    }
}
