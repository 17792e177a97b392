//! From ordinals to reads: where the wanted parts of a batch's samples stand, neighbours merged into
//! one read.
//!
//! A [`Plan`] is used again for batch after batch and then allocates nothing. It reads sidecars only;
//! bytes of shards are read by [`Plan::read`], one run at a time, by whichever thread has it.

use std::ops::Range;

use tarflume_formats::checksum::crc32c;
use tarflume_formats::name;

use crate::dataset::Dataset;
use crate::error::{Error, ErrorKind, Result};
use crate::source::Source;

/// Which checksums are asked while parts are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Verify {
    /// None.
    #[default]
    Off,
    /// Those of one sample in 64, others every time the data set is read in another order.
    Sampled,
    /// All.
    All,
}

impl Verify {
    /// `random` is a hash of the sample and the pass.
    fn asks(self, random: u64) -> bool {
        match self {
            Verify::Off => false,
            Verify::Sampled => random.is_multiple_of(64),
            Verify::All => true,
        }
    }
}

/// A part that is wanted of every sample.
#[derive(Debug, Clone, PartialEq, Eq)]
struct WantedPart {
    /// Extensions; the first that a sample has is taken.
    alternatives: Vec<String>,
    optional: bool,
}

/// The parts that are wanted of every sample.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wanted(Vec<WantedPart>);

impl Wanted {
    /// Parts by extension, alternatives divided by `;` ("jpg;jpeg;png"), each with whether a sample may
    /// lack it.
    ///
    /// # Errors
    /// An extension without a letter.
    pub fn new(parts: &[(String, bool)]) -> Result<Wanted> {
        let parse = |(text, optional): &(String, bool)| {
            let alternatives: Vec<_> =
                text.split(';').map(|ext| ext.trim().trim_start_matches('.').to_lowercase()).collect();
            if alternatives.iter().any(String::is_empty) {
                let text = format!("'{text}' names no part: say an extension, as \"jpg\" or \"jpg;png\"");
                return Err(Error::usage(text));
            }
            Ok(WantedPart { alternatives, optional: *optional })
        };
        parts.iter().map(parse).collect::<Result<_>>().map(Wanted)
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if nothing is wanted but the keys.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The alternatives of the `n`th part.
    pub fn alternatives(&self, n: usize) -> &[String] {
        &self.0[n].alternatives
    }
}

/// A read: neighbouring parts of one shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// The shard.
    pub shard: usize,
    /// The first byte that is read.
    pub start: u64,
    /// Bytes that are read.
    pub length: u64,
    items: Range<usize>,
}

/// One sample of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item {
    /// Its row in the batch.
    pub row: usize,
    /// Its ordinal.
    pub ordinal: u64,
    shard: usize,
    /// Its row in the shard.
    shard_row: u64,
    /// The first byte that it needs, and the byte after the last.
    span: (u64, u64),
    /// Its first entry among the parts.
    parts: usize,
    /// It can't be read: [`Plan::fault`] says why.
    bad: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct PartAt {
    at: u64,
    length: u64,
    checksum: Option<u32>,
    /// Which of the alternatives; the number of alternatives if there is none.
    alternative: usize,
}

/// How reads are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// A read of several samples is no longer than this many bytes.
    pub run: u64,
    /// Neighbours that lie no more than this many bytes apart become one read.
    pub gap: u64,
    /// A read has no more samples than this, so that all threads have some.
    pub items: usize,
}

/// The reads of one batch.
#[derive(Debug, Default)]
pub struct Plan {
    runs: Vec<Run>,
    items: Vec<Item>,
    parts: Vec<PartAt>,
    wanted: usize,
}

