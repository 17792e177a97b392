//! The weights and sums of the kernel at every scale: compared with the host's resizer, which decoding uses, and with the
//! crate fast_image_resize, from which its bytes are.

use fast_image_resize::images::Image as Pixels;
use fast_image_resize::{FilterType, PixelType, ResizeAlg, ResizeOptions, Resizer};
use tarflume::ImageSize;
use tarflume::internal::convert::{Finish, Pictures};
use tarflume::internal::crop::CropBox;
use tarflume::internal::resample::Strides;
use tarflume::internal::row_header::{Format, RowHeader, RowPicture};

use crate::gpu::kernel::runner::{Dice, Run, any_box, rows_of, whole};

/// Blocks across and down, and the threads of each.
#[derive(Clone, Copy)]
struct Grid {
    x: u32,
    y: u32,
    block: u32,
}

fn grid(x: u32, y: u32, block: u32) -> Grid {
    Grid { x, y, block }
}

/// The kernel's output for boxes of pictures of one size, and the host's.
fn both(
    size: ImageSize,
    boxes: &[CropBox],
    pictures: &[Vec<u8>],
    drawn: &Pictures,
    grid: Grid,
) -> [Vec<u8>; 2] {
    let channels = drawn.channels();
    let rows: Vec<_> = boxes
        .iter()
        .zip(pictures)
        .map(|(&area, bytes)| {
            let picture = RowPicture { area, ..whole(size) };
            (RowHeader::row(picture, channels, bytes.len()).unwrap(), &bytes[..])
        })
        .collect();
    let (heads, stride) = rows_of(&rows);
    let heads = Strides { bytes: &heads, stride };
    let none = Strides { bytes: &[], stride: 1 };
    let finish = Finish::bytes();
    let mut host = vec![0; drawn.bytes()];
    finish.draw_on_host(heads, none, drawn, &mut host).unwrap();
    let Grid { x, y, block } = grid;
    let run = Run::of("draw").drawn(heads, None, drawn, &finish).grid(x, y, block);
    [run.output(drawn.bytes()), host]
}

#[test]
fn the_crop_is_the_filter_that_decoding_uses() {
    let mut dice = Dice(4);
    let size = ImageSize::new(97, 83);
    for (channels, kind) in [(1, PixelType::U8), (3, PixelType::U8x3), (4, PixelType::U8x4)] {
        for out_size in [ImageSize::new(32, 32), ImageSize::new(120, 100), ImageSize::new(97, 20)] {
            let drawn = Pictures::new(6, out_size, channels).unwrap();
            let pictures: Vec<_> = (0..6).map(|_| dice.bytes(97 * 83 * channels)).collect();
            let boxes: Vec<_> = (0..6).map(|_| any_box(&mut dice, size, true)).collect();
            let [ours, host] = both(size, &boxes, &pictures, &drawn, grid(2, 3, 64));
            assert!(ours == host, "{channels} channels, {out_size}");
            // Boxes of whole pixels only: others reach for pixels outside there.
            for ((area, picture), ours) in
                boxes.iter().zip(pictures).zip(ours.chunks(drawn.row_bytes()))
            {
                let from = Pixels::from_vec_u8(size.width, size.height, picture, kind).unwrap();
                let [left, top, width, height] = area.numbers().map(f64::from);
                let from_cut = fast_image_resize::images::CroppedImage::new(
                    &from,
                    left as u32,
                    top as u32,
                    width as u32,
                    height as u32,
                );
                let mut theirs = Pixels::new(out_size.width, out_size.height, kind);
                let options =
                    ResizeOptions::new().resize_alg(ResizeAlg::Convolution(FilterType::Bilinear));
                Resizer::new().resize(&from_cut.unwrap(), &mut theirs, &options).unwrap();
                assert!(ours == theirs.buffer(), "{channels} channels of {area:?} to {out_size}");
            }
        }
    }
}

/// Scales at which a tile of the output is divided, because its weights or its lines are too many for shared memory; a
/// scale at which the weights of one pixel are; and blocks that are no multiple of a warp.
#[test]
fn tiles_are_divided_at_any_scale() {
    let mut dice = Dice(8);
    for (from, to, channels, on) in [
        ((700, 9), (300, 5), 3, grid(1, 1, 256)), // more columns than a tile has
        ((6000, 3), (290, 2), 3, grid(2, 1, 96)), // weights of 98 columns
        ((3000, 2), (1, 3), 4, grid(5, 1, 7)),    // 3,000 inputs of a pixel
        ((9, 1500), (4, 2), 3, grid(1, 1, 48)),   // 1,500 rows
        ((3, 700), (2, 130), 1, grid(1, 1, 33)),  // more rows than a tile has
        ((2100, 40), (2, 37), 1, grid(3, 1, 1)),  // one thread
        ((5000, 2), (200, 3), 4, grid(1, 1, 64)), // lines longer than shared memory
    ] {
        let size = ImageSize::new(from.0, from.1);
        let drawn = Pictures::new(1, ImageSize::new(to.0, to.1), channels).unwrap();
        let picture = dice.bytes((from.0 * from.1) as usize * channels);
        let part = CropBox {
            left: 0.25,
            top: 0.5,
            width: from.0 as f32 - 0.75,
            height: from.1 as f32 - 0.5,
        };
        for area in [whole(size).area, part] {
            let [ours, host] = both(size, &[area], std::slice::from_ref(&picture), &drawn, on);
            assert!(ours == host, "{area:?} of {size} to {to:?}");
        }
    }
}

/// Planes become the bytes that the converted picture becomes, at any scale.
#[test]
fn planes_are_resized_as_the_converted_picture_is() {
    let mut dice = Dice(9);
    for (size, to) in [
        (ImageSize::new(131, 77), ImageSize::new(48, 64)),
        (ImageSize::new(9, 7), ImageSize::new(30, 20)),
        (ImageSize::new(1, 6), ImageSize::new(3, 2)),
        (ImageSize::new(2300, 2), ImageSize::new(2, 2)),
    ] {
        let bytes = dice.bytes(Format::Yuv420.bytes(size, 3).unwrap());
        let drawn = Pictures::new(4, to, 3).unwrap();
        let rows: Vec<_> = (0..4)
            .map(|n| {
                let area = if n == 0 { whole(size).area } else { any_box(&mut dice, size, n == 1) };
                let picture = RowPicture { format: Format::Yuv420, size, area, flip: n == 2 };
                (RowHeader::row(picture, 3, bytes.len()).unwrap(), &bytes[..])
            })
            .collect();
        let (heads, stride) = rows_of(&rows);
        let heads = Strides { bytes: &heads, stride };
        let none = Strides { bytes: &[], stride: 1 };
        let mut host = vec![0; drawn.bytes()];
        Finish::bytes().draw_on_host(heads, none, &drawn, &mut host).unwrap();
        let run = Run::of("draw").drawn(heads, None, &drawn, &Finish::bytes()).grid(2, 2, 64);
        assert!(run.output(drawn.bytes()) == host, "{size} to {to}");
    }
}
