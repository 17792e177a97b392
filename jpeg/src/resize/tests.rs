//! Every set of kernels beside `fast_image_resize`, byte by byte: `cargo test --profile dist -p
//! tarflume-jpeg resize -- --include-ignored --nocapture` runs many more pictures, and prints the
//! speed of each set.
#![allow(clippy::print_stdout)]

use fast_image_resize::images::{TypedCroppedImage, TypedImage, TypedImageRef};
use fast_image_resize::pixels::{InnerPixel, U8, U8x3};
use fast_image_resize::{FilterType, PixelTrait, ResizeAlg, ResizeOptions};
use tarflume_fixtures::SplitMix64;

use super::*;

/// A picture, its cut and what is made of it.
#[derive(Debug, Clone)]
struct Case {
    channels: usize,
    /// Width and height of the picture.
    whole: (u32, u32),
    /// Left and top of the pixels that may be used.
    corner: (u32, u32),
    size: (u32, u32),
    area: [f64; 4],
    out_size: (u32, u32),
    filter: ResizeFilter,
    transposed: bool,
    flip: bool,
}

/// A number of up to 1, 10, 100 or 1,000 pixels.
fn side(dice: &mut SplitMix64) -> u32 {
    let most = [1, 10, 100, 1000][dice.below(4) as usize];
    1 + dice.below(most)
}

/// A range of `0..all`: all of it, whole numbers, or fractions, some of them less than a pixel.
fn range(dice: &mut SplitMix64, all: u32) -> (f64, f64) {
    fn part(dice: &mut SplitMix64) -> f64 {
        f64::from(dice.below(1 << 20)) / f64::from(1 << 20)
    }
    let first = dice.below(all);
    match dice.below(4) {
        0 => (0.0, all.into()),
        1 => (first.into(), (1 + dice.below(all - first)).into()),
        2 => {
            let start = part(dice) * f64::from(all);
            (start, ((f64::from(all) - start) * part(dice)).max(1e-6))
        }
        _ => (f64::from(first) + part(dice) * 1e-3, 1e-3),
    }
}

impl Case {
    fn new(dice: &mut SplitMix64, ratio: bool) -> Case {
        let whole = (side(dice), side(dice).min(if ratio { 40 } else { 300 }));
        let corner = (dice.below(whole.0), dice.below(whole.1));
        let size = (1 + dice.below(whole.0 - corner.0), 1 + dice.below(whole.1 - corner.1));
        let (left, width) = range(dice, size.0);
        let (top, height) = range(dice, size.1);
        let area =
            [left, top, width.min(f64::from(size.0) - left), height.min(f64::from(size.1) - top)];
        // Half of the outputs are about as large as the area: few inputs for each.
        fn like(dice: &mut SplitMix64, length: f64) -> u32 {
            (length as u32 + 1) / (1 + dice.below(4)) + 1
        }
        let mut out_size = (side(dice), side(dice).min(100));
        if ratio {
            out_size = (like(dice, width), like(dice, height).min(60));
        }
        let channels = [1, 3][dice.below(2) as usize];
        let flip = dice.below(2) == 0;
        let filter = ResizeFilter::Triangle;
        Case { channels, whole, corner, size, area, out_size, filter, transposed: false, flip }
    }

    /// Random, all 255, all 0, a checkerboard, or stripes.
    fn pixels(&self, dice: &mut SplitMix64) -> Vec<u8> {
        let row = self.whole.0 as usize * self.channels;
        let kind = dice.below(6);
        let of = |i: usize, random: u64| match kind {
            0 => 255,
            1 => 0,
            2 => ((i / self.channels % self.whole.0 as usize + i / row) % 2 * 255) as u8,
            3 => (i / row % 2 * 255) as u8,
            _ => random as u8,
        };
        (0..row * self.whole.1 as usize).map(|i| of(i, dice.next_u64() >> 32)).collect()
    }

    /// The pixels from the first to the last one of the cut; no byte behind it.
    fn cut(&self, pixels: &[u8]) -> Vec<u8> {
        let stride = self.whole.0 as usize * self.channels;
        let at = self.corner.1 as usize * stride + self.corner.0 as usize * self.channels;
        let last = at + (self.size.1 as usize - 1) * stride + self.size.0 as usize * self.channels;
        pixels[at..last].to_vec()
    }

    fn by(&self, resizer: &mut Resizer, cut: &[u8]) -> Vec<u8> {
        let length = self.out_size.0 as usize * self.out_size.1 as usize * self.channels;
        // A wall behind the output.
        let mut output = vec![0x5a; length + 100];
        resizer
            .resize(Resizing {
                bytes: cut,
                stride: self.whole.0 as usize * self.channels,
                size: self.size,
                channels: self.channels,
                area: self.area,
                out_size: self.out_size,
                filter: self.filter,
                transposed: self.transposed,
                flip: self.flip,
                output: &mut output[..length],
            })
            .unwrap();
        assert!(output[length..].iter().all(|&byte| byte == 0x5a), "{self:?}: written behind");
        output.truncate(length);
        output
    }

    fn theirs<P: PixelTrait + InnerPixel>(&self, pixels: &[u8]) -> Vec<u8> {
        let source = TypedImageRef::<P>::from_buffer(self.whole.0, self.whole.1, pixels).unwrap();
        let (left, top) = self.corner;
        let view = TypedCroppedImage::new(source, left, top, self.size.0, self.size.1).unwrap();
        let (width, height) = self.out_size;
        let mut out = vec![0; width as usize * height as usize * self.channels];
        let mut image = TypedImage::<P>::from_buffer(width, height, &mut out).unwrap();
        let bilinear = ResizeAlg::Convolution(FilterType::Bilinear);
        let [left, top, across, down] = self.area;
        let options = ResizeOptions::new().resize_alg(bilinear).crop(left, top, across, down);
        fast_image_resize::Resizer::new().resize_typed(&view, &mut image, &options).unwrap();
        if self.flip {
            for row in out.chunks_exact_mut(width as usize * self.channels) {
                row.reverse();
                row.chunks_exact_mut(self.channels).for_each(<[u8]>::reverse);
            }
        }
        out
    }
}

