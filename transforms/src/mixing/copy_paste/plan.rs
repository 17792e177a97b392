//! `PastePlan`: which rows of a batch get objects of which others.

use tarflume_image::Random;
use tarflume_order::Key;

use super::settings::CopyPaste;
use crate::mixing::plan::{Taker, shuffle};

/// A row over which objects are pasted, by its draws alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PasteDraw {
    /// The row.
    pub row: usize,
    /// The row whose objects are pasted, as it was before objects were pasted over it.
    pub partner: usize,
    /// The seed of the draws of objects.
    seed: u64,
}

impl PasteDraw {
    /// Draws objects of a partner that has `count` of them. Returns their numbers, in ascending order.
    pub fn objects(&self, copy_paste: &CopyPaste, count: usize) -> impl Iterator<Item = usize> {
        let mut random = Random::new(self.seed);
        let probability = copy_paste.object_p;
        (0..count).filter(move |_| random.chance(probability))
    }
}

/// A row over which objects were pasted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastedRow {
    /// The row.
    pub row: usize,
    /// The row whose objects were pasted.
    pub partner: usize,
    /// The numbers of the pasted objects among those of the partner as it was before, in ascending order.
    pub objects: Vec<usize>,
}

/// What was drawn for one batch. Reused for the next batch, so that drawing allocates nothing.
///
/// The rows are shuffled. The partner of a row is the next one, and that of the last one is the first, so each row is the
/// partner of one other row.
#[derive(Debug, Clone, Default)]
pub struct PastePlan {
    takers: Vec<Taker>,
    rows: Vec<PasteDraw>,
}

impl PastePlan {
    /// Bytes for each row of a batch.
    pub const ROW_BYTES: usize = size_of::<Taker>() + size_of::<PasteDraw>();

    /// Draws for a batch of `takers`. `key` is that of the batch. A single taker has no partner.
    pub fn draw(&mut self, copy_paste: &CopyPaste, key: Key, takers: impl Iterator<Item = Taker>) {
        self.takers.clear();
        self.takers.extend(takers);
        self.rows.clear();
        let count = self.takers.len();
        if count < 2 {
            return;
        }
        shuffle(&mut self.takers, key);
        for (number, taker) in self.takers.iter().enumerate() {
            let key = key.sub(taker.planned);
            if Random::new(key.draw(0)).chance(copy_paste.p) {
                let partner = self.takers[(number + 1) % count].row;
                self.rows.push(PasteDraw { row: taker.row, partner, seed: key.draw(1) });
            }
        }
    }

    /// The rows over which objects may be pasted. A row is the partner of another one before it is changed itself, if rows are
    /// changed in this order, except that the last one may have the first one as its partner.
    pub fn rows(&self) -> &[PasteDraw] {
        &self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(copy_paste: &CopyPaste, rows: usize, batch: u64) -> PastePlan {
        let mut plan = PastePlan::default();
        let takers = (0..rows).map(|row| Taker { row, planned: row as u64 });
        plan.draw(copy_paste, Key::new(batch, 0, b"test    "), takers);
        plan
    }

    #[test]
    fn each_row_is_the_partner_of_one_other() {
        for rows in [2, 3, 5, 32] {
            let plan = drawn(&CopyPaste::default(), rows, 7);
            let mut partners: Vec<_> = plan.rows().iter().map(|row| row.partner).collect();
            partners.sort_unstable();
            assert_eq!(partners, (0..rows).collect::<Vec<_>>());
            for pair in plan.rows().windows(2) {
                assert_eq!(pair[0].partner, pair[1].row);
            }
            assert!(plan.rows().iter().all(|row| row.partner != row.row));
        }
        assert!(drawn(&CopyPaste::default(), 1, 7).rows().is_empty());
        assert!(drawn(&CopyPaste::default(), 0, 7).rows().is_empty());
    }

    #[test]
    fn every_partner_is_as_likely_as_the_others() {
        let mut partners = [[0; 5]; 5];
        for batch in 0..4000 {
            for row in drawn(&CopyPaste::default(), 5, batch).rows() {
                partners[row.row][row.partner] += 1;
            }
        }
        // 4,000 draws of 4 partners: 1,000 on average, with a standard deviation of 27.
        for (row, counts) in partners.iter().enumerate() {
            let others = counts.iter().enumerate().filter(|(partner, _)| *partner != row);
            assert!(others.clone().all(|(_, count)| (860..1140).contains(count)), "{counts:?}");
            assert_eq!(counts[row], 0);
        }
    }

    #[test]
    fn objects_are_drawn_each_with_its_probability() {
        let mut subsets = [0; 8];
        for batch in 0..1000 {
            let copy_paste = CopyPaste::default();
            for row in drawn(&copy_paste, 8, batch).rows() {
                subsets[row.objects(&copy_paste, 3).map(|object| 1 << object).sum::<usize>()] += 1;
            }
        }
        // 8,000 draws of 8 subsets: 1,000 on average, with a standard deviation of 30.
        assert!(subsets.iter().all(|count| (850..1150).contains(count)), "{subsets:?}");
    }

    #[test]
    fn a_probability_changes_no_other_draw() {
        let all = drawn(&CopyPaste::default(), 32, 3);
        let half = CopyPaste { p: 0.5, ..CopyPaste::default() };
        let plan = drawn(&half, 32, 3);
        assert!((6..27).contains(&plan.rows().len()), "{}", plan.rows().len());
        assert!(plan.rows().iter().all(|row| all.rows().contains(row)));
        let row = plan.rows()[0];
        let [none, all] = [0.0, 1.0].map(|object_p| CopyPaste { object_p, ..half.clone() });
        assert_eq!(row.objects(&none, 9).count(), 0);
        assert_eq!(row.objects(&all, 9).collect::<Vec<_>>(), (0..9).collect::<Vec<_>>());
        // Another number of objects changes none of the draws before.
        let some: Vec<_> = row.objects(&half, 40).filter(|&object| object < 20).collect();
        assert_eq!(row.objects(&half, 20).collect::<Vec<_>>(), some);
        assert!(!some.is_empty() && some.len() < 20, "{some:?}");
    }
}
