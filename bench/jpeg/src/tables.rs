//! Who competes in which table, and beside whom.

use crate::ours;
use crate::pure::{IMAGE, IMAGE_CROP, ZUNE, ZUNE_CROP};
use crate::turbo::{ENTROPY, FULL, HALVED, REFERENCE, REGION, SCALED};
use crate::work::Competitor;

/// A table: its short name for the command line, its title, its competitors.
pub(crate) struct Table {
    pub(crate) word: &'static str,
    pub(crate) title: &'static str,
    pub(crate) competitors: &'static [Competitor],
    /// The rival that speeds are given against.
    pub(crate) against: &'static str,
    /// Whose pixels are the right ones, where there are pixels.
    pub(crate) reference: Option<Competitor>,
}

pub(crate) const TABLES: [Table; 3] = [
    Table {
        word: "entropy",
        title: "entropy decoding alone",
        competitors: &[
            ENTROPY,
            ours::ENTROPY[0],
            ours::ENTROPY[1],
            ours::ENTROPY[2],
            ours::ENTROPY[3],
            ours::ENTROPY[4],
            ours::ENTROPY[5],
        ],
        against: ENTROPY.name,
        reference: None,
    },
    Table {
        word: "full",
        title: "full decode to RGB",
        competitors: &[FULL, ZUNE, IMAGE, ours::FULL[0], ours::FULL[1]],
        against: FULL.name,
        reference: Some(FULL),
    },
    Table {
        word: "crop",
        title: "RandomResizedCrop(224)",
        competitors: &[
            HALVED,
            SCALED,
            REGION,
            REFERENCE,
            ZUNE_CROP,
            IMAGE_CROP,
            ours::CROP[0],
            ours::CROP[1],
            ours::CROP[2],
            ours::CROP[3],
        ],
        against: HALVED.name,
        reference: Some(REFERENCE),
    },
];
