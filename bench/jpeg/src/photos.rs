//! The data: photographs from files, all in memory, and large pictures made of them.
#![allow(clippy::disallowed_methods, reason = "a measuring program")]

use std::fs;
use std::path::{Path, PathBuf};

use crate::crops;
use crate::ours;
use crate::shim::{self, Turbo};
use crate::work::{Data, Item, Photo};

/// What cameras make: 3 megapixels, 4:2:0, quality 90.
const MOSAIC: (u32, u32, i32) = (2000, 1500, 90);
const SEED: u64 = 20_260;

/// Photographs, and what was left out.
pub(crate) struct Found {
    pub(crate) photos: Vec<Photo>,
    pub(crate) progressive: usize,
    pub(crate) unreadable: usize,
}

/// The JPEGs among these files and folders, sorted by path, `most` of them at equal distances.
/// Progressive ones are left out here: they are data of their own.
pub(crate) fn load(paths: &[PathBuf], most: usize) -> Result<Found, String> {
    let mut files = Vec::new();
    for path in paths {
        gather(path, &mut files)?;
    }
    files.sort();
    let most = most.min(files.len());
    let chosen = (0..most).map(|i| &files[i * files.len() / most]);
    let mut found = Found { photos: Vec::new(), progressive: 0, unreadable: 0 };
    let mut turbo = Turbo::new();
    for file in chosen {
        let jpeg = fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?;
        match turbo.header(&jpeg) {
            Ok(header) if header.progressive => found.progressive += 1,
            Ok(header) => {
                let photo = photo(jpeg, header.width, header.height);
                let mut pixels = vec![0; photo.room()];
                match turbo.full(&photo.jpeg, &mut pixels) {
                    Ok(()) => found.photos.push(photo),
                    Err(_) => found.unreadable += 1,
                }
            }
            Err(_) => found.unreadable += 1,
        }
    }
    if found.photos.is_empty() {
        return Err("no JPEGs in these files and folders".into());
    }
    Ok(found)
}

fn photo(jpeg: Vec<u8>, width: u32, height: u32) -> Photo {
    let points = ours::points(&jpeg);
    Photo { jpeg, width, height, points }
}

fn gather(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let describe = |e: std::io::Error| format!("{}: {e}", path.display());
    if !path.is_dir() {
        files.push(path.to_path_buf());
        return Ok(());
    }
    for entry in fs::read_dir(path).map_err(describe)? {
        let path = entry.map_err(describe)?.path();
        let name = path.to_string_lossy().to_lowercase();
        if path.is_dir() || name.ends_with(".jpg") || name.ends_with(".jpeg") {
            gather(&path, files)?;
        }
    }
    Ok(())
}

/// The same photographs in progressive scans, as `jpegtran -progressive` makes them.
pub(crate) fn progressive(photos: &[Photo]) -> Result<Vec<Photo>, String> {
    let mut turbo = Turbo::new();
    let made = photos.iter().map(|from| {
        let jpeg = turbo.progressive(&from.jpeg)?;
        Ok(Photo { jpeg, width: from.width, height: from.height, points: None })
    });
    made.collect()
}

/// Large pictures of photographs side by side, each shown at its full size.
pub(crate) fn mosaics(photos: &[Photo], count: usize) -> Result<Vec<Photo>, String> {
    let (width, height, quality) = MOSAIC;
    let mut turbo = Turbo::new();
    let mut next = 0;
    let mut made = Vec::new();
    for _ in 0..count {
        let mut canvas = vec![0; width as usize * height as usize * 3];
        let mut top = 0;
        while top < height {
            let mut left = 0;
            let mut row = height;
            while left < width {
                let photo = &photos[next % photos.len()];
                next += 1;
                let mut pixels = vec![0; photo.room()];
                turbo.full(&photo.jpeg, &mut pixels)?;
                paste(&mut canvas, left, top, photo, &pixels);
                left += photo.width;
                row = row.min(photo.height);
            }
            top += row.max(1);
        }
        let jpeg = shim::encode_420(&canvas, width, height, quality);
        made.push(photo(jpeg, width, height));
    }
    Ok(made)
}

fn paste(canvas: &mut [u8], left: u32, top: u32, photo: &Photo, pixels: &[u8]) {
    let (width, height, _) = MOSAIC;
    let wide = photo.width.min(width - left) as usize * 3;
    for y in 0..photo.height.min(height - top) {
        let from = (y * photo.width) as usize * 3;
        let to = ((top + y) * width + left) as usize * 3;
        canvas[to..to + wide].copy_from_slice(&pixels[from..from + wide]);
    }
}

/// Every photo `times` times, each time with another window.
pub(crate) fn data(name: &'static str, photos: Vec<Photo>, times: usize) -> Data {
    let items = (0..photos.len() * times).map(|i| {
        let photo = i % photos.len();
        let Photo { width, height, .. } = photos[photo];
        Item { photo, window: crops::window(SEED, i as u64, width, height) }
    });
    Data { name, items: items.collect(), photos }
}
