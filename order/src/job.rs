//! A job: its ranks, what each of them gets, and its steps.

pub mod rank;
pub(super) mod split;
pub(super) mod steps;
