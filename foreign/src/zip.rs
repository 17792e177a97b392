//! The directory of a zip file: where its members are, and how they are compressed.
//!
//! Follows PKWARE's APPNOTE 6.3.10, with zip64. Refuses what a reader could interpret in two ways:
//! several disks, a directory that overlaps its own end, encrypted members.

use std::borrow::Cow;

use crate::le::{u32_at, u64_at};
use tarflume_formats::message::Message;
use tarflume_formats::name;
use tarflume_formats::{Error, ErrorKind, Result};

/// Bytes of the end record without its comment.
const END: usize = 22;
/// Bytes of the zip64 locator, which is before the end record.
const LOCATOR: usize = 20;
/// Bytes of the zip64 end record that are read.
pub const END64: usize = 56;
/// The last bytes of a file in which the end record is searched: a comment has up to 65,535 bytes.
pub const TAIL: usize = END + LOCATOR + 65_535;
/// Bytes of a member's record in the directory, without name, extra fields and comment.
pub const RECORD: usize = 46;
/// The most bytes that a member's record can have.
pub const RECORD_MAX: usize = RECORD + 3 * 65_535;
/// Bytes of a member's own header, without name and extra fields.
pub const LOCAL: usize = 30;

/// Where the directory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Directory {
    /// The first byte.
    pub at: u64,
    /// Bytes.
    pub bytes: u64,
    /// Members.
    pub members: u64,
}

/// The end of a zip file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The directory.
    Directory(Directory),
    /// The zip64 end record, at this byte, has the directory; see [`end64`].
    Zip64(u64),
}

/// A member of a zip file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member<'a> {
    /// Its name as stored; a folder's ends in a slash.
    pub name: &'a [u8],
    /// The method: 0 is stored, 8 is deflated.
    pub method: u16,
    /// The crc32 of its bytes.
    pub crc: u32,
    /// Bytes in the file.
    pub packed: u64,
    /// Bytes of the member.
    pub size: u64,
    /// The byte of its own header.
    pub header: u64,
    /// True if it is encrypted.
    pub encrypted: bool,
    /// True if the program that wrote it ran on a system whose paths have backslashes (version made by: MS-DOS,
    /// OS/2, NTFS, VFAT).
    backslashes: bool,
    /// True if it is a symbolic link, whose bytes are the path that it points to.
    pub link: bool,
    /// Bytes of its record in the directory.
    pub record: usize,
}

impl<'a> Member<'a> {
    /// Returns its name with slashes between folders: some programs on Windows write backslashes.
    pub fn path(&self) -> Cow<'a, [u8]> {
        if !self.backslashes || !self.name.contains(&b'\\') {
            return Cow::Borrowed(self.name);
        }
        let slashes = self.name.iter().map(|&byte| if byte == b'\\' { b'/' } else { byte });
        Cow::Owned(slashes.collect())
    }
}

