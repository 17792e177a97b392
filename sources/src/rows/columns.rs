//! Columns of a source: which part of a sample each of them becomes, and what their values have in common.

pub(crate) mod agreed;
pub(crate) mod array_names;
pub(crate) mod assign;
pub(crate) mod choice;
#[cfg(feature = "tables")]
pub(crate) mod ext_rule;
pub(crate) mod json_columns;
pub(crate) mod numbers;
pub(crate) mod part_names;
pub(crate) mod pictures;
pub(crate) mod stacked;
