//! Reads a COCO file as a stream of images, annotations and categories.

use std::collections::HashSet;
use std::fmt;
use std::io::BufReader;
use std::path::Path;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use tarflume_base::{Failure, Stop, collide};
use tarflume_formats::varint;
use tarflume_table::text::stream::{self, Budget};
use tarflume_table::values::json::put_value;

use super::contents::{Gathered, MAX_CATEGORIES, count};
use super::digits::Digits;
use super::unique::{Unique, repeated};
use crate::sorter::Sorter;

/// Bytes that are read at a time.
const BUFFER: usize = 256 << 10;

/// Reads the file at `path` into `gathered`.
///
/// # Errors
/// Returns an error for malformed content, and for a failure of the machine.
pub(super) fn read(path: &Path, gathered: &mut Gathered, stop: &Stop) -> Result<(), Failure> {
    let (text, budget, origin) = stream::open(path)?;
    gathered.sorter = Some(Sorter::new());
    let mut text = Digits::new(text);
    let reader = BufReader::with_capacity(BUFFER, &mut text);
    let mut json = serde_json::Deserializer::from_reader(reader);
    let mut failure = None;
    let file = File { gathered, budget, stop, failure: &mut failure };
    let read = file.deserialize(&mut json).and_then(|()| json.end());
    drop(json);
    if let Some(failure) = failure {
        return Err(failure);
    }
    if let Some((number, byte)) = text.rounded() {
        return Err(gathered.bad(&format!(
            "byte {byte}: {number} has more digits than a number of 64 bits; write it as text, or with fewer digits"
        )));
    }
    read.map_err(|error| match error.io_error_kind() {
        Some(_) => origin.refused(error.into(), 1),
        None => gathered.bad(&format!("it is no COCO file: {error}")),
    })
}

/// The whole file.
struct File<'a> {
    gathered: &'a mut Gathered,
    budget: Budget,
    stop: &'a Stop,
    /// A failure of the machine, which no error of serde holds.
    failure: &'a mut Option<Failure>,
}

impl<'de> DeserializeSeed<'de> for File<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for File<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with 'images' and 'annotations'")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let mut names = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if !names.insert(name.clone()) {
                return Err(repeated(&name));
            }
            self.budget.renew();
            let section = match name.as_str() {
                "images" => Section::Images,
                "annotations" => Section::Annotations,
                "categories" => Section::Categories,
                _ => {
                    self.budget.lift(); // what is ignored takes no memory
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            map.next_value_seed(List { file: &mut self, section })?;
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    Images,
    Annotations,
    Categories,
}

/// A list of objects.
struct List<'f, 'a> {
    file: &'f mut File<'a>,
    section: Section,
}

impl<'de> DeserializeSeed<'de> for List<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for List<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let mut number = 0u64;
        loop {
            self.file.budget.renew();
            let object = match list.next_element()? {
                Some(Unique(Value::Object(object))) => object,
                Some(Unique(other)) => {
                    return Err(A::Error::custom(format!("{other} is no object")));
                }
                None => return Ok(()),
            };
            number += 1;
            if number.is_multiple_of(1024) && self.file.stop.requested() {
                *self.file.failure = Some(Failure::interrupted());
            } else if let Err(failure) = self.file.add::<A::Error>(self.section, number, object)? {
                *self.file.failure = Some(failure);
            }
            if self.file.failure.is_some() {
                return Err(A::Error::custom("stopped"));
            }
        }
    }
}

impl File<'_> {
    /// Adds an object; the outer error is one of the content.
    fn add<E: Error>(
        &mut self,
        section: Section,
        number: u64,
        object: Map<String, Value>,
    ) -> Result<Result<(), Failure>, E> {
        let gathered = &mut *self.gathered;
        let (field, what) = match section {
            Section::Categories => {
                let category = category(&object).map_err(E::custom)?;
                if gathered.categories.len() == MAX_CATEGORIES {
                    return Err(E::custom(format!("more than {MAX_CATEGORIES} categories")));
                }
                gathered.categories.push(category);
                return Ok(Ok(()));
            }
            Section::Images => {
                gathered.images = number;
                if let Err(failure) = gathered.check_fits(number, &object) {
                    return Ok(Err(failure));
                }
                count(&mut gathered.image_fields, &object, false).map_err(E::custom)?;
                ("id", "image")
            }
            Section::Annotations => {
                gathered.annotations = number;
                count(&mut gathered.annotation_fields, &object, true).map_err(E::custom)?;
                ("image_id", "annotation")
            }
        };
        let id = match object.get(field) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) if !number.is_f64() => number.to_string(),
            _ => return Err(E::custom(format!("{what} {number} has no '{field}'"))),
        };
        let mut record = vec![u8::from(section == Section::Annotations)];
        varint::put(&mut record, number);
        varint::put_bytes(&mut record, id.as_bytes());
        put_value(&Value::Object(object), &mut record);
        let hash = collide::exact_hash(id.as_bytes());
        Ok(match &mut gathered.sorter {
            Some(sorter) => sorter.push(hash, &record),
            None => Ok(()), // `read` has set it
        })
    }
}

/// Returns id and name of a category.
fn category(object: &Map<String, Value>) -> Result<(i64, String), String> {
    let id = object.get("id").and_then(Value::as_i64);
    let name = object.get("name").and_then(Value::as_str);
    match (id, name) {
        (Some(id), Some(name)) => Ok((id, name.to_string())),
        _ => Err("a category has no whole number 'id' or no text 'name'".into()),
    }
}
