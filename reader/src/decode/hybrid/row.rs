//! `HybridRows`: rows with a header and either pixels that the host decoded or a JPEG for the device to decode: all of
//! it, or a record of a part. Each sample decides by itself which of them it is. Does not run the device's decoder.

use std::fmt;
use std::sync::Arc;

use tarflume_device::jpeg_decoder::{JpegDecoder, WantedJpeg};
use tarflume_device::jpeg_support::checked;
use tarflume_device::memory::jpeg_kernels::JpegRoom;
use tarflume_image::crop::CropBox;
use tarflume_image::row_header::{Format, RowHeader, RowPicture};
use tarflume_image::{Cut, ImageSize, StoredPicture, StoredRegion};
use tarflume_jpeg::{Header, Scale, Scanner};
use tarflume_types::{DType, Error, Result, Row, RowShape};

use crate::decode::hybrid::balance::DeviceShare;
use crate::decode::hybrid::request::{DecodeRequest, OffloadRequest};
use crate::decode::hybrid::sharing::Sharing;
use crate::decode::{
    ColumnRecipe, Decode, DecodeHooks, DecodeRequests, Sample, Scratch, SharedJpegs,
};

/// Bytes of a row for a JPEG. Photographs of 500 x 375 pixels have 110 kB and rarely more than this.
const JPEG_ROOM: usize = 160 << 10;

/// Bytes of a picture on the device at the scale at which it is decoded: 640 x 546 in RGB. If the output is large,
/// four times its size instead.
pub(crate) const PICTURE_ROOM: usize = 1 << 20;

/// The device has room for one block of coefficients for each 64 bytes of `picture_stride`: 16,384 blocks for 1 MiB. A
/// picture of 640 x 546 pixels that is not reduced has 8,400 blocks in 4:2:0. In 4:4:4 it has 16,560, and the host
/// decodes it.
const BYTES_OF_BLOCK: u64 = 64;

/// Samples that are prepared together.
const GROUP: usize = 8;

/// What decodes the JPEGs of rows on the device.
pub(crate) enum RowDecoder {
    /// A library, which gets whole JPEGs.
    Library {
        /// Decides which JPEGs it can decode.
        decoder: Arc<dyn JpegDecoder>,
        /// The smallest scale that it supports.
        least: Scale,
        /// Whether all codes of a JPEG are read before it goes to the device, so that damage is found here.
        verifies: bool,
    },
    /// Our kernels, which get records and report what they do not decode.
    Kernels,
}

/// A column of hybrid rows.
pub(crate) struct HybridRows {
    /// The host's decoder, whose rows are u8 `[height, width, channels]`.
    host: Arc<dyn Decode>,
    requests: Arc<dyn DecodeRequests>,
    size: ImageSize,
    channels: usize,
    pub(crate) sharing: Sharing,
    by: RowDecoder,
    /// The header of rows that the host decoded.
    head: RowHeader,
    pixels: usize,
}

impl HybridRows {
    /// Divides the rows of `host` with a device.
    ///
    /// # Errors
    /// Returns an error if the output is too large for a device.
    pub(crate) fn new(
        host: Arc<dyn Decode>,
        shared: SharedJpegs,
        by: RowDecoder,
    ) -> Result<HybridRows> {
        let SharedJpegs { share, size, channels, requests, .. } = shared;
        let pixels = Format::Pixels.bytes(size, channels)?;
        let head =
            RowHeader::row(described(size, Cut::whole(size).into(), false), channels, pixels)?;
        let sharing = Sharing::new(share);
        Ok(HybridRows { host, requests, size, channels, sharing, by, head, pixels })
    }

    /// Size and channels of the output.
    pub(crate) fn output(&self) -> (ImageSize, usize) {
        (self.size, self.channels)
    }

    /// Bytes of a row.
    fn stride(&self) -> usize {
        (RowHeader::BYTES + self.pixels.max(JPEG_ROOM)).next_multiple_of(64)
    }

    /// Bytes of device memory for decoding the picture of a row.
    pub(crate) fn picture_stride(&self) -> usize {
        self.pixels.saturating_mul(4).max(PICTURE_ROOM).next_multiple_of(256)
    }

    /// The room for each picture that our kernels decode.
    pub(crate) fn kernel_room(&self) -> JpegRoom {
        let pixels = self.picture_stride() as u64;
        let record = (self.stride() - RowHeader::BYTES) as u64;
        JpegRoom { record, blocks: pixels / BYTES_OF_BLOCK, samples: pixels }
    }

    /// Whether the sample is in the device's share and starts as a JPEG.
    fn is_picked(&self, sample: &Sample<'_>) -> bool {
        DeviceShare::fixed(self.sharing.per_mille()).picks(sample.seed)
            && sample.part(0).starts_with(&[0xff, 0xd8]) // SOI
    }

    /// Whether the device may decode the sample, by checks that read no codes.
    fn may_go_to_device(&self, sample: &Sample<'_>) -> bool {
        self.is_picked(sample)
            && match &self.by {
                RowDecoder::Library { least, .. } => self.library_request(sample, *least).is_some(),
                RowDecoder::Kernels => sample.entry_points(0).is_some(),
            }
    }

