//! Adds a text to each sample of a finished scan: labels from names, rows of a table.
//!
//! Replaces the list of samples run by run, so that no more than one run is in memory twice. Reads
//! no file itself.

use std::path::{Path, PathBuf};

use rayon::prelude::*;
use tarflume_base::{Failure, Problem, ProblemKind};
use tarflume_formats::message::Message;
use tarflume_formats::name;
use tarflume_formats::plan::PlannedExt;

use crate::options::ScanProblem;
use crate::samples::list::{FoundAt, FoundPart, FoundSample, Run, SampleList, Spot};
use crate::scan::Scan;
use crate::source::{part_path, shown_path};

/// Samples that are read at a time.
const BATCH: usize = 512;

/// What a sample gets.
#[derive(Debug)]
pub enum Attached {
    /// The text in the given space, as a new part.
    Text,
    /// Nothing: it stays as it is.
    Nothing,
    /// It is left out; the caller reports it.
    LeftOut,
    /// It is left out for this reason.
    Refused(ProblemKind, Message),
}

impl Scan {
    /// Calls `each` with every sample, in order, its spot, the result of `read`, and an empty space for
    /// its text. The text replaces a part `ext` that the sample has. `read` is called before `each`, by
    /// several threads for up to 512 samples.
    ///
    /// # Errors
    /// Returns the errors of `read` and `each`, and an error if a text cannot be stored.
    pub fn attach<T: Send>(
        &mut self,
        ext: &str,
        roots: &[PathBuf],
        read: impl Fn(&Scan, &FoundSample) -> Result<T, Failure> + Sync,
        mut each: impl FnMut(Spot, &FoundSample, T, &mut Vec<u8>) -> Result<Attached, Failure>,
    ) -> Result<(), Failure> {
        self.rebuild(ext, roots, read, |spot, sample, found, text| each(spot, sample, found, text))
    }

    /// As [`Scan::attach`]. `each` gets no spot, and may change the part of the key after its folder.
    ///
    /// # Errors
    /// Returns the errors of `read` and `each`, and an error if a text cannot be stored.
    pub fn revise<T: Send>(
        &mut self,
        ext: &str,
        roots: &[PathBuf],
        read: impl Fn(&Scan, &FoundSample) -> Result<T, Failure> + Sync,
        mut each: impl FnMut(&mut FoundSample, T, &mut Vec<u8>) -> Result<Attached, Failure>,
    ) -> Result<(), Failure> {
        self.rebuild(ext, roots, read, |_, sample, found, text| each(sample, found, text))
    }

    fn rebuild<T: Send>(
        &mut self,
        ext: &str,
        roots: &[PathBuf],
        read: impl Fn(&Scan, &FoundSample) -> Result<T, Failure> + Sync,
        mut each: impl FnMut(Spot, &mut FoundSample, T, &mut Vec<u8>) -> Result<Attached, Failure>,
    ) -> Result<(), Failure> {
        let mut batch = Vec::new();
        let mut spots = Vec::new();
        let mut text = Vec::new();
        let mut samples = SampleList::default();
        let runs = std::mem::take(&mut self.samples).into_runs();
        for (run_number, run) in runs.into_iter().enumerate() {
            let folder = run.source_folder.clone();
            let keys = run.key_folder.clone();
            let mut out = Run::new(run.root, folder.clone(), keys.clone());
            let mut at = 0;
            let mut left = run.samples as usize;
            while left > 0 {
                batch.resize_with(left.min(BATCH), FoundSample::default);
                left -= batch.len();
                spots.clear();
                for sample in &mut batch {
                    spots.push(Spot::new(run_number, at));
                    at = run.read(at, sample);
                }
                let this = &*self;
                let found = batch.par_iter().map(|sample| read(this, sample));
                let found = found.collect::<Result<Vec<T>, Failure>>()?;
                for ((sample, &spot), found) in batch.iter_mut().zip(&spots).zip(found) {
                    text.clear();
                    match each(spot, sample, found, &mut text)? {
                        Attached::Nothing => {}
                        Attached::Text => self.add_text(sample, ext, &text)?,
                        Attached::LeftOut => continue,
                        Attached::Refused(kind, reason) => {
                            let problem = self.problem(kind, sample, roots, reason);
                            self.problems.push(problem);
                            continue;
                        }
                    }
                    let stem = &sample.source[folder.len()..];
                    let key = &sample.key[keys.len()..];
                    out.push(stem, (stem != key).then_some(key), &sample.parts);
                }
            }
            out.shrink();
            samples.push(out);
        }
        self.samples = samples;
        Ok(())
    }

