//! Packs one sample after the other.

pub(super) mod held;
pub(super) mod images;
pub(super) mod part;
pub(super) mod readahead;
pub(super) mod refused;
pub(super) mod sample;
pub(super) mod sample_objects;
pub(super) mod sample_part;
