//! Names of sources: no panic, and no piece that is not in the input.

use tarflume_sources::internal::split_source;

/// Splits the input, up to its first byte that is not UTF-8, as the name of a source.
pub fn source_url(input: &[u8]) {
    let Some(first) = input.utf8_chunks().next() else { return };
    let input = first.valid();
    if let Ok(Some((patterns, options))) = split_source(input) {
        assert!(!patterns.is_empty() && patterns.iter().all(|pattern| input.contains(pattern)));
        assert!(options.iter().all(|(_, value)| !value.is_empty() && input.contains(value)));
    }
}
