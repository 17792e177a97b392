//! Collects the rows of a shard and encodes them as a sidecar.
//!
//! Opens no file: the same calls in the same order give the same bytes.

use std::collections::HashMap;

use super::blobs::Blobs;
use crate::bytes::checksum::{Digest, crc32c};
use crate::errors::error::{Error, ErrorKind, Result};
use crate::index::columns::{ColumnSpec, ColumnValues, Value};
use crate::index::layout::{self as l, SectionName, at};
use crate::parts::name;

/// Facts about a tar as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TarFacts {
    /// Bytes.
    pub length: u64,
    /// blake3 of all bytes; `None` if the tar was indexed from its headers alone.
    pub digest: Option<Digest>,
}

/// Collects the rows of one shard. Memory: 80 bytes for a sample of two parts, its key, and its
/// entry points.
#[derive(Debug, Default)]
pub struct IndexBuilder {
    rows: Vec<[u64; 3]>,
    keys: Vec<u8>,
    spans: Vec<[u64; 2]>,
    checksums: Vec<u32>,
    ext_ids: Vec<u16>,
    exts: Vec<Vec<u8>>,
    ext_numbers: HashMap<Vec<u8>, u16>,
    /// By extension: the number of samples when a part last had it. A sample of many parts then
    /// needs no search for each part.
    ext_rows: Vec<usize>,
    dims: Vec<[u32; 2]>,
    points: Blobs,
    strips: Blobs,
    /// The ends of frames: in the file, in the tar.
    frames: Option<Vec<(u64, u64)>>,
    columns: ColumnValues,
}

impl IndexBuilder {
    /// Creates an index without rows.
    pub fn new() -> Self {
        IndexBuilder::default()
    }

    /// Begins the next sample, whose first header block is at byte `first` of the tar.
    pub fn sample(&mut self, key: &[u8], first: u64) {
        self.rows.push([first, self.keys.len() as u64, self.spans.len() as u64]);
        self.keys.extend_from_slice(key);
        self.dims.push([0, 0]);
        self.columns.begin();
    }

    /// Sets the typed columns, before the first sample.
    pub fn set_columns(&mut self, columns: Vec<ColumnSpec>) {
        debug_assert!(self.rows.is_empty(), "set_columns() after sample()");
        self.columns = ColumnValues::new(columns);
    }

    /// Sets the newest sample's value in column number `column`; without a call it has none. A value of another type
    /// counts as none: [`ValueType::take`](crate::index::ValueType::take) checks it.
    pub fn value(&mut self, column: usize, value: Value<'_>) {
        self.columns.set(column, value);
    }

    /// Adds a part to the newest sample; `checksum` is the crc32c of its data.
    ///
    /// Either every part has a checksum or none.
    ///
    /// # Errors
    /// Returns an error if the sample already has this extension, or if the shard has more than
    /// 65,536 extensions.
    pub fn part(
        &mut self,
        ext: &[u8],
        offset: u64,
        length: u64,
        checksum: Option<u32>,
    ) -> Result<()> {
        debug_assert!(!self.rows.is_empty(), "part() before sample()");
        let number = self.ext_number(ext)?;
        let row = std::mem::replace(&mut self.ext_rows[usize::from(number)], self.rows.len());
        if row == self.rows.len() {
            let text = format!("the part '{}' appears twice in one sample", name::shown(ext));
            return Err(
                Error::new(ErrorKind::Repeated, text).with_key(name::shown(self.last_key()))
            );
        }
        self.ext_ids.push(number);
        self.spans.push([offset, length]);
        self.checksums.extend(checksum);
        Ok(())
    }

    /// Sets width and height of the newest sample's image, in pixels.
    pub fn dimensions(&mut self, width: u32, height: u32) {
        if let Some(dims) = self.dims.last_mut() {
            *dims = [width, height];
        }
    }

    /// Sets the entry points of the newest part, a JPEG; an empty slice means none. Entry points
    /// after the first 4 GiB of a shard are left out.
    pub fn entry_points(&mut self, points: &[u8]) {
        debug_assert!(!self.spans.is_empty(), "entry_points() before part()");
        if let Some(part) = self.parts().checked_sub(1) {
            self.entry_points_of(part, points);
        }
    }

    /// As [`IndexBuilder::entry_points`], for part number `part`. Parts must come in order: the
    /// entry points of later parts are dropped.
    pub fn entry_points_of(&mut self, part: u64, points: &[u8]) {
        debug_assert!(part < self.parts(), "entry_points_of() before part()");
        if part < self.parts() {
            self.points.put(part as usize, points, l::MAX_BLOBS);
        }
    }

