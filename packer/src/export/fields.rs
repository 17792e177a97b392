//! The types of the JSON fields over all samples: one pass over the JSON parts before anything is
//! written. Two samples that disagree are an error that names both.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use super::job::{Job, whole};
use super::json::{Leaf, leaves};
use super::row::Rows;
use super::spans::Span;
use crate::failure::Failure;
use crate::index::in_parallel;

/// Limit on fields: JSON with more of them uses data as names.
const MAX_FIELDS: usize = 4096;
/// The largest integer below which every integer is a float of 64 bits, too.
const EXACT: i64 = 1 << 53;
/// What to do if the fields do not fit into columns.
const REMEDY: &str = "make them alike, or export the JSON as it is with --json text";

/// The type of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Only nulls.
    Null,
    /// Booleans.
    Bool,
    /// Integers of 64 bits.
    Int,
    /// Floats of 64 bits, or floats and integers.
    Float,
    /// Text.
    Text,
    /// Lists of values of one type.
    List(Item),
    /// Lists of lists, of objects, or of several types, as JSON text.
    Json,
}

/// The type of the values in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Item {
    /// All lists are empty.
    None,
    /// Booleans.
    Bool,
    /// Integers of 64 bits.
    Int,
    /// Floats of 64 bits, or floats and integers.
    Float,
    /// Text.
    Text,
}

/// A field that becomes a column.
#[derive(Debug)]
pub(super) struct Field {
    /// The keys that lead to it, joined by dots.
    pub(super) name: String,
    /// Its type.
    pub(super) kind: Kind,
}

/// All fields, sorted by name.
#[derive(Debug, Default)]
pub(super) struct Fields {
    /// The fields.
    pub(super) list: Vec<Field>,
    by_name: HashMap<String, usize>,
}

/// What is known about a field so far.
#[derive(Debug)]
struct Seen {
    kind: Kind,
    /// The sample that has this type.
    place: String,
    /// A sample with an integer that no float equals.
    wide: Option<String>,
    /// Bytes of the name before its last key, as in [`Leaf`].
    above: usize,
    /// The last row of the shard with this field.
    row: Option<u64>,
}

type Found = BTreeMap<String, Seen>;

impl Fields {
    /// Finds the fields of all samples; none if JSON is exported as text.
    ///
    /// # Errors
    /// Returns an error if a JSON part is not an object, if two samples disagree about a type, and
    /// if there are too many fields.
    pub(super) fn of(job: &Job<'_>) -> Result<Fields, Failure> {
        if job.columns.json.is_none() {
            return Ok(Fields::default());
        }
        let shards: Vec<usize> = (0..job.listing.shards.len()).collect();
        let found = in_parallel(job.options.jobs, shards, |n| job.noting(of_shard(job, n)))?;
        let mut all = Found::new();
        for one in whole(found)? {
            for (name, seen) in one {
                merge(&mut all, name, seen)?;
            }
        }
        check_objects(&all)?;
        let list: Vec<Field> =
            all.into_iter().map(|(name, seen)| Field { name, kind: settled(seen.kind) }).collect();
        let by_name = list.iter().enumerate().map(|(n, field)| (field.name.clone(), n)).collect();
        Ok(Fields { list, by_name })
    }

    /// Returns the values of a sample by field; `None` for a missing or null one.
    pub(super) fn values<'v>(&self, object: &'v Map<String, Value>) -> Vec<Option<&'v Value>> {
        let mut values = vec![None; self.list.len()];
        leaves(object, &mut |leaf| {
            if let Some(&field) = self.by_name.get(&*leaf.name) {
                values[field] = Some(leaf.value).filter(|value| !value.is_null());
            }
        });
        values
    }

    /// Returns an error if a field has the name of one of these columns.
    ///
    /// # Errors
    /// Returns the error with the remedy.
    pub(super) fn must_differ_from<'n>(
        &self,
        columns: impl IntoIterator<Item = &'n str>,
    ) -> Result<(), Failure> {
        match columns.into_iter().find(|name| self.by_name.contains_key(*name)) {
            None => Ok(()),
            Some(name) => Err(Failure::bad_data(format!(
                "the JSON has a field '{name}', which is the name of another column; rename it, or export the \
                 JSON as it is with --json text"
            ))),
        }
    }
}

