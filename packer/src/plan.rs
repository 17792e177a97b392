//! Planning: a scan and the options -> the plan, written to a file.
//!
//! Every refusal that does not depend on a file's content happens here, before a byte of a shard is
//! written. Floors: `deal` is arithmetic, `duplicates` decides about samples that exclude each
//! other, `split` divides samples into splits, `naming` names shards, `shape` has the options, this file streams the rest
//! into a [`PlanWriter`].

pub(crate) mod deal;
pub(crate) mod duplicates;
pub(crate) mod naming;
mod shape;
pub(crate) mod split;
pub(crate) mod warnings;

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use rayon::slice::ParallelSliceMut;
use tarflume_base::Failure;
use tarflume_formats::About;
use tarflume_formats::message::Message;
use tarflume_formats::plan::{
    Location, PlanFoot, PlanWriter, PlannedExt, PlannedPart, PlannedSample,
};
use tarflume_formats::publish::TempFile;
use tarflume_formats::{Result, name, tar};
use tarflume_scan::Scan;
use tarflume_scan::options::{ScanOptions, ScanProblem};
use tarflume_scan::samples::list::{FoundAt, FoundPart, FoundSample, Spot};
use tarflume_scan::samples::texts::TextReader;

use self::deal::{Cutter, Total, shuffled_place};
use self::duplicates::Decided;
use self::naming::{Base, Namer};
pub(crate) use self::shape::{Shape, flag_of};
use self::split::{SplitRule, Splits};

/// Program and version for plans and manifests.
pub(crate) const TOOL: &str = concat!("pack ", env!("CARGO_PKG_VERSION"));

/// The samples to pack, in order.
#[derive(Debug)]
pub(crate) struct Dealt<'a> {
    scan: &'a Scan,
    decided: Decided,
    /// The samples in the order of the shards; `None` means the order of their names.
    order: Option<Vec<(u64, Spot)>>,
    limit: u64,
    splits: Vec<SplitEnd>,
    notes: Vec<Message>,
    total: Total,
}

/// The name of a split, and the number of samples in it and in the splits before it.
#[derive(Debug)]
struct SplitEnd {
    name: String,
    end: u64,
}

impl<'a> Dealt<'a> {
    /// Decides which samples are packed, and their order.
    ///
    /// # Errors
    /// Returns the errors of [`duplicates::keys`], [`duplicates::images`] and [`split::divide`].
    pub(crate) fn new(
        scan: &'a Scan,
        roots: &[PathBuf],
        options: &ScanOptions,
        shape: &Shape,
        rule: Option<&SplitRule>,
    ) -> Result<Dealt<'a>, Failure> {
        let mut decided = duplicates::keys(scan, roots, &options.names, &options.listed)?;
        if shape.dedupe {
            duplicates::images(scan, roots, &mut decided)?;
        }
        let rules = shape.json_rules();
        let splits =
            rule.map(|rule| split::divide(scan, roots, rule, rules, &mut decided)).transpose()?;
        let mut dealt = Dealt {
            scan,
            decided,
            order: None,
            limit: u64::MAX, // set below: a shuffle orders all samples before the first N are taken
            splits: Vec::new(),
            notes: Vec::new(),
            total: Total::default(),
        };
        dealt.arrange(shape, splits);
        dealt.limit = shape.limit.unwrap_or(u64::MAX);
        let mut total = Total::default();
        let mut member = Vec::new();
        dealt.each(|_, sample| {
            total.samples += 1;
            total.bytes += sample_bytes(sample, &scan.exts, &mut member);
        });
        dealt.total = total;
        Ok(dealt)
    }

    /// Orders the samples if they are shuffled or divided.
    fn arrange(&mut self, shape: &Shape, splits: Option<Splits>) {
        let limit = shape.limit.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
        let samples = self.scan.samples.len() as usize;
        let Some(Splits { names, of, notes }) = splits else {
            if shape.shuffle.is_some() {
                let mut order = Vec::with_capacity(samples);
                self.each(|spot, sample| order.push((place_of(&sample.key, shape), spot)));
                order.par_sort_unstable(); // equal places keep the order of names
                order.truncate(limit);
                self.order = Some(order);
            }
            return;
        };
        self.notes = notes;
        let mut order = Vec::with_capacity(samples);
        let mut of = of.into_iter();
        self.each(|spot, sample| {
            order.push((
                place_of(&sample.key, shape),
                spot,
                of.next().expect("each sample has a split"),
            ));
        });
        order.par_sort_unstable();
        order.truncate(limit);
        order.par_sort_by_key(|&(_, _, split)| split); // stable
        let ends = names.into_iter().enumerate();
        self.splits = ends
            .map(|(split, name)| SplitEnd {
                name,
                end: order.partition_point(|o| usize::from(o.2) <= split) as u64,
            })
            .collect();
        self.order = Some(order.into_iter().map(|(place, spot, _)| (place, spot)).collect());
    }

    /// Returns the split of the sample at this place of the order.
    fn split_at(&self, place: u64) -> Option<&str> {
        let split = self.splits.partition_point(|split| split.end <= place);
        self.splits.get(split).map(|split| split.name.as_str())
    }

    /// Returns lines about splits for the summary.
    pub(crate) fn notes(&self) -> &[Message] {
        &self.notes
    }

    /// Returns the problems of duplicates and splits.
    pub(crate) fn problems(&self) -> &[ScanProblem] {
        &self.decided.problems
    }

    /// Returns the number of files left out because the exclude list has the key that their sample
    /// was renamed to.
    pub(crate) fn skipped(&self) -> u64 {
        self.decided.skipped
    }

    /// Returns the totals of what will be packed.
    pub(crate) fn total(&self) -> Total {
        self.total
    }

    /// Returns the number of samples renamed because their key differed from another only in case.
    pub(crate) fn renamed(&self) -> u64 {
        self.decided.renamed.len() as u64
    }

    /// Calls `each` with every sample that is packed, in order.
    fn each(&self, mut each: impl FnMut(Spot, &FoundSample)) {
        let renamed = &self.decided.renamed;
        let mut give = |spot: Spot, sample: &FoundSample| match renamed.get(&spot) {
            None => each(spot, sample),
            Some(key) => each(spot, &FoundSample { key: key.clone(), ..sample.clone() }),
        };
        if let Some(order) = &self.order {
            let mut sample = FoundSample::default();
            for &(_, spot) in order {
                self.scan.samples.read(spot, &mut sample);
                give(spot, &sample);
            }
            return;
        }
        let mut left = if self.limit == u64::MAX { u64::MAX } else { self.limit };
        self.scan.samples.visit(|spot, sample| {
            if left == 0 {
                return false;
            }
            if self.decided.dropped.is_empty() || !self.decided.dropped.contains(&spot) {
                left -= 1;
                give(spot, sample);
            }
            true
        });
    }
}

