//! Copies of boxes between arrays of any order of dimensions. Pure.

/// One of the two arrays of a copy: where the box begins, and the distance between neighbors along each dimension, in
/// elements.
#[derive(Debug, Clone, Copy)]
pub(super) struct Side<'a> {
    pub(super) start: usize,
    pub(super) strides: &'a [usize],
}

/// Returns the distances between neighbors of an array in row-major order, along each dimension.
pub(super) fn row_major(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for n in (1..shape.len()).rev() {
        strides[n - 1] = strides[n] * shape[n];
    }
    strides
}

/// Calls `each` with the element of both arrays where each row of the box begins: the elements along its last dimension.
fn rows(extents: &[usize], from: Side<'_>, into: Side<'_>, each: &mut impl FnMut(usize, usize)) {
    let Some((&extent, inner)) = extents.split_first() else { return };
    if inner.is_empty() {
        return each(from.start, into.start);
    }
    for n in 0..extent {
        let from_row =
            Side { start: from.start + n * from.strides[0], strides: &from.strides[1..] };
        let into_row =
            Side { start: into.start + n * into.strides[0], strides: &into.strides[1..] };
        rows(inner, from_row, into_row, each);
    }
}

/// Copies a box of elements of `size` bytes.
pub(super) fn copy(
    bytes: &[u8],
    from: Side<'_>,
    space: &mut [u8],
    into: Side<'_>,
    extents: &[usize],
    size: usize,
) {
    // Dimensions without gaps in both arrays are one.
    let mut extents = extents.to_vec();
    let mut from_strides = from.strides.to_vec();
    let mut into_strides = into.strides.to_vec();
    while let [.., _, last] = extents[..] {
        let outer = extents.len() - 2;
        let is_gapless = from_strides[outer] == last * from_strides[outer + 1]
            && into_strides[outer] == last * into_strides[outer + 1];
        if !is_gapless {
            break;
        }
        extents.truncate(outer + 1);
        extents[outer] *= last;
        from_strides.remove(outer);
        into_strides.remove(outer);
    }
    let Some(&count) = extents.last().filter(|_| !extents.contains(&0)) else { return };
    let last = extents.len() - 1;
    let from_step = from_strides[last];
    let into_step = into_strides[last];
    let from = Side { start: from.start, strides: &from_strides };
    let into = Side { start: into.start, strides: &into_strides };
    rows(&extents, from, into, &mut |a, b| {
        if from_step == 1 && into_step == 1 {
            space[b * size..][..count * size].copy_from_slice(&bytes[a * size..][..count * size]);
            return;
        }
        match size {
            1 => scattered::<1>(bytes, a, from_step, space, b, into_step, count),
            2 => scattered::<2>(bytes, a, from_step, space, b, into_step, count),
            4 => scattered::<4>(bytes, a, from_step, space, b, into_step, count),
            _ => scattered::<8>(bytes, a, from_step, space, b, into_step, count),
        }
    });
}

/// Copies elements of N bytes that have gaps between them.
fn scattered<const N: usize>(
    bytes: &[u8],
    from: usize,
    from_step: usize,
    space: &mut [u8],
    into: usize,
    into_step: usize,
    count: usize,
) {
    let (elements, _) = bytes.as_chunks::<N>();
    let (room, _) = space.as_chunks_mut::<N>();
    for n in 0..count {
        room[into + n * into_step] = elements[from + n * from_step];
    }
}

/// Fills a box with one element.
pub(super) fn fill(element: &[u8], space: &mut [u8], into: Side<'_>, extents: &[usize]) {
    let still = vec![0; extents.len()];
    let from = Side { start: 0, strides: &still };
    copy(element, from, space, into, extents, element.len());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_is_copied_between_orders() {
        // A box of 2 x 3 of an array of 4 x 5, from an array in column-major order.
        let bytes: Vec<u8> = (0..20).collect();
        let mut space = [0; 6];
        let from = Side { start: 2 * 4 + 1, strides: &[1, 4] };
        let into = Side { start: 0, strides: &row_major(&[2, 3]) };
        copy(&bytes, from, &mut space, into, &[2, 3], 1);
        assert_eq!(space, [9, 13, 17, 10, 14, 18]);
        fill(&[7], &mut space, Side { start: 1, strides: &[3, 1] }, &[2, 2]);
        assert_eq!(space, [9, 7, 7, 10, 7, 7]);
        copy(&bytes, from, &mut space, into, &[0, 3], 1);
        assert_eq!(space, [9, 7, 7, 10, 7, 7]);
    }

    #[test]
    fn rows_without_gaps_are_copied_as_one() {
        let bytes: Vec<u8> = (0..48).collect();
        let mut space = [0; 24];
        let shape = row_major(&[4, 3, 2]);
        let from = Side { start: 6, strides: &shape };
        copy(&bytes, from, &mut space, Side { start: 0, strides: &shape }, &[2, 3, 2], 2);
        assert_eq!(space, bytes[12..36]);
    }
}
