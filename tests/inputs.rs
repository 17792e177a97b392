//! What is packed: folders, lists, tables, arrays, archives; and what is left out.

pub(super) mod annotations;
pub(super) mod arrays;
pub(super) mod exclude;
pub(super) mod file_lists;
pub(super) mod file_splits;
pub(super) mod groups;
pub(super) mod join;
pub(super) mod labels;
pub(super) mod layouts;
pub(super) mod links;
pub(super) mod lost_values;
pub(super) mod missing_sources;
pub(super) mod pairs;
pub(super) mod problems;
pub(super) mod published_lists;
pub(super) mod quotes;
pub(super) mod sources;
pub(super) mod splits;
