//! Cubic and Lanczos: every set of kernels beside sums of whole integers, in Pillow's order.

use super::*;
use crate::simd::{Inputs, LOW_BITS};

/// The picture resized along one axis: `count` lines of `taps.starts.len()` outputs. `at(line, place, channel)` is
/// the number of a byte before, and the result is in the order line, output, channel.
fn pass(
    taps: &Taps,
    count: usize,
    channels: usize,
    at: impl Fn(usize, usize, usize) -> u8,
) -> Vec<u8> {
    let mut out = Vec::new();
    for line in 0..count {
        for output in 0..taps.starts.len() {
            let Inputs { start, count, weights, lows } = taps.of(output);
            for channel in 0..channels {
                let mut sum = 1i64 << 21;
                for n in 0..count {
                    let weight = (i64::from(weights[n]) << LOW_BITS) + i64::from(lows[n]);
                    sum += weight * i64::from(at(line, start + n, channel));
                }
                out.push((sum >> 22).clamp(0, 255) as u8);
            }
        }
    }
    out
}

/// The output of a case, by plain sums over all of the cut.
fn plain(case: &Case, cut: &[u8], columns_first: bool) -> Vec<u8> {
    let channels = case.channels;
    let stride = case.whole.0 as usize * channels;
    let [left, top, width, height] = case.area;
    let mut weights = FineWeights::default();
    let mut across = Taps::default();
    let mut down = Taps::default();
    let span = Span { inputs: case.size.0, from: left, to: left + width, outputs: case.out_size.0 };
    weights.set(Simd::best(), case.filter, span, &mut across);
    let span = Span { inputs: case.size.1, from: top, to: top + height, outputs: case.out_size.1 };
    weights.set(Simd::best(), case.filter, span, &mut down);
    let inputs = (case.size.0 as usize, case.size.1 as usize);
    let outputs = (case.out_size.0 as usize, case.out_size.1 as usize);
    let mut out = if columns_first {
        let columns = pass(&down, inputs.0, channels, |x, y, c| cut[y * stride + x * channels + c]);
        pass(&across, outputs.1, channels, |y, x, c| columns[(x * outputs.1 + y) * channels + c])
    } else {
        let rows = pass(&across, inputs.1, channels, |y, x, c| cut[y * stride + x * channels + c]);
        let columns =
            pass(&down, outputs.0, channels, |x, y, c| rows[(y * outputs.0 + x) * channels + c]);
        let all = 0..outputs.0 * outputs.1 * channels;
        all.map(|i| {
            let pixel = i / channels;
            columns[(pixel % outputs.0 * outputs.1 + pixel / outputs.0) * channels + i % channels]
        })
        .collect()
    };
    if case.flip {
        for row in out.chunks_exact_mut(outputs.0 * channels) {
            row.reverse();
            row.chunks_exact_mut(channels).for_each(<[u8]>::reverse);
        }
    }
    out
}

fn is_columns_first(case: &Case) -> bool {
    Resizing {
        bytes: &[],
        stride: 0,
        size: case.size,
        channels: case.channels,
        area: case.area,
        out_size: case.out_size,
        filter: case.filter,
        transposed: case.transposed,
        flip: case.flip,
        output: &mut [],
    }
    .is_columns_first()
}

/// Compares all sets with plain sums, each with one resizer for all pictures.
fn compare(cases: impl Iterator<Item = Case>) {
    let mut dice = SplitMix64::new(31);
    let mut resizers: Vec<_> = Simd::all().into_iter().map(Resizer::with).collect();
    for case in cases {
        let cut = case.cut(&case.pixels(&mut dice));
        let want = plain(&case, &cut, is_columns_first(&case));
        for resizer in &mut resizers {
            assert!(case.by(resizer, &cut) == want, "{}: {case:?}", resizer.simd.name);
        }
    }
}

#[test]
fn every_set_gives_the_plain_sums() {
    let mut dice = SplitMix64::new(21);
    let cases = (0..300).map(|n| {
        let mut case = Case::new(&mut dice, true);
        case.filter = [ResizeFilter::Cubic, ResizeFilter::Lanczos][n % 2];
        case.transposed = n % 3 == 0;
        case
    });
    compare(cases);
}

#[test]
fn hostile_sizes_give_the_plain_sums() {
    let sizes = [
        ((1, 1), (1, 1)),
        ((1, 1), (70, 50)),
        ((1, 10_000), (5, 3)),
        ((10_000, 1), (3, 5)),
        ((10_000, 2), (1, 1)),
        ((3, 2), (99, 77)),
        ((64, 40), (64, 40)),
        ((64, 40), (64, 9)),
        ((64, 40), (17, 40)),
    ];
    let cases = sizes.into_iter().flat_map(|(size, out_size)| {
        [ResizeFilter::Cubic, ResizeFilter::Lanczos].into_iter().flat_map(move |filter| {
            [1, 3].into_iter().flat_map(move |channels| {
                [false, true].map(|flip| Case {
                    channels,
                    whole: size,
                    corner: (0, 0),
                    size,
                    area: [0.0, 0.0, size.0.into(), size.1.into()],
                    out_size,
                    filter,
                    transposed: false,
                    flip,
                })
            })
        })
    });
    compare(cases);
}

/// Frozen results of Pillow 13.0.0: `Image.fromarray(pixels).resize((3, 2), BICUBIC)` and `LANCZOS`.
#[test]
fn small_pictures_are_pillows() {
    let pixels: Vec<u8> = (0..35u32).map(|n| (n * n * 37 % 256) as u8).collect();
    for (filter, expected) in PILLOW {
        let case = Case {
            channels: 1,
            whole: (7, 5),
            corner: (0, 0),
            size: (7, 5),
            area: [0.0, 0.0, 7.0, 5.0],
            out_size: (3, 2),
            filter,
            transposed: false,
            flip: false,
        };
        assert_eq!(case.by(&mut Resizer::new(), &pixels), expected, "{filter:?}");
    }
}

const PILLOW: [(ResizeFilter, [u8; 6]); 2] = [
    (ResizeFilter::Cubic, [68, 127, 136, 138, 111, 107]),
    (ResizeFilter::Lanczos, [67, 130, 137, 138, 112, 108]),
];

#[test]
#[ignore = "prints how fast each set is; meant for --profile dist"]
fn speed() {
    let mut dice = SplitMix64::new(11);
    for (side, out) in
        [(100, 96), (150, 96), (220, 96), (250, 224), (330, 224), (500, 224), (1000, 224)]
    {
        let area = [0.0, 0.0, side.into(), side.into()];
        let case = Case {
            channels: 3,
            whole: (side, side),
            corner: (0, 0),
            size: (side, side),
            area,
            out_size: (out, out),
            filter: ResizeFilter::Cubic,
            transposed: false,
            flip: false,
        };
        let pixels = case.pixels(&mut dice);
        let mut all = Simd::all();
        let last = *all[all.len() - 1];
        all.push(Box::leak(Box::new(Simd {
            bytes: None,
            name: "without products of bytes",
            ..last
        })));
        let sets = all.into_iter().map(|set| {
            let mut resizer = Resizer::with(set);
            let time = least(|| drop(case.by(&mut resizer, &pixels)));
            format!("{} {time:.1}", set.name)
        });
        let sets: Vec<_> = sets.collect();
        println!("{side} to {out}, µs: {}", sets.join(", "));
    }
}
