//! Counts and measures the samples of a data set in one pass: the data of `pack stats` and `pack view`. Prints nothing.
//!
//! Sidecars give sizes, extensions, dimensions and checksums of all samples. Classes, coding of pictures and damage need
//! bytes of parts: the JSON, and the first bytes of the picture. They are read of all samples, or of some that are
//! spread evenly. Memory is bounded for any number of samples.

mod class_count;
mod class_source;
mod duplicates;
mod finding;
mod histogram;
mod objects;
mod picture_kind;
mod shard_parts;
mod summary;
mod tally;

use std::collections::BTreeMap;
use std::sync::Mutex;

use tarflume_base::{Failure, Stop};
use tarflume_formats::index::Sample;
use tarflume_formats::json::{JsonRules, parse};
use tarflume_formats::{ClassTable, IgnorePoison, ObjectTable};
use tarflume_shards::index::in_parallel;
use tarflume_shards::listing::{Listing, Shard};

pub use self::class_count::ClassCount;
pub use self::class_source::ClassSource;
pub(crate) use self::class_source::names as class_names;
pub use self::finding::{Example, Finding, FindingKind};
pub use self::histogram::{Bucket, Distribution, Histogram};
use self::objects::ObjectPlace;
pub use self::objects::ObjectStats;
pub(crate) use self::picture_kind::{Looked, look};
pub(crate) use self::picture_kind::{is_mask, is_picture};
pub use self::shard_parts::ShardParts;
pub use self::summary::{AspectBar, Dimensions, ExtStats, KindCount, Stats};
use self::tally::Tally;
use crate::ordinals::Ordinals;

/// Limit on a part that is read for its class.
pub(crate) const CLASS_PART: u64 = 4 << 20;
/// Samples by which a place of classes is chosen.
const TRIED: u64 = 64;

/// What is read.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where classes are; `None`: where the class table says, or the first usual place that has some.
    pub class: Option<ClassSource>,
    /// Samples whose parts are read, spread evenly; `u64::MAX` for all.
    pub examine: u64,
    /// Threads.
    pub jobs: usize,
    /// Ends the pass early.
    pub stop: Stop,
    /// Whether all ordinals of classes and findings are wanted: four bytes for each class of each sample.
    pub postings: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { class: None, examine: 100_000, jobs: 1, stop: Stop::new(), postings: false }
    }
}

/// The results of a pass.
#[derive(Debug)]
pub struct Measured {
    /// The counts.
    pub stats: Stats,
    /// Where classes are.
    pub class: Option<ClassSource>,
    /// The ordinals of each class, ascending, if they were wanted.
    pub postings: BTreeMap<String, Vec<u32>>,
    /// The ordinals of each finding, ascending, by [`Finding::flag`]: all of them if [`Options::postings`] is set, but for
    /// missing and large parts, which [`Stats::has_flag`] finds.
    pub flagged: BTreeMap<String, Vec<u64>>,
}

/// Reads the sidecars of all samples, and parts of those that are examined.
///
/// # Errors
/// Returns an error if a sidecar is damaged, if the machine or a store fails, and after an interruption. Damaged parts
/// are findings.
pub fn measure(listing: &Listing, options: &Options) -> Result<Measured, Failure> {
    let ordinals = Ordinals::of(listing);
    if options.postings && u32::try_from(ordinals.samples()).is_err() {
        return Err(Failure::usage(
            "a list of all samples of each class has at most 4,294,967,295 samples; give one split alone",
        ));
    }
    let class = match &options.class {
        Some(class) => Some(class.clone()),
        None => usual_class(listing, &ordinals)?,
    };
    let table = table_of(listing);
    let pass = Pass {
        ordinals: &ordinals,
        class: class.as_ref(),
        table,
        objects: listing.manifest.as_ref().and_then(|found| ObjectPlace::of(&found.about)),
        json: listing.json_rules,
        options,
    };
    let total = Mutex::new(Tally { keeps_all: options.postings, ..Tally::default() });
    let numbered: Vec<(usize, &Shard)> = listing.shards.iter().enumerate().collect();
    let results = in_parallel(options.jobs, numbered, |(number, shard)| {
        let tally = pass.shard(number, shard)?;
        total.lock().ignore_poison().merge(tally);
        Ok(())
    })?;
    results.into_iter().collect::<Result<(), Failure>>()?;
    let mut tally = total.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let most = if options.postings { usize::MAX } else { finding::KEPT };
    let duplicates = duplicates::duplicates(listing, most, &options.stop)?;
    let mut postings = std::mem::take(&mut tally.postings);
    postings.values_mut().for_each(|ordinals| ordinals.sort_unstable());
    let (stats, flagged) =
        summary::summarize(listing, &ordinals, tally, duplicates, class.as_ref())?;
    Ok(Measured { stats, class, postings, flagged })
}

