//! `Patched`: a file in memory, read with other bytes in one or two places. Allocates nothing.

use std::io::{self, BufRead, Read, Seek, SeekFrom};

/// Other bytes for a place of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::formats) struct Patch {
    /// Offset of the first byte.
    pub(in crate::formats) at: usize,
    pub(in crate::formats) bytes: [u8; 8],
    /// Number of bytes.
    pub(in crate::formats) length: usize,
}

/// A reader of a file with patches.
#[derive(Debug)]
pub(in crate::formats) struct Patched<'a> {
    file: &'a [u8],
    /// In the order of their places, without overlap.
    patches: [Patch; 2],
    position: usize,
}

impl<'a> Patched<'a> {
    /// Reads `file` with patches, which are inside it and do not overlap.
    pub(in crate::formats) fn new(file: &'a [u8], patches: [Option<Patch>; 2]) -> Patched<'a> {
        let none = Patch { at: file.len(), bytes: [0; 8], length: 0 };
        let mut patches = patches.map(|patch| patch.unwrap_or(none));
        patches.sort_unstable_by_key(|patch| patch.at);
        Patched { file, patches, position: 0 }
    }
}

impl BufRead for Patched<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let Patched { file, patches, position } = self;
        let place = (*position).min(file.len());
        let next = patches.iter().find(|patch| place < patch.at + patch.length);
        Ok(match next {
            None => &file[place..],
            Some(patch) if place < patch.at => &file[place..patch.at],
            Some(patch) => &patch.bytes[place - patch.at..patch.length],
        })
    }

    fn consume(&mut self, bytes: usize) {
        self.position = self.position.saturating_add(bytes);
    }
}

impl Read for Patched<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let bytes = self.fill_buf()?.read(into)?;
        self.consume(bytes);
        Ok(bytes)
    }
}

impl Seek for Patched<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let (from, by) = match to {
            SeekFrom::Start(at) => (at, 0),
            SeekFrom::Current(by) => (self.position as u64, by),
            SeekFrom::End(by) => (self.file.len() as u64, by),
        };
        let place = from.checked_add_signed(by).ok_or(io::ErrorKind::InvalidInput)?;
        self.position = usize::try_from(place).unwrap_or(usize::MAX);
        Ok(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patched_file_reads_like_one_with_those_bytes() {
        let file: Vec<u8> = (0..50).collect();
        let patch = Patch { at: 10, bytes: [200, 201, 202, 203, 0, 0, 0, 0], length: 4 };
        let second = Patch { at: 14, bytes: [210, 211, 0, 0, 0, 0, 0, 0], length: 2 };
        let mut expected = file.clone();
        expected[10..14].copy_from_slice(&patch.bytes[..4]);
        expected[14..16].copy_from_slice(&second.bytes[..2]);
        let mut expected = io::Cursor::new(expected);
        let mut patched = Patched::new(&file, [Some(second), Some(patch)]);
        for (at, length) in [(0, 50), (9, 3), (10, 4), (12, 9), (13, 1), (14, 3), (49, 5), (70, 2)]
        {
            let mut found = Vec::new();
            let mut wanted = Vec::new();
            for to in [SeekFrom::Start(at), SeekFrom::End(at as i64 - 50)] {
                patched.seek(to).unwrap();
                expected.seek(to).unwrap();
                patched.by_ref().take(length).read_to_end(&mut found).unwrap();
                expected.by_ref().take(length).read_to_end(&mut wanted).unwrap();
            }
            assert_eq!(found, wanted, "{length} bytes at {at}");
            assert_eq!(patched.stream_position().unwrap(), expected.stream_position().unwrap());
        }
        assert!(patched.seek(SeekFrom::Current(-100)).is_err());
        let mut whole = Vec::new();
        Patched::new(&file, [None; 2]).read_to_end(&mut whole).unwrap();
        assert_eq!(whole, file);
    }
}
