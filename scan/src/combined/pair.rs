//! Pairs parallel folders: `images/a.jpg` and `masks/a.png` become the sample `a`.
//!
//! Each folder is scanned alone. The samples of the first one keep their order; those of the others
//! are found by their keys, which takes 16 bytes for each.

use std::path::{Path, PathBuf};

use rayon::slice::ParallelSliceMut;
use tarflume_base::{Failure, Problem, ProblemKind, collide};
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_formats::{files, name};

use crate::folders::walk::Watch;
use crate::links::{self, Links};
use crate::names::exts::{ExtTable, Require};
use crate::options::{ScanOptions, ScanProblem};
use crate::samples::list::{FoundAt, FoundPart, FoundSample, Run, SampleList, Spot};
use crate::scan::{Scan, scan};
use crate::source::{part_path, shown_path};

/// A folder under the source and the part that its files become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// The path under the source.
    folder: String,
    /// The extension in the shard: `png`, or `mask.png` for .png files.
    ext: String,
}

impl Side {
    /// Parses `images=jpg` and so on; at least two folders.
    ///
    /// # Errors
    /// Returns an error that shows the form.
    pub fn parse_all(words: &[String]) -> Result<Vec<Side>, Failure> {
        let mut sides: Vec<Side> = Vec::new();
        for word in words {
            let Some((folder, ext)) = word.split_once('=') else {
                return Err(refused(format!("'{word}' is no folder with an extension")));
            };
            let folder = folder.trim_end_matches('/');
            let ext = ext.trim_start_matches('.');
            if name::unsafe_as_path(folder.as_bytes()).is_some() || ext.is_empty() {
                return Err(refused(format!(
                    "'{word}' is no folder of the source with an extension"
                )));
            }
            let folder = folder.to_string();
            let ext = ext.to_ascii_lowercase();
            if let Some(other) = sides.iter().find(|side| side.ext == ext) {
                return Err(refused(format!(
                    "'{}' and '{folder}' give the same part; {folder}=mask.{ext} gives .{ext} files \
                     another one",
                    other.folder
                )));
            }
            if sides.iter().any(|side| side.folder == folder) {
                return Err(refused(format!("'{folder}' is given twice")));
            }
            sides.push(Side { folder, ext });
        }
        if sides.len() < 2 {
            return Err(refused("two folders are needed".into()));
        }
        Ok(sides)
    }

    /// Returns the path under the source.
    pub fn folder(&self) -> &str {
        &self.folder
    }

    /// Returns the sides as text for the plan's options.
    pub fn planned(sides: &[Side]) -> Vec<String> {
        sides.iter().map(|side| format!("{}={}", side.folder, side.ext)).collect()
    }

    /// Refuses a folder that is reached by a link, unless links are followed.
    fn refuse_links(&self, root: &Path, links: Links) -> Result<(), Failure> {
        match links.open_folder(root, self.folder.as_bytes()) {
            Err(error) if links.refuses(&error) => {
                let path = root.join(&self.folder);
                Err(Failure::usage(message!(
                    "{path} is, or is below, {reason}";
                    path = &path,
                    reason = links::reason()
                ))
                .with_file(path))
            }
            _ => Ok(()), // the scan reports other errors
        }
    }

    /// Returns the reason of the problem of a key that has no file in this side's folder.
    fn missing(&self, key: &[u8]) -> String {
        let last = self.ext.rsplit('.').next().unwrap_or(&self.ext);
        format!("'{}' has no .{last} file in {}", name::shown(key), self.folder)
    }

    /// Returns the number of the sample's part that has this side's extension.
    fn part(&self, scan: &Scan, sample: &FoundSample) -> Option<usize> {
        let last = self.ext.rsplit('.').next().unwrap_or(&self.ext);
        sample.parts.iter().position(|part| scan.exts[part.ext as usize].shard == last)
    }
}

/// Returns the error for sides that cannot be paired; it shows the form of the option.
fn refused(why: String) -> Failure {
    Failure::usage(
        message!("{pair}: {why}; give {pair_option}"; pair = Name::Pair, pair_option = Name::Pair.pairs(["images=jpg", "masks=png"])),
    )
}

/// A scanned folder whose samples are found by key.
struct Other<'a> {
    side: &'a Side,
    scan: Scan,
    /// Hash of the key and spot, sorted.
    index: Vec<(u64, Spot)>,
    paired: Vec<bool>,
    ext: u16,
}