fn place_of(key: &[u8], shape: &Shape) -> u64 {
    shape.shuffle.map_or(0, |seed| shuffled_place(seed, key))
}

/// The fields of a plan other than the samples, their order and the problems.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms<'a> {
    /// The source folders.
    pub roots: &'a [PathBuf],
    /// The options that determine the shards.
    pub shape: &'a Shape,
    /// Whether sidecars get JPEG entry points.
    pub entry_points: bool,
    /// The data set that gets the shards, if there is one already.
    pub base: Option<&'a Base>,
}

/// Writes the plan to a temporary file beside `target` and returns both.
///
/// # Errors
/// Returns an error if the operating system refuses to write.
pub(crate) fn write_plan(
    dealt: &Dealt<'_>,
    terms: Terms<'_>,
    problems: Vec<serde_json::Value>,
    target: &Path,
) -> Result<(TempFile, PlanFoot)> {
    let folder = tarflume_formats::publish::folder_of(target);
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let mut temp = TempFile::create(folder, &name)?;
    let out = BufWriter::with_capacity(1 << 20, &mut temp.file);
    let foot = encode_plan(dealt, terms, problems, out)?;
    Ok((temp, foot))
}

/// Encodes the plan into `out`, which may be a sink.
///
/// # Errors
/// Returns the errors of `out`.
pub(crate) fn encode_plan<W: Write>(
    dealt: &Dealt<'_>,
    terms: Terms<'_>,
    problems: Vec<serde_json::Value>,
    out: W,
) -> Result<PlanFoot> {
    let (exts, numbers) = sorted_exts(&dealt.scan.exts);
    let mut writer = PlanWriter::new(out, exts)
        .map_err(|e| tarflume_formats::Error::io(e, "write", "the plan"))?;
    writer.set_entry_points(terms.entry_points);
    if dealt.scan.has_located_parts() {
        writer.set_sources(dealt.scan.sources.clone());
    }
    writer.set_about(about(&dealt.scan.about, terms.base));
    if let Some(base) = terms.base {
        writer.set_base(base.manifest.clone());
    }
    stream_shards(dealt, terms, &numbers, &mut writer)?;
    let roots = terms.roots.iter().map(|r| r.to_string_lossy().into_owned()).collect();
    let options = serde_json::to_value(terms.shape).expect("texts and numbers serialize");
    let (_, foot) = writer.finish(TOOL.into(), roots, options, problems)?;
    Ok(foot)
}

