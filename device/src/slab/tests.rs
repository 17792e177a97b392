//! The rules of a slab, and the rows that sealing keeps.

use tarflume_types::{DType, ErrorKind, RowShape};

use super::*;

fn slab(rows: usize) -> Slab {
    let shapes = vec![
        RowShape::Variable(DType::U8),
        RowShape::Fixed(DType::U16, vec![2]),
        RowShape::Variable(DType::U64),
    ];
    Slab::new(Arc::new(SlabLayout::new(shapes, rows).unwrap())).unwrap()
}

/// Fills row after row with its number: `row` bytes, two numbers, `row % 3` words.
fn fill(slab: &mut Slab, rows: usize) {
    slab.make_room(rows, |_, row| row * 8 + 3).unwrap();
    for row in (0..rows).rev() {
        let mut lent = slab.lend(row);
        lent.write(0, |mut to| to.put(&vec![row as u8; row])).unwrap();
        lent.write(1, |mut to| to.elements().map(|to| to.fill(row as u16))).unwrap();
        let words = vec![row as u64; row % 3];
        lent.write(2, |mut to| to.put(bytemuck::cast_slice(&words))).unwrap();
    }
}

fn is_right(slab: &Slab, rows: &[usize]) {
    assert_eq!(slab.rows(), rows.len());
    let numbers: &[u16] = bytemuck::cast_slice(slab.column(1));
    assert!(numbers.iter().copied().eq(rows.iter().flat_map(|&row| [row as u16; 2])));
    for (column, length) in [(0, 1), (2, 8)] {
        let bytes = slab.column(column);
        let offsets = slab.offsets(column).unwrap();
        for (n, &row) in rows.iter().enumerate() {
            let found = &bytes[offsets[n] - offsets[0]..offsets[n + 1] - offsets[0]];
            let expected = if column == 0 { row } else { row % 3 * length };
            assert_eq!(found.len(), expected, "row {row}");
            assert!(found.chunks(length).all(|element| element[0] == row as u8));
        }
    }
}

#[test]
fn sealing_closes_the_gaps_of_any_skipped_rows() {
    for skipped in 0..1u32 << 6 {
        let mut slab = slab(6);
        for rows in [6, 3, 0, 5] {
            fill(&mut slab, rows);
            let keep = |row: usize| skipped >> row & 1 == 0;
            slab.seal(keep);
            is_right(&slab, &(0..rows).filter(|&row| keep(row)).collect::<Vec<_>>());
        }
    }
}

#[test]
fn rows_of_a_sealed_column_are_replaced_by_others_and_those_beside_it_stay() {
    let mut slab = slab(6);
    fill(&mut slab, 6);
    slab.seal(|row| row != 3);
    let mut lengths = Vec::new();
    // Each row gets the bytes of the next one twice. All of them fit beside those that are there.
    slab.replace_rows(0, &mut lengths, |before, memory, lengths| {
        let mut end = 0;
        for (row, length) in lengths.iter_mut().enumerate() {
            let next = before.row((row + 1) % 5);
            for _ in 0..2 {
                memory[end..end + next.len()].copy_from_slice(next);
                end += next.len();
            }
            *length = 2 * next.len();
        }
    });
    assert_eq!(lengths, [2, 4, 8, 10, 0]);
    let rows = slab.variable_rows(0).unwrap();
    for (row, next) in [1u8, 2, 4, 5, 0].into_iter().enumerate() {
        assert_eq!(rows.row(row), vec![next; 2 * usize::from(next)]);
    }
    assert!(slab.variable_rows(1).is_none());
    let words = slab.variable_rows(2).unwrap();
    for (row, number) in [0u64, 1, 2, 4, 5].into_iter().enumerate() {
        let expected = vec![number; number as usize % 3];
        assert_eq!(words.row(row), bytemuck::cast_slice::<u64, u8>(&expected));
    }
}

#[test]
fn the_memory_grows_and_is_kept() {
    let mut slab = slab(4);
    slab.make_room(4, |_, _| 10_000).unwrap();
    let grown = slab.bytes();
    assert!(grown >= 80_000);
    fill(&mut slab, 4);
    slab.seal(|_| true);
    is_right(&slab, &[0, 1, 2, 3]);
    assert_eq!(slab.bytes(), grown);
    let error = slab.make_room(4, |_, _| usize::MAX).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
}

#[test]
#[should_panic(expected = "lent already")]
fn a_row_has_one_writer() {
    let mut slab = slab(2);
    slab.make_room(2, |_, _| 0).unwrap();
    let _first = slab.lend(1);
    let _second = slab.lend(1);
}

#[test]
#[should_panic(expected = "lends no rows")]
fn a_sealed_slab_refuses_writers() {
    let mut slab = slab(2);
    slab.make_room(2, |_, _| 0).unwrap();
    slab.seal(|_| true);
    slab.lend(0);
}

#[test]
#[should_panic(expected = "before it is sealed")]
fn a_slab_that_is_being_filled_exposes_no_row() {
    let mut slab = slab(2);
    slab.make_room(2, |_, _| 0).unwrap();
    slab.column(1);
}

#[test]
#[should_panic(expected = "still lent")]
fn a_slab_with_rows_being_written_is_not_sealed() {
    let mut slab = slab(2);
    slab.make_room(2, |_, _| 0).unwrap();
    std::mem::forget(slab.lend(0));
    slab.seal(|_| true);
}

#[test]
fn sizes_beyond_the_address_space_are_refused() {
    for shape in [vec![usize::MAX], vec![usize::MAX, 2], vec![1 << 40, 1 << 30]] {
        let layout = SlabLayout::new(vec![RowShape::Fixed(DType::U64, shape)], 1);
        assert_eq!(layout.unwrap_err().kind(), ErrorKind::Limit);
    }
}

#[test]
fn a_closed_slab_may_skip_rows_and_rewrite_fixed_ones() {
    let shapes = vec![RowShape::Variable(DType::U8), RowShape::Fixed(DType::U8, vec![2])];
    let mut slab = Slab::new(Arc::new(SlabLayout::new(shapes, 5).unwrap())).unwrap();
    slab.make_room(5, |_, row| row + 3).unwrap();
    for row in 0..5u8 {
        let mut lent = slab.lend(row.into());
        lent.write(0, |mut to| to.put(&vec![row; usize::from(row) + 1])).unwrap();
        lent.write(1, |mut to| to.put(&[row, row])).unwrap();
    }
    slab.seal(|row| row != 1);
    assert!(slab.row_mut(0, 0).is_empty());
    slab.row_mut(1, 2)[1] = 9; // what was row 3
    slab.seal(|row| row != 0);
    assert_eq!(slab.rows(), 3);
    assert_eq!(slab.column(1), [2, 2, 3, 9, 4, 4]);
    assert_eq!(slab.column(0), [&[2; 3][..], &[3; 4], &[4; 5]].concat());
    let offsets = slab.offsets(0).unwrap();
    assert_eq!(offsets.iter().map(|at| at - offsets[0]).collect::<Vec<_>>(), [0, 3, 7, 12]);
    slab.seal(|_| false);
    assert_eq!((slab.rows(), slab.column(0).len()), (0, 0));
}
