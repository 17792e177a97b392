//! Columns of several pieces of a picture: views and patches.

pub(crate) mod patches;
pub(crate) mod views;
