//! Row sources: tables, arrays and archives -> the samples of a scan, and their bytes again when
//! they are packed.
//!
//! A source is listed once, while planning; the plan then holds the location of each part: a range
//! of bytes of a source file, or a row and column that the source's [`CellReader`] decodes. Texts
//! made from values are in the plan itself. Floors: `url` and `find` resolve names of sources,
//! `bytes` reads their files, `assign` maps columns to parts, `reader` reads bytes of planned parts,
//! and `decoded` knows which pictures need not be decoded again; each other file lists one kind of source.

pub(crate) mod columns;
mod data_set;
mod find;
pub(crate) mod formats;
pub(crate) mod places;
mod saved;
mod tar_words;
mod url;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tarflume_base::{Failure, split_names, units};
use tarflume_dataset::RowBlocks;
use tarflume_formats::plan::PlannedSource;
use tarflume_formats::shown::ShowPath;
use tarflume_scan::Scan;
use tarflume_scan::folders::walk::Watch;
use tarflume_scan::options::ScanOptions;
use tarflume_scan::rows::builder::ScanBuilder;
use tarflume_scan::samples::described::Columns;

pub use self::places::reader::{CellFault, CellReader, SourceReader};
pub use self::tar_words::KeyBy;
pub use self::tar_words::{IGNORE_ZEROS, KEY_BY};
pub use self::url::{SourceFormat, SourceUrl, SplitUrl};

/// Returns the files that a name with braces or wildcards stands for, sorted by bytes; of a folder those
/// with one of the endings. A name without wildcards need not exist.
///
/// # Errors
/// Returns an error for a pattern or a folder without files, and if the operating system refuses.
pub fn files_named(name: &str, endings: &'static [&'static str]) -> Result<Vec<PathBuf>, Failure> {
    find::files(Some(endings), name)
}

/// An array in a file.
#[derive(Debug, Clone)]
pub struct FoundArray {
    /// numpy's name of the type, little-endian: `float32`.
    pub dtype: String,
    /// The shape of one row.
    pub row: Vec<u64>,
    /// Where its rows are.
    pub rows: FoundRows,
}

/// Where the rows of an array are.
#[derive(Debug, Clone)]
pub enum FoundRows {
    /// In the file as they are: the first byte and the number of rows of each run of rows, in the order of rows.
    Places(Vec<(u64, u64)>),
    /// In blocks that are decoded as a whole.
    Blocks(RowBlocks, Arc<dyn ReadBlock>),
}

/// Reads and decodes blocks of rows of an array, from any thread.
pub trait ReadBlock: Send + Sync + std::fmt::Debug {
    /// Returns the rows of one block as little-endian numbers, row by row.
    ///
    /// # Errors
    /// Returns a fault if the bytes cannot be read or decoded. Its reason names the rows, and not the file.
    fn read(&self, rows: Range<u64>) -> Result<Vec<u8>, CellFault>;

    /// Returns the bytes of the largest piece of a block that is decoded at once. A piece at an edge of the array can be
    /// larger than the rows that it has.
    fn piece_bytes(&self) -> u64 {
        0
    }
}

/// The state that all kinds of sources share while they are listed.
pub(crate) struct Listing<'a, 'o> {
    /// The number of the first root of the source; a source has one root for each file it names.
    pub(crate) root: u32,
    /// Takes the rows.
    pub(crate) builder: &'a mut ScanBuilder<'o>,
    /// Counts rows, and ends the listing early.
    pub(crate) watch: Watch<'a>,
}