fn wrong(kind: ErrorKind, at: u64, text: impl Into<Message>) -> Error {
    Error::new(kind, text).with_byte(at)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// Returns true if the end record begins at this place of `tail`.
fn is_end(tail: &[u8], at: usize) -> bool {
    tail[at..].starts_with(b"PK\x05\x06")
        && at + END + usize::from(u16_at(tail, at + 20)) == tail.len()
}

/// Finds the end record in the last bytes of a file: `tail` begins at byte `at` and ends with the
/// file.
///
/// # Errors
/// Returns [`ErrorKind::WrongFormat`] if there is none, and [`ErrorKind::Unsupported`] for a file of
/// several disks.
pub fn end(tail: &[u8], at: u64) -> Result<End> {
    let last = tail.len().checked_sub(END);
    let last = last.and_then(|last| (0..=last).rev().find(|&at| is_end(tail, at)));
    let Some(i) = last else {
        let text = "this is not a zip file, or its end is missing: it has no end record";
        return Err(wrong(ErrorKind::WrongFormat, at + tail.len() as u64, text));
    };
    let byte = at + i as u64;
    if let Some(locator) = i.checked_sub(LOCATOR).map(|l| &tail[l..i])
        && locator.starts_with(b"PK\x06\x07")
    {
        let end64 = u64_at(locator, 8);
        if end64.checked_add(END64 as u64).is_none_or(|end| end > byte) {
            let text = format!("the zip64 end record should be at byte {end64}, past the end");
            return Err(wrong(ErrorKind::BadHeader, byte - LOCATOR as u64, text));
        }
        return Ok(End::Zip64(end64));
    }
    let record = &tail[i..];
    if u16_at(record, 4) != 0 || u16_at(record, 6) != 0 || u16_at(record, 8) != u16_at(record, 10) {
        let text = "the zip file has several disks; join them with `zip -s 0 in.zip --out out.zip`";
        return Err(wrong(ErrorKind::Unsupported, byte, text));
    }
    let directory = Directory {
        at: u32_at(record, 16).into(),
        bytes: u32_at(record, 12).into(),
        members: u16_at(record, 10).into(),
    };
    directory.checked(byte).map(End::Directory)
}

/// Parses the zip64 end record, which begins at byte `at`.
///
/// # Errors
/// Returns an error if it is none, or describes a directory that cannot be.
pub fn end64(record: &[u8; END64], at: u64) -> Result<Directory> {
    if !record.starts_with(b"PK\x06\x06") {
        return Err(wrong(ErrorKind::BadHeader, at, "expected the zip64 end record"));
    }
    if u32_at(record, 16) != 0
        || u32_at(record, 20) != 0
        || u64_at(record, 24) != u64_at(record, 32)
    {
        let text = "the zip file has several disks; join them with `zip -s 0 in.zip --out out.zip`";
        return Err(wrong(ErrorKind::Unsupported, at, text));
    }
    let directory = Directory {
        at: u64_at(record, 48),
        bytes: u64_at(record, 40),
        members: u64_at(record, 32),
    };
    directory.checked(at)
}

impl Directory {
    /// Checks that the directory ends before `end` and has room for its members.
    fn checked(self, end: u64) -> Result<Directory> {
        let fits = self.at.checked_add(self.bytes).is_some_and(|last| last <= end);
        let room = self.members.checked_mul(RECORD as u64).is_some_and(|need| need <= self.bytes);
        if fits && room {
            return Ok(self);
        }
        let text = format!(
            "the zip directory of {} members in {} bytes at byte {} does not fit in the file",
            self.members, self.bytes, self.at
        );
        Err(wrong(ErrorKind::BadHeader, end, text))
    }
}

/// Returns the bytes of a member's record, from its first [`RECORD`] bytes; [`RECORD`] for fewer.
pub fn record_length(first: &[u8]) -> usize {
    if first.len() < RECORD {
        RECORD
    } else {
        RECORD + [28, 30, 32].map(|field| usize::from(u16_at(first, field))).iter().sum::<usize>()
    }
}

/// Parses the record of a member at byte `at` of the file; `bytes` may end after the record.
///
/// # Errors
/// Returns [`ErrorKind::Truncated`] if `bytes` ends inside the record, and
/// [`ErrorKind::BadHeader`] if it is none or lacks a zip64 size.
pub fn member(bytes: &[u8], at: u64) -> Result<Member<'_>> {
    if bytes.len() < RECORD {
        let text = "the zip directory ends inside a record";
        return Err(wrong(ErrorKind::Truncated, at, text));
    }
    if !bytes.starts_with(b"PK\x01\x02") {
        return Err(wrong(ErrorKind::BadHeader, at, "expected a record of the zip directory"));
    }
    let lengths = [28, 30].map(|field| usize::from(u16_at(bytes, field)));
    let record = record_length(bytes);
    if bytes.len() < record {
        let text = "the zip directory ends inside a record";
        return Err(wrong(ErrorKind::Truncated, at, text));
    }
    let name = &bytes[RECORD..RECORD + lengths[0]];
    let extra = &bytes[RECORD + lengths[0]..RECORD + lengths[0] + lengths[1]];
    let short = [24, 20, 42].map(|field| u32_at(bytes, field)); // size, packed, header
    let [size, packed, header] = wide(short, extra).ok_or_else(|| {
        let text = format!("the zip64 sizes of '{}' are missing", name::shown(name));
        wrong(ErrorKind::BadHeader, at, text)
    })?;
    Ok(Member {
        name,
        method: u16_at(bytes, 10),
        crc: u32_at(bytes, 16),
        packed,
        size,
        header,
        encrypted: u16_at(bytes, 8) & 0x41 != 0,
        backslashes: matches!(bytes[5], 0 | 6 | 10 | 14),
        // Programs on Unix and macOS (3, 19) keep the mode of the file in the upper half of its attributes.
        link: matches!(bytes[5], 3 | 19) && (u32_at(bytes, 38) >> 16) & 0o170_000 == 0o120_000,
        record,
    })
}

/// Replaces the numbers that have no room in 32 bits by those of the zip64 field.
fn wide(short: [u32; 3], extra: &[u8]) -> Option<[u64; 3]> {
    let mut numbers = short.map(u64::from);
    if !short.contains(&u32::MAX) {
        return Some(numbers);
    }
    let mut rest = extra;
    while let Some((head, body)) = rest.split_first_chunk::<4>() {
        let length = usize::from(u16_at(head, 2));
        let field = body.get(..length)?;
        if u16_at(head, 0) == 1 {
            let mut wide = field.chunks_exact(8).map(|chunk| u64_at(chunk, 0));
            for (number, short) in numbers.iter_mut().zip(short) {
                if short == u32::MAX {
                    *number = wide.next()?;
                }
            }
            return Some(numbers);
        }
        rest = &body[length..];
    }
    None
}

