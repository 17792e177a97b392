//! What shards continue: a prefix for each split, and the numbers and columns of the data set. Pure.

use std::collections::{HashMap, HashSet};

use tarflume_base::compress::{COMPRESSED, PLAIN};
use tarflume_formats::{About, Column};

/// The prefix of shards if none is chosen.
pub(crate) const PREFIX: &str = "shard";

/// A data set that gets more shards.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Base {
    /// blake3 of its manifest in hex.
    pub manifest: String,
    /// The classes and columns of its samples.
    pub about: About,
    /// The names of its shards.
    pub shards: Vec<String>,
}

impl Base {
    /// Returns the columns of its samples and of new ones, which have `found`. What either lacks is
    /// nullable.
    pub(super) fn columns_with(&self, found: &[Column]) -> Vec<Column> {
        let mut all = self.about.columns.clone();
        if found.is_empty() {
            return all; // nothing describes the new samples
        }
        let new: HashMap<&str, &Column> = found.iter().map(|c| (c.name.as_str(), c)).collect();
        let known: HashSet<String> = all.iter().map(|column| column.name.clone()).collect();
        for column in &mut all {
            column.nullable |= new.get(column.name.as_str()).is_none_or(|new| new.nullable);
        }
        let added = found.iter().filter(|column| !known.contains(&column.name));
        all.extend(added.map(|column| Column { nullable: true, ..column.clone() }));
        all
    }

    /// Returns the number of the first new shard with this prefix.
    fn next(&self, prefix: &str) -> u64 {
        let numbers = self.shards.iter().filter_map(|name| shard_number(name, prefix));
        numbers.max().map_or(0, |last| last + 1)
    }
}

/// Returns the number in the name of a shard with this prefix; `None` for other names.
fn shard_number(name: &str, prefix: &str) -> Option<u64> {
    let rest = name.strip_prefix(prefix)?.strip_prefix('-')?;
    let rest = rest.strip_suffix(COMPRESSED).or_else(|| rest.strip_suffix(PLAIN))?;
    rest.parse().ok().filter(|&number| number < u64::MAX)
}

/// Names shards and counts them, split by split.
pub(super) struct Namer<'t> {
    chosen: &'t str,
    base: Option<&'t Base>,
    split: Option<String>,
    prefix: String,
    number: u64,
    ending: &'static str,
}

impl<'t> Namer<'t> {
    /// Names shards with the prefix that was chosen and this ending, after those of `base`.
    pub(super) fn new(chosen: &'t str, base: Option<&'t Base>, ending: &'static str) -> Namer<'t> {
        Namer { chosen, base, split: None, prefix: String::new(), number: 0, ending }
    }

    /// Returns true if samples of this split need other shards than those before.
    pub(super) fn enters(&mut self, split: Option<&str>) -> bool {
        if !self.prefix.is_empty() && self.split.as_deref() == split {
            return false;
        }
        self.split = split.map(str::to_string);
        self.prefix = prefix_of(self.chosen, split);
        self.number = self.base.map_or(0, |base| base.next(&self.prefix));
        true
    }

    /// Returns the name and split of the next shard.
    pub(super) fn next_shard(&mut self) -> (String, Option<String>) {
        self.number += 1;
        (shard_name(&self.prefix, self.number - 1, self.ending), self.split.clone())
    }
}

/// Returns the prefix of the shards of a split: its name, after the prefix if one was chosen.
fn prefix_of(prefix: &str, split: Option<&str>) -> String {
    match split {
        None => prefix.into(),
        Some(split) if prefix == PREFIX => split.into(),
        Some(split) => format!("{prefix}-{split}"),
    }
}

/// Returns true for the characters of prefixes and of names of splits.
pub(crate) fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_".contains(c)
}

/// Returns the name of shard `number`.
pub(crate) fn shard_name(prefix: &str, number: u64, ending: &str) -> String {
    format!("{prefix}-{number:06}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, kind: &str, nullable: bool) -> Column {
        Column { name: name.into(), kind: kind.into(), shape: None, nullable, items: None }
    }

    #[test]
    fn a_column_that_some_samples_lack_is_nullable() {
        let old = vec![column("/a", "float64", false), column("/b", "int64", false)];
        let about = About { columns: old.clone(), ..About::default() };
        let base = Base { about, ..Base::default() };
        assert_eq!(base.columns_with(&[]), old);
        let new = [column("/c", "string", false), column("/a", "float64", false)];
        let all = base.columns_with(&new);
        assert_eq!(all[0], old[0]);
        assert_eq!(all[1..], [column("/b", "int64", true), column("/c", "string", true)]);
    }

    #[test]
    fn shards_of_a_split_are_numbered_after_existing_shards() {
        let shards =
            ["train-000007.tar", "train-000002.tar", "shard-000001.tar", "trainer-000099.tar"];
        let base = Base { shards: shards.map(String::from).into(), ..Base::default() };
        let mut namer = Namer::new(PREFIX, Some(&base), PLAIN);
        assert!(namer.enters(Some("train")) && !namer.enters(Some("train")));
        let train = Some("train".to_string());
        assert_eq!(namer.next_shard(), ("train-000008.tar".into(), train.clone()));
        assert_eq!(namer.next_shard(), ("train-000009.tar".into(), train));
        assert!(namer.enters(Some("val")));
        assert_eq!(namer.next_shard().0, "val-000000.tar");
        let mut namer = Namer::new("shard", Some(&base), PLAIN);
        assert!(namer.enters(None));
        assert_eq!(namer.next_shard(), ("shard-000002.tar".into(), None));
        let mut namer = Namer::new("photos", None, PLAIN);
        assert!(namer.enters(Some("val")));
        assert_eq!(namer.next_shard().0, "photos-val-000000.tar");
    }
}
