//! A batch's way to a GPU: what is done to its pictures there, and the same on the host.
//!
//! Floors, lower ones first: [`finish`], [`crop`], [`kernel`].

pub mod crop;
pub mod finish;
pub mod kernel;
