//! Splits: which samples are `train`, which are `val`.
//!
//! A share is a range of hashes of keys, so a sample stays in its split while others are added. Stratified
//! shares are ranges of the order of hashes within each class instead. Otherwise the JSON, a folder or a list names
//! the split. Memory while planning: 24 bytes for each sample of a data set with splits.

pub(crate) mod lists;
mod shares;
mod splits;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use rayon::prelude::*;
use tarflume_base::{Failure, ProblemKind, json_rules};
use tarflume_formats::json::{JsonRules, Value, parse};
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_scan::Scan;
use tarflume_scan::filter::absent::beside;
use tarflume_scan::samples::list::{FoundAt, FoundSample, Spot};
use tarflume_sources::part_bytes::json_of;

use self::lists::SplitLists;
use self::shares::{MOST, check_name, names, parse_shares, share_at, split_place, stratified};
pub(super) use self::splits::Splits;
use super::duplicates::Decided;
use crate::label::FolderRule;

/// Samples whose JSON is read at a time.
const BATCH: usize = 512;

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
    /// By the split of the shard that holds it.
    Source,
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
    fn pointer(&self) -> Option<&str> {
        match self {
            SplitRule::Stratified(_, pointer)
            | SplitRule::Grouped(_, pointer)
            | SplitRule::Field(pointer) => Some(pointer),
            SplitRule::Shares(_)
            | SplitRule::Folder(_)
            | SplitRule::Source
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

/// A sample's value at the pointer, or why it has none.
type Valued = Result<String, Message>;

/// Divides the samples that are not dropped. Drops those that belong to no split, as problems.
///
/// # Errors
/// Returns an error if the machine fails, and if there are more than 200 splits.
pub(super) fn divide(
    scan: &Scan,
    roots: &[PathBuf],
    rule: &SplitRule,
    rules: JsonRules,
    decided: &mut Decided,
) -> Result<Splits, Failure> {
    if let SplitRule::Lists(lists) = rule {
        return lists.divide(scan, roots, decided);
    }
    let mut gather = Gather { rule, words: HashMap::new(), found: Vec::new() };
    let mut batch: Vec<(Spot, FoundSample)> = Vec::with_capacity(BATCH);
    let mut refused = Vec::new();
    let mut result = Ok(());
    let mut take = |batch: &mut Vec<(Spot, FoundSample)>, gather: &mut Gather<'_>| {
        let values = batch.par_iter().map(|(_, sample)| value_of(scan, roots, rule, rules, sample));
        let values = values.collect::<Result<Vec<Valued>, Failure>>()?;
        for ((spot, sample), value) in batch.drain(..).zip(values) {
            match value.and_then(|value| gather.push(&sample.key, value)) {
                Ok(()) => {}
                Err(reason) => {
                    refused
                        .push((spot, scan.problem(ProblemKind::NoSplit, &sample, roots, reason)));
                }
            }
        }
        if gather.words.len() > MOST
            && !matches!(rule, SplitRule::Stratified(..) | SplitRule::Grouped(..))
        {
            let text = message!("{split_by}: more than {MOST} names of splits were found; name another field"; split_by = Name::SplitBy);
            return Err(Failure::usage(text));
        }
        Ok(())
    };
    scan.samples.visit(|spot, sample| {
        if decided.dropped.contains(&spot) {
            return true;
        }
        let mut sample = sample.clone();
        if let Some(key) = decided.renamed.get(&spot) {
            sample.key.clone_from(key);
        }
        batch.push((spot, sample));
        if batch.len() == BATCH {
            result = take(&mut batch, &mut gather);
        }
        result.is_ok()
    });
    result?;
    take(&mut batch, &mut gather)?;
    for (spot, problem) in refused {
        decided.dropped.insert(spot);
        decided.problems.push(problem);
    }
    Ok(gather.finish())
}

/// Returns the text that decides about a sample: its class, its split's name, or nothing.
fn value_of(
    scan: &Scan,
    roots: &[PathBuf],
    rule: &SplitRule,
    rules: JsonRules,
    sample: &FoundSample,
) -> Result<Valued, Failure> {
    if let SplitRule::Folder(folder) = rule {
        let found = folder
            .of(scan.folders(&sample.source))
            .map(|name| String::from_utf8_lossy(name).into_owned());
        return Ok(found.ok_or_else(|| message!("no folder names its split ({split_by})"; split_by = Name::SplitBy.is(folder.to_string()))));
    }
    if *rule == SplitRule::Source {
        return Ok(split_of_source(scan, sample));
    }
    let Some(pointer) = rule.pointer() else { return Ok(Ok(String::new())) };
    Ok(json_of(scan, roots, sample)?.and_then(|json| match json {
        None => Err("it has no JSON that names its split".into()),
        Some(json) => at_pointer(&json, pointer, rules),
    }))
}

/// Returns the split of the shard that holds the sample.
fn split_of_source(scan: &Scan, sample: &FoundSample) -> Valued {
    let source = sample.parts.iter().find_map(|part| match part.at {
        FoundAt::Range(source, _) | FoundAt::Cell(source, ..) => scan.sources.get(source as usize),
        _ => None,
    });
    let split = source.and_then(|source| source.options["split"].as_str()).map(String::from);
    split.or_else(|| scan.layout.splits.get(sample.root as usize).cloned().flatten()).ok_or_else(|| {
        message!("its file belongs to no split: no data set states one, and its name has no word such as train, \
             val or test; rename the file, or give {split}, or {split_by}"; split = Name::Split, split_by = Name::SplitBy.is("none"))
    })
}

fn at_pointer(json: &[u8], pointer: &str, rules: JsonRules) -> Valued {
    let json = parse(json, rules).map_err(
        |fault| message!("its JSON can't be read: {why}"; why = json_rules::sentence(&fault)),
    )?;
    match json.pointer(pointer) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(value @ (Value::Number(_) | Value::Bool(_))) => Ok(value.to_string()),
        Some(_) => Err(message!("the value at {pointer} of its JSON is no text or number")),
        None => Err(match beside(&json, pointer) {
            Some(fields) => message!("its JSON has no {pointer}, but {fields}"),
            None => message!("its JSON has no {pointer}"),
        }),
    }
}

