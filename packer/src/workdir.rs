//! The state of an output folder between two commands: working folder, quarantine, manifest, list
//! of problems.
//!
//! Every stage reads and writes it; it imports no stage.

mod claim_files;
pub(crate) mod claims;
pub(crate) mod quarantine;
pub(crate) mod staging;
pub(crate) mod state;

pub(crate) use claim_files::claims;
pub(crate) use claims::Claims;
pub use quarantine::Policy;
pub use staging::Staging;
pub(crate) use state::{OutputState, progress};
pub use state::{Progress, published};
