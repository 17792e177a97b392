//! `ShardParts`: the bytes of parts of one shard, or their beginnings. Opens the tar once.

use std::fs::File;

use tarflume_formats::index::Part;
use tarflume_formats::{Error, ErrorKind, crc32c, files, name};

use crate::failure::Failure;
use crate::listing::Shard;

/// The opened tar of a shard.
#[derive(Debug)]
pub struct ShardParts<'a> {
    shard: &'a Shard,
    /// `None` for a shard in a store.
    file: Option<File>,
}

impl<'a> ShardParts<'a> {
    /// Opens the tar.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses, or if the sidecar describes another tar.
    pub fn open(shard: &'a Shard) -> Result<ShardParts<'a>, Failure> {
        let file = match &shard.source {
            Some(_) => None,
            None => {
                let (file, metadata) = files::open(&shard.tar)?;
                shard.index.check_tar(&shard.tar, metadata.len())?;
                Some(file)
            }
        };
        Ok(ShardParts { shard, file })
    }

    /// Returns the bytes of a part, or the first `most` of a longer one. Whole parts are compared with their checksum.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Damaged`] inside the inner result if the checksum differs or if the sidecar places the part
    /// outside the tar; an outer error if the machine fails.
    pub fn read(&self, part: &Part<'_>, most: u64) -> Result<Result<Vec<u8>, Error>, Failure> {
        let tar = self.shard.index.tar().length;
        if part.offset.saturating_add(part.length) > tar {
            let text = format!("the sidecar places a part outside of a tar of {tar} bytes");
            return Ok(Err(self.damaged(text, part)));
        }
        let mut bytes = vec![0; part.length.min(most) as usize];
        match (&self.file, &self.shard.source) {
            (Some(file), _) => files::read_exact_at(file, &mut bytes, part.offset)
                .map_err(|e| Error::io(e, "read", &self.shard.tar).with_byte(part.offset))?,
            (None, Some(source)) => source.read_at(part.offset, &mut bytes)?,
            (None, None) => {}
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
