//! `HybridRows`: rows in which either decoder may go on: a head, and behind it the pixels that the host made, or a
//! JPEG that the device is to decode. Which of them, each sample decides for itself.

use std::fmt;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};

use tarflume_jpeg::{Header, Scale, Scanner};

use crate::column::{DType, Row, RowShape};
use crate::decode::hybrid::balance::{DeviceShare, Waited};
use crate::decode::hybrid::jpeg_decoder::{JpegDecoder, Wanted};
use crate::decode::hybrid::request::DecodeRequest;
use crate::decode::hybrid::support::checked;
use crate::decode::{Asks, Decode, DecodeHooks, Sample, Scratch, Shared};
use crate::error::{Error, Result};
use crate::picture::crop::CropBox;
use crate::picture::geometry::{Cut, ImageSize};
use crate::picture::row_header::{Described, Format, RowHeader};
use tarflume_formats::poison::IgnorePoison;

/// Bytes that a row has for a JPEG: photographs of 500 x 375 have 110 kB, and rarely more than this.
const JPEG_ROOM: usize = 160 << 10;

/// Bytes of a picture on the device, at the scale at which it is decoded: of 640 x 546 in RGB. Four times
/// what comes out, if that is more.
pub(crate) const PICTURE_ROOM: usize = 1 << 20;

/// Samples that are looked at together.
const GROUP: usize = 8;

/// The share in force: read by threads that decode, told of each batch.
pub(crate) struct Sharing {
    per_mille: AtomicU16,
    share: Mutex<DeviceShare>,
}

impl Sharing {
    fn new(share: DeviceShare) -> Sharing {
        Sharing { per_mille: AtomicU16::new(share.per_mille()), share: Mutex::new(share) }
    }

    /// Pictures of a thousand that go to the device.
    pub(crate) fn per_mille(&self) -> u16 {
        self.per_mille.load(Ordering::Relaxed)
    }

    /// Tells of a batch that was put together.
    pub(crate) fn told(&self, waited: Waited) {
        let mut share = self.share.lock().ignore_poison();
        share.told(waited);
        self.per_mille.store(share.per_mille(), Ordering::Relaxed);
    }
}

/// A column of such rows.
pub(crate) struct HybridRows {
    /// Rows of u8 `[height, width, channels]`.
    host: Arc<dyn Decode>,
    asks: Arc<dyn Asks>,
    size: ImageSize,
    channels: usize,
    pub(crate) sharing: Sharing,
    /// Decides which JPEGs the device decodes.
    decoder: Arc<dyn JpegDecoder>,
    /// The smallest scale at which it decodes.
    least: Scale,
    /// Whether codes are gone through before a JPEG is handed on, so that damage is found here.
    verifies: bool,
    /// Of a row whose pixels the host made.
    head: RowHeader,
    pixels: usize,
}

impl HybridRows {
    /// What `host` makes, shared with a device.
    ///
    /// # Errors
    /// The output is too large for a device.
    pub(crate) fn new(
        host: Arc<dyn Decode>,
        shared: Shared,
        (decoder, least): (Arc<dyn JpegDecoder>, Scale),
        verifies: bool,
    ) -> Result<HybridRows> {
        let Shared { share, size, channels, asks } = shared;
        let pixels = Format::Pixels.bytes(size, channels)?;
        let head =
            RowHeader::row(described(size, Cut::whole(size).into(), false), channels, pixels)?;
        let sharing = Sharing::new(share);
        Ok(HybridRows {
            host,
            asks,
            size,
            channels,
            sharing,
            decoder,
            least,
            verifies,
            head,
            pixels,
        })
    }

    /// Of what comes out: its size and channels.
    pub(crate) fn output(&self) -> (ImageSize, usize) {
        (self.size, self.channels)
    }

    /// Bytes of a row.
    fn stride(&self) -> usize {
        (RowHeader::BYTES + self.pixels.max(JPEG_ROOM)).next_multiple_of(64)
    }

    /// Bytes of a row on the device in which a picture is decoded.
    pub(crate) fn picture_stride(&self) -> usize {
        self.pixels.saturating_mul(4).max(PICTURE_ROOM).next_multiple_of(256)
    }

    /// What the device is to do with a sample; none if it is the host's by what is seen of it at once.
    fn asked(&self, sample: &Sample<'_>) -> Option<DecodeRequest> {
        let picked = DeviceShare::fixed(self.sharing.per_mille()).picks(sample.seed);
        let jpeg = sample.part(0);
        let begins = picked && jpeg.starts_with(&[0xff, 0xd8]);
        if !begins || jpeg.len() > self.stride() - RowHeader::BYTES {
            return None;
        }
        let asked = self.asks.ask(sample, self.least)?;
        let bytes = Format::Pixels.bytes(asked.size, self.channels).ok()?;
        (bytes <= self.picture_stride()).then_some(asked)
    }

