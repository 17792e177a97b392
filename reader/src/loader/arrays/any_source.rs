//! `AnySource`: the source of a loader that has an order: shards, or arrays.

use std::sync::Arc;

use tarflume_dataset::Dataset;
use tarflume_types::Result;

use crate::decode::Memory;
use crate::loader::arrays::planner::ArrayPlanner;
use crate::loader::arrays::source::ArraySource;
use crate::loader::bad_samples::OnBad;
use crate::loader::indexed::planner::IndexedPlanner;
use crate::loader::indexed::source::{IndexedSource, IndexedWorkspace};
use crate::loader::metrics::counters::Counters;
use crate::loader::pipeline::columns::ColumnSet;
use crate::loader::pipeline::pending_batch::PendingBatch;
use crate::loader::pipeline::source::{BatchSource, Planned};

/// Where the samples of an order are.
pub(crate) enum AnySource {
    /// In shards with sidecars.
    Shards(IndexedSource),
    /// In arrays, with a data set that has no shards.
    Arrays(ArraySource, Dataset),
}

/// The position of one epoch in its source.
pub(crate) enum AnyPlanner {
    Shards(Box<IndexedPlanner>),
    Arrays(Box<ArrayPlanner>),
}

impl AnyPlanner {
    /// Steps of the epoch.
    pub(crate) fn steps(&self) -> u64 {
        match self {
            AnyPlanner::Shards(planner) => planner.steps(),
            AnyPlanner::Arrays(planner) => planner.steps(),
        }
    }
}

impl AnySource {
    /// The data set; one without shards for arrays.
    pub(crate) fn dataset(&self) -> &Dataset {
        match self {
            AnySource::Shards(source) => &source.dataset,
            AnySource::Arrays(_, dataset) => dataset,
        }
    }

    pub(crate) fn columns(&self) -> &ColumnSet {
        match self {
            AnySource::Shards(source) => source.columns(),
            AnySource::Arrays(source, _) => &source.writer.columns,
        }
    }

    pub(crate) fn counters(&self) -> &Arc<Counters> {
        match self {
            AnySource::Shards(source) => &source.writer.counters,
            AnySource::Arrays(source, _) => &source.writer.counters,
        }
    }

    /// The memory that decoders take from.
    pub(crate) fn decode_memory(&self) -> &Arc<dyn Memory> {
        match self {
            AnySource::Shards(source) => &source.writer.decode_memory,
            AnySource::Arrays(source, _) => &source.writer.decode_memory,
        }
    }

    pub(crate) fn on_bad(&self) -> OnBad {
        match self {
            AnySource::Shards(source) => source.on_bad(),
            AnySource::Arrays(source, _) => source.writer.on_bad,
        }
    }
}

impl BatchSource for AnySource {
    type Workspace = IndexedWorkspace;
    type Planner = AnyPlanner;

    fn plan(
        &self,
        planner: &mut AnyPlanner,
        batch: &mut PendingBatch<IndexedWorkspace>,
    ) -> Result<Planned> {
        match (self, planner) {
            (AnySource::Shards(source), AnyPlanner::Shards(planner)) => source.plan(planner, batch),
            (AnySource::Arrays(source, _), AnyPlanner::Arrays(planner)) => {
                planner.plan(source, batch)
            }
            _ => unreachable!("a planner is made for its source"),
        }
    }

    fn run(&self, batch: &PendingBatch<IndexedWorkspace>, task: usize) {
        match self {
            AnySource::Shards(source) => source.run(batch, task),
            AnySource::Arrays(source, _) => source.run(batch, task),
        }
    }

    fn threads(&self) -> usize {
        match self {
            AnySource::Shards(source) => source.writer.threads,
            AnySource::Arrays(source, _) => source.writer.threads,
        }
    }
}