/// Compares all sets with the library, each with one resizer for all pictures.
fn compare(seed: u64, count: usize) {
    let mut dice = SplitMix64::new(seed);
    let mut resizers: Vec<_> = Simd::all().into_iter().map(Resizer::with).collect();
    for n in 0..count {
        let case = Case::new(&mut dice, n % 2 == 0);
        let pixels = case.pixels(&mut dice);
        let want = match case.channels {
            1 => case.theirs::<U8>(&pixels),
            _ => case.theirs::<U8x3>(&pixels),
        };
        let cut = case.cut(&pixels);
        for resizer in &mut resizers {
            let found = case.by(resizer, &cut);
            assert!(found == want, "{}, case {n}: {case:?}", resizer.simd.name);
        }
    }
}

#[test]
fn every_set_gives_the_bytes_of_fast_image_resize() {
    compare(1, 2000);
}

#[test]
#[ignore = "half a minute in a release build"]
fn every_set_gives_the_bytes_of_fast_image_resize_for_many_pictures() {
    (2..102).for_each(|seed| compare(seed, 2000));
}

/// Crops as a loader makes them, of all scales from 1/3 to 40.
#[test]
fn crops_of_224_pixels_equal_fast_image_resize_at_every_scale() {
    let mut dice = SplitMix64::new(9);
    let mut resizers: Vec<_> = Simd::all().into_iter().map(Resizer::with).collect();
    for width in [70, 150, 224, 230, 300, 330, 400, 448, 500, 560, 700, 900, 1500, 2300, 9000] {
        for channels in [1, 3] {
            let size = (width, 24 + dice.below(9));
            let area = [0.25, 0.0, f64::from(width) - 0.5, size.1.into()];
            let out_size = (224, 12);
            let flip = dice.below(2) == 0;
            let corner = (0, 0);
            let filter = ResizeFilter::Triangle;
            let whole = size;
            let transposed = false;
            let case =
                Case { channels, whole, corner, size, area, out_size, filter, transposed, flip };
            let pixels = case.pixels(&mut dice);
            let want = match channels {
                1 => case.theirs::<U8>(&pixels),
                _ => case.theirs::<U8x3>(&pixels),
            };
            let cut = case.cut(&pixels);
            for resizer in &mut resizers {
                let found = case.by(resizer, &cut);
                assert!(found == want, "{}, {case:?}", resizer.simd.name);
            }
        }
    }
}

#[test]
fn invalid_requests_are_refused() {
    let bytes = [7; 24];
    let resize = |change: &dyn Fn(&mut Resizing<'_>)| {
        let mut output = [0; 12];
        let mut job = Resizing {
            bytes: &bytes,
            stride: 12,
            size: (4, 2),
            channels: 3,
            area: [0.0, 0.0, 4.0, 2.0],
            out_size: (2, 2),
            filter: ResizeFilter::Triangle,
            transposed: false,
            flip: false,
            output: &mut output,
        };
        change(&mut job);
        Resizer::new().resize(job)
    };
    resize(&|_| ()).unwrap();
    let changes: [&dyn Fn(&mut Resizing<'_>); 11] = [
        &|job| job.bytes = &job.bytes[..23],
        &|job| job.stride = 11,
        &|job| job.size.0 = 0,
        &|job| job.size.1 = 3,
        &|job| job.size.0 = Resizer::MOST_SIDE + 1,
        &|job| job.channels = 4,
        &|job| job.area[2] = 4.001,
        &|job| job.area[1] = -0.1,
        &|job| job.area[3] = 0.0,
        &|job| job.area[0] = f64::NAN,
        &|job| job.out_size.1 = 3,
    ];
    for (n, change) in changes.iter().enumerate() {
        assert_eq!(resize(*change).unwrap_err().kind(), ErrorKind::Usage, "change {n}");
    }
}

/// Returns the shortest time of a call in microseconds, over many.
fn least(mut call: impl FnMut()) -> f64 {
    let times = (0..200).map(|_| {
        let start = std::time::Instant::now();
        call();
        start.elapsed().as_secs_f64() * 1e6
    });
    times.fold(f64::INFINITY, f64::min)
}

#[test]
#[ignore = "prints how fast each set is; meant for --profile dist"]
fn speed() {
    let mut dice = SplitMix64::new(11);
    for (channels, side) in [(3, 180), (3, 300), (3, 400), (3, 500), (3, 1000), (1, 300)] {
        let whole = (side, side);
        let area = [0.0, 0.0, side.into(), side.into()];
        let case = Case {
            channels,
            whole,
            corner: (0, 0),
            size: whole,
            area,
            out_size: (224, 224),
            filter: ResizeFilter::Triangle,
            transposed: false,
            flip: false,
        };
        let pixels = case.pixels(&mut dice);
        let library = match channels {
            1 => least(|| drop(case.theirs::<U8>(&pixels))),
            _ => least(|| drop(case.theirs::<U8x3>(&pixels))),
        };
        let sets = Simd::all().into_iter().map(|set| {
            let mut resizer = Resizer::with(set);
            let time = least(|| drop(case.by(&mut resizer, &pixels)));
            format!("{} {time:.1}", set.name)
        });
        let sets: Vec<_> = sets.collect();
        println!("{channels} x {side}, µs: library {library:.1}, {}", sets.join(", "));
    }
}

mod fine;
