//! Columns of blocks, by hand.

use tarflume_formats::npy::{Dtype, write_header};

use super::*;

fn array(kind: char, size: u32, values: &[i64]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let dtype = Dtype { kind, size, little: true };
    write_header(&mut bytes, dtype, false, &[values.len() as u64]).unwrap();
    for value in values {
        bytes.extend_from_slice(&value.to_le_bytes()[..size as usize]);
    }
    bytes
}

fn decode(column: &TokenColumn, ids: &[u8], bounds: Option<&[u8]>) -> Result<Vec<u8>, String> {
    decode_with(column, ids, bounds, None)
}

fn decode_with(
    column: &TokenColumn,
    ids: &[u8],
    bounds: Option<&[u8]>,
    loss: Option<&[u8]>,
) -> Result<Vec<u8>, String> {
    column.validate().map_err(|e| e.to_string())?;
    let parts = [
        ("ids.npy", ids),
        bounds.map_or(("", &[][..]), |b| ("cu_seqlens.npy", b)),
        loss.map_or(("", &[][..]), |b| ("loss.npy", b)),
    ];
    let parts = &parts[..column.parts().len()];
    let sample = Sample { key: b"a", parts, ..Sample::default() };
    // Of `u64`, so that elements of any type are aligned.
    let bytes = column.shape().bytes().unwrap();
    let mut row = vec![u64::MAX; bytes.div_ceil(8)];
    let row: &mut [u8] = &mut bytemuck::cast_slice_mut(&mut row)[..bytes];
    let decoded = column.decode(&sample, Row::fixed(row), &mut Scratch::default());
    decoded.map(|()| row.to_vec()).map_err(|e| e.to_string())
}

fn rows(column: &TokenColumn, ids: &[u8], bounds: Option<&[u8]>) -> Vec<i64> {
    bytemuck::pod_collect_to_vec(&decode(column, ids, bounds).unwrap())
}

#[test]
fn columns_follow_the_documents() {
    let ids = array('u', 2, &[5, 6, 7, 65_535, 9, 1]);
    let bounds = array('i', 4, &[0, 3, 3, 5]);
    let tokens = Tokens::new(7).padding(2);
    for (column, row) in [
        (tokens.ids(), [5, 6, 7, 65_535, 9, 1, 2]),
        (tokens.labels(), [-100, 6, 7, -100, 9, -100, -100]),
        (tokens.position_ids(), [0, 1, 2, 0, 1, 0, 0]),
        (tokens.segment_ids(), [1, 1, 1, 3, 3, 0, 0]),
        (tokens.mask(), [1, 1, 1, 1, 1, 0, 0]),
    ] {
        assert_eq!(rows(&column, &ids, Some(&bounds)), row, "{:?}", column.kind);
    }
    let narrow = tokens.dtype(DType::Bool).mask();
    assert_eq!(decode(&narrow, &ids, Some(&bounds)).unwrap(), [1, 1, 1, 1, 1, 0, 0]);
}

