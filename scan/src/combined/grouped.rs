//! Makes one sample of the files of a folder: views, frames of a video, slices, bands. The path of the folder is the key.

mod naming;
mod rule;

use std::path::{Path, PathBuf};

use tarflume_base::{Failure, ProblemKind};
use tarflume_formats::About;
use tarflume_formats::message;
use tarflume_formats::message::{Message, Name};
use tarflume_formats::name;

use self::naming::{Named, named};
pub use self::rule::GroupRule;
use crate::combined::keys::{Key, Keys, Unsuited};
use crate::combined::matched::{Belonging, Matched, MatchedFiles, Matching};
use crate::folders::group::Grouper;
use crate::folders::walk::{Walk, Watch};
use crate::names::exts::{ExtMap, ExtTable};
use crate::options::{ScanOptions, ScanProblem};
use crate::samples::layout::Layout;
use crate::samples::list::{FoundAt, FoundPart, Run, SampleList};
use crate::samples::texts::Texts;
use crate::scan::Scan;
use crate::source::{part_path, shown_path};

/// Scans folders whose files are one sample each.
///
/// # Errors
/// Returns an error for a root that cannot be read, and for failures of the machine.
pub fn scan_grouped(
    roots: &[PathBuf],
    rule: &GroupRule,
    options: &ScanOptions,
    watch: Watch<'_>,
) -> Result<Scan, Failure> {
    if options.by_content {
        let text = message!(
            "{ext_by_content} is not for folders that are samples ({group}); leave it out";
            ext_by_content = Name::ExtByContent.on(),
            group = Name::Group
        );
        return Err(Failure::usage(text));
    }
    let exts = ExtTable::default();
    let folder_rule = FolderRule { rule, exts: &options.exts };
    let mut all = Grouped {
        rule,
        options,
        exts: &exts,
        texts: Texts::default(),
        samples: SampleList::default(),
        problems: Vec::new(),
        notes: Vec::new(),
        skipped: 0,
        renamed: 0,
        newest: i64::MIN,
    };
    for (number, root) in (0u32..).zip(roots) {
        let one = std::slice::from_ref(root);
        let walk = Walk { grouper: Grouper { options, roots: one, exts: &exts }, watch };
        let mut found = Matching { walk, rule: &folder_rule }.under(root, "")?;
        if watch.stop.requested() {
            return Err(Failure::interrupted());
        }
        found.sort();
        all.add(number, root, found)?;
    }
    let Grouped { texts, samples, problems, notes, skipped, renamed, newest, .. } = all;
    Ok(Scan {
        samples,
        exts: exts.into_list(),
        sources: Vec::new(),
        texts,
        about: About::default(),
        notes,
        problems,
        tables: Vec::new(),
        layout: Layout::default(),
        skipped,
        renamed,
        newest,
    })
}

/// The folder of a file is the key of its sample.
struct FolderRule<'a> {
    rule: &'a GroupRule,
    exts: &'a ExtMap,
}

impl Belonging for FolderRule<'_> {
    fn side_of(&self, path: &[u8], key: &mut Vec<u8>) -> Result<Option<u16>, Failure> {
        let Some(length) = self.rule.folder(path) else { return Ok(None) };
        key.extend_from_slice(&path[..length]);
        Ok(Some(0))
    }

    fn ext(&self, _: u16, path: &[u8]) -> Vec<u8> {
        let dot = path.iter().rposition(|&b| b == b'.').map_or(path.len(), |dot| dot + 1);
        self.exts.apply(&path[dot..])
    }

    fn key_at(&self, _: u16) -> Option<usize> {
        Some(0)
    }
}

/// The samples of all roots.
struct Grouped<'a> {
    rule: &'a GroupRule,
    options: &'a ScanOptions,
    exts: &'a ExtTable,
    texts: Texts,
    samples: SampleList,
    problems: Vec<ScanProblem>,
    notes: Vec<Message>,
    skipped: u64,
    renamed: u64,
    newest: i64,
}

/// The key of a sample, and the names of its parts.
struct Sample {
    key: Key,
    exts: Vec<Vec<u8>>,
}

/// A folder whose files are examined.
#[derive(Clone, Copy)]
struct Folder<'a> {
    found: &'a MatchedFiles,
    files: &'a [Matched],
}

impl<'a> Folder<'a> {
    fn key(self) -> &'a [u8] {
        self.found.key(&self.files[0])
    }

    /// Returns the paths of the files in the folder.
    fn paths(self) -> Vec<&'a [u8]> {
        let below = self.key().len() + 1;
        self.files.iter().map(|file| &self.found.path(file)[below..]).collect()
    }
}

