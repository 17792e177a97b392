//! Computes the memory of a job from the header alone.

use crate::entropy::MOST_LANES;
use crate::error::Result;
use crate::header::Header;
use crate::picture::extent::{Region, Scale};
use crate::picture::layout::Layout;
use crate::picture::planes::Planes;
use crate::several_scans::coefficients::Grid;

impl Header {
    /// Returns an upper bound on the bytes that decoding takes beside the JPEG of `bytes` bytes and
    /// its pixels, for a region (`None`: all of it) at a scale; and beside 512 KiB that a decoder
    /// takes once.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Usage`] if the region is not within the picture.
    pub fn memory(&self, bytes: usize, scale: Scale, region: Option<Region>) -> Result<u64> {
        let layout = Layout::of(self, scale, region)?;
        let width = u64::from(self.width);
        // The rows that components are upsampled to, and one of pixels.
        let lines = 7 * (width + 64);
        // A position of 16 bytes for each restart marker.
        let mcus = u64::from(layout.mcus.0) * u64::from(layout.mcus.1);
        let data = |units: u64| {
            let restarts = units.checked_div(u64::from(self.restart)).unwrap_or(0);
            bytes as u64 * 9 / 8 + 16 * restarts.min(bytes as u64 / 2)
        };
        if self.has_several_scans() {
            // Intervals may change from scan to scan, and each scan has its own buffer.
            let restarts = 16 * (bytes as u64 / 2).min(mcus * layout.blocks as u64);
            let coefficients = Grid::kept(self, &layout.rows, &layout.columns).bytes();
            return Ok(Planes::bytes(&layout) + coefficients + lines + data(0) + restarts);
        }
        let blocks = |mcus: u32| u64::from(mcus) * layout.blocks as u64;
        let row = blocks(layout.mcus.0) * 130;
        // A picture that seems to be damaged is read again, one whole row of MCUs at a time.
        let again = blocks(self.mcus().0) * 128 + row;
        Ok(Planes::bytes(&layout) + MOST_LANES as u64 * row + again + lines + data(mcus))
    }
}
