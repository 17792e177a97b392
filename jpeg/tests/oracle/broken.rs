//! JPEGs that are not as they should be.
//!
//! - `damage`: truncated or changed files; `kept`: the pixels of these; `irregular`: files that break rules and lose nothing;
//! - `limits`: extreme requests; `oddities`: files changed by hand; `hostile`: impossible scans; `unsupported`: kinds that
//!   are not decoded.

pub(crate) mod damage;
mod hostile;
mod irregular;
mod kept;
mod limits;
mod oddities;
mod unsupported;