/// Collects what decides about each sample.
struct Gather<'r> {
    rule: &'r SplitRule,
    /// The number of each value.
    words: HashMap<String, u32>,
    /// The number of the value, and the place of the key.
    found: Vec<(u32, u64)>,
}

impl Gather<'_> {
    fn push(&mut self, key: &[u8], value: String) -> Result<(), Message> {
        if matches!(self.rule, SplitRule::Field(_) | SplitRule::Folder(_) | SplitRule::Source) {
            check_name(&value)?;
        }
        if matches!(self.rule, SplitRule::Grouped(..)) {
            self.found.push((0, split_place(value.as_bytes())));
            return Ok(());
        }
        let next = self.words.len() as u32; // no more than samples of one machine's memory
        let number = *self.words.entry(value).or_insert(next);
        self.found.push((number, split_place(key)));
        Ok(())
    }

    fn finish(self) -> Splits {
        match self.rule {
            SplitRule::Shares(shares) | SplitRule::Grouped(shares, _) => {
                let places = self.found.iter().map(|&(_, place)| place);
                let of = places.map(|place| share_at(shares, place.into(), 1 << 64)).collect();
                Splits { names: names(shares), of, ..Splits::default() }
            }
            SplitRule::Stratified(shares, _) => {
                let of = stratified(shares, &self.found);
                Splits { names: names(shares), of, ..Splits::default() }
            }
            SplitRule::Field(_)
            | SplitRule::Folder(_)
            | SplitRule::Source
            | SplitRule::Lists(_) => {
                let sorted: BTreeMap<String, u32> = self.words.into_iter().collect();
                let mut numbers = vec![0; sorted.len()];
                sorted.values().zip(0u8..).for_each(|(&old, new)| numbers[old as usize] = new);
                let of = self.found.iter().map(|&(number, _)| numbers[number as usize]).collect();
                Splits { names: sorted.into_keys().collect(), of, ..Splits::default() }
            }
        }
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

    #[test]
    fn samples_of_one_group_are_in_one_split() {
        let rule = SplitRule::Grouped(parse_shares("a=0.5,b=0.5").unwrap(), "/x".into());
        let mut gather = Gather { rule: &rule, words: HashMap::new(), found: Vec::new() };
        for n in 0..400 {
            gather.push(format!("{n}").as_bytes(), format!("p{}", n / 4)).unwrap();
        }
        let of = gather.finish().of;
        assert!(of.chunks(4).all(|group| group.iter().all(|split| *split == group[0])));
        let b = of.iter().filter(|split| **split == 1).count();
        assert!((120..280).contains(&b), "{b}");
    }

    #[test]
    fn a_value_is_text_or_a_number() {
        fn at(json: &str) -> Valued {
            at_pointer(json.as_bytes(), "/a", JsonRules::Strict)
        }
        assert_eq!(at(r#"{"a": "val"}"#).unwrap(), "val");
        assert_eq!(at(r#"{"a": 3}"#).unwrap(), "3");
        assert!(at(r#"{"b": 3}"#).unwrap_err().text().contains("no /a"));
        assert!(at(r#"{"a": [3]}"#).unwrap_err().text().contains("no text or number"));
        assert!(at("{").unwrap_err().text().contains("can't be read"));
    }
}
