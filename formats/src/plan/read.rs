//! Reads a plan in place. Checks every length; holds one chunk in memory, whatever the file
//! declares.

use std::io;
use std::path::{Path, PathBuf};

use super::contents::{
    FILES_SCHEMA, Location, MAGIC, MAX_CHUNK, NAME_MAX, PlanFoot, PlannedPart, PlannedSample,
    SCHEMA, TRAILER,
};
use crate::bytes::checksum::crc32c;
use crate::bytes::le::{u32_at, u64_at};
use crate::bytes::varint;
use crate::bytes::zstd_codec;
use crate::disk::map::Mapped;
use crate::errors::error::{Error, ErrorKind, Result};

/// An opened plan.
#[derive(Debug)]
pub struct Plan {
    bytes: Mapped,
    path: Option<PathBuf>,
    foot: PlanFoot,
}

impl Plan {
    /// Maps the plan at `path` and reads its footer.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, is not a plan, has a newer version, or is
    /// truncated or damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Plan> {
        let path = path.as_ref();
        let mut plan = Plan::new(Mapped::open(path)?).map_err(|e| e.with_path(path))?;
        plan.path = Some(path.to_path_buf());
        Ok(plan)
    }

    /// Reads a plan from memory.
    ///
    /// # Errors
    /// Returns the errors of [`Plan::open`].
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Plan> {
        Plan::new(Mapped::Owned(bytes))
    }

    fn new(bytes: Mapped) -> Result<Plan> {
        let foot = Plan::read_foot(&bytes);
        bytes.intact()?; // what could not be read looks like damage
        Ok(Plan { foot: foot?, bytes, path: None })
    }

    fn read_foot(bytes: &[u8]) -> Result<PlanFoot> {
        if !bytes.starts_with(&MAGIC) {
            let text = "this is not a tarflume plan: its first eight bytes differ";
            return Err(Error::new(ErrorKind::WrongFormat, text).with_byte(0));
        }
        let tail = bytes.len().checked_sub(TRAILER).filter(|&at| at >= MAGIC.len());
        let Some(tail) = tail.filter(|_| bytes.ends_with(&MAGIC)) else {
            let text = "the plan is cut: its trailer is missing; plan again";
            return Err(Error::new(ErrorKind::Truncated, text).with_byte(bytes.len() as u64));
        };
        let at = u64_at(bytes, tail);
        let length = u64_at(bytes, tail + 8);
        if at.checked_add(length) != Some(tail as u64) {
            return Err(damaged("its footer does not end at its trailer").with_byte(tail as u64));
        }
        let json = &bytes[at as usize..tail];
        if crc32c(json) != u32_at(bytes, tail + 16) || u32_at(bytes, tail + 20) != 0 {
            return Err(damaged("the checksum of its footer is wrong").with_byte(at));
        }
        let foot: PlanFoot = serde_json::from_slice(json)
            .map_err(|e| damaged(&format!("its footer can't be read: {e}")).with_byte(at))?;
        if !(FILES_SCHEMA..=SCHEMA).contains(&foot.schema) {
            let text = format!(
                "the plan has schema {}; this program reads {FILES_SCHEMA} to {SCHEMA}",
                foot.schema
            );
            return Err(Error::new(ErrorKind::Version, text).with_byte(at));
        }
        if !foot.shards.iter().all(|s| s.at.checked_add(s.length).is_some_and(|end| end <= at)) {
            return Err(damaged("a shard's chunks are outside the file").with_byte(at));
        }
        Ok(foot)
    }

    /// Returns everything but the samples.
    pub fn foot(&self) -> &PlanFoot {
        &self.foot
    }

    /// Returns the samples of a shard, in order. A shard past the end has none.
    pub fn samples(&self, shard: usize) -> PlannedSamples<'_> {
        let (range, left) = self.foot.shards.get(shard).map_or((0..0, 0), |s| {
            // Inside the file, as checked on opening.
            (s.at as usize..(s.at + s.length) as usize, s.samples)
        });
        PlannedSamples {
            plan: self,
            next: range.start,
            end: range.end,
            left,
            chunk: Vec::new(),
            at: 0,
            last: Vec::new(),
        }
    }
}

/// Decodes the samples of one shard, a chunk at a time.
#[derive(Debug)]
pub struct PlannedSamples<'a> {
    plan: &'a Plan,
    next: usize,
    end: usize,
    /// Samples that the footer declares and that were not decoded yet.
    left: u64,
    chunk: Vec<u8>,
    at: usize,
    last: Vec<u8>,
}

