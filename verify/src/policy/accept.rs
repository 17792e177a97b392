//! `Acceptance`: problems that are accepted until a date, with the reason.

use std::sync::atomic::{AtomicU64, Ordering};

use globset::{GlobBuilder, GlobMatcher};
use tarflume_base::{Problem, ProblemKind};

use super::date::Date;
use super::rules::rule;
use super::source::{Item, PolicyFault, Table};

/// Problems of one rule that are accepted until a date.
#[derive(Debug)]
pub(crate) struct Acceptance {
    pub(crate) rule: ProblemKind,
    /// The keys of the samples; `None` for any.
    keys: Option<Vec<String>>,
    /// A pattern of keys.
    key: Option<GlobMatcher>,
    /// A pattern of paths, relative to the folder of the policy.
    path: Option<GlobMatcher>,
    /// Why they are accepted.
    pub(crate) reason: String,
    /// The last day on which they are.
    pub(crate) until: Date,
    /// The line of the policy.
    pub(crate) line: usize,
    /// Problems that were accepted in this verification.
    accepted: AtomicU64,
}

impl Acceptance {
    /// Reads a table `[[accept]]`.
    ///
    /// # Errors
    /// Returns the first fault.
    pub(super) fn read(table: &Table<'_>) -> Result<Acceptance, PolicyFault> {
        table.only(&["rule", "keys", "key", "path", "reason", "until"])?;
        let rule = needed(table, "rule")?;
        let reason = needed(table, "reason")?.text()?.trim().to_string();
        if reason.is_empty() {
            return Err(table.fault("[[accept]]: say in 'reason' why these problems are accepted"));
        }
        let found = Acceptance {
            rule: accepted_rule(&rule)?,
            keys: table.get("keys").map(|item| item.texts()).transpose()?,
            key: pattern(table, "key")?,
            path: pattern(table, "path")?,
            reason,
            until: needed(table, "until")?.date()?,
            line: table.line(),
            accepted: AtomicU64::new(0),
        };
        if found.keys.is_none() && found.key.is_none() && found.path.is_none() {
            let reason = "[[accept]]: name the samples with 'keys', 'key' or 'path'; a whole rule is accepted in [rules]";
            return Err(table.fault(reason));
        }
        Ok(found)
    }

    /// Returns true if a problem of the file at `path` is accepted on this day.
    pub(crate) fn covers(&self, problem: &Problem, path: &str, today: Date) -> bool {
        let key = problem.key.as_deref();
        self.rule == problem.kind
            && today <= self.until
            && self.keys.as_ref().is_none_or(|keys| {
                key.is_some_and(|key| keys.iter().any(|accepted| accepted == key))
            })
            && self.key.as_ref().is_none_or(|glob| key.is_some_and(|key| glob.is_match(key)))
            && self.path.as_ref().is_none_or(|glob| glob.is_match(path))
    }

    /// Returns true if a problem was accepted.
    pub(crate) fn is_used(&self) -> bool {
        self.accepted.load(Ordering::Relaxed) > 0
    }

    /// Counts a problem that is accepted.
    pub(crate) fn count(&self) {
        self.accepted.fetch_add(1, Ordering::Relaxed);
    }
}

fn needed<'t>(table: &Table<'t>, key: &str) -> Result<Item<'t>, PolicyFault> {
    table.get(key).ok_or_else(|| {
        table.fault(format!("[[accept]]: '{key}' is missing: rule, reason and until are needed"))
    })
}

fn accepted_rule(item: &Item<'_>) -> Result<ProblemKind, PolicyFault> {
    let kind = rule(item.text()?).map_err(|why| item.fault(why))?;
    if kind == ProblemKind::PolicyAcceptance {
        return Err(
            item.fault("an acceptance that has ended is not accepted: correct it or take it out")
        );
    }
    Ok(kind)
}

fn pattern(table: &Table<'_>, key: &str) -> Result<Option<GlobMatcher>, PolicyFault> {
    let Some(item) = table.get(key) else { return Ok(None) };
    let text = item.text()?;
    let glob = GlobBuilder::new(text).literal_separator(true).build();
    glob.map(|glob| Some(glob.compile_matcher())).map_err(|why| item.fault(why))
}
