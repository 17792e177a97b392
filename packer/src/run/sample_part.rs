//! `SamplePart` and `PartPlace`: one part of a sample, and its place among the samples that were taken ahead.

use tarflume_formats::plan::{PlannedPart, PlannedSample};

/// A part, and the sample that has it.
#[derive(Debug, Clone, Copy)]
pub(super) struct SamplePart<'a> {
    pub(super) sample: &'a PlannedSample,
    pub(super) planned: &'a PlannedPart,
}

impl<'a> SamplePart<'a> {
    /// Creates a part of this sample.
    pub(super) fn new(sample: &'a PlannedSample, planned: &'a PlannedPart) -> SamplePart<'a> {
        SamplePart { sample, planned }
    }
}

/// The place of a part among the samples that were taken ahead. Places have the order of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PartPlace {
    /// The number of the sample among those taken, from 0.
    pub(super) sample: usize,
    /// The number of the part in its sample, from 0.
    pub(super) part: usize,
}
