//! PNGs of a palette, put together from chunks.

use super::*;

#[test]
fn a_palette_with_opacity_is_looked_up() {
    let png = indexed_png();
    let found = decode(&png, Channels::Rgba).unwrap();
    assert_eq!(found.bytes, [255, 0, 0, 255, 0, 0, 255, 128]);
    assert_eq!(decode(&png, Channels::Rgb).unwrap().bytes, [255, 0, 0, 0, 0, 255]);
}

/// Two pixels of a palette of two colors, the second half transparent.
fn indexed_png() -> Vec<u8> {
    png_of(&[
        (b"IHDR", &[0, 0, 0, 2, 0, 0, 0, 1, 8, 3, 0, 0, 0]),
        (b"PLTE", &[255, 0, 0, 0, 0, 255]),
        (b"tRNS", &[255, 128]),
        // zlib, one stored block: filter 0, pixels 0 and 1, then its Adler-32.
        (b"IDAT", &[0x78, 1, 1, 3, 0, 0xfc, 0xff, 0, 0, 1, 0, 5, 0, 2]),
        (b"IEND", &[]),
    ])
}

/// A PNG of these chunks.
fn png_of(chunks: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, data) in chunks {
        png.extend((data.len() as u32).to_be_bytes());
        png.extend(*kind);
        png.extend(*data);
        png.extend(crc32(&[&kind[..], data].concat()).to_be_bytes());
    }
    png
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |c, _| (c >> 1) ^ (0xedb8_8320 & (c & 1).wrapping_neg()))
    })
}

#[test]
fn the_indices_of_an_interlaced_png_replace_those_of_the_picture_before() {
    for (bits, first, second) in [(1u8, 0x00, 0x80), (2, 0x40, 0xc0), (4, 0x30, 0xe0)] {
        // Two passes of a pixel each: filter 0, and the pixel in the high bits.
        let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut packed, &[0, first, 0, second]).unwrap();
        let png = png_of(&[
            (b"IHDR", &[0, 0, 0, 2, 0, 0, 0, 1, bits, 3, 0, 0, 1]),
            (b"PLTE", &[7; 48][..3usize << bits]),
            (b"IDAT", &packed.finish().unwrap()),
            (b"IEND", &[]),
        ]);
        let mut pixels = Pixels { bytes: vec![0xff; 5], ..Pixels::default() };
        let wanted = Wanted { channels: Channels::Index, exact: false };
        OtherPicture::open(&png).unwrap().decode(wanted, &mut pixels).unwrap();
        assert_eq!(pixels.bytes, [first >> (8 - bits), second >> (8 - bits)], "{bits} bits");
    }
}

#[test]
fn a_palette_is_read_as_numbers_or_as_the_luma_of_its_colors() {
    let png = indexed_png();
    let error = decode(&png, Channels::Gray).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Decode);
    assert!(error.text().contains("channels=\"index\""), "{error}");
    assert_eq!(decode(&png, Channels::Index).unwrap().bytes, [0, 1]);
    assert_eq!(decode(&png, Channels::Luma).unwrap().bytes, [76, 29]);
    let exact = Wanted { channels: Channels::Index, exact: true };
    let found = decode_as(&png, exact).unwrap();
    assert_eq!((found.depth, found.channels, &found.bytes[..]), (Depth::Byte, 1, &[0, 1][..]));
    // Where each color is the gray of its index, both are the same.
    let mut gray = png;
    let at = gray.windows(4).position(|kind| kind == b"PLTE").unwrap() + 4;
    gray[at..at + 6].copy_from_slice(&[0, 0, 0, 1, 1, 1]);
    let checksum = crc32(&gray[at - 4..at + 6]);
    gray[at + 6..at + 10].copy_from_slice(&checksum.to_be_bytes());
    assert_eq!(decode(&gray, Channels::Gray).unwrap().bytes, [0, 1]);
}

#[test]
fn the_metadata_of_a_png_may_follow_its_pixels() {
    let mut png = indexed_png();
    let exif =
        [&b"eXIfExif\0\0"[..], b"MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x04\0\0\0\x01\0\0\0\x06"]
            .concat();
    let end = png.len() - 12;
    let chunk = [&(exif.len() as u32 - 4).to_be_bytes()[..], &exif, &crc32(&exif).to_be_bytes()];
    png.splice(end..end, chunk.concat());
    assert_eq!(facts(&png).unwrap(), (ImageSize::new(2, 1), 6));
    assert_eq!(decode(&png, Channels::Rgb).unwrap().bytes, [255, 0, 0, 0, 0, 255]);
    // What follows the end marker is no part of the picture.
    let moved = png.split_off(end);
    png.extend(&moved[chunk.concat().len()..]);
    png.extend(&moved[..chunk.concat().len()]);
    assert_eq!(facts(&png).unwrap().1, 1);
}
