//! The sidecar's head: fixed part and section table, parsed and checked.
//!
//! Nothing of the head is used before its checksum matched.

use std::borrow::Cow;
use std::ops::Range;

use super::layout::{self as l, at};
use crate::bytes::checksum::Digest;
use crate::bytes::le::{u32_at, u64_at};
use crate::errors::error::{Error, ErrorKind, Result};
use crate::index::writing::build::TarFacts;
use crate::message;
use crate::message::{Call, Name, Task};
use crate::parts::content::Content;
use crate::parts::name;

/// The byte ranges of the known sections in the file.
#[derive(Debug, Default)]
pub(super) struct Sections {
    pub(super) rows: Range<usize>,
    pub(super) keys: Range<usize>,
    pub(super) spans: Range<usize>,
    pub(super) ext_ids: Range<usize>,
    pub(super) exts: Range<usize>,
    pub(super) checksums: Option<Range<usize>>,
    pub(super) dims: Option<Range<usize>>,
    pub(super) order: Option<Range<usize>>,
    /// The starts of the entry points and the entry points themselves.
    pub(super) points: Option<(Range<usize>, Range<usize>)>,
    /// The same of the checksums of strips.
    pub(super) strips: Option<(Range<usize>, Range<usize>)>,
    pub(super) frames: Option<Range<usize>>,
    /// The description of the typed columns, and their values.
    pub(super) columns: Option<(Range<usize>, Range<usize>)>,
}

/// Returns the whole head of a sidecar of `length` bytes, or as much of it as is needed to refuse
/// it. `more` reads that many bytes from the start of the file.
pub(super) fn whole_head(
    start: &[u8],
    length: u64,
    more: impl FnOnce(usize) -> Result<Vec<u8>>,
) -> Result<Cow<'_, [u8]>> {
    if !start.starts_with(&l::MAGIC) || start.len() < l::FIXED {
        return Ok(Cow::Borrowed(start));
    }
    let body = u32_at(start, at::BODY) as usize;
    if body <= start.len() || body as u64 > length {
        return Ok(Cow::Borrowed(start));
    }
    more(body).map(Cow::Owned)
}

/// The checked fixed part.
pub(super) struct Head {
    pub(super) facts: TarFacts,
    pub(super) samples: u64,
    pub(super) parts: u64,
    sections: usize,
    /// Where the block checksums begin.
    pub(super) sums: usize,
    pub(super) body: usize,
    length: u64,
}

impl Head {
    /// Parses the head of a sidecar that is `found` bytes long. `bytes` must hold everything before
    /// the body.
    pub(super) fn parse(bytes: &[u8], found: u64) -> Result<Head> {
        if !bytes.starts_with(&l::MAGIC) {
            let text = match Content::of(bytes) {
                Some(found) => format!("this is not a tarflume sidecar but {}", found.name),
                None => "this is not a tarflume sidecar: its first eight bytes differ".into(),
            };
            return Err(Error::new(ErrorKind::WrongFormat, text).with_byte(0));
        }
        if bytes.len() < l::FIXED {
            return Err(truncated(found, l::FIXED as u64));
        }
        let version = u32_at(bytes, at::VERSION);
        if version != l::VERSION {
            let text =
                format!("the sidecar has version {version}; this program reads {}", l::VERSION);
            return Err(Error::new(ErrorKind::Version, text).with_byte(at::VERSION as u64));
        }
        if u32_at(bytes, at::BYTE_ORDER) != l::BYTE_ORDER {
            let text = "the sidecar's byte order mark is wrong: it is not little-endian";
            return Err(Error::new(ErrorKind::WrongFormat, text).with_byte(at::BYTE_ORDER as u64));
        }
        let length = u64_at(bytes, at::FILE_LENGTH);
        if length != found {
            return Err(truncated(found, length));
        }
        let sections = u32_at(bytes, at::SECTIONS).min(l::MAX_SECTIONS + 1) as usize;
        let body = u32_at(bytes, at::BODY) as usize;
        let blocks = found.saturating_sub(body as u64).div_ceil(l::CHECK_BLOCK as u64);
        let sums = l::FIXED + sections * l::SECTION;
        let sums_end = blocks.saturating_mul(4).saturating_add(sums as u64);
        if sections > l::MAX_SECTIONS as usize || (body as u64) < sums_end || body > bytes.len() {
            return Err(damaged_head("the table of sections does not fit"));
        }
        check_head_sum(bytes, body)?;
        let flags = u32_at(bytes, at::FLAGS);
        if flags & !l::KNOWN_FLAGS != 0 {
            let text = format!("the sidecar has flags {flags:#x} that this version does not know");
            return Err(Error::new(ErrorKind::Version, text).with_byte(at::FLAGS as u64));
        }
        let mut digest = [0; 32];
        digest.copy_from_slice(&bytes[at::TAR_DIGEST..at::TAR_DIGEST + 32]);
        Ok(Head {
            facts: TarFacts {
                length: u64_at(bytes, at::TAR_LENGTH),
                digest: (flags & l::FLAG_DIGEST != 0).then(|| Digest::from_bytes(digest)),
            },
            samples: u64_at(bytes, at::SAMPLES),
            parts: u64_at(bytes, at::PARTS),
            sections,
            sums,
            body,
            length,
        })
    }

