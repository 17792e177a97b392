//! The samples of a scan in compact form: about 20 bytes per sample beside its base name.
//!
//! Folder names are stored once. Samples are read in sequence, or at a [`Spot`], which takes eight
//! bytes. The bytes of a run are in memory or in the mapped file of a stored scan.

use std::ops::Range;
use std::sync::Arc;

use tarflume_formats::Mapped;
use tarflume_formats::varint::{self, put, put_bytes};

/// A part of a found sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundPart {
    /// Its extension's number in the scan.
    pub ext: u16,
    /// Bytes.
    pub size: u64,
    /// The location of its bytes.
    pub at: FoundAt,
}

/// The location of a part's bytes; see [`Location`](tarflume_formats::plan::Location).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundAt {
    /// A file of its own, with a digest of its modification time.
    File(u32),
    /// A file whose path under the root is a text: its first byte in
    /// [`Scan::texts`](crate::scan::Scan::texts), its length, and the digest.
    Path(u64, u32, u32),
    /// Text, from this byte of [`Scan::texts`](crate::scan::Scan::texts).
    Text(u64),
    /// Bytes of a source, from this byte.
    Range(u32, u64),
    /// A source's row and column.
    Cell(u32, u64, u16),
}

/// A sample found by the scan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundSample {
    /// The number of the source folder.
    pub root: u32,
    /// Path under it up to the dot before the extension.
    pub source: Vec<u8>,
    /// Its key in the shard.
    pub key: Vec<u8>,
    /// Its parts in the order of their extensions in the shard.
    pub parts: Vec<FoundPart>,
}

/// The position of a sample in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Spot {
    run: u32,
    at: u32,
}

impl Spot {
    pub(crate) fn new(run: usize, at: usize) -> Spot {
        Spot { run: run as u32, at: at as u32 }
    }

    /// Returns the spot as a number that grows in the order of the list.
    #[inline]
    pub fn id(self) -> u64 {
        u64::from(self.run) << 32 | u64::from(self.at)
    }

    /// Returns the spot with the number `id`.
    #[inline]
    pub fn from_id(id: u64) -> Spot {
        Spot { run: (id >> 32) as u32, at: id as u32 }
    }
}

/// Bytes of a run that is full. A spot's position in a run has 32 bits.
const FULL: usize = 4 << 20;

/// Bytes that are read of a mapped file before its pages are released.
const RELEASED: usize = 64 << 20;

/// Consecutive samples of one folder.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) root: u32,
    /// The folder's path under the root with a trailing slash, and its prefix of keys.
    pub(crate) source_folder: Arc<[u8]>,
    pub(crate) key_folder: Arc<[u8]>,
    bytes: Vec<u8>,
    stored: Option<StoredRun>,
    pub(crate) samples: u64,
}

/// The bytes of a run in a file.
#[derive(Debug)]
pub(crate) struct StoredRun {
    pub(crate) map: Arc<Mapped>,
    pub(crate) range: Range<usize>,
    /// The numbers of its extensions in this scan, by their numbers in the file.
    pub(crate) exts: Arc<[u16]>,
}

impl Run {
    pub(crate) fn new(root: u32, source: Arc<[u8]>, key: Arc<[u8]>) -> Run {
        Run {
            root,
            source_folder: source,
            key_folder: key,
            bytes: Vec::new(),
            stored: None,
            samples: 0,
        }
    }

    /// A run whose bytes are in a file. [`Run::ends`] must have found them valid before a sample is read.
    pub(crate) fn stored(run: Run, samples: u64, stored: StoredRun) -> Run {
        Run { stored: Some(stored), samples, ..run }
    }

    /// Its samples, encoded.
    pub(crate) fn encoded(&self) -> &[u8] {
        match &self.stored {
            None => &self.bytes,
            Some(StoredRun { map, range, .. }) => &map[range.clone()],
        }
    }

    /// Returns the stems of the first and the last sample; `None` if the bytes are not those of its samples.
    pub(crate) fn ends(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let exts = self.stored.as_ref().map(|stored| stored.exts.len());
        let mut reader = Checked { bytes: self.encoded(), at: 0 };
        let mut first = None;
        let mut last = &[][..];
        for _ in 0..self.samples {
            last = reader.sample(exts)?;
            first.get_or_insert(last);
        }
        (reader.at == reader.bytes.len())
            .then(|| (first.unwrap_or_default().to_vec(), last.to_vec()))
    }

