//! `MixPlan`: which rows of one batch are mixed with which, and how.

use tarflume_image::Random;
use tarflume_order::Key;

use crate::mixing::settings::{Mix, MixMode, Partner};
use crate::numbers::distributions::beta;

/// Place of the numbers of a whole batch, where rows have theirs at their own numbers.
const OF_BATCH: u64 = u64::MAX;

/// A rectangle of pixels: rows `top..bottom`, columns `left..right`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// The first row.
    pub top: u32,
    /// The first column.
    pub left: u32,
    /// The row behind the last one.
    pub bottom: u32,
    /// The column behind the last one.
    pub right: u32,
}

/// How a row is mixed with its partner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum How {
    /// Not at all.
    Alone,
    /// MixUp: `lam` of the row, the rest of its partner.
    Blend {
        /// The weight of the row.
        lam: f64,
    },
    /// CutMix: a region of the row is replaced by that of its partner.
    Paste {
        /// The region.
        region: Region,
        /// The share of the pixels that stay.
        lam: f64,
    },
}

impl How {
    /// The weight of the row; its partner has the rest.
    pub fn lam(self) -> f64 {
        match self {
            How::Alone => 1.0,
            How::Blend { lam } | How::Paste { lam, .. } => lam,
        }
    }

    /// Draws how one row is mixed, of pictures of `size`: height and width.
    fn draw(mix: &Mix, key: Key, size: [u32; 2]) -> How {
        let mut random = Random::new(key.draw(0));
        // The same numbers are taken in every case: a setting changes no draw but its own.
        let mixes = random.unit() < mix.prob;
        let switched = random.unit() < mix.switch_prob;
        let blend = mix.mixup_alpha.filter(|_| mixes && (mix.cutmix_alpha.is_none() || !switched));
        if let Some(alpha) = blend {
            return How::Blend { lam: beta(&mut random, alpha) };
        }
        match mix.cutmix_alpha.filter(|_| mixes) {
            Some(alpha) => How::paste(Region::draw(&mut random, alpha, size), size),
            None => How::Alone,
        }
    }

    /// CutMix with this region, if it has a pixel.
    fn paste(region: Region, [height, width]: [u32; 2]) -> How {
        let pasted = u64::from(region.bottom - region.top) * u64::from(region.right - region.left);
        if pasted == 0 {
            return How::Alone;
        }
        let all = u64::from(height) * u64::from(width);
        How::Paste { region, lam: 1.0 - pasted as f64 / all as f64 }
    }
}

impl Region {
    /// Draws a region whose center is anywhere, and whose share of a picture of `size` is a number of Beta(alpha, alpha)
    /// before it is cut at the edges.
    fn draw(random: &mut Random, alpha: f64, [height, width]: [u32; 2]) -> Region {
        let half = 0.5 * (1.0 - beta(random, alpha)).sqrt();
        let right = random.below(width.into()) as u32;
        let down = random.below(height.into()) as u32;
        let reach = |side: u32| (half * f64::from(side)) as u32;
        Region {
            top: down.saturating_sub(reach(height)),
            left: right.saturating_sub(reach(width)),
            bottom: (down + reach(height)).min(height),
            right: (right + reach(width)).min(width),
        }
    }
}

/// A row that may be mixed with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taker {
    /// Its number among the rows of the batch that are there.
    pub row: usize,
    /// Its number in the batch as it was planned, on which its draws depend.
    pub planned: u64,
}

/// Shuffles the rows of a batch, after Fisher and Yates. `key` is that of the batch.
pub(crate) fn shuffle(takers: &mut [Taker], key: Key) {
    let mut random = Random::new(key.sub(OF_BATCH).draw(0));
    for last in (1..takers.len()).rev() {
        takers.swap(last, random.below(last as u64 + 1) as usize);
    }
}

/// A row, its partner, and how it is mixed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MixedRow {
    /// The row.
    pub row: usize,
    /// The row that it is mixed with, as that one was before it was mixed.
    pub partner: usize,
    /// How.
    pub how: How,
}

/// What was drawn for one batch. Reused for the next batch, so that drawing allocates nothing.
///
/// Rows are in cycles: the partner of a row is the next row of the cycle, and that of the last one is the first.
#[derive(Debug, Clone, Default)]
pub struct MixPlan {
    takers: Vec<Taker>,
    rows: Vec<MixedRow>,
    /// Rows of a cycle.
    cycle: usize,
}

impl MixPlan {
    /// Bytes for each row of a batch.
    pub const ROW_BYTES: usize = size_of::<Taker>() + size_of::<MixedRow>();

    /// Draws for a batch whose rows `takers` are mixed with each other, of pictures of `size`: height and width. `key` is
    /// that of the batch.
    ///
    /// A single row, and that in the middle of an odd number of mirrored ones, are not in the plan.
    pub fn draw(
        &mut self,
        mix: &Mix,
        key: Key,
        size: [u32; 2],
        takers: impl Iterator<Item = Taker>,
    ) {
        self.takers.clear();
        self.takers.extend(takers);
        self.rows.clear();
        if self.takers.len() < 2 {
            return;
        }
        match mix.partners() {
            Partner::Previous => self.add_previous(),
            Partner::Mirrored => self.add_mirrored(),
        }
        let of_batch =
            (mix.mode == MixMode::Batch).then(|| How::draw(mix, key.sub(OF_BATCH), size));
        let takers = &self.takers;
        for cycle in self.rows.chunks_mut(self.cycle) {
            let first = takers[cycle[0].row].planned;
            for mixed in cycle {
                let planned = takers[mixed.row].planned;
                let own = if mix.mode == MixMode::Pair { first } else { planned };
                mixed.how = of_batch.unwrap_or_else(|| How::draw(mix, key.sub(own), size));
                mixed.row = takers[mixed.row].row;
                mixed.partner = takers[mixed.partner].row;
            }
        }
    }

    /// All rows in one cycle, from the last to the first. Numbers are those of takers.
    fn add_previous(&mut self) {
        let count = self.takers.len();
        self.cycle = count;
        self.rows.extend((0..count).rev().map(|row| MixedRow {
            row,
            partner: (row + count - 1) % count,
            how: How::Alone,
        }));
    }

    /// Cycles of two rows. Numbers are those of takers.
    fn add_mirrored(&mut self) {
        let count = self.takers.len();
        self.cycle = 2;
        for row in 0..count / 2 {
            let partner = count - 1 - row;
            self.rows.push(MixedRow { row, partner, how: How::Alone });
            self.rows.push(MixedRow { row: partner, partner: row, how: How::Alone });
        }
    }

    /// The cycles of rows.
    pub fn cycles(&self) -> impl Iterator<Item = &[MixedRow]> {
        self.rows.chunks(self.cycle.max(1))
    }

    /// All rows that have a partner.
    pub fn rows(&self) -> &[MixedRow] {
        &self.rows
    }

    /// True if no row is changed.
    pub fn is_idle(&self) -> bool {
        self.rows.iter().all(|mixed| mixed.how == How::Alone)
    }
}

#[cfg(test)]
mod tests;
