//! Pictures other than JPEG: whatever they declare, a check uses little more memory than its limit, and
//! reading a size uses none of it.
//!
//! Run with a limit on each allocation: see run.sh.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tarflume::internal::formats;

/// Bytes that decoding may take.
const GIVEN: u64 = 64 << 20;

fuzz_target!(
    // The check turns a panic of a foreign decoder into an error: the hook of libFuzzer would abort before that.
    // A panic that leaves the check still ends the run.
    init: std::panic::set_hook(Box::new(|_| ())),
    |data: &[u8]| {
        let size = formats::size(data);
        if let Ok(checked) = formats::check(data, GIVEN) {
            assert_eq!(size.ok(), Some(checked));
        }
        _ = formats::check_numbers(data, GIVEN);
    }
);
