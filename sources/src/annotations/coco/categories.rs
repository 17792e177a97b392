//! `Categories`: the classes of a COCO file with all that it states about them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use tarflume_formats::{About, ClassTable, KeypointTable};

use crate::annotations::classes;

/// The pointer of the class table: the ids of a sample's categories.
const POINTER: &str = "/category_id";
/// Limit on the categories.
const MAX_CATEGORIES: usize = 1 << 20;
/// Limit on the bytes of what is stated about them beside ids and names.
const MAX_DETAILS: usize = 16 << 20;

/// What a category states beside id and name.
type Details = BTreeMap<String, Value>;

/// The categories in the order of their ids, after [`Categories::sort`].
#[derive(Debug, Default)]
pub(super) struct Categories {
    list: Vec<Category>,
    /// Bytes of the details.
    bytes: usize,
    /// The numbers that a list gives to the categories, by those of the file, if there is one.
    numbers: Option<BTreeMap<i64, i64>>,
}

#[derive(Debug)]
struct Category {
    id: i64,
    name: String,
    details: Details,
}

impl Categories {
    /// Adds a category.
    ///
    /// # Errors
    /// Returns the reason if it has no id or no name, and if there are too many.
    pub(super) fn add(&mut self, mut details: Map<String, Value>) -> Result<(), String> {
        let id = details.remove("id").as_ref().and_then(Value::as_i64);
        let Some((id, Value::String(name))) = id.zip(details.remove("name")) else {
            return Err("a category has no whole number 'id' or no text 'name'".into());
        };
        if self.list.len() == MAX_CATEGORIES {
            return Err(format!("more than {MAX_CATEGORIES} categories"));
        }
        self.bytes +=
            details.iter().map(|(name, value)| name.len() + bytes_of(value)).sum::<usize>();
        if self.bytes > MAX_DETAILS {
            return Err(format!("the categories take more than {} MiB", MAX_DETAILS >> 20));
        }
        self.list.push(Category { id, name, details: details.into_iter().collect() });
        Ok(())
    }

    /// Sorts the categories by id, and takes those of the data set that gets more samples.
    ///
    /// # Errors
    /// Returns the reason if two have one id, and for categories that do not fit the data set.
    pub(super) fn sort(&mut self, before: &About) -> Result<(), String> {
        self.list.sort_by_key(|category| category.id);
        self.check_ids()?;
        let before = classes::before(before, POINTER);
        let own: Vec<(i64, String)> = self.list.iter().map(|c| (c.id, c.name.clone())).collect();
        let all = classes::joined(before, &own)?;
        let mut own = std::mem::take(&mut self.list).into_iter().peekable();
        for (id, name) in all {
            let details = match own.next_if(|category| category.id == id) {
                Some(category) => category.details,
                None => known(before, id),
            };
            self.list.push(Category { id, name, details });
        }
        Ok(())
    }

    fn check_ids(&self) -> Result<(), String> {
        match self.list.windows(2).find(|pair| pair[0].id == pair[1].id) {
            Some(twice) => Err(format!("two categories have the id {}", twice[0].id)),
            None => Ok(()),
        }
    }

    /// Gives the categories the numbers of a list, by their names. A category that is not in the list has none.
    ///
    /// # Errors
    /// Returns the reason if two categories of the file have one id, or one name of the list.
    pub(super) fn renumber(&mut self, listed: &ClassTable) -> Result<(), String> {
        self.list.sort_by_key(|category| category.id);
        self.check_ids()?;
        let ids: BTreeMap<&str, i64> = listed
            .names
            .iter()
            .enumerate()
            .map(|(at, name)| (name.as_str(), listed.id(at)))
            .collect();
        let mut numbers = BTreeMap::new();
        let mut details: BTreeMap<i64, Details> = BTreeMap::new();
        for category in std::mem::take(&mut self.list) {
            let Some(&id) = ids.get(category.name.as_str()) else { continue };
            numbers.insert(category.id, id);
            if details.insert(id, category.details).is_some() {
                return Err(format!("two categories have the name '{}'", category.name));
            }
        }
        for (name, position) in listed.names.iter().zip(0..) {
            let id = listed.id(position);
            let stated = listed.details.get(position);
            let mut all: Details = details.remove(&id).into_iter().flatten().collect();
            all.extend(
                stated.into_iter().flatten().map(|(name, value)| (name.clone(), value.clone())),
            );
            self.list.push(Category { id, name: name.clone(), details: all });
        }
        self.numbers = Some(numbers);
        Ok(())
    }

