//! Names of sources: no panic, and no piece that is not in the input.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tarflume_sources::internal::split_source;

fuzz_target!(|input: &str| {
    if let Ok(Some((patterns, options))) = split_source(input) {
        assert!(!patterns.is_empty() && patterns.iter().all(|pattern| input.contains(pattern)));
        assert!(options.iter().all(|(_, value)| !value.is_empty() && input.contains(value)));
    }
});
