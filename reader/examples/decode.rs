//! Measures decoding alone: a folder of pictures in memory, decoded to rows by some threads.
//!
//! `decode FOLDER [COLUMN THREADS COUNT]`: COUNT pictures as COLUMN; all columns, with 1 and 2
//! threads, if none is named. Prints `KEY=VALUE`: pictures in a second, and in a second of processor
//! time, which says more on a machine that others use too.
#![allow(clippy::disallowed_methods, reason = "a measuring program")]
#![allow(clippy::print_stdout, clippy::unwrap_used)] // a measuring program

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use tarflume::{
    Decode, Filter, Image, Layout, Normalize, RandomResizedCrop, ResizeCenterCrop, Row, Sample,
    Scratch, Whole,
};

fn main() {
    fn crop() -> Image {
        Image::new("jpg", RandomResizedCrop::new(224).flip(0.5))
    }

    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().unwrap_or_else(|| "fixtures/photos".into());
    let wanted: Option<(String, usize, usize)> = arguments.next().map(|column| {
        let [threads, count] = [(); 2].map(|()| arguments.next().unwrap().parse().unwrap());
        (column, threads, count)
    });
    let mut pictures = Vec::new();
    read(Path::new(&folder), &mut pictures);
    let bytes: usize = pictures.iter().map(Vec::len).sum();
    println!("pictures={} bytes={bytes}", pictures.len());

    let normalize = Normalize::imagenet();
    let columns: [(&str, Image); 8] = [
        ("whole", Image::new("jpg", Whole::up_to(1 << 26))),
        ("crop", crop()),
        ("crop_bilinear_fast", crop().filter(Filter::BilinearFast)),
        ("crop_chw", crop().layout(Layout::Chw)),
        ("crop_f32_chw", crop().layout(Layout::Chw).to_f32(normalize)),
        ("crop_f16_chw", crop().layout(Layout::Chw).to_f16(normalize)),
        ("crop_f16_hwc", crop().to_f16(normalize)),
        ("evaluation", Image::new("jpg", ResizeCenterCrop::new(256, 224))),
    ];
    for (name, column) in columns {
        let runs = match &wanted {
            Some((one, threads, count)) if one == name => vec![(*threads, *count)],
            Some(_) => Vec::new(),
            None => vec![(1, 1000), (2, 2000)],
        };
        for (threads, count) in runs {
            let (wall, cpu) = rate(&column, &pictures, threads, count);
            println!("{name}_{threads}t={wall:.0} {name}_{threads}t_cpu={cpu:.0}");
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

/// Pictures in a second, and in a second of processor time.
fn rate(column: &Image, pictures: &[Vec<u8>], threads: usize, count: usize) -> (f64, f64) {
    let next = AtomicUsize::new(0);
    let cpu = AtomicUsize::new(0);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut scratch = Scratch::default();
                let mut row = vec![0u64; column.room(&[]).div_ceil(8) as usize];
                let row: &mut [u8] = bytemuck::cast_slice_mut(&mut row);
                let fixed = column.shape().bytes();
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= count {
                        break;
                    }
                    let parts = [("jpg", pictures[n % pictures.len()].as_slice())];
                    let ordinal = n as u64;
                    let seed = n as u64;
                    let sample =
                        Sample { key: b"", ordinal, seed, parts: &parts, ..Sample::default() };
                    let mut used = 0;
                    let row = match fixed {
                        Some(bytes) => Row::fixed(&mut row[..bytes]),
                        None => Row::variable(row, &mut used),
                    };
                    column.decode(&sample, row, &mut scratch).unwrap();
                }
                cpu.fetch_add(busy(), Ordering::Relaxed);
            });
        }
    });
    let count = count as f64;
    let cpu = cpu.load(Ordering::Relaxed) as f64;
    (count / start.elapsed().as_secs_f64(), count * 1e9 / cpu)
}
