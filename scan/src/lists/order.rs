//! Sorts listed files by source folder and path, in bounded memory: sorted runs in a temporary file, merged while they
//! are read.
//!
//! Files of a sample are neighbors: a path is compared up to the dot before its extension first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use rayon::slice::ParallelSliceMut;
use tarflume_base::Failure;
use tarflume_formats::files;

use crate::folders::listing::Known;
use crate::options::ScanOptions;

/// Bytes that are held before a run is written.
const HELD: usize = 192 << 20;
/// Bytes of a run that are read at a time.
const WINDOW: usize = 1 << 20;
/// Bytes before a record's key: its length; behind it: whether facts are known, size, stamp, time of the change.
const HEAD: usize = 4;
const TAIL: usize = 1 + 8 + 4 + 8;
/// Bytes of the root in a key.
const ROOT: usize = 4;

/// A file of the sorted sequence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SortedFile {
    pub(super) root: u32,
    /// The path below the root.
    pub(super) path: Vec<u8>,
    pub(super) facts: Option<Known>,
}

/// Collects files.
#[derive(Debug)]
pub(super) struct PathSorter {
    held: usize,
    bytes: Vec<u8>,
    /// Start and length of the key of each held record.
    index: Vec<(u32, u32)>,
    file: Option<File>,
    runs: Vec<(u64, u64)>,
    written: u64,
}

impl PathSorter {
    pub(super) fn new() -> PathSorter {
        PathSorter::holding(HELD)
    }

    fn holding(held: usize) -> PathSorter {
        PathSorter {
            held,
            bytes: Vec::new(),
            index: Vec::new(),
            file: None,
            runs: Vec::new(),
            written: 0,
        }
    }

    /// Adds a file.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses to write the temporary file.
    pub(super) fn push(
        &mut self,
        root: u32,
        path: &[u8],
        facts: Option<Known>,
        options: &ScanOptions,
    ) -> Result<(), Failure> {
        let record = ROOT + path.len() + 1 + TAIL;
        let used = self.bytes.len() + record + (self.index.len() + 1) * size_of::<(u32, u32)>();
        if used > self.held && !self.index.is_empty() {
            self.write_run()?;
        }
        let start = self.bytes.len();
        let base = path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
        let stem = base + options.stem_of(&path[base..]);
        self.bytes.extend_from_slice(&root.to_be_bytes());
        self.bytes.extend_from_slice(&path[..stem]);
        self.bytes.push(0); // paths have no zeros: a stem comes before longer ones
        self.bytes.extend_from_slice(&path[stem..]);
        self.index.push((start as u32, (self.bytes.len() - start) as u32));
        let Known { size, stamp, changed } = facts.unwrap_or_default();
        self.bytes.push(u8::from(facts.is_some()));
        self.bytes.extend_from_slice(&size.to_le_bytes());
        self.bytes.extend_from_slice(&stamp.to_le_bytes());
        self.bytes.extend_from_slice(&changed.to_le_bytes());
        Ok(())
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        let key = |&(at, length): &(u32, u32)| &bytes[at as usize..(at + length) as usize];
        self.index.par_sort_unstable_by(|a, b| key(a).cmp(key(b)));
    }

    fn write_run(&mut self) -> Result<(), Failure> {
        self.sort();
        let folder = std::env::temp_dir();
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile_in(&folder).map_err(|e| unwritten(e, &folder))?),
        };
        let mut out = BufWriter::with_capacity(1 << 20, file);
        let start = self.written;
        for &(at, length) in &self.index {
            let record = &self.bytes[at as usize..at as usize + length as usize + TAIL];
            out.write_all(&length.to_le_bytes())
                .and_then(|()| out.write_all(record))
                .map_err(|e| unwritten(e, &folder))?;
            self.written += (HEAD + record.len()) as u64;
        }
        out.flush().map_err(|e| unwritten(e, &folder))?;
        drop(out);
        self.runs.push((start, self.written));
        self.index.clear();
        self.bytes.clear();
        Ok(())
    }

    /// Sorts the files and returns them for reading.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses to write or read the temporary file.
    pub(super) fn finish(mut self) -> Result<SortedPaths, Failure> {
        if self.runs.is_empty() {
            self.sort();
            return Ok(SortedPaths::Held { bytes: self.bytes, index: self.index, next: 0 });
        }
        if !self.index.is_empty() {
            self.write_run()?;
        }
        let mut heap = BinaryHeap::new();
        if let Some(file) = self.file.take() {
            let mut merge = Merge { file, runs: Vec::new() };
            for (at, end) in self.runs {
                merge.runs.push(Window { at, end, bytes: Vec::new(), next: 0 });
                let run = merge.runs.len() - 1;
                let mut record = Vec::new();
                if merge.read(run, &mut record)? {
                    heap.push(Reverse((record, run)));
                }
            }
            return Ok(SortedPaths::Merged { merge, heap });
        }
        Ok(SortedPaths::Held { bytes: Vec::new(), index: Vec::new(), next: 0 })
    }
}

fn unwritten(e: std::io::Error, folder: &Path) -> Failure {
    Failure::io(e, "write a temporary file in", folder)
        .with_remedy("TMPDIR names another folder for temporary files")
}

/// The files in their order.
#[derive(Debug)]
pub(super) enum SortedPaths {
    /// All are in memory.
    Held { bytes: Vec<u8>, index: Vec<(u32, u32)>, next: usize },
    /// They are in runs. The heap has the next record of each.
    Merged { merge: Merge, heap: BinaryHeap<Reverse<(Vec<u8>, usize)>> },
}