impl Grouped<'_> {
    /// Adds the samples of a root.
    fn add(&mut self, root: u32, path: &Path, mut found: MatchedFiles) -> Result<(), Failure> {
        let mut refused: Vec<String> =
            found.problems.iter().map(|found| found.problem.path.clone()).collect();
        refused.sort_unstable();
        self.problems.append(&mut found.problems);
        self.skipped += found.skipped;
        self.newest = self.newest.max(found.newest);
        let why = ["is in no folder that is a sample", "are in no folder that is a sample"];
        self.notes.extend(found.strays.note(Name::Group.into(), why));
        let mut current: Option<Run> = None;
        for files in found.files.chunk_by(|a, b| found.key(a) == found.key(b)) {
            let folder = Folder { found: &found, files };
            let has_refused = self.rule.depth.is_some() && has_below(&refused, path, folder.key());
            if has_refused || files.iter().any(|file| file.is_refused) {
                continue; // its problem is known
            }
            match self.sample(folder) {
                Ok(Some(sample)) => self.push(root, folder, &sample, &mut current)?,
                Ok(None) => self.skipped += files.len() as u64,
                Err(why) => {
                    let mut problem = why.problem(path, &found, files);
                    problem.root = root;
                    self.problems.push(problem);
                }
            }
        }
        self.close(current);
        Ok(())
    }

    /// Returns the sample of a folder; `None` if it is left out.
    fn sample(&self, folder: Folder<'_>) -> Result<Option<Sample>, Unsuited> {
        let paths = folder.paths();
        let key = folder.key();
        let own = &key[key.iter().rposition(|&b| b == b'/').map_or(0, |slash| slash + 1)..];
        if let Some(path) = paths.iter().find(|path| !has_extension(path)) {
            let reason = message!("'{}' has no extension, so no reader can tell what it is; {exclude} it", name::shown(path); exclude = Name::Exclude);
            return Err(Unsuited { kind: ProblemKind::NoExtension, reason });
        }
        let found = named(self.rule.names, own, &paths, &self.options.exts);
        let Named { exts, stems } = found.map_err(|unlike| Unsuited {
            kind: ProblemKind::BadName,
            reason: message!(
                "'{}' and '{}' differ by more than numbers, so that a number would not tell which file it is; {names} keeps \
                 their names, {numbers} numbers them",
                name::shown(paths[0]),
                name::shown(paths[unlike.other]);
                names = Name::Group.is("folder:names"),
                numbers = Name::Group.is("folder:numbers")
            ),
        })?;
        self.check(key, &exts, stems)?;
        let longest = exts.iter().map(Vec::len).max().unwrap_or(0);
        let key = Keys { options: self.options }.named(key, longest)?;
        Ok(key.map(|key| Sample { key, exts }))
    }

    /// Refuses a folder with another number of files, a part twice, and without a required part.
    fn check(&self, key: &[u8], exts: &[Vec<u8>], stems: usize) -> Result<(), Unsuited> {
        let shown = name::shown(key);
        let kind = ProblemKind::MissingPart;
        if let Some(count) = self.rule.count.filter(|count| *count != stems) {
            let reason = message!("'{shown}' has {stems} files with names of their own, not {count} ({group})"; group = Name::Group.is(self.rule.to_string()));
            return Err(Unsuited { kind, reason });
        }
        let mut sorted: Vec<&[u8]> = exts.iter().map(Vec::as_slice).collect();
        sorted.sort_unstable();
        if let Some(twins) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            let reason = message!("two files of '{shown}' give the part '{}'; remove one, or give {ext_map}", name::shown(twins[0]); ext_map = Name::ExtMap);
            return Err(Unsuited { kind: ProblemKind::RepeatedPart, reason });
        }
        match self.options.require.missing(&sorted) {
            None => Ok(()),
            Some(missing) => {
                let reason = message!("'{shown}' has no part '{missing}'; add it, {exclude} the folder, or give {require}"; exclude = Name::Exclude, require = Name::Require);
                Err(Unsuited { kind, reason })
            }
        }
    }

    fn push(
        &mut self,
        root: u32,
        folder: Folder<'_>,
        sample: &Sample,
        current: &mut Option<Run>,
    ) -> Result<(), Failure> {
        let source = folder.key();
        let name = source.iter().rposition(|&b| b == b'/').map_or(0, |slash| slash + 1);
        let key = &sample.key;
        let is_next = current.as_ref().is_none_or(|run| {
            run.is_full() || *run.source_folder != source[..name] || *run.key_folder != *key.folder
        });
        if is_next {
            self.close(current.take());
            *current = Some(Run::new(root, source[..name].into(), key.folder.as_slice().into()));
        }
        let parts = self.parts(folder, &sample.exts)?;
        let stem = &source[name..];
        self.renamed += u64::from(stem != key.stem);
        if let Some(run) = current {
            run.push(stem, (stem != key.stem).then_some(&key.stem), &parts);
        }
        Ok(())
    }

    /// Returns the parts of a sample in the order of their extensions.
    fn parts(&mut self, folder: Folder<'_>, exts: &[Vec<u8>]) -> Result<Vec<FoundPart>, Failure> {
        let mut order: Vec<usize> = (0..exts.len()).collect();
        order.sort_by_key(|&file| &exts[file]);
        let mut parts = Vec::with_capacity(order.len());
        for number in order {
            let file = &folder.files[number];
            let path = folder.found.path(file);
            let at = FoundAt::Path(self.texts.push(path)?, path.len() as u32, file.stamp);
            let ext = self.exts.number_of_paths(&exts[number]).ok_or_else(|| {
                Failure::usage(message!(
                    "the parts of all folders have more than 65,536 different names; {numbers} numbers them";
                    numbers = Name::Group.is("folder:numbers")
                ))
            })?;
            parts.push(FoundPart { ext, size: file.size, at });
        }
        Ok(parts)
    }

    fn close(&mut self, run: Option<Run>) {
        if let Some(mut run) = run {
            run.shrink();
            self.samples.push(run);
        }
    }
}

/// Returns true if one of these paths, which are sorted, is below a folder of a root.
fn has_below(paths: &[String], root: &Path, folder: &[u8]) -> bool {
    let begin = format!("{}/", shown_path(&part_path(root, folder, b"")));
    let first = paths.partition_point(|path| *path < begin);
    paths.get(first).is_some_and(|path| path.starts_with(&begin))
}

/// Returns true if the name of a file has an extension.
fn has_extension(path: &[u8]) -> bool {
    let file = path.iter().rposition(|&b| b == b'/').map_or(0, |slash| slash + 1);
    let dot = path.iter().rposition(|&b| b == b'.');
    dot.is_some_and(|dot| dot > file && dot + 1 < path.len())
}
