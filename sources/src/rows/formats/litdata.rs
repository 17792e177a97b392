//! `litdata:folder`: the samples of LitData's chunks.
//!
//! The leaves of a sample are its columns. Parts of chunks without compression are ranges of them.

use std::path::Path;

use tarflume_base::Failure;
use tarflume_base::array_note::ArrayNote;
use tarflume_foreign::litdata::{Index, Leaf, LeafKind};
use tarflume_formats::Error;
use tarflume_formats::Place;

use crate::rows::Listing;
use crate::rows::columns::assign::{Column, ColumnKind, Roles, with_arrays};
use crate::rows::formats::mds::{INDEX, read_index};
use crate::rows::formats::samples::{self, CellOptions, File, Reading, Table};
use crate::rows::places::bytes::Store;
use crate::rows::url::SourceUrl;
use tarflume_scan::rows::builder::Root;

/// The last bytes of a chunk that has its samples as an Arrow table. LitData writes such chunks if
/// samples have only numbers, text and bytes; the offsets of the samples are then all equal.
const ARROW_END: &[u8] = b"LDARW01\0";

/// Lists the samples of folders of chunks.
///
/// # Errors
/// Returns an error for a folder without an index, for chunks that are not as it says, for a
/// pickled leaf that is not left out, and if the operating system refuses.
pub(crate) fn list(source: &SourceUrl, mut listing: Listing<'_, '_>) -> Result<(), Failure> {
    listing.builder.call_rows("sample");
    let mut samples = 0;
    for (n, folder) in source.files.iter().enumerate() {
        let path = folder.join(INDEX);
        let json = read_index(&path, "litdata")?;
        let index = Index::parse(&json).map_err(|e: Error| Failure::from(e.with_path(&path)))?;
        let table = table(&index, source, &ArrayNote::of_index(&json, &path)?)?;
        table.roles.note_left_out(&table.columns, source, &mut listing.builder.notes);
        table.roles.notes.iter().for_each(|note| listing.builder.notes.push(note.clone()));
        for column in table.roles.described(&table.columns) {
            listing.builder.describe(column)?;
        }
        for chunk in &index.chunks {
            let path = folder.join(&chunk.file);
            let mut store = Store::open(&path)?;
            refuse_arrow(&mut store, &path)?;
            if index.zstd {
                store = Store::zstd_of_any_size(&path)?;
            }
            let (kind, options) = if index.zstd {
                let zstd = Some(store.length());
                let options = CellOptions { zstd, sizes: table.sizes.clone(), arrays: Vec::new() };
                ("samples", serde_json::to_value(&options).expect("texts and numbers serialize"))
            } else {
                ("bytes", serde_json::Value::Null)
            };
            let root = Root { number: listing.root + n as u32, path: folder };
            let number = listing.builder.source(root, &chunk.file, kind, options)?;
            let file = File {
                source: number,
                path: &path,
                compressed: index.zstd,
                samples: chunk.samples,
            };
            samples::list(&table, &file, store, &mut samples, &mut listing)?;
        }
    }
    Ok(())
}

/// Refuses a chunk with an Arrow table. LitData never compresses such a chunk as a whole, even if
/// the index says that chunks are compressed.
fn refuse_arrow(store: &mut Store, path: &Path) -> Result<(), Failure> {
    let start = store.length().saturating_sub(ARROW_END.len() as u64);
    if store.length() < ARROW_END.len() as u64 || store.get(start, ARROW_END.len())? != ARROW_END {
        return Ok(());
    }
    Err(Failure::usage(
        "the samples are an Arrow table, which is not read; export them with LitData's \
         StreamingDataset and tarflume.ShardWriter",
    )
    .in_place(Place { path: Some(path.into()), byte: Some(start), key: None }))
}

fn table(index: &Index, source: &SourceUrl, note: &ArrayNote) -> Result<Table, Failure> {
    if index.leaves.len() > usize::from(u16::MAX) {
        return Err(Failure::usage("litdata: more than 65,535 leaves in a sample"));
    }
    let columns = with_arrays(index.leaves.iter().map(column).collect(), note);
    let readings = index.leaves.iter().map(reading).collect();
    let sizes = vec![None; columns.len()];
    let roles = Roles::new(&columns, source, &[])?;
    Ok(Table { columns, readings, sizes, roles })
}

fn column(leaf: &Leaf) -> Column {
    let kind = match &leaf.kind {
        LeafKind::Bytes => ColumnKind::Bytes,
        LeafKind::File(ext) => ColumnKind::File(ext.clone()),
        LeafKind::Text => ColumnKind::Text,
        LeafKind::Int => ColumnKind::Number("int64"),
        LeafKind::Float => ColumnKind::Number("float64"),
        LeafKind::Bool => ColumnKind::Number("bool"),
        LeafKind::Refused(why) => ColumnKind::Refused(why.clone()),
    };
    Column { name: leaf.name.clone(), kind }
}

fn reading(leaf: &Leaf) -> Reading {
    match leaf.kind {
        LeafKind::Text => Reading::Text,
        LeafKind::Int => Reading::Number("int64"),
        LeafKind::Float => Reading::Number("float64"),
        LeafKind::Bool => Reading::Number("bool"),
        LeafKind::Bytes | LeafKind::File(_) | LeafKind::Refused(_) => Reading::Bytes,
    }
}
