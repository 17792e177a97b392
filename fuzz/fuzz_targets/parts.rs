//! `parts` of `tarflume-fuzz-targets`, with the inputs of libFuzzer.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| tarflume_fuzz_targets::parts(input));
