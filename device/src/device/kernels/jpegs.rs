//! The host side of the kernels that decode JPEGs: entries, grids, and the parameter list of each entry.
//!
//! Pure, as `args`. `tarflume_jpeg::Offload` writes the records.

use crate::device::kernels::args::Strided;
use crate::device::kernels::launch::{Argument, Launch};

/// `(records: u8*, stride: u64, coefficients: i16*, faults: u32*, count: u32)`.
const HUFF: &str = "tarflume_huff";

/// `(records: u8*, stride: u64, coefficients: i16*, samples: u8*, count: u32)`.
const SAMPLES: &str = "tarflume_samples";

/// `(records: u8*, stride: u64, samples: u8*, pixels: u8*, count: u32)`.
const PIXELS: &str = "tarflume_pixels";

/// All entries, in the order in which they run.
pub const ENTRIES: [&str; 3] = [HUFF, SAMPLES, PIXELS];

/// Blocks that transform the coefficients of a picture, or write its pixels. 256 pictures are 4,096 blocks; a GPU runs
/// about a thousand at once.
const TOGETHER: u32 = 16;

/// Arrays in device memory. A record has the number of its picture's first item in each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JpegArrays {
    /// The records, at a multiple of 16 bytes.
    pub records: Strided,
    /// i16, for each block 64.
    pub coefficients: u64,
    /// u32, one for each picture.
    pub faults: u64,
    /// u8.
    pub samples: u64,
    /// u8 `[height, width, channels]` of each picture.
    pub pixels: u64,
}

/// The launches that decode `count` pictures, in their order.
pub fn launches(at: &JpegArrays, count: u32) -> [Launch; 3] {
    let JpegArrays { coefficients, faults, samples, pixels, .. } = *at;
    let down = count.clamp(1, 65_535);
    [
        Launch {
            entry: HUFF,
            grid: (count.clamp(1, 1 << 20), 1),
            arguments: arguments(at, coefficients, faults, count),
        },
        Launch {
            entry: SAMPLES,
            grid: (TOGETHER, down),
            arguments: arguments(at, coefficients, samples, count),
        },
        Launch {
            entry: PIXELS,
            grid: (TOGETHER, down),
            arguments: arguments(at, samples, pixels, count),
        },
    ]
}

/// The arguments of an entry that makes `to` of `from`.
fn arguments(at: &JpegArrays, from: u64, to: u64, count: u32) -> Vec<Argument> {
    let numbers = [at.records.at, at.records.stride, from, to].map(Argument::U64);
    numbers.into_iter().chain([Argument::U32(count)]).collect()
}

/// An empty launch of each entry: no picture, at address 0.
pub(super) fn nothing() -> Vec<Launch> {
    let records = Strided { at: 0, stride: 0 };
    let at = JpegArrays { records, coefficients: 0, faults: 0, samples: 0, pixels: 0 };
    launches(&at, 0).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_stand_in_the_order_of_the_parameters() {
        fn numbers(from: u64, to: u64) -> Vec<Argument> {
            let numbers = [16, 32, from, to].map(Argument::U64);
            [&numbers[..], &[Argument::U32(7)]].concat()
        }

        let records = Strided { at: 16, stride: 32 };
        let at = JpegArrays { records, coefficients: 48, faults: 64, samples: 80, pixels: 96 };
        let [huff, samples, pixels] = launches(&at, 7);
        assert_eq!((huff.entry, huff.grid), ("tarflume_huff", (7, 1)));
        assert_eq!(huff.arguments, numbers(48, 64));
        assert_eq!((samples.grid, samples.arguments), ((16, 7), numbers(48, 80)));
        assert_eq!((pixels.grid, pixels.arguments), ((16, 7), numbers(80, 96)));
        assert_eq!(nothing().len(), ENTRIES.len());
    }
}
