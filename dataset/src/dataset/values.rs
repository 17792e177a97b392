//! Values of samples that are not decoded: typed columns of the sidecars, and numbers of parts.

pub(crate) mod numbers;
pub(crate) mod picture_sizes;
pub(crate) mod stored_values;
pub(crate) mod table;
pub(crate) mod table_values;
