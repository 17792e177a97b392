//! Checks that the strips and tiles of a TIFF have the samples that the decoder would read.

use super::{
    BITS, COMPRESSION, File, HEIGHT, JPEG, NONE, PHOTOMETRIC, PLANES, SAMPLES, STRIP_BYTES,
    STRIP_OFFSETS, TILE_BYTES, TILE_HEIGHT, TILE_OFFSETS, TagEntry,
};

/// Rejects a picture whose samples would not be those of the file: JPEGs of converted or of several components that the
/// decoder mixes, and strips or tiles without compression that are shorter than their pixels.
///
/// # Errors
/// Returns a message that says what is not decoded.
#[cfg(feature = "tiff")]
pub(super) fn check_samples(bytes: &[u8]) -> Result<(), String> {
    let Some(file) = File::open(bytes) else { return Ok(()) };
    match file.first(COMPRESSION) {
        Some(JPEG) => file.check_components(),
        Some(NONE) => file.check_lengths(),
        _ => Ok(()),
    }
}

impl File<'_> {
    /// Samples that are stored together.
    fn together(&self) -> u64 {
        if self.first(PLANES) == Some(2) { 1 } else { self.first(SAMPLES).unwrap_or(1) }
    }

    /// Rejects JPEGs whose components are no samples.
    fn check_components(&self) -> Result<(), String> {
        const RGB: u64 = 2;
        const YCBCR: u64 = 6;
        let photometric = self.first(PHOTOMETRIC).unwrap_or(0);
        let is_read = match self.together() {
            1 => true,
            3 => photometric == RGB,
            4 => photometric != YCBCR,
            _ => false,
        };
        if is_read {
            return Ok(());
        }
        Err("a TIFF of JPEGs in YCbCr, or of JPEGs that are no RGB, is no array: decode it as a picture, or write it with \
             another compression"
            .into())
    }

    /// Rejects strips or tiles that are shorter than their pixels.
    fn check_lengths(&self) -> Result<(), String> {
        let Some((_, lengths)) = self.places() else { return Ok(()) };
        let chunk = self.chunk();
        let height = self.first(HEIGHT).unwrap_or(0);
        let bits = self.together().saturating_mul(self.first(BITS).unwrap_or(1));
        let row = chunk.width.saturating_mul(bits).div_ceil(8);
        let is_tiled = self.first(TILE_HEIGHT).is_some();
        let strips = height.div_ceil(chunk.height.max(1)).max(1);
        for n in 0..lengths.count {
            let left = height.saturating_sub(n % strips * chunk.height);
            let rows = if is_tiled { chunk.height } else { chunk.height.min(left) };
            let found = self.value(&lengths, n).unwrap_or(0);
            if found < row.saturating_mul(rows) {
                return Err(format!(
                    "strip or tile {n} of the TIFF has {found} bytes, and its pixels have {}",
                    row.saturating_mul(rows)
                ));
            }
        }
        Ok(())
    }

    /// Offsets and lengths of the strips or tiles.
    pub(super) fn places(&self) -> Option<(TagEntry, TagEntry)> {
        let tags = [(STRIP_OFFSETS, STRIP_BYTES), (TILE_OFFSETS, TILE_BYTES)];
        let found = tags.map(|(at, length)| self.entry(at).zip(self.entry(length)));
        found.into_iter().flatten().next()
    }

    /// Rejects a picture of which strips or tiles have no data: the decoder would take the header for them.
    pub(super) fn check_places(&self) -> Result<(), String> {
        let Some((places, _)) = self.places() else { return Ok(()) };
        match (0..places.count).find(|&n| self.value(&places, n) == Some(0)) {
            None => Ok(()),
            Some(n) => Err(format!(
                "strip or tile {n} of the TIFF has no data, as GDAL leaves out empty ones: write it with SPARSE_OK=FALSE"
            )),
        }
    }
}
