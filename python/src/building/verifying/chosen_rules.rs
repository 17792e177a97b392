//! `ChosenRules`: the keywords of `verify` about its rules.

use std::path::PathBuf;

use tarflume_base::{Failure, ProblemKind};
use tarflume_verify::Rules;
use tarflume_verify::policy::{Baseline, Policy, rule};

/// The keywords as they are given.
pub(in crate::building) struct ChosenRules {
    pub(in crate::building) policy: Option<PathBuf>,
    pub(in crate::building) select: Vec<String>,
    pub(in crate::building) ignore: Vec<String>,
    pub(in crate::building) baseline: Option<PathBuf>,
}

impl ChosenRules {
    /// Reads the policy and the baseline.
    pub(in crate::building) fn rules(self) -> Result<Rules, Failure> {
        let select = named("select", &self.select)?;
        let ignore = named("ignore", &self.ignore)?;
        let policy = self.policy.as_deref().map(Policy::read).transpose()?;
        let stated = policy.as_ref().and_then(Policy::baseline).map(PathBuf::from);
        let baseline = self.baseline.or(stated).as_deref().map(Baseline::read).transpose()?;
        Ok(Rules::new(policy, select, ignore, baseline))
    }
}

fn named(keyword: &str, names: &[String]) -> Result<Vec<ProblemKind>, Failure> {
    let rules = names.iter().map(|name| rule(name));
    let rules = rules.collect::<Result<Vec<_>, String>>();
    rules.map_err(|why| Failure::usage(format!("{keyword}=: {why}")))
}
