//! `ArrayDataset::packed`: the rows of arrays that are parts of a data set, `NAME.npy` of each sample, one after the other.
//!
//! A part is one block of rows. `pack build 'parquet:table.parquet?rows=4096'` writes such data sets.

use std::ops::Range;
use std::sync::Arc;

use tarflume_formats::index::SampleRow;
use tarflume_formats::name;
use tarflume_formats::npy::Header;
use tarflume_types::{DType, Error, ErrorKind, Result};

use crate::array::{ArrayDataset, DecodeRows, RowBlocks};
use crate::dataset::Dataset;
use crate::dataset::sample::DatasetSample;

impl ArrayDataset {
    /// The rows of the parts with the extension `ext` of all samples, in the order of the samples: npy files whose rows
    /// have one type and shape. Decoded blocks of `kept` bytes are kept; one block is, whatever its size. A block's bytes
    /// are compared with its checksum when it is read.
    ///
    /// ```no_run
    /// # fn main() -> tarflume_types::Result<()> {
    /// use tarflume_dataset::{ArrayDataset, Dataset};
    ///
    /// let dataset = Dataset::open("shards/")?;
    /// let prices = ArrayDataset::packed(&dataset, "price.npy", 1 << 30)?;
    /// let mut bytes = vec![0; prices.row_bytes()];
    /// prices.read_rows(&[1_000_000], &mut bytes)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Returns an error if a sample lacks the part, if the part is no npy file whose rows are contiguous and little-endian,
    /// if its length is that of no whole number of rows, and if a sidecar cannot be read.
    pub fn packed(dataset: &Dataset, ext: &str, kept: u64) -> Result<ArrayDataset> {
        if dataset.is_empty() {
            return Err(Error::usage("the data set has no samples, so an array has no type"));
        }
        let rows = RowFacts::of(dataset, ext)?;
        let starts = rows.starts(dataset)?;
        let shard = dataset.shards().first().expect("a sample is in a shard").path();
        let path = shard.parent().unwrap_or(shard).to_path_buf();
        let parts =
            PackedParts { dataset: dataset.clone(), rows: rows.clone(), starts: starts.clone() };
        ArrayDataset::in_blocks(
            path,
            rows.dtype,
            &rows.row,
            RowBlocks::At(starts),
            Arc::new(parts),
            kept,
        )
    }
}

/// What all parts have in common.
#[derive(Debug, Clone)]
struct RowFacts {
    ext: String,
    dtype: DType,
    /// The shape of a row.
    row: Vec<usize>,
    row_bytes: u64,
    /// Bytes before the first row.
    head: u64,
}

impl RowFacts {
    /// Reads the part of the first sample.
    fn of(dataset: &Dataset, ext: &str) -> Result<RowFacts> {
        let sample = dataset.get_parts(0, &[ext])?;
        let bytes = sample.part(ext).expect("get_parts returns the parts that it was asked for");
        let header = Header::parse(bytes).map_err(|e| located(&sample, e.into()))?;
        let Some((_, row)) = header.shape().split_first() else {
            return Err(refused(&sample, ext, "is a single number and has no rows"));
        };
        let row: Vec<usize> = row.iter().map(|&dim| dim as usize).collect();
        let Some(dtype) = element_of(&header) else {
            return Err(refused(
                &sample,
                ext,
                "has rows that are not contiguous little-endian numbers",
            ));
        };
        let row_bytes = row.iter().product::<usize>() * dtype.size();
        if row_bytes == 0 {
            return Err(refused(&sample, ext, "has rows without elements"));
        }
        Ok(RowFacts { ext: ext.into(), dtype, row, row_bytes: row_bytes as u64, head: header.data })
    }

    /// The first row of each part, and the number of all rows, from the lengths of the parts.
    fn starts(&self, dataset: &Dataset) -> Result<Arc<[u64]>> {
        let mut starts = Vec::with_capacity(dataset.len() as usize + 1);
        let mut rows = 0;
        let mut found = SampleRow::new();
        for shard in dataset.shards() {
            for row in 0..shard.samples() {
                shard.look_up(row, &mut found)?;
                starts.push(rows);
                rows += self
                    .rows_of(&found)
                    .map_err(|error| error.with_path(shard.path()).with_key(found.shown_key()))?;
            }
        }
        starts.push(rows);
        Ok(starts.into())
    }

    /// The rows of the part of a sample.
    fn rows_of(&self, sample: &SampleRow) -> Result<u64> {
        let ext = &self.ext;
        let part = sample.parts().find(|part| part.ext.eq_ignore_ascii_case(ext.as_bytes()));
        let Some(part) = part else {
            return Err(Error::new(ErrorKind::MissingPart, format!("it has no part '{ext}'")));
        };
        match part.length.checked_sub(self.head) {
            Some(bytes) if bytes.is_multiple_of(self.row_bytes) => Ok(bytes / self.row_bytes),
            _ => {
                let text = format!(
                    "its part '{ext}' has {} bytes, which is no whole number of rows of {} bytes after a header of {}, as \
                     the first sample has them",
                    part.length, self.row_bytes, self.head
                );
                Err(Error::new(ErrorKind::WrongFormat, text))
            }
        }
    }
}

/// The type of the numbers; `None` if they are not rows of contiguous little-endian numbers.
fn element_of(header: &Header) -> Option<DType> {
    let is_little = header.dtype.little || header.dtype.size == 1;
    let is_by_rows = !header.fortran || header.shape().len() < 2;
    DType::of_npy(header.dtype).filter(|_| is_little && is_by_rows)
}

/// Adds the place of a sample to its error.
fn located(sample: &DatasetSample, error: Error) -> Error {
    error.with_path(&*sample.path).with_key(name::shown(sample.key()))
}

fn refused(sample: &DatasetSample, ext: &str, why: &str) -> Error {
    let text = format!("its part '{ext}' {why}");
    located(sample, Error::new(ErrorKind::WrongFormat, text))
}

/// The parts of a data set as blocks of rows.
#[derive(Debug)]
struct PackedParts {
    dataset: Dataset,
    rows: RowFacts,
    starts: Arc<[u64]>,
}

impl DecodeRows for PackedParts {
    fn decode(&self, rows: Range<u64>) -> Result<Vec<u8>> {
        let RowFacts { ext, dtype, row, row_bytes, .. } = &self.rows;
        let ordinal = self.starts.partition_point(|&start| start <= rows.start) as u64 - 1;
        let sample = self.dataset.get_parts(ordinal, &[ext])?;
        sample.verify()?;
        let bytes = sample.part(ext).expect("get_parts returns the parts that it was asked for");
        let header = Header::parse(bytes).map_err(|e| located(&sample, e.into()))?;
        let count = rows.end - rows.start;
        let shape: Vec<u64> =
            [count].into_iter().chain(row.iter().map(|&dim| dim as u64)).collect();
        let is_same = element_of(&header) == Some(*dtype) && header.shape() == shape;
        let end = header.data.saturating_add(count * row_bytes);
        match bytes.get(header.data as usize..end as usize) {
            Some(bytes) if is_same => Ok(bytes.to_vec()),
            _ => Err(refused(
                &sample,
                ext,
                "has rows of another type or shape than the first sample",
            )),
        }
    }
}
