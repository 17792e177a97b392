//! Variable-length numbers: LEB128, seven bits per byte, low ones first, the high bit set in all
//! but the last byte (DWARF 5, section 7.6).

/// Appends a number.
pub fn put(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// Appends a length and that many bytes.
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Reads the number at `at` and moves `at` after it; `None` if the bytes end or encode more than 64
/// bits.
pub fn take(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut n = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        let bits = u64::from(byte & 0x7f);
        if shift == 63 && bits > 1 {
            return None;
        }
        n |= bits << shift;
        if byte < 0x80 {
            return Some(n);
        }
    }
    None
}

/// Reads a length and that many bytes.
pub fn take_bytes<'a>(bytes: &'a [u8], at: &mut usize) -> Option<&'a [u8]> {
    let length = usize::try_from(take(bytes, at)?).ok()?;
    let taken = bytes.get(*at..at.checked_add(length)?)?;
    *at += length;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn written_varints_are_read_back(numbers in prop::collection::vec(any::<u64>(), 0..20), text: Vec<u8>) {
            let mut bytes = Vec::new();
            numbers.iter().for_each(|&n| put(&mut bytes, n));
            put_bytes(&mut bytes, &text);
            let mut at = 0;
            for n in numbers {
                prop_assert_eq!(take(&bytes, &mut at), Some(n));
            }
            prop_assert_eq!(take_bytes(&bytes, &mut at), Some(text.as_slice()));
            prop_assert_eq!(at, bytes.len());
        }

        #[test]
        fn any_bytes_end(bytes: Vec<u8>) {
            let mut at = 0;
            while take_bytes(&bytes, &mut at).is_some() {}
            prop_assert!(at <= bytes.len());
        }
    }

    #[test]
    fn more_than_64_bits_are_none() {
        assert_eq!(take(&[0xff; 11], &mut 0), None);
        let mut most = vec![0xff; 9];
        most.push(1);
        assert_eq!(take(&most, &mut 0), Some(u64::MAX));
    }
}
