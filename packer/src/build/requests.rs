//! From options to a request.

pub(crate) mod append;
mod chosen;
mod given;
mod join_fields;
pub(super) mod joined;
pub(super) mod joins;
pub(crate) mod options;
mod provenance;
pub(crate) mod request;
pub(super) mod selection;
