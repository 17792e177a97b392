//! `Refused`: why a sample is left out of its shard, or why the run ends.

use tarflume_base::{Failure, Problem};

/// Why a sample is left out of its shard.
pub(in crate::run) enum Refused {
    /// Its files have a fault.
    Problem(Box<PartProblem>),
    /// The machine failed.
    Failure(Failure),
}

impl Refused {
    /// Creates the refusal of a file that is there.
    pub(in crate::run) fn bad(problem: Problem) -> Refused {
        Refused::Problem(Box::new(PartProblem { problem, is_gone: false }))
    }

    /// Creates the refusal of a file that is not there.
    pub(in crate::run) fn gone(problem: Problem) -> Refused {
        Refused::Problem(Box::new(PartProblem { problem, is_gone: true }))
    }
}

/// A problem of a part.
#[derive(Debug, Clone)]
pub(in crate::run) struct PartProblem {
    pub(in crate::run) problem: Problem,
    /// There is no such file. It was removed, or its source is not mounted.
    pub(in crate::run) is_gone: bool,
}

impl From<tarflume_formats::Error> for Refused {
    fn from(error: tarflume_formats::Error) -> Refused {
        Refused::Failure(error.into())
    }
}
