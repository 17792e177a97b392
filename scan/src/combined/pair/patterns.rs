//! Pairs files whose names match patterns: `1_sat.jpg` and `1_mask.png` become the sample `1`.
//!
//! All folders before the first `*` are read at once; the files are sorted by what the `*` match.

use std::path::Path;

use tarflume_base::{Failure, ProblemKind, units};
use tarflume_formats::About;
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_formats::name;

use super::pattern::Pattern;
use super::side::{Side, refused, without_extension};
use crate::combined::keys::{Key, Keys, Unsuited};
use crate::combined::matched::{Belonging, Matched, MatchedFiles, Matching};
use crate::combined::strays::Strays;
use crate::folders::group::Grouper;
use crate::folders::walk::{Walk, Watch};
use crate::names::exts::{ExtMap, ExtTable};
use crate::options::{ScanOptions, ScanProblem};
use crate::samples::layout::Layout;
use crate::samples::list::{FoundAt, FoundPart, Run, SampleList};
use crate::samples::texts::Texts;
use crate::scan::Scan;

/// Scans the folders of the patterns and pairs their files.
///
/// # Errors
/// Returns an error for a pattern that no file matches, for a file that two patterns match equally well, and for failures
/// of the machine.
pub(super) fn scan_patterns(
    root: &Path,
    sides: &[Side],
    options: &ScanOptions,
    watch: Watch<'_>,
) -> Result<Scan, Failure> {
    if options.by_content {
        let text = message!(
            "{ext_by_content}: a pattern gives its files their extension; leave it out";
            ext_by_content = Name::ExtByContent.on()
        );
        return Err(Failure::usage(text));
    }
    let roots = [root.to_path_buf()];
    let exts = ExtTable::default();
    let walk = Walk { grouper: Grouper { options, roots: &roots, exts: &exts }, watch };
    let rule = PatternRule { sides, exts: &options.exts };
    let matching = Matching { walk, rule: &rule };
    let mut found = MatchedFiles::new();
    for folder in outermost(sides) {
        found.append(matching.under(root, folder)?);
    }
    if watch.stop.requested() {
        return Err(Failure::interrupted());
    }
    found.sort();
    let counts = counts(sides, &found);
    refuse_unmatched(sides, &counts, &found.strays)?;
    let mut pairing = Pairing {
        root,
        sides,
        options,
        exts: &exts,
        texts: Texts::default(),
        samples: SampleList::default(),
        problems: std::mem::take(&mut found.problems),
        skipped: found.skipped,
        renamed: 0,
        lacking: vec![0; sides.len()],
    };
    pairing.pair(&found)?;
    let notes = pairing.notes(&counts, &found.strays);
    let Pairing { texts, samples, problems, skipped, renamed, .. } = pairing;
    let first = sides[0].folder().len();
    let is_single = sides[0].pattern().is_some_and(Pattern::is_single);
    Ok(Scan {
        samples,
        exts: exts.into_list(),
        sources: Vec::new(),
        texts,
        about: About::default(),
        notes,
        problems,
        tables: Vec::new(),
        layout: Layout {
            side: if is_single && first > 0 { first + 1 } else { 0 },
            ..Layout::default()
        },
        skipped,
        renamed,
        newest: found.newest,
    })
}

/// The sides whose patterns files match.
struct PatternRule<'a> {
    sides: &'a [Side],
    exts: &'a ExtMap,
}

impl Belonging for PatternRule<'_> {
    fn side_of(&self, path: &[u8], key: &mut Vec<u8>) -> Result<Option<u16>, Failure> {
        let mut best: Option<(u16, &Pattern)> = None;
        let mut rival: Option<&Pattern> = None;
        let mut captured = Vec::new();
        for (number, side) in (0u16..).zip(self.sides) {
            let Some(pattern) = side.pattern() else { continue };
            let name = if pattern.has_extension() { path } else { without_extension(path) };
            let ext = path.get(name.len() + 1..).unwrap_or_default();
            let is_of_part =
                pattern.has_extension() || self.exts.apply(ext) == side.last().as_bytes();
            captured.clear();
            if !is_of_part || !pattern.capture(name, &mut captured) {
                continue;
            }
            match best.map(|(_, best)| pattern.specificity().cmp(&best.specificity())) {
                Some(std::cmp::Ordering::Less) => continue,
                Some(std::cmp::Ordering::Equal) => {
                    rival = Some(pattern);
                    continue;
                }
                _ => {}
            }
            rival = None;
            best = Some((number, pattern));
            std::mem::swap(key, &mut captured);
        }
        if let (Some((_, best)), Some(rival)) = (best, rival) {
            return Err(Failure::usage(message!(
                "{pair}: '{}' matches '{}' and '{}', and neither has more fixed text; give one of them more",
                name::shown(path),
                best.text(),
                rival.text();
                pair = Name::Pair
            )));
        }
        Ok(best.map(|(number, _)| number))
    }

    fn ext(&self, side: u16, _: &[u8]) -> Vec<u8> {
        self.sides[usize::from(side)].ext.clone().into_bytes()
    }

    fn key_at(&self, side: u16) -> Option<usize> {
        let pattern = self.sides[usize::from(side)].pattern();
        pattern.filter(|pattern| pattern.is_single()).map(Pattern::begin)
    }
}