/// Lists the rows of all sources as a scan. The roots of the plan are the files of the sources, in
/// order; see [`roots`].
///
/// # Errors
/// Returns an error if a source is not of its kind, or the machine fails. What is wrong with a row
/// is a problem.
pub fn scan(
    sources: &[SourceUrl],
    options: &ScanOptions,
    watch: Watch<'_>,
) -> Result<Scan, Failure> {
    let mut builder = ScanBuilder::new(options);
    let mut root = 0;
    for source in sources {
        let before = builder.rows();
        if let Some(has) = columns_of(source.kind) {
            builder.begin(source, has);
        }
        let listing = Listing { root, builder: &mut builder, watch };
        match source.kind {
            SourceFormat::Idx => formats::arrays::idx::list(source, listing)?,
            SourceFormat::Mat => formats::arrays::mat::list(source, listing)?,
            SourceFormat::Npy => formats::npy::list(source, listing)?,
            SourceFormat::Csv | SourceFormat::Json | SourceFormat::Jsonl => {
                formats::table::list(source, listing)?;
            }
            SourceFormat::Npz => formats::npz::list(source, listing)?,
            SourceFormat::Raw => formats::raw::list(source, listing)?,
            SourceFormat::Tar => formats::tar::list(source, listing)?,
            SourceFormat::Zarr => formats::arrays::zarr::list(source, listing)?,
            SourceFormat::Zip => formats::zip::list(source, listing)?,
            SourceFormat::Mds => formats::mds::list(source, listing)?,
            SourceFormat::LitData => formats::litdata::list(source, listing)?,
            SourceFormat::TfRecord => formats::tfrecord::list(source, listing)?,
            #[cfg(feature = "tables")]
            SourceFormat::Arrow => formats::columnar::arrow::list(source, listing)?,
            #[cfg(feature = "tables")]
            SourceFormat::Parquet => formats::columnar::parquet::list(source, listing)?,
            #[cfg(feature = "hdf5")]
            SourceFormat::Hdf5 => formats::arrays::hdf5::list(source, listing)?,
            #[cfg(not(all(feature = "tables", feature = "hdf5")))]
            kind => return Err(Failure::usage(lacking(kind.word()))),
        }
        if builder.rows() == before && builder.notes.has_no_other() {
            builder.notes.push(empty(source));
        }
        root += source.files.len() as u32;
    }
    if let Some(found) = builder.described.stacked() {
        return Err(columns::stacked::refused(&found, sources));
    }
    let mut scan = builder.finish();
    scan.layout.splits = splits(sources);
    scan.layout.files = sources.iter().flat_map(|source| source.files.iter().cloned()).collect();
    Ok(scan)
}

/// Returns the split of each file: the one that manifests state, or, if none does, the one of its name.
fn splits(sources: &[SourceUrl]) -> Vec<Option<String>> {
    let has_own = sources.iter().any(|source| source.splits.iter().any(Option::is_some));
    let mut splits = Vec::new();
    for source in sources {
        for (n, path) in source.files.iter().enumerate() {
            splits.push(if has_own {
                source.splits.get(n).cloned().flatten()
            } else {
                split_names::of_file(path).map(String::from)
            });
        }
    }
    splits
}

/// Returns the note about a source without rows.
fn empty(source: &SourceUrl) -> String {
    let first = source.files.first().map_or_else(String::new, |file| file.shown().to_string());
    match source.files.len() {
        0 | 1 => format!("{first} has no rows, and each row is a sample"),
        files => format!(
            "{first} and {} have no rows, and each row is a sample",
            units::counted(files as u64 - 1, "other file", "other files")
        ),
    }
}

/// Returns what a source of this kind states about its columns, before it is listed. The files of tables and of npz state
/// theirs one by one, and those of archives nothing.
fn columns_of(kind: SourceFormat) -> Option<Columns> {
    match kind {
        SourceFormat::Arrow
        | SourceFormat::Npy
        | SourceFormat::Raw
        | SourceFormat::Mds
        | SourceFormat::LitData
        | SourceFormat::Parquet
        | SourceFormat::Zarr
        | SourceFormat::Hdf5 => Some(Columns::All),
        SourceFormat::TfRecord => Some(Columns::Some),
        SourceFormat::Csv
        | SourceFormat::Json
        | SourceFormat::Jsonl
        | SourceFormat::Npz
        | SourceFormat::Idx
        | SourceFormat::Mat => None,
        SourceFormat::Tar | SourceFormat::Zip => None,
    }
}

/// Creates a reader of planned parts of these sources under these roots; `times` tells whether
/// modification times are compared.
pub fn reader<'a>(
    sources: &'a [PlannedSource],
    roots: &'a [PathBuf],
    times: bool,
) -> SourceReader<'a> {
    SourceReader::new(sources, roots, times, open_cells)
}

