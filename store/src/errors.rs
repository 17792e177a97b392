//! Errors of a store, their causes, and limits on what a server answers.

pub(super) mod bounded;
pub(super) mod cause;
pub(super) mod certificate;
pub(super) mod error;
pub(super) mod first_contact;
pub(super) mod guard;
pub(super) mod part;
