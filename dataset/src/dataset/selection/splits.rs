//! What a manifest states about all samples: splits, builds, classes, extensions. Opens no sidecar.

use std::collections::BTreeMap;
use std::sync::Arc;

use tarflume_formats::ClassTable;
use tarflume_formats::Manifest;
use tarflume_formats::ObjectTable;
use tarflume_formats::index::ColumnSpec;
use tarflume_formats::message;
use tarflume_formats::message::{Call, Name, Task};
use tarflume_formats::name;
use tarflume_types::{Error, Result};

use crate::dataset::{Dataset, DatasetFacts};

impl DatasetFacts {
    pub(in crate::dataset) fn of(manifest: &Manifest) -> DatasetFacts {
        let builds = (1..=manifest.builds()).filter_map(|n| manifest.shards_of(n)).collect();
        DatasetFacts {
            extensions: Some(manifest.extensions.clone()),
            classes: manifest.about.classes.clone().map(Arc::new),
            objects: manifest.about.objects.clone().map(Arc::new),
            columns: typed_columns(manifest),
            builds,
        }
    }

    /// The facts about both data sets together.
    pub(in crate::dataset) fn and(&self, other: &DatasetFacts) -> DatasetFacts {
        let both = self.extensions.as_ref().zip(other.extensions.as_ref());
        let classes = self.classes.as_ref().zip(other.classes.as_ref());
        let classes = classes.filter(|(one, other)| one.is_numbered_as(other));
        let objects = self.objects.as_ref().filter(|own| Some(*own) == other.objects.as_ref());
        let columns = self.columns.iter().filter(|spec| other.columns.contains(spec));
        DatasetFacts {
            extensions: both.map(|(one, other)| sum(one, other)),
            classes: classes.map(|(one, _)| one.clone()),
            objects: objects.cloned(),
            columns: columns.cloned().collect(),
            builds: Vec::new(),
        }
    }
}

/// The typed columns that all sidecars have, without those of types that this version does not know.
fn typed_columns(manifest: &Manifest) -> Vec<ColumnSpec> {
    let columns = manifest.sidecar_columns.iter();
    columns.filter_map(|text| ColumnSpec::parse(text).ok()).collect()
}

fn sum(one: &BTreeMap<String, u64>, other: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let mut sum = one.clone();
    for (ext, count) in other {
        let entry = sum.entry(ext.clone()).or_insert(0);
        *entry = entry.saturating_add(*count);
    }
    sum
}

impl Dataset {
    /// The classes that `pack build --label` found, or `None`. The manifest contains them; several data
    /// sets opened together must have the same.
    ///
    /// ```no_run
    /// use tarflume::{Dataset, Json};
    ///
    /// # fn main() -> tarflume::Result<()> {
    /// let dataset = Dataset::open("shards/")?;
    /// if let Some(classes) = dataset.classes() {
    ///     let label = Json::new("json", &classes.pointer); // a column of ids
    ///     println!("{} classes, 0 is {:?}", classes.names.len(), classes.name(0));
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn classes(&self) -> Option<&ClassTable> {
        self.0.about.classes.as_deref()
    }

    /// What the numbers of boxes, polygons and keypoints mean, or `None`: the form of boxes, and whether coordinates are
    /// pixels. The manifest contains it after a build with annotations; several data sets opened together must have the
    /// same.
    ///
    /// ```no_run
    /// use tarflume::Dataset;
    ///
    /// # fn main() -> tarflume::Result<()> {
    /// let dataset = Dataset::open("shards/")?;
    /// if let Some(objects) = dataset.objects() {
    ///     println!("{}, in pixels: {}", objects.boxes, !objects.relative); // "xywh, in pixels: true"
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn objects(&self) -> Option<&ObjectTable> {
        self.0.about.objects.as_deref()
    }

    /// The names of the splits, in the order of their first shards; empty if the data set is not divided.
    pub fn splits(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for split in self.shards().iter().filter_map(|shard| shard.facts().split()) {
            if !names.contains(&split) {
                names.push(split);
            }
        }
        names
    }

    /// The shards of one split as a data set. Its order, its states and its fingerprint are those of these
    /// shards alone.
    ///
    /// ```no_run
    /// use tarflume::Dataset;
    ///
    /// # fn main() -> tarflume::Result<()> {
    /// let val = Dataset::open("shards/")?.split("val")?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](tarflume_types::ErrorKind::Usage): there is no such split; the error lists all.
    pub fn split(&self, split: &str) -> Result<Dataset> {
        let keep: Vec<bool> =
            self.shards().iter().map(|shard| shard.facts().split() == Some(split)).collect();
        if !keep.contains(&true) {
            let splits = self.splits();
            let have = if splits.is_empty() {
                let build = Call::of(Task::Build).with(Name::Split);
                message!("the data set has no splits; `{build}` makes them"; build = build)
            } else {
                message!("the splits are: {}", splits.join(", "))
            };
            let name = name::shown(split.as_bytes());
            return Err(Error::usage(message!("there is no split '{name}'; {have}"; have = have)));
        }
        self.some(&keep, self.0.about.builds.len())
    }

    /// Number of builds that made the data set: 1, and 1 for each `pack append`. 0 if it was opened from
    /// several manifests, or without one.
    pub fn builds(&self) -> usize {
        self.0.about.builds.len()
    }

    /// The data set as it was after the first `builds` builds. Later builds append shards, so ordinals,
    /// order, states and fingerprint are those of that time.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](tarflume_types::ErrorKind::Usage): there are fewer builds, or `builds` is 0.
    pub fn version(&self, builds: usize) -> Result<Dataset> {
        let known = &self.0.about.builds;
        let Some(&shards) = builds.checked_sub(1).and_then(|place| known.get(place)) else {
            let text = match known.len() {
                0 => "versions are those of one dataset.json; open one data set".to_string(),
                1 => format!("there is no version {builds}; the data set has version 1 alone"),
                last => {
                    format!("there is no version {builds}; the data set has versions 1 to {last}")
                }
            };
            return Err(Error::usage(text));
        };
        let keep: Vec<bool> = (0..self.shards().len()).map(|shard| shard < shards).collect();
        self.some(&keep, builds)
    }

    /// The data set of some shards, and of the first `builds` builds.
    fn some(&self, keep: &[bool], builds: usize) -> Result<Dataset> {
        let all = keep.iter().all(|keep| *keep);
        let about = DatasetFacts {
            extensions: self.0.about.extensions.clone().filter(|_| all),
            classes: self.0.about.classes.clone(),
            objects: self.0.about.objects.clone(),
            columns: self.0.about.columns.clone(),
            builds: self.0.about.builds[..builds]
                .iter()
                .map(|shards| keep[..*shards].iter().filter(|keep| **keep).count())
                .collect(),
        };
        let shards = self.shards().iter().zip(keep).filter(|(_, keep)| **keep);
        let facts = shards.map(|(shard, _)| shard.facts().clone()).collect();
        Dataset::of(facts, about, self.0.access.clone())
    }
}
