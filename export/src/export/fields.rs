//! The types of the JSON fields over all samples: one pass over the JSON parts before anything is
//! written. Two samples that disagree are an error that names both.

use std::collections::{BTreeMap, HashMap};

use tarflume_base::Failure;
use tarflume_formats::json::{Object, Value};
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_shards::index::in_parallel;

use crate::export::job::{Job, whole};
use crate::export::options::{Format, Numbers};
use crate::export::row::Rows;
use crate::export::values::json::{Leaf, leaves};
pub(super) use crate::export::values::kind::{FieldKind, Item};
use crate::export::values::kind::{Fit, Floats};
use crate::export::values::spans::Span;

/// Limit on fields: JSON with more of them uses data as names.
const MAX_FIELDS: usize = 4096;
/// What to do if the fields do not fit into columns.
fn remedy() -> Message {
    message!("make them alike, or export the JSON as it is with {json}"; json = Name::Json.is("text"))
}

/// A field that becomes a column.
#[derive(Debug)]
pub(super) struct Field {
    /// The keys that lead to it, joined by dots.
    pub(super) name: String,
    /// Its type.
    pub(super) kind: FieldKind,
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
    kind: FieldKind,
    /// The sample that has this type.
    place: String,
    /// The first number that no column of floats holds, with its sample.
    wide: Option<Misfit>,
    /// The first number that no column of numbers holds, with its sample.
    unfit: Option<Misfit>,
    /// The first number whose nearest float is infinite, with its sample.
    beyond: Option<Misfit>,
    /// Bytes of the name before its last key, as in [`Leaf`].
    above: usize,
    /// The last row of the shard with this field.
    row: Option<u64>,
}

/// A number that a column does not hold.
#[derive(Debug)]
struct Misfit {
    number: String,
    place: String,
}

type SeenFields = BTreeMap<String, Seen>;

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
        let mut all = SeenFields::new();
        for one in whole(found)? {
            for (name, seen) in one {
                merge(&mut all, name, seen)?;
            }
        }
        check_objects(&all)?;
        let list = all
            .into_iter()
            .map(|(name, seen)| {
                let kind = settled(&name, seen, job.options.numbers)?;
                Ok(Field { name, kind })
            })
            .collect::<Result<Vec<Field>, Failure>>()?;
        let by_name = list.iter().enumerate().map(|(n, field)| (field.name.clone(), n)).collect();
        Ok(Fields { list, by_name })
    }

    /// Returns the values of a sample by field; `None` for a missing or null one.
    pub(super) fn values<'v>(&self, object: &'v Object) -> Vec<Option<&'v Value>> {
        let mut values = vec![None; self.list.len()];
        leaves(object, &mut |leaf| {
            if let Some(&field) = self.by_name.get(&*leaf.name) {
                values[field] = Some(leaf.value).filter(|value| !value.is_null());
            }
        });
        values
    }

    /// Replaces the numbers of fields whose column is text by their texts.
    pub(super) fn write_texts(&self, object: &mut Object) {
        self.write_texts_below(object, "");
    }

    fn write_texts_below(&self, object: &mut Object, prefix: &str) {
        for (key, value) in object {
            let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
            if let Value::Object(inner) = value {
                self.write_texts_below(inner, &name);
                continue;
            }
            let kind = self.by_name.get(&name).map(|&field| self.list[field].kind);
            match (kind, value) {
                (Some(FieldKind::Text), value @ Value::Number(_)) => *value = text(value),
                (Some(FieldKind::List(Item::Text)), Value::Array(items)) => {
                    items
                        .iter_mut()
                        .filter(|item| item.as_number().is_some())
                        .for_each(|item| *item = text(item));
                }
                _ => {}
            }
        }
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
            Some(name) => Err(Failure::bad_data(
                message!("the JSON has a field '{name}', which is the name of another column; rename it, or export the \
                     JSON as it is with {json}"; json = Name::Json.is("text")),
            )),
        }
    }
}

fn of_shard(job: &Job<'_>, shard: usize) -> Result<SeenFields, Failure> {
    let samples = job.listing.shards[shard].index.samples();
    let mut rows = Rows::of(job, Span { shard, row: 0, samples });
    let mut found = SeenFields::new();
    let floats = match job.options.format {
        Format::TfRecord => Floats::Single,
        _ => Floats::Double,
    };
    while let Some(mut row) = rows.next()? {
        let object = row.object()?;
        add_all(&mut found, &object, row.sample.row, floats, &|| {
            let tar = row.shard().tar.file_name().unwrap_or_default().to_string_lossy();
            format!("'{}' in {tar}", row.sample.shown_key())
        })?;
    }
    Ok(found)
}

/// Adds the fields of sample number `row` of a shard.
fn add_all(
    found: &mut SeenFields,
    object: &Object,
    row: u64,
    floats: Floats,
    place: &dyn Fn() -> String,
) -> Result<(), Failure> {
    let mut result = Ok(());
    leaves(object, &mut |leaf| {
        if result.is_ok() {
            result = add(found, &leaf, row, floats, place);
        }
    });
    result
}

