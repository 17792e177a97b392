//! The JPEGs of an [`Image`] column that a device may decode, and the requests for them. Runs no decoder.

use std::sync::Arc;

use tarflume_image::crop::CropBox;
use tarflume_image::{Channels, Elements, Extent, Filter, ImageSize, Turn};
use tarflume_jpeg::{Color, Scale};
use tarflume_types::{Error, Result};

use super::settings::Image;
use crate::decode::hybrid::balance::DeviceShare;
use crate::decode::hybrid::request::{DecodeRequest, DecodedBy, OffloadRequest};
use crate::decode::pictures::open_picture::PictureSource;
use crate::decode::{DecodeRequests, Sample, SharedJpegs};

impl Image {
    /// Lets the device's JPEG decoder (NVIDIA's nvJPEG) decode a share of the pictures; the CPU decodes the rest of
    /// each batch. Without such a decoder, and for tars without an index, the CPU decodes all pictures and the
    /// loader's statistics state why.
    ///
    /// Requires a fixed output size, [`Filter::Bilinear`], and one or three channels. Regardless of the share, the CPU
    /// decodes everything but baseline JPEGs of usual subsampling, pictures with an EXIF turn, gray pictures that
    /// become RGB, pictures that are too long for the row or too large when decoded, and pictures of transforms whose
    /// filter reads pixels outside the box that becomes the output ([`ResizeCenterCrop`](crate::ResizeCenterCrop)).
    ///
    /// The two decoders round differently: pixels differ by up to 4 of 255 before resizing. With [`DeviceShare::fixed`] the
    /// same pictures go to the device in every run. A device may decode a JPEG with damaged codes without reporting an
    /// error.
    ///
    /// ```
    /// use tarflume::{DeviceShare, Image, RandomResizedCrop};
    ///
    /// let crop = RandomResizedCrop::new(224).flip(0.5);
    /// let pictures = Image::new("jpg", crop).device_decoder(DeviceShare::fixed(650)); // 65 %
    /// ```
    #[must_use]
    pub fn device_decoder(mut self, share: DeviceShare) -> Self {
        self.share = Some(share);
        self.decoder = DecodedBy::Library;
        self
    }

    /// Lets kernels of this crate decode a share of the JPEGs on the device; the CPU decodes the rest of each batch. Rows
    /// equal those of the host to the bit, whatever the share. **The kernels have not run on a GPU yet**: they are tested
    /// on simulated GPUs alone.
    ///
    /// Of a JPEG, only the rows of blocks that its crop needs cross to the device, where one thread decodes each piece
    /// between two entry points. The CPU decodes JPEGs without entry points (`pack index --entry-points`), and those that
    /// are turned by EXIF, longer than 160 KiB in these rows, or larger than a device has room for; other kinds than
    /// sequential JPEGs of 8 bits with one or three components; and pictures whose kernels report a fault. Those are read
    /// again. A picture of forged entry points that turns out to be bad then is left out even where bad samples are
    /// replaced.
    ///
    /// Requires a fixed output size, [`Filter::Bilinear`], and one or three channels. Without a device that has the
    /// kernels, the CPU decodes all pictures, and the loader's statistics state why.
    ///
    /// ```
    /// use tarflume::{DeviceShare, Image, RandomResizedCrop};
    ///
    /// let crop = RandomResizedCrop::new(224).flip(0.5);
    /// let pictures = Image::new("jpg", crop).device_kernels(DeviceShare::fixed(1000)); // all
    /// ```
    #[must_use]
    pub fn device_kernels(mut self, share: DeviceShare) -> Self {
        self.share = Some(share);
        self.decoder = DecodedBy::Kernels;
        self
    }

    /// Checks that a device can do what the options request.
    pub(super) fn check_device_decoder(&self) -> Result<()> {
        let fixed = matches!(self.transform.extent(), Extent::Fixed(_));
        if self.decoded.is_some()
            && !(fixed
                && self.resize_filter() == Filter::Bilinear
                && self.share.is_none()
                && self.elements != Elements::Words)
        {
            let text = "resize_on_device needs a transform of one output size and Filter::Bilinear, and cannot be \
                        combined with device_decoder or rows of 16-bit integers";
            return Err(Error::usage(text));
        }
        if self.share.is_none() || self.shared().is_some() {
            return Ok(());
        }
        let text = "device_decoder needs a transform of one output size, Filter::Bilinear, RGB or gray, \
                    and rows of bytes or floats";
        Err(Error::usage(text))
    }

    /// The JPEGs that a device may decode; `None` if the options exclude it.
    pub(super) fn shared(&self) -> Option<SharedJpegs> {
        let share = self.share.clone()?;
        let Extent::Fixed(size) = self.transform.extent() else { return None };
        let fits = self.resize_filter() == Filter::Bilinear
            && self.channels != Channels::Rgba
            && self.elements != Elements::Words;
        let channels = self.channels.count();
        let decoder = self.decoder;
        let requests = Arc::new(self.clone());
        fits.then_some(SharedJpegs { share, size, channels, decoder, requests })
    }
}

impl DecodeRequests for Image {
    fn request(&self, sample: &Sample<'_>, least: Scale) -> Option<DecodeRequest> {
        // A picture of a kind that is not decoded here is not a JPEG for a device either.
        let source = self.source(sample).ok()?;
        let (turn, upright, placement) =
            self.placed(sample.seed, source.size(), source.turn()).ok()?;
        placement.check(upright).and_then(|()| self.check_size(placement.size)).ok()?;
        let PictureSource::Jpeg(jpeg) = source else { return None };
        let made_gray = self.channels.is_one();
        let fits =
            turn == Turn::default() && placement.is_tight() && (made_gray || !jpeg.is_gray());
        fits.then(|| jpeg.request(&placement, self.gap(), least))
    }

    fn offload(&self, sample: &Sample<'_>) -> Option<OffloadRequest> {
        let PictureSource::Jpeg(jpeg) = self.source(sample).ok()? else { return None };
        let placed = self.placed_as_stored(sample.seed, jpeg.size(), jpeg.turn());
        let (turn, _, placement) = placed.ok()?;
        if turn.transpose || turn.upend {
            return None;
        }
        let view = jpeg.view(&placement, self.gap());
        let placement = view.place(&placement);
        // A box whose numbers were rounded would give other bytes than the host's.
        let is_exact = CropBox::from(placement.area).equals(&placement.area);
        if !placement.is_tight() || !is_exact {
            return None;
        }
        let color = if self.channels.is_one() { Color::Gray } else { Color::Rgb };
        let work = jpeg.offload(&view, color)?;
        let size = ImageSize::new(view.region.width, view.region.height);
        let request =
            DecodeRequest { scale: view.scale, size, area: placement.area, flip: turn.mirror };
        Some(OffloadRequest { work, request })
    }
}