    /// Sets the checksums of the strips of part number `part`, a JPEG with entry points. Parts must come in order,
    /// as in [`IndexBuilder::entry_points_of`].
    pub fn strips_of(&mut self, part: u64, strips: &[u8]) {
        debug_assert!(part < self.parts(), "strips_of() before part()");
        if part < self.parts() {
            self.strips.put(part as usize, strips, l::MAX_BLOBS);
        }
    }

    /// Returns the number of samples so far.
    pub fn samples(&self) -> u64 {
        self.rows.len() as u64
    }

    /// States the ends of the frames of a compressed shard, in the file and in the tar.
    pub fn frames(&mut self, ends: Vec<(u64, u64)>) {
        self.frames = Some(ends);
    }

    /// Returns the number of parts so far.
    pub fn parts(&self) -> u64 {
        self.spans.len() as u64
    }

    /// Counts parts by extension.
    pub fn ext_counts(&self) -> std::collections::BTreeMap<String, u64> {
        let mut counts = vec![0u64; self.exts.len()];
        self.ext_ids.iter().for_each(|&id| counts[id as usize] += 1);
        self.exts.iter().map(|e| name::shown(e)).zip(counts).collect()
    }

    fn last_key(&self) -> &[u8] {
        self.rows.last().map_or(&[], |row| &self.keys[row[1] as usize..])
    }

    fn ext_number(&mut self, ext: &[u8]) -> Result<u16> {
        // A shard has few, nearly always: comparing these takes less time than a hash.
        if let Some(number) = self.exts.iter().take(8).position(|known| known == ext) {
            return Ok(number as u16);
        }
        if let Some(&number) = self.ext_numbers.get(ext) {
            return Ok(number);
        }
        let number = u16::try_from(self.exts.len()).map_err(|_| {
            Error::new(ErrorKind::Limit, "more than 65,536 different extensions in one shard")
        })?;
        self.exts.push(ext.to_vec());
        self.ext_rows.push(0);
        self.ext_numbers.insert(ext.to_vec(), number);
        Ok(number)
    }

    /// Encodes the sidecar of the tar described by `facts`.
    ///
    /// # Errors
    /// Returns an error if the shard has more rows, keys or extensions than the format's `u32`
    /// fields can count.
    pub fn encode(mut self, facts: &TarFacts) -> Result<Vec<u8>> {
        let samples = self.rows.len() as u64;
        let parts = self.spans.len() as u64;
        let order = self.key_order()?;
        let end = self.spans.last().map_or(0, |[at, len]| at + len.next_multiple_of(512));
        self.rows.push([end, self.keys.len() as u64, parts]);
        let mut sections: Vec<(SectionName, Vec<u8>)> = vec![
            (l::ROWS, flat(self.rows.iter().flatten().map(|n| n.to_le_bytes()))),
            (l::SPANS, flat(self.spans.iter().flatten().map(|n| n.to_le_bytes()))),
            (l::EXT_IDS, flat(self.ext_ids.iter().map(|n| n.to_le_bytes()))),
            (l::EXTS, encode_exts(&self.exts)?),
            (l::KEYS, std::mem::take(&mut self.keys)),
        ];
        if self.checksums.len() == self.spans.len() {
            sections.push((l::CHECKSUMS, flat(self.checksums.iter().map(|n| n.to_le_bytes()))));
        }
        if self.dims.iter().any(|d| *d != [0, 0]) {
            sections.push((l::DIMS, flat(self.dims.iter().flatten().map(|n| n.to_le_bytes()))));
        }
        if let Some(order) = order {
            sections.push((l::KEY_ORDER, flat(order.iter().map(|n| n.to_le_bytes()))));
        }
        if let Some((starts, points)) = self.points.sections(self.spans.len()) {
            sections.extend([(l::POINT_STARTS, starts), (l::POINTS, points)]);
        }
        if let Some((starts, strips)) = self.strips.sections(self.spans.len()) {
            sections.extend([(l::STRIP_STARTS, starts), (l::STRIPS, strips)]);
        }
        if let Some((columns, values)) = self.columns.sections()? {
            sections.extend([(l::COLUMNS, columns), (l::VALUES, values)]);
        }
        if let Some(ends) = &self.frames {
            let starts = [(0, 0)].iter().chain(ends);
            let records = starts.flat_map(|&(file, data)| [file.to_le_bytes(), data.to_le_bytes()]);
            sections.push((l::FRAMES, flat(records)));
        }
        Ok(assemble(facts, samples, parts, &sections))
    }

