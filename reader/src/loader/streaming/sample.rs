//! `ArrivedSample`: a sample of a stream, with the parts that were chosen for the columns.

use tarflume_dataset::StreamSample;
use tarflume_types::{Error, Result};

use crate::loader::pipeline::columns::{PartBytes, SampleFacts, SampleView};
use crate::loader::pipeline::pending_batch::PendingBatch;
use crate::loader::streaming::samples::{StreamSamples, located};
use crate::loader::streaming::source::StreamSource;
use crate::order::Key;

/// A row of a batch, and the sample in it.
#[derive(Clone, Copy)]
pub(crate) struct ArrivedSample<'a> {
    source: &'a StreamSource,
    batch: &'a PendingBatch<StreamSamples>,
    row: usize,
    sample: &'a StreamSample,
}

impl<'a> ArrivedSample<'a> {
    /// The sample of row `row`; `None` if it is bad.
    pub(crate) fn of_row(
        source: &'a StreamSource,
        batch: &'a PendingBatch<StreamSamples>,
        row: usize,
    ) -> Option<ArrivedSample<'a>> {
        let sample = batch.source().sample(row)?;
        Some(ArrivedSample { source, batch, row, sample })
    }
}

impl SampleView for ArrivedSample<'_> {
    fn row(&self) -> usize {
        self.row
    }

    fn ordinal(&self) -> u64 {
        self.batch.planned(self.row).ordinal
    }

    fn facts(&self) -> SampleFacts<'_> {
        let random = Key::new(self.source.seed, self.batch.content.epoch, b"sample  ");
        let seed = random.sub(self.sample.shard_number()).draw(self.sample.row());
        SampleFacts { key: self.sample.key(), ordinal: self.ordinal(), seed }
    }

    fn part(&self, need: usize) -> PartBytes<'_> {
        let wanted = &self.source.columns().wanted;
        let part = self.batch.source().part(wanted, self.row, need);
        PartBytes { ext: part.ext, bytes: part.bytes, ..PartBytes::default() }
    }

    /// A stream has no checksums of parts.
    fn verify(&self) -> Result<()> {
        Ok(())
    }

    fn locate(&self, need: Option<usize>, error: Error) -> Error {
        let wanted = &self.source.columns().wanted;
        let at = need.and_then(|need| self.batch.source().part(wanted, self.row, need).at);
        let first = self.sample.first();
        located(self.sample, error.in_part(at.unwrap_or(first)), first)
    }
}
