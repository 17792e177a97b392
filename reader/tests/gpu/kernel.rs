//! The kernels, compiled as C++ and run on the CPU under sanitizers, compared with the same computation in
//! Rust.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod changing;
mod drawing;
mod orders;
mod resizing;
mod runner;

use half::{bf16, f16};
use runner::{Dice, Run, each, finish};
use tarflume::ImageSize;
use tarflume::internal::args;
use tarflume::internal::convert::Pictures;

#[test]
fn finished_pictures_are_those_of_the_host_to_the_bit() {
    let mut dice = Dice(1);
    each(|element, layout, channels| {
        for (rows, size, grid, block) in [
            (1, ImageSize::new(1, 1), (1, 1), 1),
            (3, ImageSize::new(7, 5), (1, 1), 3), // each thread strides over pixels and rows
            (2, ImageSize::new(33, 31), (2, 3), 256), // more rows of blocks than rows
            (5, ImageSize::new(16, 24), args::grid(5, 16 * 24), args::BLOCK),
        ] {
            let pictures = Pictures::new(rows, size, channels).unwrap();
            let from = dice.bytes(pictures.bytes());
            let flips = dice.bytes(rows);
            let flips: Vec<u8> = flips.iter().map(|flip| flip % 3).collect(); // 2 is a flip, too
            let finish = finish(element, layout);
            for flips in [None, Some(&flips[..])] {
                let mut expected = vec![0; finish.output_bytes(&pictures)];
                finish.on_host(&pictures, &from, flips, &mut expected).unwrap();
                let run = Run::of("finish").pictures(&pictures, &finish, &from).flips(flips);
                let (x, y) = grid;
                let out = run.grid(x, y, block).output(expected.len());
                assert_eq!(out, expected, "{element:?} {layout:?} {pictures:?} {flips:?}");
            }
        }
    });
}

#[test]
fn gathered_rows_are_those_of_the_numbers() {
    let mut dice = Dice(5);
    for (row_bytes, shift) in [(48, 0), (48, 4), (48, 1), (20, 0), (7, 0), (7, 3), (1, 0)] {
        let slab = dice.bytes(row_bytes * 11);
        let numbers = [10u64, 0, 3, 3, 11, u64::MAX, 9];
        let zeros = vec![0; row_bytes];
        let found = numbers.map(|number| slab.chunks(row_bytes).nth(number.min(11) as usize));
        let rows = found.into_iter().map(|row| row.unwrap_or(&zeros));
        let expected: Vec<u8> = rows.flatten().copied().collect();
        let run = Run::of("gather").gathered(&slab, row_bytes, &numbers, shift);
        let out = run.grid(1, 2, 32).output(expected.len());
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
    for entry in ["rounded_half", "rounded_bfloat"] {
        let out = Run::of(entry).rounded(&all).output(all.len() * 2);
        for (&bits, out) in all.iter().zip(out.as_chunks::<2>().0) {
            let from = f32::from_bits(bits);
            let found = u16::from_ne_bytes(*out);
            let (expected, none) = match entry {
                "rounded_half" => (f16::from_f32(from).to_bits(), f16::from_bits(found).is_nan()),
                _ => (bf16::from_f32(from).to_bits(), bf16::from_bits(found).is_nan()),
            };
            let right = if from.is_nan() { none } else { found == expected };
            assert!(right, "{entry} of {bits:#x} is {found:#x}, not {expected:#x}");
        }
    }
}