    /// The head of a JPEG that the device is to decode; none if it is the host's.
    fn device_head(&self, sample: &Sample<'_>, scratch: &mut Scratch) -> Option<RowHeader> {
        let DecodeRequest { scale, size, area, flip } = self.asked(sample)?;
        let jpeg = sample.part(0);
        let header = checked(jpeg).ok()?;
        let wanted = Wanted { scale, channels: self.channels as u8, stored: false };
        // An error of the device is reported by the call that decodes.
        if matches!(self.decoder.admit((jpeg, &header), wanted), Ok(Err(_))) {
            return None;
        }
        if self.verifies && !scratch.get::<Verifier>().is_whole(jpeg, &header) {
            return None;
        }
        let picture = described(size, area.into(), flip);
        let head = RowHeader::store(picture, self.channels, 0, self.picture_stride()).ok()?;
        Some(head.with_bytes(jpeg.len() as u64).with_origin(scale as u32, sample.seed))
    }

    /// Writes a row as the host makes it.
    ///
    /// # Errors
    /// The sample can't be decoded.
    pub(crate) fn write_on_host(
        &self,
        sample: &Sample<'_>,
        row: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let (head, behind) = split(row)?;
        let room = behind.len();
        let pixels = behind.get_mut(..self.pixels).ok_or_else(|| too_short(room))?;
        self.host.decode(sample, Row::fixed(pixels), scratch)?;
        head.copy_from_slice(bytemuck::bytes_of(&self.head));
        Ok(())
    }
}

/// A picture of pixels.
fn described(size: ImageSize, area: CropBox, flip: bool) -> Described {
    Described { format: Format::Pixels, size, area, flip }
}

fn too_short(room: usize) -> Error {
    Error::usage(format!("a row with {room} bytes behind its head is too short"))
}

fn split(row: &mut [u8]) -> Result<(&mut [u8], &mut [u8])> {
    let room = row.len();
    row.split_at_mut_checked(RowHeader::BYTES).ok_or_else(|| too_short(room))
}

/// The head of such a row.
pub(crate) fn head_of(row: &[u8]) -> Option<RowHeader> {
    row.get(..RowHeader::BYTES).map(bytemuck::pod_read_unaligned)
}

/// The JPEG behind a head.
pub(crate) fn jpeg_of<'a>(head: &RowHeader, row: &'a [u8]) -> Option<&'a [u8]> {
    row.get(RowHeader::BYTES..)?.get(..usize::try_from(head.bytes()).ok()?)
}

/// Goes through codes without making pixels.
#[derive(Default)]
pub(crate) struct Verifier {
    scanner: Scanner,
    points: Vec<u8>,
}

impl Verifier {
    pub(crate) fn is_whole(&mut self, jpeg: &[u8], header: &Header) -> bool {
        self.points.clear();
        self.scanner.scan(jpeg, header, &mut self.points).is_ok()
    }
}

impl Decode for HybridRows {
    fn parts(&self) -> Vec<String> {
        self.host.parts()
    }

    fn shape(&self) -> RowShape {
        RowShape::Fixed(DType::U8, vec![self.stride()])
    }

    fn validate(&self) -> Result<()> {
        self.host.validate()
    }

    fn group(&self) -> usize {
        self.host.group()
    }

    /// Those of the host alone.
    fn prepare(&self, samples: &[Sample<'_>], scratch: &mut Scratch) {
        let (mut left, mut count) = ([Sample::default(); GROUP], 0);
        let of_host = samples.iter().filter(|sample| self.asked(sample).is_none());
        for (to, sample) in left.iter_mut().zip(of_host) {
            *to = *sample;
            count += 1;
        }
        if count > 0 {
            self.host.prepare(&left[..count], scratch);
        }
    }

    fn decode(&self, sample: &Sample<'_>, mut row: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        let Some(head) = self.device_head(sample, scratch) else {
            return self.write_on_host(sample, row.bytes(), scratch);
        };
        let (to, behind) = split(row.bytes())?;
        let (jpeg, room) = (sample.part(0), behind.len());
        behind.get_mut(..jpeg.len()).ok_or_else(|| too_short(room))?.copy_from_slice(jpeg);
        to.copy_from_slice(bytemuck::bytes_of(&head));
        Ok(())
    }

    fn hooks(&self) -> Option<&dyn DecodeHooks> {
        Some(self)
    }
}

impl DecodeHooks for HybridRows {
    fn wants_entry_points(&self) -> bool {
        self.host.wants_entry_points()
    }
}

impl fmt::Debug for HybridRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = self.sharing.per_mille();
        write!(f, "HybridRows({} x {}, {share} of 1000)", self.size, self.channels)
    }
}

#[cfg(test)]
mod tests;