#[test]
fn labels_have_the_ids_with_loss() {
    let ids = array('u', 2, &[5, 6, 7, 8, 9, 1]);
    let bounds = array('i', 4, &[0, 3, 6]);
    let labels = Tokens::new(8).labels();
    for (runs, bounds, row) in [
        (&[][..], Some(&bounds), [-100; 8]),
        (&[0, 2, 3, 6], Some(&bounds), [-100, 6, -100, -100, 9, 1, -100, -100]),
        (&[1, 2, 4, 5], None, [-100, 6, -100, -100, 9, -100, -100, -100]),
        (&[2, 2, 2, 4], None, [-100, -100, 7, 8, -100, -100, -100, -100]),
        (&[0, 6], None, [-100, 6, 7, 8, 9, 1, -100, -100]),
    ] {
        let loss = array('i', 4, runs);
        let found = decode_with(&labels, &ids, bounds.map(|own| &own[..]), Some(&loss));
        let found: Vec<i64> = bytemuck::pod_collect_to_vec(&found.unwrap());
        assert_eq!(found, row, "{runs:?}");
    }
    for (runs, expected) in [
        (&[1][..], "loss.npy: 1 elements, and each run of loss has two"),
        (&[2, 1], "loss.npy: element 1 is 1"),
        (&[0, 7], "element 1 is 7"),
        (&[-1, 2], "element 0 is -1"),
    ] {
        let loss = array('i', 4, runs);
        let error = decode_with(&labels, &ids, None, Some(&loss)).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_sample_without_bounds_is_one_document() {
    let ids = array('i', 8, &[5, 6]);
    let tokens = Tokens::new(3);
    assert_eq!(rows(&tokens.labels(), &ids, None), [-100, 6, -100]);
    assert_eq!(rows(&tokens.mask(), &ids, None), [1, 1, 0]);
    let none = array('i', 4, &[]);
    assert_eq!(rows(&tokens.mask(), &ids, Some(&none)), [0, 0, 0]);
}

#[test]
fn wrong_parts_are_errors_with_their_extension() {
    let tokens = Tokens::new(3);
    let ids = array('u', 4, &[5, 6, 70_000]);
    for (column, ids, bounds, expected) in [
        (tokens.ids(), array('f', 4, &[1]), None, "ids.npy: expected little-endian integers"),
        (tokens.ids(), array('u', 2, &[1; 4]), None, "4 ids are more than 3"),
        (tokens.ids(), ids[..ids.len() - 1].to_vec(), None, "declares 12 bytes of data, 11 follow"),
        (tokens.ids(), b"no".to_vec(), None, "ids.npy: "),
        (
            tokens.mask(),
            ids.clone(),
            Some(array('i', 4, &[1, 3])),
            "cu_seqlens.npy: element 0 is 1",
        ),
        (tokens.mask(), ids.clone(), Some(array('i', 4, &[0, 4])), "element 1 is 4"),
        (tokens.mask(), ids.clone(), Some(array('i', 4, &[0, 2, 1])), "element 2 is 1"),
        (tokens.mask(), ids.clone(), Some(array('u', 8, &[0, -1])), "element 1 is -1"),
        (
            tokens.clone().dtype(DType::U16).ids(),
            ids.clone(),
            None,
            "70000 is outside the range of uint16",
        ),
        (
            tokens.clone().dtype(DType::U16).labels(),
            ids.clone(),
            None,
            "int64 or int32, not uint16",
        ),
        (Tokens::new(0).ids(), ids.clone(), None, "a length of 1 or more"),
    ] {
        let error = decode(&column, &ids, bounds.as_deref()).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn a_row_of_a_padded_column_has_the_ids_alone() {
    let ids = array('u', 2, &[5, 6, 7, 9]);
    let bounds = array('i', 4, &[0, 2, 3]);
    let tokens = Tokens::new(16).padding(2).pad_to_longest(8);
    for (column, row, fill) in [
        (tokens.ids(), [5, 6, 7, 9], 2),
        (tokens.labels(), [-100, 6, -100, -100], -100),
        (tokens.position_ids(), [0, 1, 0, 0], 0),
        (tokens.segment_ids(), [1, 1, 2, 0], 0),
        (tokens.mask(), [1, 1, 1, 0], 0),
    ] {
        column.validate().unwrap();
        let RowShape::Padded(rows) = column.shape() else { panic!("{:?}", column.kind) };
        assert_eq!((rows.most, rows.value), (16, fill), "{:?}", column.kind);
        let parts = [("ids.npy", &ids[..]), ("cu_seqlens.npy", &bounds[..]), ("", &[][..])];
        let sample = Sample { parts: &parts[..column.parts().len()], ..Sample::default() };
        let mut room = [7i64; 16];
        let mut used = 0;
        let own = Row::variable(bytemuck::cast_slice_mut(&mut room), &mut used);
        column.decode(&sample, own, &mut Scratch::default()).unwrap();
        assert_eq!((&room[..4], used), (&row[..], 32), "{:?}", column.kind);
    }
}

#[test]
fn paddings_that_cannot_be_are_refused() {
    for (tokens, told) in [
        (Tokens::new(20).pad_to_longest(8), "give a multiple"),
        (Tokens::new(16).pad_to_longest(0), "give a multiple"),
        (
            Tokens::new(16).dtype(DType::U16).padding(-1).pad_to_longest(8),
            "rows of uint16 cannot be filled up with -1",
        ),
    ] {
        let error = tokens.ids().validate().unwrap_err();
        assert!(error.text().contains(told), "{error}");
    }
}
