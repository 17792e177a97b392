//! Reads and writes one tar header block; knows no position in a file.
//!
//! Reading keeps names as bytes and checks every field. The walk interprets sequences of headers
//! (long names, pax records). Writing is deterministic: no clock, no user and no file mode enters
//! the bytes.

use std::fmt;

use crate::errors::error::{Error, ErrorKind, Result};
use crate::tar::number::{self, SIZE_MAX, octal, until_zero};
use crate::tar::pax;

/// Bytes of a block: a header is one block, data is padded to whole blocks.
pub const BLOCK: u64 = 512;

/// The end marker: two blocks of zeros.
pub const END: [u8; 1024] = [0; 1024];

/// The modification time of every written member, in seconds since 1970.
const MTIME: u64 = 0;

/// Limit on written names, below the walk's own limit.
const NAME_MAX: usize = 64 << 10;

/// The largest size in 11 octal digits.
const OCTAL_MAX: u64 = (1 << 33) - 1;

// The positions of the header's fields in the block.
const NAME: std::ops::Range<usize> = 0..100;
const MODE: std::ops::Range<usize> = 100..108;
const UID: std::ops::Range<usize> = 108..116;
const GID: std::ops::Range<usize> = 116..124;
const SIZE: std::ops::Range<usize> = 124..136;
const MTIME_AT: std::ops::Range<usize> = 136..148;
const CHECKSUM: std::ops::Range<usize> = 148..156;
const TYPEFLAG: usize = 156;
const MAGIC: std::ops::Range<usize> = 257..263;
const VERSION: usize = 263;
const DEVMAJOR: std::ops::Range<usize> = 329..337;
const DEVMINOR: std::ops::Range<usize> = 337..345;
const PREFIX: std::ops::Range<usize> = 345..500;

/// Rounds `len` up to whole blocks; `None` if that exceeds `u64`.
pub const fn padded(len: u64) -> Option<u64> {
    len.checked_next_multiple_of(BLOCK)
}

/// Returns true for a block of zeros; two of them end a tar.
pub fn is_zero_block(block: &[u8; 512]) -> bool {
    // Test the first byte alone first: nearly every block here is a header with a name.
    block[0] == 0 && block.iter().all(|&b| b == 0)
}

/// The kind of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MemberKind {
    /// A regular file, the only kind that can be part of a sample.
    File,
    /// A directory; also an empty "file" whose name ends in a slash, as v7 writes directories.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A link to an earlier member.
    HardLink,
    /// A character or block device, or a named pipe.
    Device,
    /// An old GNU sparse file.
    Sparse,
    /// The continuation of a file from another volume.
    Multivolume,
    /// A volume label.
    Volume,
    /// Any other type, with its flag.
    Other(u8),
}

impl MemberKind {
    /// Returns the kind for a type flag, the member's whole name and its size.
    pub(super) fn of(typeflag: u8, name: &[u8], size: u64) -> Self {
        match typeflag {
            // With data it stays a file: readers disagree about it, so its name is refused later.
            0 | b'0' if size == 0 && name.ends_with(b"/") => MemberKind::Directory,
            0 | b'0' | b'7' => MemberKind::File,
            b'1' => MemberKind::HardLink,
            b'2' => MemberKind::Symlink,
            b'3' | b'4' | b'6' => MemberKind::Device,
            b'5' => MemberKind::Directory,
            b'S' => MemberKind::Sparse,
            b'M' => MemberKind::Multivolume,
            b'V' => MemberKind::Volume,
            other => MemberKind::Other(other),
        }
    }
}

impl fmt::Display for MemberKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MemberKind::File => "a file",
            MemberKind::Directory => "a directory",
            MemberKind::Symlink => "a symbolic link",
            MemberKind::HardLink => "a hard link",
            MemberKind::Device => "a device or named pipe",
            MemberKind::Sparse => "a sparse file",
            MemberKind::Multivolume => "a part of a file from another volume",
            MemberKind::Volume => "a volume label",
            MemberKind::Other(flag) => {
                return write!(f, "a member of type \"{}\"", flag.escape_ascii());
            }
        })
    }
}

/// Returns true for the types that have no data whatever their size field holds: links, devices,
/// directories and named pipes. (POSIX permits data after hard links in pax archives; no known
/// writer produces it, and GNU tar, bsdtar and Python all skip none.)
pub(super) fn has_no_data(typeflag: u8) -> bool {
    matches!(typeflag, b'1'..=b'6')
}

