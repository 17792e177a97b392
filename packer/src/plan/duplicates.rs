//! Samples that exclude each other in a data set: repeated keys, keys that differ only in case,
//! and, with `--dedupe`, identical images.
//!
//! The first one in the order of names stays.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use rayon::prelude::*;
use tarflume_base::check::Content;
use tarflume_base::collide::{self, Clash};
use tarflume_base::{Failure, ProblemKind};
use tarflume_formats::message;
use tarflume_formats::message::{Call, Message, Name, Task};
use tarflume_formats::plan::PlannedExt;
use tarflume_formats::shown::ShowPath;
use tarflume_formats::{Result, files, name};
use tarflume_scan::Scan;
use tarflume_scan::names::exclude_list::Listed;
use tarflume_scan::names::rules::{Action, MAX_NAME, NameRules, Rule, distinguished};
use tarflume_scan::options::ScanProblem;
use tarflume_scan::samples::list::{FoundAt, FoundPart, FoundSample, Spot};
use tarflume_scan::source::part_path;
use tarflume_sources::rows::{self, CellFault, SourceFormat, SourceReader};

/// The decisions about duplicates.
#[derive(Debug, Default)]
pub(crate) struct Decided {
    /// Samples that are left out.
    pub dropped: HashSet<Spot>,
    /// Samples that get another key.
    pub renamed: HashMap<Spot, Vec<u8>>,
    /// Number of files left out because the exclude list has the key that their sample was renamed
    /// to.
    pub skipped: u64,
    /// The problems found.
    pub problems: Vec<ScanProblem>,
}

/// Decides about repeated keys and keys that differ only in case.
///
/// # Errors
/// Returns an error if a key cannot be read; the keys of a scan are in memory.
pub(crate) fn keys(
    scan: &Scan,
    roots: &[PathBuf],
    rules: &NameRules,
    listed: &Listed,
) -> Result<Decided> {
    let mut decided = Decided::default();
    let mut first = FoundSample::default();
    let mut later = FoundSample::default();
    for pair in collide::find(&scan.samples)?.pairs {
        let spot = Spot::from_id(pair.later);
        scan.samples.read(Spot::from_id(pair.first), &mut first);
        scan.samples.read(spot, &mut later);
        let other = scan.shown(&first, roots);
        let (kind, reason) = match (pair.clash, rules.action(Rule::Case)) {
            (Clash::Same, _) => {
                (ProblemKind::RepeatedKey, repeated(scan, roots, &first, &later, &other))
            }
            (Clash::CaseOnly, Action::Replace) => {
                let key = distinguished(&later.key);
                if listed.has(&key) {
                    decided.dropped.insert(spot);
                    decided.skipped += later.parts.len() as u64;
                    continue;
                }
                if key.len() + 6 <= MAX_NAME || rules.action(Rule::Long) == Action::Allow {
                    decided.renamed.insert(spot, key);
                    continue;
                }
                let reason = message!(
                    "its key differs from that of {other} only in case, and is too long to be changed"
                );
                (ProblemKind::CaseCollision, reason)
            }
            (Clash::CaseOnly, Action::Allow | Action::Skip) => continue,
            (Clash::CaseOnly, Action::Refuse) => {
                let reason = message!("its key differs from that of {other} only in case; rename it, or give {names}"; names = Name::Names.either(&["case=replace", "case=allow"]));
                (ProblemKind::CaseCollision, reason)
            }
        };
        decided.dropped.insert(spot);
        decided.problems.push(scan.problem(kind, &later, roots, reason));
    }
    Ok(decided)
}

