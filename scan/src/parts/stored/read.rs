//! Reads the scans of all parts of a tree, and joins them to one scan.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use tarflume_base::Failure;
use tarflume_formats::message;
use tarflume_formats::message::{Call, Message, Name, Task};
use tarflume_formats::plan::PlannedExt;
use tarflume_formats::shown::ShowPath;
use tarflume_formats::varint::{take, take_bytes};
use tarflume_formats::{About, Error, ErrorKind, Mapped, crc32c};

use super::{Foot, MAGIC, SCHEMA, StoredProblem, TRAILER};
use crate::folders::tables::FoundTable;
use crate::options::ScanProblem;
use crate::samples::layout::{EmptyFolder, Layout};
use crate::samples::list::{Run, SampleList, StoredRun};
use crate::samples::texts::Texts;
use crate::scan::Scan;

/// A file that was opened.
struct OpenedPart {
    path: PathBuf,
    foot: Foot,
    map: Arc<Mapped>,
}

/// A run with the root and the paths of its first and last sample.
struct Placed {
    run: Run,
    first: (u32, Vec<u8>),
    last: (u32, Vec<u8>),
    part: usize,
}

/// Opens the scans of all parts, whose samples stay in the files.
///
/// # Errors
/// Returns an error if a file is damaged, if a part is missing or there twice, if the parts were scanned from
/// other folders, with other options or from a tree that changed meanwhile.
pub fn open(
    paths: &[PathBuf],
    roots: &[PathBuf],
    options: &serde_json::Value,
) -> Result<Scan, Failure> {
    let mut parts = paths.par_iter().map(|path| part(path)).collect::<Result<Vec<_>, Failure>>()?;
    parts.sort_by_key(|part| part.foot.part);
    check_set(&parts, roots, options)?;
    let (exts, numbers) = common_exts(&parts)?;
    let placed = parts.par_iter().zip(&numbers).enumerate();
    let placed = placed.map(|(number, (part, exts))| runs(number, part, exts));
    let mut placed: Vec<Placed> =
        placed.collect::<Result<Vec<_>, Failure>>()?.into_iter().flatten().collect();
    placed.par_sort_by(|a, b| a.first.cmp(&b.first));
    if let Some(twice) = placed.windows(2).find(|pair| pair[0].last >= pair[1].first) {
        let [a, b] = [&twice[0], &twice[1]].map(|placed| &parts[placed.part].path);
        return Err(Failure::usage(message!(
            "{a} and {b} have the same samples, such as {}; scan all parts again with the same number of parts",
            String::from_utf8_lossy(&twice[1].first.1);
            a = a,
            b = b
        ))
        .with_file(a));
    }
    let mut samples = SampleList::default();
    placed.into_iter().for_each(|placed| samples.push(placed.run));
    Ok(joined(&parts, samples, exts))
}

fn joined(parts: &[OpenedPart], samples: SampleList, exts: Vec<PlannedExt>) -> Scan {
    let feet = || parts.iter().map(|part| &part.foot);
    let mut problems: Vec<ScanProblem> =
        feet().flat_map(|foot| foot.problems.iter().map(problem)).collect();
    problems.sort_by(|a, b| (a.root, &a.problem.path).cmp(&(b.root, &b.problem.path)));
    let empty = feet()
        .flat_map(|foot| &foot.empty)
        .map(|(root, path)| EmptyFolder { root: *root, path: path.clone().into_bytes() });
    let mut empty: Vec<EmptyFolder> = empty.collect();
    let tables = feet().flat_map(|foot| &foot.tables).map(|(root, folder, name)| FoundTable {
        root: *root,
        folder: folder.clone().into_bytes(),
        name: name.clone().into_bytes(),
    });
    empty.sort_by(|a, b| (a.root, &a.path).cmp(&(b.root, &b.path)));
    Scan {
        samples,
        exts,
        sources: Vec::new(),
        texts: Texts::default(),
        about: About::default(),
        notes: Vec::new(),
        problems,
        tables: tables.collect(),
        layout: Layout { empty, ..Layout::default() },
        skipped: feet().map(|foot| foot.skipped).sum(),
        renamed: feet().map(|foot| foot.renamed).sum(),
        newest: feet().map(|foot| foot.newest).max().unwrap_or(i64::MIN),
    }
}

