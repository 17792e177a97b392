//! `Way`: how an action moves a place of the picture.

use std::cell::Cell;

use tarflume_image::{ImageSize, make_room};
use tarflume_types::{Error, Result};

use crate::actions::geometry::motion::expanded;
use crate::actions::{Action, Affine, Elastic, Perspective};
use crate::kernels::geometry::elastic::Field;
use crate::kernels::sets::Set;

/// How an action moves a place.
pub(super) enum Way {
    /// It does not.
    Rest,
    /// A crop subtracts its first column and row.
    Crop([f64; 2]),
    /// A margin adds its columns on the left and rows above.
    Pad([f64; 2]),
    /// A resize multiplies by the new sides and divides by the old ones: what is on an edge stays there exactly.
    Scale {
        /// Width and height before.
        from: [f64; 2],
        /// Width and height after.
        to: [f64; 2],
    },
    /// A flip counts from the other side.
    Flip {
        /// 0 for x, 1 for y.
        axis: usize,
        /// The length of the picture.
        length: f64,
    },
    /// A rotation or another affine action: three factors for x and three for y.
    Linear([f64; 6]),
    /// A projection: three factors for x, three for y, two for the denominator.
    Projection([f64; 8]),
    /// A field of displacements.
    Field(Displacements),
}

impl Way {
    /// The way of an action on a picture of size `on`.
    ///
    /// # Errors
    /// Returns a usage error if a matrix has no inverse, and an error if memory is short.
    pub(super) fn of(action: &Action, on: ImageSize) -> Result<Way> {
        let [width, height] = sides(on);
        if on.pixels() == 0 {
            return Ok(Way::Rest);
        }
        Ok(match action {
            Action::Crop(crop) => Way::Crop([f64::from(crop.left), f64::from(crop.top)]),
            Action::Pad(pad) => Way::Pad([f64::from(pad.padding[0]), f64::from(pad.padding[1])]),
            Action::Resize(_) | Action::ResizeMask(_) => {
                Way::Scale { from: [width, height], to: sides(action.size(on)) }
            }
            Action::HorizontalFlip(_) => Way::Flip { axis: 0, length: width },
            Action::VerticalFlip(_) => Way::Flip { axis: 1, length: height },
            Action::QuarterTurn(turn) => match turn.turns % 4 {
                0 => Way::Rest,
                1 => Way::Linear([0.0, 1.0, 0.0, -1.0, 0.0, width]),
                2 => Way::Linear([-1.0, 0.0, width, 0.0, -1.0, height]),
                _ => Way::Linear([0.0, -1.0, height, 1.0, 0.0, 0.0]),
            },
            Action::Affine(affine) => Way::Linear(linear(affine, on)?),
            Action::Perspective(perspective) => Way::Projection(projection(perspective)?),
            Action::Elastic(elastic) => Way::Field(Displacements::of(elastic, on)?),
            _ => Way::Rest,
        })
    }

    /// Where a linear way puts a place.
    #[inline]
    pub(super) fn linear(factors: &[f64; 6], [x, y]: [f64; 2]) -> [f64; 2] {
        let [a, b, c, d, e, f] = factors;
        [a * x + b * y + c, d * x + e * y + f]
    }

    /// Where a projection puts a place.
    #[inline]
    pub(super) fn projected(factors: &[f64; 8], [x, y]: [f64; 2]) -> [f64; 2] {
        let [a, b, c, d, e, f, g, h] = factors;
        let below = g * x + h * y + 1.0;
        [(a * x + b * y + c) / below, (d * x + e * y + f) / below]
    }
}

/// Width and height.
pub(super) fn sides(size: ImageSize) -> [f64; 2] {
    [size.width, size.height].map(f64::from)
}

