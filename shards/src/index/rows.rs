//! Groups members into rows: consecutive members of the same key are one sample, by WebDataset's
//! rule.
//!
//! Reads nothing and refuses only a repeated part. Members that cannot be part of a sample are
//! counted and skipped; they do not end the sample around them, as in webdataset.

use std::borrow::Cow;
use std::collections::BTreeMap;

use tarflume_base::Columns;
use tarflume_base::check::strips_of;
use tarflume_formats::Result;
use tarflume_formats::index::{IndexBuilder, TarFacts, Value};
use tarflume_formats::tar::{Member, MemberKind};

/// Members that belong to no sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Directories.
    pub directories: u64,
    /// Links, devices, volume labels, which readers of shards skip.
    pub not_regular: u64,
    /// Files whose name gives no key: no extension, hidden, or `__reserved__`.
    pub without_key: u64,
}

impl Skipped {
    /// Returns their sum.
    pub fn total(&self) -> u64 {
        self.directories + self.not_regular + self.without_key
    }
}

impl std::ops::AddAssign for Skipped {
    fn add_assign(&mut self, other: Skipped) {
        self.directories += other.directories;
        self.not_regular += other.not_regular;
        self.without_key += other.without_key;
    }
}

/// Returns key and lower-case extension of a member that is part of a sample.
pub fn part_of(member: &Member) -> Option<(&[u8], Cow<'_, [u8]>)> {
    member.part()
}

/// Collects the rows of a shard.
#[derive(Debug, Default)]
pub struct Rows {
    builder: IndexBuilder,
    /// The key of the open sample, if there is one.
    open: Option<Vec<u8>>,
    /// A key was not after the one before it in byte order.
    unsorted: bool,
    skipped: Skipped,
}

impl Rows {
    /// Creates an empty collection.
    pub fn new() -> Rows {
        Rows::default()
    }

    /// Creates an empty collection for sidecars with these typed columns.
    pub(crate) fn with_columns(columns: &Columns) -> Rows {
        let mut rows = Rows::new();
        rows.builder.set_columns(columns.specs().to_vec());
        rows
    }

    /// Sets the open sample's value in a typed column.
    pub(crate) fn value(&mut self, column: usize, value: Value<'_>) {
        self.builder.value(column, value);
    }

    /// Adds a part; it begins a sample if its key differs from that of the part before it.
    ///
    /// # Errors
    /// Returns an error if the sample has this part already or there are too many extensions; the
    /// part is then left out.
    pub fn part(
        &mut self,
        member: &Member,
        key: &[u8],
        ext: &[u8],
        checksum: Option<u32>,
    ) -> Result<()> {
        if self.open.as_deref() != Some(key) {
            self.builder.sample(key, member.first);
            self.unsorted |= self.open.as_deref().is_some_and(|before| before > key);
            let open = self.open.get_or_insert_default();
            open.clear();
            open.extend_from_slice(key);
        }
        self.builder.part(ext, member.data, member.size, checksum)
    }

    /// Counts a member that is not a part.
    pub fn skip(&mut self, member: &Member) {
        match member.kind {
            MemberKind::Directory => self.skipped.directories += 1,
            MemberKind::File => self.skipped.without_key += 1,
            _ => self.skipped.not_regular += 1,
        }
    }

    /// Sets the dimensions of the open sample, in pixels.
    pub(crate) fn dimensions(&mut self, width: u32, height: u32) {
        self.builder.dimensions(width, height);
    }

    /// Returns true if any key was not after the one before it in byte order: keys may then repeat.
    pub(crate) fn are_unsorted(&self) -> bool {
        self.unsorted
    }

    /// Returns the number of parts so far, which is the number of the next one.
    pub(crate) fn parts(&self) -> u64 {
        self.builder.parts()
    }

    /// Sets the entry points of part number `part`, the bytes of `jpeg`, and the checksums of its strips; parts must
    /// come in order.
    pub(crate) fn entry_points(&mut self, part: u64, jpeg: &[u8], points: &[u8]) {
        self.builder.entry_points_of(part, points);
        self.builder.strips_of(part, &strips_of(jpeg, points));
    }

    /// Returns the key of the last sample.
    pub fn open_key(&self) -> Option<&[u8]> {
        self.open.as_deref()
    }

    /// Returns the number of samples so far.
    pub(crate) fn samples(&self) -> u64 {
        self.builder.samples()
    }

    /// Returns the members skipped so far.
    pub(crate) fn skipped(&self) -> Skipped {
        self.skipped
    }

    /// Counts parts by extension.
    pub(crate) fn ext_counts(&self) -> BTreeMap<String, u64> {
        self.builder.ext_counts()
    }

    /// Returns the sidecar's bytes.
    ///
    /// # Errors
    /// Returns the errors of [`IndexBuilder::encode`].
    pub fn encode(self, facts: &TarFacts) -> Result<Vec<u8>> {
        self.builder.encode(facts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tarflume_formats::{Index, name};

    fn index(names: &[&str]) -> (Index, Skipped) {
        let mut rows = Rows::new();
        for (i, name) in names.iter().enumerate() {
            let first = i as u64 * 1024;
            let kind = if name.ends_with('/') { MemberKind::Directory } else { MemberKind::File };
            let member =
                Member { name: name.as_bytes().to_vec(), kind, first, data: first + 512, size: 1 };
            match part_of(&member) {
                Some((key, ext)) => rows.part(&member, key, &ext, None).unwrap(),
                None => rows.skip(&member),
            }
        }
        let skipped = rows.skipped();
        let facts = TarFacts { length: names.len() as u64 * 1024, digest: None };
        (Index::from_bytes(rows.encode(&facts).unwrap()).unwrap(), skipped)
    }

    fn samples(names: &[&str]) -> Vec<(String, Vec<String>)> {
        let (index, _) = index(names);
        index
            .iter()
            .map(|sample| {
                let sample = sample.unwrap();
                let exts = sample.parts().map(|part| name::shown(part.unwrap().ext));
                (sample.shown_key(), exts.collect())
            })
            .collect()
    }

    fn sample(key: &str, exts: &[&str]) -> (String, Vec<String>) {
        (key.into(), exts.iter().map(|e| e.to_string()).collect())
    }

    #[test]
    fn neighbors_of_one_key_are_a_sample() {
        assert_eq!(
            samples(&["a.jpg", "a.JSON", "b.jpg", "a.cls"]),
            [sample("a", &["jpg", "json"]), sample("b", &["jpg"]), sample("a", &["cls"])]
        );
    }

    #[test]
    fn members_that_are_no_parts_do_not_end_a_sample() {
        let names = ["d/", "a.jpg", "noext", "d/", ".hid.jpg", "a.json"];
        assert_eq!(samples(&names), [sample("a", &["jpg", "json"])]);
        let skipped = Skipped { directories: 2, not_regular: 0, without_key: 2 };
        assert_eq!(index(&names).1, skipped);
        assert_eq!(skipped.total(), 4);
    }
}
