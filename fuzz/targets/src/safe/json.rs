//! A value in a JSON text: found or rejected with little memory, and the same on a second run.

use tarflume::{Decode, Json, Row, Sample, Scratch};

/// Decodes values of the input, a JSON text, twice.
pub fn json(data: &[u8]) {
    let columns = [
        Json::new("json", "/a"),
        Json::new("json", "/a/b~1c").variable(),
        Json::new("json", "").text(),
        Json::new("json", "/a/0").labels(["x", "y"]),
    ];
    for column in columns {
        let decode = || {
            let room = Decode::shape(&column)
                .bytes()
                .unwrap_or(column.room(&[data.len() as u64]) as usize);
            // A little longer, so that it can begin where numbers may.
            let mut row = vec![0u8; room + 8];
            let mut used = 0;
            let start = row.as_ptr().align_offset(8);
            let bytes = &mut row[start..start + room];
            let parts = [("json", data)];
            let sample = Sample { parts: &parts, ..Sample::default() };
            let row = match Decode::shape(&column).bytes() {
                Some(_) => Row::fixed(bytes),
                None => Row::variable(bytes, &mut used),
            };
            column.decode(&sample, row, &mut Scratch::default()).is_ok()
        };
        assert_eq!(decode(), decode());
    }
}
