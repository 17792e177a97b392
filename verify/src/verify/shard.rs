//! Verifies one shard: its tar, its sidecar, and its entry in the manifest.

use std::path::Path;
use std::time::Duration;

use tarflume_base::{Problem, ProblemKind, Problems, packed_shard};
use tarflume_formats::lfs::Pointer;
use tarflume_formats::manifest::ShardEntry;
use tarflume_formats::message;
use tarflume_formats::{
    Error, ErrorKind, Index, IrregularJpegs, Reading, Result, TarReader, files, index_path, probe,
};
use tarflume_shards::index::proof;
use tarflume_shards::kinds;

use super::absent::{self, Absence};
use super::contents::parts::ShardParts;
use super::options::{Level, Options};
use super::pass::{self, LongParts, Passed};
use super::proved::{Proved, listed, listed_length, open_sidecar, renewal};
use super::sets::Target;
use crate::class_field::ClassCounts;
use crate::verify::contents::points;

/// Verifies one shard.
///
/// # Errors
/// Returns an error if the machine failed: the shard's state is then unknown.
pub(crate) fn prove(
    target: Target,
    options: &Options,
    on_bytes: &(dyn Fn(u64) + Sync),
) -> Result<Proved> {
    let Target { tar, entry, .. } = target;
    let mut proved = Proved {
        path: tar.clone(),
        bytes: 0,
        without_checksums: false,
        index: None,
        classes: ClassCounts::default(),
        irregular: IrregularJpegs::default(),
        problems: Problems::default(),
        warning: None,
        long: LongParts::default(),
        objects: 0,
        is_absent: false,
        parts: ShardParts::default(),
        time: Duration::ZERO,
    };
    match files::metadata(&tar, "find the shard") {
        Ok(found) => proved.bytes = found.len(),
        Err(error) if options.changed && error.is_missing() => {
            absent::prove(&tar, entry.as_ref(), Absence::Missing, &mut proved)?;
            return Ok(proved);
        }
        Err(error) => {
            proved.problems.push(missing_shard(&kinds::of_data(error)?, entry.is_some()));
            return Ok(proved);
        }
    }
    if let Some(pointer) = Pointer::read(&tar, proved.bytes)? {
        if options.changed {
            absent::prove(&tar, entry.as_ref(), Absence::Pointer(pointer), &mut proved)?
        } else {
            proved.problems.push(kinds::in_tar(&Pointer::error(&tar)))
        }
        return Ok(proved);
    }
    let is_alone = options.changed && entry.is_none() && !files::exists(&index_path(&tar))?;
    // The tar belongs to no data set.
    let sidecar = if is_alone { None } else { open_sidecar(&tar, &mut proved.problems)? };
    proved.without_checksums = sidecar.as_ref().is_some_and(|index| !index.has_checksums());
    let outcome = match options.level {
        Level::Quick => quick(&tar, sidecar, entry.as_ref(), &mut proved),
        Level::Full | Level::Decode => {
            full(&tar, sidecar, entry.as_ref(), options, on_bytes, &mut proved)
        }
    };
    if let Err(error) = outcome {
        proved.problems.push(kinds::in_tar(&kinds::of_data(error)?));
    }
    Ok(proved)
}

fn missing_shard(error: &Error, listed: bool) -> Problem {
    let problem = kinds::in_tar(error);
    let kind = if listed { ProblemKind::MissingShard } else { problem.kind };
    Problem { kind, ..problem }
}

fn quick(
    tar: &Path,
    sidecar: Option<Index>,
    entry: Option<&ShardEntry>,
    proved: &mut Proved,
) -> Result<()> {
    if packed_shard::is_compressed(tar) {
        return quick_packed(tar, sidecar, entry, proved);
    }
    let mut reader = TarReader::open(tar, Reading::Headers)?;
    let Some(index) = sidecar else {
        if !ends_in_zeros(&mut reader)? {
            proved.problems.push(no_end(tar, reader.length()));
        }
        listed_length(tar, entry, proved.bytes, &renewal(tar, None), &mut proved.problems);
        return Ok(());
    };
    let known = proved.problems.listed.len();
    if index.tar().length == proved.bytes {
        for error in probe::compare(&mut reader, &index)? {
            let stale = error.kind() == ErrorKind::Stale;
            let path = if stale { index_path(tar) } else { tar.to_path_buf() };
            proved.problems.push(kinds::in_tar(&error.with_path(path)));
        }
    } else if index.tar().length > proved.bytes && !ends_in_zeros(&mut reader)? {
        proved.problems.push(cut(tar, &index, proved.bytes));
    } else {
        push_stale_length(tar, &index, proved.bytes, &mut proved.problems)?;
    }
    if proved.problems.listed.len() == known {
        push_unproved(tar, &index, &mut proved.problems)?;
    }
    // A sidecar that describes another tar is no evidence about the manifest or about its parts.
    if proved.problems.listed[known..].iter().all(|p| p.kind != ProblemKind::StaleIndex) {
        points::quick(&tar.display().to_string(), &index, &mut proved.problems)?;
        listed(tar, entry, &index, proved.bytes, &mut proved.problems);
    }
    proved.index = Some(index);
    Ok(())
}