    /// Returns the number of a category by that of the file; `None` if a list of classes lacks it.
    pub(super) fn number(&self, id: i64) -> Option<i64> {
        match &self.numbers {
            Some(numbers) => numbers.get(&id).copied(),
            None => Some(id),
        }
    }

    /// Returns the position of an id, in the order of ids.
    pub(super) fn position(&self, id: i64) -> Option<usize> {
        self.list.binary_search_by_key(&id, |category| category.id).ok()
    }

    /// Returns the class table; `None` without categories.
    pub(super) fn table(&self) -> Option<ClassTable> {
        if self.list.is_empty() {
            return None;
        }
        let dense = self.list.iter().map(|category| category.id).eq(0..self.list.len() as i64);
        let ids = self.list.iter().map(|category| category.id).filter(|_| !dense).collect();
        let has_details = self.list.iter().any(|category| !category.details.is_empty());
        let details = self.list.iter().filter(|_| has_details);
        Some(ClassTable {
            pointer: POINTER.into(),
            names: self.list.iter().map(|category| category.name.clone()).collect(),
            ids,
            details: details.map(|category| category.details.clone()).collect(),
        })
    }

    /// Returns the keypoints of the categories that have some; `None` if they differ, or if none has any.
    pub(super) fn keypoints(&self) -> Option<KeypointTable> {
        let mut tables = self.list.iter().filter_map(|category| keypoints(&category.details));
        let first = tables.next()?;
        (first.fault().is_none() && tables.all(|table| table == first)).then_some(first)
    }
}

/// Returns what the data set states about a class.
fn known(before: Option<&ClassTable>, id: i64) -> Details {
    let position =
        before.and_then(|table| (0..table.names.len()).find(|&position| table.id(position) == id));
    let details = before.zip(position).and_then(|(table, at)| table.details.get(at));
    details.cloned().unwrap_or_default()
}

/// Returns the keypoints of a category: `keypoints` has the names, `skeleton` pairs of them, counted from 1.
fn keypoints(details: &Details) -> Option<KeypointTable> {
    let names = details.get("keypoints")?.as_array()?.iter().map(Value::as_str);
    let names: Vec<String> = names.map(|name| name.map(str::to_string)).collect::<Option<_>>()?;
    let lines = details.get("skeleton").and_then(Value::as_array);
    let skeleton = lines.map(|lines| lines.iter().map(line).collect::<Option<Vec<[u32; 2]>>>());
    let table = KeypointTable {
        points: names.len() as u32,
        values: 3,
        names,
        skeleton: skeleton.flatten().unwrap_or_default(),
        flip: Vec::new(),
    };
    (table.points > 0).then(|| table.with_flip_of_names())
}

/// Returns a pair of places, counted from 0.
fn line(pair: &Value) -> Option<[u32; 2]> {
    let places = pair.as_array()?.iter().map(|place| {
        let place = place.as_u64()?.checked_sub(1)?;
        u32::try_from(place).ok()
    });
    places.collect::<Option<Vec<u32>>>()?.try_into().ok()
}

/// Returns the bytes that a value takes about.
fn bytes_of(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(|value| 32 + bytes_of(value)).sum(),
        Value::Object(values) => {
            values.iter().map(|(name, value)| 64 + name.len() + bytes_of(value)).sum()
        }
        _ => 8,
    }
}