/// Returns the folders of the sides that are in no other one's.
fn outermost(sides: &[Side]) -> Vec<&str> {
    let mut folders: Vec<&str> = sides.iter().map(Side::folder).collect();
    folders.sort_unstable();
    folders.dedup();
    let all = folders.clone();
    folders.retain(|folder| !all.iter().any(|other| is_below(folder, other)));
    folders
}

fn is_below(folder: &str, other: &str) -> bool {
    let under = folder.strip_prefix(other);
    folder != other && (other.is_empty() || under.is_some_and(|rest| rest.starts_with('/')))
}

/// Returns the number of files of each side.
fn counts(sides: &[Side], found: &MatchedFiles) -> Vec<u64> {
    let mut counts = vec![0; sides.len()];
    found.files.iter().for_each(|file| counts[usize::from(file.side)] += 1);
    counts
}

/// Refuses a side of every sample that has no file: its pattern is wrong.
fn refuse_unmatched(sides: &[Side], counts: &[u64], strays: &Strays) -> Result<(), Failure> {
    let unmatched =
        sides.iter().zip(counts).find(|(side, count)| **count == 0 && !side.is_optional);
    let Some((side, _)) = unmatched else { return Ok(()) };
    let folder = match side.folder() {
        "" => String::new(),
        folder => format!("{folder}/"),
    };
    let there = match strays.first_in(folder.as_bytes()) {
        Some(first) => format!(", and '{}' is there", name::shown(first)),
        None => String::new(),
    };
    Err(refused(format!("no file matches '{}'{there}", side.text())))
}

/// Makes samples of sorted files.
struct Pairing<'a> {
    root: &'a Path,
    sides: &'a [Side],
    options: &'a ScanOptions,
    exts: &'a ExtTable,
    texts: Texts,
    samples: SampleList,
    problems: Vec<ScanProblem>,
    skipped: u64,
    renamed: u64,
    /// The samples without each optional side.
    lacking: Vec<u64>,
}

