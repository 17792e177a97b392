//! `SplitRule`: how samples are divided into splits, from the options.

use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::message::Name;

use super::files::{FILE, SplitFiles};
use super::lists::SplitLists;
use super::shares::parse_shares;
use crate::label::FolderRule;

/// How samples are divided into splits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SplitRule {
    /// By shares of the hashes of keys: names with the end of each share, in billionths.
    Shares(Vec<(String, u64)>),
    /// By shares of each class, whose value is at this JSON pointer.
    Stratified(Vec<(String, u64)>, String),
    /// By shares of the hashes of the values at this JSON pointer: samples with one value are in one split.
    Grouped(Vec<(String, u64)>, String),
    /// By the name at this JSON pointer.
    Field(String),
    /// By the name of a folder.
    Folder(FolderRule),
    /// By the split of the shard or file that holds it.
    Source,
    /// By the pattern that matches the file that holds it.
    Files(SplitFiles),
    /// By the list that names it.
    Lists(SplitLists),
}

/// The options about splits.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SplitWords<'a> {
    /// The shares.
    pub(crate) split: Option<&'a str>,
    /// The field with the class.
    pub(crate) stratify: Option<&'a str>,
    /// The field with the group.
    pub(crate) group: Option<&'a str>,
    /// The field, or another word, with the name of the split.
    pub(crate) by: Option<&'a str>,
    /// The lists.
    pub(crate) lists: Option<&'a str>,
}

impl SplitRule {
    /// Parses the options; `None` if none is given.
    ///
    /// # Errors
    /// Returns an error that shows the expected form, and for a list that cannot be read.
    pub(crate) fn parse(words: SplitWords<'_>) -> Result<Option<SplitRule>, Failure> {
        let SplitWords { split, stratify, group, by, lists } = words;
        if split.is_some() && by.is_some() {
            return Err(Failure::usage(
                message!("give {split} or {split_by}, not both"; split = Name::Split, split_by = Name::SplitBy),
            ));
        }
        if lists.is_some() && (split.is_some() || by.is_some()) {
            return Err(Failure::usage(
                message!("give one of {split}, {split_by} and {split_list}"; split = Name::Split, split_by = Name::SplitBy, split_list = Name::SplitList),
            ));
        }
        let shares_only = [(Name::Stratify, stratify), (Name::SplitGroup, group)];
        if let Some((name, _)) = shares_only.iter().find(|(_, given)| given.is_some())
            && split.is_none()
        {
            return Err(Failure::usage(
                message!("{name} needs shares: give {split}"; name = *name, split = Name::Split.is("train=0.9,val=0.1")),
            ));
        }
        if let Some(lists) = lists {
            return Ok(Some(SplitRule::Lists(SplitLists::parse(lists)?)));
        }
        if let Some(by) = by {
            return SplitRule::parse_by(by).map(Some);
        }
        let Some(shares) = split else { return Ok(None) };
        let shares = parse_shares(shares)?;
        Ok(Some(match (stratify, group) {
            (None, None) => SplitRule::Shares(shares),
            (Some(pointer), None) => {
                SplitRule::Stratified(shares, parse_pointer(Name::Stratify, pointer)?)
            }
            (None, Some(pointer)) => {
                SplitRule::Grouped(shares, parse_pointer(Name::SplitGroup, pointer)?)
            }
            (Some(_), Some(_)) => {
                return Err(Failure::usage(
                    message!("give {stratify} or {split_group}, not both: a group is in one split, whatever its classes are"; stratify = Name::Stratify, split_group = Name::SplitGroup),
                ));
            }
        }))
    }

    fn parse_by(by: &str) -> Result<SplitRule, Failure> {
        if matches!(by, "source" | "file") {
            return Ok(SplitRule::Source);
        }
        if let Some(patterns) = by.strip_prefix(FILE) {
            return SplitFiles::parse(patterns).map(SplitRule::Files);
        }
        if by != "folder" && !by.starts_with("folder=") {
            return Ok(SplitRule::Field(parse_pointer(Name::SplitBy, by)?));
        }
        let folder = FolderRule::parse(by);
        folder
            .map(SplitRule::Folder)
            .map_err(|e| Failure::usage(message!("{split_by}: {e}"; split_by = Name::SplitBy)))
    }

    /// Returns the text of lists for the plan's options; `None` without lists.
    ///
    /// # Errors
    /// Returns an error for a list that cannot be read.
    pub(crate) fn planned_lists(&self) -> Result<Option<String>, Failure> {
        match self {
            SplitRule::Lists(lists) => lists.planned().map(Some),
            _ => Ok(None),
        }
    }

    /// Returns true if the rule reads the JSON of each sample.
    pub(super) fn pointer(&self) -> Option<&str> {
        match self {
            SplitRule::Stratified(_, pointer)
            | SplitRule::Grouped(_, pointer)
            | SplitRule::Field(pointer) => Some(pointer),
            SplitRule::Shares(_)
            | SplitRule::Folder(_)
            | SplitRule::Source
            | SplitRule::Files(_)
            | SplitRule::Lists(_) => None,
        }
    }
}

fn parse_pointer(flag: Name, text: &str) -> Result<String, Failure> {
    match text {
        "" | "/" => Err(Failure::usage(
            message!("{flag}: name a field of the JSON: /class"; flag = flag.quoted(text)),
        )),
        text if text.starts_with('/') => Ok(text.into()),
        field => Ok(format!("/{}", field.replace('~', "~0").replace('/', "~1"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_are_parsed_together() {
        let none = SplitWords::default();
        assert_eq!(SplitRule::parse(none).unwrap(), None);
        for (by, rule) in [
            ("part", SplitRule::Field("/part".into())),
            ("/file", SplitRule::Field("/file".into())),
            ("folder=1", SplitRule::Folder(FolderRule::Place(1))),
            ("source", SplitRule::Source),
            ("file", SplitRule::Source),
            ("file:a=b", SplitRule::Files(SplitFiles::parse("a=b").unwrap())),
        ] {
            let words = SplitWords { by: Some(by), ..none };
            assert_eq!(SplitRule::parse(words).unwrap(), Some(rule));
        }
        let shares = SplitWords { split: Some("a=1"), ..none };
        let words = SplitWords { group: Some("patient"), ..shares };
        let rule = SplitRule::parse(words).unwrap().unwrap();
        assert_eq!(rule.pointer(), Some("/patient"));
        for (words, why) in [
            (SplitWords { stratify: Some("/x"), ..none }, "needs shares"),
            (SplitWords { group: Some("/x"), ..none }, "needs shares"),
            (SplitWords { by: Some("/x"), ..shares }, "not both"),
            (SplitWords { lists: Some("a=b"), ..shares }, "give one of"),
            (SplitWords { by: Some("folder=0"), ..none }, "from 1"),
            (SplitWords { stratify: Some("/x"), group: Some("/y"), ..shares }, "not both"),
        ] {
            let refused = SplitRule::parse(words).unwrap_err();
            assert!(refused.text().contains(why), "{refused}");
        }
    }
}