/// Scans the folders `sides` of the root and pairs their files.
///
/// # Errors
/// Returns the errors of [`scan`], and an error for a folder that is a link that is not followed.
pub fn scan_pairs(
    root: &Path,
    sides: &[Side],
    options: &ScanOptions,
    watch: Watch<'_>,
) -> Result<Scan, Failure> {
    let links = Links::of(options.follow_links);
    for side in sides {
        side.refuse_links(root, links)?;
    }
    let single = ScanOptions { require: Require::parse(""), ..options.clone() };
    let one = |side: &Side| scan(&[root.join(&side.folder)], &single, watch);
    let exts = ExtTable::default();
    let first = one(&sides[0])?;
    let mut others = Vec::new();
    for side in &sides[1..] {
        let Some(ext) = exts.number_of_paths(side.ext.as_bytes()) else { continue };
        others.push(Other::new(side, one(side)?, ext));
    }
    if watch.stop.requested() {
        return Err(Failure::interrupted());
    }
    let pairing = Pairing { root, side: &sides[0], exts: &exts };
    let mut paired = pairing.pair(first, &mut others)?;
    paired.layout.side = sides[0].folder.len() + 1;
    for empty in &mut paired.layout.empty {
        empty.path = [sides[0].folder.as_bytes(), b"/", &empty.path].concat();
    }
    paired.exts = exts.into_list();
    Ok(paired)
}

impl<'a> Other<'a> {
    fn new(side: &'a Side, scan: Scan, ext: u16) -> Other<'a> {
        let mut index = Vec::with_capacity(scan.samples.len() as usize);
        scan.samples.visit(|spot, sample| {
            if side.part(&scan, sample).is_some() {
                index.push((collide::exact_hash(&sample.key), spot));
            }
            true
        });
        index.par_sort_unstable();
        let paired = vec![false; index.len()];
        Other { side, scan, index, paired, ext }
    }

    /// Returns the sample with this key and its part.
    fn find(&mut self, key: &[u8]) -> Option<(FoundSample, FoundPart)> {
        let hash = collide::exact_hash(key);
        let start = self.index.partition_point(|entry| entry.0 < hash);
        let mut sample = FoundSample::default();
        for (at, &(_, spot)) in
            self.index.iter().enumerate().skip(start).take_while(|(_, entry)| entry.0 == hash)
        {
            self.scan.samples.read(spot, &mut sample);
            if sample.key == key {
                self.paired[at] = true;
                let part = sample.parts[self.side.part(&self.scan, &sample)?];
                return Some((sample, part));
            }
        }
        None
    }

    /// Returns the path of a part's file under the root.
    fn path(&self, sample: &FoundSample, part: &FoundPart) -> Vec<u8> {
        let ext = self.scan.exts[part.ext as usize].source.as_bytes();
        [self.side.folder.as_bytes(), b"/", &sample.source, b".", ext].concat()
    }
}

/// Pairs the samples of the first folder with those of the others.
struct Pairing<'a> {
    root: &'a Path,
    side: &'a Side,
    exts: &'a ExtTable,
}