/// Returns the class table of a data set.
pub(crate) fn table_of(listing: &Listing) -> Option<&ClassTable> {
    listing.manifest.as_ref()?.about.classes.as_ref()
}

/// Returns what a data set states about objects.
pub(crate) fn objects_of(listing: &Listing) -> Option<&ObjectTable> {
    listing.manifest.as_ref()?.about.objects.as_ref()
}

/// Returns true for `wanted` of `samples` ordinals, spread evenly.
pub(crate) fn is_chosen(ordinal: u64, samples: u64, wanted: u64) -> bool {
    let [before, after] = [ordinal, ordinal + 1]
        .map(|end| u128::from(end) * u128::from(wanted) / u128::from(samples.max(1)));
    wanted >= samples || after > before
}

/// The first usual place that names classes of some samples.
fn usual_class(listing: &Listing, ordinals: &Ordinals) -> Result<Option<ClassSource>, Failure> {
    let mut candidates = ClassSource::candidates(table_of(listing));
    if table_of(listing).is_some() {
        return Ok(candidates.pop());
    }
    let samples = ordinals.samples();
    let mut named = vec![0_u32; candidates.len()];
    for n in 0..TRIED.min(samples) {
        let ordinal = n * samples / TRIED.min(samples);
        let Some((shard, sample)) = ordinals.sample(listing, ordinal)? else { continue };
        let parts = ShardParts::open(shard)?;
        for (candidate, named) in candidates.iter().zip(&mut named) {
            let classes = classes_of(&parts, &sample, candidate, None, listing.json_rules)?;
            *named += u32::from(classes.is_ok_and(|classes| !classes.is_empty()));
        }
    }
    let most = named.iter().copied().max().unwrap_or_default();
    let best = named.iter().position(|&count| count == most && count > 0);
    Ok(best.map(|best| candidates.swap_remove(best)))
}

/// Returns the classes of a sample, or why there are none.
pub(crate) fn classes_of(
    parts: &ShardParts<'_>,
    sample: &Sample<'_>,
    class: &ClassSource,
    table: Option<&ClassTable>,
    rules: JsonRules,
) -> Result<Result<Vec<String>, Unread>, Failure> {
    let Some(part) = sample.part(class.ext().as_bytes())? else { return Ok(Ok(Vec::new())) };
    if part.length > CLASS_PART {
        return Ok(Ok(Vec::new()));
    }
    Ok(match parts.read(&part, CLASS_PART)? {
        Ok(bytes) => class.classes(&bytes, table, rules).map_err(|_| Unread::NotJson),
        Err(_) => Err(Unread::Damaged),
    })
}

/// Why a part has no class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unread {
    NotJson,
    Damaged,
}

/// One pass over all shards.
struct Pass<'a> {
    ordinals: &'a Ordinals,
    class: Option<&'a ClassSource>,
    table: Option<&'a ClassTable>,
    /// Where objects are, if samples have some.
    objects: Option<ObjectPlace<'a>>,
    json: JsonRules,
    options: &'a Options,
}

