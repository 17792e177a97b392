//! `Sift`: what becomes of each problem, in one order: off, accepted, known, level.
//!
//! 1. **Off**: a rule that `--select` or `--ignore` leaves out, or that the policy turns off, is dropped.
//! 2. **Accepted**: what an acceptance of the policy covers on this day is counted and dropped.
//! 3. **Known**: what the baseline has is counted and dropped, as often as the baseline has it.
//! 4. **Level**: the rest is a problem or a warning, as the policy says.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tarflume_base::{Problem, ProblemKind, Sieve, Verdict};
use tarflume_formats::{ClassTable, IgnorePoison};
use tarflume_shards::remote_folder::RemoteFolder;

use super::baseline::{Baseline, Identity};
use super::bounds::Bounds;
use super::date::Date;
use super::document::Policy;
use super::rules::{Levels, RuleLevel};
use crate::class_field::ClassField;

/// The rules of a verification.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// The policy, if there is one.
    pub policy: Option<Arc<Policy>>,
    /// The rules that are reported; empty for all.
    pub select: Vec<ProblemKind>,
    /// Rules that are left out.
    pub ignore: Vec<ProblemKind>,
    /// The problems that are known.
    pub baseline: Option<Arc<Baseline>>,
    /// What is demanded of the data set that is verified.
    pub(crate) set: Option<Arc<SetRules>>,
}

impl Rules {
    /// Creates the rules of a verification.
    pub fn new(
        policy: Option<Policy>,
        select: Vec<ProblemKind>,
        ignore: Vec<ProblemKind>,
        baseline: Option<Baseline>,
    ) -> Rules {
        let policy = policy.map(Arc::new);
        Rules { policy, select, ignore, baseline: baseline.map(Arc::new), set: None }
    }
}

/// What all sets of a verification share.
#[derive(Debug)]
struct Shared {
    rules: Rules,
    today: Date,
    accepted: AtomicU64,
    known: AtomicU64,
    /// How often each problem of the baseline was not found yet.
    left: Mutex<HashMap<Identity, u64>>,
}

/// Decides about the problems of one data set.
#[derive(Debug, Clone)]
pub(crate) struct Sift {
    levels: Arc<Levels>,
    shared: Arc<Shared>,
}

impl Sift {
    /// Begins a verification with these rules on a day.
    pub(crate) fn new(rules: &Rules, today: Date) -> Sift {
        let known = rules.baseline.iter().flat_map(|baseline| baseline.known());
        let left = known.map(|(identity, count)| (identity.clone(), count)).collect();
        let levels = rules.policy.as_ref().map(|policy| policy.base.levels.clone());
        Sift {
            levels: Arc::new(levels.unwrap_or_default()),
            shared: Arc::new(Shared {
                rules: rules.clone(),
                today,
                accepted: AtomicU64::new(0),
                known: AtomicU64::new(0),
                left: Mutex::new(left),
            }),
        }
    }

    /// Returns the same with the levels of one data set.
    pub(crate) fn with_levels(&self, levels: Levels) -> Sift {
        Sift { levels: Arc::new(levels), shared: Arc::clone(&self.shared) }
    }

    /// Decides about a problem; `usual` is the level of the rule if the policy states none.
    pub(crate) fn decide(&self, problem: &Problem, usual: RuleLevel) -> Verdict {
        let level = self.levels.of(problem.kind).unwrap_or(usual);
        if self.is_off(problem.kind) || level == RuleLevel::Off {
            return Verdict::Dropped;
        }
        if self.is_accepted(problem) || self.is_known(problem) {
            return Verdict::Dropped;
        }
        if level == RuleLevel::Warning { Verdict::Warning } else { Verdict::Problem }
    }

    /// Returns true if the command line leaves a rule out.
    fn is_off(&self, kind: ProblemKind) -> bool {
        let Rules { select, ignore, .. } = &self.shared.rules;
        (!select.is_empty() && !select.contains(&kind)) || ignore.contains(&kind)
    }

