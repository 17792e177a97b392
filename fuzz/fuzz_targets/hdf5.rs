//! `hdf5` of `tarflume-fuzz-targets`, with the inputs of libFuzzer.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(
    // A panic of the library below is caught: the hook of libFuzzer would abort before that.
    init: std::panic::set_hook(Box::new(|_| {})),
    |input: &[u8]| tarflume_fuzz_targets::hdf5(input)
);
