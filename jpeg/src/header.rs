//! `Header`: all that stands before the first entropy-coded byte (ITU-T T.81, annex B).
//!
//! Says what kind of picture it is, and whether it is decoded. No entropy-coded byte is looked at.

mod components;
mod enough;
mod exif;
mod frame;
mod kind;
mod markers;
mod passes;
mod progress;
mod scan;
mod standard;
mod tables;
mod whole;

pub(crate) use self::components::{Component, Components, MCU_BLOCKS};
pub(crate) use self::passes::{Pass, Work};
pub(crate) use self::scan::Band;
pub(crate) use self::tables::{HuffmanSpec, NATURAL};
pub(crate) use self::whole::finish;
pub use self::whole::whole;

use self::frame::Frame;
use self::markers::{APP0, APP1, APP14, DAC, DHT, DQT, DRI, SOS, Walk, is_frame, is_segment};
use self::passes::Passes;
use self::tables::Tables;
use crate::error::{Error, ErrorKind, Result};

/// What a JPEG says of itself before its pixels begin.
#[derive(Debug, Clone)]
pub struct Header {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) components: Components,
    pub(crate) tables: Tables,
    /// MCUs between restart markers; 0 if there are none.
    pub(crate) restart: u32,
    /// The first entropy-coded byte.
    pub(crate) data: usize,
    /// The marker of the first scan.
    scan: usize,
    /// Whether the first three components are luma and two of color.
    pub(crate) ycc: bool,
    orientation: Option<u8>,
    channels: u8,
    progressive: bool,
    baseline: bool,
    /// Blocks of all components.
    blocks: u64,
    /// Why it is not decoded; none if it is.
    unsupported: Option<&'static str>,
    /// Whether its coefficients come in more than one scan.
    several: bool,
    /// Why it has no entry points, of a picture of one scan.
    unpointed: Option<&'static str>,
}

/// Marks that say how components are to be understood.
#[derive(Debug, Default)]
struct Marks {
    jfif: bool,
    adobe: Option<u8>,
    orientation: Option<u8>,
    restart: u32,
}

/// Why a picture of one scan has no entry points, if it has none: FORMAT.md says which have.
fn without_points(components: &Components, tables: &Tables) -> Option<&'static str> {
    if components.count() == 4 {
        Some("it has four components")
    } else if !components.are_usual() {
        Some("its components are sampled in an unusual way")
    } else if !tables.are_in_file(components) {
        Some("its Huffman tables are not in the file")
    } else {
        None
    }
}

impl Header {
    /// Reads the segments up to the first scan.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Damaged`]: no JPEG, cut, or its segments contradict each other; the byte
    /// is named.
    pub fn parse(bytes: &[u8]) -> Result<Header> {
        let mut walk = Walk::start(bytes)?;
        let (mut marks, mut tables) = (Marks::default(), Tables::default());
        let mut frame: Option<Frame> = None;
        loop {
            let (marker, at) = walk.marker()?;
            if !is_segment(marker) {
                let text = format!("marker ff{marker:02x} can't stand before the first scan");
                return Err(Error::damaged(at, text));
            }
            let start = walk.at() + 2;
            let segment = walk.segment(at)?;
            match marker {
                SOS => {
                    let missing = || Error::damaged(at, "a scan begins before the frame header");
                    let frame = frame.as_ref().ok_or_else(missing)?;
                    return Header::of(frame, segment, (at, walk.at()), tables, &marks);
                }
                DQT => tables.quantization(bytes, start, segment.len(), at)?,
                DHT => tables.huffman(bytes, start, segment.len(), at)?,
                DAC => scan::conditioning(segment, at)?,
                DRI => marks.restart = scan::restart(segment, at)?,
                APP0 if segment.starts_with(b"JFIF\0") && segment.len() >= 14 => marks.jfif = true,
                APP1 if marks.orientation.is_none() => {
                    marks.orientation = segment.strip_prefix(b"Exif\0\0").and_then(exif::turn);
                }
                APP14 if segment.starts_with(b"Adobe") && segment.len() >= 12 => {
                    marks.adobe = Some(segment[11]);
                }
                marker if is_frame(marker) => match frame {
                    Some(_) => return Err(Error::damaged(at, "a second frame header")),
                    None => frame = Some(Frame::read(marker, segment, at)?),
                },
                _ => {}
            }
        }
    }

