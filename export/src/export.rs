//! Writes a data set in the format of another loader: the work of `pack export`. Prints nothing.
//!
//! `spans` divides the samples among output files by their sizes alone, so that files are written in
//! parallel and their bytes do not depend on the number of threads. Every format is a
//! `sink::Sink`, one file each: `mds`, `litdata`, `tfrecord`, `folder`, `csv`, `coco`,
//! `parquet_file`.
//! `window` reads tars and compares checksums, `out_file` writes, `staging` is the output folder
//! under its temporary name, `columns` and `fields` decide how parts and JSON become columns.
//!
//! Memory is a window and a buffer for each thread, whatever the sizes of parts and files; parts of
//! text are held whole, and Parquet holds a page and the JSON fields of one row group.

mod columns;
mod fields;
pub(crate) mod formats;
mod job;
mod options;
mod out_file;
mod row;
mod sink;
mod staging;
pub(crate) mod values;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use tarflume_base::Failure;
use tarflume_formats::Durability;
use tarflume_formats::publish::{folder_of, sync_folder};
use tarflume_shards::index::in_parallel;
use tarflume_shards::listing::Listing;

use columns::Columns;
use job::{Job, from_the_start, whole};
use out_file::OutFile;
use sink::{Sink, WrittenFile};
use staging::Staging;
use values::spans::Span;

pub use job::Exported;
pub use options::{ExportOptions, Format, JsonAs, Numbers};
pub use values::encoding::Encoding;

/// Writes the samples of `listing` to `out`, which must not exist: a folder, or a file for
/// [`Format::Csv`] and [`Format::Coco`]. `on_bytes` gets the bytes of the parts that were read since its last call.
///
/// # Errors
/// Returns an error if `out` exists, if the format cannot hold the data (with the sample and the
/// remedy), if a part is damaged, or if the operating system refuses. Nothing is at `out` then.
pub fn export(
    listing: &Listing,
    out: &Path,
    options: &ExportOptions,
    on_bytes: &(dyn Fn(u64) + Sync),
) -> Result<Exported, Failure> {
    staging::must_be_new(out)?;
    let columns = Columns::of(listing, options)?;
    let job = Job { listing, options, columns, on_bytes, failed: AtomicBool::new(false) };
    let made = match options.format {
        Format::Csv => formats::csv::export(&job, out),
        Format::Coco => formats::coco::export(&job, out),
        Format::Folder => formats::folder::export(&job, out),
        Format::Mds => formats::mds::Mds::new(&job).and_then(|sink| files(&job, &sink, out)),
        Format::LitData => {
            formats::litdata::LitData::new(&job).and_then(|sink| files(&job, &sink, out))
        }
        Format::TfRecord => {
            formats::tfrecord::TfRecord::new(&job).and_then(|sink| files(&job, &sink, out))
        }
        Format::Parquet | Format::Hf => parquet(&job, out),
    }?;
    let unproved = listing.shards.iter().filter(|shard| !shard.index.has_checksums()).count();
    Ok(Exported { samples: listing.samples(), unproved: unproved as u64, ..made })
}

#[cfg(feature = "tables")]
fn parquet(job: &Job<'_>, out: &Path) -> Result<Exported, Failure> {
    let sink = formats::parquet_file::ParquetFiles::new(job)?;
    files(job, &sink, out)
}

#[cfg(not(feature = "tables"))]
fn parquet(_: &Job<'_>, _: &Path) -> Result<Exported, Failure> {
    Err(Failure::not_built("Parquet", "tables"))
}

/// Writes the files of `sink` in a folder that gets the name `out` once all are complete.
fn files(job: &Job<'_>, sink: &dyn Sink, out: &Path) -> Result<Exported, Failure> {
    let limit = sink.file_size(job.options.file_size)?;
    let spans =
        values::spans::plan(job.listing, limit, |shard, sample| sink.size(job, shard, sample))?;
    let staging = Staging::create(out)?;
    let written = fill(job, sink, &staging, spans).map_err(from_the_start)?;
    staging.publish(job.options.durability)?;
    let bytes = written.iter().map(|file| file.bytes).sum();
    Ok(Exported { files: written.len() as u64, bytes, ..Exported::default() })
}

fn fill(
    job: &Job<'_>,
    sink: &dyn Sink,
    staging: &Staging,
    spans: Vec<Span>,
) -> Result<Vec<WrittenFile>, Failure> {
    let total = spans.len();
    let numbered: Vec<(usize, Span)> = spans.into_iter().enumerate().collect();
    let written = in_parallel(job.options.jobs, numbered, |(number, span)| {
        job.noting(one(job, sink, staging, sink.name(number, total), span))
    })?;
    let written = whole(written)?;
    sink.finish(job, &written, staging)?;
    if job.options.durability == Durability::Synced {
        let paths = written.iter().map(|file| staging.path().join(&file.name));
        let below: BTreeSet<PathBuf> = paths.map(|path| folder_of(&path).into()).collect();
        below.iter().try_for_each(sync_folder)?;
        sync_folder(staging.path())?;
    }
    Ok(written)
}

fn one(
    job: &Job<'_>,
    sink: &dyn Sink,
    staging: &Staging,
    name: String,
    span: Span,
) -> Result<WrittenFile, Failure> {
    job.go_on()?;
    staging.create_folder_of(&name)?;
    let file = OutFile::create(&staging.path().join(&name))?;
    let file = sink.write(job, &span, file)?;
    let bytes = file.publish(job.options.durability)?;
    Ok(WrittenFile { name, bytes, span })
}

#[cfg(test)]
mod tests;