fn of_shard(job: &Job<'_>, shard: usize) -> Result<Found, Failure> {
    let samples = job.listing.shards[shard].index.samples();
    let mut rows = Rows::of(job, Span { shard, row: 0, samples });
    let mut found = Found::new();
    while let Some(mut row) = rows.next()? {
        let object = row.object()?;
        let place = || {
            let tar = row.shard().tar.file_name().unwrap_or_default().to_string_lossy();
            format!("'{}' in {tar}", row.sample.shown_key())
        };
        add_all(&mut found, &object, row.sample.row, &place)?;
    }
    Ok(found)
}

/// Adds the fields of sample number `row` of a shard.
fn add_all(
    found: &mut Found,
    object: &Map<String, Value>,
    row: u64,
    place: &dyn Fn() -> String,
) -> Result<(), Failure> {
    let mut result = Ok(());
    leaves(object, &mut |leaf| {
        if result.is_ok() {
            result = add(found, &leaf, row, place);
        }
    });
    result
}

fn add(
    found: &mut Found,
    leaf: &Leaf<'_>,
    row: u64,
    place: &dyn Fn() -> String,
) -> Result<(), Failure> {
    let refused = |why: &str| {
        let text = format!("sample {}: the field '{}' {why}; {REMEDY}", place(), leaf.name);
        Failure::bad_data(text)
    };
    let kind = Kind::of(leaf.value).map_err(refused)?;
    let wide = is_wide(leaf.value);
    if let Some(seen) = found.get_mut(&*leaf.name) {
        if seen.row.replace(row) == Some(row) {
            return Err(refused("appears twice, as a name with a dot and inside an object"));
        }
        // Nearly every sample is like the ones before it.
        let same = kind == Kind::Null || (seen.above == leaf.above && seen.kind == kind);
        if same && (!wide || seen.wide.is_some()) {
            return Ok(());
        }
    }
    let wide = wide.then(place);
    let seen = Seen { kind, place: place(), wide, above: leaf.above, row: Some(row) };
    merge(found, leaf.name.to_string(), seen)
}

fn merge(all: &mut Found, name: String, new: Seen) -> Result<(), Failure> {
    if all.len() >= MAX_FIELDS && !all.contains_key(&name) {
        return Err(Failure::bad_data(format!(
            "the JSON has more than {MAX_FIELDS} fields, at {} for example '{name}'; export it as it is with \
             --json text",
            new.place
        )));
    }
    let Some(old) = all.get_mut(&name) else {
        all.insert(name, new);
        return Ok(());
    };
    let disagree = |why: &str| {
        Failure::bad_data(format!(
            "the field '{name}' is {} in sample {} and {} in sample {}{why}; {REMEDY}",
            old.kind.words(),
            old.place,
            new.kind.words(),
            new.place
        ))
    };
    if old.above != new.above && old.kind != Kind::Null && new.kind != Kind::Null {
        return Err(disagree(", once as a name with a dot and once inside an object"));
    }
    let Some(kind) = old.kind.with(new.kind) else { return Err(disagree("")) };
    let wide = old.wide.take().or(new.wide);
    if let (Kind::Float | Kind::List(Item::Float), Some(place)) = (kind, &wide) {
        return Err(Failure::bad_data(format!(
            "the field '{name}' has fractions and, in sample {place}, an integer that no float of 64 bits \
             equals; {REMEDY}"
        )));
    }
    old.wide = wide;
    if kind != old.kind {
        (old.kind, old.place, old.above) = (kind, new.place, new.above);
    }
    Ok(())
}

