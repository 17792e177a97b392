//! Pictures that stay in a device's memory as JPEGs: what fills it, and what an epoch writes of them.
//!
//! What the device's decoder does not take stays decoded, among the others.

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::column::{DType, Row, RowShape};
use crate::decode::hybrid::request::DecodeRequest;
use crate::decode::hybrid::row::Verifier;
use crate::decode::hybrid::support::checked;
use crate::decode::jpeg::asked;
use crate::decode::resident::row::Rows;
use crate::decode::{Asks, Decode, DecodeHooks, Sample, Scratch};
use crate::error::{Error, Result};
use crate::picture::geometry::{Cut, ImageSize, Transform};
use crate::picture::random::Random;
use crate::picture::row_header::{Described, Format, RowHeader};
use tarflume_jpeg::{Header, Scale};

/// Bytes that a row has for a JPEG on its way to the device; longer ones stay decoded.
const JPEG_ROOM: usize = 256 << 10;

/// Whether a device's decoder takes a JPEG.
pub(crate) type Admits = Arc<dyn Fn(&[u8], &Header) -> bool + Send + Sync>;

/// A column of u8 rows: a head, then a JPEG, or pixels.
pub(crate) struct KeptJpeg {
    /// Writes a head and pixels.
    pub(crate) pixels: Arc<dyn Decode>,
    pub(crate) asks: Arc<dyn Asks>,
    pub(crate) admits: Admits,
    pub(crate) channels: usize,
    /// Bytes that a picture may have when it is decoded.
    pub(crate) room: usize,
}

impl KeptJpeg {
    fn pixels_stride(&self) -> usize {
        self.pixels.shape().bytes().unwrap_or(0)
    }

    /// The head of a JPEG that the device decodes; none if it does not.
    fn head(&self, sample: &Sample<'_>, scratch: &mut Scratch) -> Option<RowHeader> {
        let jpeg = sample.part(0);
        if !jpeg.starts_with(&[0xff, 0xd8]) || jpeg.len() > JPEG_ROOM {
            return None;
        }
        let DecodeRequest { size, .. } = self.asks.ask(sample, Scale::Full)?;
        let whole = Cut::whole(size).into();
        let picture = Described { format: Format::Pixels, size, area: whole, flip: false };
        let head = RowHeader::store(picture, self.channels, 0, self.room).ok()?;
        let header = checked(jpeg).ok()?;
        // Nobody sees the bytes again: what is damaged among them is found now.
        let taken =
            scratch.get::<Verifier>().is_whole(jpeg, &header) && (self.admits)(jpeg, &header);
        taken.then(|| head.with_bytes(jpeg.len() as u64))
    }
}

impl Decode for KeptJpeg {
    fn parts(&self) -> Vec<String> {
        self.pixels.parts()
    }

    fn shape(&self) -> RowShape {
        let row = self.pixels_stride().max((RowHeader::BYTES + JPEG_ROOM).next_multiple_of(64));
        RowShape::Fixed(DType::U8, vec![row])
    }

    fn validate(&self) -> Result<()> {
        self.pixels.validate()
    }

    fn decode(&self, sample: &Sample<'_>, mut row: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        let head = self.head(sample, scratch);
        let bytes = row.bytes();
        let Some(head) = head else {
            let room = bytes.len().min(self.pixels_stride());
            return self.pixels.decode(sample, Row::fixed(&mut bytes[..room]), scratch);
        };
        let jpeg = sample.part(0);
        bytes[..RowHeader::BYTES].copy_from_slice(bytemuck::bytes_of(&head));
        let to = bytes.get_mut(RowHeader::BYTES..).and_then(|behind| behind.get_mut(..jpeg.len()));
        to.ok_or_else(|| Error::usage("a row is too short for its JPEG"))?.copy_from_slice(jpeg);
        Ok(())
    }

    fn hooks(&self) -> Option<&dyn DecodeHooks> {
        Some(self)
    }
}

impl DecodeHooks for KeptJpeg {
    fn wants_entry_points(&self) -> bool {
        self.pixels.wants_entry_points()
    }
}

/// Where a picture is in the device's memory, and what it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) at: u64,
    /// Bytes of a JPEG; 0: these are pixels.
    pub(crate) length: u32,
    /// Width and height as it is there.
    pub(crate) size: [u32; 2],
}

/// Those of a column, by row.
pub(crate) type Entries = Arc<OnceLock<Vec<Entry>>>;

/// A [`RowHeader`]: which part of such a picture becomes the row's, as a transform decides it, and at which scale it
/// is decoded. Its number is the picture's row.
pub(crate) struct StoredJpeg {
    pub(crate) rows: Arc<Rows>,
    pub(crate) entries: Entries,
    pub(crate) transform: Arc<dyn Transform>,
    pub(crate) stream: u64,
    pub(crate) channels: usize,
    pub(crate) room: usize,
    pub(crate) gap: Option<f64>,
    /// The smallest scale at which the device decodes.
    pub(crate) least: Scale,
}

impl Decode for StoredJpeg {
    fn parts(&self) -> Vec<String> {
        Vec::new()
    }

    fn shape(&self) -> RowShape {
        RowShape::Fixed(DType::U8, vec![RowHeader::BYTES])
    }

    fn decode(&self, sample: &Sample<'_>, mut row: Row<'_>, _: &mut Scratch) -> Result<()> {
        let number = self.rows.of(sample.ordinal)?;
        let entry = self.entries.get().and_then(|all| all.get(number as usize).copied());
        let entry = entry.ok_or_else(|| Error::usage("the device's memory was not filled"))?;
        let size = ImageSize::new(entry.size[0], entry.size[1]);
        let mut random = Random::stream(sample.seed, self.stream);
        let placement = self.transform.place(size, &mut random)?;
        placement.check(size)?;
        let gap = self.gap.filter(|_| entry.length > 0);
        let DecodeRequest { scale, size, area, flip } = match gap {
            Some(_) => asked(size, &placement, gap, self.least),
            None => DecodeRequest {
                scale: Scale::Full,
                size,
                area: placement.area,
                flip: placement.flip,
            },
        };
        let picture = Described { format: Format::Pixels, size, area: area.into(), flip };
        let head = RowHeader::store(picture, self.channels, number, self.room)?;
        let head = head.with_bytes(entry.length.into()).with_origin(scale as u32, sample.seed);
        row.put(bytemuck::bytes_of(&head))
    }
}

impl fmt::Debug for StoredJpeg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoredJpeg({} channels, gap {:?})", self.channels, self.gap)
    }
}
