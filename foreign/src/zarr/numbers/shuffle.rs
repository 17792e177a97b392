//! The shuffles of Blosc, and the filter shuffle of numcodecs: bytes or bits of elements that are stored by their place in
//! the element. Pure.

/// Puts the bytes of each element together. Bytes after the last whole element are as they were.
pub(in crate::zarr) fn unshuffle(from: &[u8], size: usize, into: &mut [u8]) {
    match size {
        2 => unshuffle_elements::<2>(from, into),
        4 => unshuffle_elements::<4>(from, into),
        8 => unshuffle_elements::<8>(from, into),
        _ => unshuffle_any(from, size, into),
    }
}

/// As [`unshuffle`], for elements of N bytes.
fn unshuffle_elements<const N: usize>(from: &[u8], into: &mut [u8]) {
    let count = from.len() / N;
    let planes: [&[u8]; N] = std::array::from_fn(|byte| &from[byte * count..][..count]);
    let (elements, rest) = into.as_chunks_mut::<N>();
    for (number, element) in elements.iter_mut().enumerate() {
        for (byte, plane) in element.iter_mut().zip(planes) {
            *byte = plane[number];
        }
    }
    rest.copy_from_slice(&from[count * N..]);
}

/// As [`unshuffle`], for elements of any size.
fn unshuffle_any(from: &[u8], size: usize, into: &mut [u8]) {
    let count = from.len() / size;
    for (byte, plane) in from.chunks(count.max(1)).take(size).enumerate() {
        if count == 0 {
            break;
        }
        for (element, &value) in plane.iter().enumerate() {
            into[element * size + byte] = value;
        }
    }
    let whole = count * size;
    into[whole..].copy_from_slice(&from[whole..]);
}

/// Puts the bits of each element together. Only a multiple of eight elements is shuffled at all. `planes` is space that
/// is used again.
pub(in crate::zarr) fn unshuffle_bits(
    from: &[u8],
    size: usize,
    into: &mut [u8],
    planes: &mut Vec<u8>,
) {
    let count = from.len() / size;
    if !count.is_multiple_of(8) || count == 0 {
        into.copy_from_slice(from);
        return;
    }
    let whole = count * size;
    let row = count / 8;
    planes.clear();
    planes.resize(whole, 0);
    // Eight rows of bits are the bits of one byte of all elements.
    for byte in 0..size {
        let rows = &from[byte * 8 * row..][..8 * row];
        for group in 0..row {
            let bits: [u8; 8] = std::array::from_fn(|bit| rows[bit * row + group]);
            let bytes = transposed(u64::from_le_bytes(bits)).to_le_bytes();
            planes[byte * count + group * 8..][..8].copy_from_slice(&bytes);
        }
    }
    unshuffle(planes, size, &mut into[..whole]);
    into[whole..].copy_from_slice(&from[whole..]);
}

/// Transposes a matrix of 8 x 8 bits whose rows are bytes (Warren, Hacker's Delight, section 7-3).
fn transposed(mut bits: u64) -> u64 {
    for (shift, mask) in
        [(7, 0x00aa_00aa_00aa_00aa), (14, 0x0000_cccc_0000_cccc), (28, 0x0000_0000_f0f0_f0f0)]
    {
        let moved = (bits ^ (bits >> shift)) & mask;
        bits ^= moved ^ (moved << shift);
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_together_and_the_rest_stays() {
        let mut space = [0; 7];
        unshuffle(&[1, 4, 2, 5, 3, 6, 9], 3, &mut space);
        assert_eq!(space, [1, 2, 3, 4, 5, 6, 9]);
        unshuffle(&[1, 2, 3, 4, 5, 6, 9], 8, &mut space);
        assert_eq!(space, [1, 2, 3, 4, 5, 6, 9]);
    }

    #[test]
    fn elements_of_known_sizes_are_those_of_any_size() {
        let from: Vec<u8> = (0..211).collect();
        for size in [2, 4, 8] {
            for length in [0, 1, 7, 8, 64, 211] {
                let mut known = vec![0; length];
                let mut any = vec![0; length];
                unshuffle(&from[..length], size, &mut known);
                unshuffle_any(&from[..length], size, &mut any);
                assert_eq!(known, any, "{size} {length}");
            }
        }
    }

    #[test]
    fn bits_come_together() {
        // Element n of eight has the bits of n: the planes of the bits 0, 1 and 2 of the first byte.
        let mut from = [0; 17];
        from[..3].copy_from_slice(&[0b1010_1010, 0b1100_1100, 0b1111_0000]);
        from[8] = 0b0000_0001; // bit 0 of the second byte of element 0
        from[16] = 77;
        let mut space = [0; 17];
        unshuffle_bits(&from, 2, &mut space, &mut Vec::new());
        assert_eq!(space, [0, 1, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 77]);
        let seven = [3; 14];
        unshuffle_bits(&seven, 2, &mut space[..14], &mut Vec::new());
        assert_eq!(space[..14], seven, "seven elements are not shuffled");
    }
}
