//! LitData chunks: the format of `litdata.optimize` with dictionaries of leaves.
//!
//! A chunk is a u32 number of items n, n + 1 u32 offsets from its start, and the items: a u32 size
//! for each leaf, then the leaves. All numbers are little-endian. All sizes are known from the
//! sidecars, so the offsets are written before the items.

use serde_json::{Value, json};
use tarflume_base::{Failure, array_note};
use tarflume_formats::index::Sample;
use tarflume_formats::publish::write_as;
use tarflume_shards::listing::Shard;

use crate::export::columns::KEY;
use crate::export::formats::mds::{LIMIT, size_below_4_gib, too_large};
use crate::export::job::Job;
use crate::export::out_file::OutFile;
use crate::export::row::{ExportRow, key_text};
use crate::export::sink::{Sink, WrittenFile};
use crate::export::staging::Staging;
use crate::export::values::encoding::Encoding;
use crate::export::values::spans::{Span, samples};

/// The usual size of a chunk, that of `litdata.optimize`.
const USUAL: u64 = 64_000_000;

/// Writes LitData chunks.
pub(crate) struct LitData {
    /// Items are dictionaries with these names, the key first.
    names: Vec<String>,
    /// The serializer of each leaf.
    formats: Vec<&'static str>,
}

impl LitData {
    /// Prepares the leaves.
    ///
    /// # Errors
    /// Returns an error if a sample lacks a part.
    pub(crate) fn new(job: &Job<'_>) -> Result<LitData, Failure> {
        let columns = &job.columns;
        columns.must_be_everywhere(job.listing, "LitData")?;
        let exts = columns.list.iter().map(|column| column.ext.clone());
        let formats = columns.list.iter().map(|column| match column.encoding {
            Encoding::Jpeg => "jpeg",
            Encoding::Text | Encoding::Json => "str",
            Encoding::Int => "int",
            Encoding::Bytes | Encoding::Png => "bytes",
        });
        Ok(LitData {
            names: [KEY.to_string()].into_iter().chain(exts).collect(),
            formats: ["str"].into_iter().chain(formats).collect(),
        })
    }

    /// Returns the bytes of a sample in a chunk.
    fn length(&self, job: &Job<'_>, shard: &Shard, sample: &Sample<'_>) -> Result<u64, Failure> {
        let mut parts = Vec::new();
        job.columns.parts_of(shard, sample, &mut parts)?;
        let leaves =
            job.columns.list.iter().zip(&parts).map(|(column, part)| leaf(column.encoding, part));
        Ok(4 * self.names.len() as u64 + sample.key.len() as u64 + leaves.sum::<u64>())
    }

    /// Returns the structure of an item as the library stores it.
    fn spec(&self) -> String {
        let leaf = json!({"type": null, "context": null, "children_spec": []});
        let root = json!({
            "type": "builtins.dict",
            "context": json!(self.names).to_string(),
            "children_spec": vec![leaf; self.names.len()],
        });
        json!([1, root]).to_string()
    }
}

/// Returns the bytes of a leaf.
fn leaf(encoding: Encoding, part: &Option<tarflume_formats::index::Part<'_>>) -> u64 {
    match (encoding, part) {
        (_, None) => 0,
        (Encoding::Int, _) => 8,
        (_, Some(part)) => part.length,
    }
}

/// Returns the bytes before the items of a chunk.
fn before(items: u64) -> u64 {
    4 + 4 * (items + 1)
}

impl Sink for LitData {
    fn file_size(&self, given: Option<u64>) -> Result<u64, Failure> {
        Ok(size_below_4_gib(given, USUAL)?.saturating_sub(before(0)))
    }

    fn size(&self, job: &Job<'_>, shard: &Shard, sample: &Sample<'_>) -> Result<u64, Failure> {
        key_text(shard, sample)?;
        let bytes = self.length(job, shard, sample)?;
        if bytes + before(1) > LIMIT {
            return Err(too_large(shard, sample, bytes, "LitData"));
        }
        Ok(bytes + 4)
    }

    fn name(&self, number: usize, _: usize) -> String {
        format!("chunk-0-{number}.bin")
    }

    fn begin(&self, job: &Job<'_>, span: &Span, to: &mut OutFile) -> Result<(), Failure> {
        to.put(&(span.samples as u32).to_le_bytes())?;
        let mut offset = before(span.samples);
        to.put(&(offset as u32).to_le_bytes())?;
        for found in samples(job.listing, *span) {
            let (number, sample) = found?;
            offset += self.length(job, &job.listing.shards[number], &sample)?;
            to.put(&(offset as u32).to_le_bytes())?;
        }
        Ok(())
    }

    fn sample(&self, row: &mut ExportRow<'_, '_>, to: &mut OutFile) -> Result<(), Failure> {
        let key = row.key()?;
        to.put(&(key.len() as u32).to_le_bytes())?;
        for (n, part) in row.parts.iter().enumerate() {
            to.put(&(leaf(row.encoding(n), part) as u32).to_le_bytes())?;
        }
        to.put(key.as_bytes())?;
        for n in 0..row.parts.len() {
            row.put(n, to)?;
        }
        Ok(())
    }

    fn finish(&self, job: &Job<'_>, files: &[WrittenFile], to: &Staging) -> Result<(), Failure> {
        let chunks: Vec<Value> = files
            .iter()
            .map(|file| {
                json!({
                    "chunk_bytes": file.bytes,
                    "chunk_size": file.span.samples,
                    "dim": null,
                    "filename": file.name,
                })
            })
            .collect();
        let config = json!({
            "chunk_bytes": job.options.file_size.unwrap_or(USUAL),
            "chunk_size": null,
            "compression": null,
            "data_format": self.formats,
            "data_spec": self.spec(),
            "encryption": null,
            "item_loader": "PyTreeLoader",
        });
        let mut index = json!({"chunks": chunks, "config": config});
        if let Some(note) = job.columns.note() {
            index[array_note::KEY] = note.json();
        }
        let index = index.to_string();
        let path = to.path().join("index.json");
        Ok(write_as(&path, index.as_bytes(), job.options.durability)?)
    }
}
