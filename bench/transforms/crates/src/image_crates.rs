//! Operations of `image` and of `imageproc` without its threads, which allocate each result.

use image::imageops::{self, FilterType};
use image::{GrayImage, Rgb, RgbImage};
use imageproc::contrast::equalize_histogram_mut;
use imageproc::filter::{filter_clamped, separable_filter_equal};
use imageproc::geometric_transformations::{Border, Interpolation, rotate};
use imageproc::kernel::Kernel;
use imageproc::map::map_subpixels;

use crate::pictures::{Pictures, SIDE, WIDE};
use crate::work::{Competitor, DEGREES, FACTOR, HUE, SIGMA, TAPS, Work};

const IMAGE: &str = "image 0.25.10";
const IMAGEPROC: &str = "imageproc 0.27.0";
/// The picture and the negative of its smoothed one, in thirteenths: sharpness 2.
const SHARPEN: [f32; 9] = [-1.0, -1.0, -1.0, -1.0, 21.0, -1.0, -1.0, -1.0, -1.0];

type Function = fn(&RgbImage) -> RgbImage;

pub fn competitors(pictures: &Pictures) -> Vec<Competitor> {
    let wide = RgbImage::from_raw(WIDE[0], WIDE[1], pictures.wide.clone()).expect("pixels");
    let square = RgbImage::from_raw(SIDE, SIDE, pictures.square.clone()).expect("pixels");
    let resizes: [(&'static str, Function); 3] = [
        ("resize-bilinear", |picture| imageops::resize(picture, SIDE, SIDE, FilterType::Triangle)),
        ("resize-bicubic", |picture| imageops::resize(picture, SIDE, SIDE, FilterType::CatmullRom)),
        ("resize-lanczos", |picture| imageops::resize(picture, SIDE, SIDE, FilterType::Lanczos3)),
    ];
    let others: [(&'static str, &'static str, Function); 9] = [
        ("flip", IMAGE, imageops::flip_horizontal),
        ("rotate-nearest", IMAGEPROC, |picture| turned(picture, Interpolation::Nearest)),
        ("rotate-bilinear", IMAGEPROC, |picture| turned(picture, Interpolation::Bilinear)),
        ("blur", "imageproc 0.27.0, separable_filter_equal", blurred),
        ("sharpness", "imageproc 0.27.0, filter_clamped", sharpened),
        ("brightness", "imageproc 0.27.0, map_subpixels", brightened),
        ("contrast", "image 0.25.10, around 127.5", contrasted),
        ("hue", "image 0.25.10, by a matrix", hue_turned),
        ("grayscale", "image 0.25.10, weights of BT.709", grayed),
    ];
    let mut all = Vec::new();
    for (operation, function) in resizes {
        all.push(Competitor::new(operation, IMAGE, Call::new(wide.clone(), function)));
    }
    for (operation, name, function) in others {
        all.push(Competitor::new(operation, name, Call::new(square.clone(), function)));
    }
    let planes = Planes::new(&pictures.square);
    all.push(Competitor::new("equalize", "imageproc 0.27.0, three gray pictures", planes));
    all
}

struct Call {
    picture: RgbImage,
    function: Function,
    out: RgbImage,
}

impl Call {
    fn new(picture: RgbImage, function: Function) -> Call {
        Call { picture, function, out: RgbImage::new(0, 0) }
    }
}

impl Work for Call {
    fn run(&mut self) {
        self.out = (self.function)(&self.picture);
    }

    fn result(&mut self) -> Vec<u8> {
        self.out.as_raw().clone()
    }
}

/// Counterclockwise, around the center.
fn turned(picture: &RgbImage, interpolation: Interpolation) -> RgbImage {
    let center = (SIDE as f32 - 1.0) / 2.0;
    let angle = -DEGREES.to_radians() as f32;
    rotate(picture, (center, center), angle, interpolation, Border::Constant(Rgb([0, 0, 0])))
}

fn blurred(picture: &RgbImage) -> RgbImage {
    separable_filter_equal(picture, &gaussian())
}

/// The weights, whose sum is 1.
fn gaussian() -> Vec<f32> {
    let middle = f64::from(TAPS / 2);
    let weights: Vec<f64> =
        (0..TAPS).map(|tap| (-0.5 * ((f64::from(tap) - middle) / SIGMA).powi(2)).exp()).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| (weight / sum) as f32).collect()
}

fn sharpened(picture: &RgbImage) -> RgbImage {
    let weights = SHARPEN.map(|weight| weight / 13.0);
    filter_clamped(picture, Kernel::new(&weights, 3, 3))
}

fn brightened(picture: &RgbImage) -> RgbImage {
    map_subpixels(picture, |level: u8| (f32::from(level) * FACTOR as f32) as u8)
}

fn contrasted(picture: &RgbImage) -> RgbImage {
    // The crate squares (100 + number) / 100.
    imageops::contrast(picture, 100.0 * (FACTOR.sqrt() as f32) - 100.0)
}

fn hue_turned(picture: &RgbImage) -> RgbImage {
    imageops::huerotate(picture, (360.0 * HUE).round() as i32)
}

fn grayed(picture: &RgbImage) -> RgbImage {
    let gray = imageops::grayscale(picture);
    RgbImage::from_fn(SIDE, SIDE, |x, y| Rgb([gray.get_pixel(x, y).0[0]; 3]))
}

/// The channels as three gray pictures, which are neither taken apart nor joined while time is measured.
struct Planes {
    planes: [GrayImage; 3],
    out: [GrayImage; 3],
}

impl Planes {
    fn new(pixels: &[u8]) -> Planes {
        let planes = [0, 1, 2].map(|channel| {
            let plane = pixels.iter().skip(channel).step_by(3).copied().collect();
            GrayImage::from_raw(SIDE, SIDE, plane).expect("pixels")
        });
        Planes { out: planes.clone(), planes }
    }
}

impl Work for Planes {
    fn run(&mut self) {
        for (out, plane) in self.out.iter_mut().zip(&self.planes) {
            out.copy_from_slice(plane);
            equalize_histogram_mut(out);
        }
    }

    fn result(&mut self) -> Vec<u8> {
        let [red, green, blue] = &self.out;
        let pixels = red.iter().zip(green.iter()).zip(blue.iter());
        pixels.flat_map(|((red, green), blue)| [*red, *green, *blue]).collect()
    }
}
