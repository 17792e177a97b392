//! `SamplePart` and `PartPlace`: one part of a sample, and its place among the samples that were taken ahead.

use tarflume_formats::plan::{PlannedPart, PlannedSample};

/// A part, and the sample that has it.
#[derive(Debug, Clone, Copy)]
pub(in crate::run) struct SamplePart<'a> {
    pub(in crate::run) sample: &'a PlannedSample,
    pub(in crate::run) planned: &'a PlannedPart,
}

impl<'a> SamplePart<'a> {
    /// Creates a part of this sample.
    pub(in crate::run) fn new(
        sample: &'a PlannedSample,
        planned: &'a PlannedPart,
    ) -> SamplePart<'a> {
        SamplePart { sample, planned }
    }
}

/// The place of a part among the samples that were taken ahead. Places have the order of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::run) struct PartPlace {
    /// The number of the sample among those taken, from 0.
    pub(in crate::run) sample: usize,
    /// The number of the part in its sample, from 0.
    pub(in crate::run) part: usize,
}
