//! `mds:folder`: the samples of MosaicML's MDS shards.
//!
//! Reads `index.json`, offsets, the first bytes of images and the columns that become JSON. Parts
//! of shards without compression are ranges of them.

use std::path::Path;

use tarflume_base::Failure;
use tarflume_base::array_note::ArrayNote;
use tarflume_foreign::mds::{Column as Stored, Encoding, Index, Shard};
use tarflume_formats::Error;
use tarflume_formats::message;

use crate::rows::Listing;
use crate::rows::columns::assign::{Column, ColumnKind, Roles, with_arrays};
use crate::rows::columns::numbers;
use crate::rows::formats::samples::{self, CellOptions, File, Reading, Table};
use crate::rows::places::bytes::Store;
use crate::rows::url::SourceUrl;
use tarflume_scan::rows::builder::Root;

/// The name of the index.
pub(crate) const INDEX: &str = "index.json";
/// Limit on an index.
const INDEX_MAX: u64 = 512 << 20;

/// Lists the samples of folders of shards.
///
/// # Errors
/// Returns an error for a folder without an index, for shards that are not as it says, for a
/// pickled column that is not left out, and if the operating system refuses.
pub(crate) fn list(source: &SourceUrl, mut listing: Listing<'_, '_>) -> Result<(), Failure> {
    listing.builder.call_rows("sample");
    let mut samples = 0;
    for (n, folder) in source.files.iter().enumerate() {
        let path = folder.join(INDEX);
        let json = read_index(&path, "mds")?;
        let index = Index::parse(&json).map_err(|e: Error| Failure::from(e.with_path(&path)))?;
        let note = ArrayNote::of_index(&json, &path)?;
        for shard in &index.shards {
            let table = table(shard, source, &note)?;
            table.roles.note_left_out(&table.columns, source, &mut listing.builder.notes);
            table.roles.notes.iter().for_each(|note| listing.builder.notes.push(note.clone()));
            for column in table.roles.described(&table.columns) {
                listing.builder.describe(column)?;
            }
            let options = options(shard);
            let kind = if options.zstd.is_some() || !options.arrays.is_empty() {
                ("samples", serde_json::to_value(&options).expect("texts and numbers serialize"))
            } else {
                ("bytes", serde_json::Value::Null)
            };
            let root = Root { number: listing.root + n as u32, path: folder };
            let number = listing.builder.source(root, &shard.file, kind.0, kind.1)?;
            let path = folder.join(&shard.file);
            check_size(&path, shard.bytes)?;
            let compressed = shard.zstd.is_some();
            let file = File { source: number, path: &path, compressed, samples: shard.samples };
            let store = match shard.zstd {
                Some(size) => Store::zstd(&path, size)?,
                None => Store::open(&path)?,
            };
            samples::list(&table, &file, store, &mut samples, &mut listing)?;
        }
    }
    Ok(())
}

/// Reads the index of a folder of shards.
///
/// # Errors
/// Returns an error if there is none, it is too large, or the operating system refuses.
pub(crate) fn read_index(path: &Path, word: &str) -> Result<Vec<u8>, Failure> {
    use tarflume_formats::files;
    if !files::exists(path)? {
        return Err(Failure::usage(
            message!("{path} does not exist; {word}: takes the folder that has it"; path = path),
        )
        .with_file(path));
    }
    let found = files::metadata(path, "examine")?;
    if found.len() > INDEX_MAX {
        let text = format!("an index of {} bytes; 512 MiB are the limit", found.len());
        return Err(Failure::usage(text).in_file(path));
    }
    Ok(files::read_whole(path, "read")?)
}

/// Refuses a file with another size than its index says.
fn check_size(path: &Path, bytes: u64) -> Result<(), Failure> {
    let found = tarflume_formats::files::metadata(path, "examine")?.len();
    if found == bytes {
        return Ok(());
    }
    let text = format!("it has {found} bytes, and the index says {bytes}");
    Err(Failure::bad_data(text).in_file(path))
}

fn options(shard: &Shard) -> CellOptions {
    let numbered = shard.columns.iter().enumerate();
    let arrays = numbered.filter_map(|(n, column)| Some((n as u16, array_text(column)?)));
    CellOptions {
        zstd: shard.zstd,
        sizes: shard.columns.iter().map(|column| column.size).collect(),
        arrays: arrays.collect(),
    }
}

/// Returns the encoding of a column of arrays with their own type or shape; `None` for another column.
fn array_text(column: &Stored) -> Option<String> {
    let Encoding::AnyArray(kind, dims) = &column.encoding else { return None };
    let dims = dims.as_ref().map(|dims| {
        let dims: Vec<String> = dims.iter().map(u64::to_string).collect();
        format!(":{}", dims.join(","))
    });
    Some(format!("ndarray:{}{}", kind.unwrap_or(""), dims.unwrap_or_default()))
}

fn table(shard: &Shard, source: &SourceUrl, note: &ArrayNote) -> Result<Table, Failure> {
    if shard.columns.len() > usize::from(u16::MAX) {
        return Err(Failure::usage("mds: more than 65,535 columns; name a folder of fewer"));
    }
    let columns = with_arrays(shard.columns.iter().map(column).collect(), note);
    let readings = shard.columns.iter().map(reading).collect();
    let sizes = shard.columns.iter().map(|column| column.size).collect();
    let roles = Roles::new(&columns, source, &[])?;
    Ok(Table { columns, readings, sizes, roles })
}

fn column(stored: &Stored) -> Column {
    let kind = match &stored.encoding {
        Encoding::Bytes => ColumnKind::Bytes,
        Encoding::Image(ext) => ColumnKind::File((*ext).into()),
        Encoding::Text => ColumnKind::Text,
        Encoding::Json => ColumnKind::Json,
        Encoding::Whole => ColumnKind::Number("int64"),
        Encoding::Digits => ColumnKind::Number("float64"),
        Encoding::Number(kind) => ColumnKind::Number(numbers::json_kind(kind)),
        Encoding::Array(kind, dims) => ColumnKind::Array((*kind).into(), dims.clone()),
        Encoding::AnyArray(..) => ColumnKind::AnyArray,
        Encoding::Refused(why) => ColumnKind::Refused(why.clone()),
    };
    Column { name: stored.name.clone(), kind }
}

fn reading(stored: &Stored) -> Reading {
    match &stored.encoding {
        Encoding::Text => Reading::Text,
        Encoding::Json => Reading::Json,
        Encoding::Whole => Reading::Whole,
        Encoding::Digits => Reading::Digits,
        Encoding::Number(kind) => Reading::Number(kind),
        Encoding::AnyArray(kind, dims) => Reading::AnyArray(*kind, dims.clone()),
        Encoding::Bytes | Encoding::Image(_) | Encoding::Array(..) | Encoding::Refused(_) => {
            Reading::Bytes
        }
    }
}
