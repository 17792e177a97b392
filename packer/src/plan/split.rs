//! Splits: which samples are `train`, which are `val`.
//!
//! A share is a range of hashes of keys, so a sample stays in its split while others are added. Stratified
//! shares are ranges of the order of hashes within each class instead. Otherwise the JSON or a folder names
//! the split. Memory while planning: 24 bytes for each sample of a data set with splits.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use rayon::prelude::*;
use tarflume_base::{Failure, ProblemKind, json_rules};
use tarflume_formats::json::{JsonRules, Value, parse};
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_formats::name;
use tarflume_scan::Scan;
use tarflume_scan::filter::absent::beside;
use tarflume_scan::samples::list::{FoundAt, FoundSample, Spot};
use tarflume_sources::part_bytes::json_of;

use super::duplicates::Decided;
use super::naming::is_name_char;
use crate::label::FolderRule;

/// The whole of the shares: they have up to nine decimals.
const WHOLE: u64 = 1_000_000_000;
/// Limit on the number of splits.
const MOST: usize = 200;
/// Samples whose JSON is read at a time.
const BATCH: usize = 512;

/// How samples are divided into splits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SplitRule {
    /// By shares of the hashes of keys: names with the end of each share, in billionths.
    Shares(Vec<(String, u64)>),
    /// By shares of each class, whose value is at this JSON pointer.
    Stratified(Vec<(String, u64)>, String),
    /// By the name at this JSON pointer.
    Field(String),
    /// By the name of a folder.
    Folder(FolderRule),
    /// By the split of the shard that holds it.
    Source,
}

impl SplitRule {
    /// Parses `--split`, `--stratify` and `--split-by`; `None` if none is given.
    ///
    /// # Errors
    /// Returns an error that shows the expected form.
    pub(crate) fn parse(
        split: Option<&str>,
        stratify: Option<&str>,
        by: Option<&str>,
    ) -> Result<Option<SplitRule>, Failure> {
        match (split, stratify, by) {
            (None, None, None) => Ok(None),
            (Some(shares), None, None) => Ok(Some(SplitRule::Shares(parse_shares(shares)?))),
            (Some(shares), Some(pointer), None) => {
                let pointer = parse_pointer(Name::Stratify, pointer)?;
                Ok(Some(SplitRule::Stratified(parse_shares(shares)?, pointer)))
            }
            (None, None, Some("source")) => Ok(Some(SplitRule::Source)),
            (None, None, Some(by)) if by == "folder" || by.starts_with("folder=") => {
                let folder = FolderRule::parse(by);
                let folder = folder.map_err(|e| {
                    Failure::usage(message!("{split_by}: {e}"; split_by = Name::SplitBy))
                })?;
                Ok(Some(SplitRule::Folder(folder)))
            }
            (None, None, Some(by)) => Ok(Some(SplitRule::Field(parse_pointer(Name::SplitBy, by)?))),
            (None, Some(_), _) => Err(Failure::usage(
                message!("{stratify} needs shares: give {split}"; stratify = Name::Stratify, split = Name::Split.is("train=0.9,val=0.1")),
            )),
            (Some(_), _, Some(_)) => Err(Failure::usage(
                message!("give {split} or {split_by}, not both"; split = Name::Split, split_by = Name::SplitBy),
            )),
        }
    }

    /// Returns true if the rule reads the JSON of each sample.
    fn pointer(&self) -> Option<&str> {
        match self {
            SplitRule::Stratified(_, pointer) | SplitRule::Field(pointer) => Some(pointer),
            SplitRule::Shares(_) | SplitRule::Folder(_) | SplitRule::Source => None,
        }
    }
}

/// Parses `train=0.9,val=0.1` to names with the end of each share.
fn parse_shares(text: &str) -> Result<Vec<(String, u64)>, Failure> {
    let mut shares: Vec<(String, u64)> = Vec::new();
    let mut end: u64 = 0;
    for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        let pair = item.split_once('=').and_then(|(name, share)| Some((name, billionths(share)?)));
        let Some((name, share)) = pair else {
            return Err(refused(
                message!("'{item}' is no share; give {split}"; split = Name::Split.is("train=0.9,val=0.1")),
                text,
            ));
        };
        check_name(name).map_err(|why| refused(why.into(), text))?;
        if shares.iter().any(|(other, _)| other == name) {
            return Err(refused(message!("'{name}' is given twice"), text));
        }
        end = end.saturating_add(share);
        shares.push((name.into(), end));
    }
    if shares.len() > MOST {
        return Err(refused(message!("more than {MOST} splits"), text));
    }
    if end != WHOLE {
        let sum = end as f64 / WHOLE as f64;
        return Err(refused(message!("the shares sum to {sum}; they must sum to 1"), text));
    }
    Ok(shares)
}

