//! The sequence of samples: the stream of a data set, of several, of an epoch and of a rank.

pub(super) mod epochs;
pub(super) mod parts;
pub(super) mod share;
pub(super) mod stream;
