//! `Tally`: what one pass has counted, of a shard or of several. Merging does not depend on the order.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::class_count::{MAX_CLASSES, OTHERS};
use super::finding::{Count, FindingKind, Findings, KEPT};
use super::histogram::Histogram;
use super::objects::ObjectTally;
use super::picture_kind::PictureKind;

/// Limits on different extensions, sets of extensions, and dimensions. Others are counted together.
const MAX_EXTS: usize = 512;
const MAX_SETS: usize = 4096;
const MAX_DIMENSIONS: usize = 1 << 16;
/// Bars of aspect ratios for each factor of two, and factors to each side of a square.
pub(crate) const ASPECT_STEPS: i32 = 6;
pub(crate) const ASPECT_FACTORS: i32 = 3;

/// One of the largest parts of an extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LargePart {
    pub(crate) bytes: u64,
    /// The ordinal of its sample.
    pub(crate) ordinal: u64,
}

impl LargePart {
    /// Returns the key of the order: larger parts first, those of one size by ordinal.
    fn rank(&self) -> (Reverse<u64>, u64) {
        (Reverse(self.bytes), self.ordinal)
    }
}

/// The parts of one extension.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ExtTally {
    pub(crate) sizes: Histogram,
    /// The largest parts, in their order.
    pub(crate) largest: Vec<LargePart>,
}

/// Counts of samples.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) samples: u64,
    pub(crate) examined: u64,
    pub(crate) exts: BTreeMap<Vec<u8>, ExtTally>,
    /// Samples by their extensions, each followed by a zero byte.
    pub(crate) sets: BTreeMap<Vec<u8>, Count>,
    pub(crate) widths: Histogram,
    pub(crate) heights: Histogram,
    pub(crate) pixels: Histogram,
    pub(crate) aspects: BTreeMap<i32, u64>,
    pub(crate) dimensions: BTreeMap<(u32, u32), u64>,
    pub(crate) other_dimensions: u64,
    /// Samples whose shorter side has fewer than 32 pixels.
    pub(crate) tiny: Count,
    pub(crate) kinds: BTreeMap<PictureKind, u64>,
    pub(crate) classes: BTreeMap<String, u64>,
    pub(crate) labeled: u64,
    pub(crate) unlabeled: Count,
    /// The ordinals of each class, if they are wanted.
    pub(crate) postings: BTreeMap<String, Vec<u32>>,
    pub(crate) objects: ObjectTally,
    pub(crate) findings: Findings,
    /// Whether all ordinals of findings and classes are kept.
    pub(crate) keeps_all: bool,
}

impl Tally {
    /// Ordinals of a finding that are kept.
    fn most(&self) -> usize {
        if self.keeps_all { usize::MAX } else { KEPT }
    }

    pub(crate) fn find(&mut self, kind: FindingKind, detail: &str, ordinal: u64) {
        let most = self.most();
        self.findings.add(kind, detail, ordinal, most);
    }

    pub(crate) fn add_part(&mut self, ext: &[u8], bytes: u64, ordinal: u64) {
        let ext = if self.exts.contains_key(ext) || self.exts.len() < MAX_EXTS {
            ext
        } else {
            OTHERS.as_bytes()
        };
        if !self.exts.contains_key(ext) {
            self.exts.insert(ext.to_vec(), ExtTally::default());
        }
        if let Some(tally) = self.exts.get_mut(ext) {
            tally.sizes.add(bytes);
            keep_largest(&mut tally.largest, LargePart { bytes, ordinal });
        }
        if bytes == 0 {
            let ext = tarflume_formats::name::shown(ext);
            self.find(FindingKind::EmptyPart, &ext, ordinal);
        }
    }

    pub(crate) fn add_set(&mut self, set: &[u8], ordinal: u64) {
        if let Some(count) = self.sets.get_mut(set) {
            count.add(ordinal, KEPT);
        } else if self.sets.len() < MAX_SETS {
            self.sets.entry(set.to_vec()).or_default().add(ordinal, KEPT);
        }
    }

    /// Counts the width and height of a picture, in pixels.
    pub(crate) fn add_dimensions(&mut self, width: u32, height: u32, ordinal: u64) {
        if width == 0 || height == 0 {
            return;
        }
        self.widths.add(width.into());
        self.heights.add(height.into());
        self.pixels.add(u64::from(width) * u64::from(height));
        *self.aspects.entry(aspect_step(width, height)).or_default() += 1;
        self.count_dimensions(width, height, 1);
        if width.min(height) < 32 {
            let most = self.most();
            self.tiny.add(ordinal, most);
        }
        if u64::from(width.max(height)) > 4 * u64::from(width.min(height)) {
            self.find(FindingKind::ExtremeAspect, "", ordinal);
        }
    }

