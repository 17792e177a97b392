//! Random access to samples by ordinal or key.
//!
//! For single samples. An epoch reads through `fetch`, which merges reads.

use std::sync::Arc;

use tarflume_formats::index::{self, SampleRow};
use tarflume_types::{Error, ErrorKind, Result};

use crate::dataset::Dataset;
use crate::dataset::sample::{DatasetSample, SampleBytes, SamplePart};
use crate::source::Source;

impl Dataset {
    /// Returns the sample with this ordinal and all its parts.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`]: the ordinal does not exist. Returns an error if the shard cannot be opened
    /// or read.
    pub fn get(&self, ordinal: u64) -> Result<DatasetSample> {
        self.sample(ordinal, None)
    }

    /// Returns the sample with this ordinal and only the parts `exts`, in that order. Other parts are
    /// not read.
    ///
    /// # Errors
    /// As [`Dataset::get`]. [`ErrorKind::MissingPart`]: the sample does not have one of the parts.
    pub fn get_parts(&self, ordinal: u64, exts: &[&str]) -> Result<DatasetSample> {
        self.sample(ordinal, Some(exts))
    }

    /// Returns the first sample with this key and all its parts; `None` if no sample has the key.
    ///
    /// # Errors
    /// As [`Dataset::get`] and [`Dataset::find`].
    pub fn get_key(&self, key: impl AsRef<[u8]>) -> Result<Option<DatasetSample>> {
        let found = self.find(key.as_ref())?;
        let ordinal = found.and_then(|(shard, row)| self.ordinal(shard, row));
        ordinal.map(|ordinal| self.get(ordinal)).transpose()
    }

    /// Returns the key of the sample with this ordinal.
    ///
    /// # Errors
    /// As [`Dataset::get`].
    pub fn key(&self, ordinal: u64) -> Result<Vec<u8>> {
        let (shard, row) = self.place_of(ordinal)?;
        let mut found = SampleRow::new();
        self.shard(shard).look_up(row, &mut found)?;
        Ok(found.key().to_vec())
    }

    /// Shard and row of a sample, or an error if the ordinal does not exist.
    #[doc(hidden)]
    pub fn place_of(&self, ordinal: u64) -> Result<(usize, u64)> {
        self.place(ordinal).ok_or_else(|| {
            let samples = self.len();
            Error::usage(format!("sample {ordinal} does not exist: the data set has {samples}"))
        })
    }

    fn sample(&self, ordinal: u64, exts: Option<&[&str]>) -> Result<DatasetSample> {
        let (number, row) = self.place_of(ordinal)?;
        let shard = self.shard(number);
        let mut found = SampleRow::new();
        shard.look_up(row, &mut found).map_err(|e| e.with_path(shard.path()))?;
        let parts = match exts {
            None => found.parts().collect(),
            Some(exts) => {
                let parts: Result<Vec<_>> = exts.iter().map(|ext| wanted(&found, ext)).collect();
                parts.map_err(|e| {
                    e.with_path(shard.path()).with_byte(found.first()).with_key(found.shown_key())
                })?
            }
        };
        let points = parts.iter().map(|part| {
            let mut points = Vec::new();
            let found = shard.entry_points(part.number, u64::MAX, &mut points)?;
            Ok(found.then(|| points.into()))
        });
        let points = points.collect::<Result<Vec<Option<Box<[u8]>>>>>();
        let points = points.map_err(|e| e.with_path(shard.path()).with_key(found.shown_key()))?;
        let source = shard.source()?;
        let bytes = read(&source, &parts).map_err(|e| e.with_path(shard.path()));
        let bytes = bytes.map_err(|e| e.with_key(found.shown_key()))?;
        for (part, bytes) in parts.iter().zip(&bytes) {
            let compared = shard.compare(&*source, &found, part, bytes);
            compared.map_err(|e| e.with_path(shard.path()))?;
        }
        let parts =
            parts.iter().zip(bytes).zip(points).map(|((part, bytes), entry_points)| SamplePart {
                ext: part.ext.into(),
                bytes,
                entry_points,
                at: part.offset,
                checksum: part.checksum,
            });
        Ok(DatasetSample {
            key: found.key().into(),
            ordinal,
            parts: parts.collect(),
            path: shard.path().into(),
        })
    }
}

/// Parts with at most so many other bytes between them are asked for together.
const GAP: u64 = 64 << 10;

fn wanted<'a>(sample: &'a SampleRow, ext: &str) -> Result<index::Part<'a>> {
    let mut have = Vec::new();
    for part in sample.parts() {
        if part.ext.eq_ignore_ascii_case(ext.as_bytes()) {
            return Ok(part);
        }
        have.push(tarflume_formats::name::shown(part.ext));
    }
    let text = format!("the sample has no part '{ext}'; it has: {}", have.join(", "));
    Err(Error::new(ErrorKind::MissingPart, text))
}

/// Reads parts: as views if the source supports them, otherwise into one shared buffer.
fn read(source: &Arc<dyn Source>, parts: &[index::Part<'_>]) -> Result<Vec<SampleBytes>> {
    let lengths: Result<Vec<usize>> = parts.iter().map(|part| fits(part.length)).collect();
    let lengths = lengths?;
    if let Some(views) = parts
        .iter()
        .zip(&lengths)
        .map(|(part, &length)| {
            let part: &index::Part<'_> = part;
            SampleBytes::view(source, part.offset, length)
        })
        .collect()
    {
        source.check()?;
        return Ok(views);
    }
    let total = lengths.iter().try_fold(0usize, |sum, &length| sum.checked_add(length));
    let total = total.ok_or_else(too_long)?;
    let mut buffer = Vec::new();
    if total > isize::MAX as usize {
        return Err(too_long());
    }
    buffer.try_reserve_exact(total).map_err(|e| {
        let text = format!("cannot allocate {total} bytes for the parts; request fewer");
        Error::new(ErrorKind::Machine, text).with_source(e)
    })?;
    buffer.resize(total, 0);
    // Of a store, the parts are asked for together.
    let start = parts.iter().map(|part| part.offset).min().unwrap_or(0);
    let end = parts.iter().map(|part| part.offset + part.length).max().unwrap_or(0);
    if parts.len() > 1 && end - start <= total as u64 + GAP {
        source.advise(start, end - start);
    }
    let mut rest = &mut buffer[..];
    let mut ranges = Vec::with_capacity(parts.len());
    let mut at = 0;
    for (part, &length) in parts.iter().zip(&lengths) {
        let (into, behind) = rest.split_at_mut(length);
        source.read_at(part.offset, into)?;
        ranges.push(at..at + length);
        (rest, at) = (behind, at + length);
    }
    let buffer = Arc::new(buffer);
    Ok(ranges.into_iter().map(|range| SampleBytes::owned(&buffer, range)).collect())
}

fn fits(length: u64) -> Result<usize> {
    usize::try_from(length).map_err(|_| too_long())
}

fn too_long() -> Error {
    Error::new(ErrorKind::Limit, "the parts are longer than the available memory; request fewer")
}