/// Opens the reader of a source's cells.
fn open_cells(
    source: &PlannedSource,
    path: &Path,
    times: bool,
) -> Result<Box<dyn CellReader>, CellFault> {
    match source.kind.as_str() {
        formats::arrays::zarr::KIND => {
            return Ok(Box::new(formats::arrays::zarr::ZarrCells::open(source, path, times)?));
        }
        "zip" => return Ok(Box::new(formats::zip::ZipCells::open(path)?)),
        formats::arrays::mat::KIND => {
            return Ok(Box::new(formats::arrays::mat::MatCells::open(path, &source.options)?));
        }
        "npz" => return Ok(Box::new(formats::npz::NpzCells::open(path, &source.options)?)),
        places::row_cells::KIND => {
            return Ok(Box::new(places::row_cells::RowCells::open(path, &source.options)?));
        }
        "samples" => {
            return Ok(Box::new(formats::samples::SampleCells::open(path, &source.options)?));
        }
        #[cfg(feature = "tables")]
        "parquet" => {
            return Ok(Box::new(formats::columnar::parquet::ParquetCells::open(
                path,
                &source.options,
            )?));
        }
        #[cfg(feature = "tables")]
        formats::columnar::parquet::ROWS => {
            return Ok(Box::new(formats::columnar::parquet::StackCells::open(
                path,
                &source.options,
            )?));
        }
        #[cfg(feature = "hdf5")]
        "hdf5" => {
            return Ok(Box::new(formats::arrays::hdf5::Hdf5Cells::open(path, &source.options)?));
        }
        _ => {}
    }
    let text = format!(
        "the plan reads it as '{}', which this version cannot; use the version that planned it",
        source.kind
    );
    Err(Failure::bad_data(text).in_file(path).into())
}

/// Returns the message for a kind of source that was left out when the program was compiled.
#[cfg(not(all(feature = "tables", feature = "hdf5")))]
fn lacking(kind: &str) -> String {
    let feature = if matches!(kind, "arrow" | "parquet") { "tables" } else { kind };
    Failure::not_built(kind, feature).text()
}

/// Returns the roots of the plan: the files of the sources, and the folders of tables that name
/// files.
pub fn roots(sources: &[SourceUrl]) -> Vec<PathBuf> {
    let mut roots = Vec::new();
    for source in sources {
        match source.kind {
            SourceFormat::Csv | SourceFormat::Json | SourceFormat::Jsonl => {
                roots.extend(formats::table::roots(source));
            }
            SourceFormat::Arrow | SourceFormat::Parquet if source.names_files() => {
                roots.extend(formats::table::roots(source));
            }
            _ => roots.extend_from_slice(&source.files),
        }
    }
    roots
}

/// Returns the options of the sources for the plan: everything but where the files are.
pub fn planned(sources: &[SourceUrl]) -> Vec<String> {
    sources.iter().map(SourceUrl::planned).collect()
}

/// Returns where the rows of a column of a Parquet file are.
pub(crate) fn parquet_array(path: &Path, name: &str) -> Result<FoundArray, Failure> {
    #[cfg(feature = "tables")]
    return formats::columnar::parquet::find(path, name);
    #[cfg(not(feature = "tables"))]
    Err(Failure::usage(format!("'{name}': {}", lacking("parquet"))).in_file(path))
}

/// Returns where the rows of a data set of an HDF5 file are.
pub(crate) fn hdf5_array(path: &Path, name: &str) -> Result<FoundArray, Failure> {
    #[cfg(feature = "hdf5")]
    return formats::arrays::hdf5::find(path, name);
    #[cfg(not(feature = "hdf5"))]
    Err(Failure::usage(format!("'{name}': {}", lacking("hdf5"))).in_file(path))
}

/// Returns where the rows of an array of Zarr are; an empty name is the folder itself.
pub(crate) fn zarr_array(path: &Path, name: &str) -> Result<FoundArray, Failure> {
    formats::arrays::zarr::find(&formats::arrays::zarr::Place::Folder(path.into()), name)
}

/// Returns where the rows of an array of Zarr in a store are, `None` if it has no metadata of Zarr there; an empty name is the
/// URL itself.
#[cfg(feature = "remote")]
pub(crate) fn zarr_in_store(
    url: &str,
    name: &str,
    options: &[(String, String)],
) -> Result<Option<FoundArray>, Failure> {
    let pairs = options.iter().map(|(name, value)| (name, value));
    let options = tarflume_store::Options::from_pairs(pairs)?;
    let store = tarflume_store::Store::open(url, &options)?;
    let place = formats::arrays::zarr::Place::Store { store, under: String::new() };
    formats::arrays::zarr::find_if_any(&place, name)
}

/// Returns true for the folder of an array or a group of Zarr.
///
/// # Errors
/// Returns an error if the operating system refuses.
pub fn is_zarr(folder: &Path) -> Result<bool, Failure> {
    formats::arrays::zarr::is_zarr(folder)
}