/// Compares the frames of a compressed shard with its sidecar; decompresses nothing.
fn quick_packed(
    tar: &Path,
    sidecar: Option<Index>,
    entry: Option<&ShardEntry>,
    proved: &mut Proved,
) -> Result<()> {
    let found = packed_shard::frames(tar)?;
    let Some(index) = sidecar else {
        listed_length(tar, entry, proved.bytes, &renewal(tar, None), &mut proved.problems);
        return Ok(());
    };
    if index.tar().length != proved.bytes {
        push_stale_length(tar, &index, proved.bytes, &mut proved.problems)?;
    } else {
        packed_shard::compare(tar, &index, &found)?;
        push_unproved(tar, &index, &mut proved.problems)?;
        points::quick(&tar.display().to_string(), &index, &mut proved.problems)?;
        listed(tar, entry, &index, proved.bytes, &mut proved.problems);
    }
    proved.index = Some(index);
    Ok(())
}

fn full(
    tar: &Path,
    sidecar: Option<Index>,
    entry: Option<&ShardEntry>,
    options: &Options,
    on_bytes: &(dyn Fn(u64) + Sync),
    proved: &mut Proved,
) -> Result<()> {
    let passed = pass::over(tar, sidecar.as_ref(), options, on_bytes)?;
    let Passed { problems, facts, rows, ended, other_tar, classes, irregular, warning, .. } =
        passed;
    proved.long = passed.long;
    proved.objects = passed.objects;
    proved.parts = passed.parts;
    for problem in problems.listed {
        proved.problems.push(problem);
    }
    proved.problems.unlisted += problems.unlisted;
    proved.classes = classes;
    proved.irregular = irregular;
    proved.warning = warning;
    let Some(facts) = facts else { return Ok(()) };
    let same_length = |index: &Index| index.tar().length == facts.length;
    if let Some(index) = sidecar.as_ref().filter(|index| ended && !same_length(index)) {
        push_stale_length(tar, index, facts.length, &mut proved.problems)?;
    }
    let renewal = renewal(tar, sidecar.as_ref());
    let usable = sidecar.filter(|index| same_length(index) && !other_tar);
    if let Some(index) = usable {
        digest(tar, "sidecar states", index.tar().digest, facts.digest, &mut proved.problems);
        listed(tar, entry, &index, proved.bytes, &mut proved.problems);
        proved.index = Some(index);
        return Ok(());
    }
    if let Some(entry) = entry.filter(|entry| ended && entry.bytes == facts.length) {
        digest(tar, "manifest lists", entry.digest()?, facts.digest, &mut proved.problems);
    } else if ended {
        listed_length(tar, entry, facts.length, &renewal, &mut proved.problems);
    }
    // The rows of a tar without a usable sidecar are kept in memory: 80 bytes each, and the key.
    proved.index = Some(Index::from_bytes(rows.encode(&facts)?)?);
    Ok(())
}

fn digest(
    tar: &Path,
    source: &str,
    expected: Option<tarflume_formats::Digest>,
    found: Option<tarflume_formats::Digest>,
    problems: &mut Problems,
) {
    if let (Some(expected), Some(found)) = (expected, found)
        && expected != found
    {
        let text = format!(
            "the tar's blake3 is {found}, the {source} {expected}: its bytes changed; {}",
            kinds::RESTORE
        );
        problems.push(Problem::new(ProblemKind::Digest, tar.display().to_string(), text));
    }
}

fn push_stale_length(
    tar: &Path,
    index: &Index,
    length: u64,
    problems: &mut Problems,
) -> Result<()> {
    if let Err(error) = index.check_tar_length(tar, length) {
        problems.push(kinds::in_index(&kinds::of_data(error)?));
    }
    Ok(())
}

/// Proves a sidecar whose tar may have been changed later, which needs the whole tar.
fn push_unproved(tar: &Path, index: &Index, problems: &mut Problems) -> Result<()> {
    if let Err(error) = proof::prove(tar, index) {
        let mut problem = kinds::in_tar(&kinds::of_data(error)?);
        if problem.kind == ProblemKind::StaleIndex {
            problem.path = index_path(tar).display().to_string();
            problem.reason += message!("; if the tar is right, make a new sidecar with `{renewal}`"; renewal = index.renewal(tar));
        }
        problems.push(problem);
    }
    Ok(())
}

fn cut(tar: &Path, index: &Index, length: u64) -> Problem {
    let text = format!(
        "the tar has {length} bytes, its sidecar was made for {}, and it does not end in zeros: it \
         was cut",
        index.tar().length
    );
    Problem::new(ProblemKind::Truncated, tar.display().to_string(), text).at(length)
}

fn no_end(tar: &Path, length: u64) -> Problem {
    let text = "the tar does not end with an end marker: it was cut, or its writer was killed";
    Problem::new(ProblemKind::MissingEnd, tar.display().to_string(), text).at(length)
}

/// Returns true if the last two blocks are zeros, as in every tar that was written to its end.
fn ends_in_zeros(reader: &mut TarReader) -> Result<bool> {
    match reader.length().checked_sub(1024) {
        Some(from) => reader.only_zeros_from(from),
        None => Ok(false),
    }
}
