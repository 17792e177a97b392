//! The state of an output folder between two commands: working folder, quarantine, manifest, list of
//! problems.
//!
//! Every stage reads and writes it; it imports no stage.

pub mod quarantine;
pub mod staging;
pub mod state;
