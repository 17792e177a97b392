//! The parameters of libjpeg-turbo's encoder.
//!
//! Data only; `turbo.c` applies them.

use std::ops::RangeInclusive;

use crate::harness::picture::Picture;

const PROGRESSIVE: u32 = 1;
const OPTIMIZED: u32 = 2;
const ARITHMETIC: u32 = 4;
const RGB: u32 = 8;
const NO_JFIF: u32 = 16;
const ADOBE: u32 = 32;
const THREE_TABLES: u32 = 64;
const WIDE_TABLES: u32 = 128;
const YCCK: u32 = 256;
const BLACK_AS_LUMA: u32 = 512;

/// The color space of a JPEG of three components, and how the file declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    /// YCbCr, declared by a JFIF segment.
    Jfif,
    /// YCbCr, declared by an Adobe segment alone (transform 1).
    AdobeYcc,
    /// YCbCr, not declared: components 1, 2, 3.
    Unsaid,
    /// RGB, declared by an Adobe segment (transform 0); components R, G, B.
    AdobeRgb,
    /// RGB, declared by the component names R, G, B alone.
    NamedRgb,
}

/// Which components share a scan of a sequential JPEG.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scans {
    /// One scan of all.
    Interleaved = 0,
    /// One scan per component.
    OneEach = 1,
    /// The first alone, the others together.
    LumaThenChroma = 2,
}

/// A scan of a custom script: components in rising order, first and last coefficient, previous and
/// current low bit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScanOf {
    pub(crate) components: Vec<u8>,
    pub(crate) first: u8,
    pub(crate) last: u8,
    pub(crate) before: u8,
    pub(crate) low: u8,
}

impl ScanOf {
    pub(crate) fn new(components: &[u8], band: RangeInclusive<u8>, before: u8, low: u8) -> ScanOf {
        let components = components.to_vec();
        ScanOf { components, first: *band.start(), last: *band.end(), before, low }
    }

    /// The format of `turbo.c`.
    pub(super) fn bytes(&self) -> [u8; 9] {
        let mut bytes = [0; 9];
        bytes[0] = self.components.len() as u8;
        bytes[1..=self.components.len()].copy_from_slice(&self.components);
        bytes[5..].copy_from_slice(&[self.first, self.last, self.before, self.low]);
        bytes
    }
}

/// How a picture is to be encoded; made by struct update from [`Recipe::default`].
#[derive(Clone, Debug)]
pub(crate) struct Recipe {
    /// 1 to 100.
    pub(crate) quality: u32,
    /// Horizontal and vertical sampling factor of the first component, 1 to 4 each.
    pub(crate) luma: (u32, u32),
    /// The same for the other components.
    pub(crate) chroma: (u32, u32),
    /// MCUs between restart markers; 0 for none.
    pub(crate) restart: u32,
    pub(crate) space: Space,
    pub(crate) scans: Scans,
    pub(crate) progressive: bool,
    /// Custom scans, instead of what `scans` and `progressive` define.
    pub(crate) script: Vec<ScanOf>,
    /// Huffman tables optimized for this image instead of the standard's.
    pub(crate) optimized: bool,
    pub(crate) arithmetic: bool,
    /// A separate quantization table for the last component, too.
    pub(crate) three_tables: bool,
    /// Quantizers above 255 at low qualities: extended sequential, tables of 16 bits.
    pub(crate) wide_tables: bool,
    /// Four components: stored as luma, color and black, not as inks.
    pub(crate) ycck: bool,
    /// Four components: the last one has the factors of the first.
    pub(crate) black_as_luma: bool,
    /// Whole marker segments (FF, kind, length, bytes), written after the JFIF segment.
    pub(crate) extra: Vec<u8>,
}

impl Default for Recipe {
    /// 4:4:4, quality 85, baseline.
    fn default() -> Recipe {
        Recipe {
            quality: 85,
            luma: (1, 1),
            chroma: (1, 1),
            restart: 0,
            space: Space::Jfif,
            scans: Scans::Interleaved,
            progressive: false,
            script: Vec::new(),
            optimized: false,
            arithmetic: false,
            three_tables: false,
            wide_tables: false,
            ycck: false,
            black_as_luma: false,
            extra: Vec::new(),
        }
    }
}

impl Recipe {
    /// The default with these sampling factors of the first component; 2 and 2 are 4:2:0.
    pub(crate) fn sampled(across: u32, down: u32) -> Recipe {
        Recipe { luma: (across, down), ..Recipe::default() }
    }

    /// Returns an APP1 segment of EXIF whose only tag is this orientation.
    pub(crate) fn with_orientation(self, orientation: u8) -> Recipe {
        let mut extra = self.extra;
        extra.extend_from_slice(b"\xFF\xE1\0\x22Exif\0\0MM\0\x2A\0\0\0\x08\0\x01");
        extra.extend_from_slice(b"\x01\x12\0\x03\0\0\0\x01\0");
        extra.extend_from_slice(&[orientation, 0, 0, 0, 0, 0, 0]);
        Recipe { extra, ..self }
    }

    /// Returns the fields of `struct recipe` of `turbo.c`.
    pub(super) fn fields(&self, picture: &Picture) -> Vec<u32> {
        fn flag(on: bool, bits: u32) -> u32 {
            if on { bits } else { 0 }
        }
        let space = match self.space {
            Space::Jfif => 0,
            Space::AdobeYcc => NO_JFIF | ADOBE,
            Space::Unsaid => NO_JFIF,
            Space::AdobeRgb => RGB,
            Space::NamedRgb => RGB | NO_JFIF,
        };
        let flags = space
            | flag(self.progressive, PROGRESSIVE)
            | flag(self.optimized, OPTIMIZED)
            | flag(self.arithmetic, ARITHMETIC)
            | flag(self.three_tables, THREE_TABLES)
            | flag(self.wide_tables, WIDE_TABLES)
            | flag(self.ycck, YCCK)
            | flag(self.black_as_luma, BLACK_AS_LUMA);
        let [width, height, channels] =
            [picture.width, picture.height, picture.channels].map(|n| n as u32);
        let luma = self.luma;
        let chroma = self.chroma;
        let sampling = [luma.0, luma.1, chroma.0, chroma.1];
        let mut fields = vec![width, height, channels, self.quality];
        fields.extend(sampling);
        fields.extend([self.restart, self.scans as u32, flags]);
        fields
    }
}
