//! `Sink`: what a format of several files implements. [`Sink::write`] streams one file sample by
//! sample; only Parquet, which stores column after column, replaces it.

use tarflume_base::Failure;
use tarflume_formats::index::Sample;
use tarflume_shards::listing::Shard;

use crate::export::job::Job;
use crate::export::out_file::OutFile;
use crate::export::row::{ExportRow, Rows};
use crate::export::staging::Staging;
use crate::export::values::spans::Span;

/// A complete output file.
#[derive(Debug)]
pub(super) struct WrittenFile {
    /// Its path in the output folder.
    pub(super) name: String,
    /// Its bytes.
    pub(super) bytes: u64,
    /// Its samples.
    pub(super) span: Span,
}

/// Writes samples as the files of a format.
pub(super) trait Sink: Sync {
    /// Returns the bytes after which a new file begins, for the given or the usual size.
    ///
    /// # Errors
    /// Returns an error if the format cannot have files of the given size.
    fn file_size(&self, given: Option<u64>) -> Result<u64, Failure>;

    /// Returns the bytes that a sample adds to a file, or an estimate.
    ///
    /// # Errors
    /// Returns an error if the format cannot hold the sample.
    fn size(&self, job: &Job<'_>, shard: &Shard, sample: &Sample<'_>) -> Result<u64, Failure>;

    /// Returns the path of file `number` of `total` in the output folder.
    fn name(&self, number: usize, total: usize) -> String;

    /// Writes what is before the first sample of a file.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    fn begin(&self, _: &Job<'_>, _: &Span, _: &mut OutFile) -> Result<(), Failure> {
        Ok(())
    }

    /// Writes one sample.
    ///
    /// # Errors
    /// Returns an error if a part is damaged or the operating system refuses.
    fn sample(&self, row: &mut ExportRow<'_, '_>, to: &mut OutFile) -> Result<(), Failure>;

    /// Writes the samples of one file.
    ///
    /// # Errors
    /// Returns the errors of [`Sink::begin`] and [`Sink::sample`].
    fn write(&self, job: &Job<'_>, span: &Span, mut to: OutFile) -> Result<OutFile, Failure> {
        self.begin(job, span, &mut to)?;
        let mut rows = Rows::of(job, *span);
        while let Some(mut row) = rows.next()? {
            self.sample(&mut row, &mut to)?;
            (job.on_bytes)(row.bytes);
        }
        Ok(to)
    }

    /// Writes what describes all files.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    fn finish(&self, _: &Job<'_>, _: &[WrittenFile], _: &Staging) -> Result<(), Failure> {
        Ok(())
    }
}
