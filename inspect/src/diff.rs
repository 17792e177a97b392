//! Compares two data sets by keys and checksums: the work of `pack diff`. Prints nothing, and reads manifests
//! and sidecars only.
//!
//! Each sample becomes 40 bytes: digest of its key, digest of its parts, ordinal. These are sorted and merged. Keys are
//! divided by their digests into passes, so memory is bounded for any number of samples; the sidecars are read once for
//! each pass.

pub mod sides;

use std::cmp::Ordering;

use tarflume_base::{Failure, Stop};
use tarflume_formats::index::{Part, Sample};
use tarflume_formats::{Result, name};
use tarflume_shards::listing::Listing;
use tarflume_verify::expect::{ExpectedTables, SideNames};

/// Samples of one data set that are held at once.
const HELD: u64 = 16 << 20;

/// How a sample differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// Only the first data set has it.
    Removed,
    /// Only the second data set has it.
    Added,
    /// Its parts differ.
    Changed,
}

/// A part that differs: bytes and checksum in both data sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartChange {
    /// The extension.
    pub ext: String,
    /// Bytes in the first data set; `None` if the sample does not have the part there.
    pub before: Option<u64>,
    /// Bytes in the second data set.
    pub after: Option<u64>,
}

/// A sample that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleChange {
    /// How.
    pub change: Change,
    /// Its key.
    pub key: String,
    /// Its ordinal in the first data set, in the second for an added one.
    pub ordinal: u64,
    /// The parts that differ; all parts of an added or removed sample.
    pub parts: Vec<PartChange>,
}

/// The number of samples by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Samples of the first data set.
    pub before: u64,
    /// Samples of the second data set.
    pub after: u64,
    /// Samples with equal parts in both.
    pub same: u64,
    /// Samples of the second data set alone.
    pub added: u64,
    /// Samples of the first data set alone.
    pub removed: u64,
    /// Samples whose parts differ.
    pub changed: u64,
    /// Both have checksums of all parts; otherwise bytes that changed in place are not found.
    pub has_checksums: bool,
}

impl Totals {
    /// Returns true if all samples are equal.
    pub fn are_same(&self) -> bool {
        self.added + self.removed + self.changed == 0
    }
}

/// Compares `before` with `after`. `on_change` gets removed and changed samples in the order of `before`, then added ones
/// in the order of `after`. A key that occurs several times is compared occurrence by occurrence.
///
/// # Errors
/// Returns the errors of sidecars and of `on_change`, and an error after an interruption.
pub fn diff(
    before: &Listing,
    after: &Listing,
    stop: &Stop,
    on_change: &mut dyn FnMut(SampleChange) -> Result<(), Failure>,
) -> Result<Totals, Failure> {
    let left = Side::of(before);
    let right = Side::of(after);
    let passes = left.samples().max(right.samples()).div_ceil(HELD).max(1).next_power_of_two();
    let mut totals = Totals {
        before: left.samples(),
        after: right.samples(),
        has_checksums: left.has_checksums() && right.has_checksums(),
        ..Totals::default()
    };
    let checksums = totals.has_checksums;
    // Ordinals in both data sets: (before, after) of changed ones.
    let mut removed = Vec::new();
    let mut changed = Vec::new();
    let mut added = Vec::new();
    for pass in 0..passes {
        let a = left.hashes(pass, passes, checksums, stop)?;
        let b = right.hashes(pass, passes, checksums, stop)?;
        let mut i = 0;
        let mut j = 0;
        while let Some(order) = order(a.get(i), b.get(j)) {
            match order {
                Ordering::Less => removed.push(a[i].ordinal),
                Ordering::Greater => added.push(b[j].ordinal),
                Ordering::Equal if a[i].parts == b[j].parts => totals.same += 1,
                Ordering::Equal => changed.push((a[i].ordinal, b[j].ordinal)),
            }
            i += usize::from(order != Ordering::Greater);
            j += usize::from(order != Ordering::Less);
        }
    }
    totals.removed = removed.len() as u64;
    totals.added = added.len() as u64;
    totals.changed = changed.len() as u64;
    let mut differs: Vec<(u64, Option<u64>)> = removed.into_iter().map(|at| (at, None)).collect();
    differs.extend(changed.into_iter().map(|(at, other)| (at, Some(other))));
    differs.sort_unstable();
    added.sort_unstable();
    for (at, other) in differs {
        let change = if other.is_some() { Change::Changed } else { Change::Removed };
        let key = left.key(at)?;
        let before = left.parts(at)?;
        let after = other.map_or(Ok(Vec::new()), |other| right.parts(other))?;
        on_change(SampleChange { change, key, ordinal: at, parts: part_changes(&before, &after) })?;
    }
    for at in added {
        let key = right.key(at)?;
        let parts = part_changes(&[], &right.parts(at)?);
        on_change(SampleChange { change: Change::Added, key, ordinal: at, parts })?;
    }
    Ok(totals)
}

/// Returns what differs between the classes and columns that the manifests of two data sets state, a sentence each; none
/// if one of them has no manifest.
pub fn table_differences(before: &Listing, after: &Listing) -> Vec<String> {
    match (&before.manifest, &after.manifest) {
        (Some(before), Some(after)) => {
            let names = SideNames { expected: "before", found: "after" };
            ExpectedTables::differences(&before.about, &after.about, names)
        }
        _ => Vec::new(),
    }
}

