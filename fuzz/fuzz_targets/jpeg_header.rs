//! The head of a JPEG: never a panic, and what is believed of it is possible.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tarflume_jpeg::{Header, Region, Scale};

fuzz_target!(|bytes: &[u8]| {
    let Ok(header) = Header::parse(bytes) else { return };
    assert!(header.width() > 0 && header.height() > 0);
    assert!(matches!(header.channels(), 1 | 3 | 4));
    assert!(header.orientation().is_none_or(|n| (1..=8).contains(&n)));
    for scale in Scale::ALL {
        let (width, height) = scale.of(header.width(), header.height());
        assert!(header.memory(bytes.len(), scale, None).is_ok());
        let beyond = Region { left: width, top: 0, width: 1, height };
        assert!(header.foreign().is_some() || header.memory(0, scale, Some(beyond)).is_err());
    }
});