/// The contents of one header block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The name in this block, ustar's prefix included; any bytes but zero.
    pub name: Vec<u8>,
    /// The type, as stored.
    pub(crate) typeflag: u8,
    /// Bytes of data after the header; 0 for links, directories and devices.
    pub size: u64,
}

impl Header {
    /// Parses a block that is not the end marker.
    ///
    /// # Errors
    /// Returns [`ErrorKind::BadHeader`] if the checksum does not match, the size is invalid, or tar
    /// readers take different names or sizes from the block.
    pub fn parse(block: &[u8; 512]) -> Result<Header> {
        check_sum(block)?;
        check_numbers(block)?;
        let typeflag = block[TYPEFLAG];
        check_prefix(block, typeflag)?;
        let stored = stored_size(block)?;
        let size = if has_no_data(typeflag) { 0 } else { stored };
        if stored > 0 && matches!(typeflag, b'2' | b'3' | b'4' | b'6' | b'V') {
            let text = format!(
                "the size field of a member that has no data says {stored}: some readers of tars \
                 skip that many bytes, others none"
            );
            return Err(Error::new(ErrorKind::BadHeader, text));
        }
        Ok(Header { name: stored_name(block), typeflag, size })
    }

    /// Returns the kind of member that this block alone describes.
    pub fn kind(&self) -> MemberKind {
        MemberKind::of(self.typeflag, &self.name, self.size)
    }
}

/// Returns the name in a block, whatever else is wrong with it.
pub(super) fn stored_name(block: &[u8; 512]) -> Vec<u8> {
    let name = until_zero(&block[NAME]);
    // GNU tar's own magic ("ustar  ") keeps times and sparse maps where POSIX has the prefix.
    let prefix = if &block[MAGIC] == b"ustar\0" { until_zero(&block[PREFIX]) } else { b"" };
    if prefix.is_empty() {
        return name.to_vec();
    }
    [prefix, b"/", name].concat()
}

/// Returns the size in a block of any type.
pub(super) fn stored_size(block: &[u8; 512]) -> Result<u64> {
    match block[TYPEFLAG] {
        flag if has_no_data(flag) || flag == b'V' => number::size_without_data(&block[SIZE]),
        _ => number::size(&block[SIZE]),
    }
}

/// Checks numbers that mean nothing to shards but that Python's tarfile must be able to parse.
fn check_numbers(block: &[u8; 512]) -> Result<()> {
    let plain = |place| number::is_plain(&block[place]);
    let usual = plain(MODE) & plain(UID) & plain(GID) & plain(MTIME_AT);
    let device = &block[DEVMAJOR.start..DEVMINOR.end];
    if usual && (device == [0; 16] || plain(DEVMAJOR) & plain(DEVMINOR)) {
        return Ok(());
    }
    for (what, place) in [
        ("mode", MODE),
        ("uid", UID),
        ("gid", GID),
        ("mtime", MTIME_AT),
        ("devmajor", DEVMAJOR),
        ("devminor", DEVMINOR),
    ] {
        number::check(what, &block[place])?;
    }
    Ok(())
}

/// Checks the prefix field: Python puts it before the name whatever the magic is; other readers do
/// not.
fn check_prefix(block: &[u8; 512], typeflag: u8) -> Result<()> {
    let named_elsewhere = matches!(typeflag, b'L' | b'K' | b'S');
    if &block[MAGIC] == b"ustar\0" || block[PREFIX][0] == 0 || named_elsewhere {
        return Ok(());
    }
    let text = "the prefix field is used, but the magic is not POSIX's (GNU tar's incremental archives \
                keep times there): some readers of tars make it a part of the name, others do not; \
                pack the files again with `tar --format=posix`";
    Err(Error::new(ErrorKind::BadHeader, text))
}

pub(super) fn check_sum(block: &[u8; 512]) -> Result<()> {
    let field = &block[CHECKSUM];
    let spaces = CHECKSUM.len() as u32 * u32::from(b' ');
    let unsigned = sum(block) - sum(field) + spaces;
    let stored = octal(field);
    if stored == Some(u64::from(unsigned))
        || stored.is_some_and(|stored| is_signed_sum(block, stored))
    {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::BadHeader,
        format!(
            "this is not a tar header: its checksum field holds \"{}\", its bytes sum to \
             {unsigned:06o}",
            field.escape_ascii()
        ),
    ))
}

