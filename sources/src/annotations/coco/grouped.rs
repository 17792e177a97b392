//! `CocoRows`: images with their annotations as the JSON of samples.

use serde_json::{Map, Value};
use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_formats::varint;
use tarflume_table::values::json::put_value;

use super::contents::{Gathered, List};
use crate::join::{JoinRow, JoinRows, Place};
use crate::sorter::Sorted;

/// Limit on the bytes of one image's annotations.
const MAX_IMAGE: usize = 64 << 20;

/// The images of a file, in the order of the hashes of their ids.
#[derive(Debug)]
pub struct CocoRows {
    sorted: Sorted,
    lists: Vec<List>,
    /// Fields of images whose whole numbers are written as other numbers.
    widened: Vec<String>,
    file: Gathered,
    /// The records with the current hash that no row has had.
    group: Vec<Vec<u8>>,
}

const WRITTEN: &str = "`stream` has written this record";

/// A record of the sort.
struct Record<'a> {
    is_annotation: bool,
    /// Its number in its list, from 1.
    number: u64,
    id: &'a [u8],
    json: &'a [u8],
}

impl Record<'_> {
    fn parse(bytes: &[u8]) -> Record<'_> {
        let mut at = 1;
        let number = varint::take(bytes, &mut at).expect(WRITTEN);
        let id = varint::take_bytes(bytes, &mut at).expect(WRITTEN);
        Record { is_annotation: bytes[0] == 1, number, id, json: &bytes[at..] }
    }

    fn object(&self) -> Map<String, Value> {
        serde_json::from_slice(self.json).expect(WRITTEN)
    }
}

impl CocoRows {
    pub(super) fn new(mut file: Gathered, lists: Vec<List>) -> Result<CocoRows, Failure> {
        let sorter = file.sorter.take().unwrap_or_else(crate::sorter::Sorter::new);
        let widened = file.widened();
        Ok(CocoRows { sorted: sorter.finish()?, lists, widened, file, group: Vec::new() })
    }

    /// Reads the records with the next hash; returns false at the end.
    fn next_group(&mut self) -> Result<bool, Failure> {
        let Some(hash) = self.sorted.peek()? else { return Ok(false) };
        let mut bytes = 0;
        while self.sorted.peek()? == Some(hash) {
            let Some((_, record)) = self.sorted.next()? else { break };
            bytes += record.len();
            if bytes > MAX_IMAGE {
                let why = format!(
                    "the annotations of image {} take more than {} MiB",
                    String::from_utf8_lossy(Record::parse(record).id),
                    MAX_IMAGE >> 20
                );
                return Err(self.file.bad(why));
            }
            self.group.push(record.to_vec());
        }
        Ok(true)
    }

    /// Removes the records of the group's first id.
    fn next_image(&mut self) -> Vec<Vec<u8>> {
        let id = Record::parse(&self.group[0]).id.to_vec();
        let (image, rest) = std::mem::take(&mut self.group)
            .into_iter()
            .partition(|record| Record::parse(record).id == id);
        self.group = rest;
        image
    }

    fn write(&self, records: &[Vec<u8>], row: &mut JoinRow) -> Result<(), Failure> {
        let (annotations, images): (Vec<Record<'_>>, Vec<Record<'_>>) =
            records.iter().map(|r| Record::parse(r)).partition(|r| r.is_annotation);
        row.name.clear();
        row.json.clear();
        row.place = Place::default();
        let image = match images.as_slice() {
            [image] => image,
            [] => {
                row.place.row = annotations[0].number;
                return Ok(()); // without name: a row that no sample matches
            }
            [first, second, ..] => {
                let why = format!("images {} and {} have one id", first.number, second.number);
                return Err(self.file.bad(why));
            }
        };
        row.place.row = image.number;
        let mut object = image.object();
        let Some(name) = file_name(&object) else {
            let why = format!("image {} has no 'file_name' and no 'coco_url'", image.number);
            return Err(self.file.bad(why));
        };
        row.name.extend_from_slice(name.trim_start_matches("./").as_bytes());
        self.widen(&mut object);
        let mut values: Vec<Map<String, Value>> = annotations.iter().map(Record::object).collect();
        if self.file.has_categories() {
            for (annotation, record) in values.iter_mut().zip(&annotations) {
                self.number(annotation, record)?;
            }
            let indices = values.iter().zip(&annotations).map(|(a, record)| self.index(a, record));
            let indices = indices.collect::<Result<Vec<Value>, Failure>>()?;
            object.insert("category_index".into(), indices.into());
        }
        for list in &self.lists {
            object.insert(
                list.name.clone(),
                values.iter_mut().map(|a| a.remove(&list.field).unwrap_or_default()).collect(),
            );
        }
        put_value(&Value::Object(object), &mut row.json);
        Ok(())
    }

    /// Makes the whole numbers of some fields numbers with a point, unless they would lose digits.
    fn widen(&self, image: &mut Map<String, Value>) {
        for field in &self.widened {
            if let Some(value) = image.get_mut(field)
                && let Some(whole) = value.as_i64()
                && (whole as f64) as i128 == i128::from(whole)
            {
                *value = Value::from(whole as f64);
            }
        }
    }

    /// Gives an annotation the number that a list of classes has for its category.
    fn number(
        &self,
        annotation: &mut Map<String, Value>,
        record: &Record<'_>,
    ) -> Result<(), Failure> {
        let Some(category) = annotation.get_mut("category_id") else { return Ok(()) };
        let Some(id) = category.as_i64() else { return Ok(()) };
        let Some(number) = self.file.categories.number(id) else {
            let why = message!(
                "annotation {} has category {id}, whose name the file of {classes} does not list",
                record.number;
                classes = Name::Classes
            );
            return Err(self.file.bad(why));
        };
        *category = number.into();
        Ok(())
    }

    /// Returns the position of an annotation's category, in the order of ids.
    fn index(
        &self,
        annotation: &Map<String, Value>,
        record: &Record<'_>,
    ) -> Result<Value, Failure> {
        let Some(id) = annotation.get("category_id") else { return Ok(Value::Null) };
        let found = id.as_i64().and_then(|id| self.file.categories.position(id));
        found.map(Value::from).ok_or_else(|| {
            let why =
                format!("annotation {} has category {id}, which is not listed", record.number);
            self.file.bad(why)
        })
    }
}

/// Returns the path of an image; of LVIS, which has addresses alone, the last component of one.
fn file_name(image: &Map<String, Value>) -> Option<&str> {
    let stated = image.get("file_name").and_then(Value::as_str);
    stated.or_else(|| image.get("coco_url")?.as_str()?.rsplit('/').next())
}

impl JoinRows for CocoRows {
    fn next(&mut self, row: &mut JoinRow) -> Result<bool, Failure> {
        if self.group.is_empty() && !self.next_group()? {
            return Ok(false);
        }
        let image = self.next_image();
        self.write(&image, row)?;
        Ok(true)
    }
}
