//! Random numbers and permutations, computed from a key and a place.

pub(super) mod mix;
pub(super) mod permutation;
