//! `SideFacts`: the totals of one of two data sets, from manifest and sidecars; and the classes of its samples, if a typed
//! column has them.

use std::collections::BTreeMap;

use tarflume_base::Failure;
use tarflume_formats::ClassTable;
use tarflume_formats::index::Value;
use tarflume_formats::name;
use tarflume_shards::listing::Listing;

/// Columns that have the class where the manifest states no field of it.
const USUAL: [&str; 3] = ["class", "label", "cls"];
/// Limit on different classes: more are no classes.
const MOST: usize = 100_000;

/// Parts with one extension.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExtFacts {
    /// Their number.
    pub parts: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The totals of a data set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SideFacts {
    /// Shards.
    pub shards: u64,
    /// Samples.
    pub samples: u64,
    /// Parts by extension.
    pub extensions: BTreeMap<String, ExtFacts>,
}

impl SideFacts {
    /// Counts shards, samples and parts.
    ///
    /// # Errors
    /// Returns an error if a sidecar is damaged.
    pub fn of(listing: &Listing) -> Result<SideFacts, Failure> {
        let mut facts = SideFacts { shards: listing.shards.len() as u64, ..SideFacts::default() };
        for shard in &listing.shards {
            facts.samples += shard.index.samples();
            for sample in shard.index.iter() {
                for part in sample?.parts() {
                    let part = part?;
                    let ext = facts.extensions.entry(name::shown(part.ext)).or_default();
                    ext.parts += 1;
                    ext.bytes += part.length;
                }
            }
        }
        Ok(facts)
    }

    /// Returns the bytes of all parts.
    pub fn bytes(&self) -> u64 {
        self.extensions.values().map(|ext| ext.bytes).sum()
    }
}

/// The classes of a data set's samples.
#[derive(Debug)]
pub struct SideClasses<'a> {
    listing: &'a Listing,
    table: Option<&'a ClassTable>,
    /// The first ordinal of each shard, and its column of classes.
    shards: Vec<ShardClasses>,
}

#[derive(Debug)]
struct ShardClasses {
    start: u64,
    column: Option<usize>,
}

impl<'a> SideClasses<'a> {
    /// Finds the columns; `None` if no shard has one.
    ///
    /// # Errors
    /// Returns an error if a sidecar is damaged.
    pub fn of(listing: &'a Listing) -> Result<Option<SideClasses<'a>>, Failure> {
        let table = listing.manifest.as_ref().and_then(|manifest| manifest.about.classes.as_ref());
        let mut shards = Vec::with_capacity(listing.shards.len());
        let mut start = 0;
        for shard in &listing.shards {
            let columns = shard.index.columns()?;
            let stated = columns.iter().position(|column| {
                let spec = column.spec();
                table.is_some_and(|table| spec.pointer.as_ref() == Some(&table.pointer))
            });
            let mut names = columns.iter().map(|column| column.spec().name.as_str());
            let usual = names.position(|name| USUAL.contains(&name));
            shards.push(ShardClasses { start, column: stated.or(usual) });
            start += shard.index.samples();
        }
        let has_any = shards.iter().any(|shard| shard.column.is_some());
        Ok(has_any.then_some(SideClasses { listing, table, shards }))
    }

    /// Returns the class of the sample with this ordinal, by its name if the manifest has one.
    ///
    /// # Errors
    /// Returns an error if a sidecar is damaged.
    pub fn class(&self, ordinal: u64) -> Result<Option<String>, Failure> {
        let number = self.shards.partition_point(|shard| shard.start <= ordinal);
        let Some(number) = number.checked_sub(1) else { return Ok(None) };
        let ShardClasses { start, column } = self.shards[number];
        let Some(column) = column else { return Ok(None) };
        let mut text = Vec::new();
        let index = &self.listing.shards[number].index;
        let value = index.value(column, ordinal - start, &mut text)?;
        Ok(value.map(|value| self.named(value)))
    }

    fn named(&self, value: Value<'_>) -> String {
        let text = value.to_string();
        let id = text.parse().ok();
        let name = id.and_then(|id| self.table.and_then(|table| table.name(id)));
        name.map_or(text, String::from)
    }
}

/// Samples of a class by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClassChanges {
    /// Only the second data set has them.
    pub added: u64,
    /// Only the first data set has them.
    pub removed: u64,
    /// Their parts differ.
    pub changed: u64,
}

/// Differing samples by class.
#[derive(Debug, Default)]
pub struct ChangesByClass(BTreeMap<String, ClassChanges>);

impl ChangesByClass {
    /// Returns the changes of a class to count in; `None` if there are too many different classes.
    pub fn of(&mut self, class: Option<String>) -> Option<&mut ClassChanges> {
        let class = class.unwrap_or_else(|| "(none)".into());
        if self.0.len() >= MOST && !self.0.contains_key(&class) {
            return None;
        }
        Some(self.0.entry(class).or_default())
    }

    /// Returns the classes, those with the most differing samples first.
    pub fn ranked(self) -> Vec<(String, ClassChanges)> {
        let mut ranked: Vec<(String, ClassChanges)> = self.0.into_iter().collect();
        ranked.sort_by_key(|(_, changes)| {
            std::cmp::Reverse(changes.added + changes.removed + changes.changed)
        });
        ranked
    }
}