impl Plan {
    /// Plans the reads for the samples `ordinals`, row by row. A sample that lacks a part or whose
    /// sidecar is damaged is bad, and the others are planned all the same.
    ///
    /// # Errors
    /// An ordinal that no data set of this size has.
    pub fn make(
        &mut self,
        dataset: &Dataset,
        ordinals: impl Iterator<Item = u64>,
        wanted: &Wanted,
        limits: Limits,
    ) -> Result<()> {
        self.runs.clear();
        self.items.clear();
        self.parts.clear();
        self.wanted = wanted.len();
        for (row, ordinal) in ordinals.enumerate() {
            let (shard, shard_row) = dataset.place(ordinal).ok_or_else(|| {
                let samples = dataset.len();
                Error::usage(format!("ordinal {ordinal} of a data set of {samples} samples"))
            })?;
            let parts = self.parts.len();
            self.parts.resize(parts + wanted.len(), PartAt::default());
            let found = look_up(dataset, shard, shard_row, wanted, &mut self.parts[parts..]);
            let (span, bad) = (found.as_ref().copied().unwrap_or((0, 0)), found.is_err());
            self.items.push(Item { row, ordinal, shard, shard_row, span, parts, bad });
        }
        self.items.sort_unstable_by_key(|item| (item.shard, item.span, item.row));
        self.merge(limits);
        Ok(())
    }

    fn merge(&mut self, limits: Limits) {
        for (at, item) in self.items.iter().enumerate() {
            let (start, end) = item.span;
            if let Some(run) = self.runs.last_mut() {
                let run_end = run.start + run.length;
                let joined = end.max(run_end) - run.start;
                let near = item.shard == run.shard && start <= run_end.saturating_add(limits.gap);
                if near && joined <= limits.run && run.items.len() < limits.items {
                    run.length = joined;
                    run.items.end = at + 1;
                    continue;
                }
            }
            let items = at..at + 1;
            self.runs.push(Run { shard: item.shard, start, length: end - start, items });
        }
    }

    /// The reads, in the order of the shards.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// All samples, in the order of the shards.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// The samples of a read.
    pub fn items_of(&self, run: &Run) -> &[Item] {
        &self.items[run.items.clone()]
    }

    /// Bytes of the `n`th wanted part of a sample; 0 if it lacks it.
    pub fn length(&self, item: &Item, n: usize) -> u64 {
        self.parts[item.parts + n].length
    }

    /// Says to the shards' sources what will be read soon.
    pub fn advise(&self, dataset: &Dataset) {
        for run in &self.runs {
            if let Ok(source) = dataset.shard(run.shard).source() {
                source.advise(run.start, run.length);
            }
        }
    }

    /// The key of a sample.
    ///
    /// # Errors
    /// A damaged sidecar.
    pub fn key<'a>(&self, dataset: &'a Dataset, item: &Item) -> Result<&'a [u8]> {
        let index = dataset.shard(item.shard).index()?;
        Ok(index.key(item.shard_row)?)
    }

    /// Why a sample can't be read, if it can't.
    ///
    /// # Errors
    /// That is the error.
    pub fn fault(&self, dataset: &Dataset, item: &Item, wanted: &Wanted) -> Result<()> {
        let mut parts = vec![PartAt::default(); wanted.len()];
        match item.bad {
            true => look_up(dataset, item.shard, item.shard_row, wanted, &mut parts).map(|_| ()),
            false => Ok(()),
        }
    }

    /// Reads `length` bytes from `start` on: lent where they are in memory, else into `buffer`.
    ///
    /// # Errors
    /// They can't be read.
    pub fn read<'a>(
        source: &'a dyn Source,
        (start, length): (u64, u64),
        buffer: &'a mut Vec<u8>,
    ) -> Result<Bytes<'a>> {
        let length = usize::try_from(length).map_err(|_| {
            Error::new(ErrorKind::Limit, format!("{length} bytes can't be read at once"))
        })?;
        if let Some(bytes) = source.view(start, length) {
            return Ok(Bytes { start, bytes, lent: true });
        }
        if buffer.len() < length {
            buffer.resize(length, 0);
        }
        source.read_at(start, &mut buffer[..length])?;
        Ok(Bytes { start, bytes: &buffer[..length], lent: false })
    }

    /// The extension and the bytes of the `n`th wanted part of a sample, out of what was read.
    pub fn part<'a>(
        &self,
        item: &Item,
        n: usize,
        wanted: &'a Wanted,
        read: Bytes<'a>,
    ) -> (&'a str, &'a [u8]) {
        let part = self.parts[item.parts + n];
        let ext = wanted.0[n].alternatives.get(part.alternative).map_or("", String::as_str);
        let start = part.at.saturating_sub(read.start) as usize;
        (ext, &read.bytes[start..start + part.length as usize])
    }

    /// The byte of the shard at which the `n`th wanted part of a sample begins.
    pub fn byte(&self, item: &Item, n: usize) -> u64 {
        self.parts[item.parts + n].at
    }

    /// Asks the checksums of a sample's parts, if `verify` says so.
    ///
    /// # Errors
    /// [`ErrorKind::Damaged`], with byte and part.
    pub fn verify(
        &self,
        item: &Item,
        wanted: &Wanted,
        read: Bytes<'_>,
        (verify, random): (Verify, u64),
    ) -> Result<()> {
        if !verify.asks(random) {
            return Ok(());
        }
        for n in 0..self.wanted {
            let part = self.parts[item.parts + n];
            let (ext, bytes) = self.part(item, n, wanted, read);
            if part.checksum.is_some_and(|checksum| checksum != crc32c(bytes)) {
                let text = format!(
                    "the bytes of part '{ext}' do not have the checksum that the sidecar states; \
                     `pack verify` tells all damage"
                );
                return Err(Error::new(ErrorKind::Damaged, text).with_byte(part.at));
            }
        }
        Ok(())
    }
}

