//! Prints the speed of each set; asserts nothing about time.
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::Instant;

use super::blocks::{Numbers, ZIGZAG};
use crate::simd::{Blocks, Simd};

/// Returns the shortest time of a call in seconds, over many.
fn least(mut call: impl FnMut()) -> f64 {
    let times = (0..100).map(|_| {
        let start = Instant::now();
        call();
        start.elapsed().as_secs_f64()
    });
    times.fold(f64::INFINITY, f64::min)
}

/// Returns ns per block for runs of blocks whose last coefficients are drawn from `last`, without
/// the time for setting the coefficients. There are too many blocks for a branch predictor to learn
/// their order.
fn blocks(set: &Simd, size: usize, last: &[u8]) -> f64 {
    const RUN: usize = 48;
    const COUNT: usize = 100 * RUN;
    let mut numbers = Numbers::new(5);
    let last = [(); COUNT].map(|()| last[numbers.below(last.len() as u64) as usize]);
    let source = last.map(|last| {
        let mut block = [0; 64];
        ZIGZAG[..=last.into()].iter().for_each(|&i| block[i] = numbers.below(9) as i16 - 4);
        block
    });
    let side = 8 >> size;
    let mut out = vec![0; RUN * 64];
    let mut coefficients = vec![[0; 64]; RUN];
    let mut timed = |run: bool| {
        least(|| {
            for (source, last) in source.chunks(RUN).zip(last.chunks(RUN)) {
                coefficients.copy_from_slice(black_box(source));
                if run {
                    (set.idct[size])(&mut Blocks {
                        coefficients: &mut coefficients,
                        last,
                        step: 1,
                        count: RUN,
                        quant: &[16; 64],
                        out: &mut out,
                        stride: RUN * side,
                        across: side,
                    });
                }
            }
        })
    };
    (timed(true) - timed(false)) * 1e9 / COUNT as f64
}

#[test]
#[ignore = "prints how fast the kernels are; meant for --profile dist"]
fn speed() {
    const N: usize = 2000;
    let mut numbers = Numbers::new(6);
    let lines = [(); 3].map(|()| numbers.bytes(N + 2));
    let mut out = vec![0; 3 * N];
    let [a, b, c] = lines.each_ref().map(|line| &line[..N]);
    for set in Simd::all() {
        println!("{}", set.name);
        let kinds: [(&str, &[u8]); 6] = [
            ("DC", &[0]),
            ("last 5", &[5]),
            ("last 12", &[12]),
            ("last 20", &[20]),
            ("all 64", &[63]),
            ("mixed", &[0, 0, 4, 9, 30, 63, 2, 0, 7, 20]),
        ];
        for (size, name) in ["8x8", "4x4", "2x2", "1x1"].into_iter().enumerate() {
            let times = kinds.map(|(name, last)| format!("{name} {:.1}", blocks(set, size, last)));
            println!("  {name} in ns a block: {}", times.join(", "));
        }
        let mut speed = |name: &str, bytes: usize, kernel: &dyn Fn(&mut [u8])| {
            let time = least(|| (0..50).for_each(|_| kernel(black_box(&mut out)))) / 50.0;
            println!("  {name}: {:.2} GB of output a second", bytes as f64 / time / 1e9);
        };
        speed("h2v1", 2 * N, &|out| (set.h2v1)(black_box(&lines[0]), out));
        speed("h2v2", 2 * N, &|out| (set.h2v2)(black_box(&lines[0]), &lines[1], out));
        speed("h1v2", N, &|out| (set.h1v2)(black_box(a), b, 1, out));
        speed("ycc_rgb", 3 * N, &|out| (set.ycc_rgb)(black_box(a), b, c, out));
        speed("gray_rgb", 3 * N, &|out| (set.gray_rgb)(black_box(a), out));
    }
}
