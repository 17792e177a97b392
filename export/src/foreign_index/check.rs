//! Compares index files of other readers, where a folder has them, with the tars. Writes nothing.

mod dali;
mod energon;
mod hfutils;
mod wids;

use std::path::Path;

use tarflume_base::{Failure, Problem, ProblemKind, Problems, Stop};
use tarflume_formats::files;
use tarflume_formats::manifest::ShardEntry;
use tarflume_formats::message;
use tarflume_formats::message::{Call, Name, Task};

use super::digests::Contents;
use super::shard::{self, ReadShard};
use super::{dali as dali_format, energon as energon_format, hfutils as hfutils_format};

/// Checks the index files of one tar. `tar` is in `folder`; every byte of it is read only if `with_digests` is set and an
/// index has digests.
///
/// # Errors
/// Returns an error if the operating system refuses, and after an interruption. A damaged tar is no error here.
pub fn of_shard(
    folder: &Path,
    tar: &str,
    with_digests: bool,
    stop: &Stop,
) -> Result<Problems, Failure> {
    let mut problems = Problems::default();
    let dali =
        existing(&folder.join(dali_format::file_name(tar)))?.filter(|bytes| dali::is_one(bytes));
    let energon = existing(&folder.join(energon_format::file_name(tar)))?;
    let hfutils = existing(&folder.join(hfutils_format::file_name(tar)))?
        .and_then(|bytes| hfutils::parse(&bytes));
    if dali.is_none() && energon.is_none() && hfutils.is_none() {
        return Ok(problems);
    }
    let contents = Contents { md5: false, sha: with_digests && hfutils.is_some() };
    let path = folder.join(tar);
    let shard = match shard::read(&path, tar, contents, stop, &|_| {}) {
        Ok(shard) => shard,
        // The verification of the tar itself has named what is wrong.
        Err(failure) if failure.exit() == tarflume_base::Exit::BadData => return Ok(problems),
        Err(failure) => return Err(failure),
    };
    if let Some(bytes) = dali {
        dali::compare(&folder.join(dali_format::file_name(tar)), &bytes, &shard, &mut problems);
    }
    if let Some(bytes) = energon {
        energon::compare(
            &folder.join(energon_format::file_name(tar)),
            &bytes,
            &shard,
            &mut problems,
        );
    }
    if let Some(index) = hfutils {
        hfutils::compare(
            &folder.join(hfutils_format::file_name(tar)),
            &index,
            &shard,
            &mut problems,
        );
    }
    Ok(problems)
}

/// Checks the index files of a whole data set: `shardindex.json` of wids and `.nv-meta` of Energon.
///
/// # Errors
/// Returns an error if the operating system refuses.
pub fn of_set(folder: &Path, shards: &[ShardEntry]) -> Result<Vec<Problem>, Failure> {
    let mut problems = Vec::new();
    let path = folder.join("shardindex.json");
    if let Some(bytes) = existing(&path)? {
        wids::compare(&path, &bytes, shards, &mut problems);
    }
    let path = folder.join(energon_format::FOLDER).join(".info.json");
    if let Some(bytes) = existing(&path)? {
        energon::compare_info(&path, &bytes, shards, &mut problems);
    }
    Ok(problems)
}

fn existing(path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    if files::exists(path)? { Ok(Some(files::read_whole(path, "verify")?)) } else { Ok(None) }
}

/// A problem of the index file at `path`; `format` is the name that `--export` takes.
fn problem(path: &Path, format: &str, what: &str) -> Problem {
    let index = Call::of(Task::Index).with(Name::Force.on()).with(Name::Export.is(format));
    let text = message!("{what}; make it again with `{index}`"; index = index);
    Problem::new(ProblemKind::ForeignIndex, path.display().to_string(), text)
}

/// Names a sample for messages.
fn shown_key(shard: &ReadShard, sample: usize) -> Option<String> {
    shard.samples().nth(sample).map(|parts| tarflume_formats::name::shown(parts[0].key))
}
