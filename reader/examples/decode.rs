//! Measures decoding alone: a folder of pictures in memory, decoded again and again by 1 and 2
//! threads. Prints `KEY=VALUE`, images in a second, the best of three rounds; `_cpu` is images in a
//! second of processor time, which says more on a machine that others use too.
//!
//! `cargo run --release -p tarflume --example decode -- FOLDER [SECONDS]`
#![allow(clippy::print_stdout, clippy::unwrap_used)] // a measuring program

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tarflume::column::Row;
use tarflume::decode::fixed_crop::{ResizeCentreCrop, Whole};
use tarflume::decode::image::Image;
use tarflume::decode::output::{Layout, Normalise};
use tarflume::decode::random_crop::RandomResizedCrop;
use tarflume::decode::resize::Filter;
use tarflume::decode::{Decode, Sample, Scratch};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().unwrap_or_else(|| "fixtures/photos".into());
    let seconds = arguments.next().map_or(1.0, |s| s.parse().unwrap());
    let mut pictures = Vec::new();
    read(Path::new(&folder), &mut pictures);
    let bytes: usize = pictures.iter().map(Vec::len).sum();
    println!("pictures={} bytes={bytes}", pictures.len());

    let crop = || RandomResizedCrop::new(224).flip(0.5);
    let image = |crop| Image::new("jpg", crop);
    let normalise = Normalise::imagenet();
    let columns: [(&str, Image); 8] = [
        ("whole", Image::new("jpg", Whole::up_to(1 << 26))),
        ("crop", image(crop())),
        ("crop_bilinear_fast", image(crop()).filter(Filter::BilinearFast)),
        ("crop_chw", image(crop()).layout(Layout::Chw)),
        ("crop_f32_chw", image(crop()).layout(Layout::Chw).to_f32(normalise)),
        ("crop_f16_chw", image(crop()).layout(Layout::Chw).to_f16(normalise)),
        ("crop_f16_hwc", image(crop()).to_f16(normalise)),
        ("evaluation", Image::new("jpg", ResizeCentreCrop::new(256, 224))),
    ];
    for (name, column) in columns {
        for threads in [1, 2] {
            let rounds = (0..3).map(|_| rate(&column, &pictures, threads, seconds));
            let best = rounds.fold((0.0, 0.0), |a, b| (f64::max(a.0, b.0), f64::max(a.1, b.1)));
            println!("{name}_{threads}t={:.0} {name}_{threads}t_cpu={:.0}", best.0, best.1);
        }
    }
}

fn read(folder: &Path, pictures: &mut Vec<Vec<u8>>) {
    let mut entries: Vec<_> = folder.read_dir().unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let ext = path.extension().unwrap_or_default().to_ascii_lowercase();
        if path.is_dir() {
            read(&path, pictures);
        } else if ["jpg", "jpeg", "png", "webp"].iter().any(|known| ext == *known) {
            pictures.push(std::fs::read(path).unwrap());
        }
    }
}

/// Nanoseconds that this thread was on a processor.
fn busy() -> usize {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// Images in a second, and in a second of processor time.
fn rate(column: &Image, pictures: &[Vec<u8>], threads: usize, seconds: f64) -> (f64, f64) {
    let cpu = AtomicUsize::new(0);
    let (next, start) = (AtomicUsize::new(0), Instant::now());
    let end = Duration::from_secs_f64(seconds);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut scratch = Scratch::default();
                let mut row = vec![0u64; column.room(&[]).div_ceil(8) as usize];
                while start.elapsed() < end {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    let parts = [("jpg", pictures[n % pictures.len()].as_slice())];
                    let sample =
                        Sample { key: b"", ordinal: n as u64, seed: n as u64, parts: &parts };
                    let row: &mut [u8] = bytemuck::cast_slice_mut(&mut row);
                    let bytes = column.shape().bytes().unwrap_or(row.len());
                    let mut used = 0;
                    let row = match column.shape().bytes() {
                        Some(_) => Row::fixed(&mut row[..bytes]),
                        None => Row::variable(row, &mut used),
                    };
                    column.decode(&sample, row, &mut scratch).unwrap();
                }
                cpu.fetch_add(busy(), Ordering::Relaxed);
            });
        }
    });
    let count = next.load(Ordering::Relaxed) as f64;
    (count / start.elapsed().as_secs_f64(), count * 1e9 / cpu.load(Ordering::Relaxed) as f64)
}
