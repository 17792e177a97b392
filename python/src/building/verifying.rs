//! The keywords of a verification in groups.

pub(super) mod chosen_rules;
pub(super) mod demands;
pub(super) mod scope;
