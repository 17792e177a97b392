//! Compares the crate with libjpeg-turbo, which the tests start as a server: same bytes in, same
//! pixels out.
//!
//! - `turbo`: libjpeg-turbo as an oracle (it decodes, and returns coefficients) and as an encoder
//!   of JPEGs of every kind; `picture`: their content;
//! - `segments`: splits a JPEG before its first scan;
//! - `self_check`: tests of the oracle;
//! - `decoder`: the crate through its public interface; `compare`: both with the same request, and the
//!   differences;
//! - `sizes`, `kinds`, `progressive`, `inks`: whole pictures; `regions`: parts of them; `groups`:
//!   several at once;
//! - `points`: entry points of another JPEG; `positions`: where they are; `false_claims`: forged ones;
//! - `damage`: truncated or changed files; `kept`: the pixels of these; `irregular`: files that break
//!   rules and lose nothing; `limits`: extreme requests;
//! - `photographs`: real ones; `oddities`: files changed by hand; `hostile`: impossible scans;
//!   `unsupported`: kinds that are not decoded; `rewrites`: JPEGs that are written again;
//! - `format_md`: the worked example of FORMAT.md.
//!
//! Needs `cc` and libjpeg's headers (Debian: gcc libjpeg-dev), as `make test` installs them.
//! Nothing of the product depends on either.
#![allow(clippy::disallowed_methods, reason = "a query that fails ends the test")]
#![allow(clippy::unwrap_used)]

mod compare;
mod damage;
mod decoder;
mod false_claims;
mod format_md;
mod groups;
mod hostile;
mod inks;
mod irregular;
mod kept;
mod kinds;
mod limits;
mod oddities;
mod photographs;
mod picture;
mod points;
mod positions;
mod progressive;
mod regions;
mod rewrites;
mod segments;
mod self_check;
mod sizes;
mod turbo;
mod unsupported;
