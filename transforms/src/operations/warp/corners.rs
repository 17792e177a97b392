//! `coefficients`: the projection that moves the corners of a picture to four points.

use tarflume_image::ImageSize;

/// The numbers of a projection.
const COUNT: usize = 8;

/// An equation: a factor for each number, and the result.
type Equation = [f64; COUNT + 1];

/// Torchvision's coefficients, in single precision: they map points of the result to points of the picture.
///
/// `corners` are the corners in the result, from the upper left one clockwise. None if no projection has them.
pub(super) fn coefficients(size: ImageSize, corners: &[[f64; 2]; 4]) -> Option<[f64; COUNT]> {
    let [width, height] = [size.width, size.height].map(|side| f64::from(side) - 1.0);
    let from = [[0.0, 0.0], [width, 0.0], [width, height], [0.0, height]];
    let mut equations = [[0.0; COUNT + 1]; COUNT];
    for (at, ([x, y], [to_x, to_y])) in corners.iter().zip(from).enumerate() {
        equations[2 * at] = [*x, *y, 1.0, 0.0, 0.0, 0.0, -to_x * x, -to_x * y, to_x];
        equations[2 * at + 1] = [0.0, 0.0, 0.0, *x, *y, 1.0, -to_y * x, -to_y * y, to_y];
    }
    solve(&mut equations).map(|numbers| numbers.map(|number| f64::from(number as f32)))
}

/// Solves the equations by elimination, each time with the largest factor.
fn solve(equations: &mut [Equation; COUNT]) -> Option<[f64; COUNT]> {
    for column in 0..COUNT {
        let pivot = (column..COUNT)
            .max_by(|a, b| equations[*a][column].abs().total_cmp(&equations[*b][column].abs()))?;
        equations.swap(column, pivot);
        let upper = equations[column];
        if upper[column].abs() < 1e-9 {
            return None;
        }
        for equation in &mut equations[column + 1..] {
            let factor = equation[column] / upper[column];
            for (value, above) in equation.iter_mut().zip(upper).skip(column) {
                *value -= factor * above;
            }
        }
    }
    let mut numbers = [0.0; COUNT];
    for row in (0..COUNT).rev() {
        let known = (row + 1..COUNT).map(|at| equations[row][at] * numbers[at]).sum::<f64>();
        numbers[row] = (equations[row][COUNT] - known) / equations[row][row];
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_of_the_result_is_mapped_to_its_corner() {
        let corners = [[1.0, 2.0], [8.0, 0.0], [7.0, 4.0], [0.0, 5.0]];
        let [a, b, c, d, e, f, g, h] = coefficients(ImageSize::new(10, 6), &corners).unwrap();
        let expected = [[0.0, 0.0], [9.0, 0.0], [9.0, 5.0], [0.0, 5.0]];
        for ([x, y], [to_x, to_y]) in corners.into_iter().zip(expected) {
            let below = g * x + h * y + 1.0;
            assert!(((a * x + b * y + c) / below - to_x).abs() < 1e-5);
            assert!(((d * x + e * y + f) / below - to_y).abs() < 1e-5);
        }
    }

    #[test]
    fn a_line_has_no_projection() {
        let corners = [[0.0, 0.0], [0.0, 0.0], [0.0, 5.0], [0.0, 5.0]];
        assert_eq!(coefficients(ImageSize::new(1, 6), &corners), None);
    }
}
