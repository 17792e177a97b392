//! The natural order of names: numbers in them are compared as numbers, so that `img2` is before `img10`. Pure.

use std::cmp::Ordering;

/// Compares two paths. Runs of digits are compared by their value, then by their length.
pub fn natural(one: &[u8], other: &[u8]) -> Ordering {
    let mut one_at = 0;
    let mut other_at = 0;
    while one_at < one.len() && other_at < other.len() {
        let both = (digits(&one[one_at..]), digits(&other[other_at..]));
        let order = match both {
            (first @ 1.., second @ 1..) => {
                let first = &one[one_at..one_at + first];
                let second = &other[other_at..other_at + second];
                one_at += first.len();
                other_at += second.len();
                numbers(first, second)
            }
            _ => {
                let order = one[one_at].cmp(&other[other_at]);
                one_at += 1;
                other_at += 1;
                order
            }
        };
        if order.is_ne() {
            return order;
        }
    }
    (one.len() - one_at).cmp(&(other.len() - other_at)).then_with(|| one.cmp(other))
}

/// The length of the number at the begin.
fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

fn numbers(one: &[u8], other: &[u8]) -> Ordering {
    let first = &one[one.iter().take_while(|byte| **byte == b'0').count()..];
    let second = &other[other.iter().take_while(|byte| **byte == b'0').count()..];
    first.len().cmp(&second.len()).then_with(|| first.cmp(second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_compared_by_value() {
        let mut names =
            ["img10", "img2", "img02", "a/9/1", "a/10/1", "img", "img2b", "x1.5", "x1.10"];
        names.sort_by(|one, other| natural(one.as_bytes(), other.as_bytes()));
        let wanted = ["a/9/1", "a/10/1", "img", "img02", "img2", "img2b", "img10", "x1.5", "x1.10"];
        assert_eq!(names, wanted);
    }
}
