//! `Header`: everything before the first entropy-coded byte (ITU-T T.81, annex B).
//!
//! Determines the kind of picture and whether it is decoded. Reads no entropy-coded byte.

mod capacity;
mod components;
mod frame;
mod kind;
pub(crate) mod markers;
pub(super) mod orientation;
mod passes;
mod progress;
mod scan;
mod standard;
mod tables;
mod whole;

pub(crate) use self::components::{Component, Components, MCU_BLOCKS};
pub(crate) use self::passes::{Pass, Passes, Visits, Work};
pub(crate) use self::progress::{MOST_SCANS, check as check_band};
pub(crate) use self::scan::{Band, Scan, conditioning};
pub(crate) use self::tables::{HuffmanSpec, NATURAL};
pub use self::whole::whole;
pub(crate) use self::whole::{STRAYS, finish, scan_end};

use self::frame::Frame;
use self::kind::Undecoded;
use self::markers::{APP0, APP1, APP14, DAC, DHT, DQT, DRI, SOS, Walk, is_frame, is_segment};
use self::tables::Tables;
use crate::error::{Error, ErrorKind, Result};
use crate::header::orientation::orientation_in;

/// The header of a JPEG.
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
    /// Whether the first three components are luma and two chroma components.
    pub(crate) ycc: bool,
    orientation: Option<u8>,
    channels: u8,
    progressive: bool,
    baseline: bool,
    /// Number of blocks of all components.
    blocks: u64,
    /// Why it is not decoded; `None` if it is.
    unsupported: Option<Undecoded>,
    /// Whether its coefficients come in more than one scan.
    several: bool,
    /// Why a picture of one scan has no entry points.
    unpointed: Option<&'static str>,
    /// The first byte before the first scan that breaks a rule without a loss.
    irregular: Option<usize>,
}

/// What XMP in APP1 begins with.
const XMP: &[u8] = b"http://ns.adobe.com/xap/1.0/\0";

/// Markers that determine the meaning of components, and the metadata that can state an orientation.
#[derive(Debug, Default)]
struct Marks<'a> {
    jfif: bool,
    adobe: Option<u8>,
    exif: Option<&'a [u8]>,
    xmp: Option<&'a [u8]>,
    restart: u32,
    irregular: Option<usize>,
}

impl<'a> Marks<'a> {
    /// Takes the content of APP1. A second EXIF segment continues the first.
    fn metadata(&mut self, segment: &'a [u8]) {
        if segment.starts_with(b"Exif\0\0") {
            self.exif = self.exif.or(Some(segment));
        } else if let Some(xmp) = segment.strip_prefix(XMP) {
            self.xmp = self.xmp.or(Some(xmp));
        }
    }
}

