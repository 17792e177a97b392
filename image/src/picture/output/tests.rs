//! The output beside a slow and plain oracle, pixel by pixel.

use tarflume_types::DType;

use crate::picture::output::*;

/// What element (x, y, channel) of the output must be, from the stored pixels.
fn oracle(picture: &Picture<'_>, x: usize, y: usize, channel: usize) -> u8 {
    let width = picture.size.width as usize;
    let height = picture.size.height as usize;
    let x = if picture.turn.mirror { width - 1 - x } else { x };
    let y = if picture.turn.upend { height - 1 - y } else { y };
    let pixel = if picture.turn.transpose { x * height + y } else { y * width + x };
    let pixel = &picture.bytes[pixel * picture.channels..][..picture.channels];
    match (pixel, channel) {
        (_, 3) if pixel.len() < 4 => 255,
        ([gray], _) => *gray,
        _ => pixel[channel],
    }
}

fn each(mut with: impl FnMut(&Picture<'_>)) {
    let bytes: Vec<u8> = (0..70 * 5 * 4).map(|n| (n * 37 % 251) as u8).collect();
    for exif in 1..=8 {
        for flip in [false, true] {
            for (channels, wanted) in [(1, 1), (1, 3), (1, 4), (3, 3), (3, 4), (4, 4)] {
                for layout in [Layout::Hwc, Layout::Chw] {
                    for size in [ImageSize::new(70, 5), ImageSize::new(5, 70), ImageSize::new(1, 1)]
                    {
                        let turn = Turn::of_exif(exif).and_flip(flip);
                        with(&Picture {
                            bytes: &bytes,
                            channels,
                            size,
                            turn,
                            wanted,
                            layout,
                            word_step: 257,
                        });
                    }
                }
            }
        }
    }
}

fn write(picture: &Picture<'_>, elements: Elements) -> Vec<u64> {
    let length = picture.size.pixels() as usize * picture.wanted * elements.dtype().size();
    let mut row = vec![u64::MAX; length.div_ceil(8)];
    let bytes = &mut bytemuck::cast_slice_mut(&mut row)[..length];
    picture.write(elements, &mut Row::fixed(bytes), &mut vec![1; 3]).unwrap();
    row
}

/// The index of (x, y, channel) in the row.
fn place(picture: &Picture<'_>, x: usize, y: usize, channel: usize) -> usize {
    let width = picture.size.width as usize;
    let height = picture.size.height as usize;
    match picture.layout {
        Layout::Hwc => (y * width + x) * picture.wanted + channel,
        Layout::Chw => (channel * height + y) * width + x,
    }
}

fn check(picture: &Picture<'_>, at: impl Fn(usize, usize, u8) -> bool) {
    for y in 0..picture.size.height as usize {
        for x in 0..picture.size.width as usize {
            for channel in 0..picture.wanted {
                let expected = oracle(picture, x, y, channel);
                assert!(
                    at(place(picture, x, y, channel), channel, expected),
                    "{x} {y} {picture:?}"
                );
            }
        }
    }
}

#[test]
fn bytes_are_turned_widened_and_laid_out() {
    each(|picture| {
        let row = write(picture, Elements::Bytes);
        let row: &[u8] = bytemuck::cast_slice(&row);
        check(picture, |at, _, expected| row[at] == expected);
        if picture.is_ready() {
            let length = picture.size.pixels() as usize * picture.wanted;
            assert_eq!(row[..length], picture.bytes[..length]);
        }
    });
}

#[test]
fn numbers_are_normalized_in_either_precision() {
    fn exact(channel: usize, byte: u8) -> f64 {
        let mean = [0.485, 0.456, 0.406, 0.0];
        let std = [0.229, 0.224, 0.225, 1.0];
        (f64::from(byte) / 255.0 - mean[channel]) / std[channel]
    }

    let by = Normalize::imagenet();
    each(|picture| {
        let single = write(picture, Elements::Single(by));
        let single: &[f32] = bytemuck::cast_slice(&single);
        check(picture, |at, c, byte| (f64::from(single[at]) - exact(c, byte)).abs() < 1e-6);
        let half = write(picture, Elements::Half(by));
        let half: &[f16] = bytemuck::cast_slice(&half);
        check(picture, |at, _, _| half[at].to_bits() == f16::from_f32(single[at]).to_bits());
    });
}

#[test]
fn the_predefined_ranges_have_the_stated_bounds() {
    fn ends(by: Normalize) -> [f32; 2] {
        [by.value(0, 0), by.value(255, 2)]
    }

    assert_eq!(ends(Normalize::unit()), [0.0, 1.0]);
    assert_eq!(ends(Normalize::centered()), [-1.0, 1.0]);
    assert_eq!(Normalize::imagenet().value(255, 3), 1.0, "opacity stays 0 to 1");
    assert!(!Normalize::new([0.5; 3], [0.0; 3]).is_finite());
}

#[test]
fn a_row_too_short_is_an_error() {
    let size = ImageSize::new(2, 2);
    let turn = Turn::default();
    let layout = Layout::Hwc;
    let bytes = &[0; 12];
    let picture = Picture { bytes, channels: 3, size, turn, wanted: 3, layout, word_step: 257 };
    let mut row = vec![0; 11];
    let mut used = 0;
    let mut row = Row::variable(&mut row, &mut used);
    let error = picture.write(Elements::Bytes, &mut row, &mut Vec::new()).unwrap_err();
    assert!(error.text().contains("12 elements does not fit a row of 11"), "{error}");
    assert_eq!(Elements::Half(Normalize::unit()).dtype(), DType::F16);
}
