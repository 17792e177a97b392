//! Verifies one shard: its tar, its sidecar, and its entry in the manifest.

use std::path::Path;

use tarflume_base::{Problem, ProblemKind, Problems, packed_shard};
use tarflume_formats::lfs::Pointer;
use tarflume_formats::manifest::ShardEntry;
use tarflume_formats::message;
use tarflume_formats::{
    Error, ErrorKind, Index, Reading, Result, TarReader, digest_of, files, index_path, probe,
};
use tarflume_shards::index::proof;
use tarflume_shards::kinds;

use super::absent;
use super::options::{Level, Options};
use super::pass::{self, Passed};
use super::proved::{Proved, listed, listed_length, open_sidecar, renewal};
use super::sets::Target;
use crate::pointers::{StatedTar, dvc};
use crate::scope::runs::{Placed, Run, Taken, Want};
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
    let Target { tar, entry, want, .. } = target;
    let mut proved = Proved::of(tar.clone(), options);
    match files::metadata(&tar, "find the shard") {
        Ok(found) => proved.bytes = found.len(),
        Err(error) => {
            missing(&tar, entry.as_ref(), error, options.scope.may_lack(want), &mut proved)?;
            return Ok(proved);
        }
    }
    if let Some(pointer) = Pointer::read(&tar, proved.bytes)? {
        absent::prove(&tar, entry.as_ref(), Some(pointer.size), &mut proved)?;
        proved.not_pulled = Some(StatedTar::of_lfs(pointer));
        return Ok(proved);
    }
    if want == Want::Stated {
        let bytes = proved.bytes;
        absent::prove(&tar, entry.as_ref(), Some(bytes), &mut proved)?;
        proved.is_absent = false;
        proved.bytes = bytes;
        return Ok(proved);
    }
    let is_alone =
        options.scope.change.is_some() && entry.is_none() && !files::exists(&index_path(&tar))?;
    // The tar belongs to no data set.
    let sidecar = if is_alone { None } else { open_sidecar(&tar, &mut proved.problems)? };
    proved.without_checksums = sidecar.as_ref().is_some_and(|index| !index.has_checksums());
    let shard = Shard { tar: &tar, entry: entry.as_ref(), options, on_bytes };
    if let Err(error) = by_want(shard, want, sidecar, &mut proved) {
        proved.problems.push(kinds::in_tar(&kinds::of_data(error)?));
    }
    Ok(proved)
}

/// A shard that is verified, and how.
#[derive(Clone, Copy)]
struct Shard<'a> {
    tar: &'a Path,
    entry: Option<&'a ShardEntry>,
    options: &'a Options,
    on_bytes: &'a (dyn Fn(u64) + Sync),
}

/// Verifies what is wanted of a shard, at the level of the options.
fn by_want(
    shard: Shard<'_>,
    want: Want,
    sidecar: Option<Index>,
    proved: &mut Proved,
) -> Result<()> {
    let Shard { tar, entry, options, on_bytes } = shard;
    let taken = match want {
        _ if options.level == Level::Quick => Taken::Nothing,
        Want::Quick | Want::Stated => Taken::Nothing,
        Want::Level => Taken::All,
        Want::Share(placed) => taken(tar, placed, sidecar.as_ref(), proved.bytes)?,
    };
    match taken {
        Taken::Nothing => quick(tar, sidecar, entry, proved),
        Taken::All => {
            proved.covered.is_whole = true;
            proved.covered.bytes = proved.bytes;
            full(tar, sidecar, entry, options, on_bytes, proved)?;
            proved.covered.samples = proved.index.as_ref().map_or(0, Index::samples);
            Ok(())
        }
        Taken::Runs(runs) => {
            // Both may find the same problem, which the rules decide about once.
            let sifted = std::mem::take(&mut proved.problems);
            let done =
                quick(tar, sidecar, entry, proved).and_then(|()| by_runs(shard, &runs, proved));
            let found = std::mem::replace(&mut proved.problems, sifted);
            found.listed.into_iter().for_each(|problem| proved.problems.push(problem));
            proved.problems.unlisted += found.unlisted;
            done
        }
    }
}

/// Reads runs of samples of a shard that was verified quickly, and adds what is found.
fn by_runs(shard: Shard<'_>, runs: &[Run], proved: &mut Proved) -> Result<()> {
    let Shard { tar, options, on_bytes, .. } = shard;
    // Of another tar's sidecar, the runs are no samples.
    if proved.problems.listed.iter().any(|problem| problem.kind == ProblemKind::StaleIndex) {
        return Ok(());
    }
    let Some(index) = &proved.index else { return Ok(()) };
    let found = pass::sliced::over(tar, index, runs, options, on_bytes)?;
    let expected = index.tar().digest.filter(|_| found.padding.is_some());
    proved.add_runs(found.passed, found.covered);
    // Packing writes zeros as padding. Where other bytes are, the digest decides whether they have changed.
    if let Some(expected) = expected {
        let digest_found = digest_of(tar)?;
        digest(tar, "sidecar states", Some(expected), Some(digest_found), &mut proved.problems);
    }
    Ok(())
}

/// Returns what of a shard of `bytes` bytes belongs to a share. Without a sidecar of this tar it is all or nothing.
fn taken(tar: &Path, placed: Placed, sidecar: Option<&Index>, bytes: u64) -> Result<Taken> {
    match sidecar
        .filter(|index| index.tar().length == bytes)
        .filter(|_| !packed_shard::is_compressed(tar))
    {
        Some(index) => placed.of(index, bytes),
        None => Ok(placed.whole()),
    }
}

/// Verifies what is stated about a tar that is not here, or reports it.
fn missing(
    tar: &Path,
    entry: Option<&ShardEntry>,
    error: Error,
    may_lack: bool,
    proved: &mut Proved,
) -> Result<()> {
    let tracked = if error.is_missing() { dvc::of(tar)? } else { None };
    if let Some(tracked) = tracked {
        absent::prove(tar, entry, tracked.size, proved)?;
        proved.not_pulled = Some(StatedTar::of_dvc(tracked));
    } else if may_lack && error.is_missing() {
        absent::prove(tar, entry, None, proved)?;
    } else {
        proved.problems.push(missing_shard(&kinds::of_data(error)?, entry.is_some()));
    }
    Ok(())
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
    // The rules that are off do not change what is looked at.
    let mut found = Problems::default();
    if index.tar().length == proved.bytes {
        for error in probe::compare(&mut reader, &index)? {
            let stale = error.kind() == ErrorKind::Stale;
            let path = if stale { index_path(tar) } else { tar.to_path_buf() };
            found.push(kinds::in_tar(&error.with_path(path)));
        }
    } else if index.tar().length > proved.bytes && !ends_in_zeros(&mut reader)? {
        found.push(cut(tar, &index, proved.bytes));
    } else {
        push_stale_length(tar, &index, proved.bytes, &mut found)?;
    }
    if found.is_empty() {
        push_unproved(tar, &index, &mut found)?;
    }
    // A sidecar that describes another tar is no evidence about the manifest or about its parts.
    if found.listed.iter().all(|p| p.kind != ProblemKind::StaleIndex) {
        points::quick(&tar.display().to_string(), &index, &mut found)?;
        listed(tar, entry, &index, proved.bytes, &mut found);
    }
    found.listed.into_iter().for_each(|problem| proved.problems.push(problem));
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
    proved.problems.join(problems);
    proved.measured = passed.measured;
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
