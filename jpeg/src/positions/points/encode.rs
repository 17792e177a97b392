//! Encodes positions as a blob.

use super::bits::{Pack, width};
use super::blob::{FIXED, Fixed, VERSION};
use crate::positions::checksum::crc32c;
use crate::positions::position::Position;

/// Writes the blob of the positions of an image; the last one is the end of its data. The image has
/// `rows` rows of MCUs, each with `each` positions, one every `step` MCUs.
pub(crate) fn encode(
    image: &[u8],
    components: usize,
    rows: u32,
    each: u32,
    step: u32,
    places: &[Position],
    out: &mut Vec<u8>,
) {
    let Some(first) = places.first() else { return };
    let last = places.last().unwrap_or(first);
    let mut fixed = Fixed {
        version: VERSION,
        components: components as u8,
        rows: rows as u16,
        each: each as u16,
        step: step as u16,
        length: image.len() as u32,
        image: crc32c(&[image]),
        data: first.byte as u32,
        span: (last.byte - first.byte) as u32,
        count: places.len() as u32,
        ..Fixed::default()
    };
    let (base, residual) =
        range(places.iter().enumerate().map(|(n, p)| p.byte as i64 - fixed.line(n as u32)));
    let predictors = |c: usize| places.iter().map(move |p| i64::from(p.predictors[c]));
    let ranges = [0, 1, 2].map(|c| range(predictors(c)));
    fixed.base = base as i32;
    fixed.bases = ranges.map(|(base, _)| base as i16);
    fixed.widths = [residual, ranges[0].1, ranges[1].1, ranges[2].1].map(width).map(|w| w as u8);

    let start = out.len();
    let mut pack = Pack::default();
    out.extend_from_slice(&[0; FIXED]);
    for (n, place) in places.iter().enumerate() {
        let residual = place.byte as i64 - fixed.line(n as u32) - i64::from(fixed.base);
        pack.put(residual as u32, u32::from(fixed.widths[0]), out);
        pack.put(place.bit, 3, out);
        for c in 0..3 {
            let above = place.predictors[c] - i32::from(fixed.bases[c]);
            pack.put(above as u32, u32::from(fixed.widths[c + 1]), out);
        }
    }
    pack.finish(out);
    let blob = &mut out[start..];
    blob[..FIXED].copy_from_slice(&fixed.bytes(0));
    let sum = crc32c(&[blob]);
    blob[..FIXED].copy_from_slice(&fixed.bytes(sum));
}

/// Returns the smallest number, and the distance of the greatest from it.
fn range(numbers: impl Iterator<Item = i64> + Clone) -> (i64, u32) {
    let least = numbers.clone().min().unwrap_or(0);
    (least, (numbers.max().unwrap_or(0) - least) as u32)
}