    fn of(
        frame: &Frame,
        segment: &[u8],
        (at, data): (usize, usize),
        mut tables: Tables,
        marks: &Marks,
    ) -> Result<Header> {
        let scan = scan::Scan::read(segment, at)?;
        let mut components = Components::of(frame);
        let mut unsupported = kind::unsupported(frame);
        let mut several = false;
        if unsupported.is_none() {
            several = frame.is_progressive() || !components.set_tables(&scan, at)?;
            if several {
                components.numbers(&scan, at)?; // those of all components are in order
            }
            if !components.divide() {
                unsupported = Some("its components are sampled at rates that do not divide");
            } else if !several && components.blocks() > MCU_BLOCKS {
                unsupported = Some("it has more than ten blocks to an MCU");
            }
        }
        if unsupported.is_none() && !frame.is_progressive() {
            tables.set_standard();
        }
        let mut unpointed = None;
        if unsupported.is_none() && !several {
            tables.check(&components, at)?;
            unpointed = without_points(&components, &tables);
        }
        Ok(Header {
            width: frame.width,
            height: frame.height,
            tables,
            restart: marks.restart,
            data,
            scan: at,
            ycc: match (marks.jfif, marks.adobe) {
                (_, adobe) if frame.count == 4 => adobe.is_some_and(|transform| transform != 0),
                (true, _) => true,
                (false, Some(transform)) => transform != 0,
                (false, None) => frame.ids() != *b"RGB",
            },
            orientation: marks.orientation,
            channels: frame.channels(),
            progressive: frame.is_progressive(),
            baseline: frame.marker == 0xc0,
            blocks: frame.blocks(),
            components,
            unsupported,
            several,
            unpointed,
        })
    }

    /// # Errors
    /// [`ErrorKind::Usage`]: these bytes are too few; it was made of others.
    pub(crate) fn check_bytes(&self, bytes: &[u8]) -> Result<()> {
        if self.data <= bytes.len() {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Usage, "the header is not of these bytes"))
    }

    /// What the coefficients of each component are multiplied with, of a picture of one scan.
    ///
    /// # Errors
    /// A table is not in these bytes.
    pub(crate) fn divisors(&self, bytes: &[u8]) -> Result<[Option<[u16; 64]>; frame::MOST]> {
        let mut divisors = [None; frame::MOST];
        for (divisors, component) in divisors.iter_mut().zip(self.components.iter()) {
            *divisors = Some(self.tables.divisors(component.quant, bytes, self.scan)?);
        }
        Ok(divisors)
    }

    /// Its scans, one after the other.
    pub(crate) fn passes<'a>(&self, bytes: &'a [u8]) -> Passes<'a> {
        let before = (self.tables.clone(), self.restart);
        let picture = (self.components, self.progressive, self.blocks);
        Passes::new(bytes, picture, before, self.scan)
    }

    /// # Errors
    /// [`ErrorKind::Unsupported`]: nobody decodes this kind.
    pub(crate) fn check_supported(&self) -> Result<()> {
        match self.unsupported {
            None => Ok(()),
            Some(why) => {
                Err(Error::new(ErrorKind::Unsupported, format!("{why}: this kind is not decoded")))
            }
        }
    }

    /// MCUs across and down.
    pub(crate) fn mcus(&self) -> (u32, u32) {
        let (h, v) = self.components.most();
        (self.width.div_ceil(8 * h), self.height.div_ceil(8 * v))
    }

    /// Columns, as stored: before any turn.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Rows, as stored.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// Color components: 1, 3 or 4.
    pub fn channels(&self) -> u8 {
        self.channels
    }

    /// Whether it is coded in several passes over the picture.
    pub fn is_progressive(&self) -> bool {
        self.progressive
    }

    /// Whether its frame header says baseline: other sequential frames may have more tables, or samples of
    /// more bits.
    pub fn is_baseline(&self) -> bool {
        self.baseline
    }

    /// Whether its codes begin anew at restart markers.
    pub fn has_restarts(&self) -> bool {
        self.restart > 0
    }

    /// Whether the first three components are luma and two of color, and not red, green and blue, or cyan,
    /// magenta and yellow.
    pub fn is_luma_first(&self) -> bool {
        self.ycc
    }

    /// Blocks of an MCU, across and down, of each component.
    pub fn blocks_of_mcu(&self) -> impl ExactSizeIterator<Item = (u32, u32)> {
        self.components.iter().map(|component| (component.h, component.v))
    }

    /// The EXIF orientation, 1 to 8, if it says so. Pixels are decoded as they are stored.
    pub fn orientation(&self) -> Option<u8> {
        self.orientation
    }

    /// Whether all its scans are decoded before the first pixel is made: progressive pictures, and others
    /// whose components come in scans of their own.
    pub fn has_several_scans(&self) -> bool {
        self.several
    }

    /// None if it is decoded; else why not, in words.
    pub fn unsupported(&self) -> Option<&'static str> {
        self.unsupported
    }

    /// None if it is of a kind that has entry points; else why not, in words. Kinds that are not decoded
    /// at all have none.
    pub fn without_entry_points(&self) -> Option<&'static str> {
        match self.unsupported {
            None if self.progressive => Some("it is progressive"),
            None if self.several => Some("its components come in scans of their own"),
            None => self.unpointed,
            known => known,
        }
    }
}