/// Returns the settings with these keywords, as a list.
fn options<'n>(keywords: impl Iterator<Item = &'n String>) -> Message {
    let mut list = Message::default();
    for keyword in keywords {
        if !list.is_empty() {
            list.push(", ");
        }
        match Name::of_keyword(keyword) {
            Some(name) => list.push(name),
            None => list.push(keyword),
        }
    }
    list
}

fn problem(stored: &StoredProblem) -> ScanProblem {
    let files = stored.files.iter().map(PathBuf::from).collect();
    ScanProblem::new(stored.problem.clone(), stored.root, files).because(stored.cause.clone())
}

fn damaged(path: &Path, text: &str) -> Failure {
    let text = format!("{text}; scan this part again");
    Error::new(ErrorKind::Damaged, text).with_path(path).into()
}

/// Returns the failure of a file that cannot be opened.
fn refused(error: Error, path: &Path) -> Failure {
    if !error.is_missing() {
        return error.into();
    }
    let text = message!("there is no scan {path}; `{scan}` writes it"; path = path, scan = Call::of(Task::Scan));
    Failure::usage(text).with_file(path)
}

/// Maps a file and checks all of its bytes.
fn part(path: &Path) -> Result<OpenedPart, Failure> {
    let map = Mapped::open(path).map_err(|error| refused(error, path))?;
    let foot = foot(path, &map);
    map.intact().map_err(|e| e.with_path(path))?; // what could not be read looks like damage
    map.forget();
    Ok(OpenedPart { path: path.to_path_buf(), foot: foot?, map: Arc::new(map) })
}

fn number_at(bytes: &[u8], at: usize) -> u64 {
    let mut eight = [0; 8];
    eight.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(eight)
}

fn foot(path: &Path, bytes: &[u8]) -> Result<Foot, Failure> {
    if !bytes.starts_with(&MAGIC) {
        let text = message!("this is no scan: its first eight bytes differ; `{scan}` writes scans"; scan = Call::of(Task::Scan));
        return Err(Error::new(ErrorKind::WrongFormat, text).with_path(path).with_byte(0).into());
    }
    let tail = bytes.len().checked_sub(TRAILER).filter(|_| bytes.ends_with(&MAGIC));
    let Some(tail) = tail else { return Err(damaged(path, "the scan is cut: its end is missing")) };
    let at = number_at(bytes, tail);
    let length = number_at(bytes, tail + 8);
    if at.checked_add(length) != Some(tail as u64) {
        return Err(damaged(path, "its footer does not end at its trailer"));
    }
    let json = &bytes[at as usize..tail];
    if u64::from(crc32c(json)) != number_at(bytes, tail + 16) {
        return Err(damaged(path, "the checksum of its footer is wrong"));
    }
    let foot: Foot = serde_json::from_slice(json)
        .map_err(|e| damaged(path, &format!("its footer can't be read: {e}")))?;
    if foot.schema != SCHEMA {
        let text = format!("the scan has schema {}; this program reads {SCHEMA}", foot.schema);
        return Err(Error::new(ErrorKind::Version, text).with_path(path).into());
    }
    if crc32c(&bytes[..at as usize]) != foot.crc {
        return Err(damaged(path, "the checksum of its samples is wrong"));
    }
    if foot.table.0.checked_add(foot.table.1) != Some(at) {
        return Err(damaged(path, "its table does not end at its footer"));
    }
    Ok(foot)
}

/// Checks that the parts are those of one scan, with the folders and options of the plan.
fn check_set(
    parts: &[OpenedPart],
    roots: &[PathBuf],
    wanted: &serde_json::Value,
) -> Result<(), Failure> {
    let Some(first) = parts.first() else {
        return Err(Failure::usage(
            message!("{from_scans}: no file is given"; from_scans = Name::FromScans),
        ));
    };
    for part in parts {
        let foot = &part.foot;
        let path = &part.path;
        if foot.roots.iter().map(PathBuf::from).ne(roots.iter().cloned()) {
            let text = message!("{path} is a scan of {}; give the same folders", foot.roots.join(", "); path = path);
            return Err(Failure::usage(text).with_file(path));
        }
        if foot.options != *wanted {
            let names = wanted.as_object().into_iter().flat_map(|map| map.keys());
            let options =
                options(names.filter(|name| foot.options.get(*name) != wanted.get(*name)));
            return Err(Failure::usage(
                message!("{path} was scanned with other options ({options}); give `{plan}` the options of `{scan}`"; path = path, options = options, plan = Call::of(Task::Plan), scan = Call::of(Task::Scan)),
            )
            .with_file(path));
        }
        if (foot.count, &foot.tree) != (first.foot.count, &first.foot.tree) {
            return Err(Failure::usage(message!(
                "{path} and {first} are parts of different scans, or the folders changed between them; scan all parts again";
                path = path,
                first = &first.path
            ))
            .with_file(path));
        }
    }
    for number in 0..first.foot.count {
        let mut with_number = parts.iter().filter(|part| part.foot.part == number);
        match (with_number.next(), with_number.next()) {
            (Some(_), None) => {}
            (None, _) => {
                return Err(Failure::usage(
                    message!("part {number} of {} is missing; make it with `{scan}`", first.foot.count; scan = Call::of(Task::Scan).with(Name::Subtree.is(format!("{number}/{}", first.foot.count)))),
                ));
            }
            (Some(a), Some(b)) => {
                let text = message!("{path} and {} are both part {number}", b.path.shown(); path = &a.path);
                return Err(Failure::usage(text).with_file(&a.path));
            }
        }
    }
    Ok(())
}

