//! `Program`: which files of kernels are compiled together, and their entries.
//!
//! Pure, as `args`.

use crate::device::kernels::args;
use crate::device::kernels::jpegs;
use crate::device::kernels::launch::Launch;

/// Kernels that are compiled and loaded together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Program {
    /// Kernels that draw, change and convert the pictures of a batch after it was copied.
    Pictures,
    /// Kernels that decode JPEGs. They are compiled separately: if a compiler fails on them, the other kernels still work.
    Jpegs,
}

impl Program {
    /// The source of all its kernels.
    pub fn source(self) -> String {
        match self {
            Program::Pictures => args::FILES.join("\n"),
            Program::Jpegs => [&args::FILES[..2], &args::JPEG_FILES].concat().join("\n"),
        }
    }

    /// The names of its kernels.
    pub fn entries(self) -> &'static [&'static str] {
        match self {
            Program::Pictures => &args::ENTRIES,
            Program::Jpegs => &jpegs::ENTRIES,
        }
    }

    /// An empty launch of each entry.
    pub fn nothing(self) -> Vec<Launch> {
        match self {
            Program::Pictures => args::nothing(),
            Program::Jpegs => jpegs::nothing(),
        }
    }

    /// The program that has an entry.
    pub fn of(entry: &str) -> Program {
        if jpegs::ENTRIES.contains(&entry) { Program::Jpegs } else { Program::Pictures }
    }
}

#[cfg(test)]
mod tests {
    use tarflume_image::Layout;
    use tarflume_image::convert::PixelElement;
    use tarflume_image::row_header::{Format, PixelSource};

    use super::*;

    /// Whether the name of a kernel is in the first line of its text.
    fn begins_with(text: &str, entry: &str) -> bool {
        text.lines().next().is_some_and(|line| line.contains(&format!("{entry}(")))
    }

    #[test]
    fn the_source_has_the_entries_and_the_numbers() {
        for program in [Program::Pictures, Program::Jpegs] {
            let source = program.source();
            for entry in program.entries() {
                let begin = source.split("extern \"C\" __global__ void ").skip(1);
                let count = begin.filter(|text| begins_with(text, entry)).count();
                assert_eq!((count, Program::of(entry)), (1, program), "{entry}");
            }
            assert!(!source.contains("#include"));
        }
        let source = Program::Pictures.source();
        for (name, number) in [
            ("LAYOUT_HWC", args::layout_number(Layout::Hwc)),
            ("LAYOUT_CHW", args::layout_number(Layout::Chw)),
            ("ELEMENT_U8", args::element_number(PixelElement::U8)),
            ("ELEMENT_F16", args::element_number(PixelElement::F16)),
            ("ELEMENT_BF16", args::element_number(PixelElement::Bf16)),
            ("ELEMENT_F32", args::element_number(PixelElement::F32)),
            ("FROM_ROW", PixelSource::Row as u32),
            ("FROM_STORE", PixelSource::Store as u32),
            ("FROM_NOTHING", PixelSource::Nothing as u32),
            ("FORMAT_PIXELS", Format::Pixels as u32),
            ("FORMAT_YUV420", Format::Yuv420 as u32),
        ] {
            assert!(source.contains(&format!("{name} = {number}")), "{name}");
        }
    }
}
