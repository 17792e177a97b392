//! Compressed run lengths, as COCO writes them.
//!
//! A number has digits of five bits, the lowest first, each as the character 48 + digit; 32 is added to all but the last one.
//! The last digit extends its sign. From the fourth number on, a number is the difference to the second one before it.

use crate::fault::Wrong;

/// The first character.
const FIRST: u8 = 48;
/// Digits of a number, at most: more than 32 bits and a sign never have.
const MOST_DIGITS: u32 = 7;

/// Appends the run lengths of a text. `pixels` bounds each of them.
///
/// # Errors
/// A character is no digit, the text ends inside a number, or a run is negative or longer than `pixels`.
///
/// ```
/// let mut counts = Vec::new();
/// tarflume_annotations::mask::rle::decompress(b"52203", 100, &mut counts)?;
/// assert_eq!(counts, [5, 2, 2, 2, 5]);
/// # Ok::<(), tarflume_annotations::fault::Wrong>(())
/// ```
pub fn decompress(text: &[u8], pixels: u64, to: &mut Vec<u32>) -> Result<(), Wrong> {
    let first = to.len();
    let most = i64::try_from(pixels).unwrap_or(i64::MAX).min(i64::from(u32::MAX));
    let mut at = 0;
    while at < text.len() {
        let start = at;
        let difference = number(text, &mut at)?;
        let count = to.len() - first;
        let before = if count > 2 { i64::from(to[to.len() - 2]) } else { 0 };
        let run = before + difference;
        if !(0..=most).contains(&run) {
            return Err(Wrong::Compressed { character: start });
        }
        to.push(run as u32);
    }
    Ok(())
}

/// The number that begins at `at`.
fn number(text: &[u8], at: &mut usize) -> Result<i64, Wrong> {
    let mut value = 0i64;
    for digit in 0..MOST_DIGITS {
        let wrong = Wrong::Compressed { character: *at };
        let byte = text.get(*at).and_then(|byte| byte.checked_sub(FIRST)).filter(|&byte| byte < 64);
        let Some(byte) = byte else { return Err(wrong) };
        *at += 1;
        value |= i64::from(byte & 31) << (5 * digit);
        if byte & 32 != 0 {
            continue;
        }
        if byte & 16 != 0 {
            value |= -1 << (5 * (digit + 1));
        }
        return Ok(value);
    }
    Err(Wrong::Compressed { character: *at })
}

/// The text of run lengths.
///
/// ```
/// assert_eq!(tarflume_annotations::mask::rle::compress(&[5, 2, 2, 2, 5]), "52203");
/// ```
pub fn compress(counts: &[u32]) -> String {
    let mut text = String::new();
    for (at, &count) in counts.iter().enumerate() {
        let before = if at > 2 { i64::from(counts[at - 2]) } else { 0 };
        let mut value = i64::from(count) - before;
        loop {
            let digit = (value & 31) as u8;
            value >>= 5;
            let ends = value == if digit & 16 != 0 { -1 } else { 0 };
            text.push(char::from(FIRST + digit + if ends { 0 } else { 32 }));
            if ends {
                break;
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn runs_come_back(counts in proptest::collection::vec(0u32..5_000_000, 0..40)) {
            let text = compress(&counts);
            let mut found = Vec::new();
            decompress(text.as_bytes(), u64::MAX, &mut found).unwrap();
            prop_assert_eq!(found, counts);
        }

        #[test]
        fn any_text_is_read_or_refused(text in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut found = Vec::new();
            if decompress(&text, 1000, &mut found).is_ok() {
                prop_assert!(found.iter().all(|&run| run <= 1000));
            }
        }
    }

    #[test]
    fn what_no_number_is_has_its_place() {
        for (text, character) in [("5 ", 1), ("5\u{7f}", 1), ("oooooooooo", 7), ("5o", 2), ("O", 0)]
        {
            let found = decompress(text.as_bytes(), 1000, &mut Vec::new());
            assert_eq!(found, Err(Wrong::Compressed { character }), "{text}");
        }
    }
}