/// Returns why a picture of one scan has no entry points; `None` if it has them. FORMAT.md has the
/// rule.
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
    /// Parses the segments up to the first scan.
    ///
    /// # Errors
    /// Returns [`crate::ErrorKind::Damaged`] with the byte if this is not a JPEG, is truncated, or
    /// has contradictory segments.
    pub fn parse(bytes: &[u8]) -> Result<Header> {
        let mut walk = Walk::start(bytes)?;
        let mut marks = Marks::default();
        let mut tables = Tables::default();
        let mut frame: Option<Frame> = None;
        loop {
            let (marker, at) = walk.marker()?;
            if !is_segment(marker) {
                let text = format!("marker ff{marker:02x} is not allowed before the first scan");
                return Err(Error::damaged(at, text));
            }
            let start = walk.at() + 2;
            if marker == SOS {
                let frame = frame
                    .as_ref()
                    .ok_or_else(|| Error::damaged(at, "a scan begins before the frame header"))?;
                let scan = Scan::read(walk.scan_header(at)?.content(), at)?;
                marks.irregular = walk.irregular();
                return Header::of(frame, &scan, at, walk.at(), tables, &marks);
            }
            let segment = walk.segment(at)?;
            match marker {
                DQT => tables.quantization(bytes, start, segment.len(), at)?,
                DHT => tables.huffman(bytes, start, segment.len(), at)?,
                DAC => conditioning(segment, at)?,
                DRI => marks.restart = scan::restart(segment, at)?,
                APP0 if segment.starts_with(b"JFIF\0") && segment.len() >= 14 => marks.jfif = true,
                APP1 => marks.metadata(segment),
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
        scan: &Scan,
        at: usize,
        data: usize,
        mut tables: Tables,
        marks: &Marks<'_>,
    ) -> Result<Header> {
        let mut components = Components::of(frame);
        let mut unsupported = Undecoded::of(frame);
        let mut several = false;
        if unsupported.is_none() {
            several = frame.is_progressive() || !components.set_tables(scan, at)?;
            if several {
                components.numbers(scan, at)?; // those of all components are in order
            }
            if !components.divide() {
                unsupported = Some(Undecoded::Rates);
            } else if !several && components.blocks() > MCU_BLOCKS {
                unsupported = Some(Undecoded::Mcus);
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
            orientation: orientation_in(marks.exif, marks.xmp),
            channels: frame.channels(),
            progressive: frame.is_progressive(),
            baseline: frame.marker == 0xc0,
            blocks: frame.blocks(),
            components,
            unsupported,
            several,
            unpointed,
            irregular: marks.irregular,
        })
    }

    /// # Errors
    /// Returns [`ErrorKind::Usage`] if the header cannot be of these bytes: they are too few.
    pub(crate) fn check_bytes(&self, bytes: &[u8]) -> Result<()> {
        if self.data <= bytes.len() {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Usage, "the header belongs to other bytes"))
    }

    /// Returns the divisors of each component of a picture with one scan.
    ///
    /// # Errors
    /// These bytes do not hold a table.
    pub(crate) fn divisors(&self, bytes: &[u8]) -> Result<[Option<[u16; 64]>; frame::MOST]> {
        let mut divisors = [None; frame::MOST];
        for (divisors, component) in divisors.iter_mut().zip(self.components.iter()) {
            *divisors = Some(self.tables.divisors(component.quant, bytes, self.scan)?);
        }
        Ok(divisors)
    }

    /// Returns its scans in order.
    pub(crate) fn passes<'a>(&self, bytes: &'a [u8]) -> Passes<'a> {
        Passes::new(
            bytes,
            self.components,
            self.progressive,
            self.blocks,
            self.tables.clone(),
            self.restart,
            self.scan,
        )
    }

    /// # Errors
    /// Returns [`ErrorKind::Unsupported`] if this kind is not decoded.
    pub(crate) fn check_supported(&self) -> Result<()> {
        match self.unsupported {
            None => Ok(()),
            Some(kind) => {
                let why = kind.why();
                let way_on = kind.way_on();
                let text = format!("{why}: this kind is not decoded; {way_on}");
                Err(Error::new(ErrorKind::Unsupported, text))
            }
        }
    }

    /// Returns the byte of the first scan's marker.
    pub(crate) fn scan(&self) -> usize {
        self.scan
    }

    /// Returns the first byte before the first scan that breaks a rule without a loss.
    pub(crate) fn irregular(&self) -> Option<usize> {
        self.irregular
    }

    /// Returns the number of blocks of all components.
    pub(crate) fn all_blocks(&self) -> u64 {
        self.blocks
    }

    /// Returns the number of rows of MCUs as the file declares them, and the rows of blocks of each
    /// component in one of them. Only for a single component is that more than
    /// [`Header::mcus`] says.
    pub(crate) fn declared_rows(&self) -> (u32, [u32; frame::MOST]) {
        let mut factors = [1; frame::MOST];
        for (factor, component) in factors.iter_mut().zip(self.components.iter()) {
            *factor = component.v;
        }
        let rows = self.mcus().1;
        match self.components.declared_rows() {
            Some(together) => (rows.div_ceil(together), [together, 1, 1, 1]),
            None => (rows, factors),
        }
    }

    /// Returns the number of MCUs across and down.
    pub(crate) fn mcus(&self) -> (u32, u32) {
        let (h, v) = self.components.most();
        (self.width.div_ceil(8 * h), self.height.div_ceil(8 * v))
    }

    /// Returns the width in pixels as stored, before any EXIF rotation.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Returns the height in pixels as stored.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// Returns the number of color components: 1, 3 or 4.
    pub fn channels(&self) -> u8 {
        self.channels
    }

    /// Returns true if it is coded in progressive scans.
    pub fn is_progressive(&self) -> bool {
        self.progressive
    }

    /// Returns true if its frame header declares baseline: other sequential frames may have more
    /// tables, or samples of more bits.
    pub fn is_baseline(&self) -> bool {
        self.baseline
    }

    /// Returns true if its codes start again at restart markers.
    pub fn has_restarts(&self) -> bool {
        self.restart > 0
    }

    /// Returns true if the first three components are luma and two chroma components, and not red,
    /// green and blue, or cyan, magenta and yellow.
    pub fn is_luma_first(&self) -> bool {
        self.ycc
    }

    /// Returns the blocks of an MCU, across and down, of each component.
    pub fn blocks_of_mcu(&self) -> impl ExactSizeIterator<Item = (u32, u32)> {
        self.components.iter().map(|component| (component.h, component.v))
    }

    /// Returns the orientation, 1 to 8, if EXIF or XMP state one: see [`orientation_in`]. Pixels are
    /// decoded as stored.
    pub fn orientation(&self) -> Option<u8> {
        self.orientation
    }

    /// Returns true if all its scans must be decoded before the first pixel: progressive pictures,
    /// and others with one component per scan.
    pub fn has_several_scans(&self) -> bool {
        self.several
    }

    /// Returns why it is not decoded; `None` if it is.
    pub fn unsupported(&self) -> Option<&'static str> {
        self.unsupported.map(Undecoded::why)
    }

    /// Returns what a user can do with a picture that is not decoded; `None` if it is decoded.
    pub fn way_on(&self) -> Option<&'static str> {
        self.unsupported.map(Undecoded::way_on)
    }

    /// Returns why a picture of its kind has no entry points; `None` if it has them. Kinds that are
    /// not decoded at all have none.
    pub fn without_entry_points(&self) -> Option<&'static str> {
        match self.unsupported {
            None if self.progressive => Some("it is progressive"),
            None if self.several => Some("its components are in separate scans"),
            None => self.unpointed,
            Some(kind) => Some(kind.why()),
        }
    }
}
