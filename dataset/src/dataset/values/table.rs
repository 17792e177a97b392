//! `SampleTable`: what the sidecars contain about each sample, as columns, in batches of rows. Reads of a tar only what
//! must be compared, if it may have been changed after its sidecar was made.

use std::iter::FusedIterator;

use tarflume_formats::index::ColumnSpec;
use tarflume_types::{Error, ErrorKind, Result};

use crate::dataset::Dataset;
use crate::dataset::shard::proof_pass::{ProofNeeds, ProofPass};
use crate::dataset::values::table_values::TableColumn;

/// Rows of a batch.
const ROWS: usize = 1 << 16;

/// The samples of a data set as a table; made by [`Dataset::table`]. An iterator over batches of rows in the order of
/// ordinals. Memory: one batch.
///
/// ```
/// use tarflume::Dataset;
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let table = Dataset::open(shards)?.table()?;
/// assert_eq!(table.extensions(), ["jpg", "json", "txt"]);
/// for batch in table {
///     let batch = batch?;
///     let large = (0..batch.len()).filter(|&row| batch.lengths[0][row] > 10_000).count();
///     println!("{large} of {} pictures have more than 10 kB", batch.len());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct SampleTable {
    dataset: Dataset,
    extensions: Vec<String>,
    columns: Vec<ColumnSpec>,
    text: Vec<u8>,
    /// Columns of extensions as they are in sidecars.
    known: Vec<(Vec<u8>, usize)>,
    shard: usize,
    row: u64,
}

/// Rows of a [`SampleTable`].
#[derive(Debug, Clone, Default)]
pub struct TableBatch {
    /// The ordinal of the first row; the others follow.
    pub first: u64,
    /// All keys, one after the other.
    pub keys: Vec<u8>,
    /// Where each key ends in `keys`.
    pub key_ends: Vec<usize>,
    /// The number of the shard.
    pub shards: Vec<i32>,
    /// The row in the shard.
    pub rows: Vec<i64>,
    /// The byte of the tar at which the sample begins.
    pub offsets: Vec<i64>,
    /// Bytes of all parts together.
    pub bytes: Vec<i64>,
    /// Pixels of the first image; 0 if unknown.
    pub widths: Vec<i32>,
    /// Pixels of the first image; 0 if unknown.
    pub heights: Vec<i32>,
    /// For each extension, the bytes of the part; -1 if the sample has none.
    pub lengths: Vec<Vec<i64>>,
    /// The typed columns of the sidecars.
    pub columns: Vec<TableColumn>,
}

impl TableBatch {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The key of row `row`.
    ///
    /// # Panics
    /// Panics if the row does not exist.
    pub fn key(&self, row: usize) -> &[u8] {
        let start = row.checked_sub(1).map_or(0, |before| self.key_ends[before]);
        &self.keys[start..self.key_ends[row]]
    }
}

impl Dataset {
    /// The samples as a table: key, shard, row, offset, bytes, width, height, the bytes of each part, and the typed
    /// columns of the sidecars.
    ///
    /// If a tar may have been changed after its sidecar was made, the pictures and the parts that typed columns were
    /// copied from are read and compared, once in a process; `pack index` compares them once for all.
    ///
    /// # Errors
    /// As [`Dataset::extensions`].
    pub fn table(&self) -> Result<SampleTable> {
        let extensions = self.extensions()?.into_keys().collect();
        let columns = self.typed_columns().to_vec();
        Ok(SampleTable {
            dataset: self.clone(),
            extensions,
            columns,
            text: Vec::new(),
            known: Vec::new(),
            shard: 0,
            row: 0,
        })
    }
}

impl SampleTable {
    /// The extensions, in the order of [`TableBatch::lengths`].
    pub fn extensions(&self) -> &[String] {
        &self.extensions
    }

    /// The typed columns, in the order of [`TableBatch::columns`].
    pub fn columns(&self) -> &[ColumnSpec] {
        &self.columns
    }

    /// Number of rows of the whole table.
    pub fn len(&self) -> u64 {
        self.dataset.len()
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.dataset.is_empty()
    }

