//! Conversion of a batch of decoded pictures on a device: layout, element type, normalization, mirroring. The
//! upload copies bytes, a quarter of the size of f32.
//!
//! Pure: the parameters, and the same conversion on the host, which the kernel is tested against.

use half::{bf16, f16};
use tarflume_types::{Error, Result};

use crate::picture::geometry::ImageSize;
use crate::picture::output::{Layout, Normalize};

/// The element type of converted pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum PixelElement {
    /// Unsigned bytes, 0 to 255.
    #[default]
    U8,
    /// bfloat16: the upper 16 bits of a single-precision number.
    F16,
    /// The upper half of a single-precision number.
    Bf16,
    /// Single precision.
    F32,
}

impl PixelElement {
    /// Size of one element in bytes.
    pub fn bytes(self) -> usize {
        match self {
            PixelElement::U8 => 1,
            PixelElement::F16 | PixelElement::Bf16 => 2,
            PixelElement::F32 => 4,
        }
    }
}

/// The shape of a batch of decoded pictures: u8 `[rows, height, width, channels]`, without gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pictures {
    rows: usize,
    size: ImageSize,
    channels: usize,
}

impl Pictures {
    /// `rows` pictures of `size` with `channels` bytes a pixel.
    ///
    /// # Errors
    /// Returns an error if `channels` is not 1, 3 or 4, if a side is 0, if one picture has 2^31 pixels or
    /// more, or if the size of all pictures overflows.
    pub fn new(rows: usize, size: ImageSize, channels: usize) -> Result<Pictures> {
        if ![1, 3, 4].contains(&channels) {
            let text = format!("pictures have 1, 3 or 4 channels on a device, not {channels}");
            return Err(Error::usage(text));
        }
        if !(1..1 << 31).contains(&size.pixels()) {
            let text = format!("a picture of {size} pixels cannot be converted on a device");
            return Err(Error::usage(text));
        }
        let pictures = Pictures { rows, size, channels };
        // No element type has more than four bytes, so later products cannot overflow either.
        let counted = pictures.elements().and_then(|n| n.checked_mul(4));
        counted.ok_or_else(|| Error::usage(format!("{rows} pictures of {size} are too many")))?;
        Ok(pictures)
    }

    /// Number of pictures.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Width and height of each picture in pixels.
    pub fn size(&self) -> ImageSize {
        self.size
    }

    /// Channels, which is bytes of a pixel.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// Bytes of one picture.
    pub fn row_bytes(&self) -> usize {
        self.size.pixels() as usize * self.channels
    }

    /// Bytes of all pictures.
    pub fn bytes(&self) -> usize {
        self.rows * self.row_bytes()
    }

    /// The same with a different number of pictures.
    ///
    /// # Errors
    /// As [`Pictures::new`].
    pub fn with_rows(&self, rows: usize) -> Result<Pictures> {
        Pictures::new(rows, self.size, self.channels)
    }

    /// The same with a different size.
    ///
    /// # Errors
    /// As [`Pictures::new`].
    pub fn resized(&self, size: ImageSize) -> Result<Pictures> {
        Pictures::new(self.rows, size, self.channels)
    }

    fn elements(&self) -> Option<usize> {
        let row = usize::try_from(self.size.pixels()).ok()?.checked_mul(self.channels)?;
        row.checked_mul(self.rows)
    }
}

/// Layout, element type and normalization of converted pictures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Finish {
    layout: Layout,
    element: PixelElement,
    scale: [f32; 4],
    shift: [f32; 4],
}

impl Default for Finish {
    fn default() -> Finish {
        Finish::bytes()
    }
}

impl Finish {
    /// Decoded bytes, unchanged, as `[height, width, channels]`.
    pub fn bytes() -> Finish {
        Finish { layout: Layout::Hwc, element: PixelElement::U8, scale: [1.0; 4], shift: [0.0; 4] }
    }

