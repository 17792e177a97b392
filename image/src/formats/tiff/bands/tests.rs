//! TIFFs by hand, and the arrays that they are.

use std::io::Cursor;

use tiff::encoder::{TiffEncoder, colortype};

use super::*;
use crate::formats::OtherPicture;
use crate::picture::pixels::{Channels, Pixels, Wanted};

/// Numbers in one byte order.
struct Numbers {
    bytes: Vec<u8>,
    big_endian: bool,
}

impl Numbers {
    fn put16(&mut self, n: u16) {
        self.bytes.extend(if self.big_endian { n.to_be_bytes() } else { n.to_le_bytes() });
    }

    fn put32(&mut self, n: u32) {
        self.bytes.extend(if self.big_endian { n.to_be_bytes() } else { n.to_le_bytes() });
    }
}

/// A TIFF of five bands by hand, each sample a number of 16 bits: pixel by pixel, or band by band.
fn five_bands(planar: bool, big_endian: bool) -> Vec<u8> {
    const WIDTH: u16 = 3;
    const HEIGHT: u16 = 2;
    const BANDS: u16 = 5;
    let mut out = Numbers { bytes: Vec::new(), big_endian };
    out.bytes.extend(if big_endian { b"MM" } else { b"II" });
    out.put16(42);
    out.put32(8);
    let strips = if planar { u32::from(BANDS) } else { 1 };
    let pixels = u32::from(WIDTH) * u32::from(HEIGHT);
    let tags = 10_u16;
    let behind = 8 + 2 + u32::from(tags) * 12 + 4;
    let bits_at = behind;
    let offsets_at = bits_at + 2 * u32::from(BANDS);
    let counts_at = offsets_at + 4 * strips;
    let data_at = counts_at + 4 * strips;
    let strip_bytes = pixels * 2 * u32::from(BANDS) / strips;
    out.put16(tags);
    // A list of one value is in the tag itself.
    let lists = if strips == 1 { [data_at, strip_bytes] } else { [offsets_at, counts_at] };
    for (tag, kind, count, value) in [
        (256, 3, 1, u32::from(WIDTH)),
        (257, 3, 1, u32::from(HEIGHT)),
        (258, 3, u32::from(BANDS), bits_at),
        (259, 3, 1, 1),
        (262, 3, 1, 1),
        (273, 4, strips, lists[0]),
        (277, 3, 1, u32::from(BANDS)),
        (278, 3, 1, u32::from(HEIGHT)),
        (279, 4, strips, lists[1]),
        (284, 3, 1, if planar { 2 } else { 1 }),
    ] {
        out.put16(tag);
        out.put16(kind);
        out.put32(count);
        if kind == 3 && count == 1 {
            out.put16(value as u16);
            out.put16(0);
        } else {
            out.put32(value);
        }
    }
    out.put32(0);
    (0..BANDS).for_each(|_| out.put16(16));
    (0..strips).for_each(|n| out.put32(data_at + n * strip_bytes));
    (0..strips).for_each(|_| out.put32(strip_bytes));
    for n in 0..pixels * u32::from(BANDS) {
        let sample = if planar {
            n / pixels * 1000 + n % pixels
        } else {
            n % u32::from(BANDS) * 1000 + n / u32::from(BANDS)
        };
        out.put16(sample as u16);
    }
    out.bytes
}

fn decoded(bytes: &[u8]) -> Vec<u16> {
    let bands = Bands::open(bytes).unwrap();
    let mut target = vec![0; bands.bytes() as usize];
    bands.decode(&mut target).unwrap();
    target.as_chunks::<2>().0.iter().map(|&pair| u16::from_ne_bytes(pair)).collect()
}

#[test]
fn bands_come_one_after_the_other_however_they_are_stored() {
    let want: Vec<u16> = (0..30).map(|n| n / 6 * 1000 + n % 6).collect();
    for planar in [false, true] {
        for big_endian in [false, true] {
            let bytes = five_bands(planar, big_endian);
            let bands = Bands::open(&bytes).unwrap();
            assert_eq!(
                (bands.bands, bands.size, bands.dtype),
                (5, ImageSize::new(3, 2), DType::U16)
            );
            assert_eq!(decoded(&bytes), want, "planar {planar}, big-endian {big_endian}");
        }
    }
}

/// Compresses bytes as LZW: each is a code of nine bits, and the table is cleared before codes need ten bits.
fn lzw(bytes: &[u8]) -> Vec<u8> {
    let codes = bytes.chunks(200).flat_map(|piece| {
        std::iter::once(256_u16).chain(piece.iter().map(|&byte| u16::from(byte)))
    });
    let bits: Vec<bool> = codes
        .chain([257])
        .flat_map(|code| (0..9).rev().map(move |bit| code >> bit & 1 == 1))
        .collect();
    bits.chunks(8).map(byte).collect()
}

/// The byte of eight bits, of which missing ones are 0.
fn byte(bits: &[bool]) -> u8 {
    (0..8).fold(0, |byte, n| byte << 1 | u8::from(bits.get(n) == Some(&true)))
}

/// The gray of a pixel.
fn gray(x: u32, y: u32) -> u8 {
    (x * 37 + y * 101) as u8
}

