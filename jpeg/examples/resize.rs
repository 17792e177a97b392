//! Measures resizing alone, beside `fast_image_resize`: random crops of a folder's JPEGs to 224 x
//! 224, half of them mirrored. Fails if the bytes differ.
//!
//! `resize FOLDER [ROUNDS]`. Each crop is decoded first, as a loader does, so its pixels are in the
//! cache. The library mirrors in a second pass. Both take turns for each crop; the least time of a
//! crop over all rounds counts. Prints `KEY=VALUE`: microseconds of a crop, mean over all, and the
//! sets of kernels.
#![allow(clippy::disallowed_methods, reason = "a measuring program")]
#![allow(clippy::print_stdout, clippy::unwrap_used)] // a measuring program

use std::time::Instant;

use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::U8x3;
use fast_image_resize::{FilterType, ResizeAlg, ResizeOptions};
use tarflume_fixtures::SplitMix64;
use tarflume_jpeg::{Decoder, Header, Job, Region, ResizeFilter, Resizer, Resizing, Size};

const SIDE: u32 = 224;
const ROOM: usize = (SIDE * SIDE * 3) as usize;

struct Crop {
    jpeg: usize,
    region: Region,
    flip: bool,
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().unwrap_or_else(|| "fixtures/photos".into());
    let rounds = arguments.next().map_or(9, |n| n.parse().unwrap());
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let files = files.iter().map(|path| std::fs::read(path).unwrap());
    let jpegs: Vec<_> = files
        .filter_map(|bytes| Header::parse(&bytes).ok().map(|header| (bytes, header)))
        .filter(|(_, header)| header.channels() == 3)
        .collect();
    let mut dice = SplitMix64::new(7);
    let crops: Vec<_> = (0..4 * jpegs.len())
        .map(|n| crop(&mut dice, n % jpegs.len(), &jpegs[n % jpegs.len()].1))
        .collect();
    let mut pair = (Resizer::new(), fast_image_resize::Resizer::new());
    let mut least = vec![(f64::MAX, f64::MAX); crops.len()];
    let mut pixels = Vec::new();
    let mut decoder = Decoder::new();
    for round in 0..rounds {
        for (crop, least) in crops.iter().zip(&mut least) {
            let (bytes, header) = &jpegs[crop.jpeg];
            let size = Size { width: crop.region.width, height: crop.region.height };
            let stride = 3 * size.width as usize;
            pixels.resize(stride * size.height as usize, 0);
            let job = Job::new(bytes, header, &mut pixels);
            decoder.decode(Job { region: Some(crop.region), stride, ..job }).unwrap();
            let mut ours = vec![0; ROOM];
            let mut theirs = vec![0; ROOM];
            for turn in [round % 2, 1 - round % 2] {
                let start = Instant::now();
                if turn == 0 {
                    own(&mut pair.0, &pixels, size, crop.flip, &mut ours);
                    least.0 = least.0.min(start.elapsed().as_secs_f64());
                } else {
                    library(&mut pair.1, &pixels, size, crop.flip, &mut theirs);
                    least.1 = least.1.min(start.elapsed().as_secs_f64());
                }
            }
            assert!(ours == theirs, "{size:?}");
        }
    }
    let ours = mean(least.iter().map(|pair| pair.0));
    let theirs = mean(least.iter().map(|pair| pair.1));
    println!("jpegs={} crops={} rounds={rounds}", jpegs.len(), crops.len());
    println!("kernels={} library={:?}", decoder.kernels(), pair.1.cpu_extensions());
    println!("own_us={ours:.1} library_us={theirs:.1} ratio={:.2}", theirs / ours);
}

/// The mean of seconds, in microseconds.
fn mean(seconds: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = seconds.len();
    seconds.sum::<f64>() * 1e6 / count as f64
}

/// 8 to 100 % of the area, width over height from 3:4 to 4:3, anywhere.
fn crop(dice: &mut SplitMix64, jpeg: usize, header: &Header) -> Crop {
    let width = header.width();
    let height = header.height();
    let mut part = || f64::from(dice.below(1 << 20)) / f64::from(1 << 20);
    loop {
        let area = f64::from(width) * f64::from(height) * (0.08 + 0.92 * part());
        let ratio = 0.75 * (16.0f64 / 9.0).powf(part());
        let size = [(area * ratio).sqrt(), (area / ratio).sqrt()].map(|side| side as u32);
        if (1..=width).contains(&size[0]) && (1..=height).contains(&size[1]) {
            let left = (part() * f64::from(width - size[0] + 1)) as u32;
            let top = (part() * f64::from(height - size[1] + 1)) as u32;
            let region = Region { left, top, width: size[0], height: size[1] };
            return Crop { jpeg, region, flip: part() < 0.5 };
        }
    }
}

fn own(resizer: &mut Resizer, pixels: &[u8], size: Size, flip: bool, output: &mut [u8]) {
    let Size { width, height } = size;
    let area = [0.0, 0.0, width.into(), height.into()];
    let job = Resizing {
        bytes: pixels,
        stride: 3 * width as usize,
        size: (width, height),
        channels: 3,
        area,
        out_size: (SIDE, SIDE),
        filter: ResizeFilter::Triangle,
        transposed: false,
        flip,
        output,
    };
    resizer.resize(job).unwrap();
}

fn library(
    resizer: &mut fast_image_resize::Resizer,
    pixels: &[u8],
    size: Size,
    flip: bool,
    output: &mut [u8],
) {
    let source = TypedImageRef::<U8x3>::from_buffer(size.width, size.height, pixels).unwrap();
    let mut image = TypedImage::<U8x3>::from_buffer(SIDE, SIDE, output).unwrap();
    let bilinear = ResizeAlg::Convolution(FilterType::Bilinear);
    let options = ResizeOptions::new().resize_alg(bilinear);
    resizer.resize_typed(&source, &mut image, &options).unwrap();
    if flip {
        let rows = output.chunks_exact_mut(3 * SIDE as usize);
        rows.for_each(|row| row.as_chunks_mut::<3>().0.reverse());
    }
}
