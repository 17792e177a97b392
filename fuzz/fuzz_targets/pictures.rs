//! Pictures that are no JPEGs: whatever they claim, a check takes little more than it was given, and a size is
//! told without it.
//!
//! Run with a limit on each allocation: see run.sh.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tarflume::internal::formats;

/// Bytes that decoding may take.
const GIVEN: u64 = 64 << 20;

fuzz_target!(|data: &[u8]| {
    let size = formats::size(data);
    if let Ok(checked) = formats::check(data, GIVEN) {
        assert_eq!(size.ok(), Some(checked));
    }
});
