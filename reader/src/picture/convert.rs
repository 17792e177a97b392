//! What becomes of a batch of decoded pictures on the device: laid out, widened to another type,
//! normalized, mirrored. Bytes cross the bus, a quarter of what floats would be.
//!
//! Pure: the description, and the same done on the host, which is what the kernel is tested against.

use half::{bf16, f16};

use crate::error::{Error, Result};
use crate::picture::geometry::ImageSize;
use crate::picture::output::{Layout, Normalize};

/// The type of a finished picture's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Element {
    /// Unsigned bytes, 0 to 255.
    #[default]
    U8,
    /// IEEE half precision.
    F16,
    /// The upper half of a single-precision number.
    Bf16,
    /// Single precision.
    F32,
}

impl Element {
    /// Bytes of one element.
    pub fn bytes(self) -> usize {
        match self {
            Element::U8 => 1,
            Element::F16 | Element::Bf16 => 2,
            Element::F32 => 4,
        }
    }
}

/// The shape of a batch as it was decoded: u8 `[rows, height, width, channels]`, without gaps.
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
    /// The channels are not 1, 3 or 4, a side is 0, one picture has 2^31 pixels or more, or the bytes
    /// of all can't be counted.
    pub fn new(rows: usize, size: ImageSize, channels: usize) -> Result<Pictures> {
        if ![1, 3, 4].contains(&channels) {
            let text = format!("pictures have 1, 3 or 4 channels on a device, not {channels}");
            return Err(Error::usage(text));
        }
        if !(1..1 << 31).contains(&size.pixels()) {
            let text = format!("a picture of {size} pixels can't be finished on a device");
            return Err(Error::usage(text));
        }
        let pictures = Pictures { rows, size, channels };
        // Four bytes an element is the most that any finish makes of it.
        let counted = pictures.elements().and_then(|n| n.checked_mul(4));
        counted.ok_or_else(|| Error::usage(format!("{rows} pictures of {size} are too many")))?;
        Ok(pictures)
    }

    /// How many pictures.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Width and height of each, in pixels.
    pub fn size(&self) -> ImageSize {
        self.size
    }

    /// Bytes of a pixel.
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// Bytes of one picture.
    pub fn row_bytes(&self) -> usize {
        self.size.pixels() as usize * self.channels
    }

    /// Bytes of all.
    pub fn bytes(&self) -> usize {
        self.rows * self.row_bytes()
    }

    /// So many pictures of the same size.
    ///
    /// # Errors
    /// As [`Pictures::new`].
    pub fn with_rows(&self, rows: usize) -> Result<Pictures> {
        Pictures::new(rows, self.size, self.channels)
    }

    /// As many pictures, with as many channels, of another size.
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

/// The layout and the elements of finished pictures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Finish {
    layout: Layout,
    element: Element,
    scale: [f32; 4],
    shift: [f32; 4],
}

impl Default for Finish {
    fn default() -> Finish {
        Finish::bytes()
    }
}

impl Finish {
    /// Bytes as they were decoded, pixel by pixel.
    pub fn bytes() -> Finish {
        Finish { layout: Layout::Hwc, element: Element::U8, scale: [1.0; 4], shift: [0.0; 4] }
    }

    /// Numbers, `(byte / 255 - mean) / std`, pixel by pixel. They are worked out in single precision
    /// and rounded to `element`, to the bit as [`Image`](crate::Image) does it on the host.
    ///
    /// # Errors
    /// `element` is [`Element::U8`], or a deviation makes numbers that are none.
    pub fn floats(element: Element, normalize: Normalize) -> Result<Finish> {
        if element == Element::U8 {
            return Err(Error::usage("bytes are not normalized: choose f16, bf16 or f32"));
        }
        let (scale, shift) = normalize.factors();
        if !scale.iter().chain(&shift).all(|x| x.is_finite()) {
            return Err(Error::usage("a standard deviation of 0 normalizes nothing"));
        }
        Ok(Finish { layout: Layout::Hwc, element, scale, shift })
    }

    /// The same in another layout.
    #[must_use]
    pub fn layout(self, layout: Layout) -> Finish {
        Finish { layout, ..self }
    }

    /// The order of a row's elements.
    pub fn layout_of(&self) -> Layout {
        self.layout
    }

    /// Their type.
    pub fn element(&self) -> Element {
        self.element
    }

    /// What a byte is multiplied by, and what is added then, for each of four channels.
    pub fn factors(&self) -> ([f32; 4], [f32; 4]) {
        (self.scale, self.shift)
    }

