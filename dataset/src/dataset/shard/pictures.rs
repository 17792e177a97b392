//! What a sidecar has of pictures: dimensions, entry points, checksums of strips.

use tarflume_formats::{IMAGE_EXTS, Index};
use tarflume_types::Result;

use super::Shard;
use crate::source::Source;
use crate::source::cache::SourceCache;
use crate::source::identity::Identity;

/// True if a part with this extension may be an image whose dimensions a sidecar has.
pub fn is_image(ext: &[u8]) -> bool {
    let last = ext.rsplit(|&byte| byte == b'.').next().unwrap_or(ext);
    IMAGE_EXTS.iter().any(|image| last.eq_ignore_ascii_case(image.as_bytes()))
}

impl Shard {
    /// Width and height of the first image of the sample in row `row`, if the sidecar has them.
    ///
    /// # Errors
    /// As [`Shard::look_up`].
    #[doc(hidden)]
    pub fn dimensions(&self, row: u64) -> Result<Option<(u32, u32)>> {
        let index = self.index()?;
        let Some(sidecars) = &self.sidecars else { return Ok(index.dimensions(row)?) };
        self.by_reads(index, sidecars, |file| {
            index.dimensions_by(row, |at, to| file.read_at(at, to))
        })
    }

    /// Appends the entry points of part number `part` to `into`. Appends nothing and returns false if
    /// the part has none, or more than `most` bytes.
    ///
    /// # Errors
    /// As [`Shard::look_up`].
    #[doc(hidden)]
    pub fn entry_points(&self, part: u64, most: u64, into: &mut Vec<u8>) -> Result<bool> {
        let index = self.index()?;
        let Some(sidecars) = self.sidecars.as_ref().filter(|_| index.has_entry_points()) else {
            return Ok(index.copy_entry_points(part, most, into)?);
        };
        self.by_reads(index, sidecars, |file| {
            index.copy_entry_points_by(part, most, |at, to| file.read_at(at, to), into)
        })
    }

    /// Appends the checksums of the strips of part number `part` to `into`, as [`Shard::entry_points`].
    ///
    /// # Errors
    /// As [`Shard::look_up`].
    #[doc(hidden)]
    pub fn strips(&self, part: u64, most: u64, into: &mut Vec<u8>) -> Result<bool> {
        let index = self.index()?;
        let Some(sidecars) = self.sidecars.as_ref().filter(|_| index.has_strips()) else {
            return Ok(index.copy_strips(part, most, into)?);
        };
        self.by_reads(index, sidecars, |file| {
            index.copy_strips_by(part, most, |at, to| file.read_at(at, to), into)
        })
    }

    /// Looks something up in a sidecar that is read instead of mapped.
    fn by_reads<T>(
        &self,
        index: &Index,
        sidecars: &SourceCache,
        look_up: impl FnOnce(&dyn Source) -> Result<T>,
    ) -> Result<T> {
        let opened = index.metadata().map(Identity::from);
        let file = sidecars.get_known(self.number, opened)?;
        let found = look_up(&*file)?;
        self.check_sidecar(&*file)?;
        Ok(found)
    }
}
