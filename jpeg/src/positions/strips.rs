//! `Strips`: checksums of the header of a JPEG and of its rows of MCUs, so that some of its bytes can be used
//! without the others.
//!
//! A blob beside the entry points; FORMAT.md has the layout.

use std::ops::Range;

use crate::error::{Error, ErrorKind, Result};
use crate::header::Header;
use crate::positions::checksum::crc32c;
use crate::positions::points::EntryPoints;

const VERSION: u8 = 1;
/// Bytes before the checksums.
const FIXED: usize = 4;
/// JPEGs with fewer bytes have no strips: reading less of them gains nothing.
const LEAST: usize = 16 << 10;
/// Least mean number of bytes of a strip, unless a row has more: a page.
const STRIP: usize = 4096;

/// The checksums of a JPEG's strips.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Strips<'a> {
    /// Rows of MCUs in a strip.
    stride: u32,
    sums: &'a [u8],
}

/// Where the bytes of an excerpt are in the JPEG.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExcerptBytes {
    /// Bytes of the header, from the start of the JPEG on.
    pub header: usize,
    /// The bytes of the rows.
    pub rows: Range<usize>,
}

/// Appends the checksums of a JPEG's strips to `out`; nothing for JPEGs of less than 16 KiB. `entry_points` are
/// those that [`crate::Scanner::scan`] made of it.
///
/// # Errors
/// Returns [`ErrorKind::Usage`] if the entry points are not of this JPEG, and the errors of [`Header::parse`] and
/// [`EntryPoints::read`].
pub fn strips(jpeg: &[u8], entry_points: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let points = EntryPoints::read(entry_points)?;
    let header = Header::parse(jpeg)?;
    fn of_others() -> Error {
        Error::new(ErrorKind::Usage, "the entry points are of another JPEG")
    }
    if points.made_from().0 != jpeg.len() as u64 {
        return Err(of_others());
    }
    if jpeg.len() < LEAST {
        return Ok(());
    }
    let rows = points.rows();
    let span = points.span().max(1);
    let stride = (STRIP * rows as usize).div_ceil(span).clamp(1, rows.max(1) as usize) as u32;
    let before = out.len();
    out.extend([VERSION, header.orientation().unwrap_or(0)]);
    out.extend((stride as u16).to_le_bytes()); // at most `rows`, which is a u16
    out.extend(crc32c(&[&jpeg[..points.data().min(jpeg.len())]]).to_le_bytes());
    for number in 0..rows.div_ceil(stride) {
        let bytes = strip(&points, stride, number);
        let Some(bytes) = bytes.and_then(|bytes| jpeg.get(bytes)) else {
            out.truncate(before);
            return Err(of_others());
        };
        out.extend(crc32c(&[bytes]).to_le_bytes());
    }
    Ok(())
}

/// Returns true if these are checksums of the strips of a JPEG with these entry points, of any length: each is that of
/// its bytes, and the orientation is that of the header.
pub fn strips_fit(jpeg: &[u8], entry_points: &[u8], strips: &[u8]) -> bool {
    let Ok(points) = EntryPoints::read(entry_points) else { return false };
    let Ok(header) = Header::parse(jpeg) else { return false };
    let Some(read) = Strips::read(strips, &points) else { return false };
    let all = read.covering(&points, 0..points.rows());
    orientation_of(strips) == header.orientation()
        && all.is_some_and(|(numbers, _)| read.check(&points, numbers, jpeg))
}

/// Returns the EXIF orientation that checksums of strips state, 1 to 8, if the JPEG has one. `None` also for bytes
/// that are no such checksums.
pub fn orientation_of(strips: &[u8]) -> Option<u8> {
    strips.get(1).copied().filter(|turn| strips[0] == VERSION && (1..=8).contains(turn))
}

impl<'a> Strips<'a> {
    /// Parses the checksums of a JPEG with these entry points.
    pub(crate) fn read(blob: &'a [u8], points: &EntryPoints<'_>) -> Option<Strips<'a>> {
        let (&[version, turn, low, high], sums) = blob.split_first_chunk::<FIXED>()?;
        let stride = u32::from(u16::from_le_bytes([low, high]));
        let known = version == VERSION && turn <= 8 && stride > 0;
        let count = points.rows().div_ceil(stride.max(1)) as usize + 1;
        (known && sums.len() == 4 * count).then_some(Strips { stride, sums })
    }

    /// Returns the numbers and the bytes of the strips that hold these rows of MCUs.
    pub(crate) fn covering(
        &self,
        points: &EntryPoints<'_>,
        rows: Range<u32>,
    ) -> Option<(Range<u32>, ExcerptBytes)> {
        if rows.is_empty() || rows.end > points.rows() {
            return None;
        }
        let numbers = rows.start / self.stride..rows.end.div_ceil(self.stride);
        let top = strip(points, self.stride, numbers.start)?;
        let bottom = strip(points, self.stride, numbers.end - 1)?;
        let header = points.data();
        // The places are not trusted: they could go back.
        let ascend = header <= top.start && top.start < bottom.end;
        ascend.then_some((numbers, ExcerptBytes { header, rows: top.start..bottom.end }))
    }

    /// Returns true if the header and the strips of these numbers are as they were.
    pub(crate) fn check(&self, points: &EntryPoints<'_>, numbers: Range<u32>, read: &[u8]) -> bool {
        self.has_sum(0, read.get(..points.data()))
            && numbers.into_iter().all(|number| {
                let bytes = strip(points, self.stride, number);
                self.has_sum(number + 1, bytes.and_then(|bytes| read.get(bytes)))
            })
    }

    fn has_sum(&self, number: u32, bytes: Option<&[u8]>) -> bool {
        let at = 4 * number as usize;
        let sum = self.sums.get(at..at + 4);
        bytes.is_some_and(|bytes| sum == Some(&crc32c(&[bytes]).to_le_bytes()))
    }
}

/// Returns the bytes of strip `number`: its rows, the byte before them, which shows that they do not begin inside a
/// marker, and two more, which hold their last bits.
fn strip(points: &EntryPoints<'_>, stride: u32, number: u32) -> Option<Range<usize>> {
    let first = number.checked_mul(stride)?;
    let end = first.saturating_add(stride).min(points.rows());
    let from = points.place(first, 0).byte.saturating_sub(1).max(points.data());
    let to = points.place(end, 0).byte.saturating_add(2).min(points.made_from().0 as usize);
    (from < to).then_some(from..to)
}
