//! Proofs of the order as a whole.
