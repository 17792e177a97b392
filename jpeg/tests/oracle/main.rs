//! Compares the crate with libjpeg-turbo, which the tests start as a server: same bytes in, same
//! pixels out.
//!
//! - `harness`: the oracle, and the crate beside it; `whole`: JPEGs as they should be; `places`: entry points;
//!   `broken`: damaged and impossible ones; `rewrites`: JPEGs that are written again; `offload`: what kernels of a
//!   device decode, run on the CPU.
//!
//! Needs `cc` and libjpeg's headers (Debian: gcc libjpeg-dev), as `make test` installs them.
//! Nothing of the product depends on either.
#![allow(clippy::disallowed_methods, reason = "a query that fails ends the test")]
#![allow(clippy::unwrap_used)]

mod broken;
mod harness;
mod offload;
mod places;
mod rewrites;
mod whole;