/// Returns true for the sum of signed bytes, which some historic writers stored.
fn is_signed_sum(block: &[u8; 512], stored: u64) -> bool {
    fn signed(bytes: &[u8]) -> i64 {
        bytes.iter().map(|&b| i64::from(b as i8)).sum()
    }
    let spaces = CHECKSUM.len() as i64 * i64::from(b' ');
    i64::try_from(stored) == Ok(signed(block) - signed(&block[CHECKSUM]) + spaces)
}

fn sum(bytes: &[u8]) -> u32 {
    bytes.iter().map(|&b| u32::from(b)).sum()
}

/// The constant part of every written header. Varying fields are zeros; the checksum field holds
/// the spaces that it counts as.
const TEMPLATE: [u8; 512] = {
    let mut block = [0; 512];
    block = put(block, MODE.start, b"0000644");
    block = put(block, UID.start, b"0000000");
    block = put(block, GID.start, b"0000000");
    block = put(block, MTIME_AT.start, &octal_digits::<11>(MTIME));
    block = put(block, CHECKSUM.start, b"        ");
    block = put(block, MAGIC.start, b"ustar");
    block = put(block, VERSION, b"00");
    block = put(block, DEVMAJOR.start, b"0000000");
    put(block, DEVMINOR.start, b"0000000")
};

const TEMPLATE_SUM: u32 = {
    let mut sum = 0;
    let mut i = 0;
    while i < TEMPLATE.len() {
        sum += TEMPLATE[i] as u32;
        i += 1;
    }
    sum
};

const fn put(mut block: [u8; 512], at: usize, bytes: &[u8]) -> [u8; 512] {
    let mut i = 0;
    while i < bytes.len() {
        block[at + i] = bytes[i];
        i += 1;
    }
    block
}

const fn octal_digits<const N: usize>(n: u64) -> [u8; N] {
    let mut digits = [b'0'; N];
    let mut rest = n;
    let mut i = N;
    while i > 0 {
        i -= 1;
        digits[i] = b'0' + (rest & 7) as u8;
        rest >>= 3;
    }
    digits
}

/// Appends the header of a regular file: one ustar block, after a pax header if the name or the
/// size needs one.
///
/// # Errors
/// Returns [`ErrorKind::BadName`] for an empty name, one with a zero byte, and one that ends in a
/// slash: no tar can hold it as a file. Returns [`ErrorKind::Limit`] for a name over 64 KiB or a
/// size that is not a file offset. Nothing is appended then.
pub fn write_header(out: &mut Vec<u8>, name: &[u8], size: u64) -> Result<()> {
    check(name, size)?;
    let (split, needs) = fit(name, size);
    if needs.any() {
        write_pax(out, name, size, needs);
    }
    match split {
        Some((prefix, name)) => push_block(out, b'0', prefix, name, size),
        None => push_block(out, b'0', b"", short_name(name), size),
    }
    Ok(())
}

/// Returns the number of bytes that [`write_header`] appends for a valid name and size.
pub fn header_len(name: &[u8], size: u64) -> u64 {
    let (_, needs) = fit(name, size);
    if !needs.any() {
        return BLOCK;
    }
    // Names are in memory, so their length cannot overflow here.
    2 * BLOCK + (needs.records_len(name, size) as u64).next_multiple_of(BLOCK)
}

fn check(name: &[u8], size: u64) -> Result<()> {
    let bad = |kind, text: &str| Err(Error::new(kind, text).with_key(shown(name)));
    if name.is_empty() {
        return Err(Error::new(ErrorKind::BadName, "a member needs a name, this one is empty"));
    }
    if name.contains(&0) {
        return bad(ErrorKind::BadName, "the name holds a zero byte, which ends names in a tar");
    }
    if name.ends_with(b"/") {
        return bad(ErrorKind::BadName, "the name ends in a slash, which makes it a directory's");
    }
    if name.len() > NAME_MAX {
        return bad(ErrorKind::Limit, "the name is longer than 65536 bytes");
    }
    if size > SIZE_MAX {
        return bad(ErrorKind::Limit, &format!("no file can hold {size} bytes"));
    }
    Ok(())
}

