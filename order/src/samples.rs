//! The samples that take part: how many a data set has, and which are selected.

pub(super) mod bits;
pub(super) mod buckets;
pub(super) mod contents;
pub(super) mod fingerprint;
pub(super) mod lengths;
pub(super) mod list;
pub(super) mod selection;
pub(super) mod small_numbers;
