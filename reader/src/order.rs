//! Which sample comes when: pure arithmetic, no I/O.

pub mod mix;
pub mod pass;
pub mod permutation;
pub mod score;
pub mod shuffle;