fn refused(why: Message, text: &str) -> Failure {
    Failure::usage(message!("{split}: {why}"; why = why, split = Name::Split.is(text.to_string())))
}

/// Parses a decimal number from 0 to 1, without 0, as billionths.
fn billionths(text: &str) -> Option<u64> {
    let (whole, decimals) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
    let mut digits = whole.bytes().chain(decimals.bytes());
    if !digits.all(|b| b.is_ascii_digit())
        || decimals.len() > 9
        || (whole.len() + decimals.len()) == 0
    {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let rest: u64 = format!("{decimals:0<9}").parse().ok()?;
    whole.checked_mul(WHOLE)?.checked_add(rest).filter(|n| (1..=WHOLE).contains(n))
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

fn check_name(name: &str) -> Result<(), String> {
    if !name.is_empty() && name.len() <= 64 && name.chars().all(is_name_char) {
        return Ok(());
    }
    let shown = name::shown(name.as_bytes());
    Err(format!("'{shown}' can't be the name of a split: up to 64 letters, digits, '-' and '_'"))
}

/// Returns the place of a key among all hashes: samples of the first share have the lowest.
///
/// It depends on the key alone (blake3, keyed), so a sample stays in its split while others are added.
fn split_place(key: &[u8]) -> u64 {
    let hash = blake3::keyed_hash(b"tarflume split 1                ", key);
    let mut place = [0; 8];
    place.copy_from_slice(&hash.as_bytes()[..8]);
    u64::from_le_bytes(place)
}

/// Returns the number of the share that contains `part / whole`.
fn share_at(shares: &[(String, u64)], part: u128, whole: u128) -> u8 {
    shares
        .iter()
        .take_while(|(_, end)| part * u128::from(WHOLE) >= u128::from(*end) * whole)
        .count()
        .min(shares.len() - 1) as u8 // at most MOST
}

/// The split of each sample that is packed.
#[derive(Debug, Default)]
pub(super) struct Splits {
    /// The names, in the order of their shards.
    pub(super) names: Vec<String>,
    /// The split of each sample, in the order of names.
    pub(super) of: Vec<u8>,
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
        if gather.words.len() > MOST && !matches!(rule, SplitRule::Stratified(..)) {
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
        FoundAt::Range(source, _) => scan.sources.get(source as usize),
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
        let next = self.words.len() as u32; // no more than samples of one machine's memory
        let number = *self.words.entry(value).or_insert(next);
        self.found.push((number, split_place(key)));
        Ok(())
    }

    fn finish(self) -> Splits {
        match self.rule {
            SplitRule::Shares(shares) => {
                let places = self.found.iter().map(|&(_, place)| place);
                let of = places.map(|place| share_at(shares, place.into(), 1 << 64)).collect();
                Splits { names: names(shares), of }
            }
            SplitRule::Stratified(shares, _) => {
                Splits { names: names(shares), of: stratified(shares, &self.found) }
            }
            SplitRule::Field(_) | SplitRule::Folder(_) | SplitRule::Source => {
                let sorted: BTreeMap<String, u32> = self.words.into_iter().collect();
                let mut numbers = vec![0; sorted.len()];
                sorted.values().zip(0u8..).for_each(|(&old, new)| numbers[old as usize] = new);
                let of = self.found.iter().map(|&(number, _)| numbers[number as usize]).collect();
                Splits { names: sorted.into_keys().collect(), of }
            }
        }
    }
}

fn names(shares: &[(String, u64)]) -> Vec<String> {
    shares.iter().map(|(name, _)| name.clone()).collect()
}

/// Divides each class: sample r of n, in the order of hashes, is at (r + 1/2) / n of the shares.
fn stratified(shares: &[(String, u64)], found: &[(u32, u64)]) -> Vec<u8> {
    let mut order: Vec<u32> = (0..found.len() as u32).collect();
    order.par_sort_unstable_by_key(|&n| (found[n as usize], n));
    let mut of = vec![0; found.len()];
    for class in order.chunk_by(|&a, &b| found[a as usize].0 == found[b as usize].0) {
        for (rank, &n) in class.iter().enumerate() {
            of[n as usize] = share_at(shares, 2 * rank as u128 + 1, 2 * class.len() as u128);
        }
    }
    of
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(text: &str) -> Vec<(String, u64)> {
        parse_shares(text).unwrap()
    }

    #[test]
    fn shares_are_exact_decimals_that_sum_to_one() {
        let parsed = shares("train=0.9,val=.05,test=0.05");
        let ends: Vec<u64> = parsed.iter().map(|(_, end)| *end).collect();
        assert_eq!(ends, [900_000_000, 950_000_000, 1_000_000_000]);
        assert_eq!(shares("all=1").len(), 1);
        let thirds = "a=0.333333333,b=0.333333333,c=0.333333334";
        assert_eq!(shares(thirds).len(), 3);
        for (bad, why) in [
            ("train=0.9", "sum to 0.9"),
            ("train=0.9,val=0.2", "sum to 1.1"),
            ("train=1,val=0", "no share"),
            ("train=-1,val=2", "no share"),
            ("train=0.5,train=0.5", "twice"),
            ("train", "no share"),
            ("a b=1", "can't be the name"),
            ("", "sum to 0"),
            ("a=1e0", "no share"),
            ("a=.", "no share"),
        ] {
            assert!(parse_shares(bad).unwrap_err().text().contains(why), "{bad}");
        }
    }

    #[test]
    fn hashes_divide_by_shares_and_never_depend_on_other_samples() {
        let parsed = shares("train=0.9,val=0.1");
        let split = |n: u32| {
            let place = split_place(format!("cat/{n}").as_bytes());
            share_at(&parsed, place.into(), 1 << 64)
        };
        let val = (0..20_000).filter(|&n| split(n) == 1).count();
        assert!((1850..2150).contains(&val), "{val}");
        assert_eq!(share_at(&parsed, u64::MAX.into(), 1 << 64), 1);
        assert_eq!(share_at(&parsed, 0, 1 << 64), 0);
        // The hash is part of the format: a data set that grows must find the same splits.
        assert_eq!(split_place(b"cat/001"), 6_382_157_615_426_484_626);
    }

    #[test]
    fn each_class_is_divided_by_the_shares() {
        let parsed = shares("train=0.8,val=0.2");
        let found: Vec<(u32, u64)> =
            (0..130u32).map(|n| (u32::from(n >= 100), split_place(&n.to_le_bytes()))).collect();
        let of = stratified(&parsed, &found);
        assert_eq!(of[..100].iter().filter(|&&split| split == 1).count(), 20);
        assert_eq!(of[100..].iter().filter(|&&split| split == 1).count(), 6);
        assert_eq!(stratified(&parsed, &[(0, 5)]), [0]);
        // The samples of a share are those with the lowest hashes.
        let last_train = (0..100).filter(|&n| of[n] == 0).map(|n| found[n].1).max();
        let first_val = (0..100).filter(|&n| of[n] == 1).map(|n| found[n].1).min();
        assert!(last_train < first_val);
    }

    #[test]
    fn the_three_options_are_parsed_together() {
        assert_eq!(SplitRule::parse(None, None, None).unwrap(), None);
        let rule = SplitRule::parse(None, None, Some("part")).unwrap();
        assert_eq!(rule, Some(SplitRule::Field("/part".into())));
        let rule = SplitRule::parse(None, None, Some("folder=1")).unwrap();
        assert_eq!(rule, Some(SplitRule::Folder(FolderRule::Place(1))));
        for (split, stratify, by, why) in [
            (None, Some("/class"), None, "needs shares"),
            (Some("a=1"), None, Some("/x"), "not both"),
            (None, None, Some("folder=0"), "from 1"),
        ] {
            let refused = SplitRule::parse(split, stratify, by).unwrap_err();
            assert!(refused.text().contains(why), "{refused}");
        }
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
