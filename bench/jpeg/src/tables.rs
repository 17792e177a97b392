//! Who competes in which table, and beside whom.

use crate::pure::{IMAGE, IMAGE_CROP, ZUNE, ZUNE_CROP};
use crate::turbo::{ENTROPY, FULL, REFERENCE, REGION, HALVED, SCALED};
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
        competitors: &[ENTROPY],
        against: ENTROPY.name,
        reference: None,
    },
    Table {
        word: "full",
        title: "full decode to RGB",
        competitors: &[FULL, ZUNE, IMAGE],
        against: FULL.name,
        reference: Some(FULL),
    },
    Table {
        word: "crop",
        title: "RandomResizedCrop(224)",
        competitors: &[HALVED, SCALED, REGION, REFERENCE, ZUNE_CROP, IMAGE_CROP],
        against: HALVED.name,
        reference: Some(REFERENCE),
    },
];
