//! Resizers of the competitors that need one: bilinear, antialiased as Pillow's, RGB. `tarflume_jpeg::Resizer`
//! for the project's own decoder, `fast_image_resize` for all others. Both give the same bytes.

use fast_image_resize::images::{TypedCroppedImage, TypedImage, TypedImageRef};
use fast_image_resize::pixels::U8x3;
use fast_image_resize::{CpuExtensions, FilterType, ResizeAlg, ResizeOptions, Resizer};
use tarflume_jpeg::{ResizeFilter, Resizing, Size};

use crate::work::{SIDE, Window};

/// Bytes of a finished crop.
pub(crate) const ROOM: usize = (SIDE * SIDE * 3) as usize;

/// A box in pixels, whose edges may lie between pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Area {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

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
    pub(crate) fn part(&mut self, pixels: &[u8], size: Size, area: Area) -> Result<&[u8], String> {
        let Area { left, top, width, height } = area;
        let job = Resizing {
            bytes: pixels,
            stride: size.width as usize * 3,
            size: (size.width, size.height),
            channels: 3,
            area: [left, top, width, height],
            out_size: (SIDE, SIDE),
            filter: ResizeFilter::Triangle,
            transposed: false,
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
        size: Size,
        window: Window,
    ) -> Result<&[u8], String> {
        let width = f64::from(window.width);
        let height = f64::from(window.height);
        self.run(pixels, size, window, Area { left: 0.0, top: 0.0, width, height })
    }

    /// Resizes a box whose edges lie between pixels.
    pub(crate) fn part(&mut self, pixels: &[u8], size: Size, area: Area) -> Result<&[u8], String> {
        let Size { width, height } = size;
        self.run(pixels, size, Window { left: 0, top: 0, width, height }, area)
    }

    /// Cuts `cut` out of pixels of this size, then resizes `area` of it.
    fn run(&mut self, pixels: &[u8], size: Size, cut: Window, area: Area) -> Result<&[u8], String> {
        let Size { width, height } = size;
        let pixels = &pixels[..width as usize * height as usize * 3];
        let source = TypedImageRef::<U8x3>::from_buffer(width, height, pixels);
        let source = source.map_err(|e| e.to_string())?;
        let view = TypedCroppedImage::new(source, cut.left, cut.top, cut.width, cut.height);
        let view = view.map_err(|e| e.to_string())?;
        let mut to = TypedImage::<U8x3>::from_buffer(SIDE, SIDE, &mut self.crop)
            .map_err(|e| e.to_string())?;
        let options = ResizeOptions::new()
            .resize_alg(ResizeAlg::Convolution(FilterType::Bilinear))
            .crop(area.left, area.top, area.width, area.height);
        self.resizer.resize_typed(&view, &mut to, &options).map_err(|e| e.to_string())?;
        Ok(&self.crop)
    }
}

/// Which instructions it uses, for the report.
pub(crate) fn instructions() -> CpuExtensions {
    Resizer::new().cpu_extensions()
}