    fn is_accepted(&self, problem: &Problem) -> bool {
        let Some(policy) = &self.shared.rules.policy else { return false };
        if policy.accept.is_empty() {
            return false;
        }
        let path = policy.folder.relative(&problem.path);
        let today = self.shared.today;
        let mut covering = policy.accept.iter();
        let Some(covering) = covering.find(|one| one.covers(problem, &path, today)) else {
            return false;
        };
        covering.count();
        self.shared.accepted.fetch_add(1, Ordering::Relaxed);
        true
    }

    fn is_known(&self, problem: &Problem) -> bool {
        let Some(baseline) = &self.shared.rules.baseline else { return false };
        let identity = baseline.identity(problem);
        let mut left = self.shared.left.lock().ignore_poison();
        let Some(count) = left.get_mut(&identity).filter(|count| **count > 0) else { return false };
        *count -= 1;
        self.shared.known.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// Returns the policy, if there is one.
    pub(crate) fn policy(&self) -> Option<&Policy> {
        self.shared.rules.policy.as_deref()
    }

    pub(crate) fn rules(&self) -> &Rules {
        &self.shared.rules
    }

    pub(crate) fn today(&self) -> Date {
        self.shared.today
    }

    /// Returns the number of problems that were accepted.
    pub(crate) fn accepted(&self) -> u64 {
        self.shared.accepted.load(Ordering::Relaxed)
    }

    /// Returns the number of problems that the baseline has.
    pub(crate) fn known(&self) -> u64 {
        self.shared.known.load(Ordering::Relaxed)
    }

    /// Returns how often a problem of the baseline, whose file `is_seen`, was not found.
    pub(crate) fn gone(&self, is_seen: impl Fn(&str) -> bool) -> u64 {
        let left = self.shared.left.lock().ignore_poison();
        left.iter().filter(|(identity, _)| is_seen(&identity.path)).map(|(_, count)| count).sum()
    }
}

/// What is demanded of one data set.
#[derive(Debug, Clone)]
pub(crate) struct SetRules {
    pub(crate) sift: Sift,
    pub(crate) bounds: Arc<Bounds>,
    /// Where the class is, if classes are demanded.
    pub(crate) class: Option<ClassField>,
    /// The name of the policy's file.
    pub(crate) file: String,
    /// The store of a data set that is verified on copies.
    pub(crate) remote: Option<Arc<RemoteFolder>>,
}

impl SetRules {
    /// Returns what is demanded of the data set at a place.
    pub(crate) fn new(sift: &Sift, place: Option<&str>, table: Option<&ClassTable>) -> SetRules {
        let Some(policy) = sift.policy() else {
            let bounds = Arc::new(Bounds::default());
            let file = String::new();
            return SetRules { sift: sift.clone(), bounds, class: None, file, remote: None };
        };
        let demands = policy.demands(place);
        let classes = &demands.bounds.classes;
        let stated = classes.field.as_ref().map(|stated| stated.value.clone());
        let class = stated.or_else(|| ClassField::parse(&format!("json:{}", table?.pointer)).ok());
        SetRules {
            sift: sift.with_levels(demands.levels),
            class: class.filter(|_| classes.is_stated()),
            bounds: Arc::new(demands.bounds),
            file: policy.file_name(),
            remote: None,
        }
    }

    /// Returns how a reason names a bound: `pack.toml:14: parts.json = 99.5%`.
    pub(crate) fn bound(&self, line: usize, bound: &str) -> String {
        format!("{}:{line}: {bound}", self.file)
    }
}

impl Sieve for SetRules {
    fn verdict(&self, problem: &Problem) -> Verdict {
        match &self.remote {
            None => self.sift.verdict(problem),
            Some(remote) => self.sift.verdict(&remote.problem(problem.clone())),
        }
    }
}

impl Sieve for Sift {
    fn verdict(&self, problem: &Problem) -> Verdict {
        self.decide(problem, RuleLevel::Error)
    }
}

#[cfg(test)]
mod tests;
