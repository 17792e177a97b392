//! `Stats`: what was counted, as reports and pages show it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;
use tarflume_formats::index::Sample;
use tarflume_formats::{Result, name};
use tarflume_shards::listing::Listing;

use super::class_count::{ClassCount, OTHERS};
use super::class_source::ClassSource;
use super::finding::{Count, Example, Finding, FindingKind, KEPT};
use super::histogram::{Bucket, Distribution, Histogram, floor};
use super::objects::ObjectStats;
use super::tally::{ASPECT_STEPS, Tally};
use crate::ordinals::Ordinals;

/// The ordinals of each finding.
type Flagged = BTreeMap<String, Vec<u64>>;

/// Bars of a chart.
const BARS: usize = 32;
/// The most frequent dimensions that are listed.
const DIMENSIONS: usize = 12;
/// A part is large from this many times the median of its extension on.
const LARGE: u64 = 16;

/// The counts and distributions of a data set.
#[derive(Debug, Clone, Serialize)]
pub struct Stats {
    /// Samples.
    pub samples: u64,
    /// Shards.
    pub shards: u64,
    /// Bytes of all tars.
    pub bytes: u64,
    /// Samples whose JSON and picture headers were read.
    pub examined: u64,
    /// Whether all parts have checksums, without which duplicates are not found.
    pub has_checksums: bool,
    /// Parts by extension.
    pub extensions: Vec<ExtStats>,
    /// Widths of pictures in pixels.
    pub width: Option<Distribution>,
    /// Heights.
    pub height: Option<Distribution>,
    /// Pixels of a picture.
    pub pixels: Option<Distribution>,
    /// Bars of the widths.
    pub width_bars: Vec<Bucket>,
    /// Bars of the heights.
    pub height_bars: Vec<Bucket>,
    /// Bars of width / height.
    pub aspects: Vec<AspectBar>,
    /// The most frequent dimensions.
    pub dimensions: Vec<Dimensions>,
    /// Kinds of pictures among the examined samples.
    pub kinds: Vec<KindCount>,
    /// Where classes were found.
    pub class_source: Option<String>,
    /// Examined samples with a class.
    pub labeled: u64,
    /// Classes with the number of examined samples, the most frequent ones first.
    pub classes: Vec<ClassCount>,
    /// Objects of the examined samples, if they have some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objects: Option<ObjectStats>,
    /// What is unusual.
    pub findings: Vec<Finding>,
}

/// The parts of one extension.
#[derive(Debug, Clone, Serialize)]
pub struct ExtStats {
    /// The extension.
    pub ext: String,
    /// Bytes of all its parts.
    pub bytes: u64,
    /// Bytes of a part.
    pub sizes: Distribution,
    /// Bars of the sizes.
    pub bars: Vec<Bucket>,
}

/// Pictures whose width / height is near `ratio`.
#[derive(Debug, Clone, Serialize)]
pub struct AspectBar {
    /// Width / height at the middle of the bar. The first and the last bar have all beyond.
    pub ratio: f64,
    /// Pictures.
    pub count: u64,
}

/// Pictures of the same dimensions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Dimensions {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Pictures.
    pub count: u64,
}

/// Pictures of one kind.
#[derive(Debug, Clone, Serialize)]
pub struct KindCount {
    /// JPEG, PNG, WebP, GIF, BMP, TIFF, Netpbm.
    pub format: &'static str,
    /// Of a JPEG: baseline, extended or progressive.
    pub coding: Option<&'static str>,
    /// Of a JPEG: gray, YCbCr, RGB, CMYK or YCCK.
    pub colors: Option<&'static str>,
    /// Pictures.
    pub count: u64,
}

impl Stats {
    /// Returns whether a sample has a missing or a large part; `None` for other findings.
    ///
    /// # Errors
    /// Returns an error if the sidecar is damaged.
    pub fn has_flag(&self, sample: &Sample<'_>, finding: &Finding) -> Result<Option<bool>> {
        match finding.kind {
            FindingKind::MissingPart => {
                for part in sample.parts() {
                    if name::shown(part?.ext) == finding.detail {
                        return Ok(Some(false));
                    }
                }
                Ok(Some(true))
            }
            FindingKind::LargePart => {
                let of = self.extensions.iter().find(|of| of.ext == finding.detail);
                let limit = large(of.map_or(0, |of| of.sizes.median));
                for part in sample.parts() {
                    let part = part?;
                    if name::shown(part.ext) == finding.detail && part.length >= limit {
                        return Ok(Some(true));
                    }
                }
                Ok(Some(false))
            }
            _ => Ok(None),
        }
    }
}

/// Returns the bytes from which on a part is large: the lower end of a bucket, so that counts are exact.
fn large(median: u64) -> u64 {
    floor(median.max(64).saturating_mul(LARGE))
}

