//! The error of what a program was compiled without.

use crate::error::{Error, ErrorKind};

/// The error of `what`, which only a program with `feature` of this crate has.
pub fn left_out(kind: ErrorKind, what: &str, feature: &str) -> Error {
    let version = env!("CARGO_PKG_VERSION");
    let text = format!(
        "this program was compiled without {what}: in its Cargo.toml, write \
         tarflume = {{ version = \"{version}\", features = [\"{feature}\"] }}"
    );
    Error::new(kind, text)
}
