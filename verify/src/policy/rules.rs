//! `Levels`: what becomes of the problems of each rule; and lists of rules on a command line. A rule is a kind of problem.

use std::collections::BTreeMap;

use tarflume_base::ProblemKind;

use super::source::{Item, PolicyFault, Table, choices};

/// What becomes of the problems of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RuleLevel {
    /// They are problems.
    Error,
    /// They are warnings, which change no exit code.
    Warning,
    /// They are left out.
    Off,
}

impl RuleLevel {
    const ALL: [(&'static str, RuleLevel); 3] =
        [("error", RuleLevel::Error), ("warning", RuleLevel::Warning), ("off", RuleLevel::Off)];
}

/// The levels that a policy states.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Levels(BTreeMap<ProblemKind, RuleLevel>);

impl Levels {
    /// Reads the table `[rules]` in a table.
    ///
    /// # Errors
    /// Returns the first fault.
    pub(super) fn read(table: &Table<'_>) -> Result<Levels, PolicyFault> {
        let mut levels = Levels::default();
        let Some(item) = table.get("rules") else { return Ok(levels) };
        for item in item.table()?.items() {
            let kind = rule(item.key).map_err(|why| item.key_fault(why))?;
            levels.0.insert(kind, level(&item)?);
        }
        Ok(levels)
    }

    /// Returns these levels and, for rules that they do not state, those of `base`.
    pub(super) fn over(&self, base: &Levels) -> Levels {
        let mut levels = base.clone();
        levels.0.extend(&self.0);
        levels
    }

    /// Returns the level of a rule, if it is stated.
    pub(crate) fn of(&self, kind: ProblemKind) -> Option<RuleLevel> {
        self.0.get(&kind).copied()
    }

    /// Returns the number of rules with a level.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }
}

fn level(item: &Item<'_>) -> Result<RuleLevel, PolicyFault> {
    let text = item.text()?;
    let known = RuleLevel::ALL.iter().find(|(word, _)| *word == text);
    known.map(|(_, level)| *level).ok_or_else(|| {
        let words = RuleLevel::ALL.map(|(word, _)| word);
        item.fault(format!("'{text}' is no level{}", choices(text, &words)))
    })
}

/// Returns the rules that a verification has, by name.
pub fn names() -> Vec<String> {
    let of_verify = ProblemKind::ALL.iter().filter(|kind| !ProblemKind::OF_PACKING.contains(kind));
    of_verify.map(ToString::to_string).collect()
}

/// Returns the rule with this name.
///
/// # Errors
/// Returns a sentence that lists the rules, and names the one that is meant.
pub fn rule(name: &str) -> Result<ProblemKind, String> {
    let name = name.trim();
    match ProblemKind::from_name(name) {
        Some(kind) if ProblemKind::OF_PACKING.contains(&kind) => {
            Err(format!("no verification reports '{name}': only packing does"))
        }
        Some(kind) => Ok(kind),
        None => {
            let names = names();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            Err(format!("there is no rule '{name}'{}", choices(name, &names)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_has_a_name_and_a_wrong_one_is_corrected() {
        for name in names() {
            assert_eq!(rule(&name).unwrap().to_string(), name);
        }
        let why = rule("bad-jpg").unwrap_err();
        assert!(why.contains("there is no rule 'bad-jpg'; did you mean 'bad-jpeg'?"), "{why}");
        assert!(rule("no-split").unwrap_err().contains("only packing"));
    }
}
