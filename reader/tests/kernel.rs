//! The kernel, compiled as C++ and run on the CPU, beside the same work written in Rust; its crop
//! beside fast_image_resize. Sanitizers watch every step of the kernel.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

#[path = "kernel/runner.rs"]
mod runner;

use fast_image_resize::images::Image as Pixels;
use fast_image_resize::{FilterType, PixelType, ResizeAlg, ResizeOptions, Resizer};
use half::{bf16, f16};
use runner::{Dice, Run, numbers};
use tarflume::decode::geometry::Size;
use tarflume::decode::output::{Layout, Normalise};
use tarflume::device::crop::CropBox;
use tarflume::device::finish::{Element, Finish, Pictures};
use tarflume::device::kernel;

const ELEMENTS: [Element; 4] = [Element::U8, Element::F16, Element::Bf16, Element::F32];

fn finish(element: Element, layout: Layout) -> Finish {
    let finish = match element {
        Element::U8 => Finish::bytes(),
        _ => Finish::floats(element, Normalise::imagenet()).unwrap(),
    };
    finish.layout(layout)
}

/// Every element, layout and number of channels.
fn each(mut body: impl FnMut(Element, Layout, usize)) {
    for element in ELEMENTS {
        for layout in [Layout::Hwc, Layout::Chw] {
            for channels in [1, 3, 4] {
                body(element, layout, channels);
            }
        }
    }
}

#[test]
fn finished_pictures_are_those_of_the_host_to_the_bit() {
    let mut dice = Dice(1);
    each(|element, layout, channels| {
        for (rows, size, grid, block) in [
            (1, Size::new(1, 1), (1, 1), 1),
            (3, Size::new(7, 5), (1, 1), 3), // each thread strides over pixels and rows
            (2, Size::new(33, 31), (2, 3), 256), // more rows of blocks than rows
            (5, Size::new(16, 24), kernel::grid(5, 16 * 24), kernel::BLOCK),
        ] {
            let pictures = Pictures::new(rows, size, channels).unwrap();
            let (from, flips) = (dice.bytes(pictures.bytes()), dice.bytes(rows));
            let flips: Vec<u8> = flips.iter().map(|flip| flip % 3).collect(); // 2 is a flip, too
            let finish = finish(element, layout);
            for flips in [None, Some(&flips[..])] {
                let mut expected = vec![0; finish.output_bytes(&pictures)];
                finish.on_host(&pictures, &from, flips, &mut expected).unwrap();
                let run = Run::of("finish").pictures(&pictures, &finish, &from).flips(flips);
                let out = run.grid(grid, block).output(expected.len());
                assert_eq!(out, expected, "{element:?} {layout:?} {pictures:?} {flips:?}");
            }
        }
    });
}

/// Boxes that begin and end anywhere, from one pixel to the whole picture, some of whole pixels.
fn boxes(dice: &mut Dice, rows: usize, size: Size) -> Vec<CropBox> {
    let mut side = |all: u32, whole: bool| {
        let length = 1.0 + dice.part() * (all as f32 - 1.0);
        let start = dice.part() * (all as f32 - length);
        if whole { (start.floor(), length.floor()) } else { (start, length) }
    };
    let of = |row: usize| {
        let ((left, width), (top, height)) =
            (side(size.width, row.is_multiple_of(2)), side(size.height, row.is_multiple_of(2)));
        CropBox { left, top, width, height }
    };
    (0..rows).map(of).collect()
}

fn as_bytes(boxes: &[CropBox]) -> Vec<u8> {
    boxes.iter().flat_map(CropBox::numbers).flat_map(f32::to_ne_bytes).collect()
}

/// How far a number may be from the host's: the kernel works in single precision, the host in double,
/// so that both may round to neighbouring numbers of the element.
fn allowed(element: Element, number: f32) -> f32 {
    match element {
        Element::U8 => 1.0,
        Element::F16 => 1e-5 + number.abs() / 1024.0,
        Element::Bf16 => 1e-5 + number.abs() / 128.0,
        Element::F32 => 1e-5, // of a range of 4.6: the deviations divide
    }
}

