//! Masks are those of a listing of every point of the boundary.

use proptest::prelude::*;

use super::*;

/// The masks of pycocotools, by its steps: all grid points of the boundary in order, the crossings among neighbors, and run
/// lengths between sorted crossings.
fn reference(numbers: &[f64], on: ImageSize) -> Vec<u8> {
    let corners: Vec<[i64; 2]> = numbers
        .chunks(2)
        .map(|point| [(5.0 * point[0] + 0.5) as i64, (5.0 * point[1] + 0.5) as i64])
        .collect();
    let mut boundary: Vec<[i64; 2]> = Vec::new();
    for (at, &[mut xs, mut ys]) in corners.iter().enumerate() {
        let [mut xe, mut ye] = corners[(at + 1) % corners.len()];
        let dx = (xe - xs).abs();
        let dy = (ys - ye).abs();
        let flip = (dx >= dy && xs > xe) || (dx < dy && ys > ye);
        if flip {
            std::mem::swap(&mut xs, &mut xe);
            std::mem::swap(&mut ys, &mut ye);
        }
        let steps = dx.max(dy);
        for d in 0..=steps {
            let t = if flip { steps - d } else { d };
            if dx >= dy {
                let slope = if dx == 0 { 0.0 } else { (ye - ys) as f64 / dx as f64 };
                boundary.push([t + xs, (ys as f64 + slope * t as f64 + 0.5) as i64]);
            } else {
                let slope = (xe - xs) as f64 / dy as f64;
                boundary.push([(xs as f64 + slope * t as f64 + 0.5) as i64, t + ys]);
            }
        }
    }
    let mut places = Vec::new();
    for pair in boundary.windows(2) {
        let [[before, y_before], [after, y_after]] = [pair[0], pair[1]];
        if before == after {
            continue;
        }
        let x =
            (after.min(if after < before { after } else { after - 1 }) as f64 + 0.5) / 5.0 - 0.5;
        if x.floor() != x || x < 0.0 || x > f64::from(on.width) - 1.0 {
            continue;
        }
        let y = (y_before.min(y_after) as f64 + 0.5) / 5.0 - 0.5;
        let y = y.max(0.0).min(f64::from(on.height)).ceil();
        places.push(x as u64 * u64::from(on.height) + y as u64);
    }
    let mut plane = vec![0; on.pixels() as usize];
    for column in 0..on.width {
        for row in 0..on.height {
            let at = u64::from(column) * u64::from(on.height) + u64::from(row);
            let before = places.iter().filter(|&&place| place <= at).count();
            plane[(row * on.width + column) as usize] = u8::from(before % 2 == 1);
        }
    }
    plane
}

fn painted(numbers: &[f64], on: ImageSize) -> Vec<u8> {
    let all = 0..numbers.len();
    let of = Segmentation::Polygons { of: std::slice::from_ref(&all), numbers };
    let mut plane = vec![7; on.pixels() as usize];
    MaskPainter::default().paint(of, on, 1, &mut plane);
    plane
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn polygons_have_the_pixels_of_pycocotools(
        numbers in proptest::collection::vec(-12.0..60.0f64, 3..12),
        width in 1u32..50,
        height in 1u32..50,
    ) {
        let numbers: Vec<f64> = numbers.iter().flat_map(|x| [*x, (x * 7.7).rem_euclid(61.0) - 8.0]).collect();
        let on = ImageSize::new(width, height);
        prop_assert_eq!(painted(&numbers, on), reference(&numbers, on));
        // Corners on whole numbers and on halves.
        let rounded: Vec<f64> = numbers.iter().map(|x| (x * 2.0).round() / 2.0).collect();
        prop_assert_eq!(painted(&rounded, on), reference(&rounded, on));
    }

    #[test]
    fn run_lengths_are_painted_down_the_columns(lengths in proptest::collection::vec(0u32..30, 1..12), width in 1u32..20) {
        let sum: u32 = lengths.iter().sum();
        let height = sum.div_ceil(width).max(1);
        let mut counts = lengths;
        counts.push(width * height - sum);
        let on = ImageSize::new(width, height);
        let mut plane = vec![7; on.pixels() as usize];
        MaskPainter::default().paint(Segmentation::Runs(&counts), on, 3, &mut plane);
        let bits = counts.iter().enumerate().flat_map(|(n, &count)| std::iter::repeat_n(3 * (n as u8 % 2), count as usize));
        for (at, bit) in bits.enumerate() {
            let column = at as u32 / height;
            let row = at as u32 % height;
            prop_assert_eq!(plane[(row * width + column) as usize], bit);
        }
    }
}

#[test]
fn polygons_of_an_object_are_joined_and_small_ones_have_no_pixel() {
    let numbers = [1.0, 1.0, 5.0, 1.0, 5.0, 5.0, 1.0, 5.0, 3.0, 3.0, 9.0, 3.0, 9.0, 9.0, 3.0, 9.0];
    let on = ImageSize::new(12, 10);
    let of = [0..8, 8..16];
    let mut plane = vec![0; 120];
    let mut painter = MaskPainter::default();
    painter.paint(Segmentation::Polygons { of: &of, numbers: &numbers }, on, 1, &mut plane);
    let one = reference(&numbers[..8], on);
    let other = reference(&numbers[8..], on);
    assert!(
        plane
            .iter()
            .zip(one.iter().zip(&other))
            .all(|(found, (one, other))| *found == (one | other))
    );
    assert_eq!(plane.iter().filter(|&&pixel| pixel == 1).count(), 16 + 36 - 4);
    assert!(painted(&[1.1, 1.1, 1.2, 1.1, 1.2, 1.2], on).iter().all(|&pixel| pixel == 0));
}

#[test]
fn huge_coordinates_take_no_more_time_and_memory_than_the_picture() {
    let on = ImageSize::new(40, 30);
    let numbers = [-1e300, -1e300, 1e300, -1e300, 1e300, 1e300, -1e300, 1e300];
    assert!(painted(&numbers, on).iter().all(|&pixel| pixel == 1), "the picture is inside");
    let zigzag: Vec<f64> =
        (0..40_000).flat_map(|n| [f64::from(n % 2) * 40.0, f64::from(n % 7)]).collect();
    let all = 0..zigzag.len();
    let of = Segmentation::Polygons { of: std::slice::from_ref(&all), numbers: &zigzag };
    let mut painter = MaskPainter::default();
    painter.paint(of, on, 1, &mut vec![0; 1200]);
    assert!(painter.crossings.capacity() < 5 * FEW, "{}", painter.crossings.capacity());
}
