//! MDS, version 2, of MosaicML Streaming.
//!
//! A shard is a u32 number of samples n, n + 1 u32 offsets from its start, the columns as JSON, and
//! the samples: a u32 size for each column of variable length, then the columns. All numbers are
//! little-endian. All sizes are known from the sidecars, so the head is written before the samples.

use serde_json::{Value, json};
use tarflume_base::Failure;
use tarflume_base::array_note::{self, array_bytes};
use tarflume_foreign::mds::Encoding as Stored;
use tarflume_formats::index::Sample;
use tarflume_formats::message;
use tarflume_formats::message::Name;
use tarflume_formats::publish::write_as;
use tarflume_formats::{Error, ErrorKind};
use tarflume_shards::listing::Shard;

use crate::export::columns::{Column, KEY};
use crate::export::job::Job;
use crate::export::out_file::OutFile;
use crate::export::row::{ExportRow, key_text};
use crate::export::sink::{Sink, WrittenFile};
use crate::export::staging::Staging;
use crate::export::values::encoding::Encoding;
use crate::export::values::spans::{Span, samples};

/// The usual size of a shard, that of `MDSWriter`.
const USUAL: u64 = 1 << 26;
/// Offsets in a shard are u32.
pub(crate) const LIMIT: u64 = u32::MAX as u64;

/// Writes MDS shards.
pub(crate) struct Mds {
    /// The columns in the order of their names; `None` is the key.
    order: Vec<Option<usize>>,
    /// The bytes of all values of each column; `None` for a column of variable length.
    sizes: Vec<Option<u64>>,
    /// The columns as JSON, which is in every shard.
    config: Vec<u8>,
    head: Value,
}

impl Mds {
    /// Prepares the columns.
    ///
    /// # Errors
    /// Returns an error if a sample lacks a part.
    pub(crate) fn new(job: &Job<'_>) -> Result<Mds, Failure> {
        let columns = &job.columns;
        columns.must_be_everywhere(job.listing, "MDS")?;
        let mut named: Vec<(&str, Option<usize>)> = vec![(KEY, None)];
        let exts = columns.list.iter().enumerate();
        named.extend(exts.map(|(n, column)| (column.ext.as_str(), Some(n))));
        named.sort_unstable();
        let sizes: Vec<Option<u64>> = columns.list.iter().map(fixed).collect();
        let encodings: Vec<String> =
            named.iter().map(|&(_, n)| encoding(n.map(|n| &columns.list[n]))).collect();
        let column_sizes: Vec<Option<u64>> =
            named.iter().map(|&(_, n)| n.and_then(|n| sizes[n])).collect();
        let head = json!({
            "column_encodings": encodings,
            "column_names": named.iter().map(|&(name, _)| name).collect::<Vec<_>>(),
            "column_sizes": column_sizes,
            "compression": null,
            "format": "mds",
            "hashes": [],
            "size_limit": job.options.file_size.unwrap_or(USUAL),
            "version": 2,
        });
        let order = named.into_iter().map(|(_, n)| n).collect();
        Ok(Mds { order, sizes, config: head.to_string().into_bytes(), head })
    }

    /// Returns the bytes of a sample in a shard.
    fn length(&self, job: &Job<'_>, shard: &Shard, sample: &Sample<'_>) -> Result<u64, Failure> {
        let mut parts = Vec::new();
        job.columns.parts_of(shard, sample, &mut parts)?;
        let mut bytes = 0;
        for column in &self.order {
            bytes += match column {
                None => 4 + sample.key.len() as u64,
                Some(n) => match self.sizes[*n] {
                    Some(size) => size,
                    None => 4 + parts[*n].map_or(0, |part| part.length),
                },
            };
        }
        Ok(bytes)
    }

    /// Refuses a part that is not as long as the array that the data set states.
    fn check_arrays(
        &self,
        job: &Job<'_>,
        shard: &Shard,
        sample: &Sample<'_>,
    ) -> Result<(), Failure> {
        let mut parts = Vec::new();
        job.columns.parts_of(shard, sample, &mut parts)?;
        let columns = job.columns.list.iter().zip(&self.sizes).zip(&parts);
        for ((column, size), part) in columns.filter(|((column, _), _)| column.array.is_some()) {
            let Some(part) = part else { continue };
            let Some(bytes) = *size else { continue };
            if part.length != bytes {
                let ext = &column.ext;
                let text = message!("part '{ext}' has {} bytes, and the type and shape in dataset.json take {bytes}; export it with \
                         {encodings}", part.length; encodings = Name::Encodings.pairs([&*format!("{ext}=bytes")]));
                return Err(Error::new(ErrorKind::WrongFormat, text)
                    .with_path(&shard.tar)
                    .with_byte(part.offset)
                    .with_key(sample.shown_key())
                    .into());
            }
        }
        Ok(())
    }

    /// Returns the bytes before the samples of a shard with `samples` samples.
    fn before(&self, samples: u64) -> u64 {
        4 + 4 * (samples + 1) + self.config.len() as u64
    }
}

