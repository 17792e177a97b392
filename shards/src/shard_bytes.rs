//! `ShardBytes`: the bytes of the tar of one shard, in a file or in a store, plain or compressed. Opens it once.

use std::cell::RefCell;
use std::fs::File;
use std::path::Path;

use tarflume_base::Failure;
use tarflume_base::packed_shard::{FrameReader, IndexedShard};
use tarflume_dataset::Source;
use tarflume_formats::{Error, Index, files};

/// Bytes that are requested of a store before they are read, and that are added at a time. They are held in memory.
const AHEAD: u64 = 16 << 20;
const STEP: u64 = 4 << 20;

/// The opened tar of a shard, for one thread.
#[derive(Debug)]
pub struct ShardBytes<'a> {
    tar: &'a Path,
    index: &'a Index,
    place: Place<'a>,
    frames: RefCell<FrameReader>,
}

#[derive(Debug)]
enum Place<'a> {
    File(File),
    Store(&'a dyn Source),
}

impl<'a> ShardBytes<'a> {
    /// Opens the tar; `source` has its bytes if it is in a store.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses, or if the sidecar describes another tar.
    pub(crate) fn open(
        tar: &'a Path,
        source: Option<&'a dyn Source>,
        index: &'a Index,
    ) -> Result<ShardBytes<'a>, Failure> {
        let place = match source {
            Some(source) => Place::Store(source),
            None => {
                let (file, metadata) = files::open(tar)?;
                index.check_tar(tar, metadata.len())?;
                Place::File(file)
            }
        };
        Ok(ShardBytes { tar, index, place, frames: RefCell::default() })
    }

    /// Fills `into` with the bytes of the tar from `at`.
    ///
    /// # Errors
    /// Returns an error if the operating system or the store refuses, or if a frame of a compressed tar is damaged.
    pub fn read(&self, at: u64, into: &mut [u8]) -> Result<(), Failure> {
        if self.index.is_compressed() {
            let shard = IndexedShard { tar: self.tar, index: self.index };
            self.frames.borrow_mut().read(shard, at, into, |at, into| self.read_of_place(at, into))
        } else {
            self.read_of_place(at, into)
        }
    }

    /// Fills `into` with the bytes of the file or object from `at`: of a compressed tar, those of its frames.
    ///
    /// # Errors
    /// Returns an error if the operating system or the store refuses.
    pub fn read_stored(&self, at: u64, into: &mut [u8]) -> Result<(), Failure> {
        self.read_of_place(at, into)
    }

    /// Fills `into` with the bytes of the file or object from `at`.
    fn read_of_place(&self, at: u64, into: &mut [u8]) -> Result<(), Failure> {
        match &self.place {
            Place::File(file) => files::read_exact_at(file, into, at)
                .map_err(|e| Error::io(e, "read", self.tar).with_byte(at).into()),
            Place::Store(source) => Ok(source.read_at(at, into)?),
        }
    }

    /// As [`ShardBytes::read`], for a read of `length` bytes from `start` to their end: requests the bytes of a store ahead.
    ///
    /// # Errors
    /// As [`ShardBytes::read`].
    pub(crate) fn read_of(
        &self,
        start: u64,
        length: u64,
        at: u64,
        into: &mut [u8],
    ) -> Result<(), Failure> {
        if let Place::Store(source) = &self.place
            && !self.index.is_compressed()
        {
            let end = start + length;
            let step = match at - start {
                0 => start..end.min(start + AHEAD),
                done if done.is_multiple_of(STEP) => {
                    end.min(at + AHEAD - STEP)..end.min(at + AHEAD)
                }
                _ => end..end,
            };
            if !step.is_empty() {
                source.advise(step.start, step.end - step.start);
            }
        }
        self.read(at, into)
    }
}
