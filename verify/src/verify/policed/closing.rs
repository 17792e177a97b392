//! `Sifted`: what the rules of a verification took out of a report; and the end of the report.

use std::path::PathBuf;

use serde::Serialize;
use tarflume_base::{Choice, Problem, ProblemKind, Verdict, units};
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};

use crate::policy::rules::RuleLevel;
use crate::policy::sift::Sift;
use crate::policy::{DuplicateRule, Policy, Rules};
use crate::verify::options::Options;
use crate::verify::{Level, Report};

/// What the rules of a verification took out of a report.
#[derive(Debug, Default, Serialize)]
pub struct Sifted {
    /// The policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// Problems that the policy accepts.
    #[serde(skip_serializing_if = "is_none")]
    pub accepted: u64,
    /// Problems that the baseline has.
    #[serde(skip_serializing_if = "is_none")]
    pub known: u64,
    #[serde(skip)]
    pub(in crate::verify) sift: Option<Sift>,
    /// The places of the data sets that were verified.
    #[serde(skip)]
    pub(in crate::verify) places: Vec<String>,
    /// True if only some rules, or some of the data, were looked at: then nothing is known to be gone.
    #[serde(skip)]
    pub(in crate::verify) is_partial: bool,
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

impl Sifted {
    /// Begins a report under the rules of `options`.
    pub(in crate::verify) fn new(sift: Sift, options: &Options) -> Sifted {
        let Rules { select, ignore, .. } = &options.rules;
        let policy = sift.policy().map(|policy| policy.path().display().to_string());
        let is_partial = options.scope.is_partial()
            || options.level == Level::Quick
            || !select.is_empty()
            || !ignore.is_empty();
        Sifted { policy, sift: Some(sift), is_partial, ..Sifted::default() }
    }

    /// Returns what was accepted and known, as the end of a summary.
    pub(in crate::verify) fn sentence(&self) -> Option<String> {
        let counts = [
            (self.accepted > 0).then(|| format!("{} accepted", units::count(self.accepted))),
            (self.known > 0).then(|| format!("{} known", units::count(self.known))),
        ];
        let counts: Vec<String> = counts.into_iter().flatten().collect();
        (!counts.is_empty()).then(|| counts.join(", "))
    }
}

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

/// Returns which policy there is, and a note if it demands what this level does not read.
pub(in crate::verify) fn notes(sift: &Sift, options: &Options) -> Vec<Message> {
    let Some(policy) = sift.policy() else { return Vec::new() };
    let mut notes = vec![message!("the rules are those of {file}"; file = policy.path())];
    let mut all = std::iter::once(&policy.base).chain(policy.sets.iter().map(|set| &set.own));
    let reads =
        all.any(|demands| !demands.bounds.fields.is_empty() || demands.bounds.classes.is_stated());
    let is_of_all = reads;
    let stated = &policy.options;
    let reads = reads || stated.objects || !stated.schemas.is_empty();
    let file = policy.file_name();
    if is_of_all && options.scope.is_partial() && options.level > Level::Quick {
        notes.push(message!("{file}: shares of fields and of classes are not compared, because a part of the data may be left unread"));
    }
    if reads && options.level == Level::Quick {
        let level = Name::Level.is(options.level.word());
        notes.push(message!("{file}: fields, classes, schemas and objects are not checked at {level}, which reads no data"; level = level));
    }
    notes
}
