//! Reads a tar for all formats: its headers, and every byte if a format needs digests.

use std::path::Path;

use tarflume_base::{Failure, Stop};
use tarflume_formats::message;
use tarflume_formats::message::{Call, Name, Task};
use tarflume_formats::tar::{Member, MemberKind};
use tarflume_formats::{Error, ErrorKind, Reading, TarReader, name};

use super::digests::{self, Contents, Digests};

/// A tar as the formats need it.
#[derive(Debug)]
pub(super) struct ReadShard {
    /// Its file name.
    pub(super) name: String,
    /// Its bytes.
    pub(super) length: u64,
    /// Byte at which the end marker begins.
    pub(super) end: u64,
    /// Its regular files, in the order of the tar.
    pub(super) members: Vec<Member>,
    /// Number of samples.
    pub(super) samples: u64,
    pub(super) digests: Digests,
    /// blake3 of Energon's index, if it was made.
    pub(super) offsets_digest: Option<blake3::Hash>,
}

/// A part of a sample.
#[derive(Clone, Copy)]
pub(super) struct ReadPart<'a> {
    pub(super) key: &'a [u8],
    /// Its extension, as stored.
    pub(super) ext: &'a [u8],
    pub(super) member: &'a Member,
}

impl ReadShard {
    /// Returns the samples: neighbors with the same key. Files that belong to no sample do not end one.
    pub(super) fn samples(&self) -> impl Iterator<Item = Vec<ReadPart<'_>>> {
        let mut parts = self.members.iter().filter_map(part).peekable();
        std::iter::from_fn(move || {
            let first = parts.next()?;
            let mut sample = vec![first];
            while let Some(next) = parts.next_if(|part| part.key == first.key) {
                sample.push(next);
            }
            Some(sample)
        })
    }
}

fn part(member: &Member) -> Option<ReadPart<'_>> {
    name::split(&member.name).map(|(key, ext)| ReadPart { key, ext, member })
}

/// Returns the failure for joined tars: other readers stop at the first end marker.
fn joined(error: Error) -> Failure {
    if error.kind() != ErrorKind::AfterEnd {
        return error.into();
    }
    let place = error.place().clone();
    Failure::bad_data(
        message!("{place}: more than zeros follows an end marker, and the readers that have an index of their own \
             stop there: make one tar of joined ones with `{reshard}`, and index that"; place = &place, reshard = Call::of(Task::Reshard).with(Name::IgnoreZeros.on())),
    )
    .with_place(place)
}

/// Reads the tar at `path`.
///
/// # Errors
/// Returns an error if it is damaged, if the operating system refuses, and after an interruption.
pub(super) fn read(
    path: &Path,
    file_name: &str,
    contents: Contents,
    stop: &Stop,
    on_bytes: &(dyn Fn(u64) + Sync),
) -> Result<ReadShard, Failure> {
    let mut reader = TarReader::open(path, Reading::Headers)?;
    let mut members = Vec::new();
    while let Some(member) = reader.next_member().map_err(joined)? {
        if stop.requested() {
            return Err(Failure::interrupted());
        }
        if member.kind == MemberKind::File {
            members.push(member);
        }
    }
    let length = reader.length();
    let end = reader.end().unwrap_or(length);
    let digests = match contents {
        Contents { md5: false, sha: false } => {
            on_bytes(length);
            Digests::default()
        }
        contents => digests::read(path, length, &members, contents, stop, on_bytes)?,
    };
    let name = file_name.into();
    let mut shard =
        ReadShard { name, length, end, members, samples: 0, digests, offsets_digest: None };
    shard.samples = shard.samples().count() as u64;
    Ok(shard)
}
