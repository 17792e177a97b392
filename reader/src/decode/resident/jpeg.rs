//! Pictures stored as JPEGs in device memory: the rows that preload them, and the rows of an epoch that refer to them.
//!
//! JPEGs that the device cannot decode are stored as pixels.

use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::decode::hybrid::request::DecodeRequest;
use crate::decode::hybrid::row::Verifier;
use crate::decode::jpeg::request;
use crate::decode::resident::row::StoreCrops;
use crate::decode::{Decode, DecodeRequests, Sample, Scratch};
use tarflume_device::jpeg_support::checked;
use tarflume_image::row_header::{Format, RowHeader, RowPicture};
use tarflume_image::{Cut, ImageSize};
use tarflume_jpeg::{Header, Scale};
use tarflume_types::{DType, Error, Result, Row, RowShape};

/// Maximum bytes of a JPEG in a row. Longer ones are stored as pixels.
const JPEG_ROOM: usize = 256 << 10;

/// Whether a device's decoder accepts a JPEG.
pub(crate) type Admits = Arc<dyn Fn(&[u8], &Header) -> bool + Send + Sync>;

/// A column of u8 rows for preloading: a header, then a JPEG or pixels.
pub(crate) struct PreloadJpeg {
    /// Writes a header and pixels.
    pub(crate) pixels: Arc<dyn Decode>,
    pub(crate) requests: Arc<dyn DecodeRequests>,
    pub(crate) admits: Admits,
    pub(crate) channels: usize,
    /// Maximum bytes of a decoded picture.
    pub(crate) room: usize,
}

impl PreloadJpeg {
    fn pixels_stride(&self) -> usize {
        self.pixels.shape().bytes().unwrap_or(0)
    }

    /// The header of a JPEG that the device will decode; `None` if it cannot.
    fn head(&self, sample: &Sample<'_>, scratch: &mut Scratch) -> Option<RowHeader> {
        let jpeg = sample.part(0);
        if !jpeg.starts_with(&[0xff, 0xd8]) || jpeg.len() > JPEG_ROOM {
            return None;
        }
        let DecodeRequest { size, .. } = self.requests.request(sample, Scale::Full)?;
        let whole = Cut::whole(size).into();
        let picture = RowPicture { format: Format::Pixels, size, area: whole, flip: false };
        let head = RowHeader::store(picture, self.channels, 0, self.room).ok()?;
        let header = checked(jpeg).ok()?;
        // The host does not see these bytes again, so this is the only chance to find damage.
        let taken =
            scratch.get::<Verifier>().is_whole(jpeg, &header) && (self.admits)(jpeg, &header);
        taken.then(|| head.with_bytes(jpeg.len() as u64))
    }
}

impl Decode for PreloadJpeg {
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

    fn wants_entry_points(&self) -> bool {
        self.pixels.wants_entry_points()
    }
}

/// Location and size of a picture in device memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) at: u64,
    /// Bytes of a JPEG; 0 for pixels.
    pub(crate) length: u32,
    /// Width and height as stored.
    pub(crate) size: [u32; 2],
}

/// The entries of a column, by row.
pub(crate) type Entries = Arc<OnceLock<Vec<Entry>>>;

/// Writes a [`RowHeader`] with the box that a transform selects from a stored picture, and the scale at which it is
/// decoded. The header's number is the row of the picture.
pub(crate) struct StoredJpeg {
    pub(crate) crops: StoreCrops,
    pub(crate) entries: Entries,
    pub(crate) gap: Option<f64>,
    /// The smallest scale that the device's decoder supports.
    pub(crate) least: Scale,
}

impl Decode for StoredJpeg {
    fn parts(&self) -> Vec<String> {
        Vec::new()
    }

    fn shape(&self) -> RowShape {
        RowShape::Fixed(DType::U8, vec![self.crops.row_bytes()])
    }

    fn decode(&self, sample: &Sample<'_>, row: Row<'_>, _: &mut Scratch) -> Result<()> {
        let number = self.crops.rows.of(sample.ordinal)?;
        let entry = self.entries.get().and_then(|all| all.get(number as usize).copied());
        let entry = entry.ok_or_else(|| Error::usage("the device memory was not filled"))?;
        let stored = ImageSize::new(entry.size[0], entry.size[1]);
        let placement = self.crops.place(sample, stored)?;
        let gap = self.gap.filter(|_| entry.length > 0);
        let DecodeRequest { scale, size, area, flip } = match gap {
            Some(_) => request(stored, &placement, gap, self.least),
            None => DecodeRequest {
                scale: Scale::Full,
                size: stored,
                area: placement.area,
                flip: placement.flip,
            },
        };
        let picture = RowPicture { format: Format::Pixels, size, area: area.into(), flip };
        let head = self.crops.header(picture, number)?;
        let head = head.with_bytes(entry.length.into()).with_origin(scale as u32, sample.seed);
        self.crops.write(sample, &head, stored, placement.size, row)
    }
}

impl fmt::Debug for StoredJpeg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoredJpeg({} channels, gap {:?})", self.crops.channels, self.gap)
    }
}
