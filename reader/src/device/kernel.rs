//! What the host must know to start the kernel: its source, its entries, the numbers it takes for
//! words, and a grid.
//!
//! Pure: whoever holds a device compiles and starts it.

use super::finish::Element;
use crate::decode::output::Layout;

/// CUDA C++ without includes, for NVRTC. Fused multiplication is switched off where it would show, so
/// no option is needed but the architecture.
pub const SOURCE: &str = include_str!("kernel.cu");

/// `(pictures: u8*, out: void*, flips: u8* or null, rows: u64, height: u32, width: u32, channels: u32,
/// layout: u32, element: u32, scale: 4 x f32, shift: 4 x f32)`: 17 parameters.
pub const FINISH: &str = "tarflume_finish";

/// `(pictures: u8*, out: void*, boxes: f32[rows, 4]*, flips: u8* or null, rows: u64, height: u32,
/// width: u32, channels: u32, out_height: u32, out_width: u32, layout: u32, element: u32,
/// scale: 4 x f32, shift: 4 x f32)`: 20 parameters.
pub const CROP: &str = "tarflume_crop";

/// `(slab: u8*, out: u8*, numbers: u64[rows]*, rows: u64, row_bytes: u64, slab_rows: u64)`.
pub const GATHER: &str = "tarflume_gather";

/// Threads of a block, all along x.
pub const BLOCK: u32 = 256;

/// The number of a layout in the kernel.
pub fn layout_number(layout: Layout) -> u32 {
    match layout {
        Layout::Hwc => 0,
        Layout::Chw => 1,
    }
}

/// The number of an element's type in the kernel.
pub fn element_number(element: Element) -> u32 {
    match element {
        Element::U8 => 0,
        Element::F16 => 1,
        Element::Bf16 => 2,
        Element::F32 => 3,
    }
}

/// Blocks along x and y for `rows` rows of `units` units each: pixels of an output picture, or 16
/// bytes of a row that is gathered. Any grid is right; this one has work for every thread.
pub fn grid(rows: usize, units: usize) -> (u32, u32) {
    let across = units.div_ceil(BLOCK as usize).clamp(1, 1 << 20);
    (across as u32, rows.clamp(1, 65_535) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_source_has_the_entries_and_the_numbers() {
        for entry in [FINISH, CROP, GATHER] {
            assert!(SOURCE.contains(&format!("extern \"C\" __global__ void {entry}(")), "{entry}");
        }
        assert!(!SOURCE.contains("#include"));
        for (name, number) in [
            ("LAYOUT_HWC", layout_number(Layout::Hwc)),
            ("LAYOUT_CHW", layout_number(Layout::Chw)),
            ("ELEMENT_U8", element_number(Element::U8)),
            ("ELEMENT_F16", element_number(Element::F16)),
            ("ELEMENT_BF16", element_number(Element::Bf16)),
            ("ELEMENT_F32", element_number(Element::F32)),
        ] {
            assert!(SOURCE.contains(&format!("{name} = {number}")), "{name}");
        }
    }

    #[test]
    fn a_grid_is_never_empty_nor_too_large() {
        assert_eq!(grid(256, 224 * 224), (196, 256));
        assert_eq!(grid(0, 0), (1, 1));
        assert_eq!(grid(1_000_000, 1), (1, 65_535));
        assert_eq!(grid(1, usize::MAX), (1 << 20, 1));
    }
}