#[test]
fn crops_are_those_of_the_host() {
    let mut dice = Dice(2);
    each(|element, layout, channels| {
        for (from_size, size) in [
            (Size::new(61, 47), Size::new(16, 16)),
            (Size::new(9, 13), Size::new(20, 31)),
            (Size::new(200, 3), Size::new(7, 1)),
            (Size::new(1, 1), Size::new(3, 2)),
        ] {
            let rows = 4;
            let pictures = Pictures::new(rows, from_size, channels).unwrap();
            let (from, flips) = (dice.bytes(pictures.bytes()), [0, 1, 1, 0]);
            let boxes = boxes(&mut dice, rows, from_size);
            let finish = finish(element, layout);
            let bytes = finish.output_bytes(&pictures.resized(size).unwrap());
            let mut expected = vec![0; bytes];
            let flips = Some(&flips[..]);
            finish.crop_on_host(&pictures, &from, &boxes, flips, size, &mut expected).unwrap();
            let run = Run::of("crop").pictures(&pictures, &finish, &from).flips(flips);
            let run = run.file("boxes", &as_bytes(&boxes));
            let run = run.with("out_height", size.height).with("out_width", size.width);
            let out = run.grid(kernel::grid(rows, 100), 64).output(bytes);
            let (found, wanted) = (numbers(element, &out), numbers(element, &expected));
            let others =
                found.iter().zip(&wanted).filter(|(found, wanted)| found != wanted).count();
            // Roundings to another neighbour are rare where there are few numbers to round to.
            assert!(element == Element::F32 || others <= 2 + found.len() / 100, "{others} differ");
            for (n, (found, wanted)) in found.into_iter().zip(wanted).enumerate() {
                let off = (found - wanted).abs();
                assert!(off <= allowed(element, wanted), "{found} {wanted} at {n}: {boxes:?}");
            }
        }
    });
}

/// A large picture, where positions lose digits: the kernel counts from the box.
#[test]
fn crops_at_the_far_end_of_a_large_picture_are_exact_too() {
    let mut dice = Dice(3);
    let (size, out_size) = (Size::new(20_000, 3), Size::new(512, 2));
    let pictures = Pictures::new(2, size, 1).unwrap();
    let from = dice.bytes(pictures.bytes());
    let boxes = [
        CropBox { left: 19_900.25, top: 0.5, width: 99.5, height: 2.0 },
        CropBox { left: 0.0, top: 0.0, width: 20_000.0, height: 3.0 },
    ];
    let finish = Finish::floats(Element::F32, Normalise::unit()).unwrap();
    let mut expected = vec![0; 2 * 512 * 2 * 4];
    finish.crop_on_host(&pictures, &from, &boxes, None, out_size, &mut expected).unwrap();
    let run = Run::of("crop").pictures(&pictures, &finish, &from);
    let run = run.file("boxes", &as_bytes(&boxes)).with("out_height", 2).with("out_width", 512);
    let out = run.grid((4, 2), 256).output(expected.len());
    for (found, wanted) in numbers(Element::F32, &out).iter().zip(numbers(Element::F32, &expected))
    {
        assert!((found - wanted).abs() < 1e-4, "{found} {wanted}");
    }
}

/// The host refuses such boxes; should one arrive all the same, nothing outside the picture is read.
#[test]
fn boxes_that_are_none_read_nothing_outside() {
    let nowhere = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -3.0, 0.0, 1e30, -1e30, 4.5];
    let numbers = |n: usize| nowhere[n % nowhere.len()];
    let of = |n: usize| CropBox {
        left: numbers(n),
        top: numbers(n / 8),
        width: numbers(n / 64),
        height: numbers(n / 512),
    };
    let boxes: Vec<CropBox> = (0..4096).map(of).collect();
    let pictures = Pictures::new(boxes.len(), Size::new(5, 4), 3).unwrap();
    let from = vec![200; pictures.bytes()];
    let run = Run::of("crop").pictures(&pictures, &Finish::bytes(), &from);
    let run = run.file("boxes", &as_bytes(&boxes)).with("out_height", 3).with("out_width", 2);
    let out = run.grid((1, 64), 8).output(boxes.len() * 18);
    assert!(out.iter().all(|&byte| byte == 200 || byte == 0), "a mean of nothing but 200");
}