impl Pairing<'_> {
    /// Makes a sample of the files of each key.
    fn pair(&mut self, found: &MatchedFiles) -> Result<(), Failure> {
        let mut current: Option<Run> = None;
        for files in found.files.chunk_by(|a, b| found.key(a) == found.key(b)) {
            if files.iter().any(|file| file.is_refused) {
                continue; // its problem is known
            }
            let key = found.key(&files[0]);
            let keys = Keys { options: self.options };
            let longest = self.sides.iter().map(|side| side.ext.len()).max().unwrap_or(0);
            match self.whole(found, files).and_then(|()| keys.named(key, longest)) {
                Ok(Some(key)) => self.push(found, files, &key, &mut current)?,
                Ok(None) => self.skipped += files.len() as u64,
                Err(why) => self.problems.push(why.problem(self.root, found, files)),
            }
        }
        self.close(current);
        Ok(())
    }

    /// Refuses files of which one side has none or several.
    fn whole(&self, found: &MatchedFiles, files: &[Matched]) -> Result<(), Unsuited> {
        let key = found.key(&files[0]);
        if let Some(twins) = files.windows(2).find(|pair| pair[0].side == pair[1].side) {
            let ext = &self.sides[usize::from(twins[0].side)].ext;
            let other = name::shown(found.path(&twins[0]));
            let reason = message!(
                "it and '{other}' both give the part '{ext}' of '{}'; remove one",
                name::shown(key)
            );
            return Err(Unsuited { kind: ProblemKind::RepeatedPart, reason });
        }
        if let Some([a, b]) = self.unlike(found, files) {
            let reason = message!(
                "'{}' and '{}' give one key, '{}', from other folders, so they may not belong together; rename a folder, or \
                 pack them with another pattern",
                name::shown(found.path(a)),
                name::shown(found.path(b)),
                name::shown(key)
            );
            return Err(Unsuited { kind: ProblemKind::BadName, reason });
        }
        let missing = (0u16..).zip(self.sides).find(|(number, side)| {
            !side.is_optional && !files.iter().any(|file| file.side == *number)
        });
        let Some((number, side)) = missing else { return Ok(()) };
        let wanted = side.pattern().map_or_else(String::new, |pattern| pattern.filled(key));
        let reason = if number == 0 {
            message!("it has no counterpart {wanted}")
        } else {
            message!("'{}' has no {wanted}", name::shown(key))
        };
        Err(Unsuited { kind: ProblemKind::MissingPart, reason })
    }

    /// Returns two files of one key of which the first of two `*` has matched other folders.
    fn unlike<'f>(&self, found: &MatchedFiles, files: &'f [Matched]) -> Option<[&'f Matched; 2]> {
        let first = files.iter().find(|file| self.piece(found, file).is_some())?;
        let at_first = self.piece(found, first);
        let other = files.iter().find(|file| {
            let at = self.piece(found, file);
            at.is_some() && at != at_first
        });
        other.map(|other| [first, other])
    }

    /// Returns the length of what the first of two `*` has matched in the path of a file.
    fn piece(&self, found: &MatchedFiles, file: &Matched) -> Option<usize> {
        let pattern = self.sides[usize::from(file.side)].pattern()?;
        pattern.first_piece(found.path(file))
    }

    /// Adds a sample.
    fn push(
        &mut self,
        found: &MatchedFiles,
        files: &[Matched],
        key: &Key,
        current: &mut Option<Run>,
    ) -> Result<(), Failure> {
        let source = self.source(found, &files[0]);
        let name = source.iter().rposition(|&b| b == b'/').map_or(0, |slash| slash + 1);
        let is_next = current.as_ref().is_none_or(|run| {
            run.is_full() || *run.source_folder != source[..name] || *run.key_folder != *key.folder
        });
        if is_next {
            self.close(current.take());
            *current = Some(Run::new(0, source[..name].into(), key.folder.as_slice().into()));
        }
        let parts = self.parts(found, files)?;
        self.renamed += u64::from(!found.key(&files[0]).ends_with(&key.stem));
        for (number, side) in (0u16..).zip(self.sides) {
            let lacks = side.is_optional && !files.iter().any(|file| file.side == number);
            self.lacking[usize::from(number)] += u64::from(lacks);
        }
        let stem = &source[name..];
        if let Some(run) = current {
            run.push(stem, (stem != key.stem).then_some(&key.stem), &parts);
        }
        Ok(())
    }

    fn close(&mut self, run: Option<Run>) {
        if let Some(mut run) = run {
            run.shrink();
            self.samples.push(run);
        }
    }

    /// Returns the path of a sample without extension: that of its first file, or, where two `*` match, its key. Classes
    /// and splits are in the folders of it.
    fn source<'f>(&self, found: &'f MatchedFiles, first: &Matched) -> &'f [u8] {
        if self.has_files() {
            let path = found.path(first);
            &path[..path.len() - self.cut(first, path)]
        } else {
            found.key(first)
        }
    }

    /// Returns the bytes of a file's extension, the point included.
    fn cut(&self, file: &Matched, path: &[u8]) -> usize {
        match self.sides[usize::from(file.side)].cut() {
            0 => path.len() - without_extension(path).len(),
            cut => cut,
        }
    }

    /// Returns true if the first files of samples have the paths of the samples.
    fn has_files(&self) -> bool {
        self.sides[0].pattern().is_some_and(Pattern::is_single)
    }

    /// Returns the parts of a sample in the order of their extensions in the shard.
    fn parts(
        &mut self,
        found: &MatchedFiles,
        files: &[Matched],
    ) -> Result<Vec<FoundPart>, Failure> {
        let mut parts = Vec::with_capacity(files.len());
        for file in files {
            let ext = self.sides[usize::from(file.side)].ext.as_str();
            let path = found.path(file);
            let is_file = file.side == 0 && self.has_files();
            let (number, at) = if is_file {
                let source = &path[path.len() - self.cut(file, path)..];
                let source = source.strip_prefix(b".").unwrap_or(source);
                (self.exts.number(source, ext.as_bytes()), FoundAt::File(file.stamp))
            } else {
                let at = FoundAt::Path(self.texts.push(path)?, path.len() as u32, file.stamp);
                (self.exts.number_of_paths(ext.as_bytes()), at)
            };
            let number =
                number.ok_or_else(|| Failure::usage("more than 65,536 different extensions"))?;
            parts.push((ext, FoundPart { ext: number, size: file.size, at }));
        }
        parts.sort_by_key(|(ext, _)| *ext);
        Ok(parts.into_iter().map(|(_, part)| part).collect())
    }

    /// Returns the lines of the summary.
    fn notes(&self, counts: &[u64], strays: &Strays) -> Vec<Message> {
        let why = ["matches no pattern", "match no pattern"];
        let mut notes: Vec<Message> = strays.note(Name::Pair.into(), why).into_iter().collect();
        let samples = self.samples.len();
        for (number, side) in self.sides.iter().enumerate().filter(|(_, side)| side.is_optional) {
            let text = side.text();
            if counts[number] == 0 {
                notes.push(
                    message!("{pair}: no file matches the optional '{text}'"; pair = Name::Pair),
                );
            } else if self.lacking[number] > 0 {
                let lacking = units::count(self.lacking[number]);
                let samples = units::counted(samples, "sample", "samples");
                notes.push(message!("{pair}: {lacking} of {samples} have no optional '{}'", side.ext; pair = Name::Pair));
            }
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_below_others_are_read_once() {
        let words = ["a/*.jpg=jpg", "a/b/*.png=png", "ab/*.txt=txt", "a/*.xml=xml"];
        let sides = Side::parse_all(&words.map(String::from)).unwrap();
        assert_eq!(outermost(&sides), ["a", "ab"]);
        let words = ["a/*.jpg=jpg", "*.png=png"];
        let sides = Side::parse_all(&words.map(String::from)).unwrap();
        assert_eq!(outermost(&sides), [""]);
    }
}