    pub(super) fn sections(&self, bytes: &[u8]) -> Result<Sections> {
        let mut found = Sections::default();
        let mut starts = None;
        let mut points = None;
        let mut strip_starts = None;
        let mut strips = None;
        let mut described = None;
        let mut values = None;
        let name = |line: usize| &bytes[l::FIXED + line * l::SECTION..][..4];
        for number in 0..self.sections {
            if (0..number).any(|before| name(before) == name(number)) {
                return Err(damaged_head("a section is listed twice in its table"));
            }
            let line = l::FIXED + number * l::SECTION;
            let start = u64_at(bytes, line + 8);
            let length = u64_at(bytes, line + 16);
            let end = start.checked_add(length);
            let fits = start >= self.body as u64 && end.is_some_and(|end| end <= self.length);
            if !fits {
                return Err(damaged_head("a section is outside the file"));
            }
            let range = start as usize..(start + length) as usize;
            match name(number) {
                name if name == l::ROWS => found.rows = range,
                name if name == l::KEYS => found.keys = range,
                name if name == l::SPANS => found.spans = range,
                name if name == l::EXT_IDS => found.ext_ids = range,
                name if name == l::EXTS => found.exts = range,
                name if name == l::CHECKSUMS => found.checksums = Some(range),
                name if name == l::DIMS => found.dims = Some(range),
                name if name == l::KEY_ORDER => found.order = Some(range),
                name if name == l::FRAMES => found.frames = Some(range),
                name if name == l::POINT_STARTS => starts = Some(range),
                name if name == l::POINTS => points = Some(range),
                name if name == l::STRIP_STARTS => strip_starts = Some(range),
                name if name == l::STRIPS => strips = Some(range),
                name if name == l::COLUMNS => described = Some(range),
                name if name == l::VALUES => values = Some(range),
                name if u32_at(bytes, line + 4) & l::SECTION_REQUIRED != 0 => {
                    let text =
                        format!("the sidecar needs section '{}', unknown here", name::shown(name));
                    return Err(Error::new(ErrorKind::Version, text).with_byte(line as u64));
                }
                _ => {} // a later version's section: not for us
            }
        }
        if starts.is_some() != points.is_some() {
            return Err(damaged_head("of the two sections of entry points one is missing"));
        }
        found.points = starts.zip(points);
        if strip_starts.is_some() != strips.is_some() {
            return Err(damaged_head("of the two sections of strips one is missing"));
        }
        found.strips = strip_starts.zip(strips);
        if described.is_some() != values.is_some() {
            return Err(damaged_head("of the two sections of columns one is missing"));
        }
        found.columns = described.zip(values);
        let required = [&found.rows, &found.keys, &found.spans, &found.ext_ids, &found.exts];
        // Every listed section starts behind the head, so one that starts at 0 is not in the table.
        if required.iter().any(|section| section.start < self.body) {
            return Err(damaged_head("a required section is missing from its table"));
        }
        self.check_lengths(&found)?;
        Ok(found)
    }

    /// Checks that each section has the number of records that the head declares.
    fn check_lengths(&self, found: &Sections) -> Result<()> {
        let samples = Some(self.samples);
        let parts = Some(self.parts);
        let right = are_records(found.rows.len(), self.samples.checked_add(1), l::ROW)
            && are_records(found.spans.len(), parts, l::SPAN)
            && are_records(found.ext_ids.len(), parts, 2)
            && found.exts.len() >= 8
            && found.frames.as_ref().is_none_or(|r| r.len() >= l::FRAME && r.len() % l::FRAME == 0)
            && are_records_if_any(&found.checksums, parts, 4)
            && are_records_if_any(&found.dims, samples, l::DIM)
            && are_records_if_any(&found.order, samples, 4)
            && found.columns.as_ref().is_none_or(|(described, _)| described.len() >= 4)
            && [&found.points, &found.strips].into_iter().flatten().all(|(starts, _)| {
                are_records(starts.len(), self.parts.checked_add(1), l::BLOB_START)
            });
        if right {
            Ok(())
        } else {
            Err(damaged_head("a section's length does not fit its records"))
        }
    }
}

/// Returns true if so many records of `record` bytes have `length` bytes.
fn are_records(length: usize, records: Option<u64>, record: usize) -> bool {
    records.and_then(|n| n.checked_mul(record as u64)) == Some(length as u64)
}

/// As [`are_records`], of a section that may be missing.
fn are_records_if_any(section: &Option<Range<usize>>, records: Option<u64>, record: usize) -> bool {
    section.as_ref().is_none_or(|section| are_records(section.len(), records, record))
}

fn check_head_sum(bytes: &[u8], body: usize) -> Result<()> {
    let mut sum = crate::bytes::checksum::Crc::new();
    sum.update(&bytes[..at::CHECKSUM]);
    sum.update(&[0; 4]);
    sum.update(&bytes[at::CHECKSUM + 4..body]);
    if sum.value() == u32_at(bytes, at::CHECKSUM) {
        return Ok(());
    }
    Err(damaged_head("its checksum is wrong"))
}

fn damaged_head(what: &str) -> Error {
    let text = message!(
        "the head of the sidecar is damaged: {what}; make it again with `{index}`";
        index = Call::of(Task::Index).with(Name::Force.on()).on_stand("DIR")
    );
    Error::new(ErrorKind::Damaged, text).with_byte(0)
}

fn truncated(found: u64, want: u64) -> Error {
    let text = format!("the sidecar has {found} bytes, not {want}: it was cut or has grown");
    Error::new(ErrorKind::Truncated, text).with_byte(found)
}
