//! Erased rectangles.

use super::*;

const RECTANGLE: Erase =
    Erase { top: 1, left: 2, height: 2, width: 3, value: EraseValue::Constant([1.0, 2.0, 3.0]) };

fn frame(size: ImageSize, channels: usize) -> Frame {
    let mut frame = Frame::default();
    frame.begin(size, channels).unwrap().fill(100);
    frame
}

fn row(erase: Erase, channels_first: bool) -> Vec<f32> {
    let layout = RowLayout { size: ImageSize::new(6, 4), channels: 3, channels_first };
    let mut values = vec![9.0f32; 6 * 4 * 3];
    erase.on_values(&mut values, layout, RowScale::Normalized, &mut Vec::new()).unwrap();
    values
}

#[test]
fn pixels_outside_the_rectangle_remain() {
    let mut frame = frame(ImageSize::new(6, 4), 3);
    RECTANGLE.apply(&mut frame).unwrap();
    for (at, byte) in frame.pixels().iter().enumerate() {
        let [x, y] = [at / 3 % 6, at / 18];
        let inside = (1..3).contains(&y) && (2..5).contains(&x);
        assert_eq!(*byte, if inside { at as u8 % 3 + 1 } else { 100 });
    }
}

#[test]
fn a_rectangle_is_cut_at_the_picture() {
    for (erase, erased) in [
        (Erase { top: 3, left: 5, height: 9, width: u32::MAX, ..RECTANGLE }, 1),
        (Erase { top: 4, ..RECTANGLE }, 0),
        (Erase { left: u32::MAX, ..RECTANGLE }, 0),
        (Erase { top: u32::MAX, height: u32::MAX, ..RECTANGLE }, 0),
        (Erase { width: 0, ..RECTANGLE }, 0),
        (Erase { top: 0, left: 0, height: 4, width: 6, value: EraseValue::Noise(1) }, 24),
    ] {
        for channels in [1, 3] {
            let mut frame = frame(ImageSize::new(6, 4), channels);
            erase.apply(&mut frame).unwrap();
            let pixels = frame.pixels().chunks_exact(channels);
            let changed = pixels.filter(|pixel| pixel.iter().any(|byte| *byte != 100)).count();
            assert_eq!(changed, erased, "{erase:?}");
        }
    }
}

#[test]
fn both_layouts_get_the_same_numbers() {
    let values =
        [RECTANGLE.value, EraseValue::Pixel(5), EraseValue::Noise(5), EraseValue::Noise(6)];
    let mut seen: Vec<Vec<f32>> = Vec::new();
    for value in values {
        let erase = Erase { value, ..RECTANGLE };
        let pixels_first = row(erase, false);
        let channels_first = row(erase, true);
        for at in 0..24 {
            for channel in 0..3 {
                assert_eq!(pixels_first[at * 3 + channel], channels_first[channel * 24 + at]);
            }
        }
        assert_eq!(pixels_first.iter().filter(|value| **value != 9.0).count(), 18);
        assert!(!seen.contains(&pixels_first));
        seen.push(pixels_first);
    }
}

#[test]
fn a_color_is_the_same_in_the_rectangle() {
    let values = row(Erase { value: EraseValue::Pixel(11), ..RECTANGLE }, false);
    let first = 8 * 3;
    let color = values[first..first + 3].to_vec();
    assert!(color[0] != color[1] && color[1] != color[2]);
    for pixel in values.chunks_exact(3) {
        assert!(pixel == color.as_slice() || pixel == [9.0; 3]);
    }
}

fn gray(width: u32, height: u32) -> RowLayout {
    RowLayout { size: ImageSize::new(width, height), channels: 1, channels_first: true }
}

#[test]
fn the_part_that_remains_of_cut_noise_is_the_same() {
    let whole = Erase { top: 0, left: 0, height: 4, width: 6, value: EraseValue::Noise(3) };
    let wider = Erase { width: 9, height: 9, ..whole };
    let mut small = vec![0.0f32; 24];
    let mut large = vec![0.0f32; 81];
    let mut noise = Vec::new();
    wider.on_values(&mut small, gray(6, 4), RowScale::Normalized, &mut noise).unwrap();
    wider.on_values(&mut large, gray(9, 9), RowScale::Normalized, &mut noise).unwrap();
    for y in 0..4 {
        assert_eq!(small[y * 6..y * 6 + 6], large[y * 9..y * 9 + 6]);
    }
}

#[test]
fn half_elements_are_the_nearest() {
    let erase = Erase { value: EraseValue::Noise(2), ..RECTANGLE };
    let layout = RowLayout { size: ImageSize::new(6, 4), channels: 3, channels_first: true };
    let mut halves = [f16::from_f32(9.0); 72];
    let mut brains = [bf16::from_f32(9.0); 72];
    let mut noise = Vec::new();
    erase.on_values(&mut halves, layout, RowScale::Normalized, &mut noise).unwrap();
    erase.on_values(&mut brains, layout, RowScale::Normalized, &mut noise).unwrap();
    for (at, value) in row(erase, true).iter().enumerate() {
        assert_eq!(halves[at], f16::from_f32(*value));
        assert_eq!(brains[at], bf16::from_f32(*value));
    }
}

#[test]
fn scales_differ_as_stated() {
    for value in [EraseValue::Pixel(5), EraseValue::Noise(5)] {
        let erase = Erase { value, ..RECTANGLE };
        let layout = RowLayout { size: ImageSize::new(6, 4), channels: 3, channels_first: false };
        let mut ones = vec![9.0f32; 72];
        let mut noise = Vec::new();
        erase.on_values(&mut ones, layout, RowScale::One, &mut noise).unwrap();
        let mut frame = frame(layout.size, 3);
        erase.apply(&mut frame).unwrap();
        for (at, normal) in row(erase, false).iter().enumerate().filter(|(_, value)| **value != 9.0)
        {
            assert_eq!(ones[at], normal * 0.25 + 0.5);
            let byte = (normal * 63.75 + 127.5).round_ties_even().clamp(0.0, 255.0);
            assert_eq!(f32::from(frame.pixels()[at]), byte);
        }
    }
}
