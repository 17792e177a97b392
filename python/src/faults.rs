//! Errors as Python exceptions.

pub(super) mod errors;
pub(super) mod failures;
pub(super) mod json;
pub(super) mod missing;
pub(super) mod recognized;
pub(super) mod unknown_keywords;
pub(super) mod url;