/// The order of two samples by key; `None` at the end of both.
fn order(left: Option<&SampleHashes>, right: Option<&SampleHashes>) -> Option<Ordering> {
    match (left, right) {
        (None, None) => None,
        (Some(_), None) => Some(Ordering::Less),
        (None, Some(_)) => Some(Ordering::Greater),
        (Some(left), Some(right)) => Some(left.key.cmp(&right.key)),
    }
}

/// What is compared of a part.
#[derive(Debug, PartialEq, Eq)]
struct KnownPart {
    ext: Vec<u8>,
    /// Length in bytes.
    bytes: u64,
    /// crc32c of the bytes; `None` if the sidecar has none.
    checksum: Option<u32>,
}

impl KnownPart {
    fn of(part: Part<'_>) -> KnownPart {
        KnownPart { ext: part.ext.to_vec(), bytes: part.length, checksum: part.checksum }
    }

    fn find<'a>(parts: &'a [KnownPart], ext: &[u8]) -> Option<&'a KnownPart> {
        parts.iter().find(|part| part.ext == ext)
    }
}

/// Returns the parts that differ, in the order of their extensions.
fn part_changes(before: &[KnownPart], after: &[KnownPart]) -> Vec<PartChange> {
    let mut exts: Vec<&[u8]> = before.iter().chain(after).map(|part| &*part.ext).collect();
    exts.sort_unstable();
    exts.dedup();
    let changes = exts.into_iter().filter_map(|ext| {
        let before = KnownPart::find(before, ext);
        let after = KnownPart::find(after, ext);
        (before != after).then(|| PartChange {
            ext: name::shown(ext),
            before: before.map(|part| part.bytes),
            after: after.map(|part| part.bytes),
        })
    });
    changes.collect()
}

/// A sample by the hashes of its key and its parts, for sorting.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SampleHashes {
    /// First 16 bytes of blake3 of the key.
    key: u128,
    ordinal: u64,
    /// First 16 bytes of blake3 of extensions, bytes and checksums.
    parts: u128,
}

/// A data set with the first ordinal of each shard.
struct Side<'a> {
    listing: &'a Listing,
    starts: Vec<u64>,
}

impl<'a> Side<'a> {
    fn of(listing: &'a Listing) -> Side<'a> {
        let mut starts = vec![0];
        for shard in &listing.shards {
            starts.push(starts[starts.len() - 1] + shard.index.samples());
        }
        Side { listing, starts }
    }

    fn samples(&self) -> u64 {
        self.starts.last().copied().unwrap_or_default()
    }

    fn has_checksums(&self) -> bool {
        self.listing.shards.iter().all(|shard| shard.index.has_checksums())
    }

    /// The samples of a pass, by key and then by ordinal.
    fn hashes(
        &self,
        pass: u64,
        passes: u64,
        checksums: bool,
        stop: &Stop,
    ) -> Result<Vec<SampleHashes>, Failure> {
        let mut found = Vec::new();
        for (shard, start) in self.listing.shards.iter().zip(&self.starts) {
            if stop.requested() {
                return Err(Failure::interrupted());
            }
            for sample in shard.index.iter() {
                let sample = sample?;
                let key = first_half(blake3::hash(sample.key));
                if key as u64 % passes == pass {
                    let parts = digest(&sample, checksums)?;
                    found.push(SampleHashes { key, ordinal: start + sample.row, parts });
                }
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    fn sample<T>(
        &self,
        ordinal: u64,
        of: impl FnOnce(Sample<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let shard = self.starts.partition_point(|&start| start <= ordinal).saturating_sub(1);
        let sample = self.listing.shards[shard].index.sample(ordinal - self.starts[shard])?;
        sample.map(of).transpose()
    }

    fn key(&self, ordinal: u64) -> Result<String> {
        Ok(self.sample(ordinal, |sample| Ok(sample.shown_key()))?.expect(LISTED))
    }

    fn parts(&self, ordinal: u64) -> Result<Vec<KnownPart>> {
        let parts = self
            .sample(ordinal, |sample| sample.parts().map(|part| part.map(KnownPart::of)).collect());
        Ok(parts?.expect(LISTED))
    }
}

const LISTED: &str = "the ordinal is that of a row";

/// The digest of a sample's parts, whatever their order.
fn digest(sample: &Sample<'_>, checksums: bool) -> Result<u128> {
    let mut parts = sample.parts().collect::<Result<Vec<_>>>()?;
    parts.sort_unstable_by_key(|part| part.ext);
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.ext.len() as u64).to_le_bytes());
        hasher.update(part.ext);
        hasher.update(&part.length.to_le_bytes());
        if let Some(checksum) = part.checksum.filter(|_| checksums) {
            hasher.update(&checksum.to_le_bytes());
        }
    }
    Ok(first_half(hasher.finalize()))
}

fn first_half(hash: blake3::Hash) -> u128 {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.as_bytes()[..16]);
    u128::from_le_bytes(bytes)
}
