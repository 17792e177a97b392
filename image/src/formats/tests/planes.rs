//! TIFFs whose planes are stored one after the other in tiles.

use super::*;
use crate::picture::geometry::ImageSize;

/// A TIFF of three planes in tiles of 16 x 16 pixels, and its pixels: red, green, blue.
fn planes_in_tiles(size: ImageSize, height_kind: u16) -> (Vec<u8>, Vec<u8>) {
    fn value(x: u32, y: u32, plane: u32) -> u8 {
        (x * 7 + y * 13 + plane * 80) as u8
    }

    let ImageSize { width, height } = size;
    let across = width.div_ceil(16);
    let down = height.div_ceil(16);
    let count = across * down * 3;
    let tags = 10;
    let lists = 8 + 2 + tags * 12 + 4;
    let bits = lists;
    let offsets = lists + 6;
    let lengths = offsets + 4 * count;
    let data = lengths + 4 * count;
    let mut tiff = b"II*\0\x08\0\0\0".to_vec();
    tiff.extend((tags as u16).to_le_bytes());
    for (tag, kind, count, value) in [
        (256, 3, 1, width),
        (257, height_kind, 1, height),
        (258, 3, 3, bits),
        (259, 3, 1, 1),
        (262, 3, 1, 2),
        (277, 3, 1, 3),
        (284, 3, 1, 2),
        (322, 3, 1, 16),
        (323, 3, 1, 16),
        // The list of offsets, and that of lengths, which are more than one value each.
        (324, 4, count, offsets),
    ] {
        tiff.extend([u16::to_le_bytes(tag), u16::to_le_bytes(kind)].concat());
        tiff.extend([u32::to_le_bytes(count), value.to_le_bytes()].concat());
    }
    tiff.extend([0; 4]);
    tiff.extend([8, 0, 8, 0, 8, 0]);
    (0..count).for_each(|tile| tiff.extend((data + 256 * tile).to_le_bytes()));
    (0..count).for_each(|_| tiff.extend(256u32.to_le_bytes()));
    for plane in 0..3 {
        for (row, column) in (0..down).flat_map(|row| (0..across).map(move |column| (row, column)))
        {
            for (y, x) in (0..16).flat_map(|y| (0..16).map(move |x| (y, x))) {
                tiff.push(value(column * 16 + x, row * 16 + y, plane));
            }
        }
    }
    let mut pixels = Vec::new();
    for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
        pixels.extend((0..3).map(|plane| value(x, y, plane)));
    }
    (with_tile_lengths(tiff, lengths, count), pixels)
}

/// Adds the eleventh tag, the lengths of the tiles, which moves everything after the tags by its 12 bytes.
fn with_tile_lengths(mut tiff: Vec<u8>, lengths: u32, count: u32) -> Vec<u8> {
    fn moved(tiff: &mut [u8], at: usize) {
        let old = u32::from_le_bytes(tiff[at..at + 4].try_into().unwrap());
        tiff[at..at + 4].copy_from_slice(&(old + 12).to_le_bytes());
    }

    let end = 10 + 10 * 12;
    for place in [10 + 2 * 12 + 8, 10 + 9 * 12 + 8] {
        moved(&mut tiff, place);
    }
    let offsets = end + 4 + 6;
    (0..count as usize).for_each(|n| moved(&mut tiff, offsets + 4 * n));
    let mut entry = [325u16.to_le_bytes(), 4u16.to_le_bytes()].concat();
    entry.extend([count.to_le_bytes(), (lengths + 12).to_le_bytes()].concat());
    tiff.splice(end..end, entry);
    tiff[8] = 11;
    tiff
}

#[test]
fn a_tiff_of_planes_in_tiles_is_decoded_whatever_its_height() {
    for (width, height) in [(32, 32), (40, 37), (5, 3), (16, 17), (33, 16)] {
        let size = ImageSize::new(width, height);
        for height_kind in [3, 4] {
            let (tiff, pixels) = planes_in_tiles(size, height_kind);
            let found = decode(&tiff, Channels::Rgb).unwrap_or_else(|e| panic!("{size:?}: {e}"));
            assert_eq!((found.width, found.height, found.channels), (width, height, 3));
            assert_eq!(found.bytes, pixels, "{size:?}");
        }
    }
    // Its height has two bytes, in which the padded one does not fit.
    let (mut tiff, _) = planes_in_tiles(ImageSize::new(16, 17), 3);
    tiff[10 + 12 + 8..10 + 12 + 10].copy_from_slice(&65_535u16.to_le_bytes());
    let error = decode(&tiff, Channels::Rgb).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
}
