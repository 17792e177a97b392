//! Detects a second part of the same extension in a sample, at a cost that does not grow with the
//! number of parts.

use std::collections::HashSet;

/// Up to this many parts are compared one by one; more are looked up in a set.
const FEW: usize = 16;

/// The set of a sample's extensions, used once there are many.
#[derive(Debug, Default)]
pub struct Repeat {
    many: HashSet<Vec<u8>>,
}

impl Repeat {
    /// Creates an empty set.
    pub fn new() -> Repeat {
        Repeat::default()
    }

    /// Clears the set for the next sample.
    pub fn clear(&mut self) {
        self.many.clear();
    }

    /// Returns true if one of the `earlier` parts of the sample has this extension. Must have been
    /// called for each of them, in their order.
    pub fn has<'a>(
        &mut self,
        ext: &[u8],
        mut earlier: impl ExactSizeIterator<Item = &'a [u8]>,
    ) -> bool {
        let count = earlier.len();
        if count < FEW {
            return earlier.any(|have| have == ext);
        }
        // A call whose part was then not added leaves an extra entry: rebuild the set.
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

    /// Each part is compared with few others: the earlier ones are scanned once, not each time.
    #[test]
    fn finding_a_part_does_not_scan_all_earlier_parts() {
        let exts: Vec<Vec<u8>> = (0..50_000).map(|n: u32| n.to_string().into_bytes()).collect();
        let mut repeat = Repeat::new();
        let seen = Cell::new(0);
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
