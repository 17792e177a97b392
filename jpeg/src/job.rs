//! What is asked of a decoder, and what it says of its work.

use crate::error::{Error, ErrorKind, Result};
use crate::extent::{Region, Scale};
use crate::header::Header;
use crate::lines::Color;

/// A picture, or a part of one, to be decoded.
#[derive(Debug)]
pub struct Job<'a> {
    /// The JPEG.
    pub bytes: &'a [u8],
    /// What [`Header::parse`] made of them.
    pub header: &'a Header,
    /// Its entry points, as [`crate::Scanner::scan`] made them. They are compared with the bytes, and
    /// not used where they don't fit.
    pub entry_points: Option<&'a [u8]>,
    /// What of the picture at its scale; none for all of it.
    pub region: Option<Region>,
    /// How much smaller.
    pub scale: Scale,
    /// What a pixel is.
    pub color: Color,
    /// Where the pixels go: row after row, the first pixel first.
    pub output: &'a mut [u8],
    /// Bytes from row to row of the output.
    pub stride: usize,
}

impl<'a> Job<'a> {
    /// The whole picture at full scale, in color, rows without gaps.
    pub fn new(bytes: &'a [u8], header: &'a Header, output: &'a mut [u8]) -> Job<'a> {
        Job {
            bytes,
            header,
            entry_points: None,
            region: None,
            scale: Scale::Full,
            color: Color::Rgb,
            output,
            stride: header.width as usize * 3,
        }
    }

    /// The region, all of the picture if none is given.
    pub(crate) fn area(&self) -> Region {
        let size = self.scale.of(self.header.width, self.header.height);
        self.region.unwrap_or(Region::whole(size))
    }

    /// # Errors
    /// [`ErrorKind::Usage`]: the region is not within the picture, the output is too small, or the
    /// header is that of another JPEG (where that is seen).
    pub(crate) fn check(&self) -> Result<()> {
        self.header.check_bytes(self.bytes)?;
        let area = self.area();
        area.check(self.scale.of(self.header.width, self.header.height))?;
        let line = area.width as usize * self.color.bytes();
        let rows = area.height as usize;
        let all = self.stride.checked_mul(rows - 1).and_then(|above| above.checked_add(line));
        if self.stride < line || all.is_none_or(|all| all > self.output.len()) {
            let text = format!(
                "{} bytes with {} from row to row do not hold {rows} rows of {line} bytes",
                self.output.len(),
                self.stride
            );
            return Err(Error::new(ErrorKind::Usage, text));
        }
        Ok(())
    }
}

/// What became of the entry points of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Use {
    /// There were none, or the picture is of a kind that has none.
    #[default]
    Absent,
    /// They were used.
    Used,
    /// They were not those of this JPEG, or led to where they should not: all was decoded without.
    Refused,
}

/// What a decoder did for one job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Report {
    /// Blocks of 8 x 8 coefficients that the picture has.
    pub blocks: u64,
    /// Those whose Huffman codes were decoded.
    pub decoded: u64,
    /// Those that were made into pixels.
    pub drawn: u64,
    /// Whether entry points were used.
    pub entry_points: Use,
    /// Whether its coefficients came in several scans, all of which were gone through.
    pub several_scans: bool,
}
