//! Which samples of a data set take part.

pub(crate) mod exclude;
pub(crate) mod key_set;
pub(crate) mod select;
pub(super) mod splits;
pub(crate) mod subset;
