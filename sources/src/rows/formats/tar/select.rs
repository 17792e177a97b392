//! `Sink`: decides which samples and parts of a tar are packed, and adds them to the scan.
//!
//! Conditions read the JSON of samples. Samples are collected in batches, so that several threads read and
//! evaluate at the same time; the order stays that of the tar.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use tarflume_base::packed_shard::{FrameReader, IndexedShard};
use tarflume_base::{Failure, ProblemKind, json_rules, units};
use tarflume_formats::json::{Value as Json, parse};
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_formats::shown::ShowPath;
use tarflume_formats::{Index, files, name};
use tarflume_scan::filter::absent::{Lack, lacks};
use tarflume_scan::filter::{Filter, Filterable};
use tarflume_scan::options::ScanOptions;
use tarflume_scan::rows::builder::{Root, RowName, RowPart, ScanBuilder};

use super::inner::InnerCount;
use super::sample::{TarPart, TarSample};
use crate::rows::places::sidecar::read_of;

/// Samples that are evaluated together.
const BATCH: usize = 1024;
/// Limit on a JSON that a condition reads.
pub(super) const JSON_MAX: u64 = 4 << 20;

/// Whether a sample is packed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Selected {
    /// Whether it is, and what the conditions read and the sample lacks.
    By {
        holds: bool,
        lacks: Vec<Lack>,
    },
    Wrong(ProblemKind, Message),
}

/// The samples of a compressed tar.
#[derive(Debug)]
pub(super) struct StreamSamples {
    pub(super) samples: Vec<(TarSample, Selected)>,
    /// Members that belong to no sample.
    pub(super) skipped: u64,
    pub(super) inner: InnerCount,
}

impl StreamSamples {
    /// Returns the number of parts.
    pub(super) fn parts(&self) -> u64 {
        self.samples.iter().map(|(sample, _)| sample.parts.len() as u64).sum()
    }
}

/// A tar whose JSON is read.
struct OpenTar {
    path: PathBuf,
    file: File,
}

/// Takes the samples of all tars of a source.
pub(super) struct Sink<'a, 'o> {
    builder: &'a mut ScanBuilder<'o>,
    /// Put before each key.
    prefix: Vec<u8>,
    source: u32,
    /// The open tar, if the filters read its JSON.
    tar: Option<OpenTar>,
    /// The path and the sidecar of a compressed tar.
    packed: Option<(PathBuf, Index)>,
    batch: Vec<TarSample>,
    /// The places in the batch of the keys of a tar whose parts are joined again.
    places: HashMap<Vec<u8>, usize>,
    /// Pieces of samples that were joined to earlier ones.
    rejoined: u64,
    /// The extensions of all parts.
    exts: BTreeSet<Vec<u8>>,
    samples: u64,
    /// The open tar, as long as no file of it was met.
    unmet: Option<PathBuf>,
    /// Tars without files: their number, and the first.
    empty: u64,
    first_empty: Option<PathBuf>,
    /// The tars in the tars.
    pub(super) inner: InnerCount,
}

impl<'a, 'o> Sink<'a, 'o> {
    pub(super) fn new(builder: &'a mut ScanBuilder<'o>, prefix: Vec<u8>) -> Sink<'a, 'o> {
        Sink {
            builder,
            prefix,
            source: 0,
            tar: None,
            packed: None,
            batch: Vec::new(),
            places: HashMap::new(),
            rejoined: 0,
            exts: BTreeSet::new(),
            samples: 0,
            unmet: None,
            empty: 0,
            first_empty: None,
            inner: InnerCount::default(),
        }
    }

