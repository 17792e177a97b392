//! The JPEGs of an [`Image`] column that a device may decode, and the requests for them. Runs no decoder.

use std::sync::Arc;

use tarflume_image::{Channels, Elements, Extent, Filter, Turn};
use tarflume_jpeg::Scale;
use tarflume_types::{Error, Result};

use super::settings::Image;
use crate::decode::hybrid::balance::DeviceShare;
use crate::decode::hybrid::request::DecodeRequest;
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
        fits.then(|| SharedJpegs { share, size, channels, requests: Arc::new(self.clone()) })
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
}
