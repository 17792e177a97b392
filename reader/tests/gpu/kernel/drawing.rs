//! Batches of different pictures, drawn by the kernel and on the host: from rows, from a store and without a
//! picture, in both formats, and in every element type and layout.

use tarflume::internal::args;
use tarflume::internal::convert::{Finish, Pictures, PixelElement};
use tarflume::internal::crop::CropBox;
use tarflume::internal::resample::Strides;
use tarflume::internal::row_header::{Format, RowHeader, RowPicture};
use tarflume::{ImageSize, Layout};

use crate::gpu::kernel::runner::{Dice, Run, any_box, each, finish, rows_of, whole};

const SIZES: [ImageSize; 6] = [
    ImageSize { width: 61, height: 47 },
    ImageSize { width: 8, height: 6 },
    ImageSize { width: 200, height: 3 },
    ImageSize { width: 1, height: 1 },
    ImageSize { width: 2, height: 9 },
    ImageSize { width: 128, height: 96 }, // eight times what the smallest output is
];

/// The longest of them, in four channels, and a little more.
const STORE_STRIDE: usize = 128 * 96 * 4 + 5;

/// Heads over rows and a store of `SIZES`, each with a box by turns, and what their pictures are.
fn batch(dice: &mut Dice, channels: usize, store: &[u8]) -> (Vec<u8>, usize) {
    let mut rows = Vec::new();
    let behind = dice.bytes(STORE_STRIDE + 24);
    let last = (store.len() / STORE_STRIDE) as u64;
    for n in 0..24 {
        let size = SIZES[n % SIZES.len()];
        let format = if channels == 3 && n % 4 >= 2 { Format::Yuv420 } else { Format::Pixels };
        let area = if n < 6 { whole(size).area } else { any_box(dice, size, n.is_multiple_of(2)) };
        let picture = RowPicture { format, size, area, flip: n % 3 == 1 };
        let bytes = format.bytes(size, channels).unwrap();
        rows.push(match n % 8 {
            7 => (RowHeader::nothing(), &behind[..0]),
            // The store has no such row.
            6 => (RowHeader::store(picture, channels, last, STORE_STRIDE).unwrap(), &behind[..0]),
            1 | 2 | 5 => {
                let number = dice.next() % last;
                (RowHeader::store(picture, channels, number, STORE_STRIDE).unwrap(), &behind[..0])
            }
            _ => (RowHeader::row(picture, channels, bytes).unwrap(), &behind[n..][..bytes]),
        });
    }
    rows_of(&rows)
}

#[test]
fn any_batch_is_drawn_as_on_the_host() {
    let mut dice = Dice(2);
    each(|element, layout, channels| {
        let store = dice.bytes(STORE_STRIDE * 3);
        let store = Strides { bytes: &store, stride: STORE_STRIDE };
        let (heads, stride) = batch(&mut dice, channels, store.bytes);
        let heads = Strides { bytes: &heads, stride };
        for size in [ImageSize::new(16, 12), ImageSize::new(7, 31), ImageSize::new(61, 47)] {
            let drawn = Pictures::new(24, size, channels).unwrap();
            let finish = finish(element, layout);
            let mut expected = vec![0; finish.output_bytes(&drawn)];
            finish.draw_on_host(heads, store, &drawn, &mut expected).unwrap();
            let run = Run::of("draw").drawn(heads, Some(store), &drawn, &finish);
            let (x, y) = args::grid(9, 100);
            let out = run.grid(x, y, 64).output(expected.len());
            assert!(out == expected, "{element:?} {layout:?} {drawn:?}");
        }
    });
}

