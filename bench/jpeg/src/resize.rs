//! Resizers of the competitors that need one: bilinear, antialiased as Pillow's, RGB. `tarflume_jpeg::Resizer`
//! for the project's own decoder, `fast_image_resize` for all others. Both give the same bytes.

use fast_image_resize::images::{TypedCroppedImage, TypedImage, TypedImageRef};
use fast_image_resize::pixels::U8x3;
use fast_image_resize::{CpuExtensions, FilterType, ResizeAlg, ResizeOptions, Resizer};
use tarflume_jpeg::Resizing;

use crate::work::{SIDE, Window};

/// Bytes of a finished crop.
pub(crate) const ROOM: usize = (SIDE * SIDE * 3) as usize;

/// The project's own resizer, and the last crop.
pub(crate) struct OwnResize {
    resizer: tarflume_jpeg::Resizer,
    crop: Vec<u8>,
}

impl OwnResize {
    pub(crate) fn new() -> OwnResize {
        OwnResize { resizer: tarflume_jpeg::Resizer::new(), crop: vec![0; ROOM] }
    }

    /// Resizes a box whose edges may lie between pixels.
    pub(crate) fn part(
        &mut self,
        pixels: &[u8],
        size: (u32, u32),
        (left, top, width, height): (f64, f64, f64, f64),
    ) -> Result<&[u8], String> {
        let job = Resizing {
            bytes: pixels,
            stride: size.0 as usize * 3,
            size,
            channels: 3,
            area: [left, top, width, height],
            out_size: (SIDE, SIDE),
            flip: false,
            output: &mut self.crop,
        };
        self.resizer.resize(job).map_err(|e| e.to_string())?;
        Ok(&self.crop)
    }
}

/// `fast_image_resize` with its buffers and the last crop.
pub(crate) struct Resize {
    resizer: Resizer,
    crop: Vec<u8>,
}

impl Resize {
    pub(crate) fn new() -> Resize {
        Resize { resizer: Resizer::new(), crop: vec![0; ROOM] }
    }

    /// Cuts `window` out of pixels of this size, then resizes: no pixel beyond the window counts.
    pub(crate) fn cut(
        &mut self,
        pixels: &[u8],
        size: (u32, u32),
        window: Window,
    ) -> Result<&[u8], String> {
        let Window { left, top, width, height } = window;
        let whole = (0.0, 0.0, f64::from(width), f64::from(height));
        self.run(pixels, size, (left, top, width, height), whole)
    }

    /// Resizes a box whose edges lie between pixels.
    pub(crate) fn part(
        &mut self,
        pixels: &[u8],
        size: (u32, u32),
        area: (f64, f64, f64, f64),
    ) -> Result<&[u8], String> {
        self.run(pixels, size, (0, 0, size.0, size.1), area)
    }

    fn run(
        &mut self,
        pixels: &[u8],
        (width, height): (u32, u32),
        cut: (u32, u32, u32, u32),
        area: (f64, f64, f64, f64),
    ) -> Result<&[u8], String> {
        let pixels = &pixels[..width as usize * height as usize * 3];
        let source = TypedImageRef::<U8x3>::from_buffer(width, height, pixels);
        let source = source.map_err(|e| e.to_string())?;
        let view = TypedCroppedImage::new(source, cut.0, cut.1, cut.2, cut.3);
        let view = view.map_err(|e| e.to_string())?;
        let mut to = TypedImage::<U8x3>::from_buffer(SIDE, SIDE, &mut self.crop)
            .map_err(|e| e.to_string())?;
        let options = ResizeOptions::new()
            .resize_alg(ResizeAlg::Convolution(FilterType::Bilinear))
            .crop(area.0, area.1, area.2, area.3);
        self.resizer.resize_typed(&view, &mut to, &options).map_err(|e| e.to_string())?;
        Ok(&self.crop)
    }
}

/// Which instructions it uses, for the report.
pub(crate) fn instructions() -> CpuExtensions {
    Resizer::new().cpu_extensions()
}
