//! Which rows of a batch claim more memory for their variable columns than its limit leaves. Arithmetic.
//!
//! A row that alone exceeds the limit fits into no batch. If each row of a batch does, the limit is too small. If only
//! their sum exceeds the limit, rows that claim several times the share of a row are to blame, the largest first. If
//! the rows are alike, the batch is too large.

use std::cmp::Reverse;

/// A row may claim so many times the share of a row before its batch is too large because of it.
const SHARES: u64 = 4;

/// The rows to leave out of a batch whose rows claim `claims` bytes, so that the rest fits into `limit`, ascending. If no
/// such rows are found, only those that do not fit alone.
pub(crate) fn oversized(claims: &[u64], limit: u64) -> Vec<usize> {
    let mut sum: u128 = claims.iter().copied().map(u128::from).sum();
    let share = limit / (claims.len() as u64).max(1);
    let mut rows: Vec<usize> = (0..claims.len()).collect();
    rows.sort_by_key(|&row| (Reverse(claims[row]), row));
    let alone = rows.iter().take_while(|&&row| claims[row] > limit).count();
    if alone > 1 && alone == rows.len() {
        return Vec::new();
    }
    // Fewer than half of the rows: more would not be exceptions.
    let most = alone.max(claims.len().saturating_sub(1) / 2);
    let mut count = 0;
    for &row in &rows[..most] {
        let exception = sum > u128::from(limit) && claims[row] > share.saturating_mul(SHARES);
        if count >= alone && !exception {
            break;
        }
        sum -= u128::from(claims[row]);
        count += 1;
    }
    rows.truncate(if sum > u128::from(limit) { alone } else { count });
    rows.sort_unstable();
    rows
}

/// The row to leave out of a batch of which `claims.len()` of `rows` rows are known and no more fit into `limit`: the
/// largest, if it claims several times the share of a row and few rows were left out before. `None` if the batch is too
/// large as a whole.
pub(crate) fn exception(claims: &[u64], rows: usize, limit: u64) -> Option<usize> {
    let left_out = claims.iter().filter(|&&claim| claim == 0).count();
    let largest = (0..claims.len()).max_by_key(|&row| (claims[row], Reverse(row)))?;
    let share = limit / (rows as u64).max(1);
    let exception = claims[largest] > share.saturating_mul(SHARES) && 2 * (left_out + 1) < rows;
    exception.then_some(largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_that_cannot_become_full_loses_its_largest_exception() {
        assert_eq!(exception(&[10, 60, 10], 16, 100), Some(1));
        assert_eq!(exception(&[30, 30, 30], 4, 100), None, "the batch is too large as a whole");
        assert_eq!(exception(&[0, 0, 60, 10], 6, 100), None, "exceptions are a minority");
        assert_eq!(exception(&[], 4, 100), None);
    }

    #[test]
    fn rows_that_exceed_the_limit_alone_are_always_too_large() {
        assert_eq!(oversized(&[101], 100), [0]);
        assert_eq!(oversized(&[101, 1, u64::MAX, 300], 100), [0, 2, 3]);
        assert_eq!(oversized(&[100], 100), [0; 0]);
        assert_eq!(oversized(&[], 100), [0; 0]);
    }

    #[test]
    fn the_largest_exceptions_are_left_out_until_the_rest_fits() {
        let mut claims = vec![1; 40];
        (claims[3], claims[7], claims[9]) = (60, 50, 11);
        assert_eq!(oversized(&claims, 100), [3], "39 ones and 61 fit");
        assert_eq!(oversized(&claims, 70), [3, 7]);
        assert_eq!(oversized(&claims, 200), [0; 0], "it fits as it is");
    }

    #[test]
    fn a_batch_of_rows_that_are_alike_is_too_large_as_a_whole() {
        assert_eq!(oversized(&[30; 16], 100), [0; 0]);
        assert_eq!(oversized(&[60, 60], 100), [0; 0]);
        assert_eq!(oversized(&[101, 200], 100), [0; 0], "the limit is too small");
        assert_eq!(oversized(&[60; 256], 100), [0; 0], "exceptions are a minority");
        assert_eq!(oversized(&[60, 60, 60, 101], 100), [3], "the rest is too large as a whole");
    }
}