/// The factors of an affine action, which has those of its inverse.
fn linear(affine: &Affine, on: ImageSize) -> Result<[f64; 6]> {
    let [a, b, x, c, d, y] = affine.matrix;
    let area = a * d - b * c;
    if area == 0.0 || !area.is_finite() {
        return Err(no_inverse("affine", &affine.matrix));
    }
    let inverse = [d / area, -b / area, -c / area, a / area];
    let [width, height] = sides(on);
    let from = [width * 0.5 + x, height * 0.5 + y];
    let start = [0, 2].map(|at| -(inverse[at] * from[0] + inverse[at + 1] * from[1]));
    let factors = [inverse[0], inverse[1], start[0], inverse[2], inverse[3], start[1]];
    let shift = if is_expanded(affine, on) {
        least(&factors, [width, height]).map(|least| -least)
    } else {
        [affine.size[1], affine.size[0]].map(|side| f64::from(side) * 0.5)
    };
    let [a, b, x, c, d, y] = factors;
    Ok([a, b, x + shift[0], c, d, y + shift[1]])
}

/// Whether the result was made large enough for the picture, which was rotated around its center. Torchvision then puts boxes
/// and points against the left and the upper edge, and the picture into the center of whole pixels: less than one pixel apart.
/// Around another center its boxes and its pixels are far apart, and boxes follow the pixels here.
fn is_expanded(affine: &Affine, on: ImageSize) -> bool {
    let is_central = affine.matrix[2] == 0.0 && affine.matrix[5] == 0.0;
    is_central
        && affine.size != [on.height, on.width]
        && affine.size == expanded(&affine.matrix, on)
}

/// The least x and the least y of the corners of the picture.
fn least(factors: &[f64; 6], [width, height]: [f64; 2]) -> [f64; 2] {
    let corners = [[0.0, 0.0], [width, 0.0], [width, height], [0.0, height]];
    corners
        .map(|corner| Way::linear(factors, corner))
        .into_iter()
        .fold([f64::INFINITY; 2], |least, corner| {
            [least[0].min(corner[0]), least[1].min(corner[1])]
        })
}

/// The factors of a projection, which has those of its inverse.
fn projection(perspective: &Perspective) -> Result<[f64; 8]> {
    let [a, b, c, d, e, f, g, h] = perspective.coefficients;
    let area = a * e - b * d;
    if area == 0.0 || !area.is_finite() {
        return Err(no_inverse("perspective", &perspective.coefficients));
    }
    let adjugate = [
        e - f * h,
        c * h - b,
        b * f - c * e,
        f * g - d,
        a - c * g,
        c * d - a * f,
        d * h - e * g,
        b * g - a * h,
    ];
    Ok(adjugate.map(|factor| factor / area))
}

fn no_inverse(action: &str, numbers: &[f64]) -> Error {
    Error::usage(format!(
        "{action}: the numbers {numbers:?} make a line of the picture, so boxes and points have no place in the result; use \
         numbers that have an inverse"
    ))
}

thread_local! {
    /// The memory of a field.
    static ROOM: Cell<Vec<f32>> = const { Cell::new(Vec::new()) };
}

/// The most numbers that a thread keeps room for.
const KEPT: usize = 1 << 24;

/// The field of an elastic action.
pub(super) struct Displacements {
    room: Vec<f32>,
    size: ImageSize,
}

impl Displacements {
    fn of(elastic: &Elastic, on: ImageSize) -> Result<Displacements> {
        let Elastic { alpha, sigma, seed, .. } = *elastic;
        let field = Field { size: on, alpha, sigma, seed };
        let mut room = ROOM.take();
        make_room(&mut room, field.room())?;
        field.fill(Set::best(), &mut room);
        Ok(Displacements { room, size: on })
    }

    /// Where the field puts the pixel of a place, whose fractions `whole` drops. As in torchvision, it moves against the
    /// displacement of its own pixel.
    pub(super) fn moved(&self, place: [f64; 2], whole: fn(f64) -> f64) -> [f64; 2] {
        if place.iter().any(|number| number.is_nan()) {
            return [f64::NAN; 2];
        }
        let [width, height] = sides(self.size);
        let x = whole(place[0]).clamp(0.0, width - 1.0);
        let y = whole(place[1]).clamp(0.0, height - 1.0);
        let pixels = self.size.pixels() as usize;
        let at = y as usize * self.size.width as usize + x as usize;
        let [across, down] = [at, pixels + at].map(|at| f64::from(self.room[at]));
        [x - across * width * 0.5, y - down * height * 0.5]
    }
}

impl Drop for Displacements {
    fn drop(&mut self) {
        if self.room.capacity() <= KEPT {
            ROOM.set(std::mem::take(&mut self.room));
        }
    }
}
