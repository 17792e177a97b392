//! How much memory a job takes, from the header alone.

use crate::entropy::MOST_LANES;
use crate::error::Result;
use crate::extent::{Region, Scale};
use crate::header::Header;
use crate::layout::Layout;
use crate::planes::Planes;

impl Header {
    /// The most bytes that decoding takes beside the JPEG of `bytes` bytes and its pixels, for a
    /// region (none: all of it) at a scale; beside 512 KiB that a decoder takes once.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Usage`]: the region is not within the picture.
    pub fn memory(&self, bytes: usize, scale: Scale, region: Option<Region>) -> Result<u64> {
        let (width, height) = (u64::from(self.width), u64::from(self.height));
        let channels = u64::from(self.channels());
        if self.foreign().is_some() {
            // Blocks reach over the edge by up to 31 pixels, and all coefficients are kept.
            let padded = (width + 31) * (height + 31);
            let lines = 512 * (width + 31);
            return Ok(width * height * 3 + 2 * padded * channels + lines + bytes as u64);
        }
        let layout = Layout::of(self, scale, region)?;
        let row = u64::from(layout.mcus.0) * layout.blocks as u64 * 130;
        let lines = 3 * (width + 64);
        // A place of 16 bytes for each restart marker.
        let mcus = u64::from(layout.mcus.0) * u64::from(layout.mcus.1);
        let restarts = mcus.checked_div(u64::from(self.restart)).unwrap_or(0);
        let data = bytes as u64 * 9 / 8 + 16 * restarts.min(bytes as u64 / 2);
        Ok(Planes::bytes(&layout) + MOST_LANES as u64 * row + lines + data)
    }
}