    /// The shape of what `pictures` become: `[rows, height, width, channels]` or
    /// `[rows, channels, height, width]`.
    pub fn shape(&self, pictures: &Pictures) -> [usize; 4] {
        let (width, height) = (pictures.size.width as usize, pictures.size.height as usize);
        match self.layout {
            Layout::Hwc => [pictures.rows, height, width, pictures.channels],
            Layout::Chw => [pictures.rows, pictures.channels, height, width],
        }
    }

    /// Bytes of what `pictures` become.
    pub fn output_bytes(&self, pictures: &Pictures) -> usize {
        pictures.bytes() * self.element.bytes()
    }

    /// Does it on the host: `from` is u8 `[rows, height, width, channels]`, `flips` u8 `[rows]`, where
    /// anything but 0 mirrors a row left to right, `out` of [`Finish::shape`] in the machine's order
    /// of bytes.
    ///
    /// # Errors
    /// A slice has another length than the shape says.
    pub fn on_host(
        &self,
        pictures: &Pictures,
        from: &[u8],
        flips: Option<&[u8]>,
        out: &mut [u8],
    ) -> Result<()> {
        self.check(pictures, pictures, from, flips, out)?;
        let (channels, width) = (pictures.channels, pictures.size.width as usize);
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

    /// Refuses slices of the wrong length, before anything is written.
    pub(crate) fn check(
        &self,
        pictures: &Pictures,
        finished: &Pictures,
        from: &[u8],
        flips: Option<&[u8]>,
        out: &[u8],
    ) -> Result<()> {
        let fits = |what: &str, has: usize, needs: usize| {
            let text = || format!("{what} have {has} bytes where {needs} are needed");
            if has == needs { Ok(()) } else { Err(Error::usage(text())) }
        };
        fits("pictures", from.len(), pictures.bytes())?;
        fits("flips", flips.map_or(pictures.rows, <[u8]>::len), pictures.rows)?;
        fits("finished pictures", out.len(), self.output_bytes(finished))
    }

    /// Which element of a row a pixel's channel is.
    pub(crate) fn place(&self, pictures: &Pictures, channel: usize, pixel: usize) -> usize {
        match self.layout {
            Layout::Hwc => pixel * pictures.channels + channel,
            Layout::Chw => channel * pictures.size.pixels() as usize + pixel,
        }
    }

    /// Writes a value on a scale of 0 to 255 as element `at` of a row.
    pub(crate) fn put(&self, row: &mut [u8], at: usize, channel: usize, value: f32) {
        let number = value * self.scale[channel] + self.shift[channel];
        let bytes = self.element.bytes();
        let to = &mut row[at * bytes..][..bytes];
        match self.element {
            Element::U8 => to[0] = (value + 0.5).clamp(0.0, 255.0) as u8,
            Element::F16 => to.copy_from_slice(&f16::from_f32(number).to_ne_bytes()),
            Element::Bf16 => to.copy_from_slice(&bf16::from_f32(number).to_ne_bytes()),
            Element::F32 => to.copy_from_slice(&number.to_ne_bytes()),
        }
    }
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
            (Element::F32, (100.0f32 * (1.0 / 255.0)).to_ne_bytes().to_vec()),
            (Element::F16, f16::from_f32(100.0 / 255.0).to_ne_bytes().to_vec()),
            (Element::Bf16, bf16::from_f32(100.0 / 255.0).to_ne_bytes().to_vec()),
        ] {
            let finish = Finish::floats(element, Normalize::unit()).unwrap();
            let mut out = vec![0; finish.output_bytes(&pictures)];
            finish.on_host(&pictures, &[100], None, &mut out).unwrap();
            assert_eq!(out, expected, "{element:?}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        assert!(Pictures::new(1, ImageSize::new(4, 4), 2).is_err());
        assert!(Pictures::new(1, ImageSize::new(0, 4), 3).is_err());
        assert!(Pictures::new(1, ImageSize::new(1 << 16, 1 << 15), 3).is_err());
        assert!(Pictures::new(usize::MAX / 4, ImageSize::new(4, 4), 3).is_err());
        assert!(Finish::floats(Element::U8, Normalize::unit()).is_err());
        assert!(Finish::floats(Element::F32, Normalize::new([0.0; 3], [0.0; 3])).is_err());
        let pictures = Pictures::new(2, ImageSize::new(2, 2), 1).unwrap();
        let finish = Finish::bytes();
        assert!(finish.on_host(&pictures, &[0; 7], None, &mut [0; 8]).is_err());
        assert!(finish.on_host(&pictures, &[0; 8], Some(&[0]), &mut [0; 8]).is_err());
        assert!(finish.on_host(&pictures, &[0; 8], None, &mut [0; 9]).is_err());
    }
}
