//! Optimal Huffman codes of at most 16 bits for counted symbols (T.81, K.2), none of which is all
//! ones.

/// How often each symbol occurs.
pub(super) type Frequencies = [u64; 256];

/// One symbol more than a table has: it takes the code of ones.
const SYMBOLS: usize = 257;

/// Limit on the bits of a code.
const LONGEST: usize = 16;

/// A Huffman table to write and to encode with.
#[derive(Debug, Clone)]
pub(super) struct Codes {
    /// The number of codes with 1, 2, ... 16 bits.
    pub(super) counts: [u8; LONGEST],
    /// The symbols, those with the shortest codes first.
    pub(super) symbols: Vec<u8>,
    /// The code and the number of its bits, by symbol; 0 bits for a symbol that does not occur.
    codes: Box<[(u16, u8); 256]>,
}

impl Codes {
    /// Computes the codes with the fewest bits in all.
    pub(super) fn of(frequencies: &Frequencies) -> Codes {
        let sizes = sizes(frequencies);
        let counts = limited(&sizes);
        let mut symbols: Vec<u8> = (0..=255).filter(|&s| sizes[usize::from(s)] > 0).collect();
        symbols.sort_by_key(|&symbol| sizes[usize::from(symbol)]); // stable: by value then
        let mut codes = Box::new([(0, 0); 256]);
        let mut code = 0u32;
        let mut next = symbols.iter();
        for (size, &count) in (1..).zip(&counts) {
            for &symbol in next.by_ref().take(count.into()) {
                codes[usize::from(symbol)] = (code as u16, size);
                code += 1;
            }
            code <<= 1;
        }
        Codes { counts, symbols, codes }
    }

    /// Returns the code of a symbol that occurs, and the number of its bits.
    #[inline]
    pub(super) fn code(&self, symbol: u8) -> (u32, u32) {
        let (code, size) = self.codes[usize::from(symbol)];
        (code.into(), size.into())
    }
}

/// Returns the number of bits of each symbol's code, without a limit (T.81, figure K.1).
fn sizes(frequencies: &Frequencies) -> [u16; SYMBOLS] {
    let mut weights = [0; SYMBOLS];
    weights[..256].copy_from_slice(frequencies);
    weights[256] = 1;
    let mut sizes = [0; SYMBOLS];
    // The group of each symbol as a chain.
    let mut others = [None; SYMBOLS];
    let mut groups: Vec<usize> = (0..SYMBOLS).filter(|&s| weights[s] > 0).collect();
    loop {
        let Some(first) = take_least(&mut groups, &weights) else { return sizes };
        let Some(second) = take_least(&mut groups, &weights) else { return sizes };
        weights[first] = weights[first].saturating_add(weights[second]);
        groups.push(first);
        let mut at = first;
        sizes[at] += 1;
        while let Some(next) = others[at] {
            at = next;
            sizes[at] += 1;
        }
        others[at] = Some(second);
        at = second;
        sizes[at] += 1;
        while let Some(next) = others[at] {
            at = next;
            sizes[at] += 1;
        }
    }
}

/// Removes the group of the least weight; of equal ones the last, so that the extra symbol gets one of
/// the longest codes.
fn take_least(groups: &mut Vec<usize>, weights: &[u64; SYMBOLS]) -> Option<usize> {
    let places = 0..groups.len();
    let least = places.min_by_key(|&n| (weights[groups[n]], SYMBOLS - groups[n]));
    least.map(|n| groups.swap_remove(n))
}

/// Returns the number of codes of each size, with the longest shortened to the limit (T.81, figure
/// K.3) and without the code of ones.
fn limited(sizes: &[u16; SYMBOLS]) -> [u8; LONGEST] {
    let mut counts = [0u16; SYMBOLS + 1];
    sizes.iter().filter(|&&size| size > 0).for_each(|&size| counts[usize::from(size)] += 1);
    for size in (LONGEST + 1..=SYMBOLS).rev() {
        while counts[size] > 0 {
            // Two codes of this size: one takes the place of their common prefix, the other a place
            // beside a shorter code.
            let shorter = (1..size - 1).rev().find(|&s| counts[s] > 0).unwrap_or(1);
            counts[size] -= 2;
            counts[size - 1] += 1;
            counts[shorter + 1] += 2;
            counts[shorter] -= 1;
        }
    }
    if let Some(last) = (1..=LONGEST).rev().find(|&size| counts[size] > 0) {
        counts[last] -= 1;
    }
    std::array::from_fn(|n| counts[n + 1] as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the codes are a prefix code without the code of ones; returns the bits in all.
    fn checked(frequencies: &Frequencies) -> u64 {
        let codes = Codes::of(frequencies);
        let used = frequencies.iter().filter(|&&f| f > 0).count();
        assert_eq!(codes.counts.iter().map(|&n| usize::from(n)).sum::<usize>(), used);
        assert_eq!(codes.symbols.len(), used);
        let all: Vec<_> = codes.symbols.iter().map(|&symbol| codes.code(symbol)).collect();
        for (n, &(code, size)) in all.iter().enumerate() {
            assert!((1..=16).contains(&size) && code < (1 << size) - 1, "{code:b} of {size}");
            for &(other, longer) in &all[n + 1..] {
                assert!(longer >= size && other >> (longer - size) != code, "{code:b} {other:b}");
            }
        }
        let bits =
            codes.symbols.iter().map(|&s| frequencies[usize::from(s)] * u64::from(codes.code(s).1));
        bits.sum()
    }

    fn of(given: &[u64]) -> Frequencies {
        let mut frequencies = [0; 256];
        frequencies[..given.len()].copy_from_slice(given);
        frequencies
    }

    #[test]
    fn codes_have_the_bits_of_the_best_tree() {
        assert_eq!(checked(&of(&[9])), 9, "one symbol has one bit");
        assert_eq!(checked(&of(&[9, 1])), 9 + 2);
        // By hand: 1 1 2 3 5 and the extra one.
        assert_eq!(checked(&of(&[5, 3, 2, 1])), 5 + 3 * 2 + 2 * 3 + 4);
        // 255 equal symbols and the extra one fill a tree of eight levels.
        assert_eq!(checked(&of(&[7; 255])), 7 * 8 * 255);
    }

    #[test]
    fn codes_of_any_frequencies_have_sixteen_bits_at_most() {
        let powers: Vec<u64> = (0..50).map(|n| 1 << n).collect();
        assert!(sizes(&of(&powers)).iter().any(|&size| size > 45), "the tree is deep");
        checked(&of(&powers));
        checked(&of(&[1; 256]));
        for seed in 0..50u64 {
            let mut state = seed;
            let frequencies = std::array::from_fn(|_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 33) >> (state >> 59)
            });
            checked(&frequencies);
        }
    }
}
