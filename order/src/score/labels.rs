//! How well batches represent the labels of a data set, from the labels of some of its batches.
//!
//! The parent module computes the worst case of a shuffle, a data set in the order of its classes. This module takes the
//! labels that a data set really has.

use std::collections::BTreeMap;

/// The result of [`label_mixing`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct LabelMixing {
    /// How many independent samples a batch is worth, by the labels in it: from 1, where each batch holds a single label, to
    /// the size of a batch.
    pub effective: f64,
    /// Number of labels.
    pub labels: u64,
    /// Mean share of a batch that its most frequent label has, from 0 to 1.
    pub most_frequent: f64,
}

/// Returns how well `batches` mix their labels, or `None` if that is unknown: fewer than two batches, batches of fewer than
/// two samples, or a single label. Batches have the same size.
///
/// The score is Kish's effective sample size `b / (1 + (b - 1) r)` of a batch of `b` samples. `r` is the intraclass
/// correlation: one minus the probability that two samples of a batch differ, divided by the probability that two samples of
/// different batches differ. Both are estimated from the batches without bias, so a few batches of an epoch suffice.
///
/// ```
/// use tarflume_order::score::labels::label_mixing;
///
/// let sorted = [vec![0, 0, 0, 0], vec![1, 1, 1, 1], vec![2, 2, 2, 2]];
/// let mixing = label_mixing(&sorted).expect("three batches with three labels");
/// assert_eq!((mixing.effective, mixing.labels, mixing.most_frequent), (1.0, 3, 1.0));
/// ```
pub fn label_mixing(batches: &[Vec<u32>]) -> Option<LabelMixing> {
    let size = batches.first()?.len();
    if batches.len() < 2 || size < 2 {
        return None;
    }
    let samples = size as f64;
    let number = batches.len() as f64;
    let mut shares: BTreeMap<u32, f64> = BTreeMap::new();
    let mut squares = 0.0;
    let mut most_frequent = 0.0;
    for batch in batches {
        let counts = counts(batch);
        let most = counts.values().copied().max().unwrap_or(0);
        most_frequent += most as f64 / samples;
        for (label, count) in counts {
            let share = count as f64 / samples;
            squares += share * share;
            *shares.entry(label).or_default() += share;
        }
    }
    if shares.len() < 2 {
        return None;
    }
    // Two samples of different batches have one label with probability (sum over pairs of batches of the products of shares).
    let pooled: f64 = shares.values().map(|share| share * share).sum();
    let differ_between = 1.0 - (pooled - squares) / (number * (number - 1.0));
    // Two samples of a batch, drawn without replacement.
    let differ_within = (1.0 - squares / number) * samples / (samples - 1.0);
    let correlation = 1.0 - differ_within / differ_between;
    Some(LabelMixing {
        effective: samples / (1.0 + (samples - 1.0) * correlation).max(1.0),
        labels: shares.len() as u64,
        most_frequent: most_frequent / number,
    })
}

fn counts(labels: &[u32]) -> BTreeMap<u32, u64> {
    let mut counts = BTreeMap::new();
    for &label in labels {
        *counts.entry(label).or_default() += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pass::Pass;
    use crate::score::mixing;
    use crate::shuffle::Shuffle;

    /// The labels of all batches of 100 of a pass over 100 shards of 1000 samples, in 100 classes one after the other.
    fn batches(shuffle: Shuffle) -> Vec<Vec<u32>> {
        let labels: Vec<u32> = pass(shuffle).cursor(0).map(|index| (index / 1000) as u32).collect();
        labels.chunks_exact(100).map(<[u32]>::to_vec).collect()
    }

    fn pass(shuffle: Shuffle) -> Pass {
        let starts: Vec<u64> = (0..=100).map(|shard| shard * 1000).collect();
        Pass::new(starts.into(), shuffle, 0)
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri takes minutes for so many samples")]
    fn labels_of_sorted_classes_have_the_score_of_the_worst_case() {
        for shuffle in [
            Shuffle::Buffer { size: 5000, seed: 1 },
            Shuffle::Blocks { block: 16, window: 100, seed: 1 },
            Shuffle::Full { seed: 1 },
        ] {
            let worst = mixing(&pass(shuffle), 100, 100).effective.min(100.0);
            let found = label_mixing(&batches(shuffle)).unwrap().effective;
            assert!((found / worst - 1.0).abs() < 0.02, "{shuffle:?}: {found} and {worst}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri takes minutes for so many samples")]
    fn a_few_batches_suffice() {
        for (shuffle, expected) in [
            (Shuffle::None, 1.0..1.1),
            (Shuffle::Blocks { block: 16, window: 100, seed: 1 }, 40.0..65.0),
            (Shuffle::Full { seed: 1 }, 85.0..100.1),
        ] {
            let some: Vec<_> = batches(shuffle).into_iter().step_by(25).collect();
            let found = label_mixing(&some).unwrap();
            assert!(expected.contains(&found.effective), "{shuffle:?}: {found:?}");
        }
    }

    #[test]
    fn rare_labels_do_not_make_a_mixed_data_set_look_sorted() {
        // 3 of 4 samples have one label, at random places.
        let batches: Vec<Vec<u32>> = (0..64)
            .map(|batch| {
                (0..64)
                    .map(|row| u32::from(crate::mix(batch * 64 + row).is_multiple_of(4)))
                    .collect()
            })
            .collect();
        let found = label_mixing(&batches).unwrap();
        assert!(found.effective > 40.0 && found.labels == 2, "{found:?}");
        assert!((0.7..0.8).contains(&found.most_frequent), "{found:?}");
    }

    #[test]
    fn too_little_is_no_score() {
        for batches in
            [vec![], vec![vec![0, 1]], vec![vec![0], vec![1]], vec![vec![3, 3], vec![3, 3]]]
        {
            assert_eq!(label_mixing(&batches), None, "{batches:?}");
        }
    }
}
