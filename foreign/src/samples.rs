//! The samples of an MDS shard and of a LitData chunk: `u32 n`, `u32 × (n + 1)` offsets, samples. A
//! sample begins with a `u32` size for each column of variable size; the columns follow in order.
//! Little-endian.

use std::ops::Range;

use crate::le::u32_at;
use tarflume_formats::{Error, ErrorKind, Result};

/// The columns of a file of samples: bytes of each, or `None` if each sample has its own size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout(pub Vec<Option<u64>>);

/// The number of samples in a file, checked against its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    /// Samples.
    pub samples: u64,
    /// Bytes of the file.
    pub length: u64,
}

impl Count {
    /// Parses the first four bytes of a file of `length` bytes.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Truncated`] if the file has no room for its offsets.
    pub fn parse(first: [u8; 4], length: u64) -> Result<Count> {
        let count = Count { samples: u32::from_le_bytes(first).into(), length };
        if count.data() > length {
            let text = format!(
                "the file says that it has {} samples, and has {length} bytes",
                count.samples
            );
            return Err(Error::new(ErrorKind::Truncated, text).with_byte(0));
        }
        Ok(count)
    }

    /// Returns the first byte after the offsets.
    fn data(self) -> u64 {
        4 + 4 * (self.samples + 1)
    }

    /// Returns the byte of the two offsets of a sample; they are eight bytes.
    pub fn offsets_at(self, sample: u64) -> u64 {
        4 + 4 * sample
    }

    /// Returns the bytes of a sample from its two offsets.
    ///
    /// # Errors
    /// Returns [`ErrorKind::BadHeader`] if they are not in the file.
    pub fn sample(self, number: u64, offsets: [u8; 8]) -> Result<Range<u64>> {
        let start = u32_at(&offsets, 0).into();
        let end = u32_at(&offsets, 4).into();
        if self.data() <= start && start <= end && end <= self.length {
            return Ok(start..end);
        }
        let text = format!("sample {number} should be at bytes {start} to {end}, which can't be");
        Err(Error::new(ErrorKind::BadHeader, text).with_byte(self.offsets_at(number)))
    }
}

impl Layout {
    /// Returns the bytes of sizes at the start of each sample.
    pub fn head(&self) -> u64 {
        4 * self.0.iter().filter(|size| size.is_none()).count() as u64
    }

    /// Returns the bytes of each column of a sample, from the sizes at its start.
    ///
    /// # Errors
    /// Returns [`ErrorKind::BadHeader`] if the columns do not fill the sample exactly.
    pub fn columns(
        &self,
        sample: Range<u64>,
        head: &[u8],
        out: &mut Vec<Range<u64>>,
    ) -> Result<()> {
        out.clear();
        if (head.len() as u64) < self.head() || self.head() > sample.end - sample.start {
            return wrong("the sample ends inside its sizes".into(), &sample);
        }
        let mut sizes = head.chunks_exact(4);
        let mut at = sample.start + self.head();
        for fixed in &self.0 {
            let size = match fixed {
                Some(size) => *size,
                None => {
                    let size = sizes.next().expect("the head has the size of each such column");
                    u32_at(size, 0).into()
                }
            };
            let Some(end) = at.checked_add(size).filter(|end| *end <= sample.end) else {
                return wrong(
                    format!(
                        "a column of {size} bytes ends past its sample of {} bytes",
                        sample.end - sample.start
                    ),
                    &sample,
                );
            };
            out.push(at..end);
            at = end;
        }
        match sample.end - at {
            0 => Ok(()),
            left => wrong(format!("{left} bytes of the sample belong to no column"), &sample),
        }
    }
}

fn wrong(text: String, sample: &Range<u64>) -> Result<()> {
    Err(Error::new(ErrorKind::BadHeader, text).with_byte(sample.start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_fixed_and_of_own_size_are_found() {
        let layout = Layout(vec![None, Some(8), None]);
        let head = [3u32.to_le_bytes(), 5u32.to_le_bytes()].concat();
        let mut out = Vec::new();
        layout.columns(100..124, &head, &mut out).unwrap();
        assert_eq!(out, [108..111, 111..119, 119..124]);
        assert!(layout.columns(100..123, &head, &mut out).is_err());
        assert!(layout.columns(100..125, &head, &mut out).unwrap_err().text().contains("1 bytes"));
        assert!(layout.columns(100..104, &head, &mut out).is_err());
        assert!(layout.columns(100..124, &head[..4], &mut out).is_err());
        let huge = [u32::MAX.to_le_bytes(); 2].concat();
        assert!(layout.columns(0..u64::MAX, &huge, &mut out).is_err());
    }

    #[test]
    fn offsets_outside_the_file_are_refused() {
        fn pair(a: u32, b: u32) -> [u8; 8] {
            let mut out = [0; 8];
            out[..4].copy_from_slice(&a.to_le_bytes());
            out[4..].copy_from_slice(&b.to_le_bytes());
            out
        }

        let count = Count::parse(2u32.to_le_bytes(), 100).unwrap();
        assert_eq!(count.sample(1, pair(16, 100)).unwrap(), 16..100);
        for (a, b) in [(15, 100), (16, 101), (50, 49), (u32::MAX, u32::MAX)] {
            assert!(count.sample(1, pair(a, b)).is_err(), "{a} {b}");
        }
        assert!(Count::parse(u32::MAX.to_le_bytes(), 100).is_err());
    }
}
