//! The state of an output folder between two commands: working folder, quarantine, manifest, list
//! of problems.
//!
//! Every stage reads and writes it; it imports no stage.

mod claim_files;
pub mod claims;
pub mod quarantine;
pub mod staging;
pub mod state;

pub use claim_files::claims;
pub use claims::Claims;
pub use quarantine::Policy;
pub use staging::Staging;
pub use state::{OutputState, Progress, progress, published};
