//! The quality of permutations.
