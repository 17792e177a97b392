//! `MosaicPlan`: which rows of a batch make which mosaics.

use tarflume_image::Random;
use tarflume_order::Key;

use super::settings::Mosaic;
use super::tile::{TILES, Tile};
use crate::mixing::plan::{Taker, shuffle};

/// A row that becomes a mosaic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MosaicRow {
    /// The row.
    pub row: usize,
    /// The rows whose pictures it shows, as they were before: itself first.
    pub sources: [usize; TILES],
    /// Where the pictures meet: pixels from the left and from the top.
    pub center: [u32; 2],
}

impl MosaicRow {
    /// Its parts, of pictures of `size`: height and width.
    pub fn tiles(&self, size: [u32; 2]) -> [Tile; TILES] {
        std::array::from_fn(|number| Tile::new(number, size, self.center))
    }
}

/// What was drawn for one batch. Reused for the next batch, so that drawing allocates nothing.
///
/// The rows are shuffled. The sources of a row are itself and the three that follow it, so each row is a source of four.
#[derive(Debug, Clone, Default)]
pub struct MosaicPlan {
    takers: Vec<Taker>,
    rows: Vec<MosaicRow>,
}

impl MosaicPlan {
    /// Bytes for each row of a batch.
    pub const ROW_BYTES: usize = size_of::<Taker>() + size_of::<MosaicRow>();

    /// Draws for a batch of `takers`, of pictures of `size`: height and width. `key` is that of the batch. With fewer than
    /// four takers, a picture is in a mosaic several times.
    pub fn draw(
        &mut self,
        mosaic: &Mosaic,
        key: Key,
        size: [u32; 2],
        takers: impl Iterator<Item = Taker>,
    ) {
        self.takers.clear();
        self.takers.extend(takers);
        self.rows.clear();
        shuffle(&mut self.takers, key);
        let count = self.takers.len();
        for (number, taker) in self.takers.iter().enumerate() {
            let mut random = Random::new(key.sub(taker.planned).draw(0));
            // The same numbers are taken in every case: a setting changes no draw but its own.
            let drawn = random.chance(mosaic.p);
            let [least, most] = mosaic.center_range;
            let center = [size[1], size[0]].map(|side| {
                (random.between(least, most) * f64::from(side)).round_ties_even() as u32
            });
            if drawn {
                let sources = std::array::from_fn(|next| self.takers[(number + next) % count].row);
                self.rows.push(MosaicRow { row: taker.row, sources, center });
            }
        }
    }

    /// The rows that become mosaics, in no order.
    pub fn rows(&self) -> &[MosaicRow] {
        &self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: [u32; 2] = [48, 64];

    fn drawn(mosaic: &Mosaic, rows: usize, batch: u64) -> MosaicPlan {
        let mut plan = MosaicPlan::default();
        let takers = (0..rows).map(|row| Taker { row, planned: row as u64 });
        plan.draw(mosaic, Key::new(batch, 0, b"test    "), SIZE, takers);
        plan
    }

    #[test]
    fn each_row_is_a_source_of_four() {
        for rows in [1, 2, 3, 4, 5, 32] {
            let plan = drawn(&Mosaic::default(), rows, 7);
            assert_eq!(plan.rows().len(), rows);
            let mut used = vec![0; rows];
            for row in plan.rows() {
                assert_eq!(row.sources[0], row.row);
                row.sources.iter().for_each(|&source| used[source] += 1);
                assert!((14..=34).contains(&row.center[1]) && (19..=45).contains(&row.center[0]));
                if rows >= 4 {
                    let mut different = row.sources;
                    different.sort_unstable();
                    assert!(different.windows(2).all(|pair| pair[0] < pair[1]), "{row:?}");
                }
            }
            assert_eq!(used, vec![TILES; rows]);
        }
        assert!(drawn(&Mosaic::default(), 0, 7).rows().is_empty());
    }

    #[test]
    fn every_partner_is_as_likely_as_the_others() {
        let mut partners = [[0; 8]; 8];
        for batch in 0..4000 {
            for row in drawn(&Mosaic::default(), 8, batch).rows() {
                row.sources[1..].iter().for_each(|&source| partners[row.row][source] += 1);
            }
        }
        // 12,000 draws of 7 partners each: 1,714 on average, with a standard deviation of 38.
        for (row, counts) in partners.iter().enumerate() {
            let others = counts.iter().enumerate().filter(|(source, _)| *source != row);
            assert!(others.clone().all(|(_, count)| (1500..1930).contains(count)), "{counts:?}");
            assert_eq!(counts[row], 0);
        }
    }

    #[test]
    fn the_probability_changes_no_other_draw() {
        let all = drawn(&Mosaic::default(), 32, 3);
        let half = drawn(&Mosaic { p: 0.5, ..Mosaic::default() }, 32, 3);
        assert!((6..27).contains(&half.rows().len()), "{}", half.rows().len());
        assert!(half.rows().iter().all(|row| all.rows().contains(row)));
        assert!(drawn(&Mosaic { p: 0.0, ..Mosaic::default() }, 32, 3).rows().is_empty());
    }
}