/// The pixels of a tile.
fn tile(across: u32, down: u32) -> Vec<u8> {
    (0..256).map(|k| gray(across * 16 + k % 16, down * 16 + k / 16)).collect()
}

/// A gray TIFF in tiles of 16 x 16 with LZW.
fn tiles(width: u32, height: u32) -> Vec<u8> {
    let across = width.div_ceil(16);
    let tiles: Vec<Vec<u8>> =
        (0..across * height.div_ceil(16)).map(|n| lzw(&tile(n % across, n / across))).collect();
    let mut out = Numbers { bytes: b"II".to_vec(), big_endian: false };
    out.put16(42);
    out.put32(8);
    let count = tiles.len() as u32;
    let lists_at = 8 + 2 + 9 * 12 + 4;
    let data_at = lists_at + 8 * count;
    out.put16(9);
    for (tag, kind, count, value) in [
        (256, 4, 1, width),
        (257, 4, 1, height),
        (258, 4, 1, 8),
        (259, 4, 1, 5),
        (262, 4, 1, 1),
        (322, 4, 1, 16),
        (323, 4, 1, 16),
        (324, 4, count, lists_at),
        (325, 4, count, lists_at + 4 * count),
    ] {
        out.put16(tag);
        out.put16(kind);
        out.put32(count);
        out.put32(value);
    }
    out.put32(0);
    let ends = tiles.iter().scan(data_at, |at, tile| {
        *at += tile.len() as u32;
        Some(*at - tile.len() as u32)
    });
    ends.collect::<Vec<u32>>().into_iter().for_each(|at| out.put32(at));
    tiles.iter().for_each(|tile| out.put32(tile.len() as u32));
    tiles.iter().for_each(|tile| out.bytes.extend(tile));
    out.bytes
}

#[test]
fn the_last_tiles_may_be_longer_than_the_picture() {
    for (width, height) in [(17, 33), (31, 18), (40, 32), (32, 40), (45, 37), (64, 48)] {
        let bytes = tiles(width, height);
        let want: Vec<u8> = (0..width * height).map(|n| gray(n % width, n / width)).collect();
        let bands = Bands::open(&bytes).unwrap();
        assert_eq!((bands.bands, bands.size), (1, ImageSize::new(width, height)));
        let mut target = vec![0; bands.bytes() as usize];
        bands.decode(&mut target).unwrap();
        assert!(target == want, "{width} x {height}");
        let picture = OtherPicture::open(&bytes).unwrap();
        assert_eq!(picture.size, ImageSize::new(width, height));
        let mut pixels = Pixels::default();
        let wanted = Wanted { channels: Channels::Gray, exact: false };
        picture.decode(wanted, &mut pixels).unwrap();
        assert!(pixels.bytes == want, "{width} x {height}");
    }
}

#[test]
fn strips_without_their_data_are_refused() {
    // The tags are after 10 bytes, 12 bytes each: 273 is the 6th, 279 the 9th; one value is in the tag itself.
    for (at, value, why) in
        [(10 + 5 * 12 + 8, 0, "has no data"), (10 + 8 * 12 + 8, 59, "has 59 bytes")]
    {
        let mut bytes = five_bands(false, false);
        bytes[at] = value;
        let refused = Bands::open(&bytes).unwrap_err().to_string();
        assert!(refused.contains(why), "{refused}");
    }
}

#[test]
fn pictures_of_usual_colors_are_arrays_too() {
    let mut bytes = Cursor::new(Vec::new());
    let mut encoder = TiffEncoder::new(&mut bytes).unwrap();
    let samples: Vec<f32> = (0..12).map(|n| n as f32 / 4.0).collect();
    encoder.write_image::<colortype::RGB32Float>(2, 2, &samples).unwrap();
    let bands = Bands::open(bytes.get_ref()).unwrap();
    assert_eq!((bands.bands, bands.dtype), (3, DType::F32));
    let mut target = vec![0; bands.bytes() as usize];
    bands.decode(&mut target).unwrap();
    let found: Vec<f32> =
        target.as_chunks::<4>().0.iter().map(|&four| f32::from_ne_bytes(four)).collect();
    assert_eq!(found, [0.0, 0.75, 1.5, 2.25, 0.25, 1.0, 1.75, 2.5, 0.5, 1.25, 2.0, 2.75]);
}

#[test]
fn each_cut_and_each_changed_byte_is_an_error_or_an_array_of_the_declared_size() {
    let whole = five_bands(false, false);
    for length in 0..whole.len() {
        let read = Bands::open(&whole[..length]).and_then(|bands| {
            let mut target = vec![0; bands.bytes() as usize];
            bands.decode(&mut target)
        });
        assert!(read.is_err(), "{length}");
    }
    for at in 0..whole.len() {
        for flip in [1, 0x80, 0xff] {
            let mut changed = whole.clone();
            changed[at] ^= flip;
            let Ok(bands) = Bands::open(&changed) else { continue };
            if bands.memory() < 1 << 20 {
                let mut target = vec![0; bands.bytes() as usize];
                let _ = bands.decode(&mut target);
            }
        }
    }
}
