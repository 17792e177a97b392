//! `FramedSource`: a compressed shard as the tar that it holds.
//!
//! A read decompresses the frames that hold its bytes, directly into the caller's buffer where it wants a whole frame.
//! Each thread keeps the frame that it decompressed last, so that samples which follow each other in one frame cost
//! one decompression. Offsets are those of the tar; the sidecar has the frames.

use std::cell::RefCell;
use std::fmt::Debug;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use tarflume_formats::Index;
use tarflume_formats::frames::{Frame, decompress};
use tarflume_types::{Error, ErrorKind, Result};

use crate::source::Source;

/// Buffers of a thread.
#[derive(Default)]
struct Scratch {
    /// Compressed frames.
    packed: Vec<u8>,
    /// The frame that was decompressed last, of the shard and with the number in `of`.
    data: Vec<u8>,
    of: (u64, u64),
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// The sidecar of a compressed shard.
pub(crate) trait Sidecar: Debug + Send + Sync {
    /// Returns the sidecar; the first call opens it.
    fn index(&self) -> Result<&Index>;

    /// Returns the path of the shard.
    fn path(&self) -> &Path;

    /// Returns a number that no other shard of this process has.
    fn number(&self) -> u64;
}

/// A compressed shard.
#[derive(Debug)]
pub(crate) struct FramedSource {
    file: Arc<dyn Source>,
    facts: Arc<dyn Sidecar>,
    number: u64,
    length: u64,
}

impl FramedSource {
    /// Creates a source over the bytes of the file.
    ///
    /// # Errors
    /// Returns an error if the sidecar cannot be opened.
    pub(crate) fn new(file: Arc<dyn Source>, facts: Arc<dyn Sidecar>) -> Result<FramedSource> {
        let length = facts.index()?.tar_length();
        Ok(FramedSource { file, number: facts.number(), facts, length })
    }

    /// Returns the numbers of the frames that hold the bytes `at..end` of the tar.
    fn frames_of(&self, at: u64, end: u64) -> Result<Range<u64>> {
        let index = self.facts.index()?;
        match (index.frame_with(at)?, index.frame_with(end - 1)?) {
            (Some(first), Some(last)) => Ok(first..last + 1),
            _ => {
                let text = format!(
                    "bytes {at}..{end} are beyond the end of the tar, which has {} bytes",
                    self.length
                );
                Err(Error::new(ErrorKind::Truncated, text)
                    .with_path(self.facts.path())
                    .with_byte(at))
            }
        }
    }

    fn frame(&self, number: u64) -> Result<Frame> {
        let frame = self.facts.index()?.frame(number)?;
        frame.ok_or_else(|| {
            let text = format!("the sidecar has no frame {number}");
            Error::new(ErrorKind::Stale, text).with_path(self.facts.path())
        })
    }

    /// Fills `into` with the bytes from `at`. `read` reads bytes of the file; without `kept`, nothing that an earlier
    /// read has left is used.
    fn fill(
        &self,
        at: u64,
        into: &mut [u8],
        kept: bool,
        read: impl Fn(u64, &mut [u8]) -> Result<()>,
    ) -> Result<()> {
        if into.is_empty() {
            return Ok(());
        }
        let end = at + into.len() as u64;
        let mut numbers = self.frames_of(at, end)?;
        SCRATCH.with_borrow_mut(|scratch| {
            if !kept {
                scratch.of = (0, 0);
            }
            // The kept frame often has the first bytes.
            if scratch.of == (self.number, numbers.start) {
                let frame = self.frame(numbers.start)?;
                copy(&scratch.data, &frame.data, at, into);
                numbers.start += 1;
            }
            if numbers.is_empty() {
                return Ok(());
            }
            let first = self.frame(numbers.start)?;
            let last = self.frame(numbers.end - 1)?;
            let length = last.file.end.saturating_sub(first.file.start) as usize;
            scratch.packed.resize(length, 0);
            read(first.file.start, &mut scratch.packed)?;
            for number in numbers {
                self.one(scratch, number, first.file.start, at, into)?;
            }
            Ok(())
        })
    }