impl SortedPaths {
    /// Returns the next file.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses to read the temporary file.
    pub(super) fn next(&mut self) -> Result<Option<SortedFile>, Failure> {
        match self {
            SortedPaths::Held { bytes, index, next } => {
                let record = index.get(*next);
                *next += 1;
                let record =
                    record.map(|&(at, length)| &bytes[at as usize..][..length as usize + TAIL]);
                Ok(record.map(parsed))
            }
            SortedPaths::Merged { merge, heap } => {
                let Some(Reverse((mut record, run))) = heap.pop() else { return Ok(None) };
                let file = parsed(&record);
                if merge.read(run, &mut record)? {
                    heap.push(Reverse((record, run)));
                }
                Ok(Some(file))
            }
        }
    }
}

/// Splits a record, which this file has written.
fn parsed(record: &[u8]) -> SortedFile {
    let (key, tail) = record.split_at(record.len() - TAIL);
    let (root, path) = key.split_at(ROOT);
    let known = Known {
        size: number(&tail[1..9]),
        stamp: number(&tail[9..13]) as u32,
        changed: number(&tail[13..21]) as i64,
    };
    let mut four = [0; 4];
    four.copy_from_slice(root);
    let path = path.iter().copied().filter(|&byte| byte != 0).collect();
    SortedFile { root: u32::from_be_bytes(four), path, facts: (tail[0] == 1).then_some(known) }
}

/// Returns a number of at most eight bytes.
fn number(bytes: &[u8]) -> u64 {
    let mut eight = [0; 8];
    eight[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(eight)
}

/// The runs in the temporary file.
#[derive(Debug)]
pub(super) struct Merge {
    file: File,
    runs: Vec<Window>,
}

/// The bytes of a run that are in memory, and where the rest is in the file.
#[derive(Debug)]
struct Window {
    at: u64,
    end: u64,
    bytes: Vec<u8>,
    next: usize,
}

impl Merge {
    /// Reads the next record of a run into `record`; returns false at the end of the run.
    fn read(&mut self, run: usize, record: &mut Vec<u8>) -> Result<bool, Failure> {
        let window = &mut self.runs[run];
        if !window.has(&self.file, HEAD)? {
            return Ok(false);
        }
        let mut length = [0; 4];
        length.copy_from_slice(&window.bytes[window.next..window.next + HEAD]);
        let length = u32::from_le_bytes(length) as usize + TAIL;
        if !window.has(&self.file, HEAD + length)? {
            return Ok(false);
        }
        let start = window.next + HEAD;
        record.clear();
        record.extend_from_slice(&window.bytes[start..start + length]);
        window.next = start + length;
        Ok(true)
    }
}

impl Window {
    /// Reads until `length` bytes from the next one are in memory; returns false if the run ends before.
    fn has(&mut self, file: &File, length: usize) -> Result<bool, Failure> {
        if self.bytes.len() - self.next >= length {
            return Ok(true);
        }
        self.bytes.drain(..self.next);
        self.next = 0;
        let more = (self.end - self.at).min(WINDOW.max(length) as u64) as usize;
        let old = self.bytes.len();
        self.bytes.resize(old + more, 0);
        files::read_exact_at(file, &mut self.bytes[old..], self.at)
            .map_err(|e| Failure::io(e, "read a temporary file in", std::env::temp_dir()))?;
        self.at += more as u64;
        Ok(self.bytes.len() >= length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(held: usize, files: &[(u32, &str)]) -> Vec<(u32, String)> {
        let mut sorter = PathSorter::holding(held);
        let options = ScanOptions::default();
        for (number, (root, path)) in files.iter().enumerate() {
            let facts = Known { size: number as u64, stamp: 7, changed: -1 };
            sorter
                .push(*root, path.as_bytes(), (number % 2 == 0).then_some(facts), &options)
                .unwrap();
        }
        let mut sorted = sorter.finish().unwrap();
        let mut found = Vec::new();
        while let Some(file) = sorted.next().unwrap() {
            let path = String::from_utf8(file.path).unwrap();
            let number =
                files.iter().position(|(r, p)| (*r, *p) == (file.root, path.as_str())).unwrap();
            let facts = Known { size: number as u64, stamp: 7, changed: -1 };
            assert_eq!(file.facts, (number % 2 == 0).then_some(facts));
            found.push((file.root, path));
        }
        found
    }

    #[test]
    fn files_of_a_sample_are_neighbors_in_memory_and_in_runs() {
        let files = [
            (1, "a.jpg"),
            (0, "b/1.jpg"),
            (0, "b.json"),
            (0, "b-x.jpg"),
            (0, "b.jpg"),
            (0, "b!/1.jpg"),
            (0, "b0.jpg"),
            (0, "b/1.json"),
            (0, "a.v2.jpg"),
            (0, "b-x.json"),
        ];
        let expected = [
            (0, "a.v2.jpg"),
            (0, "b.jpg"),
            (0, "b.json"),
            (0, "b!/1.jpg"),
            (0, "b-x.jpg"),
            (0, "b-x.json"),
            (0, "b/1.jpg"),
            (0, "b/1.json"),
            (0, "b0.jpg"),
            (1, "a.jpg"),
        ];
        let expected = expected.map(|(root, path)| (root, path.to_string()));
        for held in [1, 100, 1 << 20] {
            assert_eq!(sorted(held, &files), expected, "{held} bytes held");
        }
    }
}
