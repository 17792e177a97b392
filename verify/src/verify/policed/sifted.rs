//! `Sifted`: what the rules of a verification took out of a report, and what it does not look at.

use serde::Serialize;
use tarflume_base::{Choice, units};
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};

use crate::policy::Rules;
use crate::policy::sift::Sift;
use crate::verify::options::{Level, Options};

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

    /// Returns true if the command line chose rules: of the others nothing is known.
    pub(in crate::verify) fn has_chosen_rules(&self) -> bool {
        let rules = self.sift.as_ref().map(|sift| sift.rules());
        rules.is_some_and(|rules| !rules.select.is_empty() || !rules.ignore.is_empty())
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