/// What others call bilinear with antialiasing. fast_image_resize has weights of 16 bits and rounds
/// to bytes between the directions, so it may be off by one.
#[test]
fn the_crop_is_the_filter_that_decoding_uses() {
    let mut dice = Dice(4);
    let size = Size::new(97, 83);
    for out_size in [Size::new(32, 32), Size::new(120, 100), Size::new(97, 20)] {
        let pictures = Pictures::new(6, size, 3).unwrap();
        let from = dice.bytes(pictures.bytes());
        let boxes = boxes(&mut dice, 6, size);
        let mut ours = vec![0; pictures.resized(out_size).unwrap().bytes()];
        let finish = Finish::bytes();
        finish.crop_on_host(&pictures, &from, &boxes, None, out_size, &mut ours).unwrap();
        let (row, out_row) = (pictures.row_bytes(), out_size.pixels() as usize * 3);
        // Boxes of whole pixels only: the others reach for pixels outside there.
        for n in (0..6).step_by(2) {
            let [left, top, width, height] = boxes[n].numbers().map(|number| number as usize);
            let lines = (top..top + height)
                .map(|y| &from[n * row + (y * size.width as usize + left) * 3..][..width * 3]);
            let cut = lines.flatten().copied().collect();
            let cut = Pixels::from_vec_u8(width as u32, height as u32, cut, PixelType::U8x3);
            let mut theirs = Pixels::new(out_size.width, out_size.height, PixelType::U8x3);
            let options =
                ResizeOptions::new().resize_alg(ResizeAlg::Convolution(FilterType::Bilinear));
            Resizer::new().resize(&cut.unwrap(), &mut theirs, &options).unwrap();
            let ours = &ours[n * out_row..][..out_row];
            let furthest = ours.iter().zip(theirs.buffer()).map(|(a, b)| a.abs_diff(*b)).max();
            assert!(furthest <= Some(1), "{:?} to {out_size}: {furthest:?}", boxes[n]);
        }
    }
}

#[test]
fn gathered_rows_are_those_of_the_numbers() {
    let mut dice = Dice(5);
    for (row_bytes, shift) in [(48, 0), (48, 4), (48, 1), (20, 0), (7, 0), (7, 3), (1, 0)] {
        let slab = dice.bytes(row_bytes * 11);
        let numbers = [10u64, 0, 3, 3, 11, u64::MAX, 9];
        let bytes: Vec<u8> = numbers.into_iter().flat_map(u64::to_ne_bytes).collect();
        let zeros = vec![0; row_bytes];
        let row = |number: u64| slab.chunks(row_bytes).nth(number.min(11) as usize);
        let rows = numbers.iter().map(|&number| row(number).unwrap_or(&zeros));
        let expected: Vec<u8> = rows.flatten().copied().collect();
        let run = Run::of("gather").file("slab", &slab).file("numbers", &bytes);
        let run = run.with("rows", 7).with("row_bytes", row_bytes).with("slab_rows", 11);
        let out = run.with("shift_bytes", shift).grid((1, 2), 32).output(expected.len());
        assert_eq!(out, expected, "rows of {row_bytes} bytes, {shift} off");
    }
}

#[test]
fn sixteen_bits_are_rounded_as_the_crate_half_rounds_them() {
    let mut dice = Dice(6);
    // All exponents and signs; of the digits the ends, the middles of both types and some more.
    let digits = [0, 1, 0xfff, 0x1000, 0x1001, 0x1fff, 0x2000, 0x3000, 0x7fff, 0x8000, 0x8001];
    let more = [0x1_7fff, 0x1_8000, 0x7f_f000, 0x7f_ffff, 0x40_0000];
    let mut all: Vec<u32> = Vec::new();
    for head in 0..512u32 {
        let head = head << 23;
        all.extend(digits.iter().chain(&more).map(|digits| head | digits));
        all.extend((0..200).map(|_| head | (dice.next() as u32 & 0x7f_ffff)));
    }
    let bytes: Vec<u8> = all.iter().flat_map(|bits| bits.to_ne_bytes()).collect();
    for entry in ["half", "bfloat"] {
        let out = Run::of(entry).file("floats", &bytes).output(all.len() * 2);
        for (&bits, out) in all.iter().zip(out.as_chunks::<2>().0) {
            let (from, found) = (f32::from_bits(bits), u16::from_ne_bytes(*out));
            let (expected, none) = match entry {
                "half" => (f16::from_f32(from).to_bits(), f16::from_bits(found).is_nan()),
                _ => (bf16::from_f32(from).to_bits(), bf16::from_bits(found).is_nan()),
            };
            let right = if from.is_nan() { none } else { found == expected };
            assert!(right, "{entry} of {bits:#x} is {found:#x}, not {expected:#x}");
        }
    }
}