/// The pixels of a box of whole pixels in its own size are copied: to the bit what finish makes.
#[test]
fn whole_pictures_are_finished_to_the_bit() {
    let mut dice = Dice(3);
    each(|element, layout, channels| {
        for size in [ImageSize::new(33, 31), ImageSize::new(1, 2)] {
            let finish = finish(element, layout);
            let pictures = Pictures::new(2, size, channels).unwrap();
            let from = dice.bytes(pictures.bytes());
            let mut expected = vec![0; finish.output_bytes(&pictures)];
            finish.on_host(&pictures, &from, Some(&[0, 1]), &mut expected).unwrap();
            let row = pictures.row_bytes();
            let heads: Vec<u8> = [0, 1]
                .iter()
                .flat_map(|&n| {
                    let picture = RowPicture { flip: n == 1, ..whole(size) };
                    bytemuck::bytes_of(&RowHeader::store(picture, channels, n, row).unwrap())
                        .to_vec()
                })
                .collect();
            let heads = Strides { bytes: &heads, stride: RowHeader::BYTES };
            let store = Strides { bytes: &from, stride: row };
            let run = Run::of("draw").drawn(heads, Some(store), &pictures, &finish);
            let out = run.grid(1, 2, 256).output(expected.len());
            assert_eq!(out, expected, "{element:?} {layout:?} {pictures:?}");
            let mut host = vec![0; expected.len()];
            finish.draw_on_host(heads, store, &pictures, &mut host).unwrap();
            assert_eq!(host, expected);
        }
    });
}

/// Planes are the pixels that they stand for, to the bit where they are copied: of a whole picture,
/// and of a box of whole pixels anywhere in it.
#[test]
fn planes_are_copied_as_the_converted_picture_is() {
    let mut dice = Dice(4);
    let finish = Finish::bytes().layout(Layout::Chw);
    for size in
        [ImageSize::new(9, 7), ImageSize::new(10, 8), ImageSize::new(1, 5), ImageSize::new(2, 1)]
    {
        let planes = dice.bytes(Format::Yuv420.bytes(size, 3).unwrap());
        for cut in [size, ImageSize::new(1, 1), ImageSize::new(size.width.min(5), 1)] {
            let left = (size.width - cut.width) as f32;
            let top = (size.height - cut.height) as f32;
            let width = cut.width as f32;
            let height = cut.height as f32;
            let area = CropBox { left, top, width, height };
            let picture = RowPicture { format: Format::Yuv420, size, area, flip: true };
            let head = RowHeader::row(picture, 3, planes.len()).unwrap();
            let (heads, stride) = rows_of(&[(head, &planes)]);
            let heads = Strides { bytes: &heads, stride };
            let drawn = Pictures::new(1, cut, 3).unwrap();
            let mut expected = vec![0; drawn.bytes()];
            let none = Strides { bytes: &[], stride: 1 };
            finish.draw_on_host(heads, none, &drawn, &mut expected).unwrap();
            let run = Run::of("draw").drawn(heads, None, &drawn, &finish).grid(2, 1, 16);
            assert_eq!(run.output(expected.len()), expected, "{size} {area:?}");
        }
    }
}

/// A large picture, where positions lose digits: the kernel counts from the box.
#[test]
fn boxes_at_the_far_end_of_a_large_picture_are_exact_too() {
    let mut dice = Dice(5);
    let size = ImageSize::new(20_000, 3);
    let drawn = Pictures::new(2, ImageSize::new(512, 2), 1).unwrap();
    let from = dice.bytes(60_000);
    let far = CropBox { left: 19_900.25, top: 0.5, width: 99.5, height: 2.0 };
    let row = |area| {
        let picture = RowPicture { area, ..whole(size) };
        (RowHeader::row(picture, 1, 60_000).unwrap(), &from[..])
    };
    let (heads, stride) = rows_of(&[row(far), row(whole(size).area)]);
    let heads = Strides { bytes: &heads, stride };
    let finish = finish(PixelElement::F32, Layout::Hwc);
    let mut expected = vec![0; finish.output_bytes(&drawn)];
    let none = Strides { bytes: &[], stride: 1 };
    finish.draw_on_host(heads, none, &drawn, &mut expected).unwrap();
    let out = Run::of("draw").drawn(heads, None, &drawn, &finish).grid(4, 2, 256);
    assert!(out.output(expected.len()) == expected);
}

