//! Ids without loss: how they are marked between the tokenizer and the samples.
//!
//! The highest bit of an id is set where it has no loss. So the mark stays with its id wherever documents are cached,
//! cut and packed. Ids of text and of Megatron files have no such bit, and 32 bits of their own.

/// The bit of an id without loss.
const BIT: u32 = 1 << 31;

/// Returns an id that has no loss; `None` for an id of more than 31 bits.
#[cfg(any(test, feature = "tokenizers"))]
pub(crate) fn without_loss(id: u32) -> Option<u32> {
    (id < BIT).then_some(id | BIT)
}

/// Returns whether a marked id has loss.
pub(crate) fn has_loss(marked: u32) -> bool {
    marked & BIT == 0
}

/// Returns the id of a marked one.
pub(crate) fn id_of(marked: u32) -> u32 {
    marked & !BIT
}

/// Returns where ids with loss begin and end, each pair a run of them.
pub(crate) fn runs(marked: impl IntoIterator<Item = u32>) -> Vec<u32> {
    let mut bounds = Vec::new();
    let mut at = 0;
    for id in marked {
        // The number of bounds is odd inside of a run.
        if has_loss(id) != (bounds.len() % 2 == 1) {
            bounds.push(at);
        }
        at += 1;
    }
    if bounds.len() % 2 == 1 {
        bounds.push(at);
    }
    bounds
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn runs_name_each_id_with_loss(mask in proptest::collection::vec(any::<bool>(), 0..40)) {
            let marked: Vec<u32> = mask
                .iter()
                .map(|&loss| if loss { 7 } else { without_loss(7).unwrap() })
                .collect();
            prop_assert!(marked.iter().all(|&id| id_of(id) == 7));
            let bounds = runs(marked);
            let mut named = vec![false; mask.len()];
            for run in bounds.chunks(2) {
                prop_assert!(run[0] < run[1]);
                named[run[0] as usize..run[1] as usize].fill(true);
            }
            prop_assert!(bounds.is_sorted_by(|a, b| a < b));
            prop_assert_eq!(named, mask);
        }
    }

    #[test]
    fn ids_of_32_bits_have_no_mark() {
        assert_eq!(without_loss(BIT - 1).map(id_of), Some(BIT - 1));
        assert_eq!(without_loss(BIT), None);
        assert_eq!(runs([]), Vec::<u32>::new());
    }
}
