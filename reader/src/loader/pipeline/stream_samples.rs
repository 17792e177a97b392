//! `StreamSamples`: samples of a stream that a batch is made of, and which of their parts it needs.
//!
//! Holds the samples, and with them the stream's memory, until it is cleared. Decodes nothing.

use std::ops::Range;

use crate::error::Result;
use crate::fetch::wanted::Wanted;
use crate::stream::StreamSample;

/// A task is no smaller than this many bytes for the sake of threads.
const SHORT: u64 = 64 << 10;

/// Samples by row; `None` where one was bad.
#[derive(Debug, Default)]
pub(crate) struct StreamSamples {
    samples: Vec<Option<StreamSample>>,
    /// For each need of each row, the extension's number and which of the sample's parts it is.
    chosen: Vec<Option<(u32, usize)>>,
    /// The rows of each task.
    pieces: Vec<Range<usize>>,
}

/// A part that a row needs; of one that isn't there no bytes under an empty extension.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chosen<'a> {
    pub(crate) ext: &'a str,
    pub(crate) bytes: &'a [u8],
    /// Where it stands in the (unpacked) tar; `None`: it isn't there.
    pub(crate) at: Option<u64>,
}

impl StreamSamples {
    /// Forgets everything; the samples go back to their stream.
    pub(crate) fn clear(&mut self) {
        self.samples.clear();
        self.chosen.clear();
        self.pieces.clear();
    }

    /// The next row.
    pub(crate) fn push(&mut self, sample: Option<StreamSample>) {
        self.samples.push(sample);
    }

    /// Rows.
    pub(crate) fn rows(&self) -> usize {
        self.samples.len()
    }

    /// The sample of row `row`.
    pub(crate) fn sample(&self, row: usize) -> Option<&StreamSample> {
        self.samples[row].as_ref()
    }

    /// Finds the parts that row `row` needs. Rows are to be asked in order.
    ///
    /// # Errors
    /// One is not there; the sample is let go.
    pub(crate) fn choose(&mut self, wanted: &Wanted, row: usize) -> Result<()> {
        let found = match &self.samples[row] {
            Some(sample) => (0..wanted.len()).try_for_each(|need| {
                let parts = || sample.parts().enumerate().map(|(n, (ext, _))| (ext, n));
                self.chosen.push(wanted.pick(need, parts)?);
                Ok(())
            }),
            None => Ok(()),
        };
        self.chosen.resize((row + 1) * wanted.len(), None);
        found.map_err(|error: crate::error::Error| match self.samples[row].take() {
            Some(sample) => of(&sample, error, sample.first()),
            None => error,
        })
    }

    /// The part that meets need number `need` of row `row`.
    pub(crate) fn part<'a>(&'a self, wanted: &'a Wanted, row: usize, need: usize) -> Chosen<'a> {
        match (self.chosen[row * wanted.len() + need], &self.samples[row]) {
            (Some((ext, part)), Some(sample)) => {
                let (bytes, at) = sample.nth(part);
                Chosen { ext: wanted.ext(ext), bytes, at: Some(at) }
            }
            _ => Chosen { ext: "", bytes: &[], at: None },
        }
    }

    /// Cuts the rows into tasks for `threads` threads, four each if there is enough to do; how many.
    pub(crate) fn cut(&mut self, threads: usize) -> usize {
        let bytes = |row: &Option<StreamSample>| row.as_ref().map_or(0, StreamSample::bytes);
        let sum: u64 = self.samples.iter().map(bytes).sum();
        let piece = (sum / (4 * threads as u64)).max(SHORT);
        let (mut start, mut held) = (0, 0);
        for (row, sample) in self.samples.iter().enumerate() {
            held += bytes(sample);
            if held >= piece || row + 1 == self.samples.len() {
                self.pieces.push(start..row + 1);
                (start, held) = (row + 1, 0);
            }
        }
        self.pieces.len()
    }

    /// The rows of task `task`.
    pub(crate) fn piece(&self, task: usize) -> Range<usize> {
        self.pieces[task].clone()
    }
}

/// Says of an error which sample it is about.
pub(crate) fn of(
    sample: &StreamSample,
    error: crate::error::Error,
    byte: u64,
) -> crate::error::Error {
    let key = tarflume_formats::name::shown(sample.key());
    error.with_path(sample.shard()).with_byte(byte).with_key(key)
}