    /// Adds a sample: its stem, the stem of its key if it differs, its parts. The run is in memory.
    pub(crate) fn push(&mut self, stem: &[u8], key_stem: Option<&[u8]>, parts: &[FoundPart]) {
        debug_assert!(self.stored.is_none(), "a stored run does not grow");
        let out = &mut self.bytes;
        put_bytes(out, stem);
        // The lowest bit states that the key differs: most samples need one byte for both.
        put(out, (parts.len() as u64) << 1 | u64::from(key_stem.is_some()));
        if let Some(key) = key_stem {
            put_bytes(out, key);
        }
        for part in parts {
            let ext = u64::from(part.ext) << 3;
            match part.at {
                FoundAt::File(stamp) => {
                    put(out, ext);
                    out.extend_from_slice(&stamp.to_le_bytes());
                }
                FoundAt::Path(at, length, stamp) => {
                    put(out, ext | 4);
                    put(out, at);
                    put(out, u64::from(length));
                    out.extend_from_slice(&stamp.to_le_bytes());
                }
                FoundAt::Text(at) => {
                    put(out, ext | 1);
                    put(out, at);
                }
                FoundAt::Range(source, at) => {
                    put(out, ext | 2);
                    put(out, u64::from(source));
                    put(out, at);
                }
                FoundAt::Cell(source, row, column) => {
                    put(out, ext | 3);
                    put(out, u64::from(source));
                    put(out, row);
                    put(out, u64::from(column));
                }
            }
            put(out, part.size);
        }
        self.samples += 1;
    }

    pub(crate) fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
    }

    /// Returns true once the next sample should begin a new run: a list is rebuilt run by run, and
    /// the space of a growing run doubles.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes.len() > FULL
    }

    /// Decodes the sample at `at` and returns the position of the next.
    pub(crate) fn read(&self, at: usize, sample: &mut FoundSample) -> usize {
        let mut reader = Reader { bytes: self.encoded(), at };
        let exts = self.stored.as_ref().map(|stored| &stored.exts);
        sample.root = self.root;
        let stem = reader.take();
        set_joined(&mut sample.source, &self.source_folder, stem);
        let counted = reader.number();
        let key_stem = if counted & 1 == 1 { reader.take() } else { stem };
        set_joined(&mut sample.key, &self.key_folder, key_stem);
        sample.parts.clear();
        for _ in 0..counted >> 1 {
            let head = reader.number();
            let at = match head & 7 {
                0 => FoundAt::File(reader.stamp()),
                1 => FoundAt::Text(reader.number()),
                2 => FoundAt::Range(reader.number() as u32, reader.number()),
                4 => FoundAt::Path(reader.number(), reader.number() as u32, reader.stamp()),
                _ => FoundAt::Cell(reader.number() as u32, reader.number(), reader.number() as u16),
            };
            let ext = (head >> 3) as u16;
            let ext = exts.map_or(ext, |exts| exts[usize::from(ext)]);
            sample.parts.push(FoundPart { ext, size: reader.number(), at });
        }
        reader.at
    }
}

/// All samples of a scan, in the order of their names.
#[derive(Debug, Default)]
pub struct SampleList {
    runs: Vec<Run>,
    samples: u64,
}

impl SampleList {
    pub(crate) fn push(&mut self, run: Run) {
        self.samples += run.samples;
        if run.samples > 0 {
            self.runs.push(run);
        }
    }

    /// Returns the runs, in order.
    pub(crate) fn into_runs(self) -> Vec<Run> {
        self.runs
    }

    /// Returns the number of samples.
    pub fn len(&self) -> u64 {
        self.samples
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.samples == 0
    }

    /// Calls `each` with every sample and its spot, in order, until it returns false.
    pub fn visit(&self, mut each: impl FnMut(Spot, &FoundSample) -> bool) {
        let mut sample = FoundSample::default();
        let mut touched = 0;
        for (number, run) in self.runs.iter().enumerate() {
            if let Some(StoredRun { map, range, .. }) = &run.stored {
                touched += range.len();
                if touched > RELEASED {
                    map.forget();
                    touched = 0;
                }
            }
            let mut at = 0;
            for _ in 0..run.samples {
                let spot = Spot::new(number, at);
                at = run.read(at, &mut sample);
                if !each(spot, &sample) {
                    return;
                }
            }
        }
    }

