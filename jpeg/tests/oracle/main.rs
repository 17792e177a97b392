//! The crate beside libjpeg-turbo, which the tests start as a server: same bytes in, same pixels
//! out.
//!
//! - `turbo`: libjpeg-turbo as an oracle (it decodes, and hands out coefficients) and as a maker of
//!   JPEGs of every kind; `picture`: what they show;
//! - `segments`: what stands in a JPEG before its first scan, taken apart;
//! - `itself`: the oracle does what is asked of it;
//! - `ours`: the crate, asked as users ask; `beside`: both asked for the same, and what differs;
//! - `sizes`, `kinds`, `progressive`, `inks`: whole pictures; `regions`: parts of them; `groups`:
//!   several at once;
//! - `points`: entry points of something else; `lies`: those that were forged;
//! - `damage`: what was cut or changed; `limits`: the ends of what can be asked;
//! - `photographs`: real ones; `oddities`: files changed by hand; `hostile`: scans that
//!   can't be; `refused`: kinds that are not decoded.
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
