//! libjpeg-turbo as an oracle and as an encoder, and the crate beside it.
//!
//! - `turbo`: libjpeg-turbo as an oracle (it decodes, and returns coefficients) and as an encoder of JPEGs of every kind;
//!   `picture`: their content;
//! - `segments`: splits a JPEG before its first scan;
//! - `self_check`: tests of the oracle;
//! - `decoder`: the crate through its public interface; `compare`: both with the same request, and the differences.

pub(crate) mod compare;
pub(crate) mod decoder;
pub(crate) mod picture;
pub(crate) mod segments;
mod self_check;
pub(crate) mod turbo;