    fn count_dimensions(&mut self, width: u32, height: u32, count: u64) {
        let dimensions = (width, height);
        if self.dimensions.contains_key(&dimensions) || self.dimensions.len() < MAX_DIMENSIONS {
            *self.dimensions.entry(dimensions).or_default() += count;
        } else {
            self.other_dimensions += count;
        }
    }

    pub(crate) fn add_classes(&mut self, classes: Vec<String>, ordinal: u64) {
        if classes.is_empty() {
            let most = self.most();
            return self.unlabeled.add(ordinal, most);
        }
        self.labeled += 1;
        for class in classes {
            if let (true, Ok(ordinal)) = (self.keeps_all, u32::try_from(ordinal)) {
                self.postings.entry(class.clone()).or_default().push(ordinal);
            }
            self.count_class(class, 1);
        }
    }

    fn count_class(&mut self, class: String, count: u64) {
        let is_kept = self.classes.contains_key(&class) || self.classes.len() < MAX_CLASSES;
        *self.classes.entry(if is_kept { class } else { OTHERS.into() }).or_default() += count;
    }

    /// Adds the counts of other samples.
    pub(crate) fn merge(&mut self, other: Tally) {
        let most = self.most();
        self.samples += other.samples;
        self.examined += other.examined;
        self.labeled += other.labeled;
        self.other_dimensions += other.other_dimensions;
        for (ext, tally) in other.exts {
            let into = self.exts.entry(ext).or_default();
            into.sizes.merge(&tally.sizes);
            tally.largest.into_iter().for_each(|part| keep_largest(&mut into.largest, part));
        }
        for (set, count) in other.sets {
            self.sets.entry(set).or_default().merge(&count, KEPT);
        }
        self.widths.merge(&other.widths);
        self.heights.merge(&other.heights);
        self.pixels.merge(&other.pixels);
        for (step, count) in other.aspects {
            *self.aspects.entry(step).or_default() += count;
        }
        for ((width, height), count) in other.dimensions {
            self.count_dimensions(width, height, count);
        }
        self.tiny.merge(&other.tiny, most);
        for (kind, count) in other.kinds {
            *self.kinds.entry(kind).or_default() += count;
        }
        for (class, count) in other.classes {
            self.count_class(class, count);
        }
        self.unlabeled.merge(&other.unlabeled, most);
        for (class, mut ordinals) in other.postings {
            self.postings.entry(class).or_default().append(&mut ordinals);
        }
        self.objects.merge(other.objects);
        self.findings.merge(&other.findings, most);
    }
}

fn keep_largest(largest: &mut Vec<LargePart>, part: LargePart) {
    if largest.len() == KEPT && largest.last().is_some_and(|last| last.rank() <= part.rank()) {
        return;
    }
    let at = largest.partition_point(|kept| kept.rank() < part.rank());
    largest.insert(at, part);
    largest.truncate(KEPT);
}

/// Returns the bar of an aspect ratio: 0 for a square, up for wide pictures.
fn aspect_step(width: u32, height: u32) -> i32 {
    let limit = ASPECT_STEPS * ASPECT_FACTORS;
    let steps = (f64::from(width) / f64::from(height)).log2() * f64::from(ASPECT_STEPS);
    (steps.round() as i32).clamp(-limit, limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ordinals: impl IntoIterator<Item = u64>) -> Tally {
        let mut tally = Tally::default();
        for n in ordinals {
            tally.samples += 1;
            tally.add_part(b"jpg", n * n % 977, n);
            tally.add_set(if n % 7 == 0 { b"jpg\0" } else { b"jpg\0json\0" }, n);
            tally.add_dimensions(1 + (n as u32 * 31) % 200, 64, n);
            tally.add_classes(if n % 5 == 0 { vec![] } else { vec![format!("c{}", n % 3)] }, n);
        }
        tally
    }

    #[test]
    fn merged_shards_equal_one_pass_in_any_order() {
        let mut merged = of(300..500);
        merged.merge(of(0..100));
        merged.merge(of(100..300));
        assert_eq!(merged, of(0..500));
        assert_eq!(merged.unlabeled.count, 100);
        let empty = &merged.findings.0[&(FindingKind::EmptyPart, "jpg".into())];
        assert_eq!((empty.count, empty.first.as_slice()), (1, &[0][..]));
        assert_eq!(merged.exts[b"jpg".as_slice()].largest.len(), KEPT);
    }

    #[test]
    fn aspects_are_symmetric_and_limited() {
        assert_eq!(
            (aspect_step(100, 100), aspect_step(200, 100), aspect_step(100, 200)),
            (0, 6, -6)
        );
        assert_eq!((aspect_step(1, 60_000), aspect_step(60_000, 1)), (-18, 18));
    }
}
