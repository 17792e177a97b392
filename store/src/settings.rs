//! The address of a store, and how it is reached.

pub(super) mod credentials;
pub(super) mod location;
pub(super) mod options;
