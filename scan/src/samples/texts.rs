//! `Texts`: the texts that a scan makes for samples, in memory up to 16 MiB and in a temporary file
//! above.
//!
//! A scan holds one number for each text, so that labels of any number of samples take little
//! memory. The file has no name and is in the folder for temporary files (`TMPDIR`).

use std::fs::File;
use std::io::Write;
use std::path::Path;

use tarflume_base::Failure;
use tarflume_formats::{Result, files};

/// Bytes that are held in memory before they are written.
const HELD: usize = 16 << 20;
/// Bytes that a reader reads at a time.
const WINDOW: usize = 256 << 10;

/// Texts, one after the other.
#[derive(Debug, Default)]
pub struct Texts {
    file: Option<File>,
    /// Bytes in the file.
    written: u64,
    /// The bytes after those in the file.
    held: Vec<u8>,
}

impl Texts {
    /// Adds a text and returns the position of its first byte.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses to write the temporary file.
    pub(crate) fn push(&mut self, text: &[u8]) -> std::result::Result<u64, Failure> {
        let at = self.written + self.held.len() as u64;
        self.held.extend_from_slice(text);
        if self.held.len() >= HELD {
            let folder = std::env::temp_dir();
            self.spill(&folder).map_err(|e| {
                Failure::io(e, "write a temporary file in", &folder)
                    .with_remedy("TMPDIR names another folder for temporary files")
            })?;
        }
        Ok(at)
    }

    /// Returns true if there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.written == 0 && self.held.is_empty()
    }

    fn spill(&mut self, folder: &Path) -> std::io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile_in(folder)?),
        };
        file.write_all(&self.held)?;
        self.written += self.held.len() as u64;
        self.held.clear();
        Ok(())
    }

    /// Returns a reader. Texts that are read in the order in which they were added are read once.
    pub fn reader(&self) -> TextReader<'_> {
        TextReader { texts: self, window: Vec::new(), start: 0, last: 0 }
    }
}

/// Reads texts through a window of 256 KiB.
#[derive(Debug)]
pub struct TextReader<'a> {
    texts: &'a Texts,
    window: Vec<u8>,
    /// Position of the window's first byte.
    start: u64,
    /// The end of the text that was read last.
    last: u64,
}

impl TextReader<'_> {
    /// Appends the text of `size` bytes at `at` to `out`.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses to read the temporary file.
    pub fn read(&mut self, at: u64, size: u64, out: &mut Vec<u8>) -> Result<()> {
        let size = size as usize; // it was added from memory
        if let Some(held) = at.checked_sub(self.texts.written) {
            let held = held as usize;
            out.extend_from_slice(&self.texts.held[held..held + size]);
            return Ok(());
        }
        let Some(file) = &self.texts.file else { return Ok(()) }; // all texts are held
        let in_window = at.checked_sub(self.start).map(|skip| skip as usize);
        let start = match in_window.filter(|skip| skip + size <= self.window.len()) {
            Some(skip) => skip,
            None => {
                let left = self.texts.written - at;
                // In another order, a window would be read for each text.
                let near = (self.last..self.last + WINDOW as u64).contains(&at);
                let length = left.min(size.max(if near { WINDOW } else { 0 }) as u64) as usize;
                self.window.resize(length, 0);
                self.start = at;
                files::read_exact_at(file, &mut self.window, at).map_err(|e| {
                    tarflume_formats::Error::io(e, "read", "a temporary file of the scan")
                })?;
                0
            }
        };
        out.extend_from_slice(&self.window[start..start + size]);
        self.last = at + size as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(n: usize) -> Vec<u8> {
        vec![n as u8; 1 + n % 100_000]
    }

    #[test]
    fn texts_in_memory_and_in_the_file_are_read_at_their_positions() {
        let mut texts = Texts::default();
        let places: Vec<u64> = (0..1000).map(|n| texts.push(&text(n * 97)).unwrap()).collect();
        assert!(texts.file.is_some() && !texts.held.is_empty());
        let mut reader = texts.reader();
        for n in (0..1000).chain((0..1000).rev().step_by(7)) {
            let wanted = text(n * 97);
            let mut found = Vec::new();
            reader.read(places[n], wanted.len() as u64, &mut found).unwrap();
            assert!(found == wanted, "text {n}");
        }
    }
}
