//! `Header`: all that stands before the first entropy-coded byte (ITU-T T.81, annex B).
//!
//! The chooser between what is decoded here and what is not. No entropy-coded byte is looked at.

mod components;
mod enough;
mod exif;
mod frame;
mod kind;
mod markers;
mod scan;
mod tables;
mod whole;

pub(crate) use self::components::{Component, Components, MCU_BLOCKS};

pub(crate) use self::kind::Elsewhere;
pub(crate) use self::tables::{HuffmanSpec, NATURAL};
pub use self::whole::whole;
pub(crate) use self::whole::{finish, whole_within};

use self::frame::Frame;
use self::kind::Foreign;
use self::markers::{APP0, APP1, APP14, DAC, DHT, DQT, DRI, SOS, Walk, is_frame, is_segment};
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
    /// Whether three components are luma and two of colour, or red, green and blue.
    pub(crate) ycc: bool,
    orientation: Option<u8>,
    channels: u8,
    progressive: bool,
    baseline: bool,
    /// Blocks of all components.
    blocks: u64,
    /// Why it is not decoded here; none if it is.
    foreign: Option<Foreign>,
    /// Whether its codes are read here all the same.
    scanned: bool,
}

/// Marks that say how three components are to be understood.
#[derive(Debug, Default)]
struct Marks {
    jfif: bool,
    adobe: Option<u8>,
    orientation: Option<u8>,
    restart: u32,
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
                DQT => tables.quantisation(segment, at)?,
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
        tables: Tables,
        marks: &Marks,
    ) -> Result<Header> {
        let scan = scan::Scan::read(segment, at)?;
        let (components, mut foreign) = Components::of(frame, &scan, at)?;
        let scanned = match foreign {
            None => {
                foreign = tables.check(&components, at)?;
                foreign.is_none()
            }
            Some(_) => components.count() > 0 && matches!(tables.check(&components, at), Ok(None)),
        };
        Ok(Header {
            width: frame.width,
            height: frame.height,
            tables,
            restart: marks.restart,
            data,
            ycc: match (marks.jfif, marks.adobe) {
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
            foreign,
            scanned,
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

    /// Colour components: 1, 3 or 4.
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

    /// Whether three components are luma and two of colour, and not red, green and blue.
    pub fn is_luma_first(&self) -> bool {
        self.ycc
    }

    /// Blocks of an MCU, across and down, of each component; none of pictures that are not decoded here.
    pub fn blocks_of_mcu(&self) -> impl ExactSizeIterator<Item = (u32, u32)> {
        self.components.iter().map(|component| (component.h, component.v))
    }

    /// The EXIF orientation, 1 to 8, if it says so. Pixels are decoded as they are stored.
    pub fn orientation(&self) -> Option<u8> {
        self.orientation
    }

    /// What another library does with it, if it is not decoded here.
    pub(crate) fn elsewhere(&self) -> Option<Elsewhere> {
        self.foreign.map(|foreign| foreign.elsewhere)
    }

    /// None if it is decoded here; else why another decoder does it, in words: such pictures have no
    /// entry points, and are decoded whole.
    pub fn foreign(&self) -> Option<&'static str> {
        self.foreign.map(|foreign| foreign.why)
    }

    /// Whether a [`crate::Scanner`] reads its codes: those of pictures that are decoded here, and of most
    /// of four components, which have no entry points.
    pub fn is_scanned(&self) -> bool {
        self.scanned
    }
}
