//! Operations of tarflume. An action changes a frame in place, so each run copies the picture into it first.

use std::f64::consts::PI;

use tarflume_image::{Cut, Filter, ImageSize, Pixels, Placement, Resizer};
use tarflume_transforms::actions::{
    Action, AdjustBrightness, AdjustContrast, AdjustHue, AdjustSaturation, AdjustSharpness, Affine,
    Equalize, GaussianBlur, HorizontalFlip, RgbToGrayscale,
};
use tarflume_transforms::{Fill, Frame, Interpolation, apply};

use crate::pictures::{Pictures, SIDE, WIDE};
use crate::work::{Competitor, DEGREES, FACTOR, HUE, SHARPNESS, SIGMA, TAPS, Work};

const NAME: &str = "tarflume";

pub fn competitors(pictures: &Pictures) -> Vec<Competitor> {
    let mut all = vec![
        Competitor::new("resize-bilinear", NAME, Resize::new(pictures, Filter::Bilinear)),
        Competitor::new("resize-bicubic", NAME, Resize::new(pictures, Filter::Bicubic)),
        Competitor::new("resize-lanczos", NAME, Resize::new(pictures, Filter::Lanczos)),
    ];
    let actions: [(&'static str, Action); 11] = [
        ("flip", HorizontalFlip {}.into()),
        ("rotate-nearest", rotation(Interpolation::Nearest)),
        ("rotate-bilinear", rotation(Interpolation::Bilinear)),
        ("blur", GaussianBlur { kernel_size: [TAPS, TAPS], sigma: [SIGMA, SIGMA] }.into()),
        ("sharpness", AdjustSharpness { factor: SHARPNESS }.into()),
        ("equalize", Equalize {}.into()),
        ("brightness", AdjustBrightness { factor: FACTOR }.into()),
        ("contrast", AdjustContrast { factor: FACTOR }.into()),
        ("saturation", AdjustSaturation { factor: FACTOR }.into()),
        ("hue", AdjustHue { factor: HUE }.into()),
        ("grayscale", RgbToGrayscale {}.into()),
    ];
    for (operation, action) in actions {
        let frame = Frame::default();
        let picture = pictures.square.clone();
        all.push(Competitor::new(operation, NAME, Change { action: [action], picture, frame }));
    }
    all
}

/// Counterclockwise, around the center.
fn rotation(interpolation: Interpolation) -> Action {
    let angle = -DEGREES * PI / 180.0;
    let matrix = [angle.cos(), angle.sin(), 0.0, -angle.sin(), angle.cos(), 0.0];
    Affine { matrix, size: [SIDE, SIDE], interpolation, fill: Fill::default() }.into()
}

struct Change {
    action: [Action; 1],
    picture: Vec<u8>,
    frame: Frame,
}

impl Work for Change {
    fn run(&mut self) {
        let room = self.frame.begin(ImageSize::new(SIDE, SIDE), 3).expect("memory");
        room[..self.picture.len()].copy_from_slice(&self.picture);
        apply(&self.action, &mut self.frame).expect("memory");
    }

    fn result(&mut self) -> Vec<u8> {
        self.frame.pixels()[..self.picture.len()].to_vec()
    }
}

struct Resize {
    resizer: Resizer,
    pixels: Pixels,
    placement: Placement,
    filter: Filter,
    out: Vec<u8>,
}

impl Resize {
    fn new(pictures: &Pictures, filter: Filter) -> Resize {
        let [width, height] = WIDE;
        let bytes = pictures.wide.clone();
        let pixels = Pixels { bytes, channels: 3, width, height, ..Pixels::default() };
        let whole = Cut::whole(ImageSize::new(width, height));
        let placement = Placement::of(whole, ImageSize::new(SIDE, SIDE));
        let out = vec![0; pictures.square.len()];
        Resize { resizer: Resizer::default(), pixels, placement, filter, out }
    }
}

impl Work for Resize {
    fn run(&mut self) {
        self.resizer
            .resize(&self.pixels, &self.placement, self.filter.into(), &mut self.out)
            .expect("a placement inside the picture");
    }

    fn result(&mut self) -> Vec<u8> {
        self.out.clone()
    }
}
