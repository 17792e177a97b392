//! Every entry in many orders of its threads and blocks, on small pictures: each order gives the same bytes, those of the
//! host, no thread steps outside an array, and no two threads race.

use tarflume::internal::args;
use tarflume::internal::convert::{Pictures, PixelElement};
use tarflume::internal::crop::CropBox;
use tarflume::internal::resample::Strides;
use tarflume::internal::row_header::{Format, RowHeader, RowPicture};
use tarflume::{ImageSize, Layout};
use tarflume_fixtures::Sanitizer;

use crate::gpu::kernel::changing;
use crate::gpu::kernel::runner::{Case, Dice, Run, finish, rows_of, whole};

const ORDERS: u32 = 20;

/// The cases of an entry. A new entry needs an arm.
fn cases(entry: &str) -> Vec<Case> {
    match entry {
        args::FINISH => finished(),
        args::DRAW => drawn(),
        args::GATHER => gathered(),
        args::CHANGE => changing::changed(),
        args::DELIVER => changing::delivered(),
        _ => panic!("{entry} is run in no order: give it cases"),
    }
}

/// At most 256 threads, which the report of races can follow.
const GRIDS: [(u32, u32, u32); 2] = [(2, 2, 64), (3, 1, 37)];

fn finished() -> Vec<Case> {
    let mut dice = Dice(21);
    let pictures = Pictures::new(3, ImageSize::new(9, 7), 3).unwrap();
    let from = dice.bytes(pictures.bytes());
    let kinds = [
        (PixelElement::U8, Layout::Hwc),
        (PixelElement::F16, Layout::Chw),
        (PixelElement::F32, Layout::Chw),
    ];
    let mut cases = Vec::new();
    for ((element, layout), (x, y, block)) in kinds.into_iter().zip(GRIDS.into_iter().cycle()) {
        let finish = finish(element, layout);
        let mut expected = vec![0; finish.output_bytes(&pictures)];
        finish.on_host(&pictures, &from, Some(&[0, 1, 0]), &mut expected).unwrap();
        let run = Run::of("finish").pictures(&pictures, &finish, &from).flips(Some(&[0, 1, 0]));
        cases.push(Case { run: run.grid(x, y, block), expected });
    }
    cases
}

/// Rows with pixels, with planes, from a store, mirrored, and without a picture.
fn drawn() -> Vec<Case> {
    let mut dice = Dice(22);
    let size = ImageSize::new(23, 14);
    let stride = 23 * 14 * 3;
    let store = dice.bytes(2 * stride);
    let behind = dice.bytes(stride);
    let part = CropBox { left: 2.5, top: 1.0, width: 17.25, height: 12.5 };
    let pixels = RowPicture { area: part, ..whole(size) };
    let planes = RowPicture { format: Format::Yuv420, flip: true, ..pixels };
    let plane_bytes = Format::Yuv420.bytes(size, 3).unwrap();
    let rows = [
        (RowHeader::row(pixels, 3, stride).unwrap(), &behind[..]),
        (RowHeader::row(planes, 3, plane_bytes).unwrap(), &behind[..plane_bytes]),
        (RowHeader::store(RowPicture { flip: true, ..pixels }, 3, 1, stride).unwrap(), &[][..]),
        (RowHeader::nothing(), &[][..]),
        (RowHeader::store(whole(size), 3, 0, stride).unwrap(), &[][..]),
    ];
    let (heads, head_stride) = rows_of(&rows);
    let heads = Strides { bytes: &heads, stride: head_stride };
    let store = Strides { bytes: &store, stride };
    let sizes = [size, ImageSize::new(11, 6), ImageSize::new(31, 20)];
    let mut cases = Vec::new();
    for (size, (x, y, block)) in sizes.into_iter().zip(GRIDS.into_iter().cycle()) {
        let drawn = Pictures::new(rows.len(), size, 3).unwrap();
        let finish = finish(PixelElement::U8, Layout::Chw);
        let mut expected = vec![0; finish.output_bytes(&drawn)];
        finish.draw_on_host(heads, store, &drawn, &mut expected).unwrap();
        let run = Run::of("draw").drawn(heads, Some(store), &drawn, &finish);
        cases.push(Case { run: run.grid(x, y, block), expected });
    }
    cases
}

fn gathered() -> Vec<Case> {
    let mut dice = Dice(23);
    let numbers = [4, 0, 2, 2, 9, 1];
    let kinds = [(48, 0), (20, 0), (7, 3)];
    let mut cases = Vec::new();
    for ((row_bytes, shift), (x, y, block)) in kinds.into_iter().zip(GRIDS.into_iter().cycle()) {
        let slab = dice.bytes(row_bytes * 5);
        let mut expected = vec![0; row_bytes * numbers.len()];
        for (row, number) in expected.chunks_exact_mut(row_bytes).zip(numbers) {
            if let Some(from) = slab.chunks(row_bytes).nth(number as usize) {
                row.copy_from_slice(from);
            }
        }
        let run = Run::of("gather").gathered(&slab, row_bytes, &numbers, shift);
        cases.push(Case { run: run.grid(x, y, block), expected });
    }
    cases
}

fn check(sanitizer: Sanitizer) {
    for entry in args::ENTRIES {
        for (n, case) in cases(entry).iter().enumerate() {
            let found = case.run.run(sanitizer, 0, ORDERS, case.expected.len());
            assert!(found == case.expected, "case {n} of {entry}");
        }
    }
}

#[test]
fn every_entry_gives_the_same_bytes_in_every_order() {
    check(Sanitizer::Address);
}

#[test]
fn no_two_threads_of_an_entry_race() {
    check(Sanitizer::Thread);
}
