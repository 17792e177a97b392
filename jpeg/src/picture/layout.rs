//! `Layout`: the blocks of a picture that a region needs, and the arrangement of each component's
//! samples.
//!
//! Pure arithmetic from header, scale and region. Chroma is scaled and upsampled by the rules of
//! libjpeg-turbo (`jpeg_calc_output_dimensions` in jdmaster.c, `jinit_upsampler` in jdsample.c),
//! because the pixels must be equal.

use std::ops::Range;

use crate::error::Result;
use crate::header::{Component, Header};
use crate::picture::extent::{Region, Scale};

/// How a component is enlarged to one sample per pixel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Upsampling {
    /// It has one sample per pixel.
    #[default]
    None,
    /// Two columns from one, weighted 3 to 1 with the neighbor (`h2v1_fancy_upsample`).
    FancyAcross,
    /// Two rows from one, with the same weights (`h1v2_fancy_upsample`).
    FancyDown,
    /// Both (`h2v2_fancy_upsample`).
    FancyBoth,
    /// Each sample repeated, across and down (`int_upsample`).
    Repeat(u32, u32),
}

impl Upsampling {
    fn of(across: u32, down: u32, width: u32, fancy: bool) -> Upsampling {
        match (across, down) {
            (1, 1) => Upsampling::None,
            (2, 1) if fancy && width > 2 => Upsampling::FancyAcross,
            (1, 2) if fancy => Upsampling::FancyDown,
            (2, 2) if fancy && width > 2 => Upsampling::FancyBoth,
            (across, down) => Upsampling::Repeat(across, down),
        }
    }

    /// Returns the pixels per sample, across and down.
    pub(crate) fn factors(self) -> (u32, u32) {
        match self {
            Upsampling::None => (1, 1),
            Upsampling::FancyAcross => (2, 1),
            Upsampling::FancyDown => (1, 2),
            Upsampling::FancyBoth => (2, 2),
            Upsampling::Repeat(across, down) => (across, down),
        }
    }

    pub(crate) fn reads_beside(self) -> bool {
        matches!(self, Upsampling::FancyAcross | Upsampling::FancyBoth)
    }

    /// Returns true if a pixel depends on a second row of samples.
    pub(crate) fn reads_below(self) -> bool {
        matches!(self, Upsampling::FancyDown | Upsampling::FancyBoth)
    }
}

/// One component at the requested scale.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ScaledComponent {
    /// Blocks of an MCU, across and down.
    pub(crate) h: u32,
    pub(crate) v: u32,
    /// Samples of a block, across and down: 8, 4, 2 or 1.
    pub(crate) block: u32,
    /// Samples of the whole picture.
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) upsampling: Upsampling,
}

/// The blocks to decode and their arrangement.
#[derive(Debug, Clone, Default)]
pub(crate) struct Layout {
    pub(crate) parts: [ScaledComponent; 4],
    pub(crate) count: usize,
    /// MCUs of the whole picture, across and down.
    pub(crate) mcus: (u32, u32),
    /// Columns and rows of MCUs that the region needs.
    pub(crate) columns: Range<u32>,
    pub(crate) rows: Range<u32>,
    /// Number of blocks of an MCU.
    pub(crate) blocks: usize,
    /// Rows of pixels of an MCU.
    pub(crate) lines: u32,
    /// Whether rows of pixels depend on the rows of MCUs above and below.
    pub(crate) reads_below: bool,
}

impl Layout {
    /// # Errors
    /// Returns an error if the region is not within the picture.
    pub(crate) fn of(header: &Header, scale: Scale, region: Option<Region>) -> Result<Layout> {
        let size = scale.of(header.width, header.height);
        let region = region.unwrap_or(Region::whole(size));
        region.check(size)?;
        let (h, v) = header.components.most();
        let mut layout = Layout {
            count: header.components.count(),
            mcus: header.mcus(),
            blocks: header.components.blocks(),
            lines: v * scale.block(),
            ..Layout::default()
        };
        for (part, component) in layout.parts.iter_mut().zip(header.components.iter()) {
            *part = ScaledComponent::of(header, component, scale, h, v);
        }
        let reads_below = layout.parts().any(|part| part.upsampling.reads_below());
        layout.reads_below = reads_below;
        layout.columns = layout.union(|part| part.mcus_for(&region, true));
        layout.rows = layout.union(|part| part.mcus_for(&region, false));
        Ok(layout)
    }

    pub(crate) fn parts(&self) -> impl Iterator<Item = &ScaledComponent> {
        self.parts[..self.count].iter()
    }

    fn union(&self, of: impl Fn(&ScaledComponent) -> Range<u32>) -> Range<u32> {
        let ranges = self.parts().map(of);
        ranges.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)).unwrap_or_default()
    }
}

impl ScaledComponent {
    /// `h` and `v` are the most blocks of a component in an MCU, across and down.
    fn of(header: &Header, component: &Component, scale: Scale, h: u32, v: u32) -> ScaledComponent {
        let least = scale.block();
        let mut block = least;
        // As libjpeg does, enlarge by a larger inverse DCT where possible instead of upsampling.
        while block < 8
            && (h * least).is_multiple_of(component.h * block * 2)
            && (v * least).is_multiple_of(component.v * block * 2)
        {
            block *= 2;
        }
        let width = samples(header.width, component.h, h, block);
        let across = h * least / (component.h * block);
        let down = v * least / (component.v * block);
        ScaledComponent {
            h: component.h,
            v: component.v,
            block,
            width,
            height: samples(header.height, component.v, v, block),
            upsampling: Upsampling::of(across, down, width, least > 1),
        }
    }

    /// Returns the samples, across or down, that pixels `from..to` depend on.
    fn samples_for(&self, from: u32, to: u32, across: bool) -> Range<u32> {
        let factors = self.upsampling.factors();
        let all = (self.width, self.height);
        let (each, most, looks) = if across {
            (factors.0, all.0, self.upsampling.reads_beside())
        } else {
            (factors.1, all.1, self.upsampling.reads_below())
        };
        let beyond = u32::from(looks);
        (from / each).saturating_sub(beyond)..((to - 1) / each + 1 + beyond).min(most)
    }

    fn mcus_for(&self, region: &Region, across: bool) -> Range<u32> {
        let (from, length, each) = if across {
            (region.left, region.width, self.h * self.block)
        } else {
            (region.top, region.height, self.v * self.block)
        };
        let samples = self.samples_for(from, from + length, across);
        samples.start / each..samples.end.div_ceil(each)
    }
}

fn samples(pixels: u32, own: u32, most: u32, block: u32) -> u32 {
    // libjpeg's `downsampled_width`: rounded up once, from the full size.
    let all = u64::from(pixels) * u64::from(own * block);
    let each = u64::from(most * 8);
    all.div_ceil(each) as u32
}
