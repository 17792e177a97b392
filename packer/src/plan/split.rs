//! Splits: which samples are `train`, which are `val`.
//!
//! A share is a range of hashes of keys, so a sample stays in its split while others are added. Stratified
//! shares are ranges of the order of hashes within each class instead. Otherwise the JSON, a folder or a list names
//! the split. Memory while planning: 24 bytes for each sample of a data set with splits.

pub(crate) mod files;
pub(crate) mod lists;
mod refused;
mod rule;
mod shares;
mod splits;
mod stated;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use rayon::prelude::*;
use tarflume_base::Failure;
use tarflume_formats::json::JsonRules;
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_scan::Scan;
use tarflume_scan::samples::list::{FoundSample, Spot};

use self::refused::Refused;
pub(crate) use self::rule::{SplitRule, SplitWords};
use self::shares::{MOST, check_name, names, share_at, split_place, stratified};
pub(super) use self::splits::Splits;
use self::stated::{Stated, Valued};
use super::duplicates::Decided;

/// Samples whose JSON is read at a time.
const BATCH: usize = 512;

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
    let files = match rule {
        SplitRule::Source | SplitRule::Files(_) if scan.layout.files.is_empty() => {
            return Err(no_files());
        }
        SplitRule::Files(files) => files.of_sources(&scan.layout.files)?,
        _ => Vec::new(),
    };
    let stated = Stated { scan, roots, rule, rules, files: &files };
    let mut gather = Gather { rule, words: HashMap::new(), found: Vec::new() };
    let mut batch: Vec<(Spot, FoundSample)> = Vec::with_capacity(BATCH);
    let mut refused = Refused::new(stated);
    let mut result = Ok(());
    let mut take = |batch: &mut Vec<(Spot, FoundSample)>, gather: &mut Gather<'_>| {
        let values = batch.par_iter().map(|(_, sample)| stated.value(sample));
        let values = values.collect::<Result<Vec<Valued>, Failure>>()?;
        for ((spot, sample), value) in batch.drain(..).zip(values) {
            match value.and_then(|value| gather.push(&sample.key, value)) {
                Ok(()) => {}
                Err(reason) => refused.push(spot, &sample, reason),
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
    refused.decide(decided);
    Ok(gather.finish())
}

/// Returns the error for folders of samples, which are in no file.
fn no_files() -> Failure {
    Failure::usage(
        message!("{split_by} is for files with many samples, such as those of parquet: and tar:, and the sources are \
         folders; give {folder} or {split_list}"; split_by = Name::SplitBy.is("file"), folder = Name::SplitBy.is("folder=1"), split_list = Name::SplitList),
    )
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
            | SplitRule::Files(_)
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
    use super::shares::parse_shares;
    use super::*;

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
}
