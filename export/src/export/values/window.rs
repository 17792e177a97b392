//! `TarWindow`: the parts of one shard as slices of a moving window over its tar, compared with
//! their checksums. Neighboring parts share a read.

use std::fs::File;

use tarflume_base::Failure;
use tarflume_formats::index::Part;
use tarflume_formats::message;
use tarflume_formats::message::{Call, Message, Task};
use tarflume_formats::{Crc, crc32c};
use tarflume_formats::{Error, ErrorKind};
use tarflume_formats::{files, name};
use tarflume_shards::listing::Shard;

/// Bytes of one read.
const WINDOW: usize = 512 * 1024;
/// A read that begins at most this many bytes after the last one continues it.
const NEAR: u64 = 64 * 1024;
/// Longer parts are not held whole: they pass through the window in pieces.
const HELD: u64 = 4 * 1024 * 1024;

/// A window over the tar of a shard.
#[derive(Debug)]
pub(crate) struct TarWindow<'a> {
    shard: &'a Shard,
    file: File,
    buffer: Vec<u8>,
    /// Byte of the tar at the start of the buffer.
    at: u64,
    filled: usize,
}

impl<'a> TarWindow<'a> {
    /// Opens the tar of a shard.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses, or if the sidecar describes another tar.
    pub(crate) fn open(shard: &'a Shard) -> Result<TarWindow<'a>, Failure> {
        let file = shard.data()?;
        Ok(TarWindow { shard, file, buffer: Vec::new(), at: 0, filled: 0 })
    }

    /// Returns the shard.
    pub(crate) fn shard(&self) -> &'a Shard {
        self.shard
    }

    /// Passes the bytes of a part to `take`, in pieces, and compares their checksum.
    ///
    /// # Errors
    /// Returns the errors of `take`, and an error if the part is damaged or the operating system
    /// refuses to read.
    pub(crate) fn copy(
        &mut self,
        key: &[u8],
        part: &Part<'_>,
        mut take: impl FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if part.length <= HELD {
            return take(self.whole(key, part, HELD, &Message::default())?);
        }
        let mut crc = Crc::new();
        let mut done = 0;
        while done < part.length {
            let piece = (part.length - done).min(WINDOW as u64) as usize;
            let bytes = self.load(key, part.offset + done, piece)?;
            crc.update(bytes);
            take(bytes)?;
            done += piece as u64;
        }
        self.prove(key, part, crc.value())
    }

    /// Returns the bytes of a part of at most `limit` bytes, compared with their checksum.
    ///
    /// # Errors
    /// Returns an error with `remedy` if the part is longer, and an error if it is damaged or the
    /// operating system refuses to read.
    pub(crate) fn whole(
        &mut self,
        key: &[u8],
        part: &Part<'_>,
        limit: u64,
        remedy: &Message,
    ) -> Result<&[u8], Failure> {
        if part.length > limit {
            let text = message!(
                "part '{}' has {} bytes, and at most {limit} are held in memory; {remedy}",
                name::shown(part.ext),
                part.length; remedy = remedy);
            return Err(self.error(ErrorKind::Limit, text, key, part.offset).into());
        }
        let crc = crc32c(self.load(key, part.offset, part.length as usize)?);
        self.prove(key, part, crc)?;
        self.load(key, part.offset, part.length as usize)
    }

    /// Returns `length` bytes from `offset` on, which it reads unless they are in the window.
    fn load(&mut self, key: &[u8], offset: u64, length: usize) -> Result<&[u8], Failure> {
        let end = offset.saturating_add(length as u64);
        let tar = self.shard.index.tar_length();
        if end > tar {
            let text =
                format!("the sidecar places a part up to byte {end} of a tar of {tar} bytes");
            return Err(self.error(ErrorKind::Damaged, text.into(), key, offset).into());
        }
        let filled_to = self.at + self.filled as u64;
        if offset < self.at || end > filled_to {
            let inside = (self.at..filled_to).contains(&offset);
            let kept = if inside { (filled_to - offset) as usize } else { 0 };
            let continued = offset >= self.at && offset <= filled_to + NEAR;
            let wanted = if continued { length.max(WINDOW) } else { length };
            let wanted = wanted.min(usize::try_from(tar - offset).unwrap_or(usize::MAX));
            self.buffer.copy_within(self.filled - kept..self.filled, 0);
            if self.buffer.len() < wanted {
                self.buffer.resize(wanted, 0);
            }
            (self.at, self.filled) = (offset, kept);
            let after = offset + kept as u64;
            files::read_exact_at(&self.file, &mut self.buffer[kept..wanted], after)
                .map_err(|e| Error::io(e, "read", &self.shard.tar).with_byte(after))?;
            self.filled = wanted;
        }
        let start = (offset - self.at) as usize;
        Ok(&self.buffer[start..start + length])
    }

    fn prove(&self, key: &[u8], part: &Part<'_>, crc: u32) -> Result<(), Failure> {
        match part.checksum {
            Some(expected) if expected != crc => {
                let text = message!("part '{}' has checksum {crc:08x}, the sidecar states {expected:08x}; find all damage with \
                         `{verify}`", name::shown(part.ext); verify = Call::of(Task::Verify));
                Err(self.error(ErrorKind::Damaged, text, key, part.offset).into())
            }
            _ => Ok(()),
        }
    }

    /// Returns an error with shard, byte and key.
    pub(crate) fn error(&self, kind: ErrorKind, text: Message, key: &[u8], byte: u64) -> Error {
        Error::new(kind, text).with_path(&self.shard.tar).with_byte(byte).with_key(name::shown(key))
    }
}
