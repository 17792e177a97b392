//! `Tile`: one of the four parts of a mosaic.

use crate::mixing::plan::Region;

/// The parts of a mosaic: upper left, upper right, lower left, lower right.
pub const TILES: usize = 4;

/// Which part of a mosaic shows a picture, and how far the picture is shifted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tile {
    /// The pixels of the mosaic that show the picture.
    pub region: Region,
    /// Pixels to the right and down from a place in the picture to the same place in the mosaic.
    pub shift: [i64; 2],
}

impl Tile {
    /// Part `number` of [`TILES`], of pictures of `size` (height and width) that meet at `center` (x and y). The picture
    /// touches the center with the corner that is opposite to its part.
    pub fn new(number: usize, size: [u32; 2], center: [u32; 2]) -> Tile {
        let [height, width] = size;
        let [x, y] = center;
        let right = number % 2 == 1;
        let lower = number >= 2;
        let [left, end] = if right { [x, width] } else { [0, x] };
        let [top, bottom] = if lower { [y, height] } else { [0, y] };
        let shift = [
            i64::from(x) - if right { 0 } else { i64::from(width) },
            i64::from(y) - if lower { 0 } else { i64::from(height) },
        ];
        Tile { region: Region { top, left, bottom, right: end }, shift }
    }

    /// Moves a point, x and y. False if the mosaic does not show it.
    pub fn move_point(&self, point: &mut [f64; 2]) -> bool {
        let Region { top, left, bottom, right } = self.region;
        let [x, y] = self.shift.map(|shift| shift as f64);
        *point = [point[0] + x, point[1] + y];
        let [least, most] = [[left, top], [right, bottom]].map(|corner| corner.map(f64::from));
        (0..2).all(|axis| point[axis] >= least[axis] && point[axis] < most[axis])
    }

    /// Moves a box, the x and y of its first corner and of the opposite one, and cuts it at the edges of the part. Returns
    /// the share of its area that is left: 0 for a box without area.
    pub fn move_box(&self, corners: &mut [f64; 4]) -> f64 {
        let Region { top, left, bottom, right } = self.region;
        let before = area(corners);
        let [x, y] = self.shift.map(|shift| shift as f64);
        let [least, most] = [[left, top], [right, bottom]].map(|corner| corner.map(f64::from));
        for (number, corner) in corners.iter_mut().enumerate() {
            let axis = number % 2;
            *corner = (*corner + [x, y][axis]).clamp(least[axis], most[axis]);
        }
        if before > 0.0 { area(corners) / before } else { 0.0 }
    }
}

fn area([left, top, right, bottom]: &[f64; 4]) -> f64 {
    (right - left).max(0.0) * (bottom - top).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_tiles_cover_each_pixel_once() {
        let size = [7, 11];
        for center in [[0, 0], [4, 3], [11, 7], [11, 0], [5, 7]] {
            let mut seen = [[0; 11]; 7];
            for number in 0..TILES {
                let Tile { region, shift } = Tile::new(number, size, center);
                for y in region.top..region.bottom {
                    for x in region.left..region.right {
                        seen[y as usize][x as usize] += 1;
                        let [from_x, from_y] = [i64::from(x) - shift[0], i64::from(y) - shift[1]];
                        assert!((0..11).contains(&from_x) && (0..7).contains(&from_y));
                    }
                }
            }
            assert_eq!(seen, [[1; 11]; 7], "{center:?}");
        }
    }

    #[test]
    fn boxes_are_shifted_and_cut_and_points_that_are_not_shown_are_known() {
        let tile = Tile::new(0, [100, 200], [80, 40]);
        assert_eq!(tile.shift, [-120, -60]);
        let mut inside = [130.0, 70.0, 150.0, 90.0];
        assert_eq!(tile.move_box(&mut inside), 1.0);
        assert_eq!(inside, [10.0, 10.0, 30.0, 30.0]);
        let mut cut = [110.0, 70.0, 130.0, 90.0];
        assert_eq!(tile.move_box(&mut cut), 0.5);
        assert_eq!(cut, [0.0, 10.0, 10.0, 30.0]);
        assert_eq!(tile.move_box(&mut [0.0, 0.0, 20.0, 20.0]), 0.0);
        assert_eq!(tile.move_box(&mut [130.0, 70.0, 130.0, 90.0]), 0.0);
        let mut point = [120.0, 60.0];
        assert!(tile.move_point(&mut point));
        assert_eq!(point, [0.0, 0.0]);
        assert!(!tile.move_point(&mut [119.9, 60.0]));
        assert!(!Tile::new(1, [100, 200], [80, 40]).move_point(&mut [120.0, 60.0]));
        assert!(Tile::new(3, [100, 200], [80, 40]).move_point(&mut [119.9, 59.9]));
    }
}
