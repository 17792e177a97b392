//! `Excerpt`: some rows of MCUs of a JPEG, and the bytes that hold them.
//!
//! A decoder with an excerpt reads the header and these rows and no other byte. Reads no code.

use crate::picture::extent::{Region, Scale};
use crate::positions::points::EntryPoints;
use crate::positions::strips::{ExcerptBytes, Strips};

/// Rows of pixels beyond a region that its pixels can depend on: two from a row of subsampled chroma, and one
/// where rows are counted in pairs.
const BEYOND: u32 = 3;

/// The rows of MCUs of a JPEG whose bytes are there; the bytes of other rows are unspecified.
///
/// ```
/// use tarflume_jpeg::{Decoder, EntryPoints, Excerpt, Header, Job, Region, Scale, Scanner, strips};
/// # let jpeg = tarflume_fixtures::PHOTOS[0].jpeg;
/// let header = Header::parse(jpeg)?;
/// let (mut points, mut sums) = (Vec::new(), Vec::new());
/// Scanner::new().scan(jpeg, &header, &mut points)?; // once, when it is packed
/// strips(jpeg, &points, &mut sums)?;
///
/// let region = Region { left: 40, top: 30, width: 64, height: 48 };
/// let (height, scale) = (header.height(), Scale::Full);
/// let wanted = Excerpt::of(&EntryPoints::read(&points)?, &sums, height, region, scale);
/// # let wanted = wanted.or_else(|| panic!("no excerpt"));
/// if let Some((excerpt, bytes)) = wanted {
///     let mut read = vec![0; bytes.rows.end]; // instead of the whole file
///     for range in [0..bytes.header, bytes.rows] {
///         read[range.clone()].copy_from_slice(&jpeg[range]);
///     }
///     let header = Header::parse(&read)?;
///     let mut pixels = vec![0; 64 * 48 * 3];
///     let whole = Job::new(&read, &header, &mut pixels);
///     let job = Job { region: Some(region), stride: 64 * 3, entry_points: Some(&points), ..whole };
///     Decoder::new().decode(Job { excerpt: Some(excerpt), ..job })?;
/// }
/// # Ok::<(), tarflume_jpeg::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Excerpt<'a> {
    /// The checksums of the JPEG's strips, from [`crate::strips`].
    pub strips: &'a [u8],
    /// The first row of MCUs that is there, and the end of the rows.
    pub rows: (u32, u32),
}

impl<'a> Excerpt<'a> {
    /// Returns the excerpt that holds `region` at `scale` of a JPEG of `height` rows of pixels, and its bytes.
    /// Returns `None` if the checksums do not belong to the entry points, or the region is not within the picture.
    pub fn of(
        points: &EntryPoints<'_>,
        strips: &'a [u8],
        height: u32,
        region: Region,
        scale: Scale,
    ) -> Option<(Excerpt<'a>, ExcerptBytes)> {
        let rows = rows_of(points, height, region, scale)?;
        let excerpt = Excerpt { strips, rows };
        excerpt.bytes(points).map(|bytes| (excerpt, bytes))
    }

    /// Returns the excerpt that holds the rows of both, and those between.
    #[must_use]
    pub fn with(self, other: Excerpt<'_>) -> Excerpt<'a> {
        let rows = (self.rows.0.min(other.rows.0), self.rows.1.max(other.rows.1));
        Excerpt { strips: self.strips, rows }
    }

    /// Returns where its bytes are: whole strips. `None` if the checksums do not belong to the entry points.
    pub fn bytes(&self, points: &EntryPoints<'_>) -> Option<ExcerptBytes> {
        let (_, bytes) =
            Strips::read(self.strips, points)?.covering(points, self.rows.0..self.rows.1)?;
        Some(bytes)
    }

    /// Returns where its bytes are if they are those that the checksums were made of.
    pub(crate) fn checked(&self, points: &EntryPoints<'_>, read: &[u8]) -> Option<ExcerptBytes> {
        let strips = Strips::read(self.strips, points)?;
        let (numbers, bytes) = strips.covering(points, self.rows.0..self.rows.1)?;
        strips.check(points, numbers, read).then_some(bytes)
    }
}

/// Returns the rows of MCUs that a region depends on. The sampling is not known without the header: for pictures
/// with subsampled rows, these can be a row more at each end than the decoder reads.
fn rows_of(
    points: &EntryPoints<'_>,
    height: u32,
    region: Region,
    scale: Scale,
) -> Option<(u32, u32)> {
    let rows = points.rows();
    // The number of rows tells the height of an MCU, unless there is one row.
    let mut heights = [1, 2, 4].into_iter().filter(|down| height.div_ceil(8 * down) == rows);
    let down = heights.next()?;
    let other = heights.next();
    if other.is_some() {
        return Some((0, rows));
    }
    let lines = down * scale.block();
    let beyond = if down > 1 { BEYOND } else { 0 };
    let end = region.top.checked_add(region.height)?.checked_add(beyond)?;
    let found = (region.top.saturating_sub(beyond) / lines, end.div_ceil(lines).min(rows));
    (found.0 < found.1).then_some(found)
}

#[cfg(test)]
mod tests;