/// Turns counts into results.
pub(super) fn summarize(
    listing: &Listing,
    ordinals: &Ordinals,
    mut tally: Tally,
    duplicates: Option<Count>,
    class: Option<&ClassSource>,
) -> Result<(Stats, Flagged)> {
    let has_checksums = duplicates.is_some();
    find(&mut tally, duplicates);
    let mut classes: Vec<ClassCount> =
        tally.classes.into_iter().map(|(name, count)| ClassCount { name, count }).collect();
    classes.sort_by_key(|class| (class.name == OTHERS, Reverse(class.count), class.name.clone()));
    let mut dimensions: Vec<Dimensions> = tally
        .dimensions
        .into_iter()
        .map(|((width, height), count)| Dimensions { width, height, count })
        .collect();
    dimensions.sort_by_key(|of| (Reverse(of.count), of.width, of.height));
    dimensions.truncate(DIMENSIONS);
    let mut kinds: Vec<KindCount> = tally
        .kinds
        .into_iter()
        .map(|(kind, count)| KindCount {
            format: kind.format,
            coding: kind.coding,
            colors: kind.colors,
            count,
        })
        .collect();
    kinds.sort_by_key(|kind| Reverse(kind.count));
    let extensions = tally.exts.iter().filter_map(|(ext, tally)| ext_stats(ext, &tally.sizes));
    let mut extensions: Vec<ExtStats> = extensions.collect();
    extensions.sort_by_key(|ext| Reverse(ext.sizes.count));
    let first = tally.aspects.first_key_value();
    let last = tally.aspects.last_key_value();
    let steps = first.map_or(0, |first| *first.0)..=last.map_or(-1, |last| *last.0);
    let aspects = steps.map(|step| AspectBar {
        ratio: (f64::from(step) / f64::from(ASPECT_STEPS)).exp2(),
        count: tally.aspects.get(&step).copied().unwrap_or_default(),
    });
    let (findings, flagged) = findings(listing, ordinals, tally.findings)?;
    let stats = Stats {
        samples: tally.samples,
        shards: listing.shards.len() as u64,
        bytes: listing.shards.iter().map(|shard| shard.index.tar().length).sum(),
        examined: tally.examined,
        has_checksums,
        extensions,
        width: tally.widths.distribution(),
        height: tally.heights.distribution(),
        pixels: tally.pixels.distribution(),
        width_bars: tally.widths.bars(BARS),
        height_bars: tally.heights.bars(BARS),
        aspects: aspects.collect(),
        dimensions,
        kinds,
        class_source: class.map(ToString::to_string),
        labeled: tally.labeled,
        classes,
        objects: tally.objects.stats(),
        findings,
    };
    Ok((stats, flagged))
}

/// Returns the sizes of the parts of an extension; `None` if there is none.
fn ext_stats(ext: &[u8], sizes: &Histogram) -> Option<ExtStats> {
    let bars = sizes.bars(BARS);
    let bytes = sizes.sum();
    Some(ExtStats { ext: name::shown(ext), bytes, sizes: sizes.distribution()?, bars })
}

/// Returns the median; 0 of nothing.
fn median(histogram: &Histogram) -> u64 {
    histogram.distribution().map_or(0, |of| of.median)
}

/// Adds the findings that need the whole: medians, and what most samples have.
fn find(tally: &mut Tally, duplicates: Option<Count>) {
    let findings = &mut tally.findings;
    findings.put(FindingKind::Duplicate, "", duplicates.unwrap_or_default());
    if tally.labeled > 0 {
        findings.put(FindingKind::MissingLabel, "", std::mem::take(&mut tally.unlabeled));
    }
    if median(&tally.widths).min(median(&tally.heights)) >= 64 {
        findings.put(FindingKind::TinyPicture, "", std::mem::take(&mut tally.tiny));
    }
    for (ext, of) in &tally.exts {
        let shown = name::shown(ext);
        let limit = large(median(&of.sizes));
        let first = of.largest.iter().filter(|part| part.bytes >= limit).map(|part| part.ordinal);
        let count = Count { count: of.sizes.at_least(limit), first: first.collect() };
        findings.put(FindingKind::LargePart, &shown, count);
        // Parts of most samples: two extensions of one sample never have the same name.
        if of.sizes.count() * 2 > tally.samples && of.sizes.count() < tally.samples {
            let mut missing = Count::default();
            for (set, count) in &tally.sets {
                if !set.split(|&byte| byte == 0).any(|one| one == ext.as_slice()) {
                    missing.merge(count, KEPT);
                }
            }
            findings.put(FindingKind::MissingPart, &shown, missing);
        }
    }
}

fn findings(
    listing: &Listing,
    ordinals: &Ordinals,
    found: super::finding::Findings,
) -> Result<(Vec<Finding>, Flagged)> {
    let mut findings = Vec::new();
    let mut flagged = BTreeMap::new();
    for ((kind, detail), mut count) in found.0 {
        count.first.sort_unstable();
        let mut examples = Vec::new();
        for &ordinal in count.first.iter().take(KEPT) {
            if let Some((_, sample)) = ordinals.sample(listing, ordinal)? {
                examples.push(Example { ordinal, key: sample.shown_key() });
            }
        }
        let finding = Finding { kind, detail, count: count.count, examples };
        flagged.insert(finding.flag(), count.first);
        findings.push(finding);
    }
    Ok((findings, flagged))
}
