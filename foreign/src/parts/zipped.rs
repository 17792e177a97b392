//! Zips of arrays (`npz`), and the files of `torch.save` (`pth`, `pt`).

use std::io::Read;

use flate2::Crc;
use flate2::read::DeflateDecoder;
use tarflume_formats::npy::MAX_HEAD;
use tarflume_formats::{Error, Result, name};

use super::Looked;
use super::array::{self, Extent};
use super::cursor::{Cursor, fault};
use super::pickle;
use crate::zip::{self, Directory, End, LOCAL, Member};

/// Bytes that the members of a zip may have unpacked. More are not looked into, so that no file takes hours.
const UNPACKED: u64 = 16 << 30;
/// Bytes of a member that are kept: the header of an array.
const HEAD: usize = MAX_HEAD + 16;

/// Checks a zip of arrays: each member has its checksum, and each array the bytes of its shape.
///
/// # Errors
/// Returns the first fault.
pub(super) fn arrays(bytes: &[u8]) -> Result<Looked> {
    let mut looked = Looked::Whole;
    each(bytes, |member, data| {
        if let Some(unread) = array_of(member, data)? {
            looked = unread;
        }
        Ok(())
    })?;
    Ok(looked)
}

/// Checks what `torch.save` writes: a zip whose pickle is walked over, or, of old versions, pickles. Its checksums may be
/// turned off, so the members of the zip are not compared with them.
///
/// # Errors
/// Returns the first fault.
pub(super) fn torch(bytes: &[u8]) -> Result<Looked> {
    if !bytes.starts_with(b"PK") {
        // Numbers without a length follow the pickles.
        pickle::walk(&mut Cursor::new(bytes))?;
        return Ok(Looked::Unread("files of old versions of torch"));
    }
    let mut has_pickle = false;
    each(bytes, |member, data| {
        if !member.name.ends_with(b"/data.pkl") || member.method != 0 {
            return Ok(());
        }
        has_pickle = true;
        match pickle::check(data) {
            Err(error) => Err(within(member, error.text())),
            Ok(_) => Ok(()),
        }
    })?;
    if has_pickle { Ok(Looked::Whole) } else { Err(fault(0, "the zip has no data.pkl")) }
}

/// Calls `take` with each member and its stored bytes.
fn each<'a>(
    bytes: &'a [u8],
    mut take: impl FnMut(&Member<'a>, &'a [u8]) -> Result<()>,
) -> Result<()> {
    let directory = directory(bytes)?;
    let mut at = directory.at;
    for _ in 0..directory.members {
        let record = slice(bytes, at, directory.at + directory.bytes - at)?;
        let member = zip::member(record, at)?;
        at += member.record as u64;
        let mut header = Cursor::from(bytes, usize::try_from(member.header).unwrap_or(usize::MAX));
        let local: [u8; LOCAL] = header.array("the header of a member")?;
        let from = zip::data_of(&member, &local, directory.at)?;
        take(&member, slice(bytes, from, member.packed)?)?;
    }
    Ok(())
}

fn slice(bytes: &[u8], at: u64, count: u64) -> Result<&[u8]> {
    Cursor::from(bytes, usize::try_from(at).unwrap_or(usize::MAX)).take(count, "the zip")
}

fn directory(bytes: &[u8]) -> Result<Directory> {
    let from = bytes.len().saturating_sub(zip::TAIL);
    match zip::end(&bytes[from..], from as u64)? {
        End::Directory(directory) => Ok(directory),
        End::Zip64(at) => {
            let record = slice(bytes, at, zip::END64 as u64)?;
            zip::end64(record.first_chunk().expect("slice returns as many bytes"), at)
        }
    }
}

fn within(member: &Member<'_>, text: &str) -> Error {
    let at = usize::try_from(member.header).unwrap_or(usize::MAX);
    fault(at, format!("member '{}': {text}", name::shown(member.name)))
}

/// Unpacks a member in pieces. Returns what of it is not looked into.
fn array_of(member: &Member<'_>, data: &[u8]) -> Result<Option<Looked>> {
    if member.encrypted || !matches!(member.method, 0 | 8) {
        return Ok(Some(Looked::Unread("encrypted members, and compressions other than deflate")));
    }
    if member.size > UNPACKED {
        return Ok(Some(Looked::Unread("members of more than 16 GiB")));
    }
    let unpacked = match member.method {
        0 => Unpacked::of(data, member.size),
        _ => Unpacked::of(DeflateDecoder::new(data), member.size),
    };
    let unpacked =
        unpacked.map_err(|why| within(member, &format!("it cannot be unpacked: {why}")))?;
    if unpacked.bytes != member.size {
        let text = format!("it has {} bytes, {} are stated", unpacked.bytes, member.size);
        return Err(within(member, &text));
    }
    if unpacked.crc != member.crc {
        let text = format!("its crc32 is {:08x}, {:08x} is stated", unpacked.crc, member.crc);
        return Err(within(member, &text));
    }
    if !member.name.ends_with(b".npy") {
        return Ok(None);
    }
    match array::extent(&unpacked.head).map_err(|error| within(member, error.text()))? {
        Extent::Unread => Ok(Some(Looked::Unread("arrays of objects, records or many dimensions"))),
        Extent::Known(end) if end == member.size => Ok(None),
        Extent::Known(end) => {
            let text = format!("header and shape need {end} bytes, it has {}", member.size);
            Err(within(member, &text))
        }
    }
}

/// What is known of a member after it was unpacked.
struct Unpacked {
    head: Vec<u8>,
    bytes: u64,
    crc: u32,
}

impl Unpacked {
    /// Reads to the end, but not much further than the `size` that is stated.
    fn of(mut source: impl Read, size: u64) -> std::io::Result<Unpacked> {
        let mut unpacked = Unpacked { head: Vec::new(), bytes: 0, crc: 0 };
        let mut crc = Crc::new();
        let mut piece = vec![0; 64 << 10];
        while unpacked.bytes <= size {
            let count = source.read(&mut piece)?;
            if count == 0 {
                break;
            }
            let piece = &piece[..count];
            crc.update(piece);
            let room = HEAD.saturating_sub(unpacked.head.len());
            unpacked.head.extend_from_slice(&piece[..room.min(count)]);
            unpacked.bytes += count as u64;
        }
        unpacked.crc = crc.sum();
        Ok(unpacked)
    }
}

#[cfg(test)]
mod tests;
