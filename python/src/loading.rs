//! Loaders and their epochs.

pub(super) mod any_loader;
pub(super) mod deliver;
pub(super) mod epoch;
pub(super) mod fetch_stats;
pub(super) mod keywords;
pub(super) mod launcher;
pub(super) mod ledger;
pub(super) mod loader;
pub(super) mod resident;
pub(super) mod settings;
pub(super) mod statistics;
pub(super) mod stream;
