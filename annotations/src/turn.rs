//! Turns annotations of a stored picture as its orientation turns the pixels.

use tarflume_image::{ImageSize, Turn};

/// Moves a point of a stored picture of size `stored` to where it is in the upright one. Whole numbers are the centers of
/// pixels, as in keypoints.
///
/// ```
/// use tarflume_annotations::turn::point;
/// use tarflume_image::{ImageSize, Turn};
///
/// // EXIF 6: the picture is turned by a quarter to the right.
/// assert_eq!(point([10.0, 0.0], Turn::of_exif(6), ImageSize::new(64, 48)), [47.0, 10.0]);
/// ```
#[inline]
pub fn point(of: [f64; 2], turn: Turn, stored: ImageSize) -> [f64; 2] {
    let upright = turn.size(stored);
    turned(of, turn, [f64::from(upright.width) - 1.0, f64::from(upright.height) - 1.0])
}

/// Moves the corners of a box: left, top, right, bottom. They are counted from the edges of the picture.
///
/// ```
/// use tarflume_annotations::turn::corners;
/// use tarflume_image::{ImageSize, Turn};
///
/// let turned = corners([10.0, 0.0, 20.0, 5.0], Turn::of_exif(6), ImageSize::new(64, 48));
/// assert_eq!(turned, [43.0, 10.0, 48.0, 20.0]);
/// ```
#[inline]
pub fn corners(of: [f64; 4], turn: Turn, stored: ImageSize) -> [f64; 4] {
    let upright = turn.size(stored);
    let ends = [f64::from(upright.width), f64::from(upright.height)];
    let [left, top, right, bottom] = of;
    let [x, y] = turned([left, top], turn, ends);
    let [other_x, other_y] = turned([right, bottom], turn, ends);
    [x.min(other_x), y.min(other_y), x.max(other_x), y.max(other_y)]
}

/// Moves a place of a stored picture that is counted from the edges of the picture: a corner of a box with an angle.
///
/// ```
/// use tarflume_annotations::turn::place;
/// use tarflume_image::{ImageSize, Turn};
///
/// assert_eq!(place([10.0, 0.0], Turn::of_exif(6), ImageSize::new(64, 48)), [48.0, 10.0]);
/// ```
#[inline]
pub fn place(of: [f64; 2], turn: Turn, stored: ImageSize) -> [f64; 2] {
    let upright = turn.size(stored);
    turned(of, turn, [f64::from(upright.width), f64::from(upright.height)])
}

/// A place in the upright picture, whose last places are `ends`.
fn turned(of: [f64; 2], turn: Turn, ends: [f64; 2]) -> [f64; 2] {
    let [mut x, mut y] = of;
    if turn.transpose {
        (x, y) = (y, x);
    }
    if turn.mirror {
        x = ends[0] - x;
    }
    if turn.upend {
        y = ends[1] - y;
    }
    [x, y]
}

/// Writes a plane of bytes `[height, width]` of a stored picture as it is upright.
///
/// # Panics
/// Panics if a plane has another length than the picture has pixels.
///
/// ```
/// use tarflume_annotations::turn::plane;
/// use tarflume_image::{ImageSize, Turn};
///
/// let mut upright = [0; 2];
/// plane(&[1, 2], Turn::of_exif(8), ImageSize::new(2, 1), &mut upright);
/// assert_eq!(upright, [2, 1]); // one pixel wide, two high
/// ```
pub fn plane(of: &[u8], turn: Turn, stored: ImageSize, to: &mut [u8]) {
    assert_eq!(of.len() as u64, stored.pixels(), "the plane of a picture of {stored}");
    assert_eq!(of.len(), to.len(), "both planes");
    let upright = turn.size(stored);
    let width = upright.width as usize;
    let stride = stored.width as usize;
    for (y, row) in to.chunks_exact_mut(width.max(1)).enumerate() {
        let y = if turn.upend { upright.height as usize - 1 - y } else { y };
        if turn.transpose {
            let from = of[y..].iter().step_by(stride);
            copy(row, from, turn.mirror);
        } else {
            copy(row, of[y * stride..][..width].iter(), turn.mirror);
        }
    }
}

fn copy<'a>(to: &mut [u8], from: impl Iterator<Item = &'a u8>, mirror: bool) {
    if mirror {
        to.iter_mut().rev().zip(from).for_each(|(to, &from)| *to = from);
    } else {
        to.iter_mut().zip(from).for_each(|(to, &from)| *to = from);
    }
}

#[cfg(test)]
mod tests {
    use tarflume_image::{Cut, Placement};

    use super::*;

    #[test]
    fn points_boxes_and_planes_are_turned_as_pixels_are() {
        let stored = ImageSize::new(5, 3);
        let pixels: Vec<u8> = (0..15).collect();
        for exif in 1..=8 {
            let turn = Turn::of_exif(exif);
            let upright = turn.size(stored);
            let mut turned = vec![99; 15];
            plane(&pixels, turn, stored, &mut turned);
            for y in 0..upright.height {
                for x in 0..upright.width {
                    // Where the reader takes the pixel from defines where it went.
                    let cut = Cut { left: x, top: y, size: ImageSize::new(1, 1) };
                    let from = turn.stored(Placement::of(cut, ImageSize::new(1, 1)), upright).cut;
                    assert_eq!(
                        u32::from(turned[(y * upright.width + x) as usize]),
                        from.top * 5 + from.left,
                        "EXIF {exif}"
                    );
                    let left = f64::from(from.left);
                    let top = f64::from(from.top);
                    let found = corners([left, top, left + 1.0, top + 1.0], turn, stored);
                    let x = f64::from(x);
                    let y = f64::from(y);
                    assert_eq!(found, [x, y, x + 1.0, y + 1.0], "EXIF {exif}");
                    assert_eq!(point([left, top], turn, stored), [x, y], "EXIF {exif}");
                    let middle = place([left + 0.5, top + 0.5], turn, stored);
                    assert_eq!(middle, [x + 0.5, y + 0.5], "EXIF {exif}");
                }
            }
        }
    }
}