/// Returns the first byte of a member's data, from the member's own header. All data must end at or
/// before `limit`, where the directory begins.
///
/// # Errors
/// Returns [`ErrorKind::BadHeader`] if the header is none, has another method or name length than
/// the directory, or if the data does not fit.
pub fn data_of(member: &Member<'_>, local: &[u8; LOCAL], limit: u64) -> Result<u64> {
    if !local.starts_with(b"PK\x03\x04") {
        return refused("the directory places its header here, and there is none", member);
    }
    if u16_at(local, 8) != member.method || usize::from(u16_at(local, 26)) != member.name.len() {
        return refused("its header differs from the directory", member);
    }
    let skip = LOCAL as u64 + u64::from(u16_at(local, 26)) + u64::from(u16_at(local, 28));
    let data = member.header.checked_add(skip);
    match data.filter(|data| data.checked_add(member.packed).is_some_and(|end| end <= limit)) {
        Some(data) => Ok(data),
        None => refused("its data ends past the directory", member),
    }
}

fn refused(text: &str, member: &Member<'_>) -> Result<u64> {
    let text = format!("zip member '{}': {text}", name::shown(member.name));
    Err(wrong(ErrorKind::BadHeader, member.header, text))
}

/// Returns the name of a compression method for a message.
pub fn method_name(method: u16) -> String {
    match method {
        0 => "stored".into(),
        8 => "deflate".into(),
        9 => "deflate64".into(),
        12 => "bzip2".into(),
        14 => "LZMA".into(),
        93 => "zstd".into(),
        95 => "xz".into(),
        99 => "AES encryption".into(),
        other => format!("method {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record of a directory, with these extra bytes.
    fn record(name: &[u8], packed: u32, size: u32, header: u32, extra: &[u8]) -> Vec<u8> {
        let mut out = b"PK\x01\x02".to_vec();
        out.extend([20, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        out.extend(7u32.to_le_bytes());
        out.extend(packed.to_le_bytes());
        out.extend(size.to_le_bytes());
        out.extend((name.len() as u16).to_le_bytes());
        out.extend((extra.len() as u16).to_le_bytes());
        out.extend([0; 10]);
        out.extend(header.to_le_bytes());
        [out, name.to_vec(), extra.to_vec()].concat()
    }

    fn ending(members: u16, bytes: u32, at: u32) -> Vec<u8> {
        let mut out = b"PK\x05\x06\0\0\0\0".to_vec();
        out.extend(members.to_le_bytes());
        out.extend(members.to_le_bytes());
        out.extend(bytes.to_le_bytes());
        out.extend(at.to_le_bytes());
        out.extend([0, 0]);
        out
    }

    #[test]
    fn the_directory_is_found_behind_a_comment() {
        let mut file = vec![0; 300];
        let mut end_record = ending(2, 100, 150);
        end_record[20] = 4;
        file.extend(end_record);
        file.extend(b"PK\x05\x06");
        let found = end(&file[40..], 40).unwrap();
        assert_eq!(found, End::Directory(Directory { at: 150, bytes: 100, members: 2 }));
        assert_eq!(end(b"nothing", 0).unwrap_err().kind(), ErrorKind::WrongFormat);
    }

    #[test]
    fn a_directory_that_does_not_fit_is_refused() {
        for (members, bytes, at) in [(2, 100, 250), (3, 100, 100), (1, u32::MAX, 5)] {
            let file = [vec![0; 300], ending(members, bytes, at)].concat();
            assert_eq!(end(&file, 0).unwrap_err().kind(), ErrorKind::BadHeader);
        }
    }

    #[test]
    fn zip64_sizes_come_from_the_extra_field_in_order() {
        let mut extra = vec![9, 9, 2, 0, 0, 0, 1, 0, 16, 0];
        extra.extend((5u64 << 32).to_le_bytes());
        extra.extend((6u64 << 32).to_le_bytes());
        let bytes = record(b"a.npy", u32::MAX, u32::MAX, 77, &extra);
        let found = member(&bytes, 0).unwrap();
        assert_eq!((found.size, found.packed, found.header), (5 << 32, 6 << 32, 77));
        assert_eq!((found.name, found.record), (&b"a.npy"[..], bytes.len()));
        let without = record(b"a.npy", u32::MAX, 1, 77, &[]);
        assert!(member(&without, 3).unwrap_err().text().contains("zip64 sizes of 'a.npy'"));
        for cut in 0..bytes.len() {
            assert!(member(&bytes[..cut], 0).is_err());
        }
    }

    #[test]
    fn a_members_data_follows_its_own_header_and_ends_before_the_directory() {
        let bytes = record(b"a.jpg", 10, 10, 100, &[]);
        let found = member(&bytes, 0).unwrap();
        let mut local = [0; LOCAL];
        local[..4].copy_from_slice(b"PK\x03\x04");
        local[26] = 5;
        local[28] = 3;
        assert_eq!(data_of(&found, &local, 148).unwrap(), 138);
        assert!(data_of(&found, &local, 147).unwrap_err().text().contains("past the directory"));
        local[8] = 8;
        assert!(data_of(&found, &local, 148).unwrap_err().text().contains("differs"));
        assert!(data_of(&found, &[0; LOCAL], 148).unwrap_err().text().contains("there is none"));
    }
}
