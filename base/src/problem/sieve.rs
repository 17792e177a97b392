//! `Sieve`: what a policy makes of each problem, before the limit on listed problems.

use std::fmt;

use super::Problem;

/// What is done with a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is listed as a problem.
    Problem,
    /// It is listed as a warning.
    Warning,
    /// It is not listed.
    Dropped,
}

/// Decides about each problem when it is found, so that a rule that is off cannot fill a bounded list.
pub trait Sieve: fmt::Debug + Send + Sync {
    /// Decides about a problem that was found. A problem that was listed once is listed again.
    fn verdict(&self, problem: &Problem) -> Verdict;
}
