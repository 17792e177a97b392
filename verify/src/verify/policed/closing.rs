//! The problems of a report under its rules, and the end of the report.

use std::path::PathBuf;

use tarflume_base::{Choice, Problem, ProblemKind, Verdict, units};
use tarflume_formats::message;
use tarflume_formats::message::Name;

use crate::policy::rules::RuleLevel;
use crate::policy::sift::Sift;
use crate::policy::{DuplicateRule, Policy};
use crate::verify::Report;
use crate::verify::options::Level;

impl Report {
    /// Adds a problem, as the rules decide.
    pub fn push(&mut self, problem: Problem) {
        self.sifted(problem, RuleLevel::Error);
    }

    /// Adds what is a warning unless the rules make it a problem.
    pub(in crate::verify) fn warn(&mut self, warning: Problem) {
        self.sifted(warning, RuleLevel::Warning);
    }

    fn sifted(&mut self, problem: Problem, usual: RuleLevel) {
        let sift = self.sifted.sift.as_ref();
        let unsifted = match usual {
            RuleLevel::Error => Verdict::Problem,
            RuleLevel::Warning | RuleLevel::Off => Verdict::Warning,
        };
        match sift.map_or(unsifted, |sift| sift.decide(&problem, usual)) {
            Verdict::Problem => self.problems.push(problem),
            Verdict::Warning => self.warnings.push(problem),
            Verdict::Dropped => {}
        }
    }

    /// Ends the report after all problems were added: tells which acceptances have ended or match nothing, and how much of
    /// the baseline is gone.
    pub fn close(&mut self) {
        if let Some(sift) = self.sifted.sift.clone() {
            if let Some(policy) = sift.policy() {
                self.acceptances(policy, &sift);
            }
            self.gone(&sift);
            self.sifted.accepted = sift.accepted();
            self.sifted.known = sift.known();
        }
        self.judge();
    }

    fn acceptances(&mut self, policy: &Policy, sift: &Sift) {
        let path = policy.path().display().to_string();
        let are_all_sets = policy.sets.iter().all(|set| {
            let mut places = self.sifted.places.iter();
            places.any(|place| policy.named(place).is_some_and(|found| found.name == set.name))
        });
        for acceptance in &policy.accept {
            let line = policy.line(acceptance.line);
            let rule = acceptance.rule;
            let until = acceptance.until;
            let reason = &acceptance.reason;
            if until < sift.today() {
                let text = format!(
                    "{line}: accept: '{rule}' was accepted until {until} ({reason}); repair the data, or decide again"
                );
                self.push(Problem::new(ProblemKind::PolicyAcceptance, path.clone(), text));
            } else if !acceptance.is_used() && are_all_sets && !self.sifted.is_partial {
                let text = format!(
                    "{line}: accept: no problem of '{rule}' matches it ({reason}); take it out"
                );
                self.warn(Problem::new(ProblemKind::PolicyAcceptance, path.clone(), text));
            }
        }
    }

    fn gone(&mut self, sift: &Sift) {
        let Some(baseline) = &sift.rules().baseline else { return };
        let is_lower = Level::from_word(baseline.level()).is_none_or(|level| self.level < level);
        if self.sifted.is_partial || is_lower {
            return;
        }
        let places = &self.sifted.places;
        let gone = sift.gone(|path| places.iter().any(|place| baseline.is_in(path, place)));
        if gone > 0 {
            let gone =
                units::counted(gone, "problem of the baseline is", "problems of the baseline are");
            self.notes.push(
                message!("{gone} gone: write it again with {write}"; write = Name::WriteBaseline),
            );
        }
    }

    /// Returns the names of the data sets of a comparison that were not verified.
    pub fn unverified(&self, policy: &Policy, rule: &DuplicateRule) -> Vec<String> {
        let verified = self.sifted.places.iter();
        let verified: Vec<PathBuf> =
            verified.map(|place| policy.folder.joined(&policy.folder.relative(place))).collect();
        let sets = rule.across.iter().zip(&rule.places);
        let absent = sets.filter(|(_, place)| !verified.contains(place));
        absent.map(|(name, _)| name.clone()).collect()
    }

    /// Makes all problems known, after they were written to a baseline.
    pub fn know_all(&mut self) {
        self.sifted.known += self.problems.len() as u64;
        self.problems.clear();
        self.judge();
    }
}
