//! `Refused`: why a sample is left out of its shard, or why the run ends.

use tarflume_base::{Failure, Problem};

/// Why a sample is left out of its shard.
pub(in crate::run) enum Refused {
    /// Its files have a fault.
    Problem(Box<Problem>),
    /// The machine failed.
    Failure(Failure),
}

impl From<tarflume_formats::Error> for Refused {
    fn from(error: tarflume_formats::Error) -> Refused {
        Refused::Failure(error.into())
    }
}
