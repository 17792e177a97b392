//! The keys of a program: which ones are refused, and which ones were written before.

use std::collections::HashMap;

use tarflume_base::collide::fold;
use tarflume_base::{Problem, ProblemKind};
use tarflume_formats::message;
use tarflume_formats::message::Message;
use tarflume_formats::name;
use tarflume_scan::names::rules::{Action, MAX_NAME, NameRules, Rule, Verdict};

/// Keys written so far, by their digests: about 32 bytes per key.
#[derive(Debug, Default)]
pub(super) struct Keys {
    /// From the digest of the folded key to that of the first key that folds to it.
    met: HashMap<u128, u128>,
    count: u64,
}

impl Keys {
    /// Refuses a key that was written before, or that differs from a written one only in case.
    pub(super) fn check(&self, rules: &NameRules, key: &[u8]) -> Result<(), Box<Problem>> {
        match self.met.get(&digest(&fold(key))) {
            Some(&first) if first == digest(key) => {
                Err(problem(ProblemKind::RepeatedKey, key, "this key was written before".into()))
            }
            Some(_) if rules.action(Rule::Case) != Action::Allow => {
                let reason = "this key differs from an earlier one only in case; change it, or allow \
                              it in `names` (case=allow)";
                Err(problem(ProblemKind::CaseCollision, key, reason.into()))
            }
            _ if self.met.contains_key(&!digest(key)) => {
                Err(problem(ProblemKind::RepeatedKey, key, "this key was written before".into()))
            }
            _ => Ok(()),
        }
    }

    /// Adds a written key.
    pub(super) fn add(&mut self, key: &[u8]) {
        self.count += 1;
        let own = digest(key);
        let first = *self.met.entry(digest(&fold(key))).or_insert(own);
        if first != own {
            self.met.insert(!own, own); // an allowed twin is found by its own digest
        }
    }

    pub(super) fn len(&self) -> u64 {
        self.count
    }
}

/// Returns the first half of a key's blake3.
fn digest(key: &[u8]) -> u128 {
    let hash = blake3::hash(key);
    hash.as_bytes().iter().take(16).fold(0, |all, &byte| all << 8 | u128::from(byte))
}

fn problem(kind: ProblemKind, key: &[u8], reason: Message) -> Box<Problem> {
    let shown = name::shown(key);
    Box::new(Problem::new(kind, shown.clone(), reason).of(shown))
}

/// Refuses names that some reader would misread, as `pack build` does; renames nothing.
pub(super) fn check(
    rules: &NameRules,
    key: &[u8],
    parts: &[(Vec<u8>, &[u8])],
) -> Result<(), Box<Problem>> {
    if let Some(why) = name::unsafe_as_path(key) {
        return refused(why.of("the key").into(), key);
    }
    if parts.is_empty() {
        return Err(problem(ProblemKind::MissingPart, key, "the sample has no part".into()));
    }
    if let Some(twins) = parts.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        let ext = name::shown(&twins[0].0);
        let reason = format!("the part '{ext}' is given twice");
        return Err(problem(ProblemKind::RepeatedPart, key, reason.into()));
    }
    let components: Vec<&[u8]> = key.split(|&b| b == b'/').collect();
    for (n, component) in components.iter().enumerate() {
        match rules.judge(component, n + 1 == components.len()) {
            Verdict::Keep => {}
            Verdict::Refuse(rule) => return refused(reason_of(rule).into(), key),
            Verdict::Skip => return refused(reason_of(Rule::Hidden).into(), key),
            Verdict::Becomes(other) => {
                let other = name::shown(&other);
                return refused(
                    message!("'{other}' is its name by the rules of `names`; give it that one"),
                    key,
                );
            }
        }
    }
    for (ext, _) in parts {
        if rules.judge_ext(ext) != Verdict::Keep {
            return refused(
                message!("the part '{}' has blanks or foreign letters", name::shown(ext)),
                key,
            );
        }
        let mut member = Vec::new();
        name::join(&mut member, key, ext);
        if name::split(&member) != Some((key, ext)) || ext.is_empty() || ext.contains(&b'/') {
            let text = "readers would not find key and part again in the name";
            return refused(message!("{text} '{}'", name::shown(&member)), key);
        }
        if member.len() > MAX_NAME && rules.action(Rule::Long) != Action::Allow {
            return refused(reason_of(Rule::Long).into(), key);
        }
    }
    Ok(())
}

fn refused(reason: Message, key: &[u8]) -> Result<(), Box<Problem>> {
    Err(problem(ProblemKind::BadName, key, reason))
}

fn reason_of(rule: Rule) -> String {
    let what = match rule {
        Rule::Dot => "a dot in the last component, at which readers end the key".to_string(),
        Rule::Space => "blanks or control characters".into(),
        Rule::NonAscii => "characters that are not ASCII".into(),
        Rule::Hidden => return "the key has a component that begins with a dot; change it".into(),
        Rule::Dunder => "a component that begins with '__', which readers take for metadata".into(),
        Rule::Long => format!("with its part more than {MAX_NAME} bytes, which some readers cut"),
        Rule::Case => "the letters of another key in another case".into(),
        Rule::Path => return "the key is no clean path; change it".into(),
    };
    format!("the key has {what}; change it, or allow it in `names` ({}=allow)", rule.word())
}
