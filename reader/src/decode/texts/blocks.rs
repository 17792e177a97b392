//! `Blocks`: statistics of the decoded and skipped blocks of JPEGs.
//!
//! Counts only.

use std::ops::AddAssign;

use serde::Serialize;

/// Counts of 8 x 8 blocks of decoded JPEGs, and of pictures.
///
/// ```
/// use tarflume::{Loader, RandomResizedCrop};
///
/// # fn main() -> tarflume::Result<()> {
/// # let made = tarflume::internal::ExampleShards::new(tarflume_fixtures::PHOTOS[0].jpeg);
/// # let shards = made.path();
/// let loader = Loader::builder(shards).image("jpg", RandomResizedCrop::new(64)).batch(4).build()?;
/// loader.epoch(0).for_each(drop);
/// let blocks = loader.stats().blocks;
/// println!("{} of {} blocks were drawn", blocks.drawn, blocks.all); // a crop needs a part of the blocks
/// assert!(blocks.drawn <= blocks.decoded && blocks.decoded <= blocks.all);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
pub struct Blocks {
    /// Blocks of the pictures.
    pub all: u64,
    /// Blocks whose Huffman codes were read.
    pub decoded: u64,
    /// Blocks that were transformed into pixels.
    pub drawn: u64,
    /// Pictures that were decoded with entry points.
    pub entered: u64,
    /// Pictures whose entry points were invalid, and which were decoded without them.
    pub refused: u64,
    /// Pictures coded in several scans, including progressive ones. They have no entry points, and all their
    /// scans are read.
    pub several_scans: u64,
    /// Pictures whose files break rules of the format although all pixels are there: stray bytes or restart markers
    /// between segments, a missing end.
    pub irregular: u64,
    /// Pictures of which pixels are lost ([`Image::keep_damaged`](crate::Image::keep_damaged)).
    pub damaged: u64,
}

impl Blocks {
    /// The fraction of blocks whose Huffman codes were not read, 0 to 1.
    pub fn skipped(&self) -> f64 {
        if self.all == 0 { 0.0 } else { 1.0 - self.decoded as f64 / self.all as f64 }
    }

    /// Returns a line about JPEGs that break rules of their format, and about those that lose pixels; `None` if all are
    /// whole.
    pub(crate) fn irregular_line(&self) -> Option<String> {
        let irregular = match self.irregular {
            0 => None,
            n => Some(format!("{n} break rules of their format without losing a pixel")),
        };
        let damaged = match self.damaged {
            0 => None,
            n => {
                Some(format!("{n} are damaged, and their pixels are kept as far as they are there"))
            }
        };
        let found: Vec<String> = irregular.into_iter().chain(damaged).collect();
        (!found.is_empty()).then(|| format!("JPEGs: {}", found.join("; ")))
    }

    /// The counts of one picture.
    pub(in crate::decode) fn of(report: &tarflume_jpeg::Report) -> Blocks {
        use tarflume_jpeg::{Damage, Use};
        Blocks {
            all: report.blocks,
            decoded: report.decoded,
            drawn: report.drawn,
            entered: u64::from(report.entry_points == Use::Used),
            refused: u64::from(report.entry_points == Use::Refused),
            several_scans: u64::from(report.several_scans),
            irregular: u64::from(report.damage == Damage::Harmless),
            damaged: u64::from(report.damage == Damage::Lost),
        }
    }
}

impl AddAssign for Blocks {
    fn add_assign(&mut self, other: Blocks) {
        self.all += other.all;
        self.decoded += other.decoded;
        self.drawn += other.drawn;
        self.entered += other.entered;
        self.refused += other.refused;
        self.several_scans += other.several_scans;
        self.irregular += other.irregular;
        self.damaged += other.damaged;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn irregular_and_damaged_jpegs_are_named_where_there_are_some() {
        fn line(irregular: u64, damaged: u64) -> Option<String> {
            Blocks { irregular, damaged, ..Blocks::default() }.irregular_line()
        }

        assert_eq!(line(0, 0), None);
        assert_eq!(
            line(2, 0).unwrap(),
            "JPEGs: 2 break rules of their format without losing a pixel"
        );
        let both = line(2, 3).unwrap();
        assert!(both.contains("; 3 are damaged"), "{both}");
    }
}
