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

use super::contents::{Gathered, count};
use super::digits::Digits;
use super::panoptic;
use super::unique::{Unique, repeated};
use crate::sorter::Sorter;

/// Bytes that are read at a time.
const BUFFER: usize = 256 << 10;

/// Reads the file at `path` into `gathered`.
///
/// # Errors
/// Returns an error for malformed content, and for a failure of the machine.
pub(super) fn read(path: &Path, gathered: &mut Gathered, stop: &Stop) -> Result<(), Failure> {
    let stream::OpenText { text, budget, origin } = stream::open(path)?;
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
        return Err(gathered.bad(format!(
            "byte {byte}: {number} has more digits than a number of 64 bits; write it as text, or with fewer digits"
        )));
    }
    read.map_err(|error| match error.io_error_kind() {
        Some(_) => origin.refused(error.into(), 1),
        None => gathered.bad(format!("it is no COCO file: {error}")),
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
        match section {
            Section::Categories => {
                gathered.categories.add(object).map_err(E::custom)?;
                Ok(Ok(()))
            }
            Section::Images => {
                gathered.images = number;
                if let Err(failure) = gathered.check_fits(number, &object) {
                    return Ok(Err(failure));
                }
                count(&mut gathered.image_fields, &object, false).map_err(E::custom)?;
                gathered.keep(&Kept { is_annotation: false, number, object }).map_err(E::custom)
            }
            Section::Annotations => {
                gathered.annotations = number;
                for object in panoptic::segments(object).map_err(E::custom)? {
                    count(&mut gathered.annotation_fields, &object, true).map_err(E::custom)?;
                    let kept = Kept { is_annotation: true, number, object };
                    if let Err(failure) = gathered.keep(&kept).map_err(E::custom)? {
                        return Ok(Err(failure));
                    }
                }
                Ok(Ok(()))
            }
        }
    }
}

/// An image or annotation to keep until the file is read.
struct Kept {
    is_annotation: bool,
    /// Its number in its list, from 1.
    number: u64,
    object: Map<String, Value>,
}

impl Gathered {
    /// Adds a record to the sorter; the outer error is one of the content.
    fn keep(&mut self, kept: &Kept) -> Result<Result<(), Failure>, String> {
        let Kept { is_annotation, number, object } = kept;
        let field = if *is_annotation { "image_id" } else { "id" };
        let what = if *is_annotation { "annotation" } else { "image" };
        let id = match object.get(field) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) if !number.is_f64() => number.to_string(),
            _ => return Err(format!("{what} {number} has no '{field}'")),
        };
        let mut record = vec![u8::from(*is_annotation)];
        varint::put(&mut record, *number);
        varint::put_bytes(&mut record, id.as_bytes());
        serde_json::to_writer(&mut record, object).expect("texts and numbers serialize");
        let hash = collide::exact_hash(id.as_bytes());
        Ok(match &mut self.sorter {
            Some(sorter) => sorter.push(hash, &record),
            None => Ok(()), // `read` has set it
        })
    }
}
