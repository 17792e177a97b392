//! What an [`Image`] lets a device decode, and what it asks of it. The host does the rest.

use std::sync::Arc;

use tarflume_jpeg::Scale;

use super::settings::Image;
use crate::decode::hybrid::balance::DeviceShare;
use crate::decode::hybrid::request::DecodeRequest;
use crate::decode::opened::Source;
use crate::decode::{Asks, Sample, Shared};
use crate::error::{Error, Result};
use crate::picture::geometry::Extent;
use crate::picture::orientation::Turn;
use crate::picture::pixels::Channels;
use crate::picture::resize::Filter;

impl Image {
    /// A device's own JPEG decoder (NVIDIA's nvJPEG) makes so many of the pictures, the CPU the rest of
    /// each batch. Where there is none, the CPU makes them all, and the loader's statistics say why; so it
    /// does of tars without an index.
    ///
    /// Only with an output of one size, [`Filter::Bilinear`], and one or three channels. To the CPU go,
    /// whatever the share, all but baseline JPEGs of usual sampling, those that EXIF turns, gray ones that
    /// become RGB, those longer than the row has room for or too large when decoded, and pictures of
    /// transforms whose filter sees more than what becomes the output
    /// ([`ResizeCenterCrop`](crate::ResizeCenterCrop)).
    ///
    /// Both decoders round in their own way: pixels differ by up to 4 of 255 before they are resized.
    /// With [`DeviceShare::fixed`] the same pictures go to the device in every run. Of a JPEG that is damaged
    /// among its codes a device may make something and say nothing.
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

    /// Checks that a device can do what it was asked for.
    pub(super) fn check_device_decoder(&self) -> Result<()> {
        let fixed = matches!(self.transform.extent(), Extent::Fixed(_));
        if self.decoded.is_some()
            && !(fixed && self.filter == Filter::Bilinear && self.share.is_none())
        {
            let text = "resize_on_device needs a transform of one output size and Filter::Bilinear, and does not go \
                        together with device_decoder";
            return Err(Error::usage(text));
        }
        if self.share.is_none() || self.shared().is_some() {
            return Ok(());
        }
        let text = "device_decoder needs a transform of one output size, Filter::Bilinear, and RGB or gray";
        Err(Error::usage(text))
    }

    /// What a device may decode.
    pub(super) fn shared(&self) -> Option<Shared> {
        let share = self.share.clone()?;
        let Extent::Fixed(size) = self.transform.extent() else { return None };
        let fits = self.filter == Filter::Bilinear && self.channels != Channels::Rgba;
        let channels = self.channels.count();
        fits.then(|| Shared { share, size, channels, asks: Arc::new(self.clone()) })
    }
}

impl Asks for Image {
    fn ask(&self, sample: &Sample<'_>, least: Scale) -> Option<DecodeRequest> {
        let source = self.source(sample).ok()?;
        let (turn, upright, placement) = self.placed(sample, &source).ok()?;
        placement.check(upright).and_then(|()| self.check_size(placement.size)).ok()?;
        let Source::Jpeg(jpeg) = source else { return None };
        let made_gray = self.channels == Channels::Gray;
        let fits =
            turn == Turn::default() && placement.is_tight() && (made_gray || !jpeg.is_gray());
        fits.then(|| jpeg.asked(&placement, self.reducing_gap, least))
    }
}