/// Extensions, and for each part the numbers that its extensions have among them.
type CommonExts = (Vec<PlannedExt>, Vec<Arc<[u16]>>);

/// Returns the extensions of all parts.
fn common_exts(parts: &[OpenedPart]) -> Result<CommonExts, Failure> {
    let mut all: Vec<PlannedExt> = Vec::new();
    let mut numbers = Vec::new();
    for part in parts {
        let of_part = part.foot.exts.iter().map(|ext| number_of(ext, &mut all));
        numbers.push(of_part.collect::<Result<Vec<u16>, Failure>>()?.into());
    }
    Ok((all, numbers))
}

/// Returns the number of an extension among `all`, to which it is added if it is new.
fn number_of(ext: &PlannedExt, all: &mut Vec<PlannedExt>) -> Result<u16, Failure> {
    let known = all.iter().position(|other| other == ext);
    let number = known.unwrap_or_else(|| {
        all.push(ext.clone());
        all.len() - 1
    });
    u16::try_from(number).map_err(|_| Failure::usage("more than 65,536 different extensions"))
}

/// Returns the runs of a part; checks all of its samples.
fn runs(number: usize, part: &OpenedPart, exts: &Arc<[u16]>) -> Result<Vec<Placed>, Failure> {
    let OpenedPart { path, foot, map } = part;
    let table_at = foot.table.0 as usize;
    let end = (foot.table.0 + foot.table.1) as usize;
    let table = map.get(table_at..end).ok_or_else(|| invalid(path))?;
    let mut at = 0;
    let mut start = MAGIC.len();
    let mut samples = 0;
    let mut placed = Vec::new();
    let mut folder: Arc<[u8]> = [].into();
    for _ in 0..foot.runs {
        let root = take(table, &mut at).and_then(|root| u32::try_from(root).ok());
        let root =
            root.filter(|&root| (root as usize) < foot.roots.len()).ok_or_else(|| invalid(path))?;
        let source = take_bytes(table, &mut at).ok_or_else(|| invalid(path))?;
        let key = take_bytes(table, &mut at).ok_or_else(|| invalid(path))?;
        let count = take(table, &mut at).ok_or_else(|| invalid(path))?;
        let length = take(table, &mut at).and_then(|length| usize::try_from(length).ok());
        let end =
            length.and_then(|length| start.checked_add(length)).filter(|&end| end <= table_at);
        let end = end.ok_or_else(|| invalid(path))?;
        if *folder != *source {
            folder = source.into();
        }
        let keys = if key == source { folder.clone() } else { key.into() };
        let stored = StoredRun { map: map.clone(), range: start..end, exts: exts.clone() };
        let run = Run::stored(Run::new(root, folder.clone(), keys), count, stored);
        let (first, last) = run.ends().ok_or_else(|| invalid(path))?;
        let under = |stem: Vec<u8>| (root, [&*folder, stem.as_slice()].concat());
        placed.push(Placed { run, first: under(first), last: under(last), part: number });
        samples += count;
        start = end;
    }
    map.intact().map_err(|e| e.with_path(path))?;
    map.forget();
    if samples != foot.samples || start != table_at || at != table.len() {
        return Err(invalid(path));
    }
    Ok(placed)
}

fn invalid(path: &Path) -> Failure {
    damaged(path, "a run of its samples is damaged")
}
