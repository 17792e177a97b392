//! A list of problems that a hopeless shard can't fill the memory with.

use crate::problem::Problem;

/// Problems listed for one shard, and for one set, at most; the rest is counted.
pub const LISTED_MAX: usize = 100_000;

/// Problems up to a number, and a count of the rest.
#[derive(Debug, Default)]
pub struct Problems {
    /// Those that are listed.
    pub listed: Vec<Problem>,
    /// How many are not.
    pub unlisted: u64,
}

impl Problems {
    /// Adds one.
    pub fn push(&mut self, problem: Problem) {
        if self.listed.len() < LISTED_MAX {
            self.listed.push(problem);
        } else {
            self.unlisted += 1;
        }
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }
}
