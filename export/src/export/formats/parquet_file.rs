//! Parquet files, plain and with the features of Hugging Face `datasets`.
//!
//! A row group stores column after column, so each column of parts is one pass over the tars: pages
//! of about 1 MiB leave memory as they fill, and no row group is held. Parts are stored plain:
//! compressing or sorting out images would cost time and save nothing.

mod cells;
mod refused;
mod schema;

use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::TypePtr;
use tarflume_base::Failure;
use tarflume_formats::index::Sample;
use tarflume_shards::listing::Shard;

use crate::export::fields::Fields;
use crate::export::job::Job;
use crate::export::options::Format;
use crate::export::out_file::OutFile;
use crate::export::row::ExportRow;
use crate::export::sink::Sink;
use crate::export::values::spans::{self, Span};
use refused::failed;
use schema::Leaf;

/// The usual size of a file, the largest that the Hub advises.
const USUAL: u64 = 500_000_000;
/// Bytes of a row group, as `datasets` writes them.
const GROUP: u64 = 100_000_000;
/// Limit on the rows of a row group.
const GROUP_ROWS: u64 = 65_536;
/// Limit on the JSON values of a row group, which are held in memory.
const GROUP_VALUES: u64 = 4_000_000;

/// Writes Parquet files.
pub(crate) struct ParquetFiles {
    format: Format,
    fields: Fields,
    leaves: Vec<Leaf>,
    schema: TypePtr,
    properties: WriterPropertiesPtr,
}

impl ParquetFiles {
    /// Finds the types of the columns.
    ///
    /// # Errors
    /// Returns the errors of [`Fields::of`], and an error if a field has the name of another
    /// column.
    pub(crate) fn new(job: &Job<'_>) -> Result<ParquetFiles, Failure> {
        let fields = Fields::of(job)?;
        let made = schema::of(job, &fields)?;
        Ok(ParquetFiles {
            format: job.options.format,
            fields,
            leaves: made.leaves,
            schema: made.schema,
            properties: made.properties,
        })
    }

    fn group(
        &self,
        job: &Job<'_>,
        span: Span,
        writer: &mut SerializedFileWriter<OutFile>,
        path: &Path,
    ) -> Result<(), Failure> {
        let fields = cells::fields(job, span, &self.fields)?;
        let mut rows = writer.next_row_group().map_err(|e| failed(e, path))?;
        for leaf in &self.leaves {
            let Some(mut column) = rows.next_column().map_err(|e| failed(e, path))? else {
                return Err(failed(ParquetError::General(format!("no column for {leaf:?}")), path));
            };
            cells::write(job, span, leaf, &fields, &mut column, path)?;
            column.close().map_err(|e| failed(e, path))?;
        }
        rows.close().map(drop).map_err(|e| failed(e, path))
    }
}

impl Sink for ParquetFiles {
    fn file_size(&self, given: Option<u64>) -> Result<u64, Failure> {
        Ok(given.unwrap_or(USUAL))
    }

    fn size(&self, job: &Job<'_>, shard: &Shard, sample: &Sample<'_>) -> Result<u64, Failure> {
        let mut parts = Vec::new();
        let bytes = job.columns.parts_of(shard, sample, &mut parts)?;
        Ok(bytes + 2 * sample.key.len() as u64 + 4 * parts.len() as u64)
    }

    fn name(&self, number: usize, total: usize) -> String {
        match self.format {
            Format::Hf => format!("data/train-{number:05}-of-{total:05}.parquet"),
            _ => format!("part-{number:05}-of-{total:05}.parquet"),
        }
    }

    /// Is not called: a row group stores columns, not samples.
    fn sample(&self, _: &mut ExportRow<'_, '_>, _: &mut OutFile) -> Result<(), Failure> {
        Ok(())
    }

    fn write(&self, job: &Job<'_>, span: &Span, to: OutFile) -> Result<OutFile, Failure> {
        let path: PathBuf = to.path().into();
        let schema = self.schema.clone();
        let properties = self.properties.clone();
        let mut writer =
            SerializedFileWriter::new(to, schema, properties).map_err(|e| failed(e, &path))?;
        let most = GROUP_ROWS.min(GROUP_VALUES / (self.fields.list.len() as u64).max(1)).max(1);
        let groups = spans::divide(job.listing, *span, GROUP, most, |shard, sample| {
            self.size(job, shard, sample)
        })?;
        for group in groups {
            self.group(job, group, &mut writer, &path)?;
        }
        writer.into_inner().map_err(|e| failed(e, &path))
    }
}
