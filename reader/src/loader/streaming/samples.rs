//! `StreamSamples`: the samples of a batch of a stream, and which of their parts it needs.
//!
//! Holds the samples, and with them the stream's memory, until it is cleared. Decodes nothing.

use std::ops::Range;

use tarflume_dataset::StreamSample;
use tarflume_types::{Error, Result};

use crate::fetch::part_needs::PartNeeds;
use crate::loader::pipeline::pending_batch::SourceWorkspace;

/// No task is cut shorter than this many bytes to give every thread one.
const SHORT: u64 = 64 << 10;

/// Samples by row; `None` for a bad one.
#[derive(Debug, Default)]
pub(crate) struct StreamSamples {
    samples: Vec<Option<StreamSample>>,
    /// For each need of each row, the extension's number and which of the sample's parts it is.
    chosen: Vec<Option<(u32, usize)>>,
    /// The rows of each task.
    tasks: Vec<Range<usize>>,
}

/// A part that a row needs. A part that the sample lacks has no bytes and an empty extension.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChosenPart<'a> {
    pub(crate) ext: &'a str,
    pub(crate) bytes: &'a [u8],
    /// Its first byte in the (unpacked) tar; `None` if the sample lacks it.
    pub(crate) at: Option<u64>,
}

impl SourceWorkspace for StreamSamples {
    /// The samples count against the memory limit of their stream until they are dropped.
    fn release(&mut self) {
        self.clear();
    }
}

impl StreamSamples {
    /// Drops everything; the memory of the samples goes back to their stream.
    pub(crate) fn clear(&mut self) {
        self.samples.clear();
        self.chosen.clear();
        self.tasks.clear();
    }

    /// Adds the next row.
    pub(crate) fn push(&mut self, sample: Option<StreamSample>) {
        self.samples.push(sample);
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.samples.len()
    }

    /// The sample of row `row`.
    pub(crate) fn sample(&self, row: usize) -> Option<&StreamSample> {
        self.samples[row].as_ref()
    }

    /// Finds the parts that row `row` needs. Call it for all rows, in order.
    ///
    /// # Errors
    /// The sample lacks a part; it is dropped.
    pub(crate) fn choose(&mut self, wanted: &PartNeeds, row: usize) -> Result<()> {
        let found = match &self.samples[row] {
            Some(sample) => (0..wanted.len()).try_for_each(|need| {
                self.chosen.push(
                    wanted
                        .pick(need, || sample.parts().enumerate().map(|(n, (ext, _))| (ext, n)))?,
                );
                Ok(())
            }),
            None => Ok(()),
        };
        self.chosen.resize((row + 1) * wanted.len(), None);
        found.map_err(|error: Error| self.reject(row, error.clone()).unwrap_or(error))
    }

    /// Drops the sample of row `row` because of `error`; returns the error with its place, or `None` if the row has no
    /// sample.
    pub(crate) fn reject(&mut self, row: usize, error: Error) -> Option<Error> {
        let sample = self.samples[row].take()?;
        Some(located(&sample, error, sample.first()))
    }

    /// The part that meets need number `need` of row `row`.
    pub(crate) fn part<'a>(
        &'a self,
        wanted: &'a PartNeeds,
        row: usize,
        need: usize,
    ) -> ChosenPart<'a> {
        match (self.chosen[row * wanted.len() + need], &self.samples[row]) {
            (Some((ext, part)), Some(sample)) => {
                let (bytes, at) = sample.nth(part);
                ChosenPart { ext: wanted.ext(ext), bytes, at: Some(at) }
            }
            _ => ChosenPart { ext: "", bytes: &[], at: None },
        }
    }

    /// Divides the rows into tasks for `threads` threads, four each if there is enough to do; returns the number of tasks.
    pub(crate) fn divide(&mut self, threads: usize) -> usize {
        let sum: u64 = self.samples.iter().map(bytes).sum();
        let enough = (sum / (4 * threads as u64)).max(SHORT);
        let mut start = 0;
        let mut held = 0;
        for (row, sample) in self.samples.iter().enumerate() {
            held += bytes(sample);
            if held >= enough || row + 1 == self.samples.len() {
                self.tasks.push(start..row + 1);
                (start, held) = (row + 1, 0);
            }
        }
        self.tasks.len()
    }

    /// The rows of task `task`.
    pub(crate) fn task(&self, task: usize) -> Range<usize> {
        self.tasks[task].clone()
    }
}

fn bytes(row: &Option<StreamSample>) -> u64 {
    row.as_ref().map_or(0, StreamSample::bytes)
}

/// Adds the place of a sample to an error; `byte` is where the sample, or the part, begins.
pub(crate) fn located(sample: &StreamSample, error: Error, byte: u64) -> Error {
    let key = tarflume_formats::name::shown(sample.key());
    error.with_path(sample.shard()).with_byte(byte).with_key(key)
}
