//! How columns of several pieces of a picture are made: views and patches.

pub(crate) mod patches;
pub(crate) mod views;
