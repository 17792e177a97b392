//! The header of a JPEG, and the walk over its segments: no panic, errors name a byte of the file, and
//! accepted values are possible ones.

use tarflume_jpeg::{Header, Region, Scale, Size, whole};

fn place(error: tarflume_jpeg::Error) -> u64 {
    error.byte().expect("damage has a place")
}

/// Parses the header of the input and finds its end.
pub fn jpeg_header(bytes: &[u8]) {
    match whole(bytes).map_err(place) {
        Ok(end) => assert!(end <= bytes.len() && bytes[..end].ends_with(b"\xff\xd9")),
        Err(byte) => assert!(byte <= bytes.len() as u64),
    }
    let header = match Header::parse(bytes).map_err(place) {
        Ok(header) => header,
        Err(byte) => return assert!(byte <= bytes.len() as u64),
    };
    assert!(header.width() > 0 && header.height() > 0);
    assert!(matches!(header.channels(), 1 | 3 | 4));
    assert!(header.orientation().is_none_or(|n| (1..=8).contains(&n)));
    for scale in Scale::ALL {
        let Size { width, height } = scale.of(header.width(), header.height());
        assert!(header.memory(bytes.len(), scale, None).is_ok());
        let beyond = Region { left: width, top: 0, width: 1, height };
        assert!(header.memory(0, scale, Some(beyond)).is_err());
    }
}
