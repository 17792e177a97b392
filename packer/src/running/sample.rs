//! Packs one sample: reads its files straight into the shard's buffer and checks them there.

use std::path::PathBuf;

use tarflume_formats::plan::{PlanFoot, PlannedSample};
use tarflume_formats::reading::MAX_WHOLE;
use tarflume_formats::shard::STREAM_ABOVE;
use tarflume_formats::{ShardWriter, name};

use super::folders::Folders;
use super::options::Checks;
use crate::check::{CheckLevel, Content, Dimensions};
use crate::failure::Failure;
use crate::problem::{Problem, ProblemKind};
use crate::source::{PlannedFile, ReadFault, part_path, shown_path};

/// Why a sample is not in its shard.
pub(super) enum Refused {
    /// Something is wrong with its files.
    Problem(Box<Problem>),
    /// The machine failed.
    Failure(Failure),
}

impl From<tarflume_formats::Error> for Refused {
    fn from(error: tarflume_formats::Error) -> Refused {
        Refused::Failure(error.into())
    }
}

/// Paths of all files of a sample.
pub(super) fn files(foot: &PlanFoot, roots: &[PathBuf], sample: &PlannedSample) -> Vec<PathBuf> {
    let root = &roots[sample.root as usize];
    let ext = |number: u16| foot.exts[number as usize].source.as_bytes();
    sample.parts.iter().map(|p| part_path(root, &sample.source, ext(p.ext))).collect()
}

/// Appends the sample to the shard, or leaves the shard as it was.
pub(super) fn pack(
    writer: &mut ShardWriter,
    foot: &PlanFoot,
    folders: &mut Folders<'_>,
    sample: &PlannedSample,
    checks: &Checks,
) -> Result<u64, Refused> {
    writer.begin(&sample.key);
    let packed = parts(writer, foot, folders, sample, checks);
    match packed {
        Ok((bytes, dimensions)) => {
            writer.commit(dimensions)?;
            Ok(bytes)
        }
        Err(refused) => {
            writer.abandon()?;
            Err(refused)
        }
    }
}

fn parts(
    writer: &mut ShardWriter,
    foot: &PlanFoot,
    folders: &mut Folders<'_>,
    sample: &PlannedSample,
    checks: &Checks,
) -> Result<(u64, Option<Dimensions>), Refused> {
    let mut dimensions = None;
    let mut bytes = 0;
    for part in &sample.parts {
        let ext = &foot.exts[part.ext as usize];
        let opened = folders.open(sample.root, &sample.source, &ext.source);
        let path = || folders.path(sample.root, &sample.source, &ext.source);
        let told = |kind, byte: Option<u64>, reason: String| {
            let problem = Problem::new(kind, shown_path(&path()), reason).at(byte);
            Refused::Problem(Box::new(problem.of(name::shown(&sample.key))))
        };
        let refused = |fault| refusal(fault, &told, &path);
        let stamp = checks.times.then_some(part.stamp);
        let file = opened.map_err(|e| refused(ReadFault::Refused(e)))?;
        let mut file = PlannedFile::new(file, part.size, stamp);
        let content = Content::of(ext.shard.as_bytes());
        let looked_at = content != Content::Other && checks.level != CheckLevel::None;
        if part.size <= STREAM_ABOVE || (looked_at && part.size <= MAX_WHOLE) {
            let space = writer.part(ext.shard.as_bytes(), part.size)?;
            file.fill(space).map_err(refused)?;
            let found = content
                .check(space, checks.level)
                .map_err(|fault| told(fault.kind, Some(fault.byte), fault.reason))?;
            dimensions = dimensions.or(found);
        } else if looked_at {
            let reason =
                format!("{} bytes are too many to be checked; say --check none", part.size);
            let kind =
                if content == Content::Json { ProblemKind::BadJson } else { ProblemKind::BadImage };
            return Err(told(kind, None, reason));
        } else {
            writer.stream_part(ext.shard.as_bytes(), part.size, |piece| {
                file.fill(piece).map_err(refused)
            })?;
        }
        file.check().map_err(refused)?;
        bytes += part.size;
    }
    Ok((bytes, dimensions))
}

/// A file that changed or can't be read is a problem; a machine that can't read now is a failure.
fn refusal(
    fault: ReadFault,
    told: &dyn Fn(ProblemKind, Option<u64>, String) -> Refused,
    path: &dyn Fn() -> PathBuf,
) -> Refused {
    use std::io::ErrorKind as K;
    match fault {
        ReadFault::Changed(reason) => told(ProblemKind::Changed, None, reason),
        ReadFault::Refused(e) => match e.kind() {
            K::NotFound | K::NotADirectory => {
                told(ProblemKind::Changed, None, "it is gone since it was planned".into())
            }
            K::StaleNetworkFileHandle
            | K::TimedOut
            | K::NetworkDown
            | K::HostUnreachable
            | K::OutOfMemory => Refused::Failure(Failure::io(e, "read", path())),
            _ if e.raw_os_error() == Some(24) || e.raw_os_error() == Some(23) => {
                Refused::Failure(Failure::io(e, "open (too many open files)", path()))
            }
            _ => told(ProblemKind::Unreadable, None, e.to_string()),
        },
    }
}
