//! `ClassCount`: a class and how often it was found.

use serde::Serialize;

/// Limit on different classes. Others are counted together.
pub(crate) const MAX_CLASSES: usize = 1 << 17;
/// The name of what is beyond a limit.
pub(crate) const OTHERS: &str = "(others)";

/// A class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClassCount {
    /// Its name.
    pub name: String,
    /// Examined samples that have it, or objects.
    pub count: u64,
}