impl PlannedSamples<'_> {
    /// Decodes the next sample into `sample`, reusing its memory; returns false at the end.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Damaged`] with the byte of the chunk if the chunk cannot be decoded.
    pub fn next_into(&mut self, sample: &mut PlannedSample) -> Result<bool> {
        if self.at == self.chunk.len() {
            let start = self.next as u64;
            if self.next == self.end && self.left == 0 {
                return Ok(false);
            }
            if self.next == self.end {
                return Err(self.place(damaged("a shard's chunks hold too few samples"), start));
            }
            self.load().map_err(|e| self.place(e, start))?;
        }
        let start = self.next as u64;
        let left = self.left.checked_sub(1);
        self.left = left
            .ok_or_else(|| self.place(damaged("a shard's chunks hold too many samples"), start))?;
        let mut cursor = Cursor { bytes: &self.chunk, at: self.at };
        let decoded = decode(&mut cursor, &self.last, sample, &self.plan.foot);
        self.at = cursor.at;
        if decoded.is_none() {
            return Err(self.place(damaged("a sample can't be decoded"), start));
        }
        self.last.clone_from(&sample.source);
        Ok(true)
    }

    fn load(&mut self) -> Result<()> {
        let bytes = &self.plan.bytes[self.next..self.end];
        if bytes.len() < 12 {
            return Err(damaged("a chunk's head is cut"));
        }
        let packed = u32_at(bytes, 0) as usize;
        let raw = u32_at(bytes, 4) as usize;
        if raw == 0 || raw > MAX_CHUNK || packed > bytes.len() - 12 {
            self.plan.bytes.intact()?;
            return Err(damaged("a chunk's length is impossible"));
        }
        let chunk = zstd_codec::decompress(&bytes[12..12 + packed], raw);
        self.plan.bytes.intact()?;
        self.chunk = chunk.map_err(|e| match e.kind() {
            io::ErrorKind::Unsupported => Error::new(ErrorKind::Unsupported, e.to_string()),
            _ => damaged(&format!("a chunk can't be unpacked: {e}")),
        })?;
        if self.chunk.len() != raw || crc32c(&self.chunk) != u32_at(bytes, 8) {
            return Err(damaged("the checksum of a chunk is wrong"));
        }
        self.next += 12 + packed;
        self.at = 0;
        self.last.clear();
        Ok(())
    }

    fn place(&self, error: Error, byte: u64) -> Error {
        let error = error.with_byte(byte);
        match &self.plan.path {
            Some(path) => error.with_path(path),
            None => error,
        }
    }
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let end = self.at.checked_add(usize::try_from(length).ok()?)?;
        let bytes = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(bytes)
    }

    fn varint(&mut self) -> Option<u64> {
        varint::take(self.bytes, &mut self.at)
    }
}

fn decode(
    cursor: &mut Cursor<'_>,
    last: &[u8],
    sample: &mut PlannedSample,
    foot: &PlanFoot,
) -> Option<()> {
    sample.root = cursor.varint().filter(|&r| r < foot.roots.len() as u64)? as u32;
    let common = last.get(..usize::try_from(cursor.varint()?).ok()?)?;
    sample.source.clear();
    sample.source.extend_from_slice(common);
    let length = cursor.varint()?;
    sample.source.extend_from_slice(cursor.take(length)?);
    if sample.source.len() > NAME_MAX {
        return None;
    }
    sample.key.clear();
    match cursor.varint()? {
        0 => sample.key.extend_from_slice(&sample.source),
        n => sample.key.extend_from_slice(cursor.take(n - 1)?),
    }
    let parts = cursor.varint()?;
    sample.parts.clear();
    sample.text.clear();
    for _ in 0..parts {
        let head = cursor.varint()?;
        let (ext, kind) = match foot.schema {
            FILES_SCHEMA => (head, 0),
            _ => (head >> 2, head & 3),
        };
        let ext = Some(ext).filter(|&e| e < foot.exts.len() as u64)? as u16;
        let size = cursor.varint()?;
        let has_paths = foot.exts[usize::from(ext)].has_paths;
        let location = match kind {
            0 if has_paths => decode_path(cursor, &mut sample.text)?,
            _ => decode_location(cursor, kind, size, foot, &mut sample.text)?,
        };
        sample.parts.push(PlannedPart { ext, size, location });
    }
    Some(())
}

/// Decodes the location of a file with a path of its own; appends the path to `text`.
fn decode_path(cursor: &mut Cursor<'_>, text: &mut Vec<u8>) -> Option<Location> {
    let stamp = u32_at(cursor.take(4)?, 0);
    let length = cursor.varint().filter(|&length| length <= NAME_MAX as u64)?;
    let at = u32::try_from(text.len()).ok()?;
    text.extend_from_slice(cursor.take(length)?);
    Some(Location::Path { stamp, at, length: length as u32 })
}

/// Decodes the location of a part of `size` bytes; appends the bytes of a text to `text`.
fn decode_location(
    cursor: &mut Cursor<'_>,
    kind: u64,
    size: u64,
    foot: &PlanFoot,
    text: &mut Vec<u8>,
) -> Option<Location> {
    match kind {
        0 => Some(Location::File { stamp: u32_at(cursor.take(4)?, 0) }),
        1 => {
            let at = u32::try_from(text.len()).ok()?;
            text.extend_from_slice(cursor.take(size)?);
            Some(Location::Text { at })
        }
        2 => Some(Location::Range { source: source_number(cursor, foot)?, at: cursor.varint()? }),
        _ => {
            let source = source_number(cursor, foot)?;
            let row = cursor.varint()?;
            let column = u16::try_from(cursor.varint()?).ok()?;
            Some(Location::Cell { source, row, column })
        }
    }
}

/// Reads the number of a source that the plan has.
fn source_number(cursor: &mut Cursor<'_>, foot: &PlanFoot) -> Option<u32> {
    cursor.varint().filter(|&s| s < foot.sources.len() as u64).map(|s| s as u32)
}

fn damaged(what: &str) -> Error {
    Error::new(ErrorKind::Damaged, format!("the plan is damaged: {what}; plan again"))
}