    fn batch(&mut self) -> Result<TableBatch> {
        let first = self.dataset.starts()[self.shard] + self.row;
        let lengths = vec![Vec::new(); self.extensions.len()];
        let columns = self.columns.iter().map(|spec| TableColumn::new(spec.kind)).collect();
        let mut batch = TableBatch { first, lengths, columns, ..TableBatch::default() };
        while batch.len() < ROWS && self.shard < self.dataset.shards().len() {
            let dataset = self.dataset.clone();
            let shard = dataset.shard(self.shard);
            if self.row == 0 {
                dataset.learn_ahead(self.shard);
            }
            let index = shard.index()?;
            let numbers = self.columns.iter().map(|spec| shard.column(spec));
            let numbers: Vec<usize> =
                numbers.collect::<Result<_>>().map_err(|e| e.with_path(shard.path()))?;
            let mut proofs = ProofPass::new(shard, self.needs());
            let end = shard.samples().min(self.row + (ROWS - batch.len()) as u64);
            while self.row < end {
                let sample = index.sample(self.row)?.ok_or_else(|| {
                    let text = "the manifest counts more samples than the sidecar has";
                    Error::new(ErrorKind::Stale, text).with_path(shard.path())
                })?;
                proofs.prove(self.row, sample.dimensions.is_some())?;
                let pushed = self.push(&mut batch, &sample);
                pushed.map_err(|e| e.with_path(shard.path()))?;
                for (&number, column) in numbers.iter().zip(&mut batch.columns) {
                    column.push(index.value(number, self.row, &mut self.text)?);
                }
                self.row += 1;
            }
            index.intact()?; // keys were copied from the map, which is zeros if the file was cut
            if self.row == shard.samples() {
                shard.forget();
                (self.shard, self.row) = (self.shard + 1, 0);
            }
        }
        Ok(batch)
    }

    /// What the table shows of a sample beside its place.
    fn needs(&self) -> ProofNeeds {
        let exts = self.columns.iter().map(|spec| spec.ext.clone()).collect();
        ProofNeeds { exts, pictures: true, headers: true }
    }

    fn push(
        &mut self,
        batch: &mut TableBatch,
        sample: &tarflume_formats::index::Sample<'_>,
    ) -> Result<()> {
        let mut all = 0_u64;
        batch.lengths.iter_mut().for_each(|lengths| lengths.push(-1));
        for part in sample.parts() {
            let part = part?;
            all = all.saturating_add(part.length);
            let column = self.column(part.ext).ok_or_else(|| {
                let ext = tarflume_formats::name::shown(part.ext);
                let text = format!("part '{ext}' is in the sidecar, but not in dataset.json");
                Error::new(ErrorKind::Stale, text).with_key(sample.shown_key())
            })?;
            if let Some(length) = batch.lengths[column].last_mut() {
                *length = signed(part.length);
            }
        }
        let (width, height) = sample.dimensions.unwrap_or((0, 0));
        batch.keys.extend_from_slice(sample.key);
        batch.key_ends.push(batch.keys.len());
        batch.shards.push(i32::try_from(self.shard).unwrap_or(i32::MAX));
        batch.rows.push(signed(self.row));
        batch.offsets.push(signed(sample.first));
        batch.bytes.push(signed(all));
        batch.widths.push(i32::try_from(width).unwrap_or(i32::MAX));
        batch.heights.push(i32::try_from(height).unwrap_or(i32::MAX));
        Ok(())
    }

    fn column(&mut self, ext: &[u8]) -> Option<usize> {
        if let Some((_, column)) = self.known.iter().find(|(known, _)| known == ext) {
            return Some(*column);
        }
        let name = tarflume_formats::name::shown(ext);
        let column = self.extensions.iter().position(|known| *known == name)?;
        self.known.push((ext.to_vec(), column));
        Some(column)
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl Iterator for SampleTable {
    type Item = Result<TableBatch>;

    /// The next rows. After an error there are none.
    fn next(&mut self) -> Option<Result<TableBatch>> {
        if self.shard >= self.dataset.shards().len() {
            return None;
        }
        match self.batch() {
            Ok(batch) if batch.is_empty() => None, // the last shards were empty
            Ok(batch) => Some(Ok(batch)),
            Err(error) => {
                self.shard = self.dataset.shards().len();
                Some(Err(error))
            }
        }
    }
}

impl FusedIterator for SampleTable {}