/// Returns the encoding of a column; `None` is the column of keys.
fn encoding(column: Option<&Column>) -> String {
    match column {
        None => "str".to_string(),
        Some(column) => array(column).unwrap_or_else(|| column.encoding.mds().to_string()),
    }
}

/// Returns the bytes of all values of a column: of integers, and of arrays of one type and shape.
fn fixed(column: &Column) -> Option<u64> {
    if column.encoding == Encoding::Int {
        return Some(8);
    }
    array(column)?;
    let array = column.array.as_ref()?;
    array_bytes(&array.kind, array.shape.as_deref()?)
}

/// Returns the encoding of an array of one type and shape; `None` for another part, and for a type that MDS lacks.
fn array(column: &Column) -> Option<String> {
    let array = column.array.as_ref()?;
    let shape = array.shape.as_ref().filter(|shape| !shape.is_empty())?;
    let dims: Vec<String> = shape.iter().map(u64::to_string).collect();
    let text = format!("ndarray:{}:{}", array.kind, dims.join(","));
    matches!(Stored::parse(&text), Stored::Array(..)).then_some(text)
}

impl Encoding {
    fn mds(self) -> &'static str {
        match self {
            Encoding::Bytes => "bytes",
            Encoding::Jpeg => "jpeg",
            Encoding::Png => "png",
            Encoding::Text => "str",
            Encoding::Int => "int",
            Encoding::Json => "json",
        }
    }
}

/// Returns the size of files for formats with u32 offsets.
///
/// # Errors
/// Returns an error if the given size is larger than such a file can be.
pub(crate) fn size_below_4_gib(given: Option<u64>, usual: u64) -> Result<u64, Failure> {
    match given {
        Some(size) if size > LIMIT => Err(Failure::usage(
            message!("offsets in this format have 32 bits, so a file has less than 4 GiB; give a smaller {shard_size}"; shard_size = Name::ShardSize),
        )),
        size => Ok(size.unwrap_or(usual)),
    }
}

/// Returns the error for a sample that no file can hold.
pub(crate) fn too_large(shard: &Shard, sample: &Sample<'_>, bytes: u64, format: &str) -> Failure {
    let text = message!("this sample takes {bytes} bytes, and {format} holds less than 4 GiB in a file; leave out a part \
             with {parts}, or export to tfrecord or parquet"; parts = Name::Parts);
    Error::new(ErrorKind::Limit, text)
        .with_path(&shard.tar)
        .with_byte(sample.first)
        .with_key(sample.shown_key())
        .into()
}

impl Sink for Mds {
    fn file_size(&self, given: Option<u64>) -> Result<u64, Failure> {
        // What is before the samples of a shard is counted with its samples, but for these bytes.
        Ok(size_below_4_gib(given, USUAL)?.saturating_sub(self.before(0)))
    }

    fn size(&self, job: &Job<'_>, shard: &Shard, sample: &Sample<'_>) -> Result<u64, Failure> {
        key_text(shard, sample)?;
        self.check_arrays(job, shard, sample)?;
        let bytes = self.length(job, shard, sample)?;
        if bytes + self.before(1) > LIMIT {
            return Err(too_large(shard, sample, bytes, "MDS"));
        }
        Ok(bytes + 4)
    }

    fn name(&self, number: usize, _: usize) -> String {
        format!("shard.{number:05}.mds")
    }

    fn begin(&self, job: &Job<'_>, span: &Span, to: &mut OutFile) -> Result<(), Failure> {
        to.put(&(span.samples as u32).to_le_bytes())?;
        let mut offset = self.before(span.samples);
        to.put(&(offset as u32).to_le_bytes())?;
        for found in samples(job.listing, *span) {
            let (number, sample) = found?;
            offset += self.length(job, &job.listing.shards[number], &sample)?;
            to.put(&(offset as u32).to_le_bytes())?;
        }
        to.put(&self.config)
    }

    fn sample(&self, row: &mut ExportRow<'_, '_>, to: &mut OutFile) -> Result<(), Failure> {
        let key = row.key()?;
        for column in &self.order {
            let size = match column {
                None => key.len() as u64,
                Some(n) if self.sizes[*n].is_some() => continue,
                Some(n) => row.parts[*n].map_or(0, |part| part.length),
            };
            to.put(&(size as u32).to_le_bytes())?;
        }
        for column in &self.order {
            match column {
                None => to.put(key.as_bytes())?,
                Some(n) => row.put(*n, to)?,
            }
        }
        Ok(())
    }

    fn finish(&self, job: &Job<'_>, files: &[WrittenFile], to: &Staging) -> Result<(), Failure> {
        let shards: Vec<Value> = files
            .iter()
            .map(|file| {
                let mut shard = self.head.clone();
                shard["raw_data"] =
                    json!({"basename": file.name, "bytes": file.bytes, "hashes": {}});
                shard["samples"] = json!(file.span.samples);
                shard["zip_data"] = Value::Null;
                shard
            })
            .collect();
        let mut index = json!({"shards": shards, "version": 2});
        if let Some(note) = job.columns.note() {
            index[array_note::KEY] = note.json();
        }
        let index = index.to_string();
        let path = to.path().join("index.json");
        Ok(write_as(&path, index.as_bytes(), job.options.durability)?)
    }
}
