//! `ShardParts`: the bytes of parts of one shard, or their beginnings. Opens the tar once.

use tarflume_base::{Exit, Failure};
use tarflume_formats::index::Part;
use tarflume_formats::{Error, ErrorKind, crc32c, name};
use tarflume_shards::listing::Shard;
use tarflume_shards::shard_bytes::ShardBytes;

/// The opened tar of a shard.
#[derive(Debug)]
pub struct ShardParts<'a> {
    shard: &'a Shard,
    bytes: ShardBytes<'a>,
}

impl<'a> ShardParts<'a> {
    /// Opens the tar.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses, or if the sidecar describes another tar.
    pub fn open(shard: &'a Shard) -> Result<ShardParts<'a>, Failure> {
        Ok(ShardParts { shard, bytes: shard.bytes()? })
    }

    /// Returns the bytes of a part, or the first `most` of a longer one. Whole parts are compared with their checksum.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Damaged`] inside the inner result if the checksum differs, if a frame of a compressed shard
    /// is damaged or if the sidecar places the part outside the tar; an outer error if the machine fails.
    pub fn read(&self, part: &Part<'_>, most: u64) -> Result<Result<Vec<u8>, Error>, Failure> {
        let tar = self.shard.index.tar_length();
        if part.offset.saturating_add(part.length) > tar {
            let text = format!("the sidecar places a part outside of a tar of {tar} bytes");
            return Ok(Err(self.damaged(text, part)));
        }
        let mut bytes = vec![0; part.length.min(most) as usize];
        match self.bytes.read(part.offset, &mut bytes) {
            Ok(()) => {}
            Err(failure) if self.shard.index.is_compressed() && failure.exit() == Exit::BadData => {
                return Ok(Err(Error::new(ErrorKind::Damaged, failure.message())));
            }
            Err(failure) => return Err(failure),
        }
        match part.checksum {
            Some(sum) if part.length <= most && crc32c(&bytes) != sum => {
                let text = format!("part '{}' has another checksum", name::shown(part.ext));
                Ok(Err(self.damaged(text, part)))
            }
            _ => Ok(Ok(bytes)),
        }
    }

    fn damaged(&self, text: String, part: &Part<'_>) -> Error {
        Error::new(ErrorKind::Damaged, text).with_path(&self.shard.tar).with_byte(part.offset)
    }
}