/// Returns why two samples cannot have one key, and what to do; `other` is the path of the first one.
fn repeated(
    scan: &Scan,
    roots: &[PathBuf],
    first: &FoundSample,
    later: &FoundSample,
    other: &str,
) -> Message {
    if is_of_files(first) && is_of_files(later) {
        return if other == scan.shown(later, roots) {
            "its folder is given twice as SRC; give it once".into()
        } else {
            message!("{other} has the same key in the shard; rename one of them")
        };
    }
    let path = scan.source_path(first, roots);
    let place = path.shown();
    let is_tar = SourceFormat::of_file(&path) == Some(SourceFormat::Tar);
    if is_tar && are_pieces(first, later) {
        return message!("parts of this sample are not neighbors in {place}, so each run of them is a sample; `{reshard}` \
                 joins them"; reshard = Call::of(Task::Reshard).on_path(&path).out_stand("DIR"));
    }
    let what = match (row_of(first), row_of(later)) {
        _ if path != scan.source_path(later, roots) => {
            format!("a row or member of {place} has the same key in the shard")
        }
        _ if first.root != later.root => {
            return message!(
                "{place} is given twice, and has the same key in the shard; give it once"
            );
        }
        (Some(first), Some(later)) if first != later => {
            format!("rows {first} and {later} of {place} have the same key in the shard")
        }
        _ => format!("two rows or members of {place} have the same key in the shard"),
    };
    message!("{what}; of tables, key=COLUMN names a column whose values differ, and key=# numbers the rows; of archives, rename one \
             member or {exclude} it"; exclude = Name::Exclude)
}

/// Returns true if a part of the sample is a file that the scan of a folder found, not a file that a table names.
fn is_of_files(sample: &FoundSample) -> bool {
    sample.parts.iter().any(|part| matches!(part.at, FoundAt::File(_)))
}

/// Returns the row of a sample of a table or array; `None` for other samples.
fn row_of(sample: &FoundSample) -> Option<u64> {
    sample.parts.iter().find_map(|part| match part.at {
        FoundAt::Cell(_, row, _) => Some(row),
        _ => None,
    })
}

/// Returns the number of the source of which the part is a range of bytes; `None` for other parts.
fn range_source(part: &FoundPart) -> Option<u32> {
    match part.at {
        FoundAt::Range(source, _) => Some(source),
        _ => None,
    }
}

/// Returns true if both samples are in one source, and neither has a part that the other has.
fn are_pieces(first: &FoundSample, later: &FoundSample) -> bool {
    let Some(source) = first.parts.first().and_then(range_source) else { return false };
    later.parts.iter().all(|part| {
        range_source(part) == Some(source) && first.parts.iter().all(|own| own.ext != part.ext)
    })
}

/// Images that one thread hashes with one reader of sources.
const PIECE: usize = 256;

/// An image with its size: only images of equal size are compared.
struct Sized {
    size: u64,
    spot: Spot,
}

/// Drops samples whose first image has the same bytes as an earlier one's.
///
/// # Errors
/// Returns an error if the machine failed while images were read. An unreadable image is reported
/// when it is packed.
pub(crate) fn images(scan: &Scan, roots: &[PathBuf], decided: &mut Decided) -> Result<(), Failure> {
    let mut images = Vec::new();
    scan.samples.visit(|spot, sample| {
        if let Some(image) = first_image(sample, &scan.exts)
            && !decided.dropped.contains(&spot)
        {
            images.push(Sized { size: image.part.size, spot });
        }
        true
    });
    images.par_sort_unstable_by_key(|i| (i.size, i.spot));
    let groups = images.chunk_by(|a, b| a.size == b.size).filter(|group| group.len() > 1);
    let mut spots: Vec<Spot> = groups.flatten().map(|image| image.spot).collect();
    drop(images);
    spots.par_sort_unstable(); // so that a source is read from its start to its end
    let found = same_images(scan, roots, &spots)?;
    let mut first = FoundSample::default();
    let mut later = FoundSample::default();
    for (later_spot, first_spot) in found {
        scan.samples.read(first_spot, &mut first);
        scan.samples.read(later_spot, &mut later);
        let reason =
            format!("its image has the same bytes as that of '{}'", name::shown(&first.key));
        decided.dropped.insert(later_spot);
        decided.problems.push(scan.problem(ProblemKind::Duplicate, &later, roots, reason.into()));
    }
    Ok(())
}