impl Item {
    /// True if it can't be read; [`Plan::fault`] says why.
    pub fn is_bad(&self) -> bool {
        self.bad
    }

    /// Its shard.
    pub fn shard(&self) -> usize {
        self.shard
    }

    /// The bytes that it needs, as start and length.
    pub fn span(&self) -> (u64, u64) {
        (self.span.0, self.span.1 - self.span.0)
    }
}

/// Bytes of a shard, and where they begin in it.
#[derive(Debug, Clone, Copy)]
pub struct Bytes<'a> {
    start: u64,
    bytes: &'a [u8],
    lent: bool,
}

impl Bytes<'_> {
    /// True if they are the source's own: [`Source::check`] tells whether they were whole.
    pub fn is_lent(&self) -> bool {
        self.lent
    }
}

/// Finds the wanted parts of a sample; the span that holds them all.
fn look_up(
    dataset: &Dataset,
    shard: usize,
    row: u64,
    wanted: &Wanted,
    parts: &mut [PartAt],
) -> Result<(u64, u64)> {
    let shard = dataset.shard(shard);
    let index = shard.index()?;
    let sample = index.sample(row)?.ok_or_else(|| {
        let text = format!("row {row} of {}: the sidecar is stale", index.samples());
        Error::new(ErrorKind::Stale, text).with_path(shard.path())
    })?;
    for (part, wanted) in parts.iter_mut().zip(&wanted.0) {
        *part = PartAt { alternative: wanted.alternatives.len(), ..PartAt::default() };
    }
    let mut span = (u64::MAX, 0);
    for found in sample.parts() {
        let found = found?;
        for (part, wanted) in parts.iter_mut().zip(&wanted.0) {
            let alternative = wanted.alternatives.iter().position(|e| e.as_bytes() == found.ext);
            let Some(alternative) = alternative.filter(|&a| a < part.alternative) else { continue };
            let (at, length, checksum) = (found.offset, found.length, found.checksum);
            *part = PartAt { at, length, checksum, alternative };
        }
    }
    for (part, wanted) in parts.iter().zip(&wanted.0) {
        if part.alternative < wanted.alternatives.len() {
            span = (span.0.min(part.at), span.1.max(part.at.saturating_add(part.length)));
        } else if !wanted.optional {
            return Err(missing(&sample, wanted)
                .with_path(shard.path())
                .with_byte(sample.first)
                .with_key(sample.shown_key()));
        }
    }
    Ok(if span.1 == 0 { (0, 0) } else { span })
}

fn missing(sample: &tarflume_formats::index::Sample<'_>, wanted: &WantedPart) -> Error {
    let there: Vec<_> = sample.parts().flatten().map(|part| name::shown(part.ext)).collect();
    let text = format!(
        "the sample has no part '{}'; it has: {}",
        wanted.alternatives.join("' or '"),
        there.join(", ")
    );
    Error::new(ErrorKind::MissingPart, text)
}
