//! Pictures other than JPEG: whatever they declare, a check uses little more memory than its limit, and
//! reading a size uses none of it. Run with a limit on each allocation.

use tarflume::internal::formats;

/// Bytes that decoding may take.
const GIVEN: u64 = 64 << 20;

/// Reads the size of the input, a picture, and checks it whole.
///
/// The check turns a panic of a foreign decoder into an error, after the hook of panics: under libFuzzer, set one that
/// returns. A panic that leaves the check still ends the run.
pub fn pictures(input: &[u8]) {
    let size = formats::size(input);
    if let Ok(checked) = formats::check(input, GIVEN) {
        assert_eq!(size.ok(), Some(checked));
    }
    _ = formats::check_numbers(input, GIVEN);
}
