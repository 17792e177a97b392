//! Pictures written into a store as planes, by the kernel and on the host: to the bit, and nothing
//! beside them.

use tarflume::decode::geometry::Size;
use tarflume::device::finish::Pictures;
use tarflume::device::planes::{planes_on_host, yuv420_bytes};

use crate::runner::{Dice, Run};

#[test]
fn planes_are_those_of_the_host_to_the_bit() {
    let mut dice = Dice(7);
    for (size, first) in [
        (Size::new(1, 1), 0),
        (Size::new(16, 8), 2),
        (Size::new(15, 9), 1),
        (Size::new(2, 7), 0),
        (Size::new(31, 1), 3),
    ] {
        for gap in [0, 13] {
            let pictures = Pictures::new(3, size, 3).unwrap();
            let mut from = dice.bytes(pictures.bytes());
            // The ends of the range, where a rounding could run over.
            for (byte, end) in from.iter_mut().zip([255, 0, 0, 0, 0, 255, 0, 255, 0]) {
                *byte = end;
            }
            let stride = yuv420_bytes(size) + gap;
            let mut expected = vec![0xA5; stride * 7]; // what the program fills its output with
            planes_on_host(&pictures, &from, (&mut expected, stride), first).unwrap();
            let run = Run::of("planes").file("pictures", &from).with("rows", 3);
            let run = run.with("height", size.height).with("width", size.width);
            let run = run.with("store_stride", stride).with("first", first);
            let out = run.grid((2, 2), 16).output(expected.len());
            assert_eq!(out, expected, "{size} from row {first}, rows of {stride} bytes");
        }
    }
}
