//! `Problems`: a bounded list of problems; and `Sieve`, what a policy makes of each before the limit.

use std::fmt;
use std::sync::Arc;

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

/// Limit on the problems listed for one shard, and for one set; the rest is counted.
pub const LISTED_MAX: usize = 100_000;

/// A bounded list of problems and a count of the rest, so that a hopeless shard cannot fill the
/// memory.
#[derive(Debug, Default)]
pub struct Problems {
    /// The listed problems.
    pub listed: Vec<Problem>,
    /// The number of unlisted ones.
    pub unlisted: u64,
    /// What the sieve made warnings, as many as problems at most.
    pub warnings: Vec<Problem>,
    /// The number of those that the sieve dropped.
    pub dropped: u64,
    /// Decides about each problem; `None` lists all.
    sieve: Option<Arc<dyn Sieve>>,
}

impl Problems {
    /// Creates a list of what a sieve lets through.
    pub fn through(sieve: Arc<dyn Sieve>) -> Problems {
        Problems { sieve: Some(sieve), ..Problems::default() }
    }

    /// Adds one, as the sieve decides.
    pub fn push(&mut self, problem: Problem) {
        let verdict = self.sieve.as_ref().map_or(Verdict::Problem, |sieve| sieve.verdict(&problem));
        match verdict {
            Verdict::Problem => self.list(problem),
            Verdict::Warning => self.warn(problem),
            Verdict::Dropped => self.dropped += 1,
        }
    }

    /// Adds those of another list, about which its sieve has decided.
    pub fn join(&mut self, other: Problems) {
        other.listed.into_iter().for_each(|problem| self.list(problem));
        other.warnings.into_iter().for_each(|warning| self.warn(warning));
        self.unlisted += other.unlisted;
        self.dropped += other.dropped;
    }

    fn list(&mut self, problem: Problem) {
        if self.listed.len() < LISTED_MAX {
            self.listed.push(problem);
        } else {
            self.unlisted += 1;
        }
    }

    fn warn(&mut self, warning: Problem) {
        if self.warnings.len() < LISTED_MAX {
            self.warnings.push(warning);
        }
    }

    /// Returns true if nothing was found, whatever the sieve makes of it.
    pub fn is_sound(&self) -> bool {
        self.listed.is_empty() && self.warnings.is_empty() && self.unlisted + self.dropped == 0
    }

    /// Returns true if there is no problem.
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }
}