fn add(
    found: &mut SeenFields,
    leaf: &Leaf<'_>,
    row: u64,
    floats: Floats,
    place: &dyn Fn() -> String,
) -> Result<(), Failure> {
    let (kind, fit) = FieldKind::of(leaf.value, floats);
    if let Some(seen) = found.get_mut(&*leaf.name) {
        if seen.row.replace(row) == Some(row) {
            let text = message!(
                "sample {}: the field '{}' appears twice, as a name with a dot and inside an object; {remedy}",
                place(),
                leaf.name; remedy = remedy());
            return Err(Failure::bad_data(text));
        }
        // Nearly every sample is like the ones before it.
        let same = kind == FieldKind::Null || (seen.above == leaf.above && seen.kind == kind);
        let is_noted = match fit {
            Fit::Yes => true,
            Fit::Wide(_) => seen.wide.is_some(),
            Fit::No(_) => seen.unfit.is_some(),
            Fit::Beyond(_) => seen.beyond.is_some(),
        };
        if same && is_noted {
            return Ok(());
        }
    }
    let mut seen = Seen {
        kind,
        place: place(),
        wide: None,
        unfit: None,
        beyond: None,
        above: leaf.above,
        row: Some(row),
    };
    match fit {
        Fit::Yes => {}
        Fit::Wide(number) => seen.wide = misfit(number, place),
        Fit::No(number) => seen.unfit = misfit(number, place),
        Fit::Beyond(number) => seen.beyond = misfit(number, place),
    }
    merge(found, leaf.name.to_string(), seen)
}

fn misfit(number: &str, place: &dyn Fn() -> String) -> Option<Misfit> {
    Some(Misfit { number: number.into(), place: place() })
}

fn disagree(name: &str, old: &Seen, new: &Seen, why: &str) -> Failure {
    Failure::bad_data(message!(
        "the field '{name}' is {} in sample {} and {} in sample {}{why}; {remedy}",
        old.kind.words(),
        old.place,
        new.kind.words(),
        new.place; remedy = remedy()))
}

fn merge(all: &mut SeenFields, name: String, new: Seen) -> Result<(), Failure> {
    if all.len() >= MAX_FIELDS && !all.contains_key(&name) {
        return Err(Failure::bad_data(
            message!("the JSON has more than {MAX_FIELDS} fields, at {} for example '{name}'; export it as it is with \
                 {json}", new.place; json = Name::Json.is("text")),
        ));
    }
    let Some(old) = all.get_mut(&name) else {
        all.insert(name, new);
        return Ok(());
    };
    if old.above != new.above && old.kind != FieldKind::Null && new.kind != FieldKind::Null {
        let why = ", once as a name with a dot and once inside an object";
        return Err(disagree(&name, old, &new, why));
    }
    let Some(kind) = old.kind.with(new.kind) else { return Err(disagree(&name, old, &new, "")) };
    old.wide = old.wide.take().or(new.wide);
    old.unfit = old.unfit.take().or(new.unfit);
    old.beyond = old.beyond.take().or(new.beyond);
    if kind != old.kind {
        (old.kind, old.place, old.above) = (kind, new.place, new.above);
    }
    Ok(())
}

/// Returns an error if a field is a value in one sample and an object in another.
fn check_objects(all: &SeenFields) -> Result<(), Failure> {
    for (name, seen) in all.iter().filter(|(_, seen)| seen.above > 0) {
        let mut above = &name[..seen.above];
        loop {
            if let Some(value) = all.get(above).filter(|value| value.kind != FieldKind::Null) {
                return Err(Failure::bad_data(message!(
                    "the field '{above}' is {} in sample {} and an object in sample {}; {remedy}",
                    value.kind.words(),
                    value.place,
                    seen.place; remedy = remedy())));
            }
            let Some(dot) = above.rfind('.') else { break };
            above = &above[..dot];
        }
    }
    Ok(())
}

/// Returns the type of a field's column.
///
/// # Errors
/// Returns an error if a number would change there, unless `numbers` says what happens to it.
fn settled(name: &str, seen: Seen, numbers: Numbers) -> Result<FieldKind, Failure> {
    let kind = if seen.kind == FieldKind::List(Item::None) { FieldKind::Json } else { seen.kind };
    let is_number = kind.as_text() != kind;
    let misfit = seen.unfit.or(seen.wide.filter(|_| kind.is_float())).filter(|_| is_number);
    match (seen.beyond.filter(|_| is_number), misfit, numbers) {
        (None, None, _) | (None, _, Numbers::Nearest) => Ok(kind),
        (_, _, Numbers::Text) => Ok(kind.as_text()),
        (Some(Misfit { number, place }), ..) => Err(Failure::bad_data(
            message!("sample {place}: the field '{name}' is {number:.60}, which is outside the range of a column of \
                 floats; write the numbers of the field as text with {numbers}, or export the JSON as it is with \
                 {json}"; numbers = Name::Numbers.is("text"), json = Name::Json.is("text")),
        )),
        (None, Some(Misfit { number, place }), Numbers::Exact) => Err(Failure::bad_data(
            message!("sample {place}: the field '{name}' is {number:.60}, which would be rounded in a column of \
                 floats; write the numbers of the field as text with {numbers}, round them with \
                 {numbers_option}, or export the JSON as it is with {json}"; numbers = Name::Numbers.is("text"), numbers_option = Name::Numbers.is("nearest"), json = Name::Json.is("text")),
        )),
    }
}

/// Returns the text of a value in a column of texts: a number as it is written, another value as JSON.
pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(text) => text.to_string(),
        other => other.to_string(),
    }
}

fn text(number: &Value) -> Value {
    Value::String(text_of(number))
}

/// Returns an integer of 64 bits.
pub(super) fn integer_of(value: &Value) -> Option<i64> {
    i64::try_from(value.as_number()?.whole()?).ok()
}

/// Returns the nearest float; [`Fields`] has found that it is the same number, or that it may differ.
pub(super) fn float_of(value: &Value) -> Option<f64> {
    value.as_number().map(tarflume_formats::json::Number::nearest)
}

/// Returns the nearest float of 32 bits, as [`float_of`].
pub(super) fn single_of(value: &Value) -> Option<f32> {
    value.as_number().map(tarflume_formats::json::Number::nearest_single)
}

#[cfg(test)]
mod tests;
