//! TFRecord files of `tf.train.Example`: the key and every part as bytes, the fields of JSON as
//! lists of integers, floats or bytes. What a sample lacks is absent from its example.

use tarflume_base::{Failure, array_note};
use tarflume_formats::Crc;
use tarflume_formats::ErrorKind;
use tarflume_formats::index::Sample;
use tarflume_formats::json::Value;
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_formats::publish::write_as;
use tarflume_shards::listing::Shard;

use crate::export::columns::KEY;
use crate::export::fields::{FieldKind, Fields, Item, integer_of, single_of, text_of};
use crate::export::job::Job;
use crate::export::out_file::OutFile;
use crate::export::row::ExportRow;
use crate::export::sink::{Sink, WrittenFile};
use crate::export::staging::Staging;
use crate::export::values::encoding::Encoding;
use crate::export::values::example::{Features, head_of_bytes, head_of_record, masked};

/// The usual size of a file.
const USUAL: u64 = 128 << 20;
/// A message of protocol buffers has less bytes.
const LIMIT: u64 = 1 << 31;

/// Writes TFRecord files.
pub(crate) struct TfRecord {
    fields: Fields,
}

impl TfRecord {
    /// Finds the types of the fields.
    ///
    /// # Errors
    /// Returns the errors of [`Fields::of`], and an error if a field has the name of a part.
    pub(crate) fn new(job: &Job<'_>) -> Result<TfRecord, Failure> {
        let fields = Fields::of(job)?;
        let others = (0..job.columns.list.len()).filter(|&n| job.columns.json != Some(n));
        let names = others.map(|n| job.columns.list[n].ext.as_str()).chain([KEY]);
        fields.must_differ_from(names)?;
        Ok(TfRecord { fields })
    }
}

impl Sink for TfRecord {
    fn file_size(&self, given: Option<u64>) -> Result<u64, Failure> {
        Ok(given.unwrap_or(USUAL))
    }

    fn size(&self, job: &Job<'_>, shard: &Shard, sample: &Sample<'_>) -> Result<u64, Failure> {
        // About 20 bytes of a record and of each feature are not of the part itself.
        let mut parts = Vec::new();
        let bytes = job.columns.parts_of(shard, sample, &mut parts)?;
        Ok(bytes + sample.key.len() as u64 + 20 * (parts.len() as u64 + 2))
    }

    fn name(&self, number: usize, total: usize) -> String {
        format!("data-{number:05}-of-{total:05}.tfrecord")
    }

    fn sample(&self, row: &mut ExportRow<'_, '_>, to: &mut OutFile) -> Result<(), Failure> {
        let mut features = Features::new();
        features.bytes(KEY, [row.sample.key]);
        row.shard().index.intact()?;
        let object = row.object()?;
        for (field, value) in self.fields.list.iter().zip(self.fields.values(&object)) {
            if let Some(value) = value {
                add(&mut features, &field.name, field.kind, value);
            }
        }
        let mut later = Vec::new();
        for n in 0..row.parts.len() {
            let Some(part) = row.parts[n].filter(|_| !row.is_fields(n)) else { continue };
            match row.encoding(n) {
                Encoding::Int => features.integers(row.ext(n), [row.integer(&part)?]),
                _ => {
                    features.later(row.ext(n), part.length);
                    later.push((row.ext(n), part));
                }
            }
        }
        let (head, whole) = features.head();
        if whole >= LIMIT {
            let text = message!("this sample takes {whole} bytes, and a tf.train.Example holds less than 2 GiB; leave out a part \
                     with {parts}"; parts = Name::Parts);
            return Err(row.error(ErrorKind::Limit, text, row.sample.first).into());
        }
        to.put(&head_of_record(whole))?;
        let mut crc = Crc::new();
        crc.update(&head);
        to.put(&head)?;
        for (name, part) in later {
            let head = head_of_bytes(name, part.length);
            crc.update(&head);
            to.put(&head)?;
            row.copy(&part, |piece| {
                crc.update(piece);
                to.put(piece)
            })?;
        }
        to.put(&masked(crc.value()).to_le_bytes())
    }

    fn finish(&self, job: &Job<'_>, _: &[WrittenFile], to: &Staging) -> Result<(), Failure> {
        let Some(note) = job.columns.note() else { return Ok(()) };
        let path = to.path().join(array_note::FILE);
        Ok(write_as(&path, note.json().to_string().as_bytes(), job.options.durability)?)
    }
}

/// Returns the items of a list; none of another value.
fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Adds a field; its value has the kind that all samples agree about. The floats of the format have 32 bits.
fn add(features: &mut Features, name: &str, kind: FieldKind, value: &Value) {
    match kind {
        FieldKind::Null => {}
        FieldKind::Bool => features.integers(name, value.as_bool().map(i64::from)),
        FieldKind::Int => features.integers(name, integer_of(value)),
        FieldKind::Float => features.floats(name, single_of(value)),
        FieldKind::Text | FieldKind::Json => features.bytes(name, [text_of(value).as_bytes()]),
        FieldKind::List(Item::Bool) => {
            features.integers(name, items(value).filter_map(Value::as_bool).map(i64::from));
        }
        FieldKind::List(Item::Int) => features.integers(name, items(value).filter_map(integer_of)),
        FieldKind::List(Item::Float) => features.floats(name, items(value).filter_map(single_of)),
        FieldKind::List(Item::Text | Item::None) => {
            let texts: Vec<String> = items(value).map(text_of).collect();
            features.bytes(name, texts.iter().map(String::as_bytes));
        }
    }
}