/// The records that a member's pax header must carry.
#[derive(Clone, Copy)]
struct Needs {
    path: bool,
    size: bool,
}

impl Needs {
    fn any(self) -> bool {
        self.path || self.size
    }

    fn records_len(self, name: &[u8], size: u64) -> usize {
        let path = if self.path { pax::record_len(b"path", name.len()) } else { 0 };
        let digits = size.checked_ilog10().map_or(1, |log| log as usize + 1);
        path + if self.size { pax::record_len(b"size", digits) } else { 0 }
    }
}

/// A name split for ustar's prefix and name fields; the prefix may be empty.
type Split<'a> = (&'a [u8], &'a [u8]);

/// Splits the name for ustar if it fits, and returns which records need pax.
fn fit(name: &[u8], size: u64) -> (Option<Split<'_>>, Needs) {
    let split = split_name(name);
    // ustar does not define other alphabets; pax defines UTF-8.
    let path = split.is_none() || !name.is_ascii();
    (split, Needs { path, size: size > OCTAL_MAX })
}

fn split_name(name: &[u8]) -> Option<Split<'_>> {
    if name.len() <= NAME.len() {
        return Some((b"", name));
    }
    // Take the first slash that leaves a short enough name. Not one of several in a row: some
    // readers join the two halves verbatim, others normalize the slashes.
    let from = (name.len() - 1 - NAME.len()).max(1);
    let slash = (from..=PREFIX.len())
        .take_while(|&at| at + 1 < name.len())
        .find(|&at| name[at] == b'/' && name[at - 1] != b'/' && name[at + 1] != b'/')?;
    Some((&name[..slash], &name[slash + 1..]))
}

/// Returns what the ustar field holds of a name that only pax can hold, for readers without pax.
fn short_name(name: &[u8]) -> &[u8] {
    let mut end = name.len().min(NAME.len());
    // Cut between two UTF-8 characters.
    while end > 0 && end < name.len() && name[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    // A slash at its end would make it a directory.
    while end > 0 && name[end - 1] == b'/' {
        end -= 1;
    }
    if end == 0 { b"_" } else { &name[..end] }
}

fn write_pax(out: &mut Vec<u8>, name: &[u8], size: u64, needs: Needs) {
    let base = name.rsplit(|&b| b == b'/').next().unwrap_or(name);
    let mut own_name = b"PaxHeaders/".to_vec();
    let room = NAME.len() - own_name.len();
    let ascii = base.iter().take(room).map(|&b| if b.is_ascii_graphic() { b } else { b'_' });
    own_name.extend(ascii);
    let len = needs.records_len(name, size);
    push_block(out, b'x', b"", &own_name, len as u64);
    let end = out.len() + len.next_multiple_of(BLOCK as usize);
    if needs.path {
        pax::push_record(out, b"path", name);
    }
    if needs.size {
        pax::push_record(out, b"size", size.to_string().as_bytes());
    }
    out.resize(end, 0);
}

/// Appends one header block; the names must fit their fields.
fn push_block(out: &mut Vec<u8>, typeflag: u8, prefix: &[u8], name: &[u8], size: u64) {
    let mut block = TEMPLATE;
    block[NAME][..name.len()].copy_from_slice(name);
    block[PREFIX][..prefix.len()].copy_from_slice(prefix);
    block[TYPEFLAG] = typeflag;
    if size <= OCTAL_MAX {
        block[SIZE][..11].copy_from_slice(&octal_digits::<11>(size));
    } else {
        // The pax record counts. This is for readers without pax that know base 256 and would
        // otherwise misinterpret the data as headers.
        block[SIZE.start] = 0x80;
        block[SIZE][4..].copy_from_slice(&size.to_be_bytes());
    }
    // Sum only what differs from the template: summing the whole block costs more than the rest of
    // this function.
    let changed = sum(name) + sum(prefix) + sum(&block[SIZE]) + u32::from(typeflag);
    let checksum = octal_digits::<6>(u64::from(TEMPLATE_SUM + changed));
    block[CHECKSUM][..6].copy_from_slice(&checksum);
    block[CHECKSUM.start + 6] = 0;
    out.extend_from_slice(&block);
}

/// Returns the start of a foreign name, escaped for one line of text.
pub(super) fn shown(name: &[u8]) -> String {
    crate::text::shown::bytes(&name[..name.len().min(4096)])
}

#[cfg(test)]
mod tests;