    pub(super) fn options(&self) -> &'o ScanOptions {
        self.builder.options()
    }

    /// Begins a tar.
    pub(super) fn open(
        &mut self,
        root: Root<'_>,
        kind: &str,
        options: serde_json::Value,
    ) -> Result<(), Failure> {
        self.flush()?;
        self.close();
        self.unmet = Some(root.path.to_path_buf());
        self.source = self.builder.source(root, "", kind, options)?;
        let reads = !self.options().filters.is_empty();
        self.packed = None;
        self.tar = None;
        if reads {
            let (file, _) = files::open(root.path)?;
            self.tar = Some(OpenTar { path: root.path.to_path_buf(), file });
        }
        Ok(())
    }

    /// Counts the tar that ends if it has no file.
    fn close(&mut self) {
        if let Some(path) = self.unmet.take() {
            self.empty += 1;
            self.first_empty.get_or_insert(path);
        }
    }

    /// States that the tar is compressed, and the sidecar with its frames.
    pub(super) fn set_frames(&mut self, path: &Path, index: Index) {
        self.packed = Some((path.to_path_buf(), index));
    }

    /// Counts members that belong to no sample.
    pub(super) fn skip(&mut self, members: u64) {
        if members > 0 {
            self.unmet = None;
        }
        self.builder.skip(members);
    }

    /// Takes a sample.
    pub(super) fn push(&mut self, sample: TarSample) -> Result<(), Failure> {
        let is_whole = self.batch.len() + 1 >= BATCH && !self.options().rejoins;
        self.add(sample);
        if is_whole { self.flush() } else { Ok(()) }
    }

    /// Adds a sample to the batch, or its parts to an earlier sample of the same key that lacks them. The batch is then the
    /// whole tar. Returns the place of the earlier one.
    fn add(&mut self, sample: TarSample) -> Option<usize> {
        self.unmet = None;
        if self.options().rejoins {
            match self.places.get(&sample.key) {
                Some(&place) if self.batch[place].completes(&sample) => {
                    self.batch[place].parts.extend(sample.parts);
                    self.rejoined += 1;
                    return Some(place);
                }
                Some(_) => {}
                None => drop(self.places.insert(sample.key.clone(), self.batch.len())),
            }
        }
        self.batch.push(sample);
        None
    }

    /// Takes the samples of a compressed tar, which are selected already.
    pub(super) fn take_all(&mut self, samples: StreamSamples) -> Result<(), Failure> {
        self.skip(samples.skipped);
        self.inner.add(samples.inner);
        let has_filters = !self.options().filters.is_empty();
        let mut selections = Vec::with_capacity(samples.samples.len());
        for (sample, selected) in samples.samples {
            match self.add(sample) {
                None => selections.push(selected),
                // The conditions saw a piece of the sample.
                Some(place) if has_filters => {
                    let reason = message!("its parts are not neighbors in the compressed tar, so {where_option} can't be evaluated; reshard it \
                         without {where_option} first"; where_option = Name::Where);
                    selections[place] = Selected::Wrong(ProblemKind::RepeatedKey, reason);
                }
                Some(_) => {}
            }
        }
        self.places.clear();
        let batch = std::mem::take(&mut self.batch);
        batch.iter().zip(selections).try_for_each(|(sample, selected)| self.take(sample, selected))
    }

    /// Evaluates the collected samples and adds those that are packed.
    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        let batch = std::mem::take(&mut self.batch);
        self.places.clear();
        let options = self.options();
        let tar = self.tar.as_ref();
        let selected: Vec<Selected> = if options.filters.is_empty() {
            batch.iter().map(|_| Selected::By { holds: true, lacks: Vec::new() }).collect()
        } else {
            let packed = self.packed.as_ref();
            let each = batch.par_iter().with_min_len(64).map_init(
                FrameReader::default,
                |frames, sample| {
                    select(sample, options, |part| match tar {
                        Some(tar) => read_part(tar, packed, frames, part),
                        None => Ok(Vec::new()),
                    })
                },
            );
            each.collect::<Result<_, Failure>>()?
        };
        for (sample, selected) in batch.iter().zip(selected) {
            self.take(sample, selected)?;
        }
        Ok(())
    }

    fn take(&mut self, sample: &TarSample, selected: Selected) -> Result<(), Failure> {
        self.samples += 1;
        let key = [self.prefix.as_slice(), &sample.key].concat();
        if !self.options().only.as_ref().is_none_or(|only| only.has(&key)) {
            self.builder.leave_unselected();
            return Ok(());
        }
        if let Some((kind, reason)) = &sample.wrong {
            let at = Some(sample.first);
            self.builder.refuse_at(self.source, at, *kind, Some(&key), reason.clone());
            return Ok(());
        }
        match selected {
            Selected::By { holds, lacks } => {
                self.builder.absent.meet(&key, lacks);
                if holds {
                    return self.keep(sample, &key);
                }
                self.builder.leave_unselected();
                Ok(())
            }
            Selected::Wrong(kind, reason) => {
                self.builder.refuse_at(self.source, Some(sample.first), kind, Some(&key), reason);
                Ok(())
            }
        }
    }

    fn keep(&mut self, sample: &TarSample, key: &[u8]) -> Result<(), Failure> {
        let options = self.options();
        for part in &sample.parts {
            if !self.exts.contains(&part.source) {
                self.exts.insert(part.source.clone());
            }
        }
        let mut parts: Vec<(String, RowPart<'static>)> = Vec::with_capacity(sample.parts.len());
        let mut wrong = None;
        for part in sample.parts.iter().filter(|part| options.parts.takes(&part.source)) {
            let range = RowPart::Range { source: self.source, at: part.at, size: part.size };
            match String::from_utf8(options.exts.apply(&part.source)) {
                Err(_) => {
                    let reason = Message::words("its extension is not UTF-8; rename it in the tar");
                    wrong = Some((ProblemKind::BadName, reason));
                }
                Ok(ext) if parts.iter().any(|(other, _)| *other == ext) => {
                    let reason = message!("two of its parts become '{ext}'");
                    wrong = Some((ProblemKind::RepeatedPart, reason));
                }
                Ok(ext) => parts.push((ext, range)),
            }
        }
        if parts.is_empty() && wrong.is_none() {
            let reason = message!("none of its parts is kept ({parts}, {drop_option})"; parts = Name::Parts, drop_option = Name::Drop);
            wrong = Some((ProblemKind::MissingPart, reason));
        }
        if let Some((kind, reason)) = wrong {
            self.builder.refuse_at(self.source, Some(sample.first), kind, Some(key), reason);
            return Ok(());
        }
        let parts: Vec<_> = parts.iter().map(|(ext, part)| (ext.as_str(), *part)).collect();
        self.builder.push(RowName { source: self.source, row: self.samples - 1 }, key, &parts)
    }

    /// Adds the samples that are left.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        self.flush()?;
        self.close();
        if let Some(first) = &self.first_empty {
            let tars = units::counted(
                self.empty,
                "tar has no file and gives",
                "tars have no file and give",
            );
            let note = format!("{tars} no sample; the first is {}", first.shown());
            self.builder.notes.push(note);
        }
        if self.rejoined > 0 {
            let pieces = units::counted(self.rejoined, "piece", "pieces");
            let note = format!("{pieces} of samples joined to earlier parts of the same key");
            self.builder.notes.push(note);
        }
        if let Some(note) = self.inner.note() {
            self.builder.notes.push(note);
        }
        self.note_absent();
        Ok(())
    }

    /// Notes the extensions of `--parts`, `--drop` and `--rename` that no part has.
    fn note_absent(&mut self) {
        let options = self.options();
        let (only, dropped) = options.parts.planned();
        let renamed = if options.rejoins { options.exts.names() } else { Vec::new() };
        let given = [(Name::Parts, only), (Name::Drop, dropped), (Name::Rename, renamed)];
        for (option, exts) in given.iter().filter(|_| !self.exts.is_empty()) {
            for ext in exts.iter().filter(|ext| !self.exts.contains(ext.as_bytes())) {
                let there: Vec<String> = self.exts.iter().map(|ext| name::shown(ext)).collect();
                self.builder.notes.push(message!(
                    "no sample has a part '{}' ({option}); there are: {}",
                    name::shown(ext.as_bytes()),
                    there.join(", ");
                    option = *option
                ));
            }
        }
    }
}