    /// The request for the library; `None` if the host decodes the sample.
    fn library_request(&self, sample: &Sample<'_>, least: Scale) -> Option<DecodeRequest> {
        if sample.part(0).len() > self.stride() - RowHeader::BYTES {
            return None;
        }
        let request = self.requests.request(sample, least)?;
        let bytes = Format::Pixels.bytes(request.size, self.channels).ok()?;
        (bytes <= self.picture_stride()).then_some(request)
    }

    /// Writes what the device needs behind the head of a row. Returns the head; `None` if the host decodes the sample.
    fn write_for_device(
        &self,
        sample: &Sample<'_>,
        behind: &mut [u8],
        scratch: &mut Scratch,
    ) -> Option<RowHeader> {
        if !self.is_picked(sample) {
            return None;
        }
        let (request, length) = match &self.by {
            RowDecoder::Library { decoder, least, verifies } => {
                let request = self.library_request(sample, *least)?;
                let jpeg = sample.part(0);
                let header = checked(jpeg).ok()?;
                let channels = self.channels as u8;
                let wanted = WantedJpeg { scale: request.scale, channels, stored: false };
                // An error of the device itself is reported by the later call that decodes.
                if matches!(decoder.admit(jpeg, &header, wanted), Ok(Err(_))) {
                    return None;
                }
                if *verifies && !scratch.get::<Verifier>().is_whole(jpeg, &header) {
                    return None;
                }
                behind.get_mut(..jpeg.len())?.copy_from_slice(jpeg);
                (request, jpeg.len())
            }
            RowDecoder::Kernels => {
                let OffloadRequest { work, request } = self.requests.offload(sample)?;
                if !self.kernel_room().holds(&work) {
                    return None;
                }
                (request, work.write(sample.part(0), behind)?)
            }
        };
        let DecodeRequest { scale, size, area, flip } = request;
        let picture = described(size, area.into(), flip);
        let head = RowHeader::store(picture, self.channels, 0, self.picture_stride()).ok()?;
        Some(head.with_bytes(length as u64).with_origin(scale as u32, sample.seed))
    }

    /// Decodes a row on the host.
    ///
    /// # Errors
    /// Returns an error if the sample cannot be decoded.
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

/// Describes a picture of interleaved pixels.
fn described(size: ImageSize, area: CropBox, flip: bool) -> RowPicture {
    RowPicture { format: Format::Pixels, size, area, flip }
}

fn too_short(room: usize) -> Error {
    Error::usage(format!("a row with {room} bytes after its header is too short"))
}

fn split(row: &mut [u8]) -> Result<(&mut [u8], &mut [u8])> {
    let room = row.len();
    row.split_at_mut_checked(RowHeader::BYTES).ok_or_else(|| too_short(room))
}

/// The header of a hybrid row.
pub(crate) fn head_of(row: &[u8]) -> Option<RowHeader> {
    row.get(..RowHeader::BYTES).map(bytemuck::pod_read_unaligned)
}

/// The JPEG, or the record, after a header.
pub(crate) fn jpeg_of<'a>(head: &RowHeader, row: &'a [u8]) -> Option<&'a [u8]> {
    row.get(RowHeader::BYTES..)?.get(..usize::try_from(head.bytes()).ok()?)
}

/// Reads all codes of a JPEG without computing pixels.
#[derive(Default)]
pub(crate) struct Verifier {
    scanner: Scanner,
    points: Vec<u8>,
}

impl Verifier {
    /// Returns true if nothing is wrong with a JPEG: the CPU decodes irregular ones.
    pub(crate) fn is_whole(&mut self, jpeg: &[u8], header: &Header) -> bool {
        self.points.clear();
        matches!(self.scanner.scan(jpeg, header, &mut self.points), Ok(None))
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

    /// Prepares only the samples that the host will decode. A later check may move more samples to the host;
    /// these are decoded one by one.
    fn prepare(&self, samples: &[Sample<'_>], scratch: &mut Scratch) {
        let mut left = [Sample::default(); GROUP];
        let mut count = 0;
        let of_host = samples.iter().filter(|sample| !self.may_go_to_device(sample));
        for (to, sample) in left.iter_mut().zip(of_host) {
            *to = *sample;
            count += 1;
        }
        if count > 0 {
            self.host.prepare(&left[..count], scratch);
        }
    }

    fn decode(&self, sample: &Sample<'_>, mut row: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        let (to, behind) = split(row.bytes())?;
        match self.write_for_device(sample, behind, scratch) {
            Some(head) => to.copy_from_slice(bytemuck::bytes_of(&head)),
            None => self.write_on_host(sample, row.bytes(), scratch)?,
        }
        Ok(())
    }

    fn hooks(&self) -> Option<&dyn DecodeHooks> {
        Some(self)
    }

    fn wants_entry_points(&self) -> bool {
        self.host.wants_entry_points()
    }
}

impl DecodeHooks for HybridRows {
    /// The recipe is only read: the host's column keeps the draws.
    fn recipe(&self) -> Option<ColumnRecipe<'_>> {
        self.host.hooks()?.recipe()
    }

    /// As the host's column: the library needs whole JPEGs, kernels no other rows than the host.
    fn takes_excerpts(&self) -> bool {
        let hooks = self.host.hooks().filter(|_| matches!(self.by, RowDecoder::Kernels));
        hooks.is_some_and(DecodeHooks::takes_excerpts)
    }

    fn region(&self, picture: &StoredPicture) -> Option<StoredRegion> {
        self.host.hooks()?.region(picture)
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