/// The host refuses such boxes; should one arrive all the same, nothing outside the picture is read.
#[test]
fn invalid_boxes_read_nothing_outside_the_picture() {
    // 2 pixels from the fifth on would be copied, were there as many.
    let nowhere = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -3.5, 0.0, 1e30, 2.0, 4.0];
    let size = ImageSize::new(5, 4);
    for format in [Format::Pixels, Format::Yuv420] {
        let bytes = format.bytes(size, 3).unwrap();
        let head = RowHeader::store(RowPicture { format, ..whole(size) }, 3, 0, bytes).unwrap();
        let mut heads = bytemuck::bytes_of(&head).repeat(4096);
        for (n, head) in heads.chunks_exact_mut(RowHeader::BYTES).enumerate() {
            for (side, to) in head[32..48].chunks_exact_mut(4).enumerate() {
                to.copy_from_slice(&nowhere[n >> (3 * side) & 7].to_ne_bytes());
            }
        }
        // One color: every mean is that, or nothing.
        let (color, store) = match format {
            Format::Pixels => (200, vec![200; bytes]),
            Format::Yuv420 => (200, [vec![200; 20], vec![128; 12]].concat()),
        };
        let heads = Strides { bytes: &heads, stride: RowHeader::BYTES };
        let store = Strides { bytes: &store, stride: bytes };
        let drawn = Pictures::new(4096, ImageSize::new(2, 2), 3).unwrap();
        let run = Run::of("draw").drawn(heads, Some(store), &drawn, &Finish::bytes());
        let out = run.grid(1, 64, 8).output(drawn.bytes());
        assert!(out.iter().all(|&byte| byte == color || byte == 0), "a mean of {color} alone");
    }
}

/// Headers with false content: zeros, and no read outside.
#[test]
fn rows_with_false_headers_are_zeros() {
    let size = ImageSize::new(4, 4);
    let right = bytemuck::bytes_of(&RowHeader::store(whole(size), 3, 1, 48).unwrap()).to_vec();
    // The offset of a word, and its false value.
    let forged: [(usize, u32); 16] = [
        (0, 0), // behind the head, where nothing is
        (0, 2),
        (0, 3),
        (0, u32::MAX),
        (4, 2), // no format
        (4, u32::MAX),
        (8, 5),  // higher than a row of the store
        (12, 5), // wider
        (8, 0),
        (12, 0),
        (8, u32::MAX),
        (12, u32::MAX),
        (12, 1 << 30), // 2^32 pixels
        (16, 2),       // beyond the last row
        (16, u32::MAX),
        (20, 1), // 2^32 rows beyond
    ];
    let mut heads = right.clone();
    for (at, word) in forged {
        let mut head = right.clone();
        head[at..at + 4].copy_from_slice(&word.to_ne_bytes());
        heads.extend(head);
    }
    let heads = Strides { bytes: &heads, stride: RowHeader::BYTES };
    let drawn = Pictures::new(1 + forged.len(), size, 3).unwrap();
    let store = Strides { bytes: &[77; 96], stride: 48 };
    let run = Run::of("draw").drawn(heads, Some(store), &drawn, &Finish::bytes());
    let out = run.grid(1, 3, 16).output(drawn.bytes());
    assert_eq!(out[..48], [77; 48]);
    for (forged, row) in forged.iter().zip(out[48..].chunks(48)) {
        assert_eq!(row, [0; 48], "{forged:?}");
    }
    let mut host = vec![1; drawn.bytes()];
    Finish::bytes().draw_on_host(heads, store, &drawn, &mut host).unwrap();
    assert_eq!(host, out);
    // Planes that become one channel; sides whose product in four channels is 2^64; no store at all.
    let mut head = right.clone();
    let mut large = right.clone();
    head[4..8].copy_from_slice(&(Format::Yuv420 as u32).to_ne_bytes());
    large[8..12].copy_from_slice(&(1u32 << 31).to_ne_bytes());
    large[12..16].copy_from_slice(&(1u32 << 31).to_ne_bytes());
    for (bytes, channels) in [(&head, 1), (&head, 4), (&large, 4), (&right, 3)] {
        let drawn = Pictures::new(1, size, channels).unwrap();
        let heads = Strides { bytes, stride: RowHeader::BYTES };
        let store = (channels != 3).then_some(store);
        let run = Run::of("draw").drawn(heads, store, &drawn, &Finish::bytes()).grid(1, 1, 16);
        assert!(run.output(drawn.bytes()).iter().all(|&byte| byte == 0), "{channels} channels");
    }
}
