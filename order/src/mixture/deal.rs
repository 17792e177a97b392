//! `Deal`: which of several classes is next: rounds in which each comes as often as its weight, in random order.
//!
//! A mixture of data sets keeps its shares in every prefix, so its turns repeat. Among the classes of one data set this
//! would put the same classes side by side in every batch. Here each round of W positions, the sum of the weights, gives
//! a class of weight w exactly w of them, at places that a hash of seed and round decides.

use super::schedule::{Turn, earliest_deadline_first, shares_of};
use crate::error::Result;
use crate::random::mix::{Key, below};

/// Turns of classes, by their number.
#[derive(Debug, Clone)]
pub(crate) struct Deal {
    /// How often each comes in a round.
    shares: Vec<u64>,
    /// Positions of a round.
    period: u64,
    /// `None` without a shuffle: every round has the same order.
    key: Option<Key>,
}

/// A round: the turn of each position.
pub(crate) type Round = Vec<Turn>;

impl Deal {
    /// # Errors
    /// All weights are 0, or they add up to too much.
    pub(crate) fn new(weights: &[u64], seed: Option<u64>) -> Result<Deal> {
        let (shares, period) = shares_of(weights)?;
        let key = seed.map(|seed| Key::new(seed, 0, b"classes "));
        Ok(Deal { shares, period, key })
    }

    /// The round of a position, and the place in it.
    pub(crate) fn round_of(&self, position: u64) -> (u64, usize) {
        (position / self.period, (position % self.period) as usize)
    }

    /// The turns of round number `number`; costs some nanoseconds a position.
    pub(crate) fn round(&self, number: u64) -> Round {
        let Some(key) = self.key else {
            return earliest_deadline_first(&self.shares, self.period);
        };
        let mut turns: Round = Vec::with_capacity(self.period as usize);
        for (class, &share) in self.shares.iter().enumerate() {
            turns.extend((0..share).map(|_| Turn { part: class as u32, before: 0 }));
        }
        let key = key.sub(number);
        for last in (1..turns.len()).rev() {
            let other = below(key.draw(last as u64), last as u64 + 1);
            turns.swap(last, other as usize);
        }
        let mut came = vec![0_u32; self.shares.len()];
        for turn in &mut turns {
            turn.before = came[turn.part as usize];
            came[turn.part as usize] += 1;
        }
        turns
    }

    /// The class of a turn of round number `number`, and how many of it came before in all rounds.
    pub(crate) fn place(&self, number: u64, turn: Turn) -> (usize, u64) {
        let class = turn.part as usize;
        (class, self.shares[class] * number + u64::from(turn.before))
    }

    /// How many of each class come before `position`.
    pub(crate) fn drawn(&self, position: u64) -> Vec<u64> {
        let (number, within) = self.round_of(position);
        let mut drawn: Vec<u64> = self.shares.iter().map(|share| share * number).collect();
        if within > 0 {
            self.round(number)[..within].iter().for_each(|turn| drawn[turn.part as usize] += 1);
        }
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_gives_every_class_its_weight_in_another_order() {
        let deal = Deal::new(&[2, 0, 6, 4], Some(7)).unwrap();
        let rounds: Vec<Round> = (0..50).map(|number| deal.round(number)).collect();
        for round in &rounds {
            let mut classes: Vec<u32> = round.iter().map(|turn| turn.part).collect();
            classes.sort_unstable();
            assert_eq!(classes, [0, 2, 2, 2, 3, 3]); // divided by what all have in common
        }
        assert!(rounds.windows(2).filter(|pair| pair[0] != pair[1]).count() > 40);
        assert_eq!(Deal::new(&[2, 0, 6, 4], Some(7)).unwrap().round(3), rounds[3]);
        assert_ne!(Deal::new(&[2, 0, 6, 4], Some(8)).unwrap().round(3), rounds[3]);
    }

    #[test]
    fn turns_count_up_without_gaps_and_as_many_as_were_drawn() {
        for seed in [None, Some(1)] {
            let deal = Deal::new(&[3, 1, 2], seed).unwrap();
            let mut next = [0_u64; 3];
            for position in 0..100 {
                assert_eq!(deal.drawn(position), next);
                let (number, within) = deal.round_of(position);
                let (class, before) = deal.place(number, deal.round(number)[within]);
                assert_eq!(before, next[class]);
                next[class] += 1;
            }
        }
    }

    #[test]
    fn weights_that_give_no_order_are_errors() {
        assert!(Deal::new(&[0, 0], Some(1)).unwrap_err().text().contains("above"));
        assert!(Deal::new(&[1, 1 << 20], Some(1)).unwrap_err().text().contains("add up"));
    }
}
