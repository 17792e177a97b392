//! `Doubts`: names of classes that a rule takes from folders, and that may not be what was meant: one that stands
//! for several folders, one for all samples, and folders without samples.
//!
//! `train/cat` and `val/cat` are one class: folders with the names of splits are not compared.

use std::collections::{BTreeMap, BTreeSet};

use tarflume_base::{split_names, units};
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_formats::name;
use tarflume_scan::Scan;
use tarflume_scan::samples::list::FoundSample;

use super::classes::ClassValue;
use super::folder::FolderRule;

/// The names of classes that a message lists for one rule.
const SHOWN: usize = 3;
/// The names that are counted for one rule; more are as many.
const COUNTED: usize = 100_000;
/// The deepest folder that a message offers.
const DEEPEST: usize = 8;

/// A folder of a class, and another one of the same name.
#[derive(Debug, Default)]
struct Folders {
    first: Vec<u8>,
    other: Option<Vec<u8>>,
}

/// The names of classes with their folders.
#[derive(Debug, Default)]
pub(super) struct Doubts {
    folders: BTreeMap<String, Folders>,
    /// How deep the folders of samples are.
    depths: BTreeSet<usize>,
}

impl Doubts {
    /// Collects the names of all samples; `split` is the rule that takes the splits from folders.
    pub(super) fn of(scan: &Scan, rule: FolderRule, split: Option<FolderRule>) -> Doubts {
        let mut doubts = Doubts::default();
        let mut last: Vec<u8> = Vec::new();
        scan.samples.visit(|_, sample| {
            let source = scan.folders(&sample.source);
            let folder = &source[..source.iter().rposition(|&b| b == b'/').unwrap_or(0)];
            if folder != last || doubts.folders.is_empty() {
                last.clear();
                last.extend_from_slice(folder);
                doubts.depths.insert(depth(source));
                if let Some(Ok(class)) = rule.of(source).map(std::str::from_utf8) {
                    doubts.see(class, without_splits(folder, split));
                }
            }
            true
        });
        doubts
    }

    fn see(&mut self, class: &str, folder: Vec<u8>) {
        match self.folders.get_mut(class) {
            Some(known) if known.first == folder => {}
            Some(known) => drop(known.other.get_or_insert(folder)),
            None => {
                let known = Folders { first: folder, other: None };
                self.folders.insert(class.into(), known);
            }
        }
    }

    /// Returns the names of all classes.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.folders.keys()
    }

    /// Returns true if a folder has given the name, or if no samples are as deep as this empty folder, whose path
    /// ends with a slash: then it is no folder of a class.
    pub(super) fn explain(&self, class: &str, folder: &[u8]) -> bool {
        self.folders.contains_key(class) || !self.depths.contains(&depth(folder))
    }

    /// Returns why names are no classes: one that is the only one, or, if the rule takes the last folder, one of
    /// several folders.
    pub(super) fn reasons(&self, scan: &Scan, rule: FolderRule) -> BTreeMap<ClassValue, Message> {
        let mut reasons = BTreeMap::new();
        if self.folders.len() == 1 {
            let choices = choices(scan);
            let remedy = if choices.is_empty() {
                Message::words("give the folder that holds the folders of classes as SRC")
            } else {
                choices
            };
            let reason = |class: &String| message!("all samples would be one class, '{}'; {remedy}; if there is only one class, list it: {classes}", name::shown(class.as_bytes()); remedy = &remedy, classes = Name::Classes.stand("FILE"));
            return self.folders.keys().map(|class| (named(class), reason(class))).collect();
        }
        if rule != FolderRule::Last {
            return reasons;
        }
        let mut offer = Message::default();
        for (class, Folders { first, other }) in &self.folders {
            let Some(other) = other else { continue };
            if offer.is_empty() {
                offer = choices(scan);
            }
            let reason = message!(
                "'{}' is the name of several folders, such as {} and {}, which would be one class; {offer}",
                name::shown(class.as_bytes()),
                name::shown(first),
                name::shown(other);
                offer = &offer
            );
            reasons.insert(named(class), reason);
        }
        reasons
    }
}

fn named(class: &str) -> ClassValue {
    ClassValue::Name(class.into())
}

/// Returns the number of folders in a path.
fn depth(path: &[u8]) -> usize {
    path.iter().filter(|&&b| b == b'/').count()
}

/// Returns the path of a folder without the folders of splits.
fn without_splits(folder: &[u8], split: Option<FolderRule>) -> Vec<u8> {
    let kept = (1..).zip(folder.split(|&b| b == b'/')).filter(|(place, component)| {
        split != Some(FolderRule::Place(*place)) && !names_a_split(component)
    });
    kept.map(|(_, component)| component).collect::<Vec<_>>().join(&b'/')
}

fn names_a_split(component: &[u8]) -> bool {
    std::str::from_utf8(component).is_ok_and(|text| split_names::word(text).is_some())
}

/// Returns the rules that make more than one class, with the classes: `folder=1`, `path`.
fn choices(scan: &Scan) -> Message {
    let mut rules: Vec<(FolderRule, BTreeSet<Vec<u8>>)> =
        (1..=DEEPEST).map(|place| (FolderRule::Place(place), BTreeSet::new())).collect();
    rules.push((FolderRule::From(1), BTreeSet::new()));
    scan.samples.visit(|_, FoundSample { source, .. }| {
        for (rule, names) in &mut rules {
            if let Some(class) = rule.of(scan.folders(source))
                && names.len() < COUNTED
                && !names.contains(class)
            {
                names.insert(class.to_vec());
            }
        }
        true
    });
    let offered = rules.iter().filter(|(_, names)| names.len() > 1).map(|(rule, names)| {
        let first: Vec<String> = names.iter().take(SHOWN).map(|class| name::shown(class)).collect();
        let more = if names.len() > SHOWN { ", ..." } else { "" };
        let count = units::counted(names.len() as u64, "class", "classes");
        message!("{label} makes {count} ({}{more})", first.join(", "); label = Name::Label.is(rule.to_string()))
    });
    joined(offered)
}

/// Returns messages with commas between them.
fn joined(messages: impl Iterator<Item = Message>) -> Message {
    let mut all = Message::default();
    for message in messages {
        if !all.is_empty() {
            all.push(Message::words(", "));
        }
        all.push(message);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_splits_are_not_compared() {
        for (folder, split, compared) in [
            ("train/cat", None, "cat"),
            ("seg_test/seg_test/street", None, "street"),
            ("b/bank/indoor", None, "b/bank/indoor"),
            ("fold1/cat", Some(FolderRule::Place(1)), "cat"),
        ] {
            let found = String::from_utf8(without_splits(folder.as_bytes(), split)).unwrap();
            assert_eq!(found, compared, "{folder}");
        }
    }
}
