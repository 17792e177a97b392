//! Moves a finished shard from the working folder to the output folder.
//!
//! It can be interrupted at any instant and repeated. A rename that finds no source does not prove
//! that an earlier attempt moved the file: the file at the target is read and compared.

use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::manifest::{ShardEntry, hex_digest};
use tarflume_formats::message;
use tarflume_formats::message::{Call, Task};
use tarflume_formats::publish::{Published, remove_if_exists, rename_new};
use tarflume_formats::shown::ShowPath;
use tarflume_formats::{Digest, Index, has_bytes, index_path, open_index};
use tarflume_shards::workdir::staging::Staging;

/// Moves a shard out: the tar first, the sidecar last.
///
/// # Errors
/// Returns an error if a sidecar differs from its record, another file has the shard's name, the
/// shard is missing, or the operating system refuses.
pub(super) fn move_out(staging: &Staging, entry: &ShardEntry) -> Result<(), Failure> {
    let from = staging.shards().join(&entry.name);
    let to = staging.out().join(&entry.name);
    let index = hex_digest(&entry.index_blake3)?;
    let tar = entry.digest()?.ok_or_else(|| no_digest(staging, &entry.name))?;
    check_sidecar(staging, entry, &index)?;
    let sidecar = Moved {
        from: &index_path(&from),
        to: &index_path(&to),
        length: entry.index_bytes,
        digest: &index,
    };
    Moved { from: &from, to: &to, length: entry.bytes, digest: &tar }.move_out(staging)?;
    sidecar.move_out(staging)
}

/// Checks that the shard in the output folder is complete: lengths, and that tar, sidecar and
/// record belong together. [`move_out`] has read files moved by an earlier attempt completely.
///
/// # Errors
/// Returns an error that names the difference, or that the operating system refuses.
pub(super) fn check(staging: &Staging, entry: &ShardEntry) -> Result<(), Failure> {
    open_index(staging.out(), entry)?;
    Ok(())
}

fn no_digest(staging: &Staging, name: &str) -> Failure {
    Failure::bad_data(format!("{name}: its record has no digest; pack it again"))
        .with_file(staging.record_path(name))
}

/// Reads the whole sidecar, at its current place, before anything is moved.
fn check_sidecar(staging: &Staging, entry: &ShardEntry, digest: &Digest) -> Result<(), Failure> {
    let path = index_path(staging.shards().join(&entry.name));
    let index = match Index::open(&path) {
        Err(error) if error.is_missing() => return Ok(()), // compared where it was moved to
        index => index?,
    };
    if index.digest() == *digest {
        return Ok(());
    }
    index.intact()?; // what a failing disk did not give reads as zeros
    Err(Failure::bad_data(format!(
        "the sidecar differs from its record; remove {} and run again",
        staging.record_path(&entry.name).shown()
    ))
    .in_file(path))
}

/// A file that moves, and what its record says of it.
struct Moved<'a> {
    /// Its path in the working folder.
    from: &'a Path,
    /// Its path in the output folder.
    to: &'a Path,
    /// Its length in bytes.
    length: u64,
    digest: &'a Digest,
}

impl Moved<'_> {
    /// Moves the file. One that is at the target already must have the length and the digest of the record.
    fn move_out(&self, staging: &Staging) -> Result<(), Failure> {
        let Moved { from, to, length, digest } = *self;
        let is_taken = match rename_new(from, to) {
            Ok(Published::New) => return Ok(()),
            Ok(Published::AlreadyExists) => true,
            Err(error) if error.is_missing() => false,
            Err(error) => return Err(error.into()),
        };
        if has_bytes(to, length, digest)? {
            return Ok(remove_if_exists(from)?); // moved by an earlier attempt or another machine
        }
        if is_taken || tarflume_formats::files::exists(to)? {
            return Err(Failure::bad_data(message!(
                "{path} has the name of a shard of this data set; move it away and finalize again";
                path = to
            ))
            .with_file(to));
        }
        Err(Failure::try_again(message!(
            "{path} was removed after it was finished; pack it again with `{run}`";
            path = from,
            run = Call::of(Task::Run).on_path(staging.out())
        ))
        .with_file(from))
    }
}
