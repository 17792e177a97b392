//! Arguments that several commands share.

pub(super) mod args;
pub(super) mod image_args;
pub(super) mod places;
pub(super) mod source_args;
pub(super) mod storage;
pub(super) mod zeros;