    /// Numbers, `(byte / 255 - mean) / std`, as `[height, width, channels]`. Computed in single precision
    /// and rounded to `element`; bit-identical to `Image` on the host.
    ///
    /// # Errors
    /// Returns an error if `element` is [`PixelElement::U8`], or if a standard deviation is zero or not finite.
    pub fn floats(element: PixelElement, normalize: Normalize) -> Result<Finish> {
        if element == PixelElement::U8 {
            return Err(Error::usage("bytes are not normalized; choose f16, bf16 or f32"));
        }
        let (scale, shift) = normalize.factors();
        if !scale.iter().chain(&shift).all(|x| x.is_finite()) {
            return Err(Error::usage("a mean or standard deviation is zero or not finite"));
        }
        Ok(Finish { layout: Layout::Hwc, element, scale, shift })
    }

    /// The same in a different layout.
    #[must_use]
    pub fn layout(self, layout: Layout) -> Finish {
        Finish { layout, ..self }
    }

    /// The layout.
    pub fn layout_of(&self) -> Layout {
        self.layout
    }

    /// The element type.
    pub fn element(&self) -> PixelElement {
        self.element
    }

    /// Scale and shift of each of four channels: `byte * scale + shift`.
    pub fn factors(&self) -> ([f32; 4], [f32; 4]) {
        (self.scale, self.shift)
    }

    /// The shape of converted `pictures`: `[rows, height, width, channels]` or
    /// `[rows, channels, height, width]`.
    pub fn shape(&self, pictures: &Pictures) -> [usize; 4] {
        let width = pictures.size.width as usize;
        let height = pictures.size.height as usize;
        match self.layout {
            Layout::Hwc => [pictures.rows, height, width, pictures.channels],
            Layout::Chw => [pictures.rows, pictures.channels, height, width],
        }
    }

    /// Bytes of converted `pictures`.
    pub fn output_bytes(&self, pictures: &Pictures) -> usize {
        pictures.bytes() * self.element.bytes()
    }

