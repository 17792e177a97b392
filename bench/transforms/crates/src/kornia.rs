//! Operations of kornia-rs for u8. Their results are allocated once.

use kornia_image::{Image, ImageError, ImageSize, InterpolationMode};
use kornia_imgproc::color::{gray_from_rgb_u8, hsv_from_rgb_f32, rgb_from_gray, rgb_from_hsv_f32};
use kornia_imgproc::filter::gaussian_blur_u8;
use kornia_imgproc::flip::horizontal_flip;
use kornia_imgproc::histogram::equalize_hist;
use kornia_imgproc::resize::resize_fast_u8;
use kornia_imgproc::warp::{get_rotation_matrix2d, warp_affine_u8};

use crate::pictures::{Pictures, SIDE, WIDE};
use crate::work::{Competitor, DEGREES, HUE, SIGMA, TAPS, Work};

const NAME: &str = "kornia-imgproc 0.2.0";
const SQUARE: ImageSize = ImageSize { width: SIDE as usize, height: SIDE as usize };

type Rgb = Image<u8, 3>;
type Gray = Image<u8, 1>;
type Function = fn(&Rgb, &mut Rgb) -> Result<(), ImageError>;

pub fn competitors(pictures: &Pictures) -> Vec<Competitor> {
    let wide = ImageSize { width: WIDE[0] as usize, height: WIDE[1] as usize };
    let resizes: [(&'static str, Function); 3] = [
        ("resize-bilinear", |from, to| resize_fast_u8(from, to, InterpolationMode::Bilinear)),
        ("resize-bicubic", |from, to| resize_fast_u8(from, to, InterpolationMode::Bicubic)),
        ("resize-lanczos", |from, to| resize_fast_u8(from, to, InterpolationMode::Lanczos)),
    ];
    let others: [(&'static str, Function); 3] =
        [("flip", horizontal_flip), ("rotate-bilinear", rotated), ("blur", blurred)];
    let mut all = Vec::new();
    for (operation, function) in resizes {
        let work = Call::new(wide, &pictures.wide, function);
        all.push(Competitor::new(operation, NAME, work));
    }
    for (operation, function) in others {
        let work = Call::new(SQUARE, &pictures.square, function);
        all.push(Competitor::new(operation, NAME, work));
    }
    let planes = Planes::new(&pictures.square);
    all.push(Competitor::new("equalize", "kornia-imgproc 0.2.0, three gray pictures", planes));
    all.push(Competitor::new("grayscale", NAME, Grayscale::new(&pictures.square)));
    all.push(Competitor::new("hue", "kornia-imgproc 0.2.0, floats", Hue::new(&pictures.square)));
    all
}

fn image<const C: usize>(size: ImageSize, pixels: Vec<u8>) -> Image<u8, C> {
    Image::new(size, pixels).expect("as many pixels as the size has")
}

struct Call {
    from: Rgb,
    to: Rgb,
    function: Function,
}

impl Call {
    fn new(size: ImageSize, pixels: &[u8], function: Function) -> Call {
        let from = image(size, pixels.to_vec());
        Call { from, to: Image::from_size_val(SQUARE, 0).expect("memory"), function }
    }
}

impl Work for Call {
    fn run(&mut self) {
        (self.function)(&self.from, &mut self.to).expect("sizes that fit");
    }

    fn result(&mut self) -> Vec<u8> {
        self.to.to_vec()
    }
}

/// Counterclockwise, around the center.
fn rotated(from: &Rgb, to: &mut Rgb) -> Result<(), ImageError> {
    let center = (SIDE as f32 - 1.0) / 2.0;
    warp_affine_u8(from, to, &get_rotation_matrix2d((center, center), DEGREES as f32, 1.0))
}

fn blurred(from: &Rgb, to: &mut Rgb) -> Result<(), ImageError> {
    let taps = TAPS as usize;
    gaussian_blur_u8(from, to, (taps, taps), (SIGMA as f32, SIGMA as f32))
}

/// The channels as three gray pictures, which are neither taken apart nor joined while time is measured.
struct Planes {
    planes: [Gray; 3],
    out: [Gray; 3],
}

impl Planes {
    fn new(pixels: &[u8]) -> Planes {
        let plane =
            |channel| image(SQUARE, pixels.iter().skip(channel).step_by(3).copied().collect());
        let planes = [plane(0), plane(1), plane(2)];
        let out = [plane(0), plane(1), plane(2)];
        Planes { planes, out }
    }
}

impl Work for Planes {
    fn run(&mut self) {
        for (out, plane) in self.out.iter_mut().zip(&self.planes) {
            equalize_hist(plane, out).expect("sizes that fit");
        }
    }

    fn result(&mut self) -> Vec<u8> {
        let [red, green, blue] = [0, 1, 2].map(|channel: usize| self.out[channel].to_vec());
        let pixels = red.iter().zip(&green).zip(&blue);
        pixels.flat_map(|((red, green), blue)| [*red, *green, *blue]).collect()
    }
}

struct Grayscale {
    from: Rgb,
    gray: Gray,
    to: Rgb,
}

impl Grayscale {
    fn new(pixels: &[u8]) -> Grayscale {
        let gray = Image::from_size_val(SQUARE, 0).expect("memory");
        let to = Image::from_size_val(SQUARE, 0).expect("memory");
        Grayscale { from: image(SQUARE, pixels.to_vec()), gray, to }
    }
}

impl Work for Grayscale {
    fn run(&mut self) {
        gray_from_rgb_u8(&self.from, &mut self.gray).expect("sizes that fit");
        rgb_from_gray(&self.gray, &mut self.to).expect("sizes that fit");
    }

    fn result(&mut self) -> Vec<u8> {
        self.to.to_vec()
    }
}

/// The crate has no change of the hue: its conversions, with the addition between them and those to floats and back.
struct Hue {
    from: Rgb,
    floats: Image<f32, 3>,
    hsv: Image<f32, 3>,
    to: Rgb,
}

impl Hue {
    fn new(pixels: &[u8]) -> Hue {
        let floats = || Image::from_size_val(SQUARE, 0.0).expect("memory");
        let to = Image::from_size_val(SQUARE, 0).expect("memory");
        Hue { from: image(SQUARE, pixels.to_vec()), floats: floats(), hsv: floats(), to }
    }
}

impl Work for Hue {
    fn run(&mut self) {
        for (float, level) in self.floats.as_slice_mut().iter_mut().zip(self.from.as_slice()) {
            *float = f32::from(*level);
        }
        hsv_from_rgb_f32(&self.floats, &mut self.hsv).expect("sizes that fit");
        for pixel in self.hsv.as_slice_mut().chunks_exact_mut(3) {
            // From 0 to 255, as the crate has it.
            pixel[0] = (pixel[0] + 255.0 * HUE as f32) % 255.0;
        }
        rgb_from_hsv_f32(&self.hsv, &mut self.floats).expect("sizes that fit");
        for (level, float) in self.to.as_slice_mut().iter_mut().zip(self.floats.as_slice()) {
            *level = float.round() as u8;
        }
    }

    fn result(&mut self) -> Vec<u8> {
        self.to.to_vec()
    }
}
