//! Columns of single numbers: from text, and from the columns of sidecars.

pub(crate) mod class;
pub(super) mod stored_number;
