//! `ItemView` and `RunView`: a sample and a run together with the plan that holds their keys, parts and reads.
//!
//! Borrowed and copied; look-ups alone.

use tarflume_dataset::Dataset;
use tarflume_formats::name;
use tarflume_jpeg::Excerpt;
use tarflume_types::Error;

use crate::fetch::excerpt::PartExcerpt;
use crate::fetch::parts::{PartRef, Read, Run};
use crate::fetch::plan::{Item, ReadPlan};

/// A sample of a plan.
#[derive(Debug, Clone, Copy)]
pub struct ItemView<'a> {
    plan: &'a ReadPlan,
    number: usize,
}

/// A run of a plan.
#[derive(Debug, Clone, Copy)]
pub struct RunView<'a> {
    plan: &'a ReadPlan,
    run: &'a Run,
}

impl ReadPlan {
    /// Item number `number`.
    ///
    /// # Panics
    /// The plan has no such item.
    pub fn item(&self, number: usize) -> ItemView<'_> {
        assert!(number < self.items().len(), "a plan of {} items", self.items().len());
        ItemView { plan: self, number }
    }

    /// Run number `number`.
    ///
    /// # Panics
    /// The plan has no such run.
    pub fn run(&self, number: usize) -> RunView<'_> {
        RunView { plan: self, run: &self.runs()[number] }
    }

    /// All runs.
    pub fn run_views(&self) -> impl Iterator<Item = RunView<'_>> {
        self.runs().iter().map(|run| RunView { plan: self, run })
    }
}

impl<'a> ItemView<'a> {
    /// Its number in [`ReadPlan::items`].
    pub fn number(self) -> usize {
        self.number
    }

    fn item(self) -> &'a Item {
        &self.plan.items()[self.number]
    }

    /// The row of the batch that it is drawn for.
    pub fn row(self) -> usize {
        self.item().row
    }

    /// Its ordinal.
    pub fn ordinal(self) -> u64 {
        self.item().ordinal
    }

    /// Its shard.
    pub fn shard(self) -> usize {
        self.item().shard
    }

    /// Its key.
    pub fn key(self) -> &'a [u8] {
        self.plan.key(self.item())
    }

    /// Its parts: one for each need, and what is read to be compared with the sidecar.
    pub fn parts(self) -> &'a [PartRef] {
        self.plan.parts_of(self.item())
    }

    /// True if its parts are compared with the sidecar before they are used, because the tar may be newer.
    pub(crate) fn is_suspect(self) -> bool {
        self.item().is_suspect
    }

    /// The entry points of one of its parts; see [`ReadPlan::entry_points`].
    pub fn entry_points(self, part: &PartRef) -> Option<&'a [u8]> {
        self.plan.entry_points(part)
    }

    /// The rows of one of its parts that are read, if not all are.
    pub(crate) fn excerpt(self, part: &PartRef) -> Option<Excerpt<'a>> {
        self.plan.excerpt(part)
    }

    /// Adds its place, the path of the shard and the key, to an error.
    pub fn place(self, dataset: &Dataset, error: Error) -> Error {
        let path = dataset.shard(self.shard()).path();
        error.with_path(path).with_key(name::shown(self.key()))
    }

    /// Adds the place of its first part, with the byte, to an error.
    pub(crate) fn place_part(self, dataset: &Dataset, error: Error) -> Error {
        let part = self.parts().iter().find(|part| part.ext.is_some());
        self.place(dataset, error).with_byte(part.map_or(0, |part| part.at))
    }
}

impl<'a> RunView<'a> {
    /// Its samples.
    pub fn items(self) -> impl Iterator<Item = ItemView<'a>> {
        let plan = self.plan;
        self.run.items.clone().map(move |number| ItemView { plan, number })
    }

    /// Number of its samples.
    pub fn len(self) -> usize {
        self.run.items.len()
    }

    /// True if it has no sample.
    pub fn is_empty(self) -> bool {
        self.run.items.is_empty()
    }

    /// Its reads.
    pub fn reads(self) -> &'a [Read] {
        &self.plan.reads()[self.run.reads.clone()]
    }

    /// Bytes of all its reads.
    pub(crate) fn read_bytes(self) -> u64 {
        self.reads().iter().map(|read| read.length).sum()
    }

    /// Length of its buffer.
    pub fn bytes(self) -> u64 {
        self.run.bytes
    }

    /// The first byte of each of its samples that has bytes, and the first byte after each hole in them, ascending.
    pub(crate) fn starts(self) -> Vec<u64> {
        let mut starts = Vec::new();
        for item in self.items() {
            let parts = item.parts().iter().filter(|part| part.length > 0);
            starts.extend(parts.clone().map(|part| part.at).min());
            let holes = parts.filter_map(|part| {
                part.excerpt.filter(PartExcerpt::has_hole).map(|e| part.at + e.from)
            });
            starts.extend(holes);
        }
        starts.sort_unstable();
        starts
    }

    /// Its shard.
    pub fn shard(self) -> usize {
        self.run.shard
    }

    /// The lowest row of the batch that one of its samples is drawn for.
    pub fn first_row(self) -> usize {
        self.items().map(ItemView::row).min().unwrap_or(0)
    }

    /// Adds its place, that of its first sample, to an error.
    pub fn place(self, dataset: &Dataset, error: Error) -> Error {
        let error = error.with_path(dataset.shard(self.shard()).path());
        let Some(item) = self.items().next() else { return error };
        let part = item.parts().iter().find(|part| part.ext.is_some());
        error.with_key(name::shown(item.key())).with_byte(part.map_or(0, |part| part.at))
    }
}