    /// Returns a problem that leaves the sample out, with all of its files.
    pub fn problem(
        &self,
        kind: ProblemKind,
        sample: &FoundSample,
        roots: &[PathBuf],
        reason: Message,
    ) -> ScanProblem {
        let files = self.files(sample, roots);
        let path = self.shown(sample, roots);
        let problem = Problem::new(kind, path, reason).of(name::shown(&sample.key));
        ScanProblem::new(problem, sample.root, files)
    }

    /// Returns the files of a sample; a sample of a table or array has none.
    pub fn files(&self, sample: &FoundSample, roots: &[PathBuf]) -> Vec<PathBuf> {
        let root = &roots[sample.root as usize];
        sample.parts.iter().filter_map(|part| self.file(&sample.source, part, root)).collect()
    }

    /// Returns the path of the file that a part of the sample at `source` is; `None` if the part is no whole file.
    fn file(&self, source: &[u8], part: &FoundPart, root: &Path) -> Option<PathBuf> {
        match part.at {
            FoundAt::File(_) => {
                let ext = self.exts[part.ext as usize].source.as_bytes();
                Some(part_path(root, source, ext))
            }
            // The temporary file may not be readable again: a message does without its path then.
            FoundAt::Path(at, length, _) => {
                let mut path = Vec::new();
                self.texts.reader().read(at, u64::from(length), &mut path).ok()?;
                Some(part_path(root, &path, b""))
            }
            _ => None,
        }
    }

    /// Returns the path of a sample's first file, or of the source that it is a row of.
    pub fn shown(&self, sample: &FoundSample, roots: &[PathBuf]) -> String {
        match self.files(sample, roots).first() {
            Some(path) => shown_path(path),
            None => shown_path(&self.source_path(sample, roots)),
        }
    }

    /// Returns the path of the source that a sample is a row or member of, or of its folder.
    pub fn source_path(&self, sample: &FoundSample, roots: &[PathBuf]) -> PathBuf {
        let root = &roots[sample.root as usize];
        let of_part = sample.parts.iter().find_map(|part| match part.at {
            FoundAt::Range(source, _) | FoundAt::Cell(source, ..) => {
                self.sources.get(source as usize)
            }
            _ => None,
        });
        // The rows of a table of files and texts are under the root that holds the table alone.
        let source = of_part
            .or_else(|| self.sources.iter().find(|source| source.root == sample.root))
            .filter(|source| !source.path.is_empty());
        match source {
            Some(source) => root.join(&source.path),
            None => root.clone(),
        }
    }

    /// Returns the sample's part with this extension in the shard.
    pub fn part(&self, sample: &FoundSample, ext: &str) -> Option<FoundPart> {
        sample.parts.iter().find(|part| self.shard_ext(part) == ext).copied()
    }

    /// Returns the extension of a part in the shard.
    fn shard_ext(&self, part: &FoundPart) -> &str {
        &self.exts[part.ext as usize].shard
    }

    fn ext_number(&mut self, ext: &str) -> Result<u16, Failure> {
        let number =
            self.exts.iter().position(|e| e.source == ext && e.shard == ext && !e.has_paths);
        if let Some(number) = number {
            return Ok(number as u16); // a table has at most 65,536
        }
        self.exts.push(PlannedExt { source: ext.into(), shard: ext.into(), has_paths: false });
        u16::try_from(self.exts.len() - 1)
            .map_err(|_| Failure::usage("more than 65,536 different extensions"))
    }

    fn add_text(
        &mut self,
        sample: &mut FoundSample,
        ext: &str,
        text: &[u8],
    ) -> Result<(), Failure> {
        let number = self.ext_number(ext)?;
        let at = FoundAt::Text(self.texts.push(text)?);
        sample.parts.retain(|part| self.shard_ext(part) != ext);
        sample.parts.push(FoundPart { ext: number, size: text.len() as u64, at });
        sample.parts.sort_by(|a, b| self.shard_ext(a).cmp(self.shard_ext(b)));
        Ok(())
    }
}
