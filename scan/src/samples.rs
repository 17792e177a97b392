//! The samples of a scan in compact form, with the texts and the layout that their parts refer to.

pub mod described;
pub mod layout;
pub mod list;
pub(crate) mod sample_keys;
pub mod texts;
