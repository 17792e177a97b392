//! JPEGs that are as they should be.
//!
//! - `sizes`, `kinds`, `progressive`, `inks`: whole pictures; `regions`: parts of them; `groups`: several at once;
//! - `photographs`: real ones; `format_md`: the worked example of FORMAT.md.

mod format_md;
mod groups;
pub(crate) mod inks;
mod kinds;
mod photographs;
mod progressive;
mod regions;
mod sizes;
