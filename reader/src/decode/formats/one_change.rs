//! `OneChange`: a file with one byte replaced, without a copy.

use std::io::{self, BufRead, Read, Seek, SeekFrom};

/// A reader of a file with one byte replaced.
#[derive(Debug)]
pub(super) struct OneChange<'a> {
    bytes: &'a [u8],
    /// Where the byte is, and its value; none if it is outside the file.
    at: usize,
    value: [u8; 1],
    position: usize,
}

impl<'a> OneChange<'a> {
    /// Reads `bytes` with the bits of `set` set in the byte at `at`; unchanged if `at` is `None`.
    pub(super) fn new(bytes: &'a [u8], at: Option<usize>, set: u8) -> OneChange<'a> {
        let at = at.unwrap_or(bytes.len());
        let value = [bytes.get(at).map_or(0, |byte| byte | set)];
        OneChange { bytes, at, value, position: 0 }
    }
}

impl BufRead for OneChange<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let end = self.bytes.len();
        Ok(match self.position.min(end) {
            position if position < self.at => &self.bytes[position..self.at.min(end)],
            position if position == self.at && position < end => &self.value,
            position => &self.bytes[position..],
        })
    }

    fn consume(&mut self, bytes: usize) {
        self.position += bytes;
    }
}

impl Read for OneChange<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let bytes = self.fill_buf()?.read(into)?;
        self.consume(bytes);
        Ok(bytes)
    }
}

impl Seek for OneChange<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let length = self.bytes.len() as u64;
        let target = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => length.checked_add_signed(by),
            SeekFrom::Current(by) => (self.position as u64).checked_add_signed(by),
        };
        let target = target.ok_or(io::ErrorKind::InvalidInput)?;
        // A place beyond the end of memory is beyond the end of the file.
        self.position = usize::try_from(target).unwrap_or(usize::MAX);
        Ok(target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_byte_differs_from_wherever_it_is_read() {
        let bytes = [1, 2, 4, 8];
        for start in 0..6 {
            let mut reader = OneChange::new(&bytes, Some(2), 3);
            reader.seek(SeekFrom::Start(start)).unwrap();
            let mut read = Vec::new();
            reader.read_to_end(&mut read).unwrap();
            assert_eq!(read, &[1, 2, 7, 8][(start as usize).min(4)..]);
        }
        for at in [None, Some(4), Some(9)] {
            let mut read = Vec::new();
            OneChange::new(&bytes, at, 3).read_to_end(&mut read).unwrap();
            assert_eq!(read, bytes);
        }
        let mut reader = OneChange::new(&bytes, None, 0);
        assert_eq!(reader.seek(SeekFrom::End(-1)).unwrap(), 3);
        assert_eq!(reader.seek(SeekFrom::Current(-2)).unwrap(), 1);
        assert!(reader.seek(SeekFrom::Current(-2)).is_err());
    }
}
