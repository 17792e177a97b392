//! `StoredSize`: size and orientation of the first picture of each sample, as sidecars state them.

use tarflume_types::{Error, ErrorKind, Result};

use crate::dataset::Dataset;
use crate::dataset::shard::Shard;
use crate::dataset::shard::pictures::is_image;
use crate::dataset::shard::proof_pass::{ProofNeeds, ProofPass};

/// The size of a picture as stored, before any turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredSize {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Its EXIF orientation, 1 to 8, where the sidecar has it: of JPEGs with checksums of strips.
    pub orientation: Option<u8>,
}

impl Dataset {
    /// Calls `each` with the size of the first picture of each sample, in the order of ordinals; `None` if a sidecar does not
    /// have it. Orientations are looked up if `turned`, which reads the sidecars' checksums of strips.
    ///
    /// If a tar may have been changed after its sidecar was made, the pictures are read and compared, as by
    /// [`Dataset::table`].
    ///
    /// # Errors
    /// Returns the errors of `each`, and an error if a sidecar cannot be read or does not describe its tar.
    #[doc(hidden)]
    pub fn picture_sizes(
        &self,
        turned: bool,
        mut each: impl FnMut(u64, Option<StoredSize>) -> Result<()>,
    ) -> Result<()> {
        let mut ordinal = 0;
        let mut strips = Vec::new();
        for number in 0..self.shards().len() {
            self.learn_ahead(number);
            let shard = self.shard(number);
            let needs = ProofNeeds { pictures: true, ..ProofNeeds::default() };
            let mut proofs = ProofPass::new(shard, needs);
            let turned = turned && shard.index()?.has_strips();
            for row in 0..shard.samples() {
                let size = shard.dimensions(row).map_err(|e| e.with_path(shard.path()))?;
                proofs.prove(row, size.is_some())?;
                let size = match size {
                    Some((width, height)) => {
                        let orientation =
                            if turned { orientation(shard, row, &mut strips)? } else { None };
                        Some(StoredSize { width, height, orientation })
                    }
                    None => None,
                };
                each(ordinal, size)?;
                ordinal += 1;
            }
            shard.forget();
        }
        Ok(())
    }
}

/// Bytes of checksums of strips that are looked at: those of a JPEG of 65,500 rows.
const STRIPS: u64 = 1 << 20;

/// The orientation of the first picture of a sample. `strips` is memory that is used again.
fn orientation(shard: &Shard, row: u64, strips: &mut Vec<u8>) -> Result<Option<u8>> {
    let index = shard.index()?;
    let sample = index.sample(row)?.ok_or_else(|| {
        let text = "the manifest counts more samples than the sidecar has";
        Error::new(ErrorKind::Stale, text).with_path(shard.path())
    })?;
    for part in sample.parts() {
        let part = part?;
        if !is_image(part.ext) {
            continue;
        }
        strips.clear();
        shard.strips(part.number, STRIPS, strips)?;
        // FORMAT.md: version 1, then the orientation.
        return Ok(match strips[..] {
            [1, orientation @ 1..=8, ..] => Some(orientation),
            _ => None,
        });
    }
    Ok(None)
}
