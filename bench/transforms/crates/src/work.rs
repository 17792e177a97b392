//! `Competitor`: one operation of one crate.

/// The operations, in the order of the table. The names are those of the files with expected results.
pub const OPERATIONS: [&str; 14] = [
    "resize-bilinear",
    "resize-bicubic",
    "resize-lanczos",
    "flip",
    "rotate-nearest",
    "rotate-bilinear",
    "blur",
    "sharpness",
    "equalize",
    "brightness",
    "contrast",
    "saturation",
    "hue",
    "grayscale",
];

/// The numbers of the operations, for all competitors and for `crates.py`.
pub const DEGREES: f64 = 30.0;
pub const TAPS: u32 = 23;
pub const SIGMA: f64 = 2.0;
pub const FACTOR: f64 = 1.4;
pub const SHARPNESS: f64 = 2.0;
pub const HUE: f64 = 0.1;

/// Something whose time is measured.
pub trait Work {
    /// Makes the result once, from the same picture each time.
    fn run(&mut self);

    /// The pixels `[height, width, 3]` of the last run.
    fn result(&mut self) -> Vec<u8>;
}

pub struct Competitor {
    pub operation: &'static str,
    /// The crate, and what is special about its operation.
    pub name: &'static str,
    pub work: Box<dyn Work>,
}

impl Competitor {
    pub fn new(operation: &'static str, name: &'static str, work: impl Work + 'static) -> Self {
        Competitor { operation, name, work: Box::new(work) }
    }
}
