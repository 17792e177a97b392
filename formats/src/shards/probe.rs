//! Compares a sidecar with its tar by a few headers and the end, without reading the data.
//!
//! Cannot detect bytes that changed inside a part; that requires reading every checksum.

use std::collections::BTreeSet;
use std::path::Path;

use crate::errors::error::{Error, ErrorKind, Result};
use crate::index::{Index, Sample};
use crate::message;
use crate::message::{Call, Name, Task};
use crate::parts::name;
use crate::shards::reading::{Reading, TarReader};
use crate::tar::BLOCK;
use crate::text::url::url_of;

/// Rows compared beside the first and the last.
const ROWS: u64 = 16;
/// Limit on members between the last part and the end marker; more look like another tar.
const BEHIND: usize = 1000;

/// Returns every difference found, in the order of the tar; empty if the sidecar seems right.
///
/// # Errors
/// Returns an error if the operating system refuses to read or the sidecar is damaged.
pub fn compare(reader: &mut TarReader, index: &Index) -> Result<Vec<Error>> {
    let mut found = compare_rows(reader, index)?;
    found.extend(end(reader, index)?);
    Ok(found)
}

/// As [`compare`], without the end of the tar.
///
/// # Errors
/// As [`compare`].
pub fn compare_rows(reader: &mut TarReader, index: &Index) -> Result<Vec<Error>> {
    let mut found = Vec::new();
    for row in rows(index.samples()) {
        if let Some(sample) = index.sample(row)? {
            found.extend(header(reader, &sample)?);
        }
    }
    Ok(found)
}

/// Selects the first row, the last, and some between.
fn rows(samples: u64) -> BTreeSet<u64> {
    let Some(last) = samples.checked_sub(1) else { return BTreeSet::new() };
    let between = (0..ROWS).map(|i| (u128::from(last) * u128::from(i) / u128::from(ROWS)) as u64);
    between.chain([last]).collect()
}

/// Compares the first part of `sample` with its header.
fn header(reader: &mut TarReader, sample: &Sample<'_>) -> Result<Option<Error>> {
    let Some(part) = sample.parts().next().transpose()? else { return Ok(None) };
    reader.resume_at(sample.first);
    let member = match reader.next_member() {
        Ok(Some(member)) => member,
        Ok(None) => return Ok(Some(zeros(sample))),
        Err(error) if error.kind() == ErrorKind::AfterEnd => return Ok(Some(zeros(sample))),
        Err(error) => return passed_on(error, sample).map(Some),
    };
    let same = member.part().is_some_and(|(key, ext)| key == sample.key && *ext == *part.ext)
        && member.data == part.offset
        && member.size == part.length;
    if same {
        return Ok(None);
    }
    let text = format!(
        "the sidecar lists part '{}' of {} bytes here, the tar has '{}' of {} bytes",
        name::shown(part.ext),
        part.length,
        name::shown(&member.name),
        member.size
    );
    Ok(Some(placed(ErrorKind::Stale, text, sample)))
}

fn zeros(sample: &Sample<'_>) -> Error {
    placed(ErrorKind::BadHeader, "zeros where the sidecar lists a sample".into(), sample)
}

fn placed(kind: ErrorKind, text: String, sample: &Sample<'_>) -> Error {
    Error::new(kind, text).with_byte(sample.first).with_key(sample.shown_key())
}

/// Returns a fault of the tar as a finding, and a failure to read as an error.
fn passed_on(error: Error, sample: &Sample<'_>) -> Result<Error> {
    if error.kind() == ErrorKind::Io { Err(error) } else { Ok(error.with_key(sample.shown_key())) }
}

/// Compares the end: no part may follow the last one, the end marker must, and zeros alone may follow that.
fn end(reader: &mut TarReader, index: &Index) -> Result<Option<Error>> {
    reader.resume_at(index.samples_end()?);
    for _ in 0..BEHIND {
        match reader.next_member() {
            Ok(Some(member)) if member.part().is_some() => {
                let text =
                    "the tar continues with this part after the last one that the sidecar lists";
                return Ok(Some(
                    Error::new(ErrorKind::Stale, text)
                        .with_byte(member.first)
                        .with_key(name::shown(&member.name)),
                ));
            }
            Ok(Some(_)) => {}
            Ok(None) => break,
            Err(error) if error.kind() == ErrorKind::Io => return Err(error),
            Err(error) => return Ok(Some(error)),
        }
    }
    Ok(None)
}

/// Returns true if another tar begins at the byte of `error`, and not bytes of no tar.
fn is_joined(reader: &mut TarReader, error: &Error) -> Result<bool> {
    let end = error.place().byte.expect("an error after the end names the byte");
    reader.resume_at(end);
    match reader.next_member() {
        Err(error) if error.kind() == ErrorKind::Io => Err(error),
        next => Ok(next.is_ok()),
    }
}

/// Returns true if the end marker follows the last part that the sidecar lists, and the tar ends there, as packing
/// writes it: nothing can be behind it.
///
/// # Errors
/// Returns an error if the sidecar is damaged.
pub fn ends_at_marker(index: &Index) -> Result<bool> {
    Ok(index.samples_end()?.checked_add(2 * BLOCK) == Some(index.tar_length()))
}

/// Checks that the sidecar of a plain tar lists its samples to the last one.
///
/// # Errors
/// Returns an error that names the command which renews the sidecar if a part or more than zeros follows, and if the
/// operating system refuses to read.
pub fn check_end(index: &Index, tar: &Path) -> Result<()> {
    if ends_at_marker(index)? {
        return Ok(());
    }
    check_end_in(index, &mut TarReader::open(tar, Reading::Headers)?, tar)
}

/// As [`check_end`], of the tar that `reader` reads; errors name it `tar`.
///
/// # Errors
/// As [`check_end`].
pub fn check_end_in(index: &Index, reader: &mut TarReader, tar: &Path) -> Result<()> {
    let Some(error) = end(reader, index)? else { return Ok(()) };
    // Samples are complete without an end marker, and behind damage that lists none.
    if !matches!(error.kind(), ErrorKind::AfterEnd | ErrorKind::Stale) {
        return Ok(());
    }
    if error.kind() == ErrorKind::AfterEnd && !is_joined(reader, &error)? {
        return Err(error.with_path(tar)); // It names the command that cuts the tar.
    }
    let mut renewal = Call::of(Task::Index).with(Name::Force.on());
    if error.kind() == ErrorKind::AfterEnd {
        renewal = renewal.with(Name::IgnoreZeros.on());
    }
    // A store has a manifest, which lists the sidecar.
    let folder = url_of(tar).and_then(|url| url.rsplit_once('/'));
    let renewed = folder.map_or(tar, |(folder, _)| Path::new(folder));
    let text = message!(
        "{why}; the sidecar lists the samples before this place alone: renew it with `{renewal}`";
        why = error.message(),
        renewal = index.renewed(renewal).on_path(renewed)
    );
    let renewed = Error::new(error.kind(), text).with_path(tar);
    Err(match (error.place().byte, &error.place().key) {
        (Some(byte), Some(key)) => renewed.with_byte(byte).with_key(key.clone()),
        (Some(byte), None) => renewed.with_byte(byte),
        _ => renewed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_rows_are_all_checked_and_of_many_a_sample() {
        assert!(rows(0).is_empty());
        assert_eq!(rows(3).into_iter().collect::<Vec<_>>(), [0, 1, 2]);
        let many = rows(1_000_000);
        assert_eq!((many.len(), many.first(), many.last()), (17, Some(&0), Some(&999_999)));
    }
}
