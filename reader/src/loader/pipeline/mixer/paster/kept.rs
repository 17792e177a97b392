//! What is kept of the objects that were pasted over each row.

use tarflume_device::slab::Slab;
use tarflume_transforms::copy_paste::PastedRow;

use super::objects::PasteLists;

/// The partner of a row over which nothing was pasted.
const NONE: u64 = u64::MAX;
/// Bits of a word.
const BITS: usize = u64::BITS as usize;

/// The name of the column that has, for each row of column `image`, its partner and a bit for each object of the partner.
pub(crate) fn paste_column(image: &str) -> String {
    format!("{image}_copy_paste")
}

/// The words that have a bit for each of so many objects.
pub(super) fn words(objects: usize) -> usize {
    objects.div_ceil(BITS)
}

/// Which objects were pasted over row `row`; `None` if it was none.
pub(crate) fn pasted_row(row: usize, kept: &[u64]) -> Option<PastedRow> {
    let (&partner, words) = kept.split_first()?;
    let objects = (0..words.len() * BITS).filter(|object| bit(words, *object));
    let partner = usize::try_from(partner).ok().filter(|_| partner != NONE)?;
    Some(PastedRow { row, partner, objects: objects.collect() })
}

/// Whether an object is in the words.
fn bit(words: &[u64], object: usize) -> bool {
    words[object / BITS] >> (object % BITS) & 1 == 1
}

/// Writes what was pasted over each row.
pub(super) fn keep(slab: &mut Slab, lists: &PasteLists, column: usize) {
    for row in 0..slab.rows() {
        let kept = slab.row_mut(column, row);
        kept.fill(0);
        put(kept, 0, NONE);
    }
    for pasted in lists.rows() {
        let kept = slab.row_mut(column, pasted.row);
        put(kept, 0, pasted.partner as u64);
        for &object in lists.objects(pasted) {
            add_bit(kept, object);
        }
    }
}

/// Writes word `at` of a row.
fn put(kept: &mut [u8], at: usize, word: u64) {
    kept.as_chunks_mut().0[at] = word.to_ne_bytes();
}

/// Adds an object to the words behind the partner.
fn add_bit(kept: &mut [u8], object: usize) {
    let word = &mut kept.as_chunks_mut().0[1 + object / BITS];
    *word = (u64::from_ne_bytes(*word) | 1 << (object % BITS)).to_ne_bytes();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_bits_behind_the_partner() {
        assert_eq!([1, 64, 65, 400].map(words), [1, 1, 2, 7]);
        let mut kept = [0; 24];
        put(&mut kept, 0, 3);
        let objects = vec![0, 7, 63, 64, 127];
        objects.iter().for_each(|&object| add_bit(&mut kept, object));
        let numbers: Vec<u64> =
            kept.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word)).collect();
        let expected = PastedRow { row: 5, partner: 3, objects };
        assert_eq!(pasted_row(5, &numbers), Some(expected));
        assert_eq!(pasted_row(5, &[NONE, 0]), None);
        assert_eq!(pasted_row(5, &[]), None);
    }
}
