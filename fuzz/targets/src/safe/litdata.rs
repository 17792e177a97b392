//! The index of LitData chunks: no panic, no path out of the folder, a name for each leaf, no two alike.

use std::collections::HashSet;

use tarflume_foreign::litdata::Index;
use tarflume_formats::name::unsafe_as_path;

/// Parses the input as an index of LitData.
pub fn litdata(input: &[u8]) {
    let Ok(index) = Index::parse(input) else { return };
    assert!(index.chunks.iter().all(|chunk| unsafe_as_path(chunk.file.as_bytes()).is_none()));
    let names: HashSet<&str> = index.leaves.iter().map(|leaf| leaf.name.as_str()).collect();
    assert_eq!(names.len(), index.leaves.len());
}
