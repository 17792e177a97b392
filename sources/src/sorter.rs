//! `Sorter`: records in the order of a number, in bounded memory.
//!
//! Records are collected up to a limit, sorted, and written to a temporary file as a run; the runs
//! are merged while they are read. Records with equal numbers keep their order. The file has no
//! name and is in the folder for temporary files (`TMPDIR`). Knows nothing of the records' content.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use rayon::slice::ParallelSliceMut;
use tarflume_base::Failure;
use tarflume_formats::files;

/// Bytes that are held before a run is written.
const HELD: usize = 32 << 20;
/// Bytes of all windows of a merge, and limits on one window.
const WINDOWS: usize = 16 << 20;
const WINDOW_MIN: usize = 16 << 10;
const WINDOW_MAX: usize = 1 << 20;
/// Bytes before a record: its number and the length of its content.
const HEAD: usize = 12;

/// Collects records.
#[derive(Debug)]
pub(crate) struct Sorter {
    held: usize,
    bytes: Vec<u8>,
    /// Number, start and length of each held record.
    index: Vec<(u64, u32, u32)>,
    file: Option<File>,
    runs: Vec<(u64, u64)>,
    written: u64,
}

impl Sorter {
    /// Creates a sorter that holds 32 MiB.
    pub(crate) fn new() -> Sorter {
        Sorter::holding(HELD)
    }

    fn holding(held: usize) -> Sorter {
        Sorter {
            held,
            bytes: Vec::new(),
            index: Vec::new(),
            file: None,
            runs: Vec::new(),
            written: 0,
        }
    }

    /// Adds a record.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses to write the temporary file.
    pub(crate) fn push(&mut self, number: u64, content: &[u8]) -> Result<(), Failure> {
        let records = (self.index.len() + 1) * size_of::<(u64, u32, u32)>();
        if self.bytes.len() + content.len() + records > self.held && !self.index.is_empty() {
            self.write_run()?;
        }
        self.index.push((number, self.bytes.len() as u32, content.len() as u32));
        self.bytes.extend_from_slice(content);
        Ok(())
    }

    fn sort(&mut self) {
        self.index.par_sort_unstable_by_key(|&(number, start, _)| (number, start));
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
        for &(number, at, length) in &self.index {
            let content = &self.bytes[at as usize..][..length as usize];
            let mut head = [0; HEAD];
            head[..8].copy_from_slice(&number.to_le_bytes());
            head[8..].copy_from_slice(&length.to_le_bytes());
            out.write_all(&head)
                .and_then(|()| out.write_all(content))
                .map_err(|e| unwritten(e, &folder))?;
            self.written += (HEAD + content.len()) as u64;
        }
        out.flush().map_err(|e| unwritten(e, &folder))?;
        drop(out);
        self.runs.push((start, self.written));
        self.index.clear();
        self.bytes.clear();
        Ok(())
    }

    /// Sorts the records and returns them for reading.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses to write the temporary file.
    pub(crate) fn finish(mut self) -> Result<Sorted, Failure> {
        if self.runs.is_empty() {
            self.sort();
            return Ok(Sorted::Held { bytes: self.bytes, index: self.index, next: 0 });
        }
        if !self.index.is_empty() {
            self.write_run()?;
        }
        let Some(file) = self.file else {
            return Ok(Sorted::Held { bytes: Vec::new(), index: Vec::new(), next: 0 });
        };
        let runs = self.runs;
        let window = (WINDOWS / runs.len()).clamp(WINDOW_MIN, WINDOW_MAX);
        let cursors = runs.into_iter().map(|(at, end)| Cursor::new(at, end, window)).collect();
        Merge::new(file, cursors).map(Sorted::Merged)
    }
}

fn unwritten(e: std::io::Error, folder: &Path) -> Failure {
    Failure::io(e, "write a temporary file in", folder)
        .with_remedy("TMPDIR names another folder for temporary files")
}

/// Sorted records.
#[derive(Debug)]
pub(crate) enum Sorted {
    /// All are in memory.
    Held {
        /// Their contents.
        bytes: Vec<u8>,
        /// Number, start and length of each.
        index: Vec<(u64, u32, u32)>,
        /// The position of the next one in the index.
        next: usize,
    },
    /// They are in runs.
    Merged(Merge),
}

impl Sorted {
    /// Returns the number of the next record.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses to read the temporary file.
    pub(crate) fn peek(&mut self) -> Result<Option<u64>, Failure> {
        match self {
            Sorted::Held { index, next, .. } => Ok(index.get(*next).map(|record| record.0)),
            Sorted::Merged(merge) => merge.peek(),
        }
    }

    /// Returns the next record.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses to read the temporary file.
    pub(crate) fn next(&mut self) -> Result<Option<(u64, &[u8])>, Failure> {
        match self {
            Sorted::Held { bytes, index, next } => {
                let record = index.get(*next);
                *next += 1;
                Ok(record.map(|&(number, at, length)| {
                    (number, &bytes[at as usize..][..length as usize])
                }))
            }
            Sorted::Merged(merge) => merge.next(),
        }
    }
}

