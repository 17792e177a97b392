//! Whether a sample has a part already: asked for each part, at a cost that does not grow with them.

use std::collections::HashSet;

/// Parts that are compared one by one: more are looked up.
const FEW: usize = 16;

/// The extensions of a sample's parts, once there are many.
#[derive(Debug, Default)]
pub struct Repeat {
    many: HashSet<Vec<u8>>,
}

impl Repeat {
    /// Nothing of a sample yet.
    pub fn new() -> Repeat {
        Repeat::default()
    }

    /// Forgets the sample: the next part is another's.
    pub fn clear(&mut self) {
        self.many.clear();
    }

    /// True if one of the `earlier` parts of the sample has this extension. All of them were asked
    /// about, in their order.
    pub fn has<'a>(
        &mut self,
        ext: &[u8],
        mut earlier: impl ExactSizeIterator<Item = &'a [u8]>,
    ) -> bool {
        let count = earlier.len();
        if count < FEW {
            return earlier.any(|have| have == ext);
        }
        // An extension asked about whose part was then not added makes no difference but this work.
        if self.many.len() != count {
            self.many.clear();
            self.many.extend(earlier.map(<[u8]>::to_vec));
        }
        !self.many.insert(ext.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_part_is_found_again_among_few_and_many() {
        let exts: Vec<Vec<u8>> = (0..100).map(|n: u32| n.to_string().into_bytes()).collect();
        let mut repeat = Repeat::new();
        for n in 0..exts.len() {
            let earlier = || exts[..n].iter().map(Vec::as_slice);
            assert!(!repeat.has(&exts[n], earlier()), "{n}");
            assert!(n == 0 || repeat.has(&exts[n / 2], earlier()), "{n}");
        }
        repeat.clear();
        assert!(!repeat.has(b"5", [].into_iter()));
    }

    /// Each part is compared with few others: the earlier ones are gone through once, not each time.
    #[test]
    fn the_earlier_parts_are_not_gone_through_for_each() {
        let exts: Vec<Vec<u8>> = (0..50_000).map(|n: u32| n.to_string().into_bytes()).collect();
        let (mut repeat, seen) = (Repeat::new(), Cell::new(0));
        for n in 0..exts.len() {
            let earlier = exts[..n].iter().map(|ext| {
                seen.set(seen.get() + 1);
                ext.as_slice()
            });
            assert!(!repeat.has(&exts[n], earlier));
        }
        assert!(seen.get() < 1000, "{} of {} were gone through", seen.get(), exts.len());
    }
}
