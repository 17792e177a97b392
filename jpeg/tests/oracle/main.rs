//! Compares the crate with libjpeg-turbo, which the tests start as a server: same bytes in, same
//! pixels out.
//!
//! - `turbo`: libjpeg-turbo as an oracle (it decodes, and returns coefficients) and as an encoder
//!   of JPEGs of every kind; `picture`: their content;
//! - `segments`: splits a JPEG before its first scan;
//! - `itself`: tests of the oracle;
//! - `ours`: the crate through its public interface; `beside`: both with the same request, and the
//!   differences;
//! - `sizes`, `kinds`, `progressive`, `inks`: whole pictures; `regions`: parts of them; `groups`:
//!   several at once;
//! - `points`: entry points of another JPEG; `lies`: forged ones;
//! - `damage`: truncated or changed files; `limits`: extreme requests;
//! - `photographs`: real ones; `oddities`: files changed by hand; `hostile`: impossible scans;
//!   `refused`: kinds that are not decoded.
//!
//! Needs `cc` and libjpeg's headers (Debian: gcc libjpeg-dev), as `make test` installs them.
//! Nothing of the product depends on either.
#![allow(clippy::disallowed_methods, reason = "a test that asks wrongly fails")]
#![allow(clippy::unwrap_used)]

mod beside;
mod damage;
mod groups;
mod hostile;
mod inks;
mod itself;
mod kinds;
mod lies;
mod limits;
mod oddities;
mod ours;
mod photographs;
mod picture;
mod points;
mod progressive;
mod refused;
mod regions;
mod segments;
mod sizes;
mod turbo;
