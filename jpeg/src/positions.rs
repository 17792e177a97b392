//! Positions in the entropy-coded data, and checksums of what is between them.

pub(super) mod checksum;
pub(super) mod points;
pub(super) mod position;
pub(super) mod strips;