    /// Decompresses frame `number` out of `scratch.packed`, whose bytes begin at byte `start` of the file. `into` begins at
    /// byte `at` of the tar.
    fn one(
        &self,
        scratch: &mut Scratch,
        number: u64,
        start: u64,
        at: u64,
        into: &mut [u8],
    ) -> Result<()> {
        let frame = self.frame(number)?;
        let packed = place(frame.file.start, start).zip(place(frame.file.end, start));
        let packed = packed.and_then(|(from, to)| scratch.packed.get(from..to));
        let Some(packed) = packed else {
            let text = "the sidecar is inconsistent: its frames do not follow each other";
            return Err(Error::new(ErrorKind::Damaged, text).with_path(self.facts.path()));
        };
        let end = at + into.len() as u64;
        if frame.data.start >= at && frame.data.end <= end {
            let target = (frame.data.start - at) as usize..(frame.data.end - at) as usize;
            return decompress(packed, &mut into[target])
                .map_err(|e| self.damaged(e, frame.file.start));
        }
        scratch.of = (0, 0);
        scratch.data.resize((frame.data.end - frame.data.start) as usize, 0);
        decompress(packed, &mut scratch.data).map_err(|e| self.damaged(e, frame.file.start))?;
        scratch.of = (self.number, number);
        copy(&scratch.data, &frame.data, at, into);
        Ok(())
    }

    fn damaged(&self, e: tarflume_formats::Error, byte: u64) -> Error {
        Error::from(e.with_path(self.facts.path()).with_byte(byte))
    }

    /// Returns the bytes of the file that hold the bytes of the tar; `None` if the sidecar cannot tell.
    fn packed(&self, at: u64, length: u64) -> Option<Range<u64>> {
        let end = at.saturating_add(length).min(self.length);
        let numbers = (at < end).then(|| self.frames_of(at, end).ok()).flatten()?;
        let first = self.frame(numbers.start).ok()?;
        let last = self.frame(numbers.end - 1).ok()?;
        Some(first.file.start..last.file.end)
    }
}

fn place(byte: u64, start: u64) -> Option<usize> {
    byte.checked_sub(start).and_then(|byte| usize::try_from(byte).ok())
}

/// Copies the bytes that `data`, which is at `place` of the tar, and `into`, which is at `at`, have in common.
fn copy(data: &[u8], place: &Range<u64>, at: u64, into: &mut [u8]) {
    let from = place.start.max(at);
    let to = place.end.min(at + into.len() as u64);
    let bytes = &data[(from - place.start) as usize..(to - place.start) as usize];
    into[(from - at) as usize..(to - at) as usize].copy_from_slice(bytes);
}

impl Source for FramedSource {
    fn len(&self) -> u64 {
        self.length
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<()> {
        self.fill(at, into, true, |at, into| self.file.read_at(at, into))
    }

    fn read_again(&self, at: u64, into: &mut [u8]) -> Result<()> {
        self.fill(at, into, false, |at, into| self.file.read_again(at, into))
    }

    fn advise(&self, at: u64, length: u64) {
        if let Some(packed) = self.packed(at, length) {
            self.file.advise(packed.start, packed.end - packed.start);
        }
    }

    fn check(&self) -> Result<()> {
        self.file.check()
    }
}

#[cfg(test)]
mod tests {
    use tarflume_formats::{Durability, ShardWriter};

    use crate::dataset::Dataset;

    #[test]
    fn any_range_of_a_compressed_shard_is_that_of_its_tar() {
        let folder = tempfile::tempdir().unwrap();
        let write = |mut shard: ShardWriter, name: &str| {
            for n in 0..50u32 {
                shard.begin(format!("{n:04}").as_bytes());
                let length = 1 + (n as u64 * 7919) % 60_000;
                for (ext, step) in [("jpg", 2_654_435_761u32), ("txt", 1)] {
                    let data = shard.part(ext.as_bytes(), length).unwrap();
                    for (at, byte) in data.iter_mut().enumerate() {
                        *byte = ((at as u32 / 9 + n).wrapping_mul(step) >> 13) as u8;
                    }
                }
                shard.commit(None).unwrap();
            }
            shard.finish().unwrap().publish(folder.path(), name, Durability::Cached).unwrap();
        };
        write(ShardWriter::create(folder.path(), "plain.tar").unwrap(), "plain.tar");
        let packed = ShardWriter::create_compressed(folder.path(), "a.tar.zst", 1).unwrap();
        write(packed, "a.tar.zst");
        let tar = std::fs::read(folder.path().join("plain.tar")).unwrap();
        let dataset = Dataset::open(folder.path().join("a.tar.zst")).unwrap();
        let source = dataset.shard(0).source().unwrap();
        assert_eq!(source.len(), tar.len() as u64);
        let mut state = 1u64;
        for _ in 0..2000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let at = (state >> 33) as usize % tar.len();
            let length = ((state >> 20) as usize % 200_000).min(tar.len() - at);
            let mut found = vec![0; length];
            source.read_at(at as u64, &mut found).unwrap();
            assert!(found == tar[at..at + length], "{length} bytes from {at}");
            source.advise(at as u64, length as u64);
        }
        let mut found = [0; 8];
        assert!(source.read_at(tar.len() as u64 - 4, &mut found).is_err());
        source.read_again(512, &mut found).unwrap();
        assert_eq!(found, tar[512..520]);
    }
}
