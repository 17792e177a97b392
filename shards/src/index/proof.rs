//! Proves that a sidecar describes its tar, if the tar may have been changed after the sidecar was published.
//!
//! The digest of the tar decides, or all its headers if the sidecar has no digest. Writes nothing but times.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use tarflume_formats::freshness::{may_be_newer, renew};
use tarflume_formats::index::Sample;
use tarflume_formats::message;
use tarflume_formats::tar::{Member, MemberKind};
use tarflume_formats::{
    Error, ErrorKind, Index, Reading, Result, TarReader, digest_of, files, index_path, name, probe,
};

use super::options::Options;
use super::sidecar::read_tar;

/// Proves the sidecar of the tar at `tar`, if the tar may be newer. Reads the tar then.
///
/// # Errors
/// Returns [`ErrorKind::Stale`] with path, byte and key if the sidecar is that of another tar, and an error if the
/// operating system refuses to read.
pub fn prove(tar: &Path, index: &Index) -> Result<()> {
    suspect(tar, index)?.map_or(Ok(()), |_| compare(tar, index))
}

/// As [`prove`], then makes the sidecar newer than its tar.
///
/// # Errors
/// As [`prove`].
pub(crate) fn prove_and_renew(tar: &Path, index: &Index) -> Result<()> {
    let Some(suspect) = suspect(tar, index)? else { return Ok(()) };
    compare(tar, index)?;
    let now = files::metadata(tar, "examine")?;
    let is_same =
        (now.ctime(), now.ctime_nsec()) == (suspect.tar.ctime(), suspect.tar.ctime_nsec());
    // A tar that was changed meanwhile stays one that may be newer.
    if is_same {
        // Where nothing can be written, the next proof reads the tar again.
        let _ = renew(&index_path(tar), suspect.sidecar, &suspect.tar);
    }
    Ok(())
}

/// Compares a few headers of a tar that may be newer than its sidecar, for commands that show what the sidecar states.
///
/// # Errors
/// Returns [`ErrorKind::Stale`] with path, byte and key if they are not those of the sidecar, and an error if the
/// operating system refuses to read.
pub fn probe_suspect(tar: &Path, index: &Index) -> Result<()> {
    if suspect(tar, index)?.is_none() || index.is_compressed() {
        return Ok(());
    }
    let mut reader = TarReader::open(tar, Reading::Headers)?;
    match probe::compare_rows(&mut reader, index)?.into_iter().next() {
        Some(wrong) => {
            let text = message!(
                "{why}; if the tar is right, make a new sidecar with `{renewal}`";
                why = wrong.message(),
                renewal = index.renewal(tar)
            );
            let error = Error::new(ErrorKind::Stale, text).with_path(tar);
            let place = wrong.place();
            let error = place.byte.into_iter().fold(error, Error::with_byte);
            Err(place.key.iter().fold(error, |error, key| error.with_key(key.as_str())))
        }
        None => Ok(()),
    }
}

/// The files of a shard whose tar may be newer than its sidecar.
struct Suspect<'a> {
    tar: Metadata,
    sidecar: &'a Metadata,
}

fn suspect<'a>(tar: &Path, index: &'a Index) -> Result<Option<Suspect<'a>>> {
    let found = files::metadata(tar, "examine")?;
    let sidecar = index.metadata().filter(|sidecar| may_be_newer(&found, sidecar));
    Ok(sidecar.map(|sidecar| Suspect { tar: found, sidecar }))
}

fn compare(tar: &Path, index: &Index) -> Result<()> {
    match index.tar().digest {
        Some(expected) if digest_of(tar)? != expected => Err(first_difference(tar, index)?),
        Some(_) => Ok(()),
        None => compare_headers(tar, index),
    }
}

/// Returns the error that names the first part whose bytes are not those of the sidecar.
///
/// # Errors
/// Returns an error if the operating system refuses to read, or the sidecar is damaged.
fn first_difference(tar: &Path, index: &Index) -> Result<Error> {
    let whole = "its blake3 is not the one that the sidecar states";
    if index.is_compressed() {
        return Ok(stale(tar, whole));
    }
    let mut reader = TarReader::open(tar, Reading::Headers)?;
    for sample in index.iter() {
        let sample = sample?;
        for part in sample.parts() {
            let part = part?;
            let found = reader.checksum(&Member {
                name: Vec::new(),
                kind: MemberKind::File,
                first: sample.first,
                data: part.offset,
                size: part.length,
            })?;
            if part.checksum.is_some_and(|expected| expected != found) {
                let what = format!(
                    "the bytes of part '{}' are not those that the sidecar was made from",
                    name::shown(part.ext)
                );
                return Ok(stale(tar, &what).with_byte(part.offset).with_key(sample.shown_key()));
            }
        }
    }
    Ok(stale(tar, whole))
}

/// Compares all headers of a tar with a sidecar that was made from headers alone.
fn compare_headers(tar: &Path, index: &Index) -> Result<()> {
    // The sidecar may have been made with --allow-missing-end.
    let options = Options { allow_missing_end: true, ..Options::of_headers() };
    let read = read_tar(tar, &options, index.samples_end()?, &|_| {})?;
    let found = Index::from_bytes(read.bytes)?;
    for row in 0..found.samples().max(index.samples()) {
        let listed = index.sample(row)?;
        let there = found.sample(row)?;
        if !is_same(listed.as_ref(), there.as_ref())? {
            let what = "the sidecar lists another sample here, or none";
            let error = stale(tar, what);
            let place = there.or(listed).map(|sample| (sample.first, sample.shown_key()));
            return Err(match place {
                Some((first, key)) => error.with_byte(first).with_key(key),
                None => error,
            });
        }
    }
    Ok(())
}

fn is_same(one: Option<&Sample<'_>>, other: Option<&Sample<'_>>) -> Result<bool> {
    let Some(one) = one else { return Ok(false) };
    let Some(other) = other else { return Ok(false) };
    if one.key != other.key || one.parts().count() != other.parts().count() {
        return Ok(false);
    }
    for (one, other) in one.parts().zip(other.parts()) {
        let one = one?;
        let other = other?;
        if (one.ext, one.offset, one.length) != (other.ext, other.offset, other.length) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn stale(tar: &Path, what: &str) -> Error {
    let text = format!("the tar was changed after its sidecar was made: {what}");
    Error::new(ErrorKind::Stale, text).with_path(tar)
}