    /// Returns the rows in the order of their keys, or `None` if they are already in that order.
    /// The sort is stable.
    fn key_order(&self) -> Result<Option<Vec<u32>>> {
        let ends = self.rows.iter().skip(1).map(|r| r[1]).chain([self.keys.len() as u64]);
        let ranges: Vec<_> =
            self.rows.iter().zip(ends).map(|(r, end)| r[1] as usize..end as usize).collect();
        if (1..ranges.len())
            .all(|row| key_of(row - 1, &self.keys, &ranges) <= key_of(row, &self.keys, &ranges))
        {
            return Ok(None);
        }
        let rows = u32::try_from(ranges.len()).map_err(|_| {
            Error::new(ErrorKind::Limit, "more than 4,294,967,295 samples in one shard")
        })?;
        let mut order: Vec<u32> = (0..rows).collect();
        order.sort_by(|&a, &b| {
            key_of(a as usize, &self.keys, &ranges).cmp(key_of(b as usize, &self.keys, &ranges))
        });
        Ok(Some(order))
    }
}

fn key_of<'k>(row: usize, keys: &'k [u8], ranges: &[std::ops::Range<usize>]) -> &'k [u8] {
    &keys[ranges[row].clone()]
}

fn flat<const N: usize>(numbers: impl Iterator<Item = [u8; N]>) -> Vec<u8> {
    numbers.flatten().collect()
}

fn encode_exts(exts: &[Vec<u8>]) -> Result<Vec<u8>> {
    let mut starts = vec![0u32];
    let mut bytes = Vec::new();
    for ext in exts {
        bytes.extend_from_slice(ext);
        let end = u32::try_from(bytes.len())
            .map_err(|_| Error::new(ErrorKind::Limit, "extensions of more than 4 GiB"))?;
        starts.push(end);
    }
    let mut out = (exts.len() as u32).to_le_bytes().to_vec();
    out.extend(starts.iter().flat_map(|n| n.to_le_bytes()));
    out.extend(bytes);
    Ok(out)
}

/// Concatenates the sections and writes head, section table and checksums before them.
fn assemble(
    facts: &TarFacts,
    samples: u64,
    parts: u64,
    sections: &[(SectionName, Vec<u8>)],
) -> Vec<u8> {
    let table_end = l::FIXED + sections.len() * l::SECTION;
    let body_length: usize = sections.iter().map(|(_, bytes)| l::aligned(bytes.len())).sum();
    let blocks = body_length.div_ceil(l::CHECK_BLOCK);
    let body = l::aligned(table_end + blocks * 4);
    let mut out = vec![0; body];
    let mut put = |at: usize, bytes: &[u8]| out[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &l::MAGIC);
    put(at::VERSION, &l::VERSION.to_le_bytes());
    put(at::BYTE_ORDER, &l::BYTE_ORDER.to_le_bytes());
    put(at::FILE_LENGTH, &((body + body_length) as u64).to_le_bytes());
    put(at::TAR_LENGTH, &facts.length.to_le_bytes());
    if let Some(digest) = &facts.digest {
        put(at::TAR_DIGEST, digest.as_bytes());
        put(at::FLAGS, &l::FLAG_DIGEST.to_le_bytes());
    }
    put(at::SAMPLES, &samples.to_le_bytes());
    put(at::PARTS, &parts.to_le_bytes());
    put(at::SECTIONS, &(sections.len() as u32).to_le_bytes());
    put(at::BODY, &(body as u32).to_le_bytes());
    let mut next = body;
    for (i, (name, bytes)) in sections.iter().enumerate() {
        let line = l::FIXED + i * l::SECTION;
        put(line, name);
        if *name == l::FRAMES {
            put(line + 4, &l::SECTION_REQUIRED.to_le_bytes());
        }
        put(line + 8, &(next as u64).to_le_bytes());
        put(line + 16, &(bytes.len() as u64).to_le_bytes());
        next += l::aligned(bytes.len());
    }
    for (_, bytes) in sections {
        out.extend_from_slice(bytes);
        out.resize(l::aligned(out.len()), 0);
    }
    for block in 0..blocks {
        let start = body + block * l::CHECK_BLOCK;
        let end = (start + l::CHECK_BLOCK).min(out.len());
        let sum = crc32c(&out[start..end]).to_le_bytes();
        out[table_end + block * 4..][..4].copy_from_slice(&sum);
    }
    let sum = crc32c(&out[..body]).to_le_bytes();
    out[at::CHECKSUM..at::CHECKSUM + 4].copy_from_slice(&sum);
    out
}