/// Returns which images repeat an earlier one, and which.
fn same_images(
    scan: &Scan,
    roots: &[PathBuf],
    spots: &[Spot],
) -> Result<Vec<(Spot, Spot)>, Failure> {
    let hashed = spots.par_chunks(PIECE).map(|piece| {
        let mut reader = rows::reader(&scan.sources, roots, true);
        let mut sample = FoundSample::default();
        let mut hashes = Vec::with_capacity(piece.len());
        for &spot in piece {
            scan.samples.read(spot, &mut sample);
            let Some(image) = first_image(&sample, &scan.exts) else { continue };
            let bytes = image_bytes(scan, roots, &image, &mut reader)?;
            hashes.extend(bytes.map(|bytes| (spot, blake3::hash(&bytes))));
        }
        Ok(hashes)
    });
    let hashed = hashed.collect::<Result<Vec<Vec<(Spot, blake3::Hash)>>, Failure>>()?;
    let mut seen: HashMap<blake3::Hash, Spot> = HashMap::new();
    let mut repeats = Vec::new();
    for (spot, hash) in hashed.into_iter().flatten() {
        match seen.get(&hash) {
            Some(&first) => repeats.push((spot, first)),
            None => {
                seen.insert(hash, spot);
            }
        }
    }
    Ok(repeats)
}

/// An image of a sample.
struct FoundImage<'a> {
    sample: &'a FoundSample,
    part: &'a FoundPart,
    /// Its extension in the source.
    ext: &'a str,
}

/// Returns the sample's first image part.
fn first_image<'a>(sample: &'a FoundSample, exts: &'a [PlannedExt]) -> Option<FoundImage<'a>> {
    sample.parts.iter().find_map(|part| {
        let ext = &exts[part.ext as usize];
        let is_image = Content::of(ext.shard.as_bytes()).is_image();
        is_image.then_some(FoundImage { sample, part, ext: &ext.source })
    })
}

/// Returns the bytes of an image; `None` if it cannot be read.
fn image_bytes(
    scan: &Scan,
    roots: &[PathBuf],
    image: &FoundImage<'_>,
    reader: &mut SourceReader<'_>,
) -> Result<Option<Vec<u8>>, Failure> {
    let FoundImage { sample, part, ext } = *image;
    match part.at {
        FoundAt::File(_) | FoundAt::Path(..) => {
            let root = &roots[sample.root as usize];
            let path = match part.at {
                FoundAt::Path(at, length, _) => {
                    let mut path = Vec::new();
                    scan.texts.reader().read(at, u64::from(length), &mut path)?;
                    part_path(root, &path, b"")
                }
                _ => part_path(root, &sample.source, ext.as_bytes()),
            };
            match files::read_whole(&path, "read") {
                Ok(bytes) => Ok(Some(bytes)),
                Err(error) if error.blame().is_machine() => Err(error.into()),
                Err(_) => Ok(None),
            }
        }
        FoundAt::Text(at) => {
            let mut bytes = Vec::new();
            scan.texts.reader().read(at, part.size, &mut bytes)?;
            Ok(Some(bytes))
        }
        FoundAt::Range(source, at) => {
            let mut bytes = vec![0; part.size as usize];
            reader.range(source, at, &mut bytes).map(|()| Some(bytes))
        }
        FoundAt::Cell(source, row, column) => {
            let mut bytes = vec![0; part.size as usize];
            match reader.cell(source, row, column, &mut bytes) {
                Ok(()) => Ok(Some(bytes)),
                Err(CellFault::Data(_) | CellFault::Placed(_)) => Ok(None),
                Err(CellFault::Failure(failure)) => Err(failure),
            }
        }
    }
}
