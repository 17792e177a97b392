//! `Points`: where a warp reads the pixels of a row.
//!
//! A coordinate is 0 at the center of the first pixel. All arithmetic is that of torch on a processor without fused
//! products, in single precision, because its rounding decides the nearest pixel.

use tarflume_image::ImageSize;

use crate::kernels::sets::{Set, wide};

/// The points of the picture at which the pixels of the result are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Points<'a> {
    kind: Kind<'a>,
    /// Half the width and height of the picture.
    half: [f32; 2],
}

#[derive(Debug, Clone, Copy)]
enum Kind<'a> {
    /// Three factors for x and three for y, and half the last column and row of the result.
    Affine { theta: [f32; 6], last: [f32; 2] },
    /// Three factors for x, three for y, two for the denominator.
    Perspective { theta: [f32; 8] },
    /// Displacements across and down, of each pixel.
    Field { across: &'a [f32], down: &'a [f32] },
}

impl Points<'static> {
    /// The points of torchvision's inverse matrix, for a result of size `to`.
    pub(crate) fn affine(matrix: &[f64; 6], from: ImageSize, to: ImageSize) -> Points<'static> {
        let half = half(from);
        let theta = std::array::from_fn(|at| matrix[at] as f32 / half[at / 3]);
        let last = [to.width, to.height].map(|side| (side as f32 - 1.0) * 0.5);
        Points { kind: Kind::Affine { theta, last }, half }
    }

    /// The points of torchvision's coefficients, for a result of the size of the picture.
    pub(crate) fn perspective(coefficients: &[f64; 8], size: ImageSize) -> Points<'static> {
        let half = half(size);
        let theta = std::array::from_fn(|at| {
            let factor = coefficients[at] as f32;
            half.get(at / 3).map_or(factor, |half| factor / half)
        });
        Points { kind: Kind::Perspective { theta }, half }
    }
}

impl<'a> Points<'a> {
    /// The pixels' own points, displaced by fields of which 2 is the picture's side.
    pub(crate) fn field(across: &'a [f32], down: &'a [f32], size: ImageSize) -> Points<'a> {
        Points { kind: Kind::Field { across, down }, half: half(size) }
    }

    /// All factors of the points, for a device; none of a field.
    pub(crate) fn factors(&self) -> Option<[f32; 10]> {
        let mut factors = [0.0; 10];
        factors[8..].copy_from_slice(&self.half);
        match self.kind {
            Kind::Affine { theta, last } => {
                factors[..6].copy_from_slice(&theta);
                factors[6..8].copy_from_slice(&last);
            }
            Kind::Perspective { theta } => factors[..8].copy_from_slice(&theta),
            Kind::Field { .. } => return None,
        }
        Some(factors)
    }

    /// Writes the points of row `y` of the result.
    pub(crate) fn row(&self, set: Set, y: usize, xs: &mut [f32], ys: &mut [f32]) {
        match self.kind {
            Kind::Affine { theta, last } => {
                let y = y as f32 - last[1];
                affine(set, &theta, last[0], y, &self.half, xs, ys);
            }
            Kind::Perspective { theta } => {
                perspective(set, &theta, y as f32 + 0.5, &self.half, xs, ys);
            }
            Kind::Field { across, down } => {
                let width = xs.len();
                let height = down.len() / width;
                let row = y * width..(y + 1) * width;
                let y = Spaced::new(height).at(y as f32);
                displaced(set, &across[row.clone()], &down[row], y, &self.half, xs, ys);
            }
        }
    }
}

fn half(size: ImageSize) -> [f32; 2] {
    [size.width, size.height].map(|side| side as f32 * 0.5)
}

/// The coordinate of a point from -1 to 1.
#[inline(always)]
fn on_picture(place: f32, half: f32) -> f32 {
    (place + 1.0) * half - 0.5
}

wide! {
    fn affine(
        theta: &[f32; 6],
        last: f32,
        y: f32,
        half: &[f32; 2],
        xs: &mut [f32],
        ys: &mut [f32],
    ) {
        let [a, b, c, d, e, f] = *theta;
        let down = [y * b, y * e];
        for (at, (to_x, to_y)) in (0_i32..).zip(xs.iter_mut().zip(ys)) {
            let x = at as f32 - last;
            *to_x = on_picture(x * a + down[0] + c, half[0]);
            *to_y = on_picture(x * d + down[1] + f, half[1]);
        }
    }
}

wide! {
    fn perspective(theta: &[f32; 8], y: f32, half: &[f32; 2], xs: &mut [f32], ys: &mut [f32]) {
        let [a, b, c, d, e, f, g, h] = *theta;
        let down = [y * b, y * e, y * h];
        for (at, (to_x, to_y)) in (0_i32..).zip(xs.iter_mut().zip(ys)) {
            let x = at as f32 + 0.5;
            let below = x * g + down[2] + 1.0;
            *to_x = on_picture((x * a + down[0] + c) / below - 1.0, half[0]);
            *to_y = on_picture((x * d + down[1] + f) / below - 1.0, half[1]);
        }
    }
}

wide! {
    fn displaced(
        across: &[f32],
        down: &[f32],
        y: f32,
        half: &[f32; 2],
        xs: &mut [f32],
        ys: &mut [f32],
    ) {
        let columns = Spaced::new(xs.len());
        let displacements = across.iter().zip(down);
        for (at, (to, by)) in (0_i32..).zip(xs.iter_mut().zip(ys).zip(displacements)) {
            *to.0 = on_picture(columns.at(at as f32) + by.0, half[0]);
            *to.1 = on_picture(y + by.1, half[1]);
        }
    }
}

/// The centers of pixels from -1 to 1, as `torch.linspace` has them: counted from the nearer end, with a fused product.
#[derive(Debug, Clone, Copy)]
struct Spaced {
    end: f32,
    step: f32,
    /// The first that is counted from the end.
    middle: f32,
    last: f32,
}

impl Spaced {
    #[inline(always)]
    fn new(count: usize) -> Spaced {
        let end = ((count as f64 - 1.0) / count as f64) as f32;
        let last = count as f32 - 1.0;
        Spaced { end, step: (end + end) / last.max(1.0), middle: (count / 2) as f32, last }
    }

    #[inline(always)]
    fn at(self, at: f32) -> f32 {
        let late = at >= self.middle;
        let steps = if late { at - self.last } else { at };
        let from = if late { self.end } else { -self.end };
        // Double precision has the product without rounding.
        (f64::from(from) + f64::from(self.step) * f64::from(steps)) as f32
    }
}
