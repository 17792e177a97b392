//! From options to a request.

pub(crate) mod append;
pub(super) mod joined;
pub(crate) mod options;
pub(crate) mod request;
pub(super) mod selection;