impl Pairing<'_> {
    fn pair(&self, mut first: Scan, others: &mut [Other<'_>]) -> Result<Scan, Failure> {
        let mut samples = SampleList::default();
        let mut sample = FoundSample::default();
        let mut problems = std::mem::take(&mut first.problems);
        for run in std::mem::take(&mut first.samples).into_runs() {
            let folder = [self.side.folder.as_bytes(), b"/", &*run.source_folder].concat();
            let keys = run.key_folder.clone();
            let mut out = Run::new(0, folder.into(), keys.clone());
            let mut at = 0;
            for _ in 0..run.samples {
                at = run.read(at, &mut sample);
                let parts = match self.parts(&mut first, others, &sample)? {
                    Ok(parts) => parts,
                    Err(reason) => {
                        problems.push(self.problem(&first, &sample, reason));
                        continue;
                    }
                };
                let stem = &sample.source[run.source_folder.len()..];
                let key = &sample.key[keys.len()..];
                out.push(stem, (stem != key).then_some(key), &parts);
            }
            out.shrink();
            samples.push(out);
        }
        first.samples = samples;
        first.problems = problems;
        for other in others {
            other.report(self, &mut first);
        }
        Ok(first)
    }

    /// Returns the parts of a sample of the first folder, or why it is none.
    fn parts(
        &self,
        first: &mut Scan,
        others: &mut [Other<'_>],
        sample: &FoundSample,
    ) -> Result<Result<Vec<FoundPart>, Message>, Failure> {
        let Some(own) = self.side.part(first, sample) else {
            return Ok(Err(self.side.missing(&sample.key).into()));
        };
        let mut parts = Vec::with_capacity(1 + others.len());
        for (at, part) in sample.parts.iter().enumerate() {
            let ext = &first.exts[part.ext as usize];
            let shard = if at == own { &self.side.ext } else { &ext.shard };
            let number = self.exts.number(ext.source.as_bytes(), shard.as_bytes());
            let number =
                number.ok_or_else(|| Failure::usage("more than 65,536 different extensions"))?;
            parts.push((shard.clone(), FoundPart { ext: number, ..*part }));
        }
        for other in others {
            let Some((found, part)) = other.find(&sample.key) else {
                return Ok(Err(other.side.missing(&sample.key).into()));
            };
            let FoundAt::File(stamp) = part.at else { continue };
            let path = other.path(&found, &part);
            let at = FoundAt::Path(first.texts.push(&path)?, path.len() as u32, stamp);
            parts.push((other.side.ext.clone(), FoundPart { ext: other.ext, at, ..part }));
        }
        parts.sort_by(|a, b| a.0.cmp(&b.0));
        if let Some(twice) = parts.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Ok(Err(message!("two files give the part '{}'", twice[0].0)));
        }
        Ok(Ok(parts.into_iter().map(|(_, part)| part).collect()))
    }

    /// Returns the problem of a sample of the first folder.
    fn problem(&self, first: &Scan, sample: &FoundSample, reason: Message) -> ScanProblem {
        let source = [self.side.folder.as_bytes(), b"/", &sample.source].concat();
        let files: Vec<PathBuf> = sample
            .parts
            .iter()
            .map(|part| {
                let ext = first.exts[part.ext as usize].source.as_bytes();
                part_path(self.root, &source, ext)
            })
            .collect();
        let shown = files.first().map_or(String::new(), |file| shown_path(file));
        let problem = Problem::new(ProblemKind::MissingPart, shown, reason);
        ScanProblem::new(problem.of(name::shown(&sample.key)), 0, files)
    }
}

impl Other<'_> {
    /// Adds the problems and numbers of this folder to the scan.
    fn report(&mut self, pairing: &Pairing<'_>, into: &mut Scan) {
        into.problems.append(&mut self.scan.problems);
        into.skipped += self.scan.skipped;
        into.newest = into.newest.max(self.scan.newest);
        let mut sample = FoundSample::default();
        let mut single: Vec<Spot> = self
            .index
            .iter()
            .zip(&self.paired)
            .filter(|(_, paired)| !**paired)
            .map(|((_, spot), _)| *spot)
            .collect();
        single.sort_unstable();
        for spot in single {
            self.scan.samples.read(spot, &mut sample);
            let Some(part) = self.side.part(&self.scan, &sample) else { continue };
            let path = self.path(&sample, &sample.parts[part]);
            let path = part_path(pairing.root, &path, b"");
            let reason = format!("it has no counterpart in {}", pairing.side.folder);
            let problem = Problem::new(ProblemKind::MissingPart, shown_path(&path), reason);
            let problem = problem.of(name::shown(&sample.key));
            into.problems.push(ScanProblem::new(problem, 0, vec![path]));
        }
    }
}

/// Refuses a root without the folders of a pairing.
///
/// # Errors
/// Returns an error that names the missing folder, and if the operating system refuses.
pub fn check_folders(root: &Path, sides: &[Side]) -> Result<(), Failure> {
    for side in sides {
        let folder = root.join(&side.folder);
        if !files::is_folder(&folder)? {
            let text = message!("{pair}: {path} is no folder"; pair = Name::Pair, path = &folder);
            return Err(Failure::usage(text).with_file(folder));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Vec<Side>, Failure> {
        Side::parse_all(&words.iter().map(|w| w.to_string()).collect::<Vec<_>>())
    }

    fn refused(words: &[&str]) -> String {
        parse(words).unwrap_err().text()
    }

    #[test]
    fn sides_are_folders_with_different_parts() {
        let sides = parse(&["images/=jpg", "a/masks=.PNG"]).unwrap();
        assert_eq!(Side::planned(&sides), ["images=jpg", "a/masks=png"]);
        assert!(refused(&["images=jpg"]).contains("two folders are needed"));
        assert!(refused(&["images=jpg", "masks=jpg"]).contains("masks=mask.jpg"));
        assert!(refused(&["images", "masks=png"]).contains("--pair images=jpg masks=png"));
        assert!(refused(&["../images=jpg", "masks=png"]).contains("no folder of the source"));
    }
}
