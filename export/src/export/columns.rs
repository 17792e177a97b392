//! Which parts of the samples become columns, and in which encoding. Looks at the sidecars alone.

use std::collections::BTreeMap;

use tarflume_base::array_note::ArrayNote;
use tarflume_base::{Choice, Failure};
use tarflume_formats::Column as Described;
use tarflume_formats::index::{Part, Sample};
use tarflume_formats::message;
use tarflume_formats::message::{Call, Name, Task};
use tarflume_formats::name;
use tarflume_formats::{Error, ErrorKind};
use tarflume_shards::listing::{Listing, Shard};

use crate::export::options::{ExportOptions, Format, JsonAs};
use crate::export::values::encoding::Encoding;

/// The column of keys in every format, as in webdataset.
pub(super) const KEY: &str = "__key__";
/// Limit on columns of parts: data with more of them have one extension for each sample.
const MAX_COLUMNS: usize = 1000;

/// The parts with one extension.
#[derive(Debug)]
pub(super) struct Column {
    /// The extension, which is the name of the column.
    pub(super) ext: String,
    /// How its bytes are declared.
    pub(super) encoding: Encoding,
    /// True if every sample has it.
    pub(super) everywhere: bool,
    /// Type and shape, if the data set states that it is an array and its bytes stay as they are.
    pub(super) array: Option<Described>,
}

/// The columns of parts, sorted by name.
#[derive(Debug)]
pub(super) struct Columns {
    /// The columns.
    pub(super) list: Vec<Column>,
    /// The column `json`, if its fields become columns.
    pub(super) json: Option<usize>,
}

impl Columns {
    /// Chooses the columns for an export.
    ///
    /// # Errors
    /// Returns an error if a sidecar is damaged, if an option names an extension that no sample
    /// has, and if an extension cannot be the name of a column.
    pub(super) fn of(listing: &Listing, options: &ExportOptions) -> Result<Columns, Failure> {
        let counts = counts(listing)?;
        let given = options.parts.iter().flatten();
        for wanted in given.chain(options.encodings.iter().map(|(ext, _)| ext)) {
            if !counts.contains_key(wanted.as_bytes()) {
                let there: Vec<_> = counts.keys().map(|ext| name::shown(ext)).collect();
                return Err(Failure::usage(format!(
                    "no sample has a part '{}'; there are: {}",
                    name::shown(wanted.as_bytes()),
                    there.join(", ")
                )));
            }
        }
        let mut list = Vec::new();
        for (ext, count) in counts {
            let mut column = column(&ext, count == listing.samples(), options)?;
            let is_given = options.encodings.iter().any(|(of, _)| *of == column.ext);
            if column.encoding == Encoding::Bytes && !is_given {
                column.array = array_of(&column.ext, listing);
            }
            if options.parts.as_ref().is_none_or(|parts| parts.contains(&column.ext)) {
                list.push(column);
            }
        }
        let as_columns = options.json() == JsonAs::Columns;
        let json = list.iter().position(|column| as_columns && column.is_fields());
        if as_columns && matches!(options.format, Format::Mds | Format::LitData) {
            return Err(Failure::usage(
                message!("{} has no empty cells, so fields of JSON cannot be columns; use {json}", options.format.word(); json = Name::Json.is("text")),
            ));
        }
        Ok(Columns { list, json })
    }

    /// Fills `into` with the parts of a sample, by column; returns the sum of their bytes.
    ///
    /// # Errors
    /// Returns an error if the sidecar is damaged.
    pub(super) fn parts_of<'a>(
        &self,
        shard: &Shard,
        sample: &Sample<'a>,
        into: &mut Vec<Option<Part<'a>>>,
    ) -> Result<u64, Failure> {
        into.clear();
        into.resize(self.list.len(), None);
        let mut bytes = 0;
        for part in sample.parts() {
            let part = part?;
            let column = self.list.iter().position(|column| column.ext.as_bytes() == part.ext);
            if let Some(column) = column {
                into[column] = Some(part);
                bytes += part.length;
            }
        }
        shard.index.intact()?;
        Ok(bytes)
    }

    /// Returns the note about the arrays.
    pub(super) fn note(&self) -> Option<ArrayNote> {
        ArrayNote::new(self.list.iter().filter_map(|column| column.array.clone()))
    }

    /// Returns an error if a sample lacks a part, for formats in which every sample has every
    /// column.
    ///
    /// # Errors
    /// Returns also an error if a sidecar is damaged.
    pub(super) fn must_be_everywhere(
        &self,
        listing: &Listing,
        format: &str,
    ) -> Result<(), Failure> {
        let Some(missing) = self.list.iter().find(|column| !column.everywhere) else {
            return Ok(());
        };
        for shard in &listing.shards {
            for sample in shard.index.iter() {
                let sample = sample?;
                if sample.part(missing.ext.as_bytes())?.is_none() {
                    let text = message!("this sample has no part '{0}', which other samples have, and {format} has no empty cells; \
                             choose other parts with {parts}, or export to parquet, hf or tfrecord", name::shown(missing.ext.as_bytes()); parts = Name::Parts);
                    return Err(Error::new(ErrorKind::WrongFormat, text)
                        .with_path(&shard.tar)
                        .with_byte(sample.first)
                        .with_key(sample.shown_key())
                        .into());
                }
            }
        }
        Ok(())
    }
}

impl Column {
    /// Returns true for the part whose fields can become columns.
    pub(super) fn is_fields(&self) -> bool {
        self.ext == "json"
    }
}

fn column(ext: &[u8], everywhere: bool, options: &ExportOptions) -> Result<Column, Failure> {
    let Ok(ext) = String::from_utf8(ext.to_vec()) else {
        let text = message!("the extension '{}' is not UTF-8 and cannot name a column; leave it out with {parts}", name::shown(ext); parts = Name::Parts);
        return Err(Failure::bad_data(text));
    };
    let given = options.encodings.iter().find(|(of, _)| *of == ext);
    let encoding = given.map_or_else(|| Encoding::of(&ext), |&(_, encoding)| encoding);
    Ok(Column { ext, encoding, everywhere, array: None })
}

/// Returns what the manifest states about a part that is an array.
fn array_of(ext: &str, listing: &Listing) -> Option<Described> {
    let columns = &listing.manifest.as_ref()?.about.columns;
    columns.iter().find(|column| column.name == ext && column.shape.is_some()).cloned()
}

/// Counts the parts with each extension.
fn counts(listing: &Listing) -> Result<BTreeMap<Vec<u8>, u64>, Failure> {
    let mut all: BTreeMap<Vec<u8>, u64> = BTreeMap::new();
    for shard in &listing.shards {
        let mut counts: BTreeMap<&[u8], u64> = BTreeMap::new();
        for sample in shard.index.iter() {
            for part in sample?.parts() {
                *counts.entry(part?.ext).or_default() += 1;
            }
        }
        for (ext, count) in counts {
            *all.entry(ext.to_vec()).or_default() += count;
        }
        shard.index.intact()?;
        if all.len() > MAX_COLUMNS {
            let text = message!("there are more than {MAX_COLUMNS} extensions; list them with `{info}` and name the files by one \
                     dot"; info = Call::of(Task::Info));
            return Err(Failure::bad_data(text));
        }
    }
    Ok(all)
}