/// Returns the description of the data set after the plan is packed.
fn about(found: &About, base: Option<&Base>) -> About {
    let Some(base) = base else { return found.clone() };
    let classes = found.classes.clone().or_else(|| base.about.classes.clone());
    let before = base.about.objects.as_ref();
    let objects = match (&found.objects, before) {
        (Some(found), Some(before)) => Some(found.clone().after(before)),
        (found, before) => found.as_ref().or(before).cloned(),
    };
    About { classes, columns: base.columns_with(&found.columns), objects }
}

fn stream_shards<W: Write>(
    dealt: &Dealt<'_>,
    terms: Terms<'_>,
    numbers: &[u16],
    writer: &mut PlanWriter<W>,
) -> Result<()> {
    let cut = terms.shape.cut;
    let mut cutter = Cutter::new(cut, dealt.total);
    let mut namer = Namer::new(&terms.shape.prefix, terms.base, terms.shape.ending());
    let mut planned = PlannedSample::default();
    let mut member = Vec::new();
    let mut texts = dealt.scan.texts.reader();
    let mut place = 0;
    let mut shards = 0;
    let mut bytes = 0;
    let mut result = Ok(());
    dealt.each(|_, sample| {
        if result.is_err() {
            return;
        }
        let size = sample_bytes(sample, &dealt.scan.exts, &mut member);
        result = (|| {
            if namer.enters(dealt.split_at(place)) && shards > 0 {
                cutter = Cutter::new(cut, dealt.total);
            }
            place += 1;
            if cutter.begins_shard(size) {
                if shards > 0 {
                    writer.end_shard(bytes + tar::END.len() as u64)?;
                }
                let (name, split) = namer.next_shard();
                writer.begin_shard_of(name, split);
                shards += 1;
                bytes = 0;
            }
            bytes += size;
            planned.root = sample.root;
            planned.source.clone_from(&sample.source);
            planned.key.clone_from(&sample.key);
            planned.parts.clear();
            planned.text.clear();
            for part in &sample.parts {
                let location = located(part, &mut texts, &mut planned.text)?;
                let ext = numbers[part.ext as usize];
                planned.parts.push(PlannedPart { ext, size: part.size, location });
            }
            writer.add(&planned)
        })();
    });
    result?;
    if shards > 0 { writer.end_shard(bytes + tar::END.len() as u64) } else { Ok(()) }
}

/// Returns a part's location in the plan; appends its text, if it is one, to `text`.
fn located(part: &FoundPart, texts: &mut TextReader<'_>, text: &mut Vec<u8>) -> Result<Location> {
    Ok(match part.at {
        FoundAt::File(stamp) => Location::File { stamp },
        FoundAt::Range(source, at) => Location::Range { source, at },
        FoundAt::Cell(source, row, column) => Location::Cell { source, row, column },
        FoundAt::Path(at, length, stamp) => {
            let start = text.len() as u32;
            texts.read(at, u64::from(length), text)?;
            Location::Path { stamp, at: start, length }
        }
        FoundAt::Text(at) => {
            let start = text.len() as u32; // the writer limits a sample to 7 MiB
            texts.read(at, part.size, text)?;
            Location::Text { at: start }
        }
    })
}

/// Sorts extensions by name, because their numbers depend on the threads of the scan. Returns them
/// with a table from scan numbers to plan numbers.
fn sorted_exts(exts: &[PlannedExt]) -> (Vec<PlannedExt>, Vec<u16>) {
    let mut order: Vec<usize> = (0..exts.len()).collect();
    order.sort_by_key(|&i| (&exts[i].shard, &exts[i].source));
    let mut numbers = vec![0; exts.len()];
    order.iter().enumerate().for_each(|(new, &old)| numbers[old] = new as u16);
    (order.into_iter().map(|i| exts[i].clone()).collect(), numbers)
}

/// Returns the bytes of the sample's members in the tar.
fn sample_bytes(sample: &FoundSample, exts: &[PlannedExt], member: &mut Vec<u8>) -> u64 {
    sample
        .parts
        .iter()
        .map(|part| {
            member.clear();
            name::join(member, &sample.key, exts[part.ext as usize].shard.as_bytes());
            tar::header_len(member, part.size)
                .saturating_add(part.size.next_multiple_of(tar::BLOCK))
        })
        .sum()
}
