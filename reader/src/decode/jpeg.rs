//! `Jpeg`: the scale and the blocks that a placement needs of a JPEG, and the job for the decoder.
//!
//! `tarflume-jpeg` decodes.

use tarflume_image::{Area, Channels, Cut, ImageSize, Pixels, Placement, Turn};
use tarflume_jpeg::{Color, Excerpt, Header, Job, Offload, OnDamage, Region, Scale, Size};
use tarflume_types::{Error, ErrorKind, Result};

use crate::decode::hybrid::request::DecodeRequest;

/// A JPEG whose header was read.
#[derive(Debug)]
pub(super) struct Jpeg<'a> {
    bytes: &'a [u8],
    header: Header,
    entry_points: Option<&'a [u8]>,
    excerpt: Option<Excerpt<'a>>,
    on_damage: OnDamage,
}

/// The part of a JPEG that is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct View {
    pub(super) scale: Scale,
    pub(super) region: Region,
}

impl<'a> Jpeg<'a> {
    /// Parses the header.
    ///
    /// # Errors
    /// Returns an error if the header is truncated or damaged.
    pub(super) fn open(
        bytes: &'a [u8],
        entry_points: Option<&'a [u8]>,
        excerpt: Option<Excerpt<'a>>,
    ) -> Result<Jpeg<'a>> {
        let header = Header::parse(bytes).map_err(convert_error)?;
        Ok(Jpeg { bytes, header, entry_points, excerpt, on_damage: OnDamage::Refuse })
    }

    /// Decodes it even if pixels are lost.
    pub(super) fn keep_damaged(&mut self) {
        self.on_damage = OnDamage::Keep;
    }

    /// Size as stored, before any turn.
    pub(super) fn size(&self) -> ImageSize {
        ImageSize::new(self.header.width(), self.header.height())
    }

    pub(super) fn has_entry_points(&self) -> bool {
        self.entry_points.is_some()
    }

    /// The turn of its orientation, if it has one.
    pub(super) fn turn(&self) -> Turn {
        self.header.orientation().map(Turn::of_exif).unwrap_or_default()
    }

    /// The part to decode for a placement on the stored picture, reduced as far as at least `gap` times the
    /// output remains on both axes; at full scale if `None`.
    pub(super) fn view(&self, placement: &Placement, gap: Option<f64>) -> View {
        view(self.stored(), placement, gap, Scale::Eighth)
    }

    fn stored(&self) -> ImageSize {
        ImageSize::new(self.header.width(), self.header.height())
    }

    pub(super) fn is_gray(&self) -> bool {
        self.header.channels() == 1
    }

    /// The request for a decoder that decodes the whole picture.
    pub(super) fn request(
        &self,
        placement: &Placement,
        gap: Option<f64>,
        least: Scale,
    ) -> DecodeRequest {
        request(self.stored(), placement, gap, least)
    }

    /// Maximum memory for decoding in addition to the JPEG, in bytes.
    ///
    /// # Errors
    /// Returns an error if the view is outside the picture.
    pub(super) fn memory(&self, view: &View) -> Result<u64> {
        let View { scale, region } = *view;
        let pixels = u64::from(region.width) * u64::from(region.height) * 3;
        let beside =
            self.header.memory(self.bytes.len(), scale, Some(region)).map_err(convert_error)?;
        let kept = match self.on_damage {
            OnDamage::Refuse => 0,
            OnDamage::Keep => self.header.memory_to_keep(),
        };
        Ok(pixels + beside + kept)
    }

    /// What kernels need to decode a view; `None` if they cannot, or if the JPEG is damaged.
    pub(super) fn offload(&self, view: &View, color: Color) -> Option<Offload> {
        let View { scale, region } = *view;
        let job = Job {
            entry_points: self.entry_points,
            excerpt: self.excerpt,
            region: Some(region),
            scale,
            color,
            ..Job::new(self.bytes, &self.header, &mut [])
        };
        Offload::of_job(&job).ok().flatten()
    }

    /// The job that decodes a view into `pixels`.
    ///
    /// # Errors
    /// Returns an error if memory is exhausted.
    pub(super) fn job<'b>(
        &'b self,
        view: &View,
        wanted: Channels,
        pixels: &'b mut Pixels,
    ) -> Result<Job<'b>> {
        let gray = self.header.channels() == 1 || wanted.is_one();
        let color = if gray { Color::Gray } else { Color::Rgb };
        let View { scale, region } = *view;
        pixels.set(ImageSize::new(region.width, region.height), color.bytes())?;
        Ok(Job {
            bytes: self.bytes,
            header: &self.header,
            entry_points: self.entry_points,
            excerpt: self.excerpt,
            region: Some(region),
            scale,
            color,
            on_damage: self.on_damage,
            stride: region.width as usize * color.bytes(),
            output: &mut pixels.bytes,
        })
    }
}

