//! `SameBucket`: which ranks have batches of the same bucket.

use crate::error::Error;

/// Which batches all ranks take in one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SameBucket {
    /// Any: the batches of the whole job are one sequence, which does not depend on the number of ranks.
    #[default]
    Rank,
    /// Batches of one bucket, so that all ranks have the same shapes in a step.
    Step,
}

crate::words!(SameBucket, "the ranks of one bucket", { Rank => "rank", Step => "step" });