/// Returns an error if a field is a value in one sample and an object in another.
fn check_objects(all: &Found) -> Result<(), Failure> {
    for (name, seen) in all.iter().filter(|(_, seen)| seen.above > 0) {
        let mut above = &name[..seen.above];
        loop {
            if let Some(value) = all.get(above).filter(|value| value.kind != Kind::Null) {
                return Err(Failure::bad_data(format!(
                    "the field '{above}' is {} in sample {} and an object in sample {}; {REMEDY}",
                    value.kind.words(),
                    value.place,
                    seen.place
                )));
            }
            let Some(dot) = above.rfind('.') else { break };
            above = &above[..dot];
        }
    }
    Ok(())
}

fn settled(kind: Kind) -> Kind {
    if kind == Kind::List(Item::None) { Kind::Json } else { kind }
}

/// Returns true if the value has an integer that no float of 64 bits equals.
fn is_wide(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_i64().is_some_and(|n| !(-EXACT..=EXACT).contains(&n)),
        Value::Array(items) => items.iter().any(|item| !item.is_array() && is_wide(item)),
        _ => false,
    }
}

impl Kind {
    /// Returns the type of a value, or why it has none.
    fn of(value: &Value) -> Result<Kind, &'static str> {
        Ok(match value {
            Value::Null => Kind::Null,
            Value::Bool(_) => Kind::Bool,
            Value::Number(number) if number.is_i64() => Kind::Int,
            Value::Number(number) if number.is_u64() => {
                return Err("has an integer of more than 63 bits");
            }
            Value::Number(_) => Kind::Float,
            Value::String(_) => Kind::Text,
            Value::Object(_) => Kind::Json,
            Value::Array(items) => Kind::of_list(items)?,
        })
    }

    fn of_list(items: &[Value]) -> Result<Kind, &'static str> {
        let mut all = Item::None;
        for item in items {
            let item = match Kind::of(item)? {
                Kind::Bool => Item::Bool,
                Kind::Int => Item::Int,
                Kind::Float => Item::Float,
                Kind::Text => Item::Text,
                Kind::Null | Kind::List(_) | Kind::Json => return Ok(Kind::Json),
            };
            match all.with(item) {
                Some(both) => all = both,
                None => return Ok(Kind::Json),
            }
        }
        Ok(Kind::List(all))
    }

    /// Returns the type that holds the values of both, if there is one.
    fn with(self, other: Kind) -> Option<Kind> {
        match (self, other) {
            (a, b) if a == b => Some(a),
            (Kind::Null, kind) | (kind, Kind::Null) => Some(kind),
            (Kind::Int, Kind::Float) | (Kind::Float, Kind::Int) => Some(Kind::Float),
            (Kind::List(a), Kind::List(b)) => a.with(b).map(Kind::List),
            (Kind::List(_), Kind::Json) | (Kind::Json, Kind::List(_)) => Some(Kind::Json),
            _ => None,
        }
    }

    /// Returns the type in words, with its article.
    fn words(self) -> &'static str {
        match self {
            Kind::Null => "null",
            Kind::Bool => "a boolean",
            Kind::Int => "an integer",
            Kind::Float => "a fraction",
            Kind::Text => "a string",
            Kind::List(Item::None) => "an empty list",
            Kind::List(Item::Bool) => "a list of booleans",
            Kind::List(Item::Int) => "a list of integers",
            Kind::List(Item::Float) => "a list of fractions",
            Kind::List(Item::Text) => "a list of strings",
            Kind::Json => "a list of several types",
        }
    }
}

impl Item {
    fn with(self, other: Item) -> Option<Item> {
        match (self, other) {
            (a, b) if a == b => Some(a),
            (Item::None, item) | (item, Item::None) => Some(item),
            (Item::Int, Item::Float) | (Item::Float, Item::Int) => Some(Item::Float),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