/// The part to decode for a placement on a picture of size `stored`, at no scale smaller than `smallest`.
pub(super) fn view(
    stored: ImageSize,
    placement: &Placement,
    gap: Option<f64>,
    smallest: Scale,
) -> View {
    let scale = scale_for(placement, gap, smallest);
    View { scale, region: region_of(stored, placement.cut, scale) }
}

/// The scale for a placement, not smaller than `smallest`: the picture is reduced as far as at least `gap` times the
/// output remains on both axes.
pub(super) fn scale_for(placement: &Placement, gap: Option<f64>, smallest: Scale) -> Scale {
    let Placement { area, size, .. } = *placement;
    gap.map_or(Scale::Full, |gap| {
        // What becomes the output, which may be less than the pixels that may be read.
        let from = Size { width: area.width.ceil() as u32, height: area.height.ceil() as u32 };
        let to = Size { width: least_side(size.width, gap), height: least_side(size.height, gap) };
        let scale = Scale::at_least(from, to);
        if scale as u32 > smallest as u32 { smallest } else { scale }
    })
}

/// `gap` times the side of an output, rounded up.
#[inline]
fn least_side(output: u32, gap: f64) -> u32 {
    (f64::from(output) * gap).ceil() as u32
}

/// The reduced pixels of a cut of a picture of size `stored`.
pub(super) fn region_of(stored: ImageSize, cut: Cut, scale: Scale) -> Region {
    let Size { width, height } = scale.of(stored.width, stored.height);
    // A reduced pixel covers `across` pixels; the region includes those that are partly in the cut.
    let across = 1u32 << scale as u32;
    let left = cut.left / across;
    let top = cut.top / across;
    let right = (cut.left + cut.size.width).div_ceil(across).min(width);
    let bottom = (cut.top + cut.size.height).div_ceil(across).min(height);
    Region { left, top, width: right - left, height: bottom - top }
}

/// The request for a JPEG of size `stored` to a decoder that decodes the whole picture, at no scale smaller than
/// `least`.
pub(super) fn request(
    stored: ImageSize,
    placement: &Placement,
    gap: Option<f64>,
    least: Scale,
) -> DecodeRequest {
    let View { scale, .. } = view(stored, placement, gap, least);
    let Size { width, height } = scale.of(stored.width, stored.height);
    let whole = View { scale, region: Region { left: 0, top: 0, width, height } };
    let Placement { area, flip, .. } = whole.place(placement);
    DecodeRequest { scale, size: ImageSize::new(width, height), area, flip }
}

impl View {
    /// Converts a placement on the stored picture into one on the pixels of this view.
    pub(super) fn place(&self, placement: &Placement) -> Placement {
        let Region { left, top, width, height } = self.region;
        let shrink = 1.0 / f64::from(1u32 << self.scale as u32);
        let Area { left: x, top: y, width: across, height: down } = placement.area;
        Placement {
            cut: Cut::whole(ImageSize::new(width, height)),
            area: Area {
                left: x * shrink - f64::from(left),
                top: y * shrink - f64::from(top),
                width: across * shrink,
                height: down * shrink,
            },
            ..*placement
        }
    }

    /// As [`View::place`], for a placement that needs only a part of this view of a picture of size `stored`: the filter
    /// reads no pixel outside that part.
    pub(super) fn place_part(&self, stored: ImageSize, placement: &Placement) -> Placement {
        let Region { left, top, width, height } = region_of(stored, placement.cut, self.scale);
        let cut = Cut {
            left: left - self.region.left,
            top: top - self.region.top,
            size: ImageSize::new(width, height),
        };
        Placement { cut, ..self.place(placement) }
    }
}

/// Converts an error of the decoder.
pub(super) fn convert_error(error: tarflume_jpeg::Error) -> Error {
    let kind = match error.kind() {
        tarflume_jpeg::ErrorKind::Limit => ErrorKind::Limit,
        tarflume_jpeg::ErrorKind::Unsupported => ErrorKind::Unsupported,
        _ => ErrorKind::Decode,
    };
    let place = match (error.byte(), error.mcu_row()) {
        (Some(byte), Some(row)) => format!(" at byte {byte} of the part, MCU row {row}"),
        (Some(byte), None) => format!(" at byte {byte} of the part"),
        (None, _) => String::new(),
    };
    Error::new(kind, format!("bad JPEG{place}: {}", error.text()))
}

#[cfg(test)]
mod tests;