impl Pass<'_> {
    fn shard(&self, number: usize, shard: &Shard) -> Result<Tally, Failure> {
        let start = self.ordinals.start(number);
        let samples = self.ordinals.samples();
        let mut tally = Tally { keeps_all: self.options.postings, ..Tally::default() };
        let mut parts = None;
        let mut set = Vec::new();
        for sample in shard.index.iter() {
            let sample = sample?;
            if sample.row % 1024 == 0 && self.options.stop.requested() {
                return Err(Failure::interrupted());
            }
            let ordinal = start + sample.row;
            tally.samples += 1;
            set.clear();
            for part in sample.parts() {
                let part = part?;
                tally.add_part(part.ext, part.length, ordinal);
                set.extend_from_slice(part.ext);
                set.push(0);
            }
            tally.add_set(&set, ordinal);
            let mut dimensions = sample.dimensions;
            if is_chosen(ordinal, samples, self.options.examine) {
                if parts.is_none() {
                    parts = Some(ShardParts::open(shard)?);
                }
                if let Some(parts) = &parts {
                    let found = self.examine(&mut tally, parts, &sample, ordinal)?;
                    dimensions = dimensions.or(found);
                    self.add_objects(&mut tally, parts, &sample, dimensions)?;
                }
            }
            if let Some((width, height)) = dimensions {
                tally.add_dimensions(width, height, ordinal);
            }
        }
        shard.index.intact()?;
        Ok(tally)
    }

    /// Counts the objects of a sample. What is wrong with its JSON is a finding of its class.
    fn add_objects(
        &self,
        tally: &mut Tally,
        parts: &ShardParts<'_>,
        sample: &Sample<'_>,
        dimensions: Option<(u32, u32)>,
    ) -> Result<(), Failure> {
        let Some(place) = self.objects else { return Ok(()) };
        let Some(part) = sample.part(objects::EXT.as_bytes())? else { return Ok(()) };
        if part.length <= CLASS_PART
            && let Ok(bytes) = parts.read(&part, CLASS_PART)?
            && let Ok(json) = parse(&bytes, self.json)
        {
            tally.objects.add(&json, dimensions, place);
        }
        Ok(())
    }

    /// Reads the class and the first bytes of the picture; returns the dimensions of a JPEG.
    fn examine(
        &self,
        tally: &mut Tally,
        parts: &ShardParts<'_>,
        sample: &Sample<'_>,
        ordinal: u64,
    ) -> Result<Option<(u32, u32)>, Failure> {
        tally.examined += 1;
        if let Some(class) = self.class {
            match classes_of(parts, sample, class, self.table, self.json)? {
                Ok(classes) => tally.add_classes(classes, ordinal),
                Err(why) => {
                    let kind = match why {
                        Unread::NotJson => FindingKind::BadJson,
                        Unread::Damaged => FindingKind::DamagedPart,
                    };
                    tally.find(kind, class.ext(), ordinal);
                }
            }
        }
        for part in sample.parts() {
            let part = part?;
            if !is_picture(part.ext) || is_mask(part.ext) {
                continue;
            }
            let ext = tarflume_formats::name::shown(part.ext);
            match look(parts, &part)? {
                Looked::Known(kind) => {
                    if matches!(kind.colors, Some("CMYK" | "YCCK")) {
                        tally.find(FindingKind::FourInks, "", ordinal);
                    }
                    let size = kind.size;
                    *tally.kinds.entry(kind.without_size()).or_default() += 1;
                    return Ok(size);
                }
                Looked::Bad => tally.find(FindingKind::BadPicture, &ext, ordinal),
                Looked::Damaged => tally.find(FindingKind::DamagedPart, &ext, ordinal),
            }
            break;
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chosen_ordinals_are_as_many_as_wanted_and_spread() {
        for (samples, wanted) in [(10, 3), (1000, 7), (5, 5), (3, 10), (1_000_003, 1000)] {
            let chosen: Vec<u64> =
                (0..samples).filter(|&n| is_chosen(n, samples, wanted)).collect();
            assert_eq!(chosen.len() as u64, wanted.min(samples));
            let gaps: Vec<u64> = chosen.windows(2).map(|pair| pair[1] - pair[0]).collect();
            let low = gaps.iter().min();
            let high = gaps.iter().max();
            assert!(high.zip(low).is_none_or(|(high, low)| high - low <= 1), "{samples} {wanted}");
        }
    }
}