    /// Converts on the host. `from` is u8 `[rows, height, width, channels]`. `flips` is u8 `[rows]`; any
    /// value but 0 mirrors a row left to right. `out` has the shape [`Finish::shape`], in native byte
    /// order.
    ///
    /// # Errors
    /// Returns an error if a slice does not have the expected length.
    pub fn on_host(
        &self,
        pictures: &Pictures,
        from: &[u8],
        flips: Option<&[u8]>,
        out: &mut [u8],
    ) -> Result<()> {
        self.check(pictures, pictures, from, flips, out)?;
        let channels = pictures.channels;
        let width = pictures.size.width as usize;
        let rows = from.chunks_exact(pictures.row_bytes());
        let outs = out.chunks_exact_mut(pictures.row_bytes() * self.element.bytes());
        for (row, (from, out)) in rows.zip(outs).enumerate() {
            let flip = flips.is_some_and(|flips| flips[row] != 0);
            for (y, line) in from.chunks_exact(width * channels).enumerate() {
                for (x, pixel) in line.chunks_exact(channels).enumerate() {
                    let x = if flip { width - 1 - x } else { x };
                    for (channel, &byte) in pixel.iter().enumerate() {
                        let at = self.place(pictures, channel, y * width + x);
                        self.put(out, at, channel, byte.into());
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns an error if a slice has the wrong length. Nothing has been written then.
    pub(crate) fn check(
        &self,
        pictures: &Pictures,
        finished: &Pictures,
        from: &[u8],
        flips: Option<&[u8]>,
        out: &[u8],
    ) -> Result<()> {
        check_bytes("pictures", from.len(), pictures.bytes())?;
        check_bytes("flips", flips.map_or(pictures.rows, <[u8]>::len), pictures.rows)?;
        check_bytes("finished pictures", out.len(), self.output_bytes(finished))
    }

    /// The element of a row that holds a channel of a pixel.
    pub(crate) fn place(&self, pictures: &Pictures, channel: usize, pixel: usize) -> usize {
        match self.layout {
            Layout::Hwc => pixel * pictures.channels + channel,
            Layout::Chw => channel * pictures.size.pixels() as usize + pixel,
        }
    }

    /// Writes `value`, in the range 0 to 255, as element `at` of a row.
    pub(crate) fn put(&self, row: &mut [u8], at: usize, channel: usize, value: f32) {
        let number = value * self.scale[channel] + self.shift[channel];
        let bytes = self.element.bytes();
        let to = &mut row[at * bytes..][..bytes];
        match self.element {
            PixelElement::U8 => to[0] = (value + 0.5).clamp(0.0, 255.0) as u8,
            PixelElement::F16 => to.copy_from_slice(&f16::from_f32(number).to_ne_bytes()),
            PixelElement::Bf16 => to.copy_from_slice(&bf16::from_f32(number).to_ne_bytes()),
            PixelElement::F32 => to.copy_from_slice(&number.to_ne_bytes()),
        }
    }
}

/// Returns an error if a slice has another length than it needs.
fn check_bytes(what: &str, has: usize, needs: usize) -> Result<()> {
    if has == needs {
        return Ok(());
    }
    Err(Error::usage(format!("{what} have {has} bytes where {needs} are needed")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pixel_goes_where_the_layout_says_and_the_mirror_puts_it() {
        let pictures = Pictures::new(2, ImageSize::new(2, 1), 3).unwrap();
        let from: Vec<u8> = (0..12).collect();
        let mut out = vec![0; 12];
        let flips = [0, 1];
        Finish::bytes().on_host(&pictures, &from, Some(&flips), &mut out).unwrap();
        assert_eq!(out, [0, 1, 2, 3, 4, 5, 9, 10, 11, 6, 7, 8]);
        let chw = Finish::bytes().layout(Layout::Chw);
        chw.on_host(&pictures, &from, Some(&flips), &mut out).unwrap();
        assert_eq!(out, [0, 3, 1, 4, 2, 5, 9, 6, 10, 7, 11, 8]);
        assert_eq!(chw.shape(&pictures), [2, 3, 1, 2]);
    }

    #[test]
    fn numbers_are_rounded_to_the_element() {
        let pictures = Pictures::new(1, ImageSize::new(1, 1), 1).unwrap();
        for (element, expected) in [
            (PixelElement::F32, (100.0f32 * (1.0 / 255.0)).to_ne_bytes().to_vec()),
            (PixelElement::F16, f16::from_f32(100.0 / 255.0).to_ne_bytes().to_vec()),
            (PixelElement::Bf16, bf16::from_f32(100.0 / 255.0).to_ne_bytes().to_vec()),
        ] {
            let finish = Finish::floats(element, Normalize::unit()).unwrap();
            let mut out = vec![0; finish.output_bytes(&pictures)];
            finish.on_host(&pictures, &[100], None, &mut out).unwrap();
            assert_eq!(out, expected, "{element:?}");
        }
    }

    #[test]
    fn impossible_values_are_refused() {
        assert!(Pictures::new(1, ImageSize::new(4, 4), 2).is_err());
        assert!(Pictures::new(1, ImageSize::new(0, 4), 3).is_err());
        assert!(Pictures::new(1, ImageSize::new(1 << 16, 1 << 15), 3).is_err());
        assert!(Pictures::new(usize::MAX / 4, ImageSize::new(4, 4), 3).is_err());
        assert!(Finish::floats(PixelElement::U8, Normalize::unit()).is_err());
        assert!(Finish::floats(PixelElement::F32, Normalize::new([0.0; 3], [0.0; 3])).is_err());
        let pictures = Pictures::new(2, ImageSize::new(2, 2), 1).unwrap();
        let finish = Finish::bytes();
        assert!(finish.on_host(&pictures, &[0; 7], None, &mut [0; 8]).is_err());
        assert!(finish.on_host(&pictures, &[0; 8], Some(&[0]), &mut [0; 8]).is_err());
        assert!(finish.on_host(&pictures, &[0; 8], None, &mut [0; 9]).is_err());
    }
}
