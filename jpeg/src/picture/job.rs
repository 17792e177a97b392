//! The request to a decoder, and its report.

use crate::error::{Error, ErrorKind, Result};
use crate::header::Header;
use crate::picture::excerpt::Excerpt;
use crate::picture::extent::{Region, Scale};
use crate::picture::lines::Color;

/// A request to decode a picture, or a part of one.
#[derive(Debug)]
pub struct Job<'a> {
    /// The JPEG.
    pub bytes: &'a [u8],
    /// The result of [`Header::parse`] for these bytes.
    pub header: &'a Header,
    /// Its entry points from [`crate::Scanner::scan`]. They are compared with the bytes, and
    /// ignored if they do not match.
    pub entry_points: Option<&'a [u8]>,
    /// The rows of MCUs that `bytes` hold beside the header, if these are not a whole JPEG. They need entry points,
    /// and end where the last row does or after it.
    pub excerpt: Option<Excerpt<'a>>,
    /// The region of the picture at its scale; `None` for all of it.
    pub region: Option<Region>,
    /// The scale of the result.
    pub scale: Scale,
    /// The pixel format.
    pub color: Color,
    /// The target of the pixels: row after row, the first pixel first.
    pub output: &'a mut [u8],
    /// Bytes from row to row of the output.
    pub stride: usize,
    /// What is done if pixels are lost.
    pub on_damage: OnDamage,
}

impl<'a> Job<'a> {
    /// Creates a job for the whole picture at full scale, in color, with rows without gaps.
    pub fn new(bytes: &'a [u8], header: &'a Header, output: &'a mut [u8]) -> Job<'a> {
        Job {
            bytes,
            header,
            entry_points: None,
            excerpt: None,
            region: None,
            scale: Scale::Full,
            color: Color::Rgb,
            output,
            stride: header.width as usize * 3,
            on_damage: OnDamage::Refuse,
        }
    }

    /// Returns the region, which defaults to the whole picture.
    pub(crate) fn area(&self) -> Region {
        let size = self.scale.of(self.header.width, self.header.height);
        self.region.unwrap_or(Region::whole(size))
    }

    /// # Errors
    /// Returns [`ErrorKind::Usage`] if the region is not within the picture, the output is too
    /// small, or the header is that of another JPEG (as far as that is detectable).
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

/// What a decoder does with a picture of which pixels are lost: a file that was cut, a scan that is
/// missing, codes that are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OnDamage {
    /// The job ends with an error that names the byte.
    #[default]
    Refuse,
    /// The pixels are those of libjpeg-turbo: gray where data lack, whatever invalid codes add up
    /// to, estimates for missing progressive scans. What libjpeg-turbo does not decode either stays
    /// an error. A region is a crop of the whole picture, as always.
    Keep,
}

/// What was wrong with a decoded picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Damage {
    /// Nothing that the decoder noticed.
    #[default]
    None,
    /// The file breaks rules of its format, but all its pixels are there: stray bytes or restart
    /// markers between segments, no end-of-image marker.
    Harmless,
    /// Pixels are lost ([`OnDamage::Keep`]).
    Lost,
}

/// How the entry points of a job were used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Use {
    /// None were given, or the picture is of a kind that has none.
    #[default]
    Absent,
    /// They were used.
    Used,
    /// They belong to another JPEG or led to wrong places: the picture was decoded without them.
    Refused,
}

/// Statistics of a decoded job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Report {
    /// Number of blocks of 8 x 8 coefficients in the picture.
    pub blocks: u64,
    /// Number of blocks whose Huffman codes were decoded.
    pub decoded: u64,
    /// Number of blocks that became pixels.
    pub drawn: u64,
    /// Whether entry points were used.
    pub entry_points: Use,
    /// Whether its coefficients came in several scans, all of which were read.
    pub several_scans: bool,
    /// What was wrong with it.
    pub damage: Damage,
}
