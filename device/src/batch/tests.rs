//! Arrays of rows that are unlike each other.

use tarflume_types::ErrorKind;

use super::*;

#[test]
fn rows_that_no_array_holds_are_refused() {
    let shape = RowShape::Variable(DType::U8);
    for (long, alone) in [(100_000_000, true), (u32::MAX, true), (3, false)] {
        let sides = [(1, long), (long, 1)];
        let pictured = sides.map(|(height, width)| {
            let pictured = PictureCell::default();
            let shape = PictureShape { height, width, channels: 3, channels_first: false };
            pictured.set(Some(shape));
            pictured
        });
        let bytes = if alone { vec![] } else { vec![1; 18] };
        let offsets = if alone { [0; 3] } else { [0, 9, 18] };
        let column = Column {
            name: "image",
            shape: &shape,
            rows: 2,
            row_bytes: None,
            bytes: &bytes,
            offsets: Some(&offsets),
            pictured: Some(&pictured),
        };
        let found = column.padded_pictures(0u8);
        if !alone {
            let found = found.unwrap();
            assert_eq!(found.values.iter().filter(|&&value| value == 1).count(), 18);
            let mask = found.mask().unwrap();
            assert_eq!((mask.len(), mask.iter().filter(|&&own| own).count()), (18, 6));
            continue;
        }
        let error = found.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit);
        let sides = format!("2 x {long} x {long} x 3");
        assert!(error.text().contains("'image'") && error.text().contains(&sides), "{error}");
    }
    let shapes = vec![PictureShape { height: 1, width: 1, channels: 0, channels_first: false }];
    let values: Vec<u8> = Vec::new();
    let nothing = PaddedPictures { values, shape: [1, usize::MAX, 2, 0], shapes };
    assert_eq!(nothing.mask().unwrap_err().kind(), ErrorKind::Limit);
}
