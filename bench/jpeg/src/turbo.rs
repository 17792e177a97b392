//! libjpeg-turbo's ways to do the work.

use tarflume_jpeg::Size;

use crate::resize::{Area, Resize};
use crate::shim::Turbo;
use crate::work::{Competitor, Data, OnDone, SIDE, Single, Window, Worker};

pub(crate) const ENTROPY: Competitor = Competitor { name: "libjpeg-turbo", make: entropy };
pub(crate) const FULL: Competitor = Competitor { name: "libjpeg-turbo", make: full };
/// What the pixels of all crops are compared with.
pub(crate) const REFERENCE: Competitor = Competitor { name: "libjpeg-turbo full", make: full_crop };
pub(crate) const REGION: Competitor = Competitor { name: "libjpeg-turbo region", make: region };
/// At 1/2, 1/4 or 1/8, for which libjpeg-turbo has SIMD, where that is large enough: the rival that counts.
pub(crate) const HALVED: Competitor =
    Competitor { name: "libjpeg-turbo region + scale", make: halved };
/// At any number of eighths.
pub(crate) const SCALED: Competitor =
    Competitor { name: "libjpeg-turbo region + eighths", make: scaled };

fn entropy(_: &Data) -> Box<dyn Worker + '_> {
    let mut turbo = Turbo::new();
    Box::new(Single(move |data: &Data, item: usize, seen: &mut OnDone<'_>| {
        turbo.coefficients(&data.photo(item).jpeg)?;
        seen(item, &[]);
        Ok(())
    }))
}

fn full(data: &Data) -> Box<dyn Worker + '_> {
    let mut turbo = Turbo::new();
    let mut pixels = vec![0; data.room()];
    Box::new(Single(move |data: &Data, item: usize, seen: &mut OnDone<'_>| {
        let photo = data.photo(item);
        turbo.full(&photo.jpeg, &mut pixels)?;
        seen(item, &pixels[..photo.room()]);
        Ok(())
    }))
}

fn full_crop(data: &Data) -> Box<dyn Worker + '_> {
    let mut turbo = Turbo::new();
    let mut pixels = vec![0; data.room()];
    let mut resize = Resize::new();
    Box::new(Single(move |data: &Data, item: usize, seen: &mut OnDone<'_>| {
        let photo = data.photo(item);
        turbo.full(&photo.jpeg, &mut pixels)?;
        let size = Size { width: photo.width, height: photo.height };
        seen(item, resize.cut(&pixels, size, data.items[item].window)?);
        Ok(())
    }))
}

fn region(data: &Data) -> Box<dyn Worker + '_> {
    let mut turbo = Turbo::new();
    let mut pixels = vec![0; data.room()];
    let mut resize = Resize::new();
    Box::new(Single(move |data: &Data, item: usize, seen: &mut OnDone<'_>| {
        let window = data.items[item].window;
        let region = [window.left, window.top, window.width, window.height];
        let [left, width] = turbo.region(&data.photo(item).jpeg, 8, region, &mut pixels)?;
        let window = Window { left: window.left - left, top: 0, ..window };
        seen(item, resize.cut(&pixels, Size { width, height: window.height }, window)?);
        Ok(())
    }))
}

/// The smallest of these scales that leaves the window at least as large as its target.
fn eighths(window: Window, scales: &[u32]) -> u32 {
    let side = window.width.min(window.height);
    scales.iter().copied().find(|k| side * k / 8 >= SIDE).unwrap_or(8)
}

fn scaled(data: &Data) -> Box<dyn Worker + '_> {
    region_and_scale(data, &[1, 2, 3, 4, 5, 6, 7])
}

fn halved(data: &Data) -> Box<dyn Worker + '_> {
    region_and_scale(data, &[1, 2, 4])
}

fn region_and_scale<'d>(data: &'d Data, scales: &'static [u32]) -> Box<dyn Worker + 'd> {
    let mut turbo = Turbo::new();
    let mut pixels = vec![0; data.room()];
    let mut resize = Resize::new();
    Box::new(Single(move |data: &Data, item: usize, seen: &mut OnDone<'_>| {
        let photo = data.photo(item);
        let window = data.items[item].window;
        let k = eighths(window, scales);
        // The pixels that the scaled window touches.
        let span = |from: u32, length: u32, whole: u32| {
            let start = from * k / 8;
            let end = ((from + length) * k).div_ceil(8);
            (start, end.min((whole * k).div_ceil(8)) - start)
        };
        let (x, wide) = span(window.left, window.width, photo.width);
        let (y, high) = span(window.top, window.height, photo.height);
        let [left, width] = turbo.region(&photo.jpeg, k, [x, y, wide, high], &mut pixels)?;
        let at = |n: u32| f64::from(n) * f64::from(k) / 8.0;
        let area = Area {
            left: at(window.left) - f64::from(left),
            top: at(window.top) - f64::from(y),
            width: at(window.width),
            height: at(window.height),
        };
        let size = Size { width, height: high };
        let crop = if k == 8 {
            let window = Window { left: window.left - left, top: 0, ..window };
            resize.cut(&pixels, size, window)?
        } else {
            resize.part(&pixels, size, area)?
        };
        seen(item, crop);
        Ok(())
    }))
}