    /// Returns an error if the file of a stored run was truncated or could not be read meanwhile: what was read of it
    /// was not its samples then.
    ///
    /// # Errors
    /// Returns an error in this case.
    pub fn intact(&self) -> tarflume_formats::Result<()> {
        let mut seen: Option<&Arc<Mapped>> = None;
        for StoredRun { map, .. } in self.runs.iter().filter_map(|run| run.stored.as_ref()) {
            if !seen.is_some_and(|seen| Arc::ptr_eq(seen, map)) {
                map.intact()?;
                seen = Some(map);
            }
        }
        Ok(())
    }

    /// Decodes the sample at `spot`.
    pub fn read(&self, spot: Spot, sample: &mut FoundSample) {
        self.runs[spot.run as usize].read(spot.at as usize, sample);
    }
}

const ENCODED: &str = "this file has encoded the run, or `Run::ends` has checked it";

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn number(&mut self) -> u64 {
        varint::take(self.bytes, &mut self.at).expect(ENCODED)
    }

    fn take(&mut self) -> &'a [u8] {
        varint::take_bytes(self.bytes, &mut self.at).expect(ENCODED)
    }

    fn stamp(&mut self) -> u32 {
        let mut n = [0; 4];
        // Absent only in a mapped file that was truncated after it was checked.
        if let Some(found) = self.bytes.get(self.at..self.at + 4) {
            n.copy_from_slice(found);
        }
        self.at += 4;
        u32::from_le_bytes(n)
    }
}

/// As [`Reader`], for bytes of a file: each length is checked.
struct Checked<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Checked<'a> {
    /// Skips a sample and returns its stem. Its parts must be files with extensions below `exts`.
    fn sample(&mut self, exts: Option<usize>) -> Option<&'a [u8]> {
        let stem = varint::take_bytes(self.bytes, &mut self.at)?;
        let counted = self.number()?;
        if counted & 1 == 1 {
            varint::take_bytes(self.bytes, &mut self.at)?;
        }
        for _ in 0..counted >> 1 {
            let head = self.number()?;
            let is_file = head & 7 == 0;
            if !is_file || exts.is_some_and(|exts| head >> 3 >= exts as u64) {
                return None;
            }
            self.at = self.at.checked_add(4).filter(|&at| at <= self.bytes.len())?;
            self.number()?;
        }
        Some(stem)
    }

    fn number(&mut self) -> Option<u64> {
        varint::take(self.bytes, &mut self.at)
    }
}

fn set_joined(out: &mut Vec<u8>, folder: &[u8], stem: &[u8]) {
    out.clear();
    out.extend_from_slice(folder);
    out.extend_from_slice(stem);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pushed_samples_are_read_in_order_and_by_position() {
        let mut list = SampleList::default();
        for folder in 0..3u32 {
            let path = format!("d {folder}/").into_bytes();
            let mut run =
                Run::new(7, path.clone().into(), format!("d_{folder}/").into_bytes().into());
            for i in 0..100u64 {
                let part = |at| FoundPart { ext: 300, size: i << 30, at };
                let renamed = (i % 2 == 0).then_some(&b"other"[..]);
                let parts = [
                    part(FoundAt::File(i as u32)),
                    part(FoundAt::Path(i << 33, 5, i as u32)),
                    part(FoundAt::Text(i << 33)),
                    part(FoundAt::Range(folder, i << 40)),
                    part(FoundAt::Cell(folder, i << 35, 9)),
                ];
                run.push(format!("s{i}").as_bytes(), renamed, &parts);
            }
            list.push(run);
        }
        let mut seen = Vec::new();
        list.visit(|spot, sample| {
            seen.push((spot, sample.clone()));
            true
        });
        assert_eq!(seen.len(), 300);
        assert_eq!(seen[101].1.source, b"d 1/s1");
        assert_eq!(seen[102].1.key, b"d_1/other");
        let mut again = FoundSample::default();
        for (spot, sample) in &seen {
            list.read(*spot, &mut again);
            assert_eq!(again, *sample);
        }
    }
}