/// Reads one run through a window.
#[derive(Debug)]
struct Cursor {
    /// The rest of the run in the file.
    at: u64,
    end: u64,
    window: Vec<u8>,
    /// The current record's content in the window.
    content: (usize, usize),
    size: usize,
}

impl Cursor {
    fn new(at: u64, end: u64, size: usize) -> Cursor {
        Cursor { at, end, window: Vec::new(), content: (0, 0), size }
    }

    /// Moves to the next record and returns its number; `None` at the end of the run.
    fn advance(&mut self, file: &File) -> Result<Option<u64>, Failure> {
        let start = self.content.1;
        if start == self.window.len() && self.at == self.end {
            return Ok(None);
        }
        let start = self.need(file, start, HEAD)?;
        let mut number = [0; 8];
        let mut length = [0; 4];
        number.copy_from_slice(&self.window[start..start + 8]);
        length.copy_from_slice(&self.window[start + 8..start + HEAD]);
        let length = u32::from_le_bytes(length) as usize;
        let start = self.need(file, start, HEAD + length)?;
        self.content = (start + HEAD, start + HEAD + length);
        Ok(Some(u64::from_le_bytes(number)))
    }

    /// Reads until the window has `length` bytes from `start`, and returns their new start.
    fn need(&mut self, file: &File, start: usize, length: usize) -> Result<usize, Failure> {
        if self.window.len() - start >= length {
            return Ok(start);
        }
        self.window.drain(..start);
        let held = self.window.len();
        let wanted = self.size.max(length) - held;
        let wanted = wanted.min((self.end - self.at) as usize);
        self.window.resize(held + wanted, 0);
        files::read_exact_at(file, &mut self.window[held..], self.at)
            .map_err(|e| Failure::io(e, "read", "a temporary file of a sort"))?;
        self.at += wanted as u64;
        Ok(0)
    }
}

/// Merges runs.
#[derive(Debug)]
pub(crate) struct Merge {
    file: File,
    cursors: Vec<Cursor>,
    heads: BinaryHeap<Reverse<(u64, u32)>>,
    /// The run whose record was returned last; it has not been advanced.
    last: Option<u32>,
}

impl Merge {
    fn new(file: File, mut cursors: Vec<Cursor>) -> Result<Merge, Failure> {
        let mut heads = BinaryHeap::with_capacity(cursors.len());
        for (run, cursor) in cursors.iter_mut().enumerate() {
            if let Some(number) = cursor.advance(&file)? {
                heads.push(Reverse((number, run as u32)));
            }
        }
        Ok(Merge { file, cursors, heads, last: None })
    }

    fn settle(&mut self) -> Result<(), Failure> {
        if let Some(run) = self.last.take()
            && let Some(number) = self.cursors[run as usize].advance(&self.file)?
        {
            self.heads.push(Reverse((number, run)));
        }
        Ok(())
    }

    fn peek(&mut self) -> Result<Option<u64>, Failure> {
        self.settle()?;
        Ok(self.heads.peek().map(|Reverse((number, _))| *number))
    }

    fn next(&mut self) -> Result<Option<(u64, &[u8])>, Failure> {
        self.settle()?;
        let Some(Reverse((number, run))) = self.heads.pop() else { return Ok(None) };
        self.last = Some(run);
        let cursor = &self.cursors[run as usize];
        Ok(Some((number, &cursor.window[cursor.content.0..cursor.content.1])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(held: usize, records: &[(u64, Vec<u8>)]) -> Vec<(u64, Vec<u8>)> {
        let mut sorter = Sorter::holding(held);
        records.iter().for_each(|(number, content)| sorter.push(*number, content).unwrap());
        let mut sorted = sorter.finish().unwrap();
        let mut out = Vec::new();
        loop {
            let head = sorted.peek().unwrap();
            let Some((number, content)) = sorted.next().unwrap() else { break };
            assert_eq!(head, Some(number));
            out.push((number, content.to_vec()));
        }
        assert_eq!(sorted.peek().unwrap(), None);
        out
    }

    fn record(n: u64) -> (u64, Vec<u8>) {
        let content = n.to_string().repeat(1 + n as usize % 40).into_bytes();
        (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52, content)
    }

    #[test]
    fn records_are_sorted_in_memory_and_in_runs_and_equal_numbers_keep_their_order() {
        let mut records: Vec<_> = (0..5000).map(record).collect();
        records.push((7, vec![b'x'; 3 << 20])); // larger than all windows
        let mut expected = records.clone();
        expected.sort_by_key(|record| record.0);
        for held in [usize::MAX, 100_000, 1000, 1] {
            assert!(sorted(held, &records) == expected, "{held}");
        }
        assert!(sorted(1000, &[]).is_empty());
    }
}
