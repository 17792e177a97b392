//! The crate beside libjpeg-turbo, which the tests start as a server: same bytes in, same pixels out.
//!
//! - `turbo`: libjpeg-turbo as an oracle (it decodes, and hands out coefficients) and as a maker of
//!   JPEGs of every kind; `picture`: what they show;
//! - `segments`: what stands in a JPEG before its first scan, taken apart;
//! - `itself`: the oracle does what is asked of it.
//!
//! Needs `cc` and libjpeg's headers (Debian: gcc libjpeg-dev), as `make test` installs them. Nothing
//! of the product depends on either.
#![allow(clippy::unwrap_used)]

mod itself;
mod picture;
mod segments;
mod turbo;