fn read_part(
    from: &OpenTar,
    packed: Option<&(PathBuf, Index)>,
    frames: &mut FrameReader,
    part: &TarPart,
) -> Result<Vec<u8>, Failure> {
    let mut bytes = vec![0; part.size as usize];
    match packed {
        Some((tar, index)) => {
            frames.read(IndexedShard { tar, index }, part.at, &mut bytes, |at, into| {
                read_of(at, into, &from.path, &from.file)
            })?
        }
        None => read_of(part.at, &mut bytes, &from.path, &from.file)?,
    }
    Ok(bytes)
}

/// A sample with its parsed JSON.
struct Known<'a> {
    sample: &'a TarSample,
    json: Vec<(&'a str, Json)>,
}

impl Filterable for Known<'_> {
    fn key(&self) -> &[u8] {
        &self.sample.key
    }

    fn exts(&self) -> Vec<&[u8]> {
        self.sample.parts.iter().map(|part| part.source.as_slice()).collect()
    }

    fn size(&self, ext: &str) -> Option<u64> {
        self.sample.part(ext).map(|part| part.size)
    }

    fn json(&self, ext: &str) -> Option<&Json> {
        self.json.iter().find(|(known, _)| *known == ext).map(|(_, json)| json)
    }
}

impl TarSample {
    fn part(&self, ext: &str) -> Option<&TarPart> {
        self.parts.iter().find(|part| part.source == ext.as_bytes())
    }
}

/// Evaluates the filters. A JSON that cannot be read makes a problem, not a sample that is left out.
///
/// # Errors
/// Returns the errors of `read`.
pub(super) fn select(
    sample: &TarSample,
    options: &ScanOptions,
    mut read: impl FnMut(&TarPart) -> Result<Vec<u8>, Failure>,
) -> Result<Selected, Failure> {
    let mut known = Known { sample, json: Vec::new() };
    for ext in options.filters.iter().flat_map(Filter::parts) {
        let Some(part) = sample.part(ext).filter(|_| known.json(ext).is_none()) else { continue };
        if part.size > JSON_MAX {
            let reason = message!("'{ext}' has {} bytes; {where_option} reads up to 4 MiB", part.size; where_option = Name::Where);
            return Ok(Selected::Wrong(ProblemKind::BadJson, reason));
        }
        let parsed = match &part.bytes {
            Some(bytes) => parse(bytes, options.json),
            None => parse(&read(part)?, options.json),
        };
        match parsed {
            Ok(json) => known.json.push((ext, json)),
            Err(fault) => {
                let why = json_rules::sentence(&fault);
                let reason = message!("{where_option} can't read its '{ext}': {why}"; why = why, where_option = Name::Where);
                return Ok(Selected::Wrong(ProblemKind::BadJson, reason));
            }
        }
    }
    let holds = options.filters.iter().all(|filter| filter.holds(&known));
    Ok(Selected::By { holds, lacks: lacks(&options.filters, &known) })
}
