//! `Listed`: ordinals as a table, grouped by class or by weight: what a sample is drawn by, other than once a pass.
//!
//! 4 bytes for each sample, shared by all classes of a data set. Which class comes when is decided elsewhere.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::fingerprint::Fingerprint;
use crate::error::{Error, ErrorKind, Result};

/// Most groups of one data set: as many as a schedule has places.
const MAX_GROUPS: usize = 1 << 20;

/// Some groups of a table, each with the number of times that a pass draws its members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    ordinals: Arc<[u32]>,
    groups: Arc<[Group]>,
    kept: u64,
    /// The largest `times`.
    most: u64,
}

/// Neighbors in the table, ascending.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Group {
    place: Range<usize>,
    /// How often a pass draws each of them.
    times: u64,
    /// Indexes before the first one.
    before: u64,
}

/// The table of a data set: its ordinals by group, ascending in each.
pub(crate) struct Grouped {
    ordinals: Arc<[u32]>,
    /// The value that the samples of a group have in common, ascending, and their place in the table.
    pub(crate) groups: Vec<(i64, Range<usize>)>,
}

impl Grouped {
    /// Groups the samples in `ranges` by `value`.
    ///
    /// # Errors
    /// Too many groups, or ordinals that do not fit 32 bits; no memory.
    pub(crate) fn new<R: Iterator<Item = Range<u64>>>(
        samples: u64,
        ranges: impl Fn() -> R,
        value: impl Fn(u64) -> i64,
    ) -> Result<Grouped> {
        if samples > u64::from(u32::MAX) {
            return Err(Error::usage(format!(
                "weights are for data sets of up to {} samples, this one has {samples}; pack each class into \
                 a data set and mix them by weights",
                u32::MAX
            )));
        }
        let mut counts: HashMap<i64, usize> = HashMap::new();
        for ordinal in ranges().flatten() {
            *counts.entry(value(ordinal)).or_insert(0) += 1;
            if counts.len() > MAX_GROUPS {
                return Err(Error::usage(format!(
                    "there are more than {MAX_GROUPS} classes or weights: are these numbers of samples?"
                )));
            }
        }
        let mut groups: Vec<(i64, Range<usize>)> =
            counts.iter().map(|(&value, &count)| (value, 0..count)).collect();
        groups.sort_unstable_by_key(|(value, _)| *value);
        let mut end = 0;
        for (_, place) in &mut groups {
            *place = end..end + place.end;
            end = place.end;
        }
        let mut next: HashMap<i64, usize> =
            groups.iter().map(|(value, place)| (*value, place.start)).collect();
        let mut ordinals = Vec::new();
        ordinals.try_reserve_exact(end).map_err(|e| {
            let text = format!("a table of {end} samples needs {} bytes of memory", 4 * end);
            Error::new(ErrorKind::Limit, text).with_source(e)
        })?;
        ordinals.resize(end, 0_u32);
        for ordinal in ranges().flatten() {
            if let Some(at) = next.get_mut(&value(ordinal)) {
                ordinals[*at] = ordinal as u32; // checked above
                *at += 1;
            }
        }
        Ok(Grouped { ordinals: ordinals.into(), groups })
    }

    /// The members of the groups at `wanted`, each drawn `times` in a pass.
    pub(crate) fn listed(&self, wanted: &[(usize, u64)]) -> Listed {
        let mut groups = Vec::with_capacity(wanted.len());
        let mut kept = 0_u64;
        for &(group, times) in wanted.iter().filter(|(_, times)| *times > 0) {
            let place = self.groups[group].1.clone();
            let members = place.len() as u64;
            groups.push(Group { place, times, before: kept });
            kept = kept.saturating_add(members.saturating_mul(times));
        }
        let most = groups.iter().map(|group| group.times).max().unwrap_or(1);
        Listed { ordinals: self.ordinals.clone(), groups: groups.into(), kept, most }
    }

    /// Identifies the table, with numbers that belong to it.
    pub(crate) fn fingerprint(&self, numbers: impl IntoIterator<Item = i64>) -> Fingerprint {
        let mut bytes = Vec::with_capacity(4 * self.ordinals.len());
        self.ordinals.iter().for_each(|ordinal| bytes.extend(ordinal.to_le_bytes()));
        let groups = self.groups.iter();
        let groups =
            groups.flat_map(|(value, place)| [*value, place.start as i64, place.end as i64]);
        let words: Vec<u8> = groups.chain(numbers).flat_map(i64::to_le_bytes).collect();
        Fingerprint::of("tarflume groups", [bytes, words])
    }
}

impl Listed {
    /// Samples of a pass.
    pub(crate) fn len(&self) -> u64 {
        self.kept
    }

    /// Whether a pass may draw a sample more than once.
    pub(crate) fn repeats(&self) -> bool {
        self.most > 1
    }

    /// The largest number of times that a pass draws a sample.
    pub(crate) fn most(&self) -> u64 {
        self.most
    }

    /// The ordinal of an index, and how many of its copies have a smaller index.
    pub(crate) fn place(&self, index: u64) -> (u64, u64) {
        let group = match self.groups.len() {
            1 => &self.groups[0],
            _ => &self.groups[self.groups.partition_point(|group| group.before <= index) - 1],
        };
        let within = index - group.before;
        let members = group.place.len() as u64;
        let ordinal = self.ordinals[group.place.start + (within % members) as usize];
        (u64::from(ordinal), within / members)
    }

    /// Members below `ordinal`, each as often as it is drawn.
    pub(crate) fn before(&self, ordinal: u64) -> u64 {
        self.groups.iter().map(|group| self.below(group, ordinal)).sum()
    }

    fn below(&self, group: &Group, ordinal: u64) -> u64 {
        let members = &self.ordinals[group.place.clone()];
        group.times * members.partition_point(|&member| u64::from(member) < ordinal) as u64
    }

    /// Every member as a run of one, as often as a pass draws it.
    pub(crate) fn runs(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        (0..self.kept).map(|index| {
            let ordinal = self.place(index).0;
            ordinal..ordinal + 1
        })
    }

    /// The members for which `keep` returns true.
    pub(crate) fn only(&self, keep: impl Fn(u64) -> bool) -> Listed {
        let mut ordinals = Vec::new();
        let mut groups = Vec::new();
        let mut kept = 0;
        for group in self.groups.iter() {
            let first = ordinals.len();
            let members = self.ordinals[group.place.clone()].iter().copied();
            ordinals.extend(members.filter(|&member| keep(u64::from(member))));
            let place = first..ordinals.len();
            if !place.is_empty() {
                let members = place.len() as u64;
                groups.push(Group { place, times: group.times, before: kept });
                kept += members * group.times;
            }
        }
        Listed { ordinals: ordinals.into(), groups: groups.into(), kept, most: self.most }
    }

    pub(crate) fn hash(&self, hasher: &mut blake3::Hasher) {
        for group in self.groups.iter() {
            hasher.update(&group.times.to_le_bytes());
            hasher.update(&(group.place.len() as u64).to_le_bytes());
            for ordinal in &self.ordinals[group.place.clone()] {
                hasher.update(&ordinal.to_le_bytes());
            }
        }
    }
}
