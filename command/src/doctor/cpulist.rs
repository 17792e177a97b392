//! Lists of processors in the kernel's format: `0-3,8`.

use std::ops::RangeInclusive;

/// Returns the ranges of a list; ignores invalid parts.
pub(super) fn ranges(text: &str) -> Vec<RangeInclusive<u64>> {
    text.trim().split(',').filter_map(range).filter(|range| !range.is_empty()).collect()
}

fn range(part: &str) -> Option<RangeInclusive<u64>> {
    let (from, to) = part.split_once('-').unwrap_or((part, part));
    Some(from.trim().parse().ok()?..=to.trim().parse().ok()?)
}

/// Returns the number of processors in a list.
pub(super) fn count(text: &str) -> u64 {
    ranges(text).into_iter().map(length).fold(0, u64::saturating_add)
}

fn length(range: RangeInclusive<u64>) -> u64 {
    (range.end() - range.start()).saturating_add(1)
}

/// Returns true if a processor is in both lists.
pub(super) fn meet(one: &str, other: &str) -> bool {
    let others = ranges(other);
    ranges(one).iter().any(|a| others.iter().any(|b| touch(a, b)))
}

fn touch(a: &RangeInclusive<u64>, b: &RangeInclusive<u64>) -> bool {
    a.start() <= b.end() && b.start() <= a.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_counted_and_compared() {
        assert_eq!(count("0-3,8\n"), 5);
        assert_eq!(count(""), 0);
        assert_eq!(count("3-1,x,0-18446744073709551615"), u64::MAX);
        assert!(meet("0-3,8", "8-9"));
        assert!(!meet("0-3", "4-7"));
        assert!(!meet("", "0"));
    }
}
